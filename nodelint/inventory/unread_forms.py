"""Find manifests in folders that a run does not read: in scripts, programs, and unrendered overlays and charts."""

from __future__ import annotations

import os
import re
from base64 import b64decode
from collections.abc import Collection, Iterator, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.files.file_kinds import PROGRAMS, SET_ASIDE, WEB_TEMPLATES, YAML_ENDINGS, is_template_of_yaml
from nodelint.files.gate import gate
from nodelint.forms.lib.chart_places import CHART
from nodelint.forms.registry import TABLE

if TYPE_CHECKING:
    from nodelint.files.folders import Discovery
    from nodelint.forms.rendered import Built
    from nodelint.model.manifest import Object
    from nodelint.text import Source


class UnreadGroup(NamedTuple):
    """Files of one kind with Karpenter objects that were not read or not rendered. The summary has one line for them.

    - `kind`: `script`, `Markdown file`, `overlay`, `chart`, or a programming language.
    - `files`: their paths.
    - `objects`: the number of objects, as far as it was counted.
    - `way`: the flag or command that judges them. None if there is none, as for programs.
    - `values`: the values files with which charts were judged.
    """

    kind: str
    files: tuple[str, ...]
    objects: int
    way: str | None
    values: tuple[str, ...] = ()


PIPED = {
    "overlay": "kustomize build FOLDER | nodelint check -",
    "chart": "helm template NAME CHART | nodelint check -",
}
"""Commands that render an overlay or chart with its own tool and judge the result."""

_TEXTS = {
    "script": (".sh", ".bash", ".zsh"),
    "Markdown file": (".md", ".mdx", ".markdown"),
    "Terraform state file": (".tfstate",),
}
TOOLS = frozenset(
    {".git", ".hg", ".svn", ".terraform", ".terragrunt-cache", ".venv", ".cache", ".tox", ".idea", ".vscode"}
)
"""Hidden folders in which tools keep their own files."""
_MOST_HIDDEN = 2000
"""The most files of hidden folders that are searched."""
_LARGEST = 4 << 20
"""The most bytes of a text or program that is searched."""

# An object in YAML or in a literal of a language, with its keys in either order. A v1beta1 reference to a class has a
# name next. Programs for Pulumi write `api_version`. Pulumi's YAML has both in one type.
_KIND = rb"(?:NodePool|(?:EC2)?NodeClass|Provisioner|AWSNodeTemplate|NodeOverlay)\b"
_GROUP = rb"karpenter\.(?:sh|k8s\.aws)/v\w+"
_GAP = rb"\s*+ (?: (?:\#|//) [^\n]*+ \s*+ )*+"
_OBJECT = rb"""(?x)
    api_?[vV]ersion ["'`]? \s* [:=] \s* ["'`]? %(group)s ["'`]? [,;]? %(gap)s
    ["'`]? kind ["'`]? \s* [:=] \s* ["'`]? %(kind)s
    ["'`]?+ ,?+ (?! \s* ["'`]?+ name\b)
    | \b kind ["'`]? \s* [:=] \s* ["'`]? %(kind)s ["'`]? [,;]? %(gap)s
    ["'`]? api_?[vV]ersion ["'`]? \s* [:=] \s* ["'`]? %(group)s \b
    ["'`]?+ ,?+ (?! \s* ["'`]?+ name\b)
    | \b kubernetes: %(group)s : %(kind)s
""" % {b"group": _GROUP, b"gap": _GAP, b"kind": _KIND}


# Calls with which libraries for CDK, cdk8s and Pulumi create an object.
_CALL = (
    rb"(?:\bnew\s+(?:\w*[kK]arpenter\w*\.(?:\w+\.)*)?|\b\w*[kK]arpenter\w*\.(?:\w+\.)*(?:add|Add|add_|New)?"
    rb"|\.add(?:_)?)(?:NodePool|(?:EC2|Ec2)NodeClass|node_pool|ec2_node_class)(?:V1)?\s*\("
    rb"|\b(?:nodePoolSpec|ec2NodeClassSpec)\s*:"
)
_BASE64 = rb"[A-Za-z0-9+/]{100,}"
_RULE = b"nodelint.api"
"""The module that a custom rule imports: the objects in its text are examples."""
_WORD = "kind|kubernetes:karpenter"


