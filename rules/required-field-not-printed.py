r"""A template does not print a field that the API server requires, or prints it empty.

If a template always writes `disruption` but writes `consolidateAfter` only under a condition, a chart user who does
not set the value gets an object that the API server refuses, up to Karpenter 1.14. Always write the field, with
`default`, or with `required`, which names the missing value when the chart is rendered.

The same is true for a field that the template writes only for one of the values that an `or` tests, although there is
an `else` with a default.

The rule reports nothing if the chart's values contain the value, even if it is empty, or if Terraform or a script of
the repository that installs the chart sets it. For lists and mappings without a default in the chart, only the strict
profile reports it.

```yaml bad frame=pool karpenter=1.14.3
metadata.name: {{ .Values.name }}
spec.disruption:
  consolidationPolicy: WhenEmpty
  {{- if .Values.consolidateAfter }}
  consolidateAfter: {{ .Values.consolidateAfter }}
  {{- end }}
```

```yaml good frame=bad karpenter=1.14.3
metadata.name: {{ .Values.name }}
spec.disruption:
  consolidationPolicy: WhenEmpty
  consolidateAfter: {{ .Values.consolidateAfter | default "5m" }}
```

The rule also reports a default that is empty although the API server requires a value.

The chart user must set the value. Without it, the API server refuses the object with the name of the field, not of
the value. `required` reports it when the chart is rendered.

The rule looks at the role or the instance profile, at names, and at the terms of selectors. It reports nothing if the
template has a condition, `default` or `required` for the value, or if another file of the chart sets it.

```yaml bad frame=class
spec.role: {{ .Values.role | default "" }}
```

```yaml good frame=bad
spec.role: {{ required "role: the role of the nodes" .Values.role }}
```
"""

import re

from nodelint.api import (
    UNKNOWN,
    Also,
    Context,
    Finding,
    Findings,
    Node,
    Object,
    RuleCheck,
    Span,
    messages,
    rule,
    run_checks,
)


@rule(
    on=Object,
    group="hazard",
    gives_way_to=["default-never-printed", "nil-pointer"],
    renamed=("required-under-condition", "empty-default"),
    mentions=["{{"],
    subject="templates",
    source=[
        "core:pkg/apis/v1/nodepool.go@v1.14.0:42",
        "https://helm.sh/docs/howto/charts_tips_and_tricks/",
    ],
    tags=["template-code"],
)
def check(obj: Object, context: Context) -> Findings:
    yield from run_checks(obj, context, RuleCheck(_check_condition), RuleCheck(_check_default, severity="info"))


def _check_condition(obj: Object, context: Context) -> Findings:
    source = obj.source
    if source.text.find("{{", obj.node.start, obj.node.end) < 0:
        return
    scopes = context.templates.scopes(source)
    if scopes is None:
        return
    values = context.templates.values(source)
    for _, node, shape in context.walk_schema(obj):
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
            field = shape.field(name)
            yield Finding(
                at=entries[0].value,
                message=f"`{name}` is required, but the template writes it only under a condition: "
                f"`{messages.short(code)}`",
                also=[Also(Span(source, *region.head), "this is the condition")],
                note="without the field the API server refuses the object",
                help=f"print `{name}` always, with a `default` or with `required`",
                # A chart has no default for a list or a mapping: the API server names the missing field anyway.
                strict=field is not None and (field.items is not None or bool(field.required)),
            )


def _left_out(name: str, other: str, either: Span, inner: Span) -> Finding:
    return Finding(
        at=either,
        message=f"`{name}` is required, but missing if only `{other}` is set",
        also=[Also(inner, "the template writes the field only under this condition")],
        note="without the field the API server refuses the object",
        help=f"write `{name}` also if `{other}` is set",
    )


def _begin(node: Node) -> int:
    """Return the offset of the key of a mapping. If the node has no key, return its own start."""
    entry = node.own_entry
    return node.start if entry is None else entry.key.start


NEEDED = (
    r"spec\.(?:role|instanceProfile)|metadata\.name|.*\.nodeClassRef\.name"
    r"|spec\.\w+SelectorTerms\[\]\.(?:tags\.[^\[\]]*|alias|id)"
)
OTHER = r"\b(?:required|include|template|tpl|ternary|coalesce|lookup|printf|fail|dig|get|index)\b"
BARE = r"[\"']?\{\{-?[^{}]*\}\}[\"']?"


def _check_default(obj: Object, context: Context) -> Findings:
    source = obj.source
    if source.text.find("{{", obj.node.start, obj.node.end) < 0:
        return
    scopes = context.templates.scopes(source)
    if scopes is None:
        return
    reported: set[tuple[str, ...]] = set()
    for path, node, _ in context.walk_schema(obj):
        if node.value is not UNKNOWN or not re.fullmatch(BARE, node.text) or not re.fullmatch(NEEDED, path):
            continue
        uses = scopes.used_within(node.start, node.end)
        if len(uses) != 1 or uses[0].path in reported or not _is_printed(uses[0].code.text):
            continue
        use = uses[0]
        defaults = scopes.follow(context.templates.values(source), use.path)
        written = "default" in use.code.text
        if not written and (not defaults or not all(_is_empty(default) for default in defaults)):
            continue
        around = scopes.within(use.code.start, use.code.end)
        if any(use.path in region.asked for region in around):
            continue
        if context.templates.is_in_another_template(source, use.path[-1], templates=False):
            continue
        if context.templates.is_value_given(source, use.path[-1]):
            continue
        reported.add(use.path)
        entry = next((e for e in node.parent.entries if e.value is node), None) if node.parent is not None else None
        field = f"`{entry.name}`" if entry is not None and entry.name is not None else "a tag"
        name = ".".join(step for step in use.path[1:] if step != "*")
        null_tag = ".tags." in path and not node.text.startswith(("'", '"'))
        yield Finding(
            at=Span(source, node.start, node.end),
            message=f"{field} is empty by default: "
            f"{'the API server drops it' if null_tag else 'the object is refused'} until `{name}` is set",
            also=[Also(default, "this is the chart's default") for default in defaults[:1]],
            note="the term then selects by the other tags, or selects everything" if null_tag else None,
            help="use `required`: helm then stops with a message if the value is empty",
        )


def _is_printed(code: str) -> bool:
    """Return whether template code prints the value unchanged, or with an empty default."""
    default = re.search(r"\bdefault\s+(\S+)", code)
    return re.search(OTHER, code) is None and (default is None or default[1] in ('""', "``"))


def _is_empty(value: Node) -> bool:
    return value.kind == "scalar" and value.value in (None, "")
