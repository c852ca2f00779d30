"""Find texts that may set values of a chart in ways that nodelint does not compute."""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from typing import TypeVar

from nodelint.files.gate import gate
from nodelint.forms.input_text import InputText, make_rest
from nodelint.forms.lib.file_patterns import match_files
from nodelint.forms.lib.variable_inputs import VariableInputs
from nodelint.model.finding import Span
from nodelint.text import Node, Source

_Kept = TypeVar("_Kept")
_LARGEST = 1 << 20
_MOST_NAMED = 50
"""The most files that one path with placeholders may name."""
PLACEHOLDER = re.compile(r"\{\{[^{}\n]*\}\}")


class UnreadInputs:
    """The files of one side of a plan, read at first use.

    - `paths`: the paths of all files that may hold manifests.
    - `taken`: the absolute paths of inputs of rendered manifests, and of files that another form has named.
    - `values_files`: the values files that other forms pass to the chart in question: only the parts that its
      templates use count.
    - `not_applied`: the absolute paths of files of environments that nothing declares.
    """

    def __init__(
        self, sources: Sequence[Source], paths: Collection[str], top: str, taken: Collection[str] = ()
    ) -> None:
        self.taken = taken
        self.values_files: list[InputText] = []
        self.not_applied: set[str] = set()
        self.by_path = {os.path.abspath(source.path): source for source in sources}
        self.paths = sorted({*map(os.path.abspath, paths), *self.by_path})
        self.top = os.path.abspath(top)
        self._texts: dict[str, Source | None] = {}
        self._holding: dict[str, list[Source]] = {}
        self._kept: dict[object, object] = {}

    @cached_property
    def variables(self) -> VariableInputs:
        """Return a finder of the values of variables in the files."""
        return VariableInputs(self.top)

    def keep(self, kind: Callable[[UnreadInputs], _Kept]) -> _Kept:
        """Return the result of `kind` for these files, which is computed once for all charts."""
        if kind not in self._kept:
            self._kept[kind] = kind(self)
        return self._kept[kind]  # type: ignore[return-value]

    def list_holding(self, word: str) -> list[Source]:
        """Return the files of the run that contain a word and no template code."""
        if word not in self._holding:
            sources = self.by_path.values()
            self._holding[word] = [s for s in sources if word in s.text and not s.may_be_template]
        return self._holding[word]

    def list_below(self, folder: str) -> list[str]:
        """Return the paths of the files below a folder."""
        first = os.path.join(folder, "")
        return self.paths[
            bisect_left(self.paths, first) : bisect_left(self.paths, f"{first[:-1]}{chr(ord(os.sep) + 1)}")
        ]

    def read(self, path: str) -> Source | None:
        """Return a file by its absolute path. None if it cannot be read."""
        if path not in self._texts:
            found = self.by_path.get(path)
            if found is None:
                text = gate.load_text(path, _LARGEST, within=self.top)
                found = None if text is None else Source(os.path.relpath(path).replace(os.sep, "/"), text)
            self._texts[path] = found
        return self._texts[path]

    def list_named(self, folder: str, name: str) -> Iterator[InputText]:
        """Yield the files that a path with placeholders may name."""
        pattern = os.path.normpath(PLACEHOLDER.sub("*", name))
        while pattern.startswith(os.path.join(os.pardir, "")):
            folder, pattern = os.path.dirname(folder), pattern[3:]
        sources = (self.read(os.path.join(folder, found)) for found in match_files(folder, pattern) or ())
        there = [source for source in sources if source is not None]
        yield from map(whole_text, there[:_MOST_NAMED])
        if len(there) > _MOST_NAMED:
            yield make_rest((source.text for source in there), Span(there[0], 0, 0))


def whole_text(source: Source) -> InputText:
    """Return a whole file as an input."""
    return InputText(os.path.basename(source.path), source.text, Span(source, 0, 0))


_OF_SCHEDULE = frozenset(
    [
        "project",
        "syncPolicy",
        "ignoreDifferences",
        "info",
        "revisionHistoryLimit",
        "interval",
        "timeout",
        "maxHistory",
        "install",
        "upgrade",
        "test",
        "rollback",
        "uninstall",
        "driftDetection",
        "wait",
        "atomic",
        "createNamespace",
    ]
)
"""Fields of an object that installs a chart: they decide when and how it is applied, not what."""


def list_what_is_applied(spec: Node) -> str:
    """Return the fields of an object that installs a chart on one line, without those that only decide when."""
    if spec.kind != "mapping" or any(entry.name is None for entry in spec.entries):
        return in_one_line(spec)
    entries = ((entry.name, entry.value) for entry in spec.entries if entry.name not in _OF_SCHEDULE)
    return ", ".join(f"{name}: {in_one_line(value)}" for name, value in entries)


def in_one_line(node: Node) -> str:
    """Return a value on one line, independent of its layout. A placeholder is returned as it is written."""
    if any(
        part.kind == "scalar" and not isinstance(part.value, str | int | float | bool | None) for part in node.walk()
    ):
        return " ".join(node.text.split())
    return repr(node.plain())