def unread(
    found: Discovery,
    objects: Sequence[Object] = (),
    shown_already: Collection[str] = (),
    built: Sequence[Built] = (),
) -> list[UnreadGroup]:
    """Return the files with Karpenter objects that a run has not read or not rendered.

    `objects` are the objects that it has read, `built` the rendered manifests. `shown_already` are absolute paths of
    folders that are already reported as not rendered.
    """
    if not found.folders:
        return [*_missed(found, built), *_programs(found)]
    return [
        *(*_missed(found, built), *_hidden(found), *_texts(found), *_programs(found)),
        *(*_overlays(objects, shown_already), *_charts(objects, built)),
    ]


def _missed(found: Discovery, built: Sequence[Built]) -> Iterator[UnreadGroup]:
    """Yield one group: the files with a Karpenter kind in which no object was found and that no rendering uses."""
    from nodelint.model.compared import states_expected
    from nodelint.model.documents import left_out, objects

    counts = {}
    taken = {part for text in built for part in text.parts}
    for source in found.sources:
        known = (
            os.path.abspath(source.path) in taken
            or source.problems
            or source.set_aside
            or states_expected(source.path)
            or not re.search(_WORD, source.text)
        )
        if (
            known
            or any(True for _ in objects(source, foreign=True, more=True))
            or any(True for _ in left_out(source))
        ):
            continue
        if number := _count_objects(source.text.encode()) - _count_compared(source):
            counts[source.path] = number
    if counts:
        yield UnreadGroup("file", tuple(counts), sum(counts.values()), None)


def _count_compared(source: Source) -> int:
    """Return the number of objects in a file that policies and tests only compare with others."""
    from nodelint.model.compared import list_all_compared

    roots = [document.root for document in source.documents if document.root is not None]
    compared = (node for root in roots for node in list_all_compared(root))
    return sum(_count_objects(source.text[node.start : node.end].encode()) for node in compared)


def _hidden(found: Discovery) -> Iterator[UnreadGroup]:
    """Yield a group for each hidden folder with objects: it is read if the command line names it."""
    looked = 0
    for top in found.hidden:
        counts: dict[str, int] = {}
        for folder, folders, names in gate.walk(top) if os.path.basename(top) not in TOOLS else ():
            folders[:] = sorted(name for name in folders if name not in TOOLS)
            for path in (
                os.path.join(folder, name)
                for name in sorted(names)
                if name.endswith((*YAML_ENDINGS, *TABLE.endings, *TABLE.read_too))
            ):
                looked += 1
                if looked <= _MOST_HIDDEN and (data := _with_objects(path)) is not None:
                    counts[_slashes(path)] = _count_objects(data)
        if counts:
            way = f"nodelint check {_slashes(top)}"
            yield UnreadGroup("file in a hidden folder", tuple(counts), sum(counts.values()), way)


def _texts(found: Discovery) -> Iterator[UnreadGroup]:
    from nodelint.model.documents import left_out, objects
    from nodelint.text import Source

    candidates = sorted({*found.unread, *found.glanced})
    for kind, endings in _TEXTS.items():
        counts: dict[str, int] = {}
        odd: dict[str, int] = {}
        for path in candidates:
            if not path.lower().endswith(endings) or (data := _with_objects(path)) is None:
                continue
            source = Source.from_bytes(path, data)
            number = sum(1 for _ in (*objects(source, foreign=True, more=True), *left_out(source, foreign=True)))
            (counts if number else odd)[_slashes(path)] = number or _count_objects(data)
        if counts:
            globs = ",".join(sorted({f"**/*{os.path.splitext(path)[1]}" for path in counts}))
            yield UnreadGroup(kind, tuple(counts), sum(counts.values()), f"--include '{globs}'")
        if odd:
            yield UnreadGroup(kind, tuple(odd), sum(odd.values()), None)


