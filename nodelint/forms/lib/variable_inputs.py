"""Find the files that set the variables of placeholders for another tool.

These are Ansible's variable files for a Jinja template, environment files and scripts for a shell's placeholder, and
ConfigMaps and Secrets for a variable of Flux.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator

from nodelint.files.gate import gate
from nodelint.forms.input_text import InputText, make_rest
from nodelint.forms.lib.gotemplate.surrounding_code import list_codes, list_surrounding_code
from nodelint.forms.lib.script_variables import list_setting_lines
from nodelint.model.finding import Span
from nodelint.text import Source
from nodelint.text.limits import note_limit

_LARGEST = 1 << 20
_MOST_FILES = 2000
_MOST_FOLDERS = 20_000
"""The most folders in which scripts are searched."""
_PASSED_OVER = frozenset({".git", "node_modules", ".terraform", ".venv", "venv"})
_OF_VARIABLES = re.compile(
    r"(?i)(?:^|/)(?:vars|group_vars|host_vars|defaults|inventor\w*+|values|variables|param\w*+|config\w*+|settings"
    r"|environments?|envs?)(?:/|[^/]*$)"
)
_ENDS = (".yaml", ".yml", ".json", ".toml", ".ini")
_OF_ENVIRONMENT = re.compile(
    r"(?i)(?:^|/)(?:\.env[\w.-]*|[\w.-]+\.env|(?:gnu)?makefile|justfile|jenkinsfile|dockerfile"
    r"|[\w.-]+\.(?:sh|bash|zsh|mk|properties)"
    r"|\.github/(?:workflows|actions)/[^\n]*\.ya?ml|\.circleci/[^\n]*\.ya?ml"
    r"|(?:\.gitlab-ci|azure-pipelines|bitbucket-pipelines|buildspec|taskfile|cloudbuild|skaffold)[\w.-]*\.ya?ml)$"
)
_PROGRAMS = (".py", ".js", ".mjs", ".ts", ".go", ".rb", ".ps1", ".groovy", ".pl", ".kts", ".yaml", ".yml", "tiltfile")
_PLAYBOOK = re.compile(r"(?m)^[ \t]*(?:-[ \t]+)?(?:hosts|roles|tasks|import_playbook)[ \t]*:")
_SETS_ENVIRONMENT = re.compile(r"os\.environ|process\.env|os\.Setenv|\bENV\[")
_RUNS_HELM = re.compile(r"\bhelm\b[\"']?[ \t,]{1,9}[^\n]{0,200}?\b(?:upgrade|install|template)\b")
_OF_PROGRAMS = re.compile(r"bin|scripts?|hack|tools|ci|\.ci|deploy\w*")
"""Folders in which files without an ending are programs."""
_MANIFEST = re.compile(r"(?m)^[ \t]*+[\"']?(?:apiVersion|kind)[\"']?\s*:")
_HELD = re.compile(r"(?m)^kind:\s*[\"']?(?:ConfigMap|Secret|Application(?:Set)?)\b")
_OF_ARGO_CD = "ARGOCD_ENV_"
"""The prefix that Argo CD adds to the variables of a plugin."""
_SHELL = re.compile(
    r"\$\{?([A-Za-z_]\w*)|\$\(([A-Za-z_]\w*)\)|(?<![A-Za-z0-9_])__([A-Za-z][\w.-]*?)__(?![A-Za-z0-9_])"
)
"""A variable of a shell or of make, and a word between underscores that a script replaces."""
_WORDS = frozenset(
    (
        "if",
        "else",
        "elif",
        "endif",
        "for",
        "in",
        "endfor",
        "not",
        "and",
        "or",
        "is",
        "set",
        "endset",
        "default",
        "join",
    )
) | {"true", "false", "none", "range", "end", "with"}
"""Words of template languages that are not variables."""


_CHAIN = re.compile(r"(?<![\w.\"'])\.?[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_OF_HELM = ("Values", "Chart", "Release", "Files", "Capabilities", "Template")
_KEYWORDS = frozenset(
    ("name", "path", "type", "run", "uses", "with", "env", "on", "id", "image", "script", "stage", "key", "value")
)
"""Keys of pipelines and playbooks: a line with one of them seldom sets a variable of that name."""


def list_variables(text: str, start: int, end: int) -> set[str]:
    """Return the names of variables in the placeholders of a value, and in the template code around it.

    `matrix.ami` has two names, because either of them may be set; a value of a chart has none.
    """
    codes = [*list_surrounding_code(text[:start]), *list_codes(text[start:end])]
    found: set[str] = set()
    for chain in (chain for code in codes for chain in _CHAIN.findall(code)):
        names = chain.strip(".").split(".")
        if names[0] not in _OF_HELM:
            found |= {names[-1], names[0] if not chain.startswith(".") else names[-1]}
    found |= {next(filter(None, names)) for names in _SHELL.findall(text[start:end])}
    return found - _WORDS


def may_be_script(path: str) -> bool:
    """Return whether a file is a script, a workflow or an environment file, by its path from the top."""
    return _OF_ENVIRONMENT.search(path) is not None or _is_program(path)


def walk_scripts(top: str, endings: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Yield the scripts, workflows and environment files below a folder: the path, and the path below the folder.

    Files with one of the endings are included.
    """
    for count, (folder, folders, names) in enumerate(gate.walk(top)):
        if count >= _MOST_FOLDERS:
            note_limit(top, _MOST_FOLDERS, "folders, in which scripts are looked for", 0)
            return
        folders[:] = sorted(set(folders) - _PASSED_OVER)
        for name in sorted(names):
            path = os.path.join(folder, name)
            below = os.path.relpath(path, top).replace(os.sep, "/")
            if below.endswith(endings) or may_be_script(below):
                yield path, below


