"""Read YAML as kubectl prints it, line by line: a full YAML parser is too slow for the dump of a cluster.

kubectl prints block mappings and lists, plain and quoted scalars, block scalars, and `{}` and `[]`. Anything else
raises NotPlain; the caller then uses a full parser. Fields that nodelint does not use are skipped.
"""

from __future__ import annotations

import json
import re

from nodelint.base.types import Any

_PASSED_OVER = frozenset(
    {
        *("managedFields", "containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses", "env"),
        *("envFrom", "volumeMounts", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle", "command"),
        *("args", "images", "securityContext", "volumeDevices", "hostIPs", "podIPs", "daemonEndpoints"),
    }
)
"""Keys whose values are not read, except in the controller's own Deployment."""

_KEY = re.compile(r"([A-Za-z0-9_./$-]+|\"[^\"\\]*\"|'[^']*'):(?: +(.*)|)$")
_NUMBER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)$")
_FLOAT = re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?$|[-+]?[0-9]+[eE][-+]?[0-9]+$")
_ODD_NUMBER = re.compile(r"[-+]?(?:0[xob_0-9]|[0-9][0-9_]*_|[0-9]+(?::[0-9]+)+$|\.(?:inf|nan)$)", re.I)
_TIME = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:$|[Tt \t])")
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None, "~": None, "": None}
_OTHER_WORDS = frozenset({"yes", "no", "on", "off", "y", "n", "true", "false", "null"})
_DEEPEST = 60
_ODD_BREAKS = "\t\r\x85\u2028\u2029"


class NotPlain(Exception):
    """Raised if a text contains YAML that kubectl does not print."""


def read_plain(written: str) -> list[Any]:
    """Return the documents of a text. Raise NotPlain if it contains YAML that kubectl does not print."""
    if any(character in written for character in _ODD_BREAKS):
        raise NotPlain
    if "karpenter/controller" in written:
        return _Reader(written, frozenset({"managedFields"})).documents()
    return _Reader(written, _PASSED_OVER).documents()


