"""Find clusters whose Kubernetes version is a placeholder, if what fills it in may change."""

from __future__ import annotations

import re

from nodelint.base.types import TYPE_CHECKING
from nodelint.files.file_keywords import CLUSTER_COMMANDS, CLUSTERS
from nodelint.model.finding import Span
from nodelint.model.folders import path_below
from nodelint.plan.alias_images import has_alias
from nodelint.plan.changed_gaps import read_text
from nodelint.plan.uncompared import uncompared

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Set

    from nodelint.model.evidence import Evidence
    from nodelint.model.gap import Gap
    from nodelint.plan import Plan
    from nodelint.plan.read_side import Read
    from nodelint.releases import Stated

_NAME = re.compile(r"[A-Za-z_][\w-]*")
_WORDS = frozenset(
    (
        *("Values", "version", "Version", "matrix", "env", "vars", "var", "inputs", "secrets", "needs", "outputs"),
        *("steps", "default", "quote", "params", "parameters", "spec", "name", "value", "lookup", "config"),
    )
)
"""Words of placeholders that are not the name of one variable."""
_MARKS = tuple(word.decode() for word in (*CLUSTERS, *CLUSTER_COMMANDS))
_REACH_OF_A_NAME = 3
"""A value stands at most so many lines below its name, as in a list of CloudFormation's parameters."""


def find_changed_clusters(was: Read, new: Read, plan: Plan) -> Iterator[Gap]:
    """Yield each place that states an unknown Kubernetes version which may differ between the sides.

    Empty if no class has an alias: only the images of aliases depend on the version.
    """
    if not has_alias(plan.classes):
        return
    sides = was, new
    before, after = (_read_stated(side) for side in sides)
    old_unknown, new_unknown = _by_place(was, before.unknown_clusters), _by_place(new, after.unknown_clusters)
    known = {place for place, _ in (*_by_place(was, before.all), *_by_place(new, after.all))}
    reported = set()
    for key in dict.fromkeys((*new_unknown, *old_unknown)):
        old, now, place = old_unknown.get(key), new_unknown.get(key), key[0]
        side, stated = (new, now) if now is not None else (was, old)
        assert stated is not None
        is_on_both = None not in (read_text(was, place), read_text(new, place))
        if is_on_both and (old is None or now is None):
            change = f"`{place}` changes it"
        else:
            left_out = known if is_on_both else {*known, place}  # a new cluster changes no other one
            change = next(_find_changes(sides, stated, left_out), "")
        if change and place not in reported:
            reported.add(place)
            reason = f"the cluster's Kubernetes version is not known ({stated.by}), and {change}"
            yield uncompared(_find_line(side, stated), place, f"{reason}: an alias may stand for other images", True)


def _read_stated(side: Read) -> Stated:
    from nodelint.releases import evidence_of

    return evidence_of(source for source in side.found.stating if any(mark in source.text for mark in _MARKS))


def _by_place(side: Read, found: Iterable[Evidence]) -> dict[tuple[str, str], Evidence]:
    """Return the statements of Kubernetes versions by the path of their file below the side's root, and by text."""
    return {(path_below(item.path, side.root), item.by): item for item in found if item.about == "kubernetes"}


def _find_changes(sides: tuple[Read, Read], stated: Evidence, known: Set[str]) -> Iterator[str]:
    """Yield a description of each file whose lines about a variable of a placeholder differ between the sides.

    A file that states a known version is skipped: its change is compared.
    """
    written = stated.by.partition("`")[2]
    names = [name for name in _NAME.findall(written) if name not in _WORDS]
    paths = {path_below(p, side.root) for side in sides for p in (*side.found.seen, *side.found.glanced)}
    for path in sorted(paths - known):
        texts = [read_text(side, path) or "" for side in sides]
        if texts[0] == texts[1]:
            continue
        for name in names:
            before, after = (_list_lines(text, name) for text in texts)
            if before != after:
                yield f"`{name}` changes in `{path}`"


def _list_lines(text: str, name: str) -> list[str]:
    """Return the lines of a text that contain a name, each with the next ones."""
    lines = [line.strip() for line in text.splitlines()] if name in text else []
    found = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")
    near = [i for i, line in enumerate(lines) if found.search(line)]
    return [line for i in near for line in lines[i : i + _REACH_OF_A_NAME]]


def _find_line(side: Read, stated: Evidence) -> Span:
    source = next(source for source in side.found.stating if source.path == stated.path)
    start = sum(map(len, source.text.splitlines(keepends=True)[: stated.line - 1]))
    return Span(source, start, start + len(source.text[start:].partition("\n")[0]))
