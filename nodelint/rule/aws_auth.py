"""The rows of `aws-auth`, in a ConfigMap or in Terraform: the IAM roles that may join a cluster."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import takewhile

from nodelint.base.tuples import NamedTuple
from nodelint.model.finding import Span
from nodelint.text import Node, Source

MAP = r"\bmapRoles\b|\baws_auth_roles\b"
"""A regular expression for the key of a role list."""

_ROW = r"""(?m)\brole_?arn["']?[ \t]*+[=:][ \t]*+([^\n,}]++)"""
_LINE_START = r"(?m)^([ \t]*+)(?=[^\s#\-\]})])"
_NAME = r"[\w:.@/-]{0,99}+"
_USERNAME = (
    r"""\busername["']?[ \t]{0,99}+([=:])[ \t]{0,99}+(["']?)"""
    rf"({_NAME}(?:\{{\{{\w{{1,30}}+\}}\}})?{_NAME})\2[\s,}}]"
)
_PLAIN_ARN = r"arn:aws[\w-]*:iam::\d+:role/(?:[\w+=,.@/-]+/)?([\w+=,.@-]+)"

RoleList = tuple[str, Span]
"""The text of a list of rows, and the place of its key."""


def list_maps(file: Source) -> list[RoleList]:
    """Return the role lists of a file (`mapRoles`, `aws_auth_roles`)."""
    found: list[RoleList] = file.once(list_maps, lambda: list(_find_maps(file)))
    return found


def _find_maps(file: Source) -> Iterator[RoleList]:
    """Yield the text and the place of each role list of a file (`mapRoles`, `aws_auth_roles`)."""
    for found in re.finditer(MAP, file.text):
        start = found.start()
        line = file.text[file.text.rfind("\n", 0, start) + 1 : start]
        indent = len(line) - len(line.lstrip())
        end = len(file.text)
        for after in re.compile(_LINE_START).finditer(file.text, file.text.find("\n", found.end()) + 1 or end):
            if len(after[1]) <= indent:
                end = after.start()
                break
        yield file.text[start:end], Span(file, start, found.end())


class Row(NamedTuple):
    """A row of a role list.

    - `arn`: the expression of the ARN, and `at` its place.
    - `username`: None if it is missing or not known.
    - `groups`: the groups; None if they are missing or not known.
    """

    arn: str
    at: Span
    username: str | None
    groups: frozenset[str] | None

    @property
    def role(self) -> str | None:
        """Return the name of the role. None if the ARN is not written out."""
        found = re.fullmatch(_PLAIN_ARN, self.arn)
        return found[1] if found is not None else None


def list_rows(file: Source) -> Iterator[Row]:
    """Yield the rows of the role lists of a file that have an ARN."""
    for text, at in list_maps(file):
        for found in re.finditer(_ROW, text):
            written = found[1].strip().strip("\"'")
            start = at.start + found.start(1) + found[1].find(written)
            row = _find_row(text, found.start())
            place = Span(file, start, start + len(written))
            yield Row(written, place, _find_username(row), _find_groups(row))


def _find_row(text: str, at: int) -> str:
    """Return the row around a place of a role list: an object in braces, or an item of a YAML list."""
    flat = re.sub(r"\{\{[^{}\n]*\}\}|\$\{[^{}\n]*\}", lambda found: "_" * len(found[0]), text)
    start, end = flat.rfind("{", 0, at), flat.find("}", at)
    if start >= 0 and end >= 0 and "}" not in flat[start:at]:
        return text[start : end + 1]
    column = at - text.rfind("\n", 0, at) - 1
    dashes = [(found.start(1), len(found[1])) for found in re.finditer(r"(?m)^([ \t]*)(?=-[ \t])", text)]
    above = [(place, indent) for place, indent in dashes if place <= at and indent < column]
    if not above:
        return ""
    start, indent = above[-1]
    return text[start : next((place for place, other in dashes if place > at and other <= indent), len(text))]


def _find_username(row: str) -> str | None:
    found = re.search(_USERNAME, row)
    if found is None or not found[3] or (found[1] == "=" and not found[2]):
        return None  # without quotes, it is an expression of HCL
    return found[3]


def _find_groups(row: str) -> frozenset[str] | None:
    found = re.search(r"""\bgroups["']?[ \t]*[=:](.*?)(?=\b(?:username|rolearn|role_arn)\b|\Z)""", row, re.DOTALL)
    if found is None or re.search(r"\$\{|\{\{|\b(?:var|local|each|concat|module)\b", found[1]):
        return None
    return frozenset(re.findall(r"\w[\w-]{0,99}+(?::[\w-]{1,99}+)*+", found[1]))


def find_nearest(maps: Sequence[RoleList], near: Node) -> list[RoleList]:
    """Return the role lists that share the deepest folder with a class, because each cluster of a repository has its
    own list.
    """
    depths = [count_shared_folders(at, near) for _, at in maps]
    deepest = max(depths, default=0)
    return [found for found, depth in zip(maps, depths, strict=True) if depth == deepest]


def count_shared_folders(place: Node | Span, other: Node | Span) -> int:
    """Return the number of folders that the paths of two places have in common, from the root."""
    folders = [s.once(_list_folders, partial(_list_folders, s.path)) for s in (place.source, other.source)]
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*folders, strict=False)))


def _list_folders(path: str) -> list[str]:
    return os.path.dirname(os.path.abspath(path)).split(os.sep)


def list_roles(maps: Sequence[RoleList]) -> set[str | None]:
    """Return the roles of the rows, each by its name or its address in Terraform; None for a row with neither."""
    return {name for text, at in maps for name in at.source.once((_list_names, text), partial(_list_names, text))}


def _list_names(text: str) -> set[str | None]:
    return {_find_role_name(row) for row in re.findall(_ROW, text)}


def _find_role_name(row: str) -> str | None:
    """Return the role of a row: its name, or its address in Terraform. None if the row has neither."""
    text = row.strip().strip("\"'")
    arn = re.fullmatch(_PLAIN_ARN, text)
    if arn is not None:
        return arn[1]
    reference = re.fullmatch(r"(?:\$\{)?(aws_iam_role\.[\w-]+)\.arn\}?", text)
    return reference[1] if reference is not None else None


def is_filled(maps: Sequence[RoleList]) -> bool:
    """Return whether a template may add rows to one of the role lists."""
    return any(at.source.once((_is_filled, text), partial(_is_filled, text)) for text, at in maps)


def _is_filled(text: str) -> bool:
    """Return whether a role list may contain other rows than the written ones, because a part of it is an expression.

    Placeholders of aws-auth for instance names do not count.
    """
    plain = text.replace("{{EC2PrivateDNSName}}", "").replace("{{SessionName}}", "").replace("{{AccountID}}", "")
    return (
        re.search(r"\{\{|\bfor\b|\bconcat\b|\b(?:local|var|data|file\w*|templatefile)\b[.(]|%\{", plain) is not None
    )
