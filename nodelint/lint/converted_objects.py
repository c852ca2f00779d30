"""Convert objects of removed APIs to v1 to judge them, and map the findings back to the files.

No rule applies to an object that the target release does not serve. Such an object is converted as `removed-api`
suggests, the v1 object is judged, and findings are reported at the original place.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

from nodelint.edits import apply, if_editable, set_value
from nodelint.lint.results import Result
from nodelint.model.documents import objects
from nodelint.model.finding import Edit, Span, span_of
from nodelint.model.gvk import GROUPS
from nodelint.model.manifest import Object, Retired, served
from nodelint.rule.context import Context
from nodelint.text import SourceText, reread
from nodelint.text.nodes import Node

_NO_FAMILY = "an AWSNodeTemplate without amiFamily takes AL2"


_WORDS = {
    "v1beta1": {"WhenEmptyOrUnderutilized": "WhenUnderutilized"},
    "Provisioner": {
        "NodePool": "Provisioner",
        "EC2NodeClass": "AWSNodeTemplate",
        "WhenEmpty": "ttlSecondsAfterEmpty",
        "WhenEmptyOrUnderutilized": "consolidation.enabled: true",
        "expireAfter": "ttlSecondsUntilExpired",
        "nodeClassRef": "providerRef",
        "spec.template.spec": "spec",
    },
    "AWSNodeTemplate": {
        "NodePool": "Provisioner",
        "EC2NodeClass": "AWSNodeTemplate",
        "amiSelectorTerms": "amiSelector",
        "subnetSelectorTerms": "subnetSelector",
        "securityGroupSelectorTerms": "securityGroupSelector",
    },
}
"""Words of v1, each with the word of an older API."""


def _translate(message: str, obj: Object | None) -> str:
    """Return a message about a converted object in the terms of the API in which the file is written."""
    words = (_WORDS.get(obj.kind) or _WORDS.get(str(obj.version), {})) if obj is not None else {}
    if not words:
        return message
    pattern = "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
    return re.sub(rf"(?<![\w.])(?:{pattern})(?!\w)", lambda found: words[found[0]], message)


class Converted:
    """The objects of a run, with those of removed APIs converted to v1.

    `objects` are all objects, `pairs` each converted object with its original.
    """

    def __init__(self, old: Sequence[Object], context: Context) -> None:
        taken: dict[int, tuple[SourceText, set[Edit]]] = {}
        becoming = set()
        for obj in old:
            conversion = context.conversion(obj)
            edits = conversion.edits or conversion.alone or conversion.shown or _renamed(obj)
            if edits and _take(edits, taken):
                becoming.add(id(obj))
        self._ways: dict[int, _Way] = {}
        self.pairs: list[tuple[Object, Object]] = []
        instead: dict[int, Object] = {}
        by_source: dict[int, list[Object]] = {}
        for obj in context.objects:
            by_source.setdefault(id(obj.source), []).append(obj)
        for key, (source, edits_of) in taken.items():
            new = reread(source, apply(source.text, edits_of))
            before, after = by_source.get(key, []), list(objects(new))
            if len(before) == len(after):
                self._ways[id(new)] = _Way(source, new, edits_of)
                instead.update((id(was), now) for was, now in zip(before, after, strict=True))
                self.pairs += [(n, w) for w, n in zip(before, after, strict=True) if id(w) in becoming]
        self.pairs = [pair for pair in self.pairs if served(pair[0], context.karpenter)]
        self.objects = [instead.get(id(obj), obj) for obj in context.objects]

    def map_back(self, results: Iterable[Result]) -> list[Result]:
        """Return the findings about converted objects as findings about the files.

        Findings about parts that the conversion adds are dropped. The findings have no edits and no suggestions,
        because the object must be converted first.
        """
        was = {id(now): old for now, old in self.pairs}
        found = []
        for result in results:
            now = result.object
            old = was.get(id(now))
            if now is None:
                continue
            at = self._back(result.span, now, old) if old is not None else None
            places = ((also, self._back(also.span)) for also in result.finding.also)
            also = [also._replace(at=place) for also, place in places if place is not None]
            note = result.finding.note
            if old is not None and old.kind == "AWSNodeTemplate" and old.node.find("spec", "amiFamily") is None:
                note = note or (_NO_FAMILY if at is old.name_node and _is_image(now, result.span) else None)
            for place, obj in [(at, old)] if at is not None else self._moved(result.span, now):
                help = result.finding.help
                finding = result.finding._replace(
                    at=place,
                    edits=(),
                    safety=None,
                    covers=(),
                    also=also,
                    suggestions=(),
                    message=_translate(result.finding.message, obj),
                    note=_translate(note, obj) if note else note,
                    help=_translate(help, obj) if help else None,
                )
                found.append(result._replace(finding=finding, object=obj))
        return found

    def find_origin(self, at: Node | Span) -> Node | Span:
        """Return where a place of a converted object is written; the object's name if the conversion added it."""
        if id(at.source) not in self._ways:
            return at
        span = span_of(at)
        for now, old in self.pairs:
            if now.source is span.source and now.node.start <= span.start <= now.node.end:
                return self._back(span, now, old) or old.name_node
        return self._back(span) or span

    def _back(self, span: Span, now: Object | None = None, old: Object | None = None) -> Node | Span | None:
        way = self._ways.get(id(span.source))
        if way is None:
            return span
        found = way.back(span, old)
        if found is None and now is not None and old is not None:
            # The terms that conversion adds mean what the family, or no family, meant before.
            if _is_image(now, span):
                return old.node.find("spec", "amiFamily") or _selector(now, span, old) or old.name_node
            expiry = now.node.find("spec", "template", "spec", "expireAfter")
            # A Provisioner's nodes do not expire by default.
            if old.kind == "Provisioner" and _holds(expiry, span):
                return old.node.find("spec", "ttlSecondsUntilExpired") or old.name_node
            return _consolidation(span, now, old)
        return _node_at(found, old) if found is not None and old is not None else found

    def _moved(self, span: Span, now: Object) -> Iterator[tuple[Node, Object]]:
        """Yield the kubelet settings of NodePools that conversion moved to their class, with these NodePools."""
        kubelet = now.node.find("spec", "kubelet")
        for entry in kubelet.entries if kubelet is not None and span.source is now.source else ():
            if not entry.key.start <= span.start <= entry.value.end:
                continue
            for _, pool in self.pairs:
                setting = pool.node.find(*_KUBELET.get(pool.kind, ()), str(entry.name))
                named = pool.node.find(*_CLASS.get(pool.kind, ()), "name")
                if setting is not None and named is not None and named.value == now.name:
                    yield setting, pool


