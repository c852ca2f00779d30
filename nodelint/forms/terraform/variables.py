"""Read variable files: those that Terraform reads by itself, and those of an environment for `-var-file`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from nodelint.base.types import TYPE_CHECKING
from nodelint.files.gate import gate
from nodelint.forms.terraform.evaluate import EvaluationBudget, NameScope
from nodelint.forms.terraform.nodes import unknown
from nodelint.forms.terraform.parsed import parse_text
from nodelint.forms.terraform.template import Evaluator
from nodelint.text.limits import note_limit, note_more
from nodelint.text.nodes import Node
from nodelint.text.syntax_errors import Unreadable
from nodelint.text.yaml.compose import compose

if TYPE_CHECKING:
    from nodelint.text.source import Source

_ENDS = (".tfvars", ".tfvars.json")
_BY_ITSELF = ("terraform.tfvars", "terraform.tfvars.json")
_MODULE_ENDS = (".tf", ".tofu")
_MOST_FILES = 400
"""The most variable files with which one root module is rendered."""
_MOST_ENTRIES = 20_000
"""The most entries of folders that are searched for them."""
_DEEPEST = 4
"""The most folders below a root module, such as `environments/prod/eu-west-1`."""


def read_variables(source: Source, budget: EvaluationBudget) -> Iterator[tuple[str, Node]]:
    """Yield the variables in a variable file. Raise `BudgetSpent`."""
    if source.path.endswith(".json"):
        try:
            roots = compose(source, source.text, 0, masked=False)
        except Unreadable:
            return
        for entry in roots[0].entries if roots and roots[0] is not None else ():
            if entry.name is not None:
                yield entry.name, entry.value
        return
    nothing = NameScope(source, {}, lambda word, name: None, lambda e, name, args, at: unknown(at), "")
    for name, value in parse_text(source.text).outer.items():
        yield name, Evaluator(nothing, budget).value(value)


def list_variable_files(top: str) -> list[str]:
    """Return the absolute paths of all variable files below a folder, apart from hidden folders, in order."""
    found = []
    for around, _, names in gate.walk(top):
        below = os.path.relpath(around, top).split(os.sep)
        if not any(part.startswith(".") and part != os.curdir for part in below):
            found += [os.path.join(around, name) for name in names if name.endswith(_ENDS)]
    return sorted(found)[:_MOST_FILES]


def environment_files(folder: str, read: Callable[[str], Source | None]) -> Iterator[Source]:
    """Return the variable files next to a root module and below it that a user must name, in order of path.

    If the command line names some of them, only those count.
    """
    left = _MOST_ENTRIES
    found: list[str] = []
    pending = [(folder, 0)]
    while pending and left > 0:
        around, depth = pending.pop()
        names = gate.names(around)
        left -= len(names)
        if depth and any(name.endswith(_MODULE_ENDS) for name in names):
            continue  # another module, with its own variables
        for name in names:
            path = os.path.join(around, name)
            if name.endswith(_ENDS):
                by_itself = name in _BY_ITSELF or name.endswith((".auto.tfvars", ".auto.tfvars.json"))
                if depth or not by_itself:
                    found.append(path)
            elif depth < _DEEPEST and not name.startswith(".") and "." not in name and gate.is_folder(path):
                pending.append((path, depth + 1))
    if pending:
        note_limit(
            folder, _MOST_ENTRIES, "files below this root module, where its files of variables are looked for", 0
        )
    found.sort()
    if len(found) > _MOST_FILES:
        note_more(found[_MOST_FILES], len(found), _MOST_FILES, "files of variables of one root module")
    sources = [source for path in found[:_MOST_FILES] if (source := read(path)) is not None]
    named = [source for source in sources if source.is_named]
    return iter(named or sources)
