"""Where in the files that were rendered a place in the result comes from."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.forms.external.roots import Root
from nodelint.forms.lib.values import nodes_of
from nodelint.model.documents import objects
from nodelint.model.finding import Span
from nodelint.model.manifest import Object
from nodelint.text import UNKNOWN, Node, Source
from nodelint.text.syntax_errors import Unreadable
from nodelint.text.yaml.compose import compose

Step = str | int

# What tells the items of a list apart, where the items themselves have changed.
_NAMED_BY = ("key", "name", "alias", "id", "deviceName")
_FEWEST = 3
"""Characters of a text that is looked for by itself: shorter ones are there by chance."""

_VALUE_OF = (
    r"\s*(?:#[^\n]*\n\s*)*\{\{-?\s*(?:to(?:Yaml|Json)\s+|quote\s+)?\$?\.Values((?:\.\w+)+)\s*(?:\|[^{}]*)?-?\}\}"
)


class Place(NamedTuple):
    """A place in a file. `sure`: what stands there is what was found in the result. `object` is the one around it."""

    at: Node | Span
    sure: bool
    object: Object | None = None


class Origins:
    """The files that one result was rendered from, in the order of `Root.parts`."""

    def __init__(self, root: Root, result: Source, files: Sequence[Source]) -> None:
        self._root = root
        self._result = result
        self._by_path = {os.path.abspath(source.path): source for source in files}
        self._files = list(files)
        self.own = self._by_path.get(os.path.abspath(root.file))
        self._objects = list(objects(result))
        self._held = [(source, list(objects(source))) for source in files]
        self._yaml: dict[int, list[Node]] = {}

    def locate(self, at: Node | Span) -> Place | None:
        """Where a place comes from: the value itself, else what is around it, else the overlay or the template.

        None where not even that can be read.
        """
        node = at if isinstance(at, Node) else self._deepest(at)
        files = self._files_for(at.start)
        if node is not None:
            found = self._by_field(node, files)
            if found is not None and (found.sure or not _single(node)):
                return found
            alone = self._by_value(node)
            if alone is not None:
                return alone
            if found is not None and self._root.tool == "helm":
                return found
        own = self.own if self._root.tool == "kustomize" or len(files) != 1 else files[0]
        return None if own is None else Place(Span(own, 0, 0), False)

    def object_of(self, obj: Object) -> Object | None:
        """The object in the files that one of the result was made of: not its patches, which come first."""
        like = list(self._like(obj, self._files_for(obj.node.start)))
        return like[-1 if self._root.tool == "kustomize" else 0] if like else None

    def templates(self) -> set[str]:
        """The templates of a chart that have come to something, as absolute paths."""
        origins = (document.origin for document in self._result.documents)
        return {self._path(origin) for origin in origins if origin is not None}

    def _path(self, origin: str) -> str:
        """The file that helm means by `chart/templates/x.yaml`: the first part is the chart's name."""
        return os.path.abspath(os.path.join(self._root.folder, *origin.split("/")[1:]))

    def _files_for(self, offset: int) -> list[Source]:
        if self._root.tool == "kustomize":
            return self._files
        for document in self._result.documents:
            if document.start <= offset < document.end and document.origin is not None:
                path = self._path(document.origin)
                if path in self._by_path:
                    return [self._by_path[path]]
        return self._files

    def _deepest(self, span: Span) -> Node | None:
        best = None
        for root in nodes_of(self._result):
            for node in root.walk():
                if node.start <= span.start and span.end <= node.end and not node.shared:
                    best = node
        return best

    # -- by kind, name and field

    def _by_field(self, node: Node, files: Sequence[Source]) -> Place | None:
        owner = next((o for o in self._objects if o.node.start <= node.start and node.end <= o.node.end), None)
        if owner is None:
            return None
        way, is_key = _way(node, owner.node)
        is_overlay = self._root.tool == "kustomize"
        added = self._in_patch(node, owner, way, is_key) if is_overlay else None
        if added is not None:
            return added
        best: tuple[int, Place] | None = None
        named = list(self._like(owner, files))
        if is_key and is_overlay:
            named = _whole_last(named, way, owner)
        for candidate in named:
            end = _follow(candidate.node, way, owner.node, is_key)
            whole, at, steps = end.whole, end.node, end.steps
            if at.value is UNKNOWN and not (whole and is_key):
                # the template hands in a value, or all that is below
                given = self._from_values(at, way[steps:], owner.node.find(*way[:steps]), is_key)
                if given is not None and _same(given, node):
                    return Place(given, True)
            if whole and _same(at, node):
                renamed = isinstance(candidate.name, str) and len({o.name for o in named}) == 1
                sure = candidate.name == owner.name or renamed or len(named) == 1
                return Place(at, sure, candidate)
            near = Place(at if steps else candidate.name_node, False, candidate)
            # of patches and the base, which comes last, the base holds the object as a whole
            if best is None or steps > best[0] or (whole and is_overlay):
                best = (steps, near)
        if best is None or (best[0] < len(way) and is_overlay):
            return None
        return best[1]

    def _in_patch(self, node: Node, owner: Object, way: Sequence[Step], is_key: bool) -> Place | None:
        """The place of a field in the JSON 6902 patch that put it there."""
        for path, value, rest in self._added(owner, way):
            if is_key and not rest:
                return Place(Span(path.source, path.start, path.end), True)
            end = _follow(value, rest, owner.node.find(*way[: len(way) - len(rest)]), is_key)
            if end.whole and _same(end.node, node):
                return Place(end.node, True)
        return None

    def _like(self, obj: Object, files: Sequence[Source]) -> Iterator[Object]:
        """The objects in files that may be this one: of its very name, else of a name that rendering changes."""
        same = [o for source, objects in self._held if source in files for o in objects if o.kind == obj.kind]
        exact = [o for o in same if o.name == obj.name]
        yield from exact
        if self._root.tool == "helm":
            if not exact:
                yield from self._in_order(obj, same)
            return
        for other in same:
            name = other.name
            if name == obj.name:
                continue
            # an affix, and only where no object has the very name
            if not exact and isinstance(name, str) and isinstance(obj.name, str) and name and name in obj.name:
                yield other

    def _in_order(self, obj: Object, same: list[Object]) -> list[Object]:
        """The object of a template that an object came from whose name was filled in: all, where that is open."""
        origin = obj.document.origin
        made = [o for o in self._objects if o.kind == obj.kind and o.document.origin == origin]
        open_names = [o for o in same if not isinstance(o.name, str)]
        number = next((n for n, o in enumerate(made) if o.node is obj.node), None)
        return [same[number]] if number is not None and len(made) == len(same) else open_names

    def _added(self, obj: Object, way: Sequence[Step]) -> Iterator[tuple[Node, Node, Sequence[Step]]]:
        """What JSON 6902 patches put at a field or above it: the path, the value, the steps left below it."""
        for source in self._files:
            for root in self._documents(source):
                for target, operations in self._patches(source, root):
                    if not _selects_object(target, obj):
                        continue
                    for operation in operations:
                        path, value = operation.get("path"), operation.get("value")
                        if path is None or value is None or not isinstance(path.value, str):
                            continue
                        pointer = [p.replace("~1", "/").replace("~0", "~") for p in path.value.split("/")[1:]]
                        if len(pointer) <= len(way) and all(map(_steps_to, pointer, way)):
                            yield path, value, way[len(pointer) :]

    def _patches(self, source: Source, root: Node) -> Iterator[tuple[Node | None, list[Node]]]:
        for field in ("patches", "patchesJson6902"):
            listed = root.get(field)
            for item in listed.items if listed is not None else ():
                path, inline = item.get("path"), item.get("patch")
                if inline is not None and inline.style in ("literal", "folded"):
                    for list_of in _block(source, inline):
                        yield item.get("target"), list_of.items
                elif path is not None and isinstance(path.value, str):
                    named = os.path.abspath(os.path.join(os.path.dirname(source.path), path.value))
                    other = self._by_path.get(named)
                    for list_of in self._documents(other) if other is not None else ():
                        yield item.get("target"), list_of.items

    def _from_values(self, at: Node, rest: Sequence[Step], model: Node | None, is_key: bool) -> Node | None:
        """What `{{ .Values.a.b }}` at a place of a template stands for, and what is below."""
        code = re.compile(_VALUE_OF).match(at.source.text, at.start + (at.style in ("single", "double")))
        if code is None:
            return None
        keys = code[1].split(".")[1:]
        for source in self._files:
            if re.match(r"values|.*values\.ya?ml$", os.path.basename(source.path)):
                for root in self._documents(source):
                    value = root.find(*keys)
                    end = _follow(value, rest, model, is_key) if value is not None else None
                    if end is not None and end.whole:
                        return end.node
        return None

    # -- by the value alone

    def _by_value(self, node: Node) -> Place | None:
        """The one scalar of all the files that has the value."""
        value = node.value
        if not _single(node) or value is UNKNOWN or (isinstance(value, str) and len(value) < _FEWEST):
            return None
        if value is None or isinstance(value, bool):
            return None
        found = []
        for source in self._files:
            for root in self._documents(source):
                found += [n for n in root.walk() if n.kind == "scalar" and not n.shared and _same(n, node)]
                if len(found) > 1:
                    return None
        return Place(found[0], False) if found else None

    def _documents(self, source: Source) -> list[Node]:
        if id(source) not in self._yaml:
            self._yaml[id(source)] = nodes_of(source)
        return self._yaml[id(source)]