_KUBELET = {"NodePool": ("spec", "template", "spec", "kubelet"), "Provisioner": ("spec", "kubeletConfiguration")}
_CLASS = {"NodePool": ("spec", "template", "spec", "nodeClassRef"), "Provisioner": ("spec", "providerRef")}
"""The path of the class reference in NodePools and Provisioners. `_KUBELET` has the path of the kubelet settings."""


def _renamed(obj: Object) -> list[Edit]:
    """Return the edits that change an apiVersion which no release served to v1; empty for other objects."""
    node = obj.node.get("apiVersion")
    if node is None or isinstance(obj, Retired) or obj.version == "v1beta1":
        return []
    return if_editable(set_value, node, f"{GROUPS[obj.kind]}/v1")


def _holds(node: Node | None, span: Span) -> bool:
    return node is not None and node.source is span.source and node.start <= span.start <= node.end


def _is_image(now: Object, span: Span) -> bool:
    """Return whether a place is within the image selection of a class."""
    return any(_holds(now.node.find("spec", name), span) for name in ("amiSelectorTerms", "amiFamily"))


def _selector(now: Object, span: Span, old: Object) -> Node | None:
    """Return the former `amiSelector` if the place is within the terms that replaced it; else None."""
    return old.node.find("spec", "amiSelector") if _holds(now.node.find("spec", "amiSelectorTerms"), span) else None


def _consolidation(span: Span, now: Object, old: Object) -> Node | None:
    """Return the old API's setting for a consolidation policy or wait that the conversion wrote.

    None if the place is in neither.
    """
    block = now.node.find("spec", "disruption")
    names = ("consolidationPolicy", "consolidateAfter") if block is not None else ()
    found = [node for name in names if block is not None and (node := block.get(name)) is not None]
    if not any(_holds(node, span) for node in found):
        return None
    spec = old.node.get("spec")
    policy = old.node.find("spec", "disruption", "consolidationPolicy") or old.node.find(
        "spec", "consolidation", "enabled"
    )
    if policy is None and spec is not None:
        policy = spec.key("ttlSecondsAfterEmpty") or spec.key("disruption")
    return policy or (old.name_node if old.kind == "Provisioner" else None)


