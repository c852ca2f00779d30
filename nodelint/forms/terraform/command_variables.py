"""Find what commands give to the variables of root modules: `-var`, `-var-file`, and names with `TF_VAR_`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator
from functools import cached_property

from nodelint.forms.input_text import InputText
from nodelint.forms.lib.variable_inputs import VariableInputs
from nodelint.model.finding import Span
from nodelint.text import Source

_VALUE = r"(\"[^\"\n]{0,400}\"|'[^'\n]{0,400}'|\$\{\{[^}\n]{0,400}\}\}|[^\s,;}#\"'\\]*)"
_ENVIRONMENT = re.compile(rf"\bTF_VAR_([A-Za-z_][\w-]{{0,100}})[\"']?[ \t]{{0,20}}[:=][ \t]{{0,20}}{_VALUE}")
_OPTION = re.compile(rf"[ \t]--?var[ =]+[\"']?([A-Za-z_][\w-]*)={_VALUE}")
_FILE = re.compile(r"--?var-file[ =]+[\"']?([^\s\"'\\]+)")
_FILES = "-var-file"


class CommandVariables:
    """The values in the scripts, workflows and environment files below a folder."""

    def __init__(self, top: str) -> None:
        self._top = top
        self._scripts = VariableInputs(top)

    def list_values(self, names: Collection[str], may_give: Callable[[str], bool]) -> Iterator[InputText]:
        """Yield what commands give to some variables. `may_give` says whether a variable file may give one of
        them.
        """
        for given in self._values if names else ():
            if given.name == _FILES:
                files = [path for path in given.text.split() if may_give(path)]
                if files:
                    yield given._replace(text=" ".join(files))
            elif given.name in names:
                yield given

    @cached_property
    def _values(self) -> list[InputText]:
        found: dict[tuple[str, str], InputText] = {}
        for source in self._scripts.list_scripts():
            for name, value, at in _list_given(source) if "TF_VAR_" in source.text or "-var" in source.text else ():
                place = os.path.relpath(os.path.abspath(source.path), self._top).replace(os.sep, "/")
                before = found.get((place, name))
                text = f"{before.text} {value}" if before is not None else value
                found[place, name] = InputText(name, text, before.at if before is not None else at, place)
        return [*found.values()]


def _list_given(source: Source) -> Iterator[tuple[str, str, Span]]:
    """Yield the name, the value and the place of each variable in a text, and the paths of variable files."""
    for pattern in (_ENVIRONMENT, _OPTION):
        for match in pattern.finditer(source.text):
            yield match[1], match[2].strip("\"'"), Span(source, match.start(), match.end())
    for match in _FILE.finditer(source.text):
        yield _FILES, match[1], Span(source, match.start(), match.end())
