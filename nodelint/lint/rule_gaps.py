"""Create gaps for rules that could not judge an object: a fact is missing, the time budget is spent, or the rule
raised an error.
"""

from __future__ import annotations

import os

from nodelint.base.budget import BudgetSpent
from nodelint.base.types import TYPE_CHECKING
from nodelint.ec2.facts import Missing
from nodelint.ec2.snapshot import Question
from nodelint.model.gap import Gap, gap_of
from nodelint.model.manifest import Object, served
from nodelint.rule.definition import Rule, bundled

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nodelint.lint.results import RuleOutput
    from nodelint.rule.target import Target

_BROKE_DOWN = "the rule broke down over it: a fault of nodelint's own, please report it"
OWN_BROKE_DOWN = "your rule raised an error on it"
"""The reason of a gap if a rule of the user raised an error."""


def gap_of_missing(rule: Rule, path: str, obj: Object | None, missing: Missing | BudgetSpent) -> Gap:
    """Return the gap of a rule that lacks a fact, or that ran out of the run's budget."""
    if isinstance(missing, BudgetSpent):
        return gap_of(rule.name, path, obj, str(missing))
    return gap_of(rule.name, path, obj, missing.reason, missing.transient, missing.kind)


def note_fault(rule: Rule, obj: Object | None, path: str, error: Exception, into: RuleOutput) -> None:
    """Record that a rule raised an error for an object or a file."""
    what = f"{rule.name} on {obj.label if obj else 'the file'} of {path}: {type(error).__name__}: {error}"
    place = _own_place(rule, error)
    into.faults.append(f"{place}: {what}" if place else f"internal error, please report it: {what}")
    into.skipped.append(gap_of(rule.name, path, obj, OWN_BROKE_DOWN if place else _BROKE_DOWN))


def _own_place(rule: Rule, error: Exception) -> str | None:
    """Return the file and line of a user's own rule that raised an error.

    None for a rule that comes with nodelint.
    """
    from traceback import extract_tb

    for frame in reversed(extract_tb(error.__traceback__)):
        folder, name = os.path.split(frame.filename)
        if name == f"{rule.name}.py" and folder != bundled():
            return f"{os.path.relpath(frame.filename)}:{frame.lineno}"
    return None


def skip_for_missing_facts(rules: Sequence[Rule], objects: Sequence[Object], target: Target) -> Iterator[Gap]:
    """Yield one gap for each rule that needs AWS facts and that has an object to check."""
    kinds = {type(obj) for obj in objects if served(obj, target.karpenter) and not obj.foreign}
    for rule in rules:
        needs = rule.needs or rule.may_need
        if needs and any(issubclass(kind, rule.on) for kind in kinds):
            try:
                target.facts.answer(Question(needs[0]))
            except Missing as missing:
                yield gap_of(rule.name, "", None, missing.reason, missing.transient, missing.kind)
