"""Edits tried in memory: what the clusters get then, which objects change, and what the rules say of them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.inventory import Inventory
from nodelint.karpenter.resolve import taints
from nodelint.lint.broken_fixes import EditedTexts
from nodelint.lint.engine import LintRequest, Report, lint
from nodelint.lint.rule_reach import keep_asking
from nodelint.model.documents import objects
from nodelint.model.finding import Edit
from nodelint.model.manifest import EC2NodeClass, NodePool
from nodelint.rule.suppressions import Suppression
from nodelint.text import Source

if TYPE_CHECKING:
    from nodelint.lint.results import Result
    from nodelint.model.manifest import Object

_FEW_POOLS = 60
"""Pools that are judged anew with each object that changes: a finding may be about two pools, and a class that works
lets its pools be compared. Where more may be compared, a run of fixes judges them all once it is made."""

Build = Callable[[Sequence[Source]], Inventory]
"""What makes of files what the clusters get."""

Name = tuple[str, str]
"""The kind of an object and its name as it is written; of a file an empty kind and its path."""

FindingKey = tuple[str, Name]
"""A rule and what it speaks of."""


class ChangedObject(NamedTuple):
    """An object before and after a trial, None if there is none, and the paths of the files that it is made of.

    `document` is the number of its document in the one file that it is written in, -1 where files are built to it.
    """

    old: Object | None
    new: Object | None
    paths: frozenset[str]
    document: int

    @property
    def name(self) -> Name:
        """Return what it is called before the trial."""
        return name_of(self.old or self.new)


class PartlyChanged:
    """The objects of an inventory with some of the changes of a trial: the other objects are as they were."""

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
    """What some edits come to: the objects that change, and those whose rules read them.

    `reported` counts what the rules say then, by rule and by the object's name before the edits; `first` is a finding
    of each, `errors` are those with an error among them, `messages` are all that is said. `inventory` is what
    the clusters get. `unread` says what can no longer be read: files, what is built of them, and objects of these;
    `context_sources` are the files that are read for context, and `judged` is how many objects were judged.
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
    """Return the kind and name of an object; for none the path of a file."""
    if obj is None:
        return "", path
    name = obj.name if isinstance(obj.name, str) else obj.name_node.text
    return obj.kind, str(name)


def key_of_finding(result: Result, former: Mapping[Name, Name] = MappingProxyType({})) -> FindingKey:
    """Return the rule of a finding and what it speaks of, by its `former` name where it has another one."""
    name = name_of(result.built or result.object, result.span.source.path)
    return result.rule.name, former.get(name, name)


class Trials:
    """What edits of some files come to, each time tried on the same files."""

    def __init__(
        self,
        sources: Sequence[Source],
        request: LintRequest,
        inventory: Inventory,
        build: Build,
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
        """Make edits, build again what they change, and judge what reads it.

        With `others_only` those of each document hold: only rules that ask of other objects judge what reads them.
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
            inventory = self._build(sources)
            unread += [f"what is built of `{path}` could no longer be read" for path in self._list_misread(inventory)]
        changed = self._find_changed(inventory, renewed)
        unread += _list_gone(inventory, changed)
        requested = self._readers(inventory, context_sources, changed, [new for _, new in renewed])
        names = {name_of(change.new): change.name for change in changed if change.new is not None}
        only = frozenset([*map(id, requested), *(id(new) for _, new in renewed)])
        request = self.request._replace(context_sources=context_sources, only=only)
        if others_only:
            reporting = [name for name, rule in request.rules.items() if request.selection.enables(rule)]
            request = request._replace(rules=keep_asking(request.rules, reporting))
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
        """Return the objects that are others in what the clusters get of changed files."""
        return self._find_changed(inventory, ())

    def _find_changed(self, inventory: Inventory, renewed: Sequence[tuple[Source, Source]]) -> list[ChangedObject]:
        """Return the objects that are others, each with what it was."""
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
        return found

    def _list_misread(self, inventory: Inventory) -> list[str]:
        """Return the paths of texts, and of what is built of them, of which less can be read than at first."""
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
        """Return the objects that are judged: those that change, and pools and classes that name each other.

        Of a file with comments that silence rules, all: whether these are needed depends on all that is found there.
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
        """Files whose code is judged in addition to what is rendered from them: templates of charts."""
        yield from (source for source in inventory.files if source.masked)


def _find_compared(pools: Sequence[NodePool], affected: Sequence[NodePool]) -> Sequence[NodePool]:
    """Return the pools that rules compare with those that a fix affects; none of them where they are too many."""
    if len(pools) <= _FEW_POOLS // 3:
        return pools
    alike = {(pool.weight or 0, str(taints(pool))) for pool in affected}
    compared = [pool for pool in pools if (pool.weight or 0, str(taints(pool))) in alike]
    return compared if len(compared) <= _FEW_POOLS else ()


def count_reported(report: Report) -> Counter[FindingKey]:
    """Return how often each rule speaks of each object in a report."""
    return Counter(map(key_of_finding, without_repetitions(report.places)))


def without_repetitions(results: Iterable[Result]) -> Iterator[Result]:
    """Yield results; of those that say the same of one place and object, only the first.

    An object that is built twice, with defaults and with a values file, has one finding at a place of both. A finding
    that is reported once in a run may stand at another place in the next run.
    """
    known = set()
    for result in results:
        place = None if result.finding.once else result.span
        key = (key_of_finding(result), place, result.finding.message)
        if key not in known:
            known.add(key)
            yield result


def _about(report: Report, paths: Collection[str]) -> Iterator[Result]:
    """Return what is found, less what is said of comments in other files, whose objects were not judged."""
    return (r for r in report.places if r.rule.on is not Suppression or r.span.source.path in paths)


def _numbered(texts: Iterable[Source]) -> Iterator[tuple[Source, int]]:
    """Texts, each with how many of the same place came before it."""
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
"""What a file holds that is built with values."""

_NO_FILE = "the file could no longer be read"


class _KeptAsides:
    """While files are built for a trial: what is set aside in those that have no edits is of that trial alone."""

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
    """Return the objects that have no successor, and are in no other text of the same path: variants may become
    one.
    """
    gone = [change.old for change in changed if change.new is None and change.old is not None]
    if not gone:
        return []
    paths = {obj.source.path for obj in gone}
    texts = [text for text in inventory.sources if text.path in paths]
    left = {(text.path, name_of(obj)) for text in texts for obj in objects(text, foreign=True, more=True)}
    return [f"{obj.label} would be gone" for obj in gone if (obj.source.path, name_of(obj)) not in left]


def _compare(old: Source | None, new: Source | None) -> Iterator[ChangedObject]:
    """Yield the objects of a text that are others than before; documents that were not read again are the same."""
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
    """Whether a pool's nodes are others than before: no rule about a class reads anything else of its pools."""
    templates = [obj.node.find("spec", "template") if obj is not None else None for obj in (change.old, change.new)]
    return any(node is None for node in templates) or templates[0].plain() != templates[1].plain()  # type: ignore[union-attr]


def _has_comment(obj: Object) -> bool:
    return obj.source.holds("nodelint:")


def _paired(before: Sequence[Object], after: Sequence[Object]) -> Iterator[tuple[Object | None, Object | None]]:
    """Objects of one name, then those that are left in their order."""
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
