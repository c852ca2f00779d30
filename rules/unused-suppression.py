r"""A comment silences a rule that finds nothing there, or a rule that does not exist.

Remove the comment. Otherwise it hides a mistake that somebody makes later. The rule ignores comments for rules that
did not run because they are not selected. A comment in the form of another linter, such as `# noqa` or
`# nodelint: disable=rule`, silences nothing. If it is meant for nodelint, the finding shows the right form.

```yaml bad frame=class
# nodelint: ignore[wildcard-value] kept until the catalogue knows the new family
apiVersion: karpenter.k8s.aws/v1
spec.role: KarpenterNodeRole-main # nodelint: ignore[unknown-field]
```
"""

from nodelint.api import Context, Edit, Finding, Findings, Suppression, messages, rule


@rule(
    on=Suppression,
    group="hazard",
    fix="safe",
    subject="objects",
)
def check(suppression: Suppression, context: Context) -> Findings:
    if suppression.foreign is not None:
        yield from _about_another_form(suppression, context)
        return
    if not suppression.rules:
        yield Finding(
            at=suppression.span,
            message="this comment names no rule, so it suppresses nothing: write `# nodelint: ignore[rule] reason`",
        )
        return
    for name in suppression.rules:
        today = context.former_names.get(name)
        if today is not None:
            yield Finding(
                at=suppression.span,
                message=f"the rule `{name}` has the new name `{today}`; the old name still works",
                severity="info",
                edits=[_renamed(suppression, name, today)],
            )
        elif name not in context.rule_names:
            meant = messages.did_you_mean(name, context.rule_names)
            yield Finding(at=suppression.span, message=f"there is no rule `{name}`{meant}")
            return
    idle = [name for name in suppression.rules if name not in suppression.used]
    if len(idle) == len(suppression.rules):
        yield Finding(
            at=suppression.span,
            message=f"this comment suppresses nothing: `{', '.join(idle)}` reports nothing at this place",
            edits=[_removed(suppression)],
        )
    elif idle:
        yield Finding(
            at=suppression.span,
            message=f"this comment suppresses nothing: `{', '.join(idle)}` reports nothing at this place",
            edits=[_remove_idle_names(suppression, idle)],
        )


def _about_another_form(suppression: Suppression, context: Context) -> Findings:
    """Yield a finding for a comment in the form of another linter that names a rule of nodelint, or is at the place
    of a finding.
    """
    words = suppression.foreign or ()
    names = [
        context.former_names.get(word, word) for word in words if word in {*context.rule_names, *context.former_names}
    ]
    if not (names or suppression.ours or (not words and suppression.near)):
        return
    right = ", ".join(names or suppression.near[:2] or ["rule"])
    yield Finding(
        at=suppression.span,
        message=f"this comment silences nothing here: write `# nodelint: ignore[{right}] reason`",
        severity="warning" if names or suppression.ours else "info",
    )


def _removed(suppression: Suppression) -> Edit:
    """Return the edit that removes a comment, the blanks before it, and its line if the line is then empty.

    Only the text after `#` is removed if a block scalar above would otherwise include the lines below.
    """
    source, span = suppression.source, suppression.span
    start, end = span.start, span.end
    if suppression.own_line and source.text[start] == "#" and _ends_text(suppression):
        return Edit(source, start + 1, end, "")
    if suppression.own_line:
        start = source.flat.rfind("\n", 0, start) + 1
        if source.text.startswith("\ufeff") and start == 0:
            start = 1
        newline = source.flat.find("\n", end)
        end = len(source.text) if newline < 0 else newline + 1
    else:
        while source.text[start - 1] in " \t":
            start -= 1
    return Edit(source, start, end, "")


def _ends_text(suppression: Suppression) -> bool:
    """Return whether the line of a comment ends a block scalar that would otherwise continue with the blank or
    commented line below.
    """
    source, span = suppression.source, suppression.span
    below = source.line(source.position(span.end).line + 1).strip()
    if below and not below.startswith("#"):
        return False
    roots = [d.root for d in source.documents if d.root is not None and d.start <= span.start <= d.end]
    texts = (node for root in roots for node in root.walk() if node.style in ("literal", "folded"))
    return any(_is_commentary(source.flat[node.end : span.start]) for node in texts if node.end <= span.start)


def _is_commentary(text: str) -> bool:
    return all(line.strip() == "" or line.lstrip().startswith("#") for line in text.split("\n"))


def _renamed(suppression: Suppression, old: str, new: str) -> Edit:
    source, span = suppression.source, suppression.span
    opening = source.text.index("[", span.start)
    closing = source.text.index("]", opening)
    names = [new if name == old else name for name in suppression.rules]
    return Edit(source, opening + 1, closing, ", ".join(dict.fromkeys(names)))


def _remove_idle_names(suppression: Suppression, idle: list[str]) -> Edit:
    source, span = suppression.source, suppression.span
    opening = source.text.index("[", span.start)
    closing = source.text.index("]", opening)
    names = ", ".join(name for name in suppression.rules if name not in idle)
    return Edit(source, opening + 1, closing, names)