class _End(NamedTuple):
    """How far a way leads: the last node there is, the steps it took, and whether that is all of them."""

    node: Node
    steps: int
    whole: bool


def _whole_last(named: list[Object], way: Sequence[Step], owner: Object) -> list[Object]:
    """Without the patches that hold only a part of what stands under a key, where a base has the key, too.

    What is wrong with the key of a mapping is that something is missing in it, or that it is not known: the base
    is the place to say it, once for all overlays.
    """
    result = owner.node.find(*way)
    if result is None or result.kind != "mapping" or len(named) < 2:
        return named
    having = [obj for obj in named if obj.node.find(*way) is not None]
    parts = [obj for obj in having[:-1] if not _same(obj.node.find(*way) or obj.node, result)]
    return [obj for obj in named if obj not in parts]


def _way(node: Node, top: Node) -> tuple[list[Step], bool]:
    """The keys and indices from one node down to another, and whether that is the last key itself."""
    steps: list[Step] = []
    is_key, first = False, True
    while node is not top and node.parent is not None:
        parent = node.parent
        if parent.kind == "sequence":
            steps.append(next(i for i, item in enumerate(parent.items) if item is node))
        else:
            entry = next(e for e in (*parent.entries, *parent.merges) if e.value is node or e.key is node)
            is_key = is_key or (first and entry.key is node)
            steps.append(entry.name or "")
        node, first = parent, False
    return steps[::-1], is_key


