"""Commands of scripts and pipelines that change manifests before they are applied, or objects in the cluster.

nodelint does not run them: if such a command changes, its effect on pools and classes is not known.
"""

from __future__ import annotations

import os
import re

from nodelint.base.types import TYPE_CHECKING
from nodelint.files.gate import gate
from nodelint.forms.input_text import InputText, list_changed_inputs
from nodelint.forms.lib.script_variables import list_names, list_setting_lines
from nodelint.forms.lib.variable_inputs import walk_scripts
from nodelint.model.finding import Span
from nodelint.model.folders import path_below
from nodelint.plan.uncompared import uncompared
from nodelint.text import Source

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from nodelint.model.gap import Gap
    from nodelint.plan.read_side import Read

_LARGEST = 1 << 20
_EDITOR = re.compile(r"\b(?:sed|yq|perl|jq|awk|dasel)\b")
_IN_PLACE = re.compile(r"[ \t]-i|--in-?place|>")
_CONTINUED = re.compile(r"\\\r?\n")
_COMMENT = re.compile(r"(?:^|[ \t])#")
_VERB = re.compile(r"[ \t](?:patch|set|replace|edit|scale)\b")
_KIND = re.compile(r"\b(?:nodepool|ec2nodeclass|nodeclass)")
_FROM_ENVIRONMENT = re.compile(r"\b(?:strenv|env)\((\w+)\)|\benv\.(\w+)")
_WORD = re.compile(r"[\w./${}@-]+")


def find_changed_edits(was: Read, new: Read) -> Iterator[Gap]:
    """Yield the first command that edits a manifest of a pool or class and differs, or whose variables differ."""
    old, now = (_list_edits(side) for side in (was, new))
    for changed in list_changed_inputs(old, now)[:1]:
        reason = "it edits a manifest or an object in the cluster, and nodelint does not run it: look what it changes"
        yield uncompared(changed.at, changed.name, reason, True)


def _list_edits(side: Read) -> list[InputText]:
    """Return the commands that change manifests of one side, with the lines that set their variables."""
    if not side.found.folders:
        return []
    top = os.path.abspath(side.root)
    paths = {os.path.abspath(obj.source.path) for obj in side.inventory.objects()}
    paths.update(part for built in side.inventory.built for part in built.parts)
    places = {path_below(manifest, top).replace(os.sep, "/") for manifest in paths}
    found = []
    for path, below in walk_scripts(top) if places else ():
        text = gate.load_text(path, _LARGEST, within=top) or ""
        if "kubectl" not in text and _EDITOR.search(text) is None:
            continue
        source = Source(os.path.relpath(path).replace(os.sep, "/"), text)
        text = _CONTINUED.sub(lambda broken: " " * len(broken[0]), text)
        for start, end, line in _list_lines(text):
            if not (_patches(line) or (_edits(line) and _names_any(line, below, places))):
                continue
            found.append(InputText(os.path.basename(below), " ".join(line.split()), Span(source, start, end)))
            names = list_names(line) | {name for pair in _FROM_ENVIRONMENT.findall(line) for name in pair if name}
            for name, first, last in list_setting_lines(text, names):
                found.append(InputText(name, " ".join(text[first:last].split()), Span(source, first, last)))
    return found


def _list_lines(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and text of each line without its comment."""
    start = 0
    for line in text.split("\n"):
        yield start, start + len(line), _COMMENT.split(line, maxsplit=1)[0]
        start += len(line) + 1


def _edits(line: str) -> bool:
    """Return whether a line has a command that changes a file in place, or whose output is applied or written."""
    found = _EDITOR.search(line)
    if found is None:
        return False
    rest = line[found.end() :]
    return _IN_PLACE.search(rest) is not None or "kubectl" in rest.partition("|")[2]


def _patches(line: str) -> bool:
    """Return whether a line has a command that changes a pool or class in the cluster."""
    _, _, rest = line.partition("kubectl")
    verb = _VERB.search(rest)
    return verb is not None and _KIND.search(rest, verb.end()) is not None


def _names_any(line: str, script: str, manifests: Collection[str]) -> bool:
    """Return whether a line names one of the manifests, by a path from the top, or from the folder of the script."""
    for word in _WORD.findall(line):
        parts = [part for part in word.split("/") if part not in ("", ".", "..") and "$" not in part]
        place = "/".join(parts)
        if len(parts) > 1 and any(path == place or path.endswith(f"/{place}") for path in manifests):
            return True
        if len(parts) == 1 and "." in place and ({place, f"{os.path.dirname(script)}/{place}"} & set(manifests)):
            return True
    return False
