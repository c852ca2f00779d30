"""Try edits in memory: render again, find the objects that change, and judge them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from nodelint.base.tuples import NamedTuple
from nodelint.inventory import Inventory
from nodelint.karpenter.resolve import taints
from nodelint.lint.broken_fixes import EditedTexts
from nodelint.lint.engine import LintRequest, Report, lint
from nodelint.lint.results import Result
from nodelint.lint.rule_reach import keep_rules_of_other_objects
from nodelint.model.documents import objects
from nodelint.model.finding import Edit
from nodelint.model.manifest import EC2NodeClass, NodePool, Object
from nodelint.rule.suppressions import Suppression
from nodelint.text import Source

_FEW_POOLS = 60
"""Pools that are judged anew with each object that changes: a finding may be about two pools, and a class that works
lets its pools be compared. Where more may be compared, a run of fixes judges them all once it is made."""

Build = Callable[[Sequence[Source]], Inventory]
BuildAround = Callable[[Sequence[Source], Sequence[Source]], Inventory]
"""A function that returns the inventory of rendered objects for some files."""

Name = tuple[str, str]
"""The kind and the written name of an object. For a file, an empty kind and the path."""

FindingKey = tuple[str, Name]
"""A rule, and the name of the object that it reports."""


class ChangedObject(NamedTuple):
    """An object before and after a trial (None if there is none), and the paths of its input files.

    `document` is the number of its document in its file, or -1 if the object is rendered.
    """

    old: Object | None
    new: Object | None
    paths: frozenset[str]
    document: int

    @property
    def name(self) -> Name:
        """Return the kind and name of the object before the trial."""
        return name_of(self.old or self.new)

    def is_value_of(self, rendered: Collection[str]) -> bool:
        """Return whether the object stands in values of a chart, in one of the files that are rendered: what the
        chart makes of it is an object of its own.
        """
        obj = self.old or self.new
        return obj is not None and obj.of_values and os.path.abspath(obj.source.path) in rendered


class PartlyChanged:
    """The objects of an inventory with some of the changes of a trial; the other objects are unchanged."""

    def __init__(self, before: Inventory, after: Inventory, changes: Sequence[ChangedObject]) -> None:
        self._before = before
        self._new = {_object_place(change.old): change.new for change in changes if change.old is not None}
        self.built = (*before.built, *after.built)

    def objects(self, foreign: bool = False) -> Iterator[Object]:
        """Yield the objects as `Inventory.objects` does."""
        for obj in self._before.objects(foreign):
            new = self._new.get(_object_place(obj), obj)
            if new is not None:
                yield new


def _object_place(obj: Object) -> tuple[int, int]:
    return id(obj.source), obj.node.start


class Tried(NamedTuple):
    """The result of trial edits: the changed objects, and the findings of the objects that were judged again.

    - `reported`: the number of findings by rule and name of the object, which is the name before the edits.
    - `first`: one finding for each of these keys; `errors`: the keys with an error; `messages`: all messages.
    - `inventory`: the rendered manifests after the edits.
    - `unread`: the names of files, rendered manifests and objects that cannot be read any more.
    - `context_sources`: the files that were read for context; `judged`: the number of judged objects.
    """

    inventory: Inventory
    changed: Sequence[ChangedObject]
    reported: Counter[FindingKey]
    first: Mapping[FindingKey, Result]
    messages: frozenset[tuple[FindingKey, str]]
    errors: frozenset[FindingKey]
    context_sources: Sequence[Source] = ()
    unread: Sequence[str] = ()
    judged: int = 0


def name_of(obj: Object | None, path: str = "") -> Name:
    """Return the kind and name of an object; ("", path) if there is no object."""
    if obj is None:
        return "", path
    name = obj.name if isinstance(obj.name, str) else obj.name_node.text
    return obj.kind, str(name)


def key_of_finding(result: Result, former: Mapping[Name, Name] = MappingProxyType({})) -> FindingKey:
    """Return the rule of a finding and the name of its object, by the `former` name if it was renamed."""
    name = name_of(result.built or result.object, result.span.source.path)
    return result.rule.name, former.get(name, name)


class Trials:
    """Trial edits on the same files: each trial starts from the unedited files."""

    def __init__(
        self,
        sources: Sequence[Source],
        request: LintRequest,
        inventory: Inventory,
        build: BuildAround,
        edited: EditedTexts,
    ) -> None:
        self.sources = sources
        self._edited = edited
        self.request = request
        self.inventory = inventory
        self._build = build
        self._texts = {_text_key(text, n): text for text, n in _numbered(inventory.sources)}
        self._faults = _count_faults(inventory)
        self._built = {text.path for built in inventory.built for text in built.texts}

    def run(self, edits: Sequence[Edit], others_only: bool = False) -> Tried:
        """Apply the edits, render the changed files again, and judge the objects that change or that read these.

        With `others_only`, only rules that read other objects run: the fixes of each document are known to work.
        """
        groups: dict[int, list[Edit]] = {}
        for edit in dict.fromkeys(edits):
            groups.setdefault(id(edit.source), []).append(edit)

        def edited(source: Source) -> Source:
            return self._edited.read(source, groups[id(source)]) if id(source) in groups else source

        sources = [edited(source) for source in self.sources]
        context_sources = [edited(source) for source in self.request.context_sources]
        both = zip((*self.sources, *self.request.context_sources), (*sources, *context_sources), strict=True)
        renewed = [(old, new) for old, new in both if old is not new]
        unread = [_NO_FILE for old, new in renewed if _reads_less(old, new)]
        with _KeptAsides(self.sources):
            inventory = self._build(sources, context_sources)
            unread += [f"what is built of `{path}` could no longer be read" for path in self._list_misread(inventory)]
        changed = self._find_changed(inventory, renewed)
        unread += _list_gone(inventory, changed)
        requested = self._readers(inventory, context_sources, changed, [new for _, new in renewed])
        names = {name_of(change.new): change.name for change in changed if change.new is not None}
        only = frozenset([*map(id, requested), *(id(new) for _, new in renewed)])
        request = self.request._replace(context_sources=context_sources, only=only)
        if others_only:
            reporting = [name for name, rule in request.rules.items() if request.selection.enables(rule)]
            request = request._replace(rules=keep_rules_of_other_objects(request.rules, reporting))
        report = lint(sources, request, built=inventory.built)
        about = _about(report, {new.path for _, new in renewed})
        found = [(key_of_finding(r, names), r) for r in without_repetitions(about)]
        counts = Counter(finding_key for finding_key, _ in found)
        messages = frozenset((finding_key, result.finding.message) for finding_key, result in found)
        errors = frozenset(finding_key for finding_key, result in found if result.severity == "error")
        first = dict(reversed(found))
        judged = len(requested)
        return Tried(inventory, changed, counts, first, messages, errors, context_sources, unread, judged)

    def compare(self, inventory: Inventory) -> list[ChangedObject]:
        """Return the objects that differ in the inventory of changed files."""
        return self._find_changed(inventory, ())

    def _find_changed(self, inventory: Inventory, renewed: Sequence[tuple[Source, Source]]) -> list[ChangedObject]:
        """Return the objects that differ, each with its state before."""
        found: list[ChangedObject] = []
        known = dict(self._texts)
        for text, n in _numbered(inventory.sources):
            old = known.pop(_text_key(text, n), None)
            if old is not text and (old is None or old.text != text.text):
                found += _compare(old, text)
        for old in known.values():
            found += _compare(old, None)
        context_sources = set(map(id, self.request.context_sources))
        for old, new in renewed:
            if id(old) in context_sources:
                found += _compare(old, new)
        rendered = inventory.rendered_inputs
        return [change for change in found if not change.is_value_of(rendered)]

    def _list_misread(self, inventory: Inventory) -> list[str]:
        """Return the paths of files and rendered manifests with more faults than before."""
        found = {path for path, faults in _count_faults(inventory).items() if faults > self._faults[path]}
        gone = self._built.difference(text.path for built in inventory.built for text in built.texts)
        if gone:  # what holds nothing to fill in any more is no longer built
            plain = {
                file.path
                for file in inventory.files
                if not any(finding_key in file.text for finding_key in _FILLED_IN)
            }
            found |= gone - plain
        return sorted(found)

    def _readers(
        self,
        inventory: Inventory,
        context_sources: Sequence[Source],
        changed: Sequence[ChangedObject],
        renewed: Sequence[Source],
    ) -> list[Object]:
        """Return the objects to judge: changed objects, and NodePools and classes that refer to each other.

        If a changed file has suppression comments, all its objects are judged: whether a comment is needed depends on
        all findings of the file.
        """
        own = [change.new for change in changed if change.new is not None]
        ids, names = set(map(id, own)), set(map(name_of, own))
        both = [obj for change in changed for obj in (change.old, change.new)]
        classes = {str(obj.name) for obj in both if isinstance(obj, EC2NodeClass)}
        refs = {
            str(obj.class_ref.name)
            for change in changed
            if _has_other_nodes(change)
            for obj in (change.old, change.new)
            if isinstance(obj, NodePool) and obj.class_ref
        }
        commented = {id(source) for source in renewed if source.holds("nodelint:")}
        texts = [text for built in inventory.built for text in built.texts]
        variants = set(map(id, texts))

        def reads(obj: Object) -> bool:
            if id(obj) in ids or id(obj.source) in commented:
                return True
            if id(obj.source) in variants and name_of(obj) in names:
                return True
            if isinstance(obj, NodePool):
                return obj.class_ref is not None and str(obj.class_ref.name) in classes
            return isinstance(obj, EC2NodeClass) and str(obj.name) in refs

        every = (*inventory.sources, *texts, *context_sources, *self._plain(inventory))
        sources = {id(source): source for source in every}
        found = [obj for source in sources.values() for obj in objects(source, foreign=True, more=True)]
        pools = [obj for obj in found if isinstance(obj, NodePool)]
        if own:
            compared = _find_compared(pools, [pool for pool in pools if reads(pool)])
            ids.update(map(id, compared))
        return list(filter(reads, found))

    def _plain(self, inventory: Inventory) -> Iterator[Source]:
        """Yield the files that are judged in addition to their rendered manifests: templates of charts."""
        yield from (source for source in inventory.files if source.masked)


def _find_compared(pools: Sequence[NodePool], affected: Sequence[NodePool]) -> Sequence[NodePool]:
    """Return the NodePools whose weight and taints are those of a pool that the fix affects.

    All pools if there are few; empty if more than `_FEW_POOLS` match.
    """
    if len(pools) <= _FEW_POOLS // 3:
        return pools
    alike = {(pool.weight or 0, str(taints(pool))) for pool in affected}
    compared = [pool for pool in pools if (pool.weight or 0, str(taints(pool))) in alike]
    return compared if len(compared) <= _FEW_POOLS else ()


def count_reported(report: Report) -> Counter[FindingKey]:
    """Return how many findings each rule has for each object of a report."""
    return Counter(map(key_of_finding, without_repetitions(report.places)))


def without_repetitions(results: Iterable[Result]) -> Iterator[Result]:
    """Yield the results without repetitions of one message about one place and object.

    An object that is rendered with defaults and with a values file has the same finding twice. A finding that is
    reported once in a run may have another place in the next run.
    """
    known = set()
    for result in results:
        place = None if result.finding.once else result.span
        key = (key_of_finding(result), place, result.finding.message)
        if key not in known:
            known.add(key)
            yield result


def _about(report: Report, paths: Collection[str]) -> Iterator[Result]:
    """Yield the findings, without those about comments in other files, whose objects were not judged."""
    return (r for r in report.places if r.rule.on is not Suppression or r.span.source.path in paths)


def _numbered(texts: Iterable[Source]) -> Iterator[tuple[Source, int]]:
    """Yield the texts, each with the number of earlier texts of the same place."""
    counts: Counter[tuple[str, ...]] = Counter()
    for text in texts:
        key = _place(text)
        yield text, counts[key]
        counts[key] += 1


def _place(text: Source) -> tuple[str, ...]:
    built = text.built
    return (text.path,) if built is None else (text.path, str(built.cluster), str(built.label))


def _text_key(text: Source, number: int) -> tuple[object, ...]:
    return (*_place(text), number)


def _reads_less(old: Source, new: Source) -> bool:
    return len(new.problems) > len(old.problems) or len(new.set_aside) > len(old.set_aside)


_FILLED_IN = ("{{", "${", "%{")
"""Marks of files that are rendered with values."""

_NO_FILE = "the file could no longer be read"


class _KeptAsides:
    """A context manager that restores the skipped regions of sources after a trial, which may add to them."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._counts = [(source, len(source.set_aside)) for source in sources]

    def __enter__(self) -> None:
        """Enter the block; nothing has to be prepared."""

    def __exit__(self, *_error: object) -> None:
        for source, count in self._counts:
            del source.set_aside[count:]