def _node_at(span: Span, obj: Object) -> Node | Span:
    """Return the node of the object with exactly these characters; the span if there is none."""
    keys = (entry.key for node in obj.node.walk() for entry in node.entries)
    nodes = (node for nodes in (obj.node.walk(), keys) for node in nodes)
    return next((node for node in nodes if (node.start, node.end) == (span.start, span.end)), span)


def _take(edits: Sequence[Edit], taken: dict[int, tuple[SourceText, set[Edit]]]) -> bool:
    """Add the edits to those of other objects and return True.

    If one touches an edit of another object, return False.
    """
    for edit in edits:
        known = taken.get(id(edit.source), (edit.source, set()))[1]
        if edit not in known and any(edit.span.touches(other.span) for other in known):
            return False
    for edit in edits:
        taken.setdefault(id(edit.source), (edit.source, set()))[1].add(edit)
    return True


class _Way:
    """Maps places of an edited text to places of the text before the edits."""

    def __init__(self, old: SourceText, new: SourceText, edits: Iterable[Edit]) -> None:
        self._old, self._new = old, new
        self._starts: list[int] = []
        self._edits = sorted(edits, key=lambda edit: (edit.start, edit.end))
        shift = 0
        for edit in self._edits:
            self._starts.append(edit.start + shift)
            shift += len(edit.text) - (edit.end - edit.start)

    def back(self, span: Span, within: Object | None) -> Span | None:
        """Return the span of the characters before the edits. None for characters that an edit wrote.

        A line that was moved is found by its text.
        """
        start = self._offset(span.start)
        if start is not None and not self._cut(span.start, start):
            end = self._offset(max(span.start, span.end - 1))
            return Span(self._old, start, max(start, start if end is None else end + 1))
        begin, line = _line_at(self._new.text, span.start)
        first, last = (0, len(self._old.text)) if within is None else (within.node.start, within.node.end)
        same = [at for at, text in _lines_between(self._old.text, first, last) if text == line]
        if not same and ": " in line and self._old.text.count(line, first, last) == 1:  # out of a flow mapping
            same = [self._old.text.index(line, first)]
        if len(same) > 1:  # as many as before, and in their order: the tags of two selectors
            now = [at for at, text in _lines_between(self._new.text, *self._forth(first, last)) if text == line]
            same = [same[now.index(begin)]] if len(now) == len(same) and begin in now else []
        if len(same) != 1 or span.start < begin:
            return None
        at = same[0] + span.start - begin
        return Span(self._old, at, min(at + span.end - span.start, same[0] + len(line)))

    def _forth(self, first: int, last: int) -> tuple[int, int]:
        """Return the start and end of a range after the edits."""
        shifts = [(edit.end, len(edit.text) - (edit.end - edit.start)) for edit in self._edits]
        return first + sum(by for end, by in shifts if end <= first), last + sum(
            by for end, by in shifts if end <= last
        )

    def _cut(self, new: int, old: int) -> bool:
        """Return whether a word starts here that was the end of a longer word before, such as `0s` of `24h0m0s`."""
        return self._old.text[max(old - 1, 0) : old].isalnum() and not self._new.text[max(new - 1, 0) : new].isalnum()

    def _offset(self, new: int) -> int | None:
        """Return the offset of a character before the edits; None if an edit wrote it."""
        number = bisect_right(self._starts, new) - 1
        if number < 0:
            return new
        edit = self._edits[number]
        behind = new - self._starts[number] - len(edit.text)
        return edit.end + behind if behind >= 0 else None


def _line_at(text: str, offset: int) -> tuple[int, str]:
    """Return the start and the text of the line around a character, without its indent."""
    start = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    line = text[start : end if end >= 0 else len(text)].rstrip()
    written = line.lstrip()
    return start + len(line) - len(written), written


def _lines_between(text: str, first: int, last: int) -> Iterator[tuple[int, str]]:
    """Yield the start and text of each line in a range, without its indent."""
    at = first
    while at <= last and at < len(text):
        begin, line = _line_at(text, at)
        yield begin, line
        after = text.find("\n", max(at, begin + len(line)))
        if after < 0:
            return
        at = after + 1
