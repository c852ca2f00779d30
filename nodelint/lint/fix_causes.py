"""Group fixes that make the same edits in documents that differ only in names, so that one trial proves all
of them.
"""

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
from nodelint.lint.rule_reach import name_words
from nodelint.model.documents import objects
from nodelint.model.finding import Edit
from nodelint.model.manifest import EC2NodeClass, NodePool, Object
from nodelint.text import Node, Source

_Key = tuple[object, ...]

Alike = tuple[FixOffer, Sequence[FixOffer]]
"""The first fix offer of a cause, and the other offers."""


def share_causes(offers: Sequence[FixOffer], causes: Causes) -> Sequence[Alike]:
    """Return the first offer of each cause, with the other offers of that cause."""
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
    """Return the offers that change a document or object which other offers change as well.

    Of groups with equal causes, only the first is returned.
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
    """The objects of files, with keys that are equal for fixes with one cause.

    `texts` are the rendered manifests of the `sources`. Two fixes have one cause if their documents differ only in
    the names of the object and its class, and their edits, their class and the NodePools that use the class are
    equal. Rules then report the same. Words of a name that a rule looks for must be equal as well.
    """

    def __init__(self, sources: Sequence[Source], texts: Sequence[Source], request: LintRequest) -> None:
        self._request = request
        self._texts = texts
        self._prints: dict[int, int | None] = {}
        self._around: dict[str, int] = {}
        self._numbers: dict[_Key, int] = {}
        self._sources = set(map(id, sources))

    @cached_property
    def words(self) -> frozenset[str]:
        """Return the words that matter in names, of the rules that are loaded when a first object is compared."""
        return name_words(self._request.rules.values())

    @cached_property
    def _own(self) -> dict[tuple[int, int], Object | None]:
        """Return the object of each document with one object, by source id and document number; None for several
        objects.
        """
        found: dict[tuple[int, int], Object | None] = {}
        for obj in self._list_objects():
            place = id(obj.source), obj.document.index
            found[place] = None if place in found else obj
        return found

    @cached_property
    def _called(self) -> dict[tuple[type[Object], str], list[Object]]:
        """Return the classes by name, and the NodePools by the name of their class."""
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
        """Return the fixes without those of documents with the same changes as an earlier document.

        If one breaks its document, so does the other. Only changes within the `spec` of v1 objects are compared:
        these cannot create a duplicate object.
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
        """Return a key for the changes of all fixes in a document; None if it shares its cause with no other."""
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
        """Return a key that is equal for fixes with one cause. None if the fix shares its cause with no other."""
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
        """Return a number that is equal for class names whose class and NodePools are alike."""
        if name not in self._around:
            prints = [
                sorted(map(repr, map(self._fingerprint, self._called.get((kind, name), ()))))
                for kind in (EC2NodeClass, NodePool)
            ]
            key = tuple(map(tuple, prints))
            self._around[name] = self._numbers.setdefault(key, len(self._numbers))
        return self._around[name]

    def _fingerprint(self, obj: Object) -> int | None:
        """Return a number that is equal for objects whose documents differ only in names.

        None if the document may not contain the whole object.
        """
        if id(obj) not in self._prints:
            key = _fingerprint(obj, self.words)
            self._prints[id(obj)] = None if key is None else self._numbers.setdefault(key, len(self._numbers))
        return self._prints[id(obj)]


def _fingerprint(obj: Object, words: Collection[str]) -> _Key | None:
    """Return the text of an object's document without the names.

    None if the document may not contain the whole object.
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


_LABEL = r'(?m)^(\w+[ \t]+"[^"\n]*"[ \t]+)"[^"\n]*"(?=[ \t]*\{)'
"""The name of a block of code, such as that of a resource, behind its type."""


_END_OF_BLOCK = "\n}\n"


def _find_around(obj: Object) -> tuple[str, str] | None:
    """Return the code directly before and after an embedded document, such as the resource around a heredoc.

    Names of blocks are removed from it. It ends at the neighbouring documents. None if another document contains
    this one.
    """
    document, text, documents = obj.document, obj.source.text, obj.source.documents
    before, after = documents[: document.index][-1:], documents[document.index + 1 :][:1]
    begin, end = before[0].end if before else 0, after[0].start if after else len(text)
    if begin > document.start or end < document.end:
        return None
    above = text[begin : document.start].rpartition(_END_OF_BLOCK)[2]
    below = text[document.end : end].partition(_END_OF_BLOCK)[0]
    return re.sub(_LABEL, r"\1", above.lstrip("\n")), re.sub(_LABEL, r"\1", below)


def _start(obj: Object) -> int:
    """Return the start of a document after its `---` line."""
    start = obj.document.start
    return start + 4 if obj.source.text.startswith("---\n", start) else start


def _relative(edit: Edit, obj: Object) -> _Key | None:
    """Return an edit with offsets relative to the document without names; None if the edit changes a name."""
    start, end = edit.start, edit.end
    by = _start(obj)
    for node in _names(obj):
        if (end > node.start and start < node.end) or start == node.end or end == node.start:
            return None
        if start >= node.end:
            by += node.end - node.start
    return start - by, end - by, edit.text


def _names(obj: Object) -> Iterator[Node]:
    """Yield the nodes with the name of an object and of its class, in the order of the file."""
    found = [obj.name_node]
    if isinstance(obj, NodePool) and obj.class_ref is not None:
        name = obj.class_ref.node.get("name")
        found += [name] if name is not None and name.kind == "scalar" else []
    own = [node for node in found if node.kind == "scalar" and node.source is obj.source]
    yield from sorted(own, key=lambda node: node.start)


def _class_name(obj: Object) -> str | None:
    """Return the name of a class, or of a NodePool's class; None if it is not known."""
    name: object = None
    if isinstance(obj, EC2NodeClass):
        name = obj.name
    elif isinstance(obj, NodePool) and obj.class_ref is not None:
        name = obj.class_ref.name
    return name if isinstance(name, str) else None
