r"""A template prints a value that YAML reads as another type: a list without `toYaml`, or a string without quotes.

Helm prints a list with spaces between its items: `values: {{ .Values.zones }}` becomes
`values: [us-east-1a us-east-1b]`. This is a list with the single value `us-east-1a us-east-1b`, and no zone has that
name. A mapping becomes `map[cpu:100]`, which the API server refuses. A list of one item works until somebody adds
another one.

If the chart's default is such a list or mapping, the finding is an error. If the value is not known, or if the field
takes a string that a chart user may pass, it is a warning. A value that is a string may contain YAML.
`[{{ .Values.zones }}]` and `role: {{ .Values.role }}` are findings if the default is a list or a mapping.

```yaml bad frame=pool
spec.template.spec.requirements:
  - key: topology.kubernetes.io/zone
    operator: In
    values: {{ .Values.zones }}
```

The rule also reports a value without quotes if the API server requires a string, and a number or `true` is usual.

`nodes: {{ .nodes }}` prints `nodes: 0`, whether the values contain `0` or `"0"`. YAML reads a number, and the API
server refuses the object. The same is true for taints, labels and tags that a loop prints, for requirements on
numbers such as `karpenter.k8s.aws/instance-cpu`, and for account ids of owners.

The rule reports nothing if the chart's default is a string. If it is a number, `invalid-field` reports it.

```yaml bad frame=pool
spec.disruption:
  consolidateAfter: 5m
  budgets:
    - nodes: {{ .Values.nodes }}
```
"""

import re
from collections.abc import Iterator

from nodelint.api import (
    UNKNOWN,
    Also,
    Context,
    Edit,
    Finding,
    Findings,
    Node,
    Object,
    RuleCheck,
    Span,
    labels,
    rule,
    run_checks,
    scalars,
)


@rule(
    on=Object,
    group="correctness",
    fix="unsafe",
    gives_way_to=["invalid-field"],
    providers=["aws", "auto-mode"],
    renamed=("printed-as-text",),
    subject="templates",
    source=[
        "https://helm.sh/docs/chart_best_practices/values/",
        "https://helm.sh/docs/howto/charts_tips_and_tricks/",
    ],
    mentions=["{{"],
    tags=["template-code"],
)
def check(obj: Object, context: Context) -> Findings:
    yield from run_checks(obj, context, RuleCheck(_check_collection), RuleCheck(_check_text, severity="warning"))


_FIELD = r"\{\{-?\s*((?:\$\w*)?(?:\.\w+)+|\$\w+)\s*(-?)\}\}"


def _check_collection(obj: Object, context: Context) -> Findings:
    source = obj.source
    if not source.masked or "{{" not in source.text[obj.node.start : obj.node.end]:
        return
    if not source.holds(".Values"):
        return
    for node, kind in _open(obj, context):
        printed = re.fullmatch(_FIELD, node.unquoted)
        if printed is None or re.search(rf"if not {re.escape(printed[1])}\s*-?}}}}", source.text):
            continue  # a value that is only printed if it is empty is printed as `[]`
        default = context.templates.default(source, printed[1])
        if kind in ("item", "text") and (default is None or default.kind == "scalar" or not default.plain()):
            continue
        if kind == "text" and default is not None and _stands_in(default):
            continue  # it says that a value is needed, and who gives one may give a text
        if default is not None and default.kind == "scalar" and default.value not in (None, ""):
            continue
        yield _finding(node, kind, printed, default)


def _stands_in(default: Node) -> bool:
    """Return whether a default contains only empty values: `tags: {karpenter.sh/discovery: ""}`."""
    below = [*(entry.value for entry in default.entries), *default.items]
    return all(_stands_in(node) for node in below) if below else default.value in (None, "")


def _finding(node: Node, kind: str, printed: re.Match[str], default: Node | None) -> Finding:
    source, field = node.source, printed[1]
    end = node.start + printed.end(1)
    edits = [] if kind == "text" or node.style != "plain" else [Edit(source, end, end, " | toJson")]
    around = node.parent
    if kind == "item":
        single = around is not None and around.style == "flow" and len(around.items) == 1
        assert around is not None
        edits = [Edit(source, around.start, around.end, f"{{{{ {field} | toJson }}}}")] if single else []
    is_mapping = kind == "mapping" or (default is not None and default.kind == "mapping")
    several = default is not None and (is_mapping or len(default.items) > 1)
    what = "a mapping" if is_mapping else "a list"
    written = "map[a:b]" if is_mapping else "[[a b]]" if kind == "item" else "[a b]"
    return Finding(
        at=Span(source, node.start, node.end),
        message=f"the template prints `{field}` as Go prints {what}, `{written}`: YAML reads that as one string",
        severity="error" if kind != "text" and (several or kind == "item") else "warning",
        edits=edits,
        safety="safe" if several else None,
        also=[] if default is None else [Also(default, "this is the chart's default")],
        help=None if edits else "print one of its values" if kind == "text" else "let `toYaml` write all items",
    )


def _open(obj: Object, context: Context) -> Iterator[tuple[Node, str]]:
    """Yield each placeholder for a list, a mapping, a list item or a text, with this kind."""
    shape = context.schemas.shape(obj.kind, obj.version, context.karpenter)
    pending = [(obj.node, shape, False)]
    while pending:
        node, shape, is_item = pending.pop()
        if shape is None:
            continue
        if node.kind == "mapping":
            for entry in node.entries:
                below = shape.field(entry.name) or shape.extra if entry.name is not None else None
                pending.append((entry.value, below, False))
        elif node.kind == "sequence":
            pending += [(item, shape.items, True) for item in node.items]
        elif node.value is UNKNOWN and node.style in ("plain", "single", "double"):
            if shape.items is not None:
                yield node, "list"
            elif shape.has_fields or shape.extra is not None:
                yield node, "mapping"
            else:
                yield node, "item" if is_item and node.style == "plain" else "text"


BARE = r"""\{\{-?\s*(\$?[\w.]+(?:\s*\|\s*default\s+(?:"[^"]*"|[\w.$]+))?)(?=\s*-?\}\})[^{}]*\}\}"""
OWNERS = (".owner", ".ownerID")


def _check_text(obj: Object, context: Context) -> Findings:
    source = obj.source
    if source.text.find("{{", obj.node.start, obj.node.end) < 0:
        return
    scopes = context.templates.scopes(source)
    if scopes is None:
        return
    for path, node, shape in context.walk_schema(obj):
        if shape.type != "string" or node.value is not UNKNOWN or node.style != "plain":
            continue
        printed = re.fullmatch(BARE, node.unquoted)
        usual = _usual(path, node, context) if printed is not None else ""
        if printed is None or not usual:
            continue
        use = next(iter(scopes.used_within(node.start, node.end)), None)
        if use is None or any(
            node.plain() not in (None, "") for node in scopes.follow(context.templates.values(source), use.path)
        ):
            continue
        end = node.start + printed.end(1)
        yield Finding(
            at=Span(source, node.start, node.end),
            message=f"the template prints no quotes: YAML does not read {usual} as a string, and the API server "
            "refuses it",
            edits=[Edit(source, end, end, " | quote")],
            note="quotes in the values do not help: the template prints only the text between them",
        )


def _usual(path: str, node: Node, context: Context) -> str:
    """Return an example of a common value of the field that YAML reads as a number or a boolean if it has no quotes.

    Empty if there is none.
    """
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
    entry = node.own_entry
    return "`true` or a number" if entry is not None and entry.key.value is UNKNOWN else ""
