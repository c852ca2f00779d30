r"""A template reads a field of a value that does not exist, so helm stops with a nil pointer error.

helm reports `nil pointer evaluating interface {}`. `{{ .Values.pool.limits.cpu | default 100 }}` has a default for
`cpu` only. If the values do not contain `limits`, helm renders nothing of the chart. Guard the field with `if` or
`with`, or with brackets: `((.Values.pool).limits).cpu`.

The rule follows the chart's default values. If they do not decide, for example for the items of an empty list, it
reports only fields that have a default, in a value that is used only with defaults. It reports nothing if another
file of the chart, such as `values-prod.yaml`, contains the value.

```yaml bad frame=pool
spec.limits.cpu: {{ .Values.limits.cpu | default 100 }}
```
"""

import re

from nodelint.api import Context, Edit, Finding, Findings, Source, Span, objects, rule


@rule(
    on=Source,
    group="hazard",
    fix="safe",
    subject="templates",
    source="https://helm.sh/docs/chart_best_practices/values/",
    mentions=["{{"],
    tags=["template-code"],
)
def check(source: Source, context: Context) -> Findings:
    if not any(True for _ in objects(source)):
        return
    reported: set[str] = set()
    for start, end, field in context.templates.stops_helm(source):
        parent = field.rpartition(".")[0]
        name = parent.rpartition(".")[2]
        if (
            parent in reported
            or name == "global"
            or context.templates.is_in_another_template(source, name, templates=False)
        ):
            continue
        reported.add(parent)
        yield _finding(source, (start, end), field, f"`{parent.lstrip('.')}` is not in the chart's values")
    yield from _fallbacks(source, context)


def _fallbacks(source: Source, context: Context) -> Findings:
    """Yield a finding for each field with a `default` whose parent may be missing in the values, and is not
    guarded.
    """
    scopes = context.templates.scopes(source)
    if scopes is None:
        return
    values = context.templates.values(source)
    reported: set[tuple[str, ...]] = set()
    found = []
    for use in scopes.uses:
        parent = use.path[:-1]
        if not use.fallback or use.steps < 2 or parent in reported or parent[:1] != ("Values",):
            continue
        if len(parent) < 2 or parent[-1] == "global":
            continue
        reported.add(parent)
        if values is not None and ("*" not in parent or scopes.follow(values, parent)):
            continue  # the chart's values tell
        if all(other.fallback for other in scopes.unguarded(parent)) and use in scopes.unguarded(parent):
            found.append(use)
    for use in found:
        why = f"`default` covers only `{use.path[-1]}`, but `{use.path[-2]}` may be missing"
        written = re.search(rf"[$\w.]*\.{use.path[-2]}\.{use.path[-1]}\b", use.code.text)
        yield _finding(source, (use.code.start, use.code.end), written[0] if written else use.path[-1], why)


def _finding(source: Source, at: tuple[int, int], field: str, why: str) -> Finding:
    start, end = at
    found = re.compile(rf"{re.escape(field)}[\w.]*").search(source.text, start, end)
    return Finding(
        at=Span(source, start, end),
        message=f"helm stops at a nil pointer: {why}",
        edits=[] if found is None else [Edit(source, *found.span(), _in_brackets(found[0]))],
        help="guard it with `if` or `with`, or give it an empty mapping in the values",
    )


def _in_brackets(field: str) -> str:
    """Return a template path with each step in brackets, such as `((.Values.a).b).c`.

    A missing step then gives nil instead of an error.
    """
    root = ".Values" if field.startswith(".Values.") else "$.Values" if field.startswith("$.Values.") else ""
    first, *names = (field.removeprefix(root)[1:] if root else field.removeprefix(".")).split(".")
    if not root and field[0] == "$":
        root, first, names = first, names[0], names[1:]
    done = f"{root}.{first}"
    for name in names:
        done = f"({done}).{name}"
    return done
