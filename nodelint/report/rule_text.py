"""The page of a rule for a terminal, the list of rules, and both as data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from nodelint.base.types import TYPE_CHECKING
from nodelint.report.style import TextStyle, cells, wrap
from nodelint.rule.classification import PROFILES, SUBJECTS
from nodelint.rule.definition import Rule, source_link

if TYPE_CHECKING:
    from typing import Any

_FENCE = re.compile(r"^```(\w*) ?(.*)$")
_WORDS = {"bad": ("Bad", "red"), "good": ("Good", "green"), "facts": ("With these facts from AWS", "cyan")}
_WIDEST = 100
"""The most characters of a line, because longer lines are hard to read."""

_NARROWEST = 90
"""The width, in columns, below which the description of a rule is on its own line."""


def page_lines(page: str, look: TextStyle) -> Iterator[str]:
    """Yield a Markdown page as text, wrapped at the width, with a heading above each example."""
    look = look._replace(width=min(look.width, _WIDEST))
    paragraph: list[str] = []
    titles: list[str] = []
    lines = iter(page.splitlines())
    for line in lines:
        fence = _FENCE.match(line)
        if fence is not None or not line.strip() or line.startswith(("#", "|", "- ", "  ")):
            yield from _flow(paragraph, look)
            paragraph = []
        if not line.startswith("|"):
            titles = []
        if fence is not None:
            yield from _example(fence[1], fence[2], lines, look)
        elif line.startswith("#"):
            yield look.style(line.lstrip("# "), bold=True)
        elif line.startswith("- "):
            yield from wrap(_readable(line[2:]), look.width, "- ", "  ")
        elif line.startswith("|"):
            row = [cell.strip() for cell in line.strip("| ").split(" | ")]
            if not titles:
                titles = row
            elif not line.startswith("| ---"):
                yield from wrap(_row_text(titles, row), look.width, "- ", "  ")
        elif not line.strip() or line.startswith("  "):
            yield line
        else:
            paragraph.append(line)
    yield from _flow(paragraph, look)


def _flow(lines: Sequence[str], look: TextStyle) -> list[str]:
    return wrap(_readable(" ".join(lines)), look.width, "", "") if lines else []


def _row_text(titles: Sequence[str], row: Sequence[str]) -> str:
    """Return a table row as text: the first cell, the middle cells with the titles of their columns, and the last."""
    middle = ", ".join(f"{title} {cell}" for title, cell in zip(titles[1:], row[1:-1], strict=False))
    return f"{row[0]} ({middle}): {row[-1]}"


def _readable(text: str) -> str:
    """Return the text with each link as its words and its address."""
    return re.sub(r"\[([^\[\]]+)\]\((https?://[^()\[\]\s]+)\)", r"\1: \2", text)


def _example(language: str, options: str, lines: Iterator[str], look: TextStyle) -> Iterator[str]:
    """Yield the lines of a fenced block; removed and added lines of a diff are coloured."""
    word, _, rest = options.partition(" ")
    known = _WORDS.get(word)
    if known is not None:
        about = f" ({rest})" if rest else ""
        yield look.style(f"{known[0]}{about}:", bold=True, fg=known[1])
    for line in lines:
        if line.startswith("```"):
            return
        colour = {"-": "red", "+": "green"}.get(line[:1]) if language == "diff" or line[1:2] == " " else None
        yield f"    {look.style(line, fg=colour) if colour else line}"


def list_lines(rules: Sequence[Rule], look: TextStyle, subject: str | None = None) -> Iterator[str]:
    """Yield a line for each rule, by subject (two in a narrow terminal); with `subject`, only the rules of this
    subject.
    """
    width = max((len(rule.name) for rule in rules), default=0)
    for title in [subject] if subject is not None else [*SUBJECTS, ""]:
        of_subject = [rule for rule in rules if rule.subject == title]
        if not of_subject:
            continue
        about = SUBJECTS.get(title, "Your own rules and policies.")
        first, *more = wrap(f"{title or 'more'}: {about}", look.width, "", "  ")
        yield look.style(title or "more", bold=True) + first[len(title or "more") :]
        yield from more
        for rule in of_subject:
            yield from _row(rule, width, look)
        yield ""


def remarks(rule: Rule) -> str:
    """Return the remarks on a rule in the list: fix, facts, default, preview. The list is searched for them."""
    fix = f"{rule.fix} fix" if rule.fix else ""
    more = "reports more with facts from AWS" if rule.may_need else ""
    needs = "needs facts from AWS" if rule.needs else more
    off = "off by default" if rule.group not in PROFILES["default"] else ""
    return ", ".join(filter(None, [fix, needs, "preview" if rule.preview else "", off]))


def _row(rule: Rule, width: int, look: TextStyle) -> Iterator[str]:
    fix = f"{rule.fix} fix" if rule.fix else ""
    colour = {"error": "red", "warning": "yellow", "info": "cyan"}[rule.severity]
    name, gap = look.style(rule.name, bold=True), " " * (width - cells(rule.name))
    needs = " (needs facts from AWS)" if rule.needs else ""
    off_by_default = "" if rule.group in PROFILES["default"] else "off by default"
    by_default = "preview: only with --preview" if rule.preview else off_by_default
    off = f" ({by_default})" if by_default else ""
    if not look.terminal:  # a line for each, for programs that look for one
        yield f"  {name}{gap}  {rule.severity:<7}  {fix:<10}  {rule.summary}{needs}{off}"
        return
    if look.width < _NARROWEST:
        sort = ", ".join(filter(None, [rule.group, fix, by_default]))
        yield f"  {name}  {look.style(rule.severity, fg=colour)} ({sort})"
        yield from wrap(f"{rule.summary}{needs}", look.width, "      ", "      ")
        return
    head = f"  {rule.name}{gap}  {rule.severity:<7}  {fix:<10}  "
    first, *rest = wrap(
        f"{rule.summary}{needs}{f' {by_default.capitalize()}.' if off else ''}", look.width, head, " " * len(head)
    )
    severity = look.style(f"{rule.severity:<7}", fg=colour)
    yield f"  {name}{gap}  {severity}  {fix:<10}  {first[len(head) :]}"
    yield from rest


def rule_data(rule: Rule, page: str | None = None) -> dict[str, Any]:
    """Return the metadata of a rule as data, with its Markdown page if `page` is given."""
    found: dict[str, Any] = {
        "name": rule.name,
        "summary": rule.summary,
        "subject": rule.subject or None,
        "group": rule.group,
        "profiles": [name for name, groups in PROFILES.items() if rule.group in groups],
        "severity": rule.severity,
        "fix": rule.fix,
        "karpenter": rule.releases,
        "needsFacts": list(rule.needs),
        "mayNeedFacts": list(rule.may_need),
        "since": rule.since,
        "stableSince": rule.stable_version,
        "preview": rule.preview,
        "formerNames": list(rule.renamed),
        "sources": [source_link(source)[1] for source in rule.sources],
        "options": [{"name": o.name, "type": o.type, "default": o.default, "text": o.text} for o in rule.options],
    }
    return found if page is None else {**found, "page": page}
