"""Group fixes that make the same edits in documents that differ only in names, so that one trial proves them all."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property

from nodelint.karpenter.labels import words_of
from nodelint.lint.engine import LintRequest
from nodelint.lint.fix_bisection import find_document
from nodelint.lint.fix_offers import FixOffer
from nodelint.lint.results import Result
from nodelint.model.documents import objects
from nodelint.model.finding import Edit
from nodelint.model.manifest import EC2NodeClass, NodePool, Object
from nodelint.text import Node, Source

_Key = tuple[object, ...]

Alike = tuple[FixOffer, Sequence[FixOffer]]
"""The first offer of a cause, and the others."""


def share_causes(offers: Sequence[FixOffer], causes: Causes) -> Sequence[Alike]:
    """Return the first offer of each cause, and those that are alike."""
    if len(offers) < 2:
        return [(offer, []) for offer in offers]
    found: list[tuple[FixOffer, list[FixOffer]]] = []
    known: dict[object, list[FixOffer]] = {}
    for offer in offers:
        wants = tuple(sorted((finding_key[0], count) for finding_key, count in offer.wants.items()))
        key = causes.key_of(offer.edits, (wants, offer.safe, offer.messages is None, offer.of_errors))
        if len(offer.names) != 1 or key is None:
            found.append((offer, []))
        elif key in known:
            known[key].append(offer)
        else:
            known[key] = []
            found.append((offer, known[key]))
    return found


def find_shared_documents(offers: Sequence[FixOffer], alike: Sequence[Alike]) -> list[FixOffer]:
    """Return the offers that change a document or an object that others change too: the first of those with the same
    causes.
    """
    numbers = {offer.edits: n for n, (first, others) in enumerate(alike) for offer in (first, *others)}
    together: dict[object, list[FixOffer]] = {}
    for offer in offers:
        for part in {*offer.names, *((id(edit.source), find_document(edit)) for edit in offer.edits)}:
            together.setdefault(part, []).append(offer)
    found: dict[tuple[int, ...], list[FixOffer]] = {}
    for same in together.values():
        if len(same) > 1:
            found.setdefault(tuple(sorted(numbers[offer.edits] for offer in same)), same)
    return list({id(offer): offer for same in found.values() for offer in same}.values())


class Causes:
    """The objects of some files, by what tells their fixes apart.

    `texts` are what the clusters get of the `sources`, `words` those that count in names. Two fixes have the same
    cause where their documents are alike except the names of the object and of its class, their edits are the same,
    and so are the class and the pools that name it: what rules say of such an object and its class is the same. Words
    of a name that a rule may look for count.
    """

    def __init__(
        self, sources: Sequence[Source], texts: Sequence[Source], request: LintRequest, words: Collection[str]
    ) -> None:
        self.words = words
        self._request = request
        self._texts = texts
        self._prints: dict[int, int | None] = {}
        self._around: dict[str, int] = {}
        self._numbers: dict[_Key, int] = {}
        self._sources = set(map(id, sources))

    @cached_property
    def _own(self) -> dict[tuple[int, int], Object | None]:
        """The object of each document that holds one, by its source and its number."""
        found: dict[tuple[int, int], Object | None] = {}
        for obj in self._list_objects():
            place = id(obj.source), obj.document.index
            found[place] = None if place in found else obj
        return found

    @cached_property
    def _called(self) -> dict[tuple[type[Object], str], list[Object]]:
        """The classes of each name, and the pools that refer to one."""
        found: dict[tuple[type[Object], str], list[Object]] = {}
        for obj in self._list_objects():
            name = _class_name(obj)
            if name is not None:
                found.setdefault((type(obj), name), []).append(obj)
        return found

    def _list_objects(self) -> Iterator[Object]:
        for source in (*self._texts, *self._request.context_sources):
            yield from objects(source, foreign=True, more=True)

    def leave_firsts(self, results: Sequence[Result]) -> list[Result]:
        """Return fixes less those of documents in which the same is changed as in one before.

        What breaks the one breaks the other, for an object that is known by another name. Only what is changed within
        the `spec` of an object of v1 counts: it becomes the twin of no other object.
        """
        groups: dict[tuple[int, int], list[int]] = {}
        apart: set[tuple[int, int]] = set()
        for n, result in enumerate(results):
            places = {(id(edit.source), find_document(edit)) for edit in result.finding.edits}
            for place in places:
                groups.setdefault(place, []).append(n)
            if len(places) > 1:
                apart |= places
        left: set[int] = set()
        known: set[_Key] = set()
        for place, numbers in groups.items():
            key = None if place in apart else self._key_of_document(place, [results[n] for n in numbers])
            if key is None or key not in known:
                left.update(numbers)
            if key is not None:
                known.add(key)
        return [results[n] for n in sorted(left)]

    def _key_of_document(self, place: tuple[int, int], results: Sequence[Result]) -> _Key | None:
        """Return what all that fixes change in a document has in common with other documents; None for nothing."""
        obj = self._own.get(place)
        spec = None if obj is None or obj.version != "v1" else obj.node.get("spec")
        if obj is None or spec is None or _class_name(obj) is None:
            return None
        whole, edits = self._fingerprint(obj), [edit for result in results for edit in result.finding.edits]
        if whole is None or any(edit.start < spec.start for edit in edits):
            return None
        parts = [_relative(edit, obj) for edit in edits]
        return None if None in parts else (whole, tuple(parts), self._releases(obj))

    def key_of(self, edits: Sequence[Edit], more: _Key) -> _Key | None:
        """Return what fixes of one cause have in common. None for a fix that shares its cause with none."""
        source = edits[0].source
        number = find_document(edits[0])
        if any(edit.source is not source or find_document(edit) != number for edit in edits):
            return None
        obj = self._own.get((id(source), number))
        if obj is None or id(source) not in self._sources or self._request.selection.per_path:
            return None
        whole, name = self._fingerprint(obj), _class_name(obj)
        if whole is None or name is None:
            return None
        parts = [_relative(edit, obj) for edit in edits]
        if None in parts:
            return None
        return (
            whole,
            tuple(parts),
            self._number_of_context(name),
            self._releases(obj),
            os.path.dirname(source.path),
            more,
        )

    def _releases(self, obj: Object) -> object:
        choose = self._request.target.choose
        chosen = choose(obj) if choose is not None else ()
        return (
            chosen if isinstance(chosen, str) else tuple((choice.karpenter, choice.kubernetes) for choice in chosen)
        )

    def _number_of_context(self, name: str) -> int:
        """Return the number of what a class is, and of the pools that name it: the same for what is alike."""
        if name not in self._around:
            prints = [
                sorted(map(repr, map(self._fingerprint, self._called.get((kind, name), ()))))
                for kind in (EC2NodeClass, NodePool)
            ]
            key = tuple(map(tuple, prints))
            self._around[name] = self._numbers.setdefault(key, len(self._numbers))
        return self._around[name]

    def _fingerprint(self, obj: Object) -> int | None:
        """Return a number that objects have in common whose documents are alike but for names."""
        if id(obj) not in self._prints:
            key = _fingerprint(obj, self.words)
            self._prints[id(obj)] = None if key is None else self._numbers.setdefault(key, len(self._numbers))
        return self._prints[id(obj)]


def _fingerprint(obj: Object, words: Collection[str]) -> _Key | None:
    """Return the text of an object's document without the names.

    None if it is not all that there is of the object.
    """
    document, source = obj.document, obj.source
    if source.built or obj.partial or obj.of_values or obj.node is not document.root or source.holds("nodelint:"):
        return None
    if source.masked and document.host is None:
        return None
    parts: list[object] = []
    if document.host is not None:
        around = _find_around(obj)
        if around is None:
            return None
        parts += document.host, document.prefix, document.target, document.part, document.templated, around
    at = _start(obj)
    for node in _names(obj):
        parts += source.text[at : node.start], tuple(word for word in words_of(node.value) if word in words)
        at = node.end
    return (type(obj), *parts, source.text[at : document.end])


_LABEL = re.compile(r'(?m)^(\w+[ \t]+"[^"\n]*"[ \t]+)"[^"\n]*"(?=[ \t]*\{)')
"""The name of a block of code, such as that of a resource, behind its type."""


_END_OF_BLOCK = "\n}\n"


def _find_around(obj: Object) -> tuple[str, str] | None:
    """Return the code of the block around a document in it, up to other documents, without the names of blocks.

    None if the document stands in another one.
    """
    document, text, documents = obj.document, obj.source.text, obj.source.documents
    before, after = documents[: document.index][-1:], documents[document.index + 1 :][:1]
    begin, end = before[0].end if before else 0, after[0].start if after else len(text)
    if begin > document.start or end < document.end:
        return None
    above = text[begin : document.start].rpartition(_END_OF_BLOCK)[2]
    below = text[document.end : end].partition(_END_OF_BLOCK)[0]
    return _LABEL.sub(r"\1", above.lstrip("\n")), _LABEL.sub(r"\1", below)


def _start(obj: Object) -> int:
    """Where a document begins, behind the line that parts it from the one before."""
    start = obj.document.start
    return start + 4 if obj.source.text.startswith("---\n", start) else start


def _relative(edit: Edit, obj: Object) -> _Key | None:
    """Return an edit by its place in the document as `_fingerprint` has it; None if it changes a name."""
    start, end = edit.start, edit.end
    by = _start(obj)
    for node in _names(obj):
        if (end > node.start and start < node.end) or start == node.end or end == node.start:
            return None
        if start >= node.end:
            by += node.end - node.start
    return start - by, end - by, edit.text


def _names(obj: Object) -> Iterator[Node]:
    """Yield the nodes that name an object, and the class that it refers to, in their order."""
    found = [obj.name_node]
    if isinstance(obj, NodePool) and obj.class_ref is not None:
        name = obj.class_ref.node.get("name")
        found += [name] if name is not None and name.kind == "scalar" else []
    own = [node for node in found if node.kind == "scalar" and node.source is obj.source]
    yield from sorted(own, key=lambda node: node.start)


def _class_name(obj: Object) -> str | None:
    """Return the name of a class, or of the class of a pool, where it is known."""
    name: object = None
    if isinstance(obj, EC2NodeClass):
        name = obj.name
    elif isinstance(obj, NodePool) and obj.class_ref is not None:
        name = obj.class_ref.name
    return name if isinstance(name, str) else None
