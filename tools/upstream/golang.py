"""Parse the Go source that the facts need: constants, calls, maps, struct tags. Nothing is compiled."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

KUBERNETES = {
    "LabelTopologyZone": "topology.kubernetes.io/zone",
    "LabelTopologyRegion": "topology.kubernetes.io/region",
    "LabelFailureDomainBetaZone": "failure-domain.beta.kubernetes.io/zone",
    "LabelFailureDomainBetaRegion": "failure-domain.beta.kubernetes.io/region",
    "LabelInstanceType": "beta.kubernetes.io/instance-type",
    "LabelInstanceTypeStable": "node.kubernetes.io/instance-type",
    "LabelArchStable": "kubernetes.io/arch",
    "LabelOSStable": "kubernetes.io/os",
    "LabelHostname": "kubernetes.io/hostname",
    "LabelWindowsBuild": "node.kubernetes.io/windows-build",
    "TenancyDedicated": "dedicated",
    "TenancyDefault": "default",
    "TenancyHost": "host",
}
"""Constants of k8s.io/api/core/v1 and of the AWS SDK that Karpenter's labels are made of."""

_CONSTANT = re.compile(r"^\s*(?:const\s+|var\s+)?(\w+)\s+(?:[\w.\[\]]+\s+)?=\s+(.+?)\s*(?://.*)?$", re.MULTILINE)
_STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^\s+(?:(\w+)\s+)?(\S+)\s+`([^`]*)`", re.MULTILINE)


class Unresolved(Exception):
    """Raised for an expression with an unknown value. The message is the expression."""


class Constants:
    """The text constants of some files. If two files define a name, the first one counts."""

    def __init__(self, *sources: str) -> None:
        self._found: dict[str, str] = {}
        for source in sources:
            for name, expression in _CONSTANT.findall(source):
                self._found.setdefault(name, expression)

    def value(self, expression: str, depth: int = 0) -> str:
        """Return the text that is the value of an expression. Raise Unresolved."""
        expression = expression.strip()
        if depth > 10:
            raise Unresolved(expression)
        if " + " in expression:
            return "".join(self.value(part, depth + 1) for part in expression.split(" + "))
        if re.fullmatch(r'"[^"\\]*"', expression):
            return expression[1:-1]
        conversion = re.fullmatch(r"string\((.+)\)", expression)
        if conversion:
            return self.value(conversion[1], depth + 1)
        name = expression.rpartition(".")[2]
        if name in self._found:
            return self.value(self._found[name], depth + 1)
        if name in KUBERNETES:
            return KUBERNETES[name]
        raise Unresolved(expression)


def inside(source: str, opening: str) -> Iterator[str]:
    """Yield the text in the brackets that each match of a pattern opens."""
    for match in re.finditer(opening, source):
        depth = 1
        for end in range(match.end(), len(source)):
            depth += (source[end] in "({[") - (source[end] in ")}]")
            if depth == 0:
                yield source[match.end() : end]
                break


def arguments(text: str) -> list[str]:
    """Return the arguments of a list, split at its commas, except commas in brackets or in strings."""
    text = re.sub(r"(^|\s)//.*$", "", text, flags=re.MULTILINE)
    found, depth, start, quoted = [], 0, 0, False
    for index, char in enumerate(text):
        if char == '"' and text[index - 1 : index] != "\\":
            quoted = not quoted
        if quoted:
            continue
        depth += (char in "({[") - (char in ")}]")
        if char == "," and depth == 0:
            found.append(text[start:index].strip())
            start = index + 1
    found.append(text[start:].strip())
    return [part for part in found if part]


class Field(NamedTuple):
    """A field of a struct: its type in Go, its name in JSON (empty if it is inlined) and its hash tag."""

    type: str
    json: str
    hash: str


def structs(*sources: str) -> dict[str, list[Field]]:
    """Return the fields of each struct that have a JSON name or are inlined."""
    found: dict[str, list[Field]] = {}
    for source in sources:
        for name, body in _STRUCT.findall(source):
            fields = found.setdefault(name, [])
            for _, kind, tags in _FIELD.findall(re.sub(r"^\s*//.*$", "", body, flags=re.MULTILINE)):
                json = re.search(r'json:"([^",]*)', tags)
                mark = re.search(r'hash:"([^"]*)"', tags)
                if json and json[1] != "-":
                    fields.append(Field(kind, json[1], mark[1] if mark else ""))
    return found
