"""Find manifests in other texts: shell scripts, Markdown, block scalars of other manifests, Terraform.

Each manifest becomes a document of the file that holds it, with the offsets of that file: a finding points at the
line of the file, and an edit changes the file. The YAML may be indented as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from nodelint.forms.registry import TABLE
from nodelint.text import quoted_texts
from nodelint.text.embedded_regions import (
    GROUPS,
    EmbeddedYaml,
    Reading,
    groups_of,
    line_after,
    may_hold_chart_values,
    may_hold_object,
    may_hold_values,
    read_region,
)
from nodelint.text.nodes import Node, SourceText
from nodelint.text.yaml import jsonpatch

_TEMPLATES = (
    *(
        ".tpl",
        ".tmpl",
        ".gotmpl",
        ".gomplate",
        ".j2",
        ".jinja",
        ".jinja2",
        ".envsubst",
        ".template",
        ".erb",
        ".mustache",
    ),
    *(".in", *TABLE.templates),
)
_SET_ASIDE = (".disabled", ".off", ".bak", ".orig", ".old", ".example", ".sample", ".dist")
"""Endings that disable a file for a tool, or mark it as an example. The ending before them tells the kind of file."""
_HOSTS = {
    "sh": "shell",
    "bash": "shell",
    "zsh": "shell",
    "md": "markdown",
    "markdown": "markdown",
    "mdx": "markdown",
}
_YAML = ("yaml", "yml", "json", "jsonc")
_SHELL = ("bash", "sh", "shell", "zsh", "console", "shell-session", "terminal")

_UNSAID = ("", "text", "txt", "plaintext")
"""Words behind a Markdown fence that do not tell the language of the block."""

_FENCE = r"(?m)^(?P<indent>[ \t]*)(?P<fence>`{3,}|~{3,})[ \t]*\{?\.?(?P<word>[\w-]*)[^`\r\n]*\r?$"
_HEREDOC = (
    r"""(?<!<)<<(?P<dash>-?)[ \t]*(?:(?P<quote>["'\\])(?P<quoted>[A-Za-z_][\w-]*)["']?|(?P<word>[A-Za-z_]\w*))"""
)
_PATCHES = frozenset({"patch", "patches", "patchesStrategicMerge"})
_FIRST_LINE = r"(?:[ \t]*+(?:#[^\n]*+|\r?)\n)*+[ \t]*(?:---|- |[\w\"'./-]+[ \t]*:(?:\s|$)|\{)"


def host_of(path: str) -> str | None:
    """Return the kind of text of a file by its name, such as `shell`. None for any other file.

    Endings such as `.tpl` and `.disabled` are ignored.
    """
    name = path.lower()
    while name.endswith((*_TEMPLATES, *_SET_ASIDE)):
        name = name.rpartition(".")[0]
    ending = name.rpartition(".")[2]
    row = TABLE.of_host(ending)
    return _HOSTS.get(ending) if row is None else row.name


def is_script(source: SourceText) -> bool:
    """Return whether a text is a script whose manifests are all in heredocs: none is outside of them."""
    text = source.text
    inside = list(_heredocs(source, 0, len(text)))
    if not inside:
        return False
    outside = [
        text[a:b]
        for a, b in pairwise([0, *(at for embedded in inside for at in (embedded.start, embedded.end)), len(text)])
    ]
    rest = "".join(outside[::2])
    return re.match(_FIRST_LINE, rest) is None and re.search(r"(?m)^(?:apiVersion|kind)[ \t]*:", rest) is None


def read(source: SourceText, host: str, start: int = 0, end: int | None = None) -> Iterator[Reading]:
    """Yield the manifests in a text of the kind `host` (such as `shell`), in order. It never raises.

    `start` and `end` limit the search to a range of the text. They apply only to kinds that an input form reads.
    """
    text = source.text
    row = TABLE.of_host(host)
    names_group = re.search(groups_of(source), text) is not None
    if row is not None and (names_group or row.load().may_embed(source)):
        yield from row.load().read_embedded(source, start, len(text) if end is None else end)
    if row is not None or not names_group:
        return
    if host == "shell":
        for region in _heredocs(source, 0, len(text)):
            yield from read_region(source, region)
    else:
        yield from _markdown(source)


def blocks(source: SourceText, root: Node, within: EmbeddedYaml | None = None) -> Iterator[Reading]:
    """Yield the manifests in the block scalars of a document.

    `within` is the region that holds the document, if it is itself part of another text.
    """
    shell = within is not None and within.shell
    text = source.text
    groups = re.compile(groups_of(source))
    joined: set[int] = set()
    for node in root.walk():
        if (parts := quoted_texts.find_joined(node)) and _keys_above(node) is not None:
            joined.update(map(id, parts))
            yield from quoted_texts.read_joined(source, parts, _read_all)
        is_quoted = node.style in ("single", "double") and not node.shared and id(node) not in joined
        if is_quoted and _keys_above(node) is not None:
            yield from quoted_texts.read_scalar(source, node, _read_all)
        if node.style not in ("literal", "folded") or node.shared:
            continue
        target = jsonpatch.target(node)
        is_grouped = groups.search(text, node.start, node.end) is not None or may_hold_chart_values(
            text, node.start, node.end
        )
        if target is None and not is_grouped:
            continue
        keys = _keys_above(node)
        body = text.find("\n", node.start, node.end) + 1
        if keys is None or not body:
            continue
        part = not _PATCHES.isdisjoint(keys)
        region = EmbeddedYaml(body, line_after(text, node.end), "block", shell=shell, part=part)
        if target is not None and not may_hold_object(source, text, body, node.end):
            yield from read_region(source, region._replace(target=target))
        elif node.style == "literal":
            yield from read_text(source, region)
        elif may_hold_object(source, text, body, node.end):
            reason = "a manifest in a folded text, whose lines are joined: write `|` in the place of `>`"
            yield Reading(None, body, region.end, region, False, "", reason, node.start, True)


def read_quoted(source: SourceText, start: int, end: int, value: object) -> Iterator[Reading]:
    """Yield the manifests of a text in double quotes of another language (see `quoted_texts.read_quoted`)."""
    yield from quoted_texts.read_quoted(source, start, end, value, _read_all)


def _read_all(source: SourceText, region: EmbeddedYaml) -> Iterator[Reading]:
    for reading in read_text(source, region):
        yield reading
        if reading.root is not None:
            yield from blocks(source, reading.root, reading.region)


def _keys_above(node: Node) -> list[str] | None:
    """Return the keys above a node, innermost first.

    None if the node is part of a Karpenter object, or of annotations.
    """
    keys: list[str] = []
    at = node
    while at.parent is not None:
        keys += [entry.name for entry in at.parent.entries if entry.value is at and entry.name is not None]
        at = at.parent
        group = at.get("apiVersion")
        if group is not None and isinstance(group.value, str) and re.match(GROUPS, group.value):
            return None
    return None if "annotations" in keys else keys


def read_text(source: SourceText, region: EmbeddedYaml) -> Iterator[Reading]:
    """Yield the manifests of a region that is YAML, or a script with YAML in its heredocs."""
    text = source.text
    if not may_hold_object(source, text, region.start, region.end):
        if may_hold_values(text, region):
            readings = read_region(source, region._replace(lenient=True))
            yield from (reading for reading in readings if reading.root is not None)
        return
    inner = list(_heredocs(source, region.start, region.end))
    for within in inner:
        yield from read_region(source, within._replace(literal=False, lenient=True, part=region.part or within.part))
    if not inner:
        is_yaml = re.compile(_FIRST_LINE).match(text, region.start) is not None
        yield from read_region(source, region._replace(lenient=region.lenient or not is_yaml))


# -- shell


def _heredocs(source: SourceText, start: int, end: int) -> Iterator[EmbeddedYaml]:
    """Yield the bodies of the heredocs of a script. A heredoc without an end is skipped."""
    text = source.text
    if "<<" not in text[start:end]:
        return
    substituted = "envsubst" in text[start:end]
    unclosed: set[str] = set()
    opener = re.compile(_HEREDOC)
    at = start
    while at < end:
        line_end = text.find("\n", at, end)
        if line_end < 0:
            return
        line = text[at:line_end]
        at = line_end + 1
        if "<<" not in line or line.lstrip().startswith("#"):
            continue
        for match in opener.finditer(line):
            word = match["word"] or match["quoted"]
            if word in unclosed:
                continue
            # The script may be a block scalar: each line then begins with its indent.
            close = re.compile(rf"(?m)^[ \t]*{re.escape(word)}[ \t]*\r?$").search(text, at, end)
            if close is None:
                unclosed.add(word)
                continue
            if _is_quoted(line, match.start()):
                continue
            literal = match["quote"] is not None
            if may_hold_object(source, text, at, close.start()) and " delete " not in line:
                part = re.search(r"\bpatch\b", line) is not None
                ragged = bool(match["dash"]) and len(set(re.findall(r"(?m)^(\t*)\S", text[at : close.start()]))) > 1
                yield EmbeddedYaml(at, close.start(), "shell", literal and not substituted, not literal, ragged, part)
            at = min(close.end() + 1, end)


def _is_quoted(line: str, at: int) -> bool:
    """Return whether a position in a script line is inside quotes that close on the line and that run no command."""
    quoted = re.compile(r"""\\.|'[^']*'|"(?:[^"\\]|\\.)*\"""")
    return any(
        match.start() < at < match.end() and not ("$(" in match.group() or "`" in match.group())
        for match in quoted.finditer(line)
    )


# -- Markdown


def _markdown(source: SourceText) -> Iterator[Reading]:
    text = source.text
    fence = re.compile(_FENCE)
    at = 0
    while (opening := fence.search(text, at)) is not None:
        start = opening.end() + 1
        mark = opening["fence"]
        closing = re.compile(rf"(?m)^[ \t]*{re.escape(mark[0])}{{{len(mark)},}}[ \t]*\r?$").search(text, start)
        end = closing.start() if closing is not None else len(text)
        at = closing.end() if closing is not None else len(text)
        word = opening["word"].lower()
        if re.compile(groups_of(source)).search(text, start, end) is None:
            continue
        if word in _YAML:
            yield from read_region(source, EmbeddedYaml(start, end, "markdown", lenient=True, part=None))
        elif word in _UNSAID:
            for reading in read_text(source, EmbeddedYaml(start, end, "markdown", lenient=True, part=None)):
                yield reading._replace(region=reading.region._replace(host="markdown"))
        elif word in _SHELL:
            regions = list(_heredocs(source, start, end))
            if not regions and re.compile(_FIRST_LINE).match(text, start, end) is not None:
                regions = [EmbeddedYaml(start, end, "markdown", part=None)]  # only the fence says that it is a script
            for region in regions:
                yield from read_region(source, region._replace(host="markdown", lenient=True))
        elif (row := TABLE.of_host(word)) is not None:
            for reading in row.load().read_embedded(source, start, end, lenient=True):
                yield reading._replace(region=reading.region._replace(part=None))
