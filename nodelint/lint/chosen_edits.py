"""Apply only the fixes and suggestions that the user chose, by rule or by place."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.lint.broken_fixes import mark_fix
from nodelint.lint.fix_offers import EditEffect, Effects
from nodelint.lint.results import Result, each_place
from nodelint.model.messages import did_you_mean, list_first

_CHOICE = re.compile(r"(?P<what>.+?)(:(?P<line>\d+)(:\d+)?)?(=(?P<number>[1-9]\d*))?", re.DOTALL)
_EXAMPLE = "a place such as pools.yaml:12"

FixKey = tuple[str, str, str]
"""The key of a finding, as `mark_fix` returns it."""


class ChoiceError(Exception):
    """Raised if a choice names no edit, or several. The message says what to write instead."""


class EditChoice(NamedTuple):
    """A choice of the user: the findings of a rule, or those at a line of a file.

    `line` is 0 if `what` is a rule. `number` is the number of a suggestion, from 1; 0 means the fix or the only
    suggestion.
    """

    text: str
    what: str
    line: int
    number: int

    @classmethod
    def read(cls, text: str, rules: Collection[str]) -> EditChoice:
        """Return the choice that a text names. Raise ChoiceError if the text is no rule and no place."""
        match = _CHOICE.fullmatch(text)
        if match is None:
            raise ChoiceError(f"write a rule or {_EXAMPLE}")
        what, line = match["what"], int(match["line"] or 0)
        if not line and what not in rules:
            if "/" in what or "." in what:
                raise ChoiceError(f"`{text}` names no line: write {_EXAMPLE}")
            hint = did_you_mean(what, rules) or f": write a rule or {_EXAMPLE}"
            raise ChoiceError(f"there is no rule `{what}`{hint}")
        return cls(text, what, line, int(match["number"] or 0))

    def names(self, result: Result) -> bool:
        """Return whether the choice names a finding."""
        if not self.line:
            return result.rule.name == self.what
        return self.is_in_file(result) and _line(result) == self.line

    def is_in_file(self, result: Result) -> bool:
        """Return whether a finding is in the file of the choice."""
        return os.path.abspath(result.span.source.path) == os.path.abspath(self.what)


class ChosenEdits:
    """The edits that the user chose. The first report names them; a later round applies those that still remain.

    `left` are chosen findings with several suggestions, each with the choices for them.
    """

    def __init__(self, choices: Sequence[EditChoice]) -> None:
        self.left: list[tuple[Result, str]] = []
        self._choices = choices
        self._names: dict[FixKey, str | None] | None = None
        """The name of the suggestion for each finding; None for its fix."""

    def pick(self, results: Sequence[Result], effects: Effects) -> list[Result]:
        """Return the chosen findings, each with the chosen edits as its fix.

        Raise ChoiceError if a choice names no edit of the first report, or several.
        """
        places = list(each_place(results))
        if self._names is None:
            self._names = {}
            for choice in self._choices:
                self._names.update(self._find_edits(choice, places))
        names = self._names
        return [_with_edits(r, names[mark_fix(r)], effects) for r in places if mark_fix(r) in names]

    def _find_edits(self, choice: EditChoice, places: Sequence[Result]) -> dict[FixKey, str | None]:
        """Return the name of the suggestion for each finding of a choice, None for its fix."""
        results = [result for result in places if choice.names(result)]
        if not results:
            raise ChoiceError(f"`{choice.text}`: {_explain_no_finding(choice, places)}")
        found: dict[FixKey, str | None] = {}
        several = []
        for result in results:
            names = [suggestion.name for suggestion in result.finding.suggestions]
            if choice.number:
                found.update((mark_fix(result), name) for name in names[choice.number - 1 : choice.number])
            elif result.fixable:
                found[mark_fix(result)] = None
            elif len(names) == 1:
                found[mark_fix(result)] = names[0]
            elif names:
                several.append(result)
        self.left += [(result, f"choose one of its suggestions: {_list_choices(result)}") for result in several]
        if not found and several:
            raise ChoiceError(f"`{choice.text}`: choose one of its suggestions: {_list_choices(several[0])}")
        if not found:
            raise ChoiceError(f"`{choice.text}`: {_explain_no_edit(choice, results[0])}")
        return found


def _with_edits(result: Result, name: str | None, effects: Effects) -> Result:
    """Return a finding with the edits of the suggestion `name` as its fix."""
    if name is None:
        return result
    edits = next((tuple(offer.edits) for offer in result.finding.suggestions if offer.name == name), ())
    effect = effects.get(edits, EditEffect((), False))
    finding = result.finding._replace(edits=edits, safety="unsafe")
    return result._replace(finding=finding, changed=effect.changed, replaces_no_node=effect.replaces_no_node)


def _line(result: Result) -> int:
    return result.span.source.position(result.span.start).line


def _list_choices(result: Result) -> str:
    """Return what to write for each suggestion of a finding: `pools.yaml:12=1 (keep `role`), ...`."""
    place = f"{result.span.source.path}:{_line(result)}"
    return ", ".join(f"{place}={n} ({offer.name})" for n, offer in enumerate(result.finding.suggestions, 1))


def _explain_no_finding(choice: EditChoice, places: Sequence[Result]) -> str:
    """Return that a choice names no finding, and the lines of its file that have one with an edit."""
    if not choice.line:
        return "the rule reports nothing here"
    with_edits = [r for r in places if choice.is_in_file(r) and (r.fixable or r.finding.suggestions)]
    lines = [f"{line} ({rule})" for line, rule in dict.fromkeys((_line(r), r.rule.name) for r in with_edits)]
    if not lines:
        return "nothing is reported at this line, and the file has no finding with a fix or suggestion"
    return f"nothing is reported at this line; findings with a fix or suggestion are at {list_first(lines, 5)}"


def _explain_no_edit(choice: EditChoice, result: Result) -> str:
    """Return why a chosen finding has no edit."""
    count = len(result.finding.suggestions)
    if count:
        return f"there is no suggestion {choice.number}: {_list_choices(result)}"
    what = "suggestion" if choice.number else "fix and no suggestion"
    withheld = result.finding.withheld
    reason = f": {withheld.text}" if withheld is not None else ": change the file by hand"
    return f"{result.rule.name} has no {what} here{reason}"