def _programs(found: Discovery) -> Iterator[UnreadGroup]:
    kinds = {**PROGRAMS, "template": WEB_TEMPLATES, "set-aside": (*SET_ASIDE, *TABLE.set_aside)}
    known = tuple(ending for endings in (*kinds.values(), *_TEXTS.values()) for ending in endings)
    for kind, endings in kinds.items():
        counts = {}
        for path in found.unread:
            ours = path.endswith(endings) or (
                kind == "template" and is_template_of_yaml(path) and not path.lower().endswith(known)
            )
            data = _with_objects(path, b"arpenter", rb"%s|%s" % (_OBJECT, _CALL)) if ours else None
            if data is not None and _RULE not in data:
                counts[_slashes(path)] = _count_objects(data) or len(re.findall(_CALL, data))
            elif ours and path in found.named:
                counts[_slashes(path)] = 0
        if counts:
            yield UnreadGroup(f"{kind} file", tuple(counts), sum(counts.values()), None)
    templates = [path for path in found.unread if path.endswith(TABLE.made) and _names_karpenter(path)]
    if templates:
        yield UnreadGroup("Jinja template", tuple(map(_slashes, templates)), 0, None)


def _names_karpenter(path: str) -> bool:
    try:
        return b"karpenter" in gate.read_listed(path, _LARGEST)
    except (OSError, ValueError):
        return False


def _with_objects(path: str, word: bytes = b"karpenter.", pattern: bytes = _OBJECT) -> bytes | None:
    """Return the content of a file that contains an object. None if there is none, or if the file cannot be read."""
    try:
        data = (gate.read if os.path.islink(path) else gate.read_listed)(path, _LARGEST)
    except (OSError, ValueError):
        return None
    return data if word in data and re.search(pattern, _unescape(data)) else None


def _count_objects(data: bytes) -> int:
    return len(re.findall(_OBJECT, _unescape(data)))


def _unescape(data: bytes) -> bytes:
    """Return a file's content with the escapes of quoted texts removed and the values of Secrets decoded, so that
    one pattern finds the manifests in all of them.
    """
    if b"Secret" in data:
        data = re.sub(_BASE64, lambda match: b64decode(match[0] + b"==="), data)
    return re.sub(rb"(?<!\\)\\++[nrt]", b"\n", data).replace(b"\\", b"") if b"\\" in data else data


def _overlays(objects: Sequence[Object], shown_already: Collection[str]) -> Iterator[UnreadGroup]:
    """Yield the kustomizations with patches that were judged without being rendered."""
    counts: dict[str, int] = {}
    for obj in objects:
        path = obj.source.path
        if obj.partial:
            own = os.path.basename(path) in TABLE.names
            folder = os.path.dirname(path) if own else TABLE.find_patched_folder(path)
            if folder is not None and os.path.abspath(folder) not in shown_already:
                counts[_display_folder(folder)] = counts.get(_display_folder(folder), 0) + 1
    if counts:
        yield UnreadGroup("overlay", tuple(counts), sum(counts.values()), PIPED["overlay"])


def _charts(objects: Sequence[Object], built: Sequence[Built]) -> Iterator[UnreadGroup]:
    """Yield the charts whose templates were judged without being rendered, with the values files that were used."""
    counts: dict[str, int] = {}
    values: dict[str, None] = {}
    given: dict[str, list[str]] = {}
    for text in built:
        for path in text.replaces:
            given.setdefault(path, []).extend(source.path for source in text.given)
    for obj in objects:
        chart, templates, _ = obj.source.path.rpartition("templates/")
        if templates and "{{" in obj.source.text and gate.is_file(os.path.join(chart, CHART)):
            counts[_display_folder(chart)] = counts.get(_display_folder(chart), 0) + 1
            used = given.get(os.path.abspath(obj.source.path), ())
            values |= dict.fromkeys(_slashes(os.path.relpath(path)) for path in used if path)
    if counts:
        yield UnreadGroup("chart", tuple(counts), sum(counts.values()), PIPED["chart"], tuple(sorted(values)))


def _display_folder(folder: str) -> str:
    return _slashes(os.path.normpath(os.path.relpath(folder or os.curdir)))


def _slashes(path: str) -> str:
    return path.replace(os.sep, "/")
