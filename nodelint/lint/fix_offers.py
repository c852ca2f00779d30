"""Fixes and suggestions as they are tried: their edits, the findings that they fix, and compatible groups."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.lint.fix_bisection import find_document
from nodelint.lint.fix_trials import ChangedObject, FindingKey, Name, Tried, key_of_finding, without_repetitions
from nodelint.lint.results import OccupiedSpans, Result
from nodelint.model.finding import Edit
from nodelint.model.manifest import NodePool, Object

_MOST_APART = 8
"""The most groups of edits for different documents, before edits of one document are tried together."""


class FixOffer(NamedTuple):
    """The edits of a fix or suggestion, and the findings that they fix; `safe` must be proven.

    `wants` counts the fixed findings by rule and object. `messages` are the messages of these findings if the edits
    are only suggestions, because the rule may report another problem afterwards. `of_errors`: the edits fix only
    errors.
    """

    edits: tuple[Edit, ...]
    safe: bool
    wants: Counter[FindingKey]
    messages: frozenset[tuple[FindingKey, str]] | None
    of_errors: bool

    @property
    def names(self) -> set[Name]:
        """Return the objects of the fixed findings."""
        return {finding_key[1] for finding_key in self.wants}

    def rename(self, text: str, other: FixOffer) -> str:
        """Return a message about the object of another offer, with the name of this offer's object."""
        ((_, old),), ((_, new),) = other.names, self.names
        return text.replace(f"`{old}`", f"`{new}`")


class EditEffect(NamedTuple):
    """The effect of edits that were tried alone: the changed objects, before and after, and whether nodes stay."""

    changed: tuple[tuple[Object, Object | None], ...]
    replaces_no_node: bool


Effects = Mapping[tuple[Edit, ...], EditEffect]


def list_offers(places: Sequence[Result], sources: Collection[int]) -> list[FixOffer]:
    """Return the fixes and suggestions that change only `sources` (by their ids), without duplicates."""
    wants: dict[tuple[Edit, ...], Counter[FindingKey]] = {}
    safe: dict[tuple[Edit, ...], bool] = {}
    messages: dict[tuple[Edit, ...], set[tuple[FindingKey, str]] | None] = {}
    lesser: set[tuple[Edit, ...]] = set()
    for result in without_repetitions(places):
        for edits, is_fix in _edits_of(result):
            if any(id(edit.source) not in sources or not edit.source.whole for edit in edits):
                continue
            finding_key = key_of_finding(result)
            wants.setdefault(edits, Counter())[finding_key] += 1
            safe[edits] = safe.get(edits, False) or (is_fix and result.safety == "safe")
            texts = messages.setdefault(edits, set())
            if result.severity != "error":
                lesser.add(edits)
            if is_fix:
                messages[edits] = None
            elif texts is not None:
                texts.add((finding_key, result.finding.message))
    return [
        FixOffer(edits, safe[edits], finding_keys, None if texts is None else frozenset(texts), edits not in lesser)
        for (edits, finding_keys), texts in zip(wants.items(), messages.values(), strict=True)
    ]


def _edits_of(result: Result) -> Iterator[tuple[tuple[Edit, ...], bool]]:
    """Yield the edits of a finding's fix and suggestions, and whether they are its fix."""
    if result.fixable:
        yield tuple(result.finding.edits), True
    for suggestion in result.finding.suggestions:
        yield tuple(suggestion.edits), False


def batches(offers: Sequence[FixOffer], comments: Collection[str]) -> Iterator[list[FixOffer]]:
    """Yield the offers in groups in which no two change one document, or one text of a rendered input.

    Offers of rules about `comments` may change one document: removing comments suppresses no finding, so they do not
    interact.
    """
    about_comments = [offer for offer in offers if all(finding_key[0] in comments for finding_key in offer.wants)]
    ids = set(map(id, about_comments))
    yield from groups(about_comments, 0)
    yield from groups([offer for offer in offers if id(offer) not in ids], _MOST_APART)