def _follow(node: Node, way: Sequence[Step], model: Node | None, is_key: bool) -> _End:
    """Go the same way in another tree; `model` walks along in the result, to tell the items of lists apart."""
    for taken, step in enumerate(way):
        below: Node | None
        if isinstance(step, str):
            below = node.key(step) if is_key and taken == len(way) - 1 else node.get(step)
            model = model.get(step) if model is not None else None
        else:
            model = model.find(step) if model is not None else None
            below = _item(node, step, model)
        if below is None:
            return _End(node, taken, False)
        node = below
    return _End(node, len(way), True)


def _item(node: Node, index: int, model: Node | None) -> Node | None:
    """What an item of the result's list comes from: an equal one, one of its name, else the one in its place."""
    if node.kind != "sequence" or model is None:
        return node.find(index)
    equal = [item for item in node.items if item.plain() == model.plain()]
    if equal:
        return equal[0]
    for field in _NAMED_BY:
        name = model.get(field)
        if name is not None:
            same = [item for item in node.items if (n := item.get(field)) is not None and _same(n, name)]
            if same:
                return same[0]
    # what a template leaves open may follow from its place
    alike = model.parent is not None and len(model.parent.items) == len(node.items)
    return node.find(index) if alike else None


def _same(a: Node, b: Node) -> bool:
    return a.kind == b.kind and a.value is not UNKNOWN and a.plain() == b.plain()


def _single(node: Node) -> bool:
    return node.kind == "scalar"


def _steps_to(token: str, step: Step) -> bool:
    return token == step if isinstance(step, str) else token == "-" or token.isdigit()


def _selects_object(target: Node | None, obj: Object) -> bool:
    """Whether the target of a patch, whose fields are regular expressions over the whole text, selects an object."""
    if target is None:
        return True
    for field, is_one in (("kind", obj.kind), ("name", obj.name)):
        node = target.get(field)
        if node is not None and isinstance(node.value, str) and isinstance(is_one, str):
            try:
                # an affix that the overlay gives to names comes after its patches
                if not re.fullmatch(node.value, is_one) and node.value not in is_one:
                    return False
            except re.error:
                return False
    return True


def _block(source: Source, scalar: Node) -> list[Node]:
    """The YAML in a block scalar, with its places in the file."""
    body = source.text.find("\n", scalar.start, scalar.end) + 1
    if not body:
        return []
    try:
        return [r for r in compose(source, source.text[body : scalar.end], body, masked=False) if r is not None]
    except Unreadable:
        return []