def _count_faults(inventory: Inventory) -> Counter[str]:
    """Return the number of faults by file path: in the file, and in what is rendered from it.

    If several texts have one path, the largest number counts.
    """
    found: Counter[str] = Counter()
    for text in (*inventory.files, *(text for built in inventory.built for text in built.texts)):
        if text.problems or text.set_aside:
            found[text.path] = max(found[text.path], len(text.problems) + len(text.set_aside))
    for built in inventory.built:
        if built.problems:
            found[built.source.path] += len(built.problems)
    return found


def _list_gone(inventory: Inventory, changed: Sequence[ChangedObject]) -> list[str]:
    """Return a sentence for each object that the edits would remove.

    An object that is also in another text of the same path is not removed: variants may become one.
    """
    gone = [change.old for change in changed if change.new is None and change.old is not None]
    if not gone:
        return []
    paths = {obj.source.path for obj in gone}
    texts = [text for text in inventory.sources if text.path in paths]
    left = {(text.path, name_of(obj)) for text in texts for obj in objects(text, foreign=True, more=True)}
    return [f"{obj.label} would be gone" for obj in gone if (obj.source.path, name_of(obj)) not in left]


def _compare(old: Source | None, new: Source | None) -> Iterator[ChangedObject]:
    """Yield the objects of a text that differ from before. Documents that were not parsed again are unchanged."""
    before = list(objects(old, foreign=True, more=True)) if old is not None else []
    after = list(objects(new, foreign=True, more=True)) if new is not None else []
    same = {id(obj.document) for obj in before}.intersection(id(obj.document) for obj in after)
    before = [obj for obj in before if id(obj.document) not in same]
    after = [obj for obj in after if id(obj.document) not in same]
    for was, now in _paired(before, after):
        obj = was or now
        assert obj is not None
        if was is not None and now is not None and was.node.plain() == now.node.plain() and not _has_comment(now):
            continue
        built = obj.source.built
        paths = built.parts if built is not None else (os.path.abspath(obj.source.path),)
        plain = built is None and (not obj.source.masked or obj.document.host is not None)
        yield ChangedObject(was, now, frozenset(paths), obj.document.index if plain else -1)


def _has_other_nodes(change: ChangedObject) -> bool:
    """Return whether the NodePool's template changed: rules about classes read nothing else of NodePools."""
    templates = [obj.node.find("spec", "template") if obj is not None else None for obj in (change.old, change.new)]
    return any(node is None for node in templates) or templates[0].plain() != templates[1].plain()  # type: ignore[union-attr]


def _has_comment(obj: Object) -> bool:
    return obj.source.holds("nodelint:")


def _paired(before: Sequence[Object], after: Sequence[Object]) -> Iterator[tuple[Object | None, Object | None]]:
    """Yield pairs of objects with one name, then the remaining objects in their order."""
    left: dict[Name, list[Object]] = {}
    for obj in after:
        left.setdefault(name_of(obj), []).append(obj)
    unpaired = []
    for was in before:
        namesakes = left.get(name_of(was))
        if namesakes:
            yield was, namesakes.pop(0)
        else:
            unpaired.append(was)
    rest = [obj for obj in after if any(obj is other for other in left[name_of(obj)])]
    for n in range(max(len(unpaired), len(rest))):
        yield (unpaired[n] if n < len(unpaired) else None), (rest[n] if n < len(rest) else None)