class _Reader:
    """Reads lines; `at` is the index of the next line."""

    def __init__(self, written: str, passed_over: frozenset[str]) -> None:
        self.lines = written.removeprefix("\ufeff").split("\n")
        self.at = 0
        self.passed_over = passed_over

    def documents(self) -> list[Any]:
        found = []
        while self._next_indent() >= 0:
            line = self.lines[self.at]
            if line == "---":
                self.at += 1
                continue
            if line.startswith(("---", "...", "%")):
                raise NotPlain
            found.append(self._block(0, 0))
            if self._next_indent() >= 0 and not self.lines[self.at].startswith("---"):
                raise NotPlain
        return found

    def _next_indent(self) -> int:
        """Return the indent of the next line that is neither blank nor a comment. -1 at the end."""
        lines, at = self.lines, self.at
        while at < len(lines):
            line = lines[at]
            stripped = line.lstrip(" ")
            if stripped and stripped[0] != "#":
                self.at = at
                return len(line) - len(stripped)
            at += 1
        self.at = at
        return -1

    def _block(self, indent: int, depth: int) -> Any:
        """Return the list or mapping that begins on the next line with this indent."""
        if depth > _DEEPEST:
            raise NotPlain
        line = self.lines[self.at]
        if line.startswith("- ", indent) or line[indent:] == "-":
            return self._list(indent, depth)
        return self._mapping(indent, depth)

    def _list(self, indent: int, depth: int) -> list[Any]:
        found: list[Any] = []
        lines = self.lines
        while self._next_indent() == indent:
            line = lines[self.at]
            if not line.startswith("-", indent) or line == "---":
                break
            rest = line[indent + 1 :]
            if rest[:1] not in ("", " "):
                break
            inner = rest.lstrip(" ")
            if not inner:
                self.at += 1
                more = self._next_indent()
                found.append(self._block(more, depth + 1) if more > indent else None)
                continue
            column = indent + 1 + len(rest) - len(inner)
            if inner[0] == "-" and inner[:2] in ("-", "- "):
                raise NotPlain
            if _KEY.match(inner) and inner[0] not in "{[":
                lines[self.at] = " " * column + inner
                found.append(self._mapping(column, depth + 1))
                continue
            self.at += 1
            found.append(self._scalar(inner, indent))
        return found

    def _mapping(self, indent: int, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        lines = self.lines
        while self._next_indent() == indent:
            match = _KEY.match(lines[self.at][indent:])
            if match is None:
                if lines[self.at].startswith("-"):
                    break
                raise NotPlain
            key, rest = match[1], match[2]
            if key[0] in "\"'":
                key = key[1:-1]
            self.at += 1
            if key in self.passed_over and not rest:
                self._pass_over(indent)
            elif not rest:
                found[key] = self._below(indent, depth)
            else:
                found[key] = self._scalar(rest, indent)
        if self._next_indent() > indent:
            raise NotPlain
        return found

    def _below(self, indent: int, depth: int) -> Any:
        """Return the value below a key: a mapping with more indent, or a list with the same or more indent.

        None if there is none.
        """
        more = self._next_indent()
        if more > indent:
            return self._block(more, depth + 1)
        if more == indent and (self.lines[self.at].startswith("- ", indent) or self.lines[self.at][indent:] == "-"):
            return self._list(indent, depth + 1)
        return None

    def _pass_over(self, indent: int) -> None:
        lines, at, inside = self.lines, self.at, " " * (indent + 1)
        as_list = " " * indent + "- "
        while at < len(lines) and (not lines[at] or lines[at].startswith((inside, as_list))):
            at += 1
        self.at = at

    def _scalar(self, written: str, indent: int) -> Any:
        first = written[0]
        if first in "\"'":
            return self._quoted(written, first)
        if first in "|>":
            return self._text_block(written, indent)
        if first in "{[":
            if written in ("{}", "[]"):
                return {} if written == "{}" else []
            raise NotPlain
        if first in "&*!%@`?#,]}" or " #" in written or ": " in written or written.endswith(":"):
            raise NotPlain
        more = self._next_indent() if self.at < len(self.lines) else -1
        if more > indent:  # a plain scalar over several lines
            raise NotPlain
        return _plain(written.rstrip(" "))

    def _quoted(self, written: str, quote: str) -> str:
        end = _closing(written, quote)
        while end is None:
            if self.at >= len(self.lines):
                raise NotPlain
            line = self.lines[self.at].strip(" ")
            self.at += 1
            if not line:
                raise NotPlain
            written = (
                f"{written[:-1]}{line.removeprefix(chr(92))}" if _is_escaped(written, quote) else f"{written} {line}"
            )
            end = _closing(written, quote)
        if written[end + 1 :].strip(" "):
            raise NotPlain
        inner = written[1:end]
        if quote == "'":
            return inner.replace("''", "'")
        if "\\" not in inner:
            return inner
        try:
            return str(json.loads(f'"{inner}"'))
        except ValueError:
            raise NotPlain from None

    def _text_block(self, written: str, indent: int) -> str:
        if written not in ("|", "|-", "|+", ">", ">-"):
            raise NotPlain
        lines, at = self.lines, self.at
        inside = " " * (indent + 1)
        while at < len(lines) and (not lines[at].strip(" ") or lines[at].startswith(inside)):
            at += 1
        block = lines[self.at : at]
        self.at = at
        while block and not block[-1].strip(" "):
            block.pop()
        if not block:
            return ""
        if not block[0].strip(" ") or written[0] == ">":
            raise NotPlain
        margin = len(block[0]) - len(block[0].lstrip(" "))
        joined = "\n".join(line[margin:] for line in block)
        return joined if written == "|-" else f"{joined}\n"


def _is_escaped(written: str, quote: str) -> bool:
    """Return whether a line of a double-quoted text ends in an escaped line break."""
    return quote == '"' and (len(written) - len(written.rstrip("\\"))) % 2 == 1


def _closing(written: str, quote: str) -> int | None:
    """Return the index of the closing quote. None if the text continues on the next line."""
    at = 1
    while at < len(written):
        if quote == '"' and written[at] == "\\":
            at += 2
            continue
        if written[at] == quote:
            if quote == "'" and written[at + 1 : at + 2] == "'":
                at += 2
                continue
            return at
        at += 1
    return None


def _plain(written: str) -> Any:
    """Return the value of a plain scalar. A timestamp stays a text, as in JSON."""
    if written in _WORDS:
        return _WORDS[written]
    first = written[0]
    if first.isdigit() or first in "+-.":
        if _NUMBER.match(written):
            return int(written) if len(written) < 1000 else written
        if _TIME.match(written):
            return written
        if _ODD_NUMBER.match(written):
            raise NotPlain
        if _FLOAT.match(written):
            return float(written)
        return written
    if written.lower() in _OTHER_WORDS:
        raise NotPlain
    return written