def groups(left: Sequence[FixOffer], apart: int = 0) -> Iterator[list[FixOffer]]:
    """Yield the offers in groups in which no two edits touch.

    In the first `apart` groups, no two change one document.

    Each group costs one trial of all objects, so later groups may contain many offers of one document.
    """
    while left:
        batch: list[FixOffer] = []
        rest: list[FixOffer] = []
        parts: set[tuple[int, int]] = set()
        names: set[Name] = set()
        spans = OccupiedSpans()
        for offer in left:
            own = {(id(edit.source), find_document(edit)) for edit in offer.edits}
            about = {finding_key[1] for finding_key in offer.wants}
            met = apart > 0 and bool(own & parts if all(number >= 0 for _, number in own) else about & names)
            if met or any(spans.touches(edit.span) for edit in offer.edits):
                rest.append(offer)
                continue
            batch.append(offer)
            parts |= own
            names |= about
            spans.add(edit.span for edit in offer.edits)
        yield batch
        left = rest
        apart -= 1


def touches(offer: FixOffer, name: Name, tried: Tried) -> bool:
    """Return whether the offer changes the object with this name, or an object that reads it."""
    if any(finding_key[1] == name for finding_key in offer.wants):
        return True
    paths = {os.path.abspath(edit.source.path) for edit in offer.edits}
    if not name[0]:
        return os.path.abspath(name[1]) in paths
    documents = {(os.path.abspath(edit.source.path), find_document(edit)) for edit in offer.edits}

    def changes(change: ChangedObject) -> bool:
        if change.document < 0:
            return not paths.isdisjoint(change.paths)
        (path,) = change.paths
        return (path, change.document) in documents or (path, -1) in documents

    own = [change for change in tried.changed if changes(change)]
    return any(change.name == name or name in _near(change) for change in own)


def _near(change: ChangedObject) -> Iterable[Name]:
    """Yield the names of objects of other kinds whose rules read a changed object."""
    for obj in (change.old, change.new):
        if isinstance(obj, NodePool) and obj.class_ref is not None:
            yield "EC2NodeClass", str(obj.class_ref.name)


def find_suspects(offers: Sequence[FixOffer], bad: Sequence[FindingKey], tried: Tried) -> list[FixOffer]:
    """Return the offers that may cause the bad findings of a trial."""
    names = {name for _, name in bad}
    found = [
        offer
        for offer in offers
        if not names.isdisjoint(offer.names) or any(touches(offer, name, tried) for name in names)
    ]
    return list(offers) if tried.unread or not found else found


def attribute_changes(
    batch: Sequence[FixOffer], changed: Sequence[ChangedObject]
) -> dict[tuple[Edit, ...], tuple[tuple[Object, Object | None], ...]]:
    """Return the objects that each fix of a batch changes, before and after the fix.

    A fix that changes an object together with another fix is left out.
    """
    of_file: dict[str, set[int]] = {}
    of_document: dict[tuple[str, int], set[int]] = {}
    for index, offer in enumerate(batch):
        for edit in offer.edits:
            path = os.path.abspath(edit.source.path)
            of_file.setdefault(path, set()).add(index)
            of_document.setdefault((path, find_document(edit)), set()).add(index)
    found: dict[int, list[ChangedObject]] = {}
    mixed: set[int] = set()
    for change in changed:
        if change.document < 0:
            owners = {index for path in change.paths for index in of_file.get(path, ())}
        else:
            (path,) = change.paths
            owners = {*of_document.get((path, change.document), ()), *of_document.get((path, -1), ())}
        if len(owners) == 1:
            found.setdefault(owners.pop(), []).append(change)
        else:
            mixed |= owners
    return {
        batch[index].edits: tuple((change.old, change.new) for change in changes if change.old is not None)
        for index, changes in found.items()
        if index not in mixed
    }
