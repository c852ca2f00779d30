"""Templates judged with the values that their chart comes with, where no helm renders them.

A chart's values are there to be replaced. So only what the defaults themselves do is a finding, and nothing that
depends on an account: what is empty, or left out for an empty value, is not known.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from nodelint.lint import engine
from nodelint.lint.results import Result
from nodelint.render.filled import Back, filled_by_terraform, filled_charts, with_others
from nodelint.render.overrides import beside
from nodelint.render.roots import nodes_of, read
from nodelint.source import Source
from nodelint.source.charts import values_of

if TYPE_CHECKING:
    from nodelint.lint.engine import Report, Selection, Target
    from nodelint.lint.rule import Rule


def more(sources: Sequence[Source], seen: set[str]) -> list[Source]:
    """The values of charts with a template among the sources, as far as they were asked for: a fix may be theirs."""
    have = {os.path.abspath(source.path) for source in sources}
    found = []
    for source in sources:
        path = values_of(source.path) if source.may_be_template else None
        for each in (path, *beside(path)) if path is not None else ():
            if os.path.abspath(each) not in have and each in seen and (values := read(each)):
                nodes_of(values)
                have.add(os.path.abspath(each))
                found.append(values)
    return found


def added(
    plain: Report,
    sources: Sequence[Source],
    target: Target,
    rules: Mapping[str, Rule],
    selection: Selection,
    context_sources: Sequence[Source] = (),
) -> Report:
    """What `engine.lint` said of files, and what the default values of charts do to their templates among them."""
    try:
        made, given = list(filled_charts(sources)), list(filled_by_terraform(sources))
        if not made and not given:
            return plain
        told, faults = _told(made, sources, target, rules, selection, context_sources)
        others, faulty = _told(given, sources, target, rules, selection, context_sources, fixing=False)
        told, faults = [*told, *others], [*faults, *faulty]
    except Exception as error:
        if os.environ.get("NODELINT_DEBUG"):
            raise
        fault = f"the default values of charts: {type(error).__name__}: {error}"
        return plain._replace(faults=(*plain.faults, fault))
    silenced = _silenced(plain, told, [*made, *given], rules)
    shown = {id(backs[0].defaults) for backs in made}
    for source, backs in with_others(sources):
        shown.add(id(source))
        others, faulty = _told(backs, sources, target, rules, selection, (), fixing=False)
        told += _of_others(others, source, told)
        faults += faulty
    told = [result for result in told if result.rule.name != _COMMENTS]
    told = [result for result in told if _wanted(result, selection)]
    # What the templates make of values is known here: it is not guessed from the values alone.
    guessed = {id(o) for o in plain.objects if o.of_values and id(o.source) in shown}
    kept = [result for result in plain.results if id(result.object) not in guessed]
    told = [result for result in told if not _said(result, kept)]
    order = {source.path: n for n, source in enumerate(sources)}
    results = sorted(
        (*(result for result in kept if id(result) not in silenced), *told),
        key=lambda r: (order.get(r.span.source.path, len(order)), r.span.start, r.rule.name),
    )
    return plain._replace(
        results=tuple(results),
        objects=tuple(o for o in plain.objects if id(o) not in guessed),
        skipped=tuple(each for each in plain.skipped if id(each.object) not in guessed),
        faults=tuple(dict.fromkeys([*plain.faults, *faults])),
    )


def _told(
    made: Sequence[tuple[Back, ...]],
    sources: Sequence[Source],
    target: Target,
    rules: Mapping[str, Rule],
    selection: Selection,
    context_sources: Sequence[Source],
    fixing: bool = True,
) -> tuple[list[Result], list[str]]:
    """What values are found to do, whatever stands for what they leave out."""
    if not made:
        return [], []
    judged = {name: rule for name, rule in rules.items() if _is_about_defaults(rule)}
    replaced = {id(backs[0].template) for backs in made}
    around = [source for source in (*sources, *context_sources) if id(source) not in replaced]
    asked = {id(source) for source in sources}
    found: list[dict[tuple[object, ...], Result]] = []
    faults: list[str] = []
    for variant in range(max(map(len, made))):
        backs = {id(back.result): back for each in made for back in (each[min(variant, len(each) - 1)],)}
        results = [back.result for back in backs.values()]
        report = engine.lint(results, target, judged, selection, around)
        faults += report.faults
        told = [r for r in report.results if id(r.span.source) in backs]
        led = [backs[id(r.span.source)].led(r, asked, fixing and variant == 0) for r in reversed(told)]
        found.append({(r.rule.name, r.span, r.finding.message): r for r in led})
    return [result for mark, result in found[0].items() if all(mark in others for others in found)], faults


_COMMENTS = "unused-suppression"
_ABOUT_NAMES = ("duplicate-name", "placeholder-left", "unknown-node-class")
"""Rules about names, which whoever installs the chart gives."""
_ABOUT_CODE = (
    "dead-default",
    "fixed-class-kind",
    "nil-pointer",
    "repeated-by-loop",
    "required-field-not-printed",
    "unprinted-field",
    "unquoted-value",
    "value-never-printed",
)
"""Rules about the code of a template, which is judged before it is filled in."""


def _silenced(
    plain: Report, told: Sequence[Result], made: Sequence[tuple[Back, ...]], rules: Mapping[str, Rule]
) -> set[int]:
    """By their id, the findings about comments that silence nothing but what the defaults do."""
    files = {id(source) for backs in made for source in (backs[0].template, backs[0].defaults)}
    idle = {result.span for result in told if result.rule.name == _COMMENTS}
    found = set()
    for result in plain.results:
        if result.rule.name == _COMMENTS and id(result.span.source) in files and result.span not in idle:
            names = re.findall(r"`([\w-]+)`", result.finding.message)
            if any(name in rules and _is_about_defaults(rules[name]) for name in names):
                found.add(id(result))
    return found


def _is_about_defaults(rule: Rule) -> bool:
    """Whether a rule says what holds in whatever account, and whatever names are given."""
    return not rule.needs and rule.name not in (*_ABOUT_NAMES, *_ABOUT_CODE)


def _said(result: Result, plain: Sequence[Result]) -> bool:
    """Whether the template says the same before it is filled in."""
    at = result.span
    return any(other.rule is result.rule and other.span.touches(at) for other in plain)


def _wanted(result: Result, selection: Selection) -> bool:
    from nodelint.lint.suppress import suppressions

    source = result.span.source
    if selection.ignored_at(result.rule.name, source.path):
        return False
    return not any(comment.silences(result.rule.names, result.finding) for comment in suppressions(source))


def _of_others(told: Sequence[Result], values: Source, known: Sequence[Result]) -> Iterator[Result]:
    """The findings that a file of values has a part in, less those that were told of the same place."""
    places = {(result.rule.name, result.span) for result in known}
    for result in told:
        spans = (result.span, *(each.span for each in result.finding.also))
        if (result.rule.name, result.span) not in places and any(span.source is values for span in spans):
            yield result
