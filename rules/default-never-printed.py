r"""A template writes a field only if its value is set, so the `default` of that value is never printed.

`{{ if .consolidateAfter }}consolidateAfter: {{ .consolidateAfter | default "Never" }}{{ end }}` prints nothing if the
value is empty, so it never prints `Never`. If the API server requires the field, it refuses the object. It requires
`consolidateAfter` up to Karpenter 1.14.

```yaml bad frame=pool karpenter=1.14.3
spec.disruption:
  consolidationPolicy: WhenEmpty
  {{- if .Values.consolidateAfter }}
  consolidateAfter: {{ .Values.consolidateAfter | default "Never" }}
  {{- end }}
```
"""

import re
from collections.abc import Iterator

from nodelint.api import Also, Context, Edit, Finding, Findings, Object, Span, rule


@rule(
    on=Object,
    group="hazard",
    fix="unsafe",
    mentions=["{{"],
    renamed=("dead-default",),
    subject="templates",
    source="https://helm.sh/docs/chart_template_guide/control_structures/",
    tags=["template-code"],
)
def check(obj: Object, context: Context) -> Findings:
    source = obj.source
    if source.text.find("default", obj.node.start, obj.node.end) < 0:
        return
    scopes = context.templates.scopes(source)
    if scopes is None:
        return
    uses = [use for use in scopes.used_within(obj.node.start, obj.node.end) if use.fallback]
    fields = [(node, shape, entry) for _, node, shape in context.walk_schema(obj) for entry in node.entries]
    for use in uses:
        around = scopes.within(use.code.start, use.code.end)
        if not around or not around[-1].only or not around[-1].asks_for(use.path) or around[-1].word == "range":
            continue
        region, code = around[-1], use.code
        above = [(s, e.name) for _, s, e in fields if e.value.start <= code.start < e.value.end]
        shape, name = above[-1] if above else (None, None)
        refused = shape is not None and name in shape.required
        yield Finding(
            at=Span(source, code.start, code.end),
            message=f"this default never takes effect: the `{region.word}` around it tests the same field",
            edits=list(_remove_code_lines(obj, region.head, (region.end, region.around[1]))),
            also=[Also(Span(source, *region.head), "printed only where the value is not empty")],
            note=f"without `{name}` the API server refuses the object" if refused else None,
        )


def _remove_code_lines(obj: Object, *codes: tuple[int, int]) -> Iterator[Edit]:
    """Yield edits that remove lines of template code. Nothing if one of the lines contains other text."""
    source = obj.source
    places = []
    for start, end in codes:
        begin = source.text.rfind("\n", 0, start) + 1
        stop = source.text.find("\n", end) + 1
        if not stop:
            begin, stop = len(source.text[:begin].rstrip("\r\n")), len(source.text)
        if not re.fullmatch(r"[ \t]*", source.text[begin:start].lstrip("\r\n")) or source.text[end:stop].strip():
            return
        places.append((begin, stop))
    for begin, stop in places:
        yield Edit(source, begin, stop, "")