def _is_program(path: str) -> bool:
    *folders, name = path.split("/")
    return re.fullmatch(r"[\w-]+", name) is not None and any(map(_OF_PROGRAMS.fullmatch, folders))


class VariableInputs:
    """Finds the values of variables in the files below a folder. The files are read at first use."""

    def __init__(self, root: str) -> None:
        self._root = root or os.curdir
        self._files: list[Source] | None = None
        self._further: list[str] = []
        """The texts of files beyond the limit `_MOST_FILES`."""

    def list_inputs(self, names: Collection[str]) -> Iterator[InputText]:
        """Yield each place that sets one of some variables."""
        names = {name.removeprefix(_OF_ARGO_CD) for name in names}
        for source in self._list_files() if names else ():
            is_environment = _OF_ENVIRONMENT.search(source.path) is not None
            for name in sorted(names):
                if name not in source.text:
                    continue
                # A lowercase name is often an ordinary word in a script: only shell assignments count.
                is_plain = is_environment and name != name.upper()
                pattern = _shell_assignment_of(name) if is_plain else _assignment_of(name)
                places = [*pattern.finditer(source.text)]
                if is_environment:  # the command that replaces the word
                    places += re.finditer(rf"(?m)^[^\n]*__{re.escape(name)}__[^\n]*", source.text)
                for found in places:
                    yield InputText(name, " ".join(found[0].split()), Span(source, found.start(), found.end()))
                if _may_set_anywhere(source) and name not in _KEYWORDS:
                    for other, start, end in list_setting_lines(source.text, {name}):
                        line = " ".join(source.text[start:end].split())
                        yield InputText(other, line, Span(source, start, end))
        if names and self._further:
            yield make_rest(self._further, Span(self._list_files()[0], 0, 0))

    def list_scripts(self) -> Iterator[Source]:
        """Yield the scripts, workflows and environment files, and other programs and pipelines that run helm."""
        for source in self._list_files():
            if may_be_script(source.path) or _RUNS_HELM.search(source.text):
                yield source

    def _list_files(self) -> list[Source]:
        if self._files is None:
            self._files = []
            for folder, folders, names in gate.walk(self._root):
                folders[:] = sorted(set(folders) - _PASSED_OVER)
                for name in sorted(names):
                    source = self._read(os.path.join(folder, name))
                    if source is not None and len(self._files) < _MOST_FILES:
                        self._files.append(source)
                    elif source is not None:
                        self._further.append(source.text)
        return self._files

    def _read(self, path: str) -> Source | None:
        place = os.path.relpath(path, self._root).replace(os.sep, "/")
        is_environment = may_be_script(place)
        by_name = (place.lower().endswith(_ENDS) and _OF_VARIABLES.search(place)) or is_environment
        if not by_name and not place.lower().endswith(_PROGRAMS):
            return None
        text = gate.load_text(path, _LARGEST, within=self._root)
        if text is not None and (_is_pipeline(place, text) or ("helm" in text and _RUNS_HELM.search(text))):
            return Source(os.path.relpath(path).replace(os.sep, "/"), text)
        # A script may hold the manifest whose variables it sets.
        if text is None or (not (_HELD.search(text) or is_environment) and (not by_name or _MANIFEST.search(text))):
            return None
        return Source(os.path.relpath(path).replace(os.sep, "/"), text)


def _may_set_anywhere(source: Source) -> bool:
    """Return whether any line of a file may set a variable: it is a script, a pipeline, a playbook or a program."""
    return may_be_script(source.path) or _is_pipeline(source.path, source.text) or "ParameterKey" in source.text


def _is_pipeline(path: str, text: str) -> bool:
    """Return whether a file is an Ansible playbook, or a program that sets variables of the environment."""
    if path.endswith((".yaml", ".yml")):
        return _MANIFEST.search(text) is None and _PLAYBOOK.search(text) is not None
    return path.lower().endswith(_PROGRAMS) and _SETS_ENVIRONMENT.search(text) is not None


def _shell_assignment_of(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?m)^[ \t]*(?:export[ \t]+)?{re.escape(name)}=[^\n]*")


def _assignment_of(name: str) -> re.Pattern[str]:
    """Return a pattern for a line that sets a variable, with the lines that belong to it.

    It also matches `name: VARIABLE` with a value on the next line.
    """
    word = rf"[\"']?{re.escape(name)}[\"']?"
    return re.compile(
        rf"(?m)^(?P<indent>[ \t]*)(?:(?:export|ENV|ARG)[ \t]+)?{word}[ \t]*(?::=|\?=|=|:)[^\n]*"
        r"(?:\n(?:(?P=indent)[ \t]+\S[^\n]*|(?P=indent)-[^\n]*))*"
        rf"|\bname:[ \t]*{word}[ \t]*(?:,|\n)[^\n]*"
    )
