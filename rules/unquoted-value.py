r"""A template prints a value without quotes where the API server takes a text, and a number or `true` is usual.

`nodes: {{ .nodes }}` prints `nodes: 0` whether the values say `0` or `"0"`: YAML reads a number, and the API server
refuses the object. The same goes for taints, labels and tags whose values a loop prints, `true` among them, for
requirements on numbers such as `karpenter.k8s.aws/instance-cpu`, and for the account ids of owners.

The rule is silent where the chart's default is a text; where it is a number, `invalid-field` says so.

```yaml bad
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
    consolidateAfter: 5m
    budgets:
      {{- range .Values.budgets }}
      - nodes: {{ .nodes }}
      {{- end }}
```

```yaml good
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
    consolidateAfter: 5m
    budgets:
      {{- range .Values.budgets }}
      - nodes: {{ .nodes | quote }}
      {{- end }}
```
"""

import re

from nodelint.api import UNKNOWN, Context, Edit, Finding, Findings, Node, Object, Span, labels, rule, scalars

BARE = r"""\{\{-?\s*(\$?[\w.]+(?:\s*\|\s*default\s+(?:"[^"]*"|[\w.$]+))?)(?=\s*-?\}\})[^{}]*\}\}"""
OWNERS = (".owner", ".ownerID")


@rule(on=Object, group="hazard", fix="unsafe", gives_way_to=["invalid-field", "printed-as-text"])
def check(obj: Object, context: Context) -> Findings:
    source = obj.source
    if source.text.find("{{", obj.node.start, obj.node.end) < 0:
        return
    scopes = context.templates.scopes(source)
    if scopes is None:
        return
    for path, node, shape in context.shaped(obj):
        if shape.type != "string" or node.value is not UNKNOWN or node.style != "plain":
            continue
        printed = re.fullmatch(BARE, node.written)
        usual = _usual(path, node, context) if printed is not None else ""
        if printed is None or not usual:
            continue
        use = next((use for use in scopes.uses if node.start <= use.code.start < node.end), None)
        if use is None or any(
            each.plain() not in (None, "") for each in scopes.follow(context.templates.values(source), use.path)
        ):
            continue
        end = node.start + printed.end(1)
        yield Finding(
            at=Span(source, node.start, node.end),
            message=f"printed without quotes: YAML reads {usual} as no text, and the API server refuses that",
            edits=[Edit(source, end, end, " | quote")],
            note="quotes in the values do not help: the template prints what is between them",
        )


def _usual(path: str, node: Node, context: Context) -> str:
    """A value that is usual there, and that YAML takes for no text without quotes."""
    if path.endswith("budgets[].nodes"):
        return "`0` or `5`"
    around = node.parent
    if around is None:
        return ""
    if path.endswith(OWNERS):
        return "an account id"
    if path.endswith("aints[].value"):
        return "`true`"
    if path.endswith("requirements[].values[]"):
        line = around.parent
        key = line.get("key") if line is not None else None
        if key is None or key.value is UNKNOWN:
            return "a number such as `4`"
        known = labels.known_values(str(key.value), context.catalog) or ()
        example = next((value for value in known if not scalars.reads_as_text(value)), None)
        return "" if example is None else f"`{example}`"
    entry = next((entry for entry in around.entries if entry.value is node), None)
    return "`true` or a number" if entry is not None and entry.key.value is UNKNOWN else ""
