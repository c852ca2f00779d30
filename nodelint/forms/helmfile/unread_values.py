"""Find helmfiles whose values for a chart contain template code."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence

from nodelint.forms.helmfile.charts import ENVIRONMENT, HELMFILE, list_environments
from nodelint.forms.input_text import InputText
from nodelint.forms.lib.chart_places import names_chart
from nodelint.forms.lib.unread_inputs import PLACEHOLDER, UnreadInputs, in_one_line, whole_text
from nodelint.model.finding import span_of
from nodelint.text import Source, SourceText
from nodelint.text.missing import items_of, text_of
from nodelint.text.reading import nodes_of

_PATH = re.compile(
    r"(?<![\w./$*-])(?!\.(?:ya?ml|json)\b)[\w./$*-]*(?:\{\{[^{}\n]*\}\}[\w./$*-]*){0,20}"
    r"\.(?:ya?ml|json)(?:\.gotmpl)?(?![\w.])"
)
_USED = re.compile(r"\.(?:StateValues|Values)\b(?:\s*\.([A-Za-z_]\w*)|\s*\|\s*get\s+\"(\w+)\")?")
"""A value that the code of a helmfile uses. Without a name, the code uses all of them."""
_RELEASE = re.compile(r"[ \t]*-[ \t]+name:")
"""The first line of a release of a helmfile."""
_CHART = re.compile(r"\bchart:[ \t]*([^\n]*)")
_ANCHOR = re.compile(r"(?:^|[\s\[{,])&\w")
_FROM_ENVIRONMENT = re.compile(r"\b(?:env|requiredEnv)\s+[\"`']([A-Za-z_]\w*)")
"""A variable of the shell that the code of a helmfile reads."""


def list_unread_values(chart: str, files: UnreadInputs) -> Iterator[InputText]:
    """Yield the helmfiles that install a chart with template code in its values, and the files that they name."""

    helmfiles = files.keep(_read_helmfiles)
    for path, source in helmfiles.items():
        if not names_chart(source.text, chart):
            continue
        yield from _list_secrets(source, chart, files)
        if not re.search(r"\{\{|\.gotmpl|(?m:^(?:environments|bases):)", source.text):
            continue
        yield whole_text(source)
        outer = list(_list_outer(path, helmfiles))
        names = dict.fromkeys(_PATH.findall(_cut_other_releases(source.text, chart)))
        named_files = {name: list(files.list_named(os.path.dirname(path), name)) for name in names}
        templates = [found.at.source for named in named_files.values() for found in named]
        keys = _list_keys([source, *outer, *templates])
        yield from (part for other in outer for part in _split(whole_text(other), keys))
        texts = [source.text]
        for name, named in named_files.items():
            unread = [found for found in named if not _is_known(found, source, name, files)]
            known = {os.path.abspath(found.at.source.path) for found in named if found not in unread}
            files.not_applied |= known - set(files.taken)
            texts += (found.at.source.text for found in unread)
            # The chart is rendered with what the template says; what its code prints may come from elsewhere.
            left = [found for found in unread if os.path.abspath(found.at.source.path) not in files.taken]
            is_of_environment = name in _read_environment_section(source.text)
            yield from (part for found in left for part in (_split(found, keys) if is_of_environment else [found]))
        yield from files.variables.list_inputs({name for text in texts for name in _FROM_ENVIRONMENT.findall(text)})


def _cut_other_releases(text: str, chart: str) -> str:
    """Return a helmfile without the releases that install one other chart only, and share nothing by an anchor."""

    found: list[str] = []
    release: list[str] = []
    for line in [*text.splitlines(keepends=True), ""]:
        # The lines of a release are indented more than its dash.
        if release and (not line or (line.strip() and _indent(line) <= _indent(release[0]))):
            part = "".join(release)
            charts = _CHART.findall(part)
            is_other = len(charts) == 1 and "{{" not in charts[0] and not names_chart(f"path: {charts[0]}", chart)
            found += [] if is_other and not _ANCHOR.search(part) else [part]
            release = []
        (release if release or _RELEASE.match(line) else found).append(line)
    return "".join(found)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _list_secrets(source: Source, chart: str, files: UnreadInputs) -> Iterator[InputText]:
    """Yield the encrypted values files of the releases that install a chart."""
    folder = os.path.dirname(os.path.abspath(source.path))
    for root in nodes_of(source) if "secrets:" in source.text else ():
        for release in items_of(root.get("releases")):
            if names_chart(f"path: {text_of(release.get('chart'))}", chart):
                for item in items_of(release.get("secrets")):
                    yield from files.list_named(folder, text_of(item))


def _read_helmfiles(files: UnreadInputs) -> dict[str, Source]:
    """Return the helmfiles among the files, by path."""
    paths = (path for path in files.paths if HELMFILE.search(path.replace(os.sep, "/")))
    return {path: found for path in paths if (found := files.read(path)) is not None}


def _list_outer(path: str, helmfiles: Mapping[str, Source]) -> Iterator[Source]:
    """Yield the helmfiles that include another one, directly or indirectly: they may pass values to it."""
    pending, seen = [path], {path}
    while pending:
        inner = pending.pop()
        for outer, source in helmfiles.items():
            if outer in seen or not re.search(r"(?m)^helmfiles:", source.text):
                continue
            named = (
                os.path.normpath(os.path.join(os.path.dirname(outer), name)) for name in _PATH.findall(source.text)
            )
            if inner in named:
                seen.add(outer)
                pending.append(outer)
                yield source


def _list_keys(sources: Sequence[SourceText]) -> set[str] | None:
    """Return the names of the values that the code of helmfiles and their templates uses. None if it may use any."""
    used = [found[1] or found[2] for source in sources for found in _USED.finditer(source.text)]
    return set(used) if all(used) else None


def _split(found: InputText, keys: set[str] | None) -> Iterator[InputText]:
    """Yield the values that the code of helmfiles uses, of a values file or of a helmfile that passes them.

    Any other text is yielded unchanged.
    """
    source = found.at.source
    roots = nodes_of(source) if isinstance(source, Source) and "{{" not in source.text else []
    if keys is None or not roots or any(root.kind != "mapping" for root in roots):
        yield found
        return
    given = [
        value for root in roots for item in items_of(root.get("helmfiles")) for value in items_of(item.get("values"))
    ]
    is_helmfile = any(root.get("helmfiles") is not None for root in roots)
    if any(value.kind != "mapping" for value in given):
        yield found
        return
    for root in given if is_helmfile else roots:
        for entry in root.entries:
            if entry.name in keys:
                yield InputText(f"{found.name}: {entry.name}", in_one_line(entry.value), span_of(entry.value))


def _read_environment_section(text: str) -> str:
    section = re.search(r"(?m)^environments:[^\n]*\n(?:(?:[ \t#][^\n]*)?\n)*", text)
    return section[0] if section is not None else ""


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
