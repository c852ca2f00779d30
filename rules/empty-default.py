r"""A chart's default is empty where the API server asks for a value: with the defaults, the object is refused.

Whoever installs the chart has to give the value, and hears of it from the API server, with the name of the field and
not of the value. `required` says it when the chart is rendered.

The rule looks at the role or the instance profile, at names, and at the terms of selectors. It is silent where the
template has a condition, `default` or `required` for the value, and where another file of the chart names it.

```yaml bad
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: {{ .Values.role | default "" }}
  amiSelectorTerms: [{alias: al2023@v20250403}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
```

```yaml good
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: {{ required "role: the role of the nodes" .Values.role }}
  amiSelectorTerms: [{alias: al2023@v20250403}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
```
"""

import re

from nodelint.api import UNKNOWN, Also, Context, Finding, Findings, Node, Object, Span, rule

NEEDED = (
    r"spec\.(?:role|instanceProfile)|metadata\.name|.*\.nodeClassRef\.name"
    r"|spec\.\w+SelectorTerms\[\]\.(?:tags\.[^\[\]]*|alias|id)"
)
OTHER = r"\b(?:required|include|template|tpl|ternary|coalesce|lookup|printf|fail|dig|get|index)\b"
BARE = r"[\"']?\{\{-?[^{}]*\}\}[\"']?"


@rule(on=Object, group="hazard", severity="info", gives_way_to=["nil-pointer", "dead-default"])
def check(obj: Object, context: Context) -> Findings:
    source = obj.source
    if source.text.find("{{", obj.node.start, obj.node.end) < 0:
        return
    scopes = context.templates.scopes(source)
    if scopes is None:
        return
    told: set[tuple[str, ...]] = set()
    for path, node, _ in context.shaped(obj):
        if node.value is not UNKNOWN or not re.fullmatch(BARE, node.text) or not re.fullmatch(NEEDED, path):
            continue
        uses = [use for use in scopes.uses if node.start <= use.code.start < node.end]
        if len(uses) != 1 or uses[0].path in told or not _is_printed(uses[0].code.text):
            continue
        use = uses[0]
        defaults = scopes.follow(context.templates.values(source), use.path)
        written = "default" in use.code.text
        if not written and (not defaults or not all(_is_empty(each) for each in defaults)):
            continue
        around = scopes.within(use.code.start, use.code.end)
        if any(use.path in region.asked for region in around):
            continue
        if context.templates.says_elsewhere(source, use.path[-1], templates=False):
            continue
        told.add(use.path)
        entry = next((e for e in node.parent.entries if e.value is node), None) if node.parent is not None else None
        field = f"`{entry.name}`" if entry is not None and entry.name is not None else "a tag"
        name = ".".join(step for step in use.path[1:] if step != "*")
        yield Finding(
            at=Span(source, node.start, node.end),
            message=f"{field} is empty by default: the object is refused until `{name}` is set",
            also=[Also(each, "the chart's default") for each in defaults[:1]],
            help="let the chart say so: `required` stops with a message where a value is empty",
        )


def _is_printed(code: str) -> bool:
    """Whether code prints the value as it is, or its own empty default."""
    default = re.search(r"\bdefault\s+(\S+)", code)
    return re.search(OTHER, code) is None and (default is None or default[1] in ('""', "``"))


def _is_empty(value: Node) -> bool:
    return value.kind == "scalar" and value.value in (None, "")
