"""Find helmfiles whose values for a chart contain template code."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from nodelint.forms.helmfile.charts import ENVIRONMENT, HELMFILE, list_environments
from nodelint.forms.input_text import InputText
from nodelint.forms.lib.chart_places import names_chart
from nodelint.forms.lib.unread_inputs import PLACEHOLDER, UnreadInputs, whole_text
from nodelint.text import Source
from nodelint.text.reading import nodes_of

_PATH = re.compile(
    r"(?<![\w./$*-])(?!\.(?:ya?ml|json)\b)[\w./$*-]*(?:\{\{[^{}\n]*\}\}[\w./$*-]*){0,20}"
    r"\.(?:ya?ml|json)(?:\.gotmpl)?(?![\w.])"
)
_FROM_ENVIRONMENT = re.compile(r"\b(?:env|requiredEnv)\s+[\"`']([A-Za-z_]\w*)")
"""A variable of the shell that the code of a helmfile reads."""


def list_unread_values(chart: str, files: UnreadInputs) -> Iterator[InputText]:
    """Yield the helmfiles that install a chart with template code in its values, and the files that they name."""

    for path in files.keep(_list_helmfiles):
        source = files.read(path)
        if source is None or not names_chart(source.text, chart):
            continue
        if not re.search(r"\{\{|\.gotmpl|(?m:^environments:)", source.text):
            continue
        yield whole_text(source)
        texts = [source.text]
        for name in dict.fromkeys(_PATH.findall(source.text)):
            named = list(files.list_named(os.path.dirname(path), name))
            unread = [found for found in named if not _is_known(found, source, name, files)]
            known = {os.path.abspath(found.at.source.path) for found in named if found not in unread}
            files.not_applied |= known - set(files.taken)
            texts += (found.at.source.text for found in unread)
            # The chart is rendered with what the template says; what its code prints may come from elsewhere.
            yield from (found for found in unread if os.path.abspath(found.at.source.path) not in files.taken)
        yield from files.variables.list_inputs({name for text in texts for name in _FROM_ENVIRONMENT.findall(text)})


def _list_helmfiles(files: UnreadInputs) -> list[str]:
    return [path for path in files.paths if HELMFILE.search(path.replace(os.sep, "/"))]


def _is_known(found: InputText, helmfile: Source, name: str, files: UnreadInputs) -> bool:
    """Return whether an environment's name chooses a file with which the chart is rendered, or that none has."""
    if PLACEHOLDER.search(ENVIRONMENT.sub("", name)) or not ENVIRONMENT.search(name):
        return False
    path = os.path.abspath(found.at.source.path)
    roots = nodes_of(helmfile)
    names = list_environments(roots[0]) if roots else _read_environments(helmfile.text)
    if names is None or path in files.taken:
        return names is not None
    folder = os.path.dirname(os.path.abspath(helmfile.path))
    applied = (os.path.normpath(os.path.join(folder, ENVIRONMENT.sub(known, name))) for known in names)
    return path not in applied


def _read_environments(text: str) -> set[str] | None:
    """Return the environments of a helmfile whose code keeps it from being parsed. None if they are not known."""
    section = re.search(r"(?m)^environments:[ \t]*\n((?:[ \t]+[^\n]*(?:\n|\Z)|[ \t]*\n)+)", text)
    names = re.findall(r"(?m)^([ \t]+)([\w.-]+):", section[1]) if section is not None else []
    if section is None or "{{" in section[1] or re.search(r"(?m)^bases:|missingFileHandler", text):
        return None
    least = min(len(indent) for indent, _ in names) if names else 0
    return {"default", *(name for indent, name in names if len(indent) == least)}
