r"""A template prints some fields of a value by name and forgets others, which are silently dropped.

If the values contain a taint with `value: gpu`, but the template prints only `key` and `effect`, the taint gets no
value, and there is no error. The rule looks at loops over taints, requirements and budgets. It also looks at values
that stand beside printed values, have the name of a field of the object, and that no template prints. It reads the
chart's `values.yaml`, the `values-….yaml` next to it, and the test values in `ci/`.

`toYaml` prints all fields of a value.

```yaml bad frame=pool
metadata.name: {{ .Values.name }}
spec.template.spec.taints:
  {{- range .Values.taints }}
  - key: {{ .key }}
    effect: {{ .effect }}
  {{- end }}
```

```yaml good frame=bad
metadata.name: {{ .Values.name }}
spec.template.spec.taints:
  {{- range .Values.taints }}
  - key: {{ .key }}
    value: {{ .value | quote }}
    effect: {{ .effect }}
  {{- end }}
```
"""

from collections.abc import Iterator

from nodelint.api import Also, Context, Finding, Findings, Node, Object, Span, rule

GENERAL = frozenset(
    ("annotations", "enabled", "group", "id", "key", "kind", "labels", "name", "names", "spec", "type")
)
"""Field names that a values file may use for other purposes."""


@rule(
    on=Object,
    group="hazard",
    mentions=["{{"],
    subject="templates",
    source="https://helm.sh/docs/chart_template_guide/control_structures/",
    tags=["template-code"],
)
def check(obj: Object, context: Context) -> Findings:
    source = obj.source
    if source.text.find("{{", obj.node.start, obj.node.end) < 0:
        return
    if context.templates.scopes(source) is not None:
        yield from _picked(obj, context)
        yield from _unused(obj, context)


def _picked(obj: Object, context: Context) -> Findings:
    """Yield a finding for known fields that a loop over a list does not print."""
    scopes = context.templates.scopes(obj.source)
    assert scopes is not None
    for name, key, item, known in _items(obj, context.templates.picked()):
        loops = [region for region in scopes.within(item.start, item.end) if region.items is not None]
        items = loops[-1].items if loops and loops[-1].start > key.start else None
        if items is None or scopes.prints_whole(items):
            continue
        used = scopes.below(items)
        missing = [field for field in known if field not in used and item.get(field) is None]
        if not missing or not used:
            continue
        if not any(name.lower().rstrip("s") in step.lower() for step in items[-2:]):
            continue  # a loop over values of another kind makes these items
        first = item.entries[0]
        names = " and ".join(f"`{field}`" for field in missing)
        yield Finding(
            at=Span(obj.source, first.key.start, first.value.end),
            message=f"the loop over `{name}` never prints {names}",
            severity="warning" if missing[0] == "value" else "info",
            strict=set(missing) <= {"minValues", "reasons"},
            also=[Also(Span(obj.source, *loops[-1].head), "this is the loop")],
            note=f"the template silently drops {names}: {known[missing[0]]}",
            help="print the field if it is set, or print each item with `toYaml`",
        )


def _items(obj: Object, known: dict[str, dict[str, str]]) -> Iterator[tuple[str, Node, Node, dict[str, str]]]:
    """Yield the items of each list whose fields are known: the name of the list, its key, the item and the known
    fields.
    """
    for node in obj.node.walk():
        for entry in node.entries:
            if entry.name in known and entry.value.kind == "sequence":
                for item in entry.value.items:
                    if item.entries:
                        yield entry.name, entry.key, item, known[entry.name]


def _unused(obj: Object, context: Context) -> Findings:
    """Yield a finding for each unused value whose name is that of a field of the object, if the template prints other
    values of the same mapping.
    """
    source, scopes, defaults = obj.source, context.templates.scopes(obj.source), context.templates.values(obj.source)
    shape = context.schemas.shape(obj.kind, obj.version, context.karpenter)
    if defaults is None or shape is None or scopes is None:
        return
    reported: set[tuple[str, ...]] = set()
    for use in scopes.uses:
        around = use.path[:-1]
        inside = obj.node.start <= use.code.start < obj.node.end
        if not inside or around in reported or len(around) < 2 or scopes.prints_whole(around):
            continue
        reported.add(around)
        known = scopes.below(around) | GENERAL
        for values in (defaults, *context.templates.more_values(source)) if not scopes.loops_over(around) else ():
            for entry in (entry for node in scopes.follow(values, around) for entry in node.entries):
                name = entry.name
                if name is None or name in known or _is_empty(entry.value) or not shape.has_below(name):
                    continue
                if name in scopes.loose or context.templates.is_in_another_template(source, name):
                    continue
                if _says_the_same(obj, name, entry.value):
                    continue
                code = Span(source, use.code.start, use.code.end)
                at, also = (
                    (code, Also(entry.key, "this is the chart's default"))
                    if values is defaults
                    else (entry.key, Also(code, "the template prints this field of the values"))
                )
                read = scopes.paths_to(name)
                yield Finding(
                    at=at,
                    message=f"`{name}` is in the values next to `{use.path[-1]}`, but no template prints it"
                    + (" there" if read else ""),
                    also=[also],
                    note="setting it has no effect, and gives no error",
                    help=f"the template reads it from `{read[0]}`"
                    if read
                    else f"print `{name}` in the template, or remove it from the values",
                )


def _is_empty(value: Node) -> bool:
    return value.plain() in (None, "", [], {})


def _says_the_same(obj: Object, name: str, value: Node) -> bool:
    """Return whether the template itself contains the same value under this name."""
    written = [entry.value for node in obj.node.walk() for entry in node.entries if entry.name == name]
    return any(node.plain() == value.plain() for node in written)
