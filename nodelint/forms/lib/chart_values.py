"""Read the values that a release sets, in any form: files of a repository, inline values, single settings."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from typing import Literal

from nodelint.base.tuples import NamedTuple
from nodelint.files.gate import gate
from nodelint.files.gitignore import is_ignored
from nodelint.files.safe_read import find_top, is_inside
from nodelint.forms.lib.gotemplate.sprig_values import SetNode
from nodelint.forms.lib.values import is_empty, merged, read, read_broken, values_root
from nodelint.model.finding import Span
from nodelint.model.gap import Gap
from nodelint.text import UNKNOWN, Node, Source, SourceText
from nodelint.text.missing import text_of
from nodelint.text.nodes import MappingEntry
from nodelint.text.quoted_texts import join_text
from nodelint.text.syntax_errors import Unreadable
from nodelint.text.yaml.compose import compose

MAKES_POOLS = re.compile(r"(?i)node_?pools?\b|ec2_?node_?class|karpenter[\w/-]{0,50}(?:nodes?|pools?)\b")


MAY_MAKE_POOLS = re.compile(r"(?i)(?:^|[-_/])(?:nodes|pools?)(?:$|[-_])")
"""The name of a chart that is about nodes. Charts that only run on nodes are named after one `node`."""
_KEY_OF_POOLS = re.compile(
    r"(?i)(?:karpenter)?[_-]?(?:node_?pools?|(?:ec2)?_?node_?class(?:es)?)|nodeClassRef|(?:ami|subnet|securityGroup)SelectorTerms"
)
"""A key of values from which a chart makes pools or classes."""


def makes_pools(values: Node) -> bool:
    """Return whether values have a mapping or a list under a key from which charts make pools or classes."""
    return any(
        entry.value.kind != "scalar" and _KEY_OF_POOLS.fullmatch(entry.name or "") is not None
        for node in values.walk()
        for entry in node.entries
    )


MOST_RELEASES = 1000
"""The most releases of one chart that are rendered."""


def folder_of(source: SourceText) -> str:
    """Return the absolute folder of a text. The path of a rendered text may be the folder itself."""
    whole = os.path.abspath(source.path)
    return whole if gate.is_folder(whole) else os.path.dirname(whole)


class RepositoryTree(NamedTuple):
    """The repository of a release.

    - `home`: its top folder.
    - `sources`: files that were already read, by absolute path. Releases that share a file share its source.
    - `absolute`: whether paths are shown as absolute paths.
    - `gaps`: collects the nodes whose values could not be read; for a file that is not YAML, its syntax error.
    """

    home: str
    sources: dict[str, Source]
    absolute: bool
    gaps: list[Node | Span]

    @classmethod
    def around(
        cls, source: SourceText, sources: dict[str, Source], outside: str | None = None
    ) -> RepositoryTree | None:
        """Return the repository of a file.

        `outside` is the folder to use if the file is in no repository. Without `outside`, the result is then None.
        """
        home = find_top(folder_of(source)) or outside
        return None if home is None else cls(str(home), sources, os.path.isabs(source.path), [])

    def read_file(self, path: str) -> Source | None:
        """Return a file of the repository by its absolute path. None if it is outside or missing, or if git ignores
        it: a clone lacks it.
        """
        source = self.sources.get(path)
        if source is None and gate.is_file(path) and is_inside(path, self.home) and not is_ignored(path):
            source = read(path if self.absolute else os.path.relpath(path))
            if source is not None:
                self.sources[path] = source
        return source

    def read_values(self, folder: str, path: str, at: Node) -> Node | None:
        """Return the values in a file that a node names. None if it is outside, missing, or not a values file."""
        whole = os.path.normpath(os.path.join(folder, path))
        source = self.read_file(whole)
        if source is None:
            gate.notes_refusal(whole, path, at.source, at.start)
            return None
        return values_root(source) or (Node(source, 0, 0, "mapping", "flow") if is_empty(source) else None)

    def read_named(self, folder: str, name: Node) -> Node | None:
        """Return the values in a file that a node names. If it cannot be read, add a gap and return None."""
        written = text_of(name)
        found = self.read_values(folder, written, name) if written and "://" not in written else None
        if found is None:
            self.gaps.append(self.find_broken(folder, written) or name)
        return found

    def find_broken(self, folder: str, path: str) -> Span | None:
        """Return the place of the syntax error of a values file. None if it is YAML, a template or missing.

        The error becomes one of the problems of the file's source.
        """
        source = self.read_file(os.path.normpath(os.path.join(folder, path))) if path else None
        problem = read_broken(source) if source is not None else None
        return Span(source, problem.offset, problem.offset) if source is not None and problem is not None else None

    def exists(self, folder: str, path: str) -> bool:
        """Return whether a file or folder of the repository exists, on the disk or in an editor."""
        whole = os.path.normpath(os.path.join(folder, path))
        return whole in self.sources or gate.exists(whole)


class ChartRelease(NamedTuple):
    """A release of a chart.

    - `path`: the path of the chart's default values.
    - `given`: the files with other values, the strongest first. Empty for a release with the defaults.
    - `root`: all values, merged.
    - `unread`: a gap for values that cannot be read.
    - `by`: as in `InstallChart`.
    """

    path: str
    given: tuple[SourceText, ...]
    root: Node
    unread: Gap | None = None
    by: tuple[str, str] = ("", "")


class ValuesLayer(NamedTuple):
    """A layer of values of a release.

    - `given`: the text that contains it.
    - `apply`: returns the values below it with this layer merged.
    """

    given: SourceText
    apply: Callable[[Node], Node]


def files_of(layers: Sequence[ValuesLayer]) -> tuple[SourceText, ...]:
    """Return the files of layers of values. The file of the strongest layer is the first."""
    return tuple({id(layer.given): layer.given for layer in reversed(layers)}.values())


def files_in(layers: Sequence[ValuesLayer], root: Node, defaults: Source) -> tuple[SourceText, ...]:
    """Return the files of layers and of the values that they refer to.

    A text without a path, such as the text of a template's default, does not count.
    """
    files = {id(source): source for source in files_of(layers)}
    files.update((id(node.source), node.source) for node in root.walk() if node.source is not defaults)
    return tuple(source for source in files.values() if source.path)


def holds_unknown(layers: Sequence[ValuesLayer]) -> bool:
    """Return whether a value in the layers is unknown."""
    for layer in layers:
        nothing = Node(layer.given, 0, 0, "mapping", "flow")
        if any(node.value is UNKNOWN for node in layer.apply(nothing).walk()):
            return True
    return False


def merge_layer(node: Node, given: SourceText | None = None) -> ValuesLayer:
    return ValuesLayer(given or node.source, lambda whole: merged(whole, node))


def read_block(node: Node) -> Node | None:
    """Return the mapping in a YAML text: a block scalar, a quoted string, or what CloudFormation joins.

    None if it is not a mapping.
    """
    if node.style == "literal":
        start = node.source.text.find("\n", node.start, node.end) + 1
        return read_mapping(node.source, node.source.text[start : node.end], start)
    text = node.value if isinstance(node.value, str) else join_text(node)
    if text is None:
        return None
    found = read_mapping(SourceText("", text), text, 0)
    return _placed(found, node) if found is not None else None


def read_mapping(source: SourceText, text: str, start: int) -> Node | None:
    """Return the mapping in a YAML text, which begins at offset `start` of the source.

    None if it is not a mapping.
    """
    try:
        roots = compose(source, text, start, masked=False)
    except Unreadable:
        return None
    return roots[0] if len(roots) == 1 and roots[0] is not None and roots[0].kind == "mapping" else None


def read_setting_text(text: str, at: Node) -> Node | None:
    """Return the value of a JSON text, with the position of a node. None if it is not JSON."""
    try:
        roots = compose(SourceText("", text), text, 0, masked=False)
    except Unreadable:
        return None
    return _placed(roots[0], at) if len(roots) == 1 and roots[0] is not None else None


def _placed(node: Node, at: Node) -> Node:
    """Return a copy of a value at the position of the text that contains it. It cannot be edited separately."""
    made = Node(at.source, at.start, at.end, node.kind, "flow", node.value)
    made.items = [_placed(item, at) for item in node.items]
    made.entries = [
        MappingEntry(_placed(entry.key, at), _placed(entry.value, at), entry.name) for entry in node.entries
    ]
    return made


def read_setting(path: str, name: Node, value: Node, typed: bool) -> ValuesLayer | None:
    """Return a layer that sets one value at a path such as `pools[0].limits.cpu`, as `--set` does.

    None for other paths.

    With `typed`, `true` and `5` are a boolean and a number. `{a,b}` is a list, and `\\.` is a dot in a key.
    """
    steps = _read_steps(path)
    if steps is None:
        return None
    made = _read_set_value(value, typed)
    return ValuesLayer(value.source, lambda whole: _with_value(whole, steps, name, made))


_DEEPEST = 100
"""The most nested keys in one setting."""


_STEP = r"((?:[^\\.\[\]=,]|\\.)+)((?:\[\d{1,3}\])*)(?:\.(?!\Z)|\Z)"


def _read_steps(path: str) -> list[str | int] | None:
    steps: list[str | int] = []
    at = 0
    while at < len(path):
        found = re.compile(_STEP).match(path, at)
        if found is None:
            return None
        steps.append(re.sub(r"\\(.)", r"\1", found[1]))
        steps += map(int, re.findall(r"\d+", found[2]))
        at = found.end()
    return steps if 0 < len(steps) <= _DEEPEST else None


def _read_set_value(value: Node, typed: bool) -> Node:
    """Return a value as `--set` reads it: a text in braces is a list, and so is a list of values."""
    text = value.value
    items = value.items if value.kind == "sequence" else None
    if isinstance(text, str) and re.fullmatch(r"\{[^{}]*\}", text):
        parts = text[1:-1].split(",") if text != "{}" else []
        items = [Node(value.source, value.start, value.end, "scalar", value.style, part.strip()) for part in parts]
    if items is not None:
        made = Node(value.source, value.start, value.end, "sequence", "flow")
        made.items = [_read_set_value(item, typed) if item.kind == "scalar" else item for item in items]
        return made
    if isinstance(text, str) and typed:
        return SetNode(value.source, value.start, value.end, "scalar", value.style, typed_value(text))
    return value


def _with_value(base: Node | None, steps: Sequence[str | int], name: Node, value: Node) -> Node:
    """Return a copy of values with one value set. Missing collections on the way to it are created."""
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    kind: Literal["sequence", "mapping"] = "sequence" if isinstance(step, int) else "mapping"
    node = base if base is not None and base.kind == kind else None
    place = node if node is not None else value
    made = Node(place.source, place.start, place.end, kind, node.style if node is not None else "flow")
    if isinstance(step, int):
        made.items = list(node.items) if node is not None else []
        while len(made.items) <= step:
            made.items.append(Node(value.source, value.start, value.end, "scalar", "plain", None))
        made.items[step] = _with_value(made.items[step], rest, name, value)
        return made
    entries = node.entries if node is not None else []
    own = next((entry for entry in entries if entry.name == step), None)
    below = _with_value(own.value if own is not None else None, rest, name, value)
    key = own.key if own is not None else Node(name.source, name.start, name.end, "scalar", name.style, step)
    new = MappingEntry(key, below, step)
    made.entries = [new if entry is own else entry for entry in entries] + ([new] if own is None else [])
    return made


def typed_value(text: str) -> str | int | bool | None:
    if text.lower() in ("true", "false", "null"):
        return {"true": True, "false": False, "null": None}[text.lower()]
    return int(text) if re.fullmatch(r"0|-?[1-9]\d{0,17}", text) else text
