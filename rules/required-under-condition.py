r"""A template writes a field that the API server asks for under a condition on a value that the chart does not have.

`disruption` is written in any case, `consolidateAfter` only where the values have it: whoever leaves it out gets an
object that is refused, up to Karpenter 1.14. Write the field always, with `default` or with `required`, which says what is missing when the
chart is rendered.

The same holds for a field that is written for one of the values that an `or` asks for, and not for the others, though
there is an `else` with a default.

The rule is silent where the chart's values name the value, be it empty.

```yaml bad karpenter=1.14.3
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: {{ .Values.name }}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: []
  disruption:
    consolidationPolicy: WhenEmpty
    {{- if .Values.consolidateAfter }}
    consolidateAfter: {{ .Values.consolidateAfter }}
    {{- end }}
```

```yaml good karpenter=1.14.3
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: {{ .Values.name }}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: []
  disruption:
    consolidationPolicy: WhenEmpty
    consolidateAfter: {{ .Values.consolidateAfter | default "5m" }}
```
"""

from nodelint.api import Also, Context, Finding, Findings, Node, Object, Span, messages, rule


@rule(on=Object, group="hazard", gives_way_to=["dead-default"])
def check(obj: Object, context: Context) -> Findings:
    source = obj.source
    if source.text.find("{{", obj.node.start, obj.node.end) < 0:
        return
    scopes = context.templates.scopes(source)
    if scopes is None:
        return
    values = context.templates.values(source)
    for _, node, shape in context.shaped(obj):
        for name in shape.required if node.entries else ():
            entries = [entry for entry in node.entries if entry.name == name]
            gap = scopes.gap([entry.key.start for entry in entries], _begin(node))
            if gap is not None:
                inner, either = gap
                if not any(scopes.follow(values, path) for path in inner.asked):
                    other = next(path[-1] for path in either.asked if path not in inner.asked)
                    yield _left_out(name, other, Span(source, *either.head), Span(source, *inner.head))
                continue
            if len(entries) != 1:
                continue
            key = entries[0].key
            regions = scopes.within(key.start, key.end)
            region = regions[-1] if regions else None
            if region is None or not region.only or region.word == "range" or region.head[0] < _begin(node):
                continue
            if all(region.start <= entry.key.start < region.end for entry in node.entries):
                continue
            outer = {path for other in regions[:-1] for path in other.asked}
            if (
                not region.asked
                or outer & set(region.asked)
                or any(scopes.follow(values, path) for path in region.asked)
            ):
                continue
            code = source.text[slice(*region.head)].strip("{-} \n")
            yield Finding(
                at=entries[0].value,
                message=f"`{name}` is required, and written under a condition only: `{messages.short(code)}`",
                also=[Also(Span(source, *region.head), "the condition")],
                note="without the field the API server refuses the object",
                help=f"print `{name}` always, with a `default` or with `required`",
            )


def _left_out(name: str, other: str, either: Span, inner: Span) -> Finding:
    return Finding(
        at=either,
        message=f"`{name}` is required, and left out where `{other}` alone is set",
        also=[Also(inner, "written under this condition only")],
        note="without the field the API server refuses the object",
        help=f"write `{name}` where `{other}` is set, too",
    )


def _begin(node: Node) -> int:
    """Where a mapping begins with its key."""
    around = node.parent.entries if node.parent is not None else ()
    return next((entry.key.start for entry in around if entry.value is node), node.start)
