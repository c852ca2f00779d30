"""The kubelet settings in user data, with their offsets: fields of NodeConfig and TOML, flags, labels, bootstrap
calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.data import table
from nodelint.karpenter.userdata.parts import Part
from nodelint.text import Node

if TYPE_CHECKING:
    from typing import Any, Literal


_WORD = r"""(?:[^\s"'\\;|&]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+"""
_CALL = (
    r"(?m)^(?P<lead>[ \t]*(?:(?:set|then|do|else)\b[^\n;]*;[ \t]*)*"
    r"(?:(?:sudo|exec|bash|sh|source|\.)[ \t]+(?:-\S+[ \t]+)*)*)"
    r"(?P<call>(?:/etc/eks/bootstrap\.sh|(?:/usr/bin/)?nodeadm[ \t]+init)(?=[\s;]|$)(?:\\\r?\n|[^\n])*)"
)
_WINDOWS_CALL = r"(?im)^[ \t]*(?P<call>&[ \t]*+(?:\$EKSBootstrapScriptFile|[^\n]*Start-EKSBootstrap\.ps1)[^\n]*)"
_LABELS = r"--node-labels[= ][\"']?([^\s\"']+)"
_TAINTS = r"--register-with-taints[= ][\"']?([^\s\"']+)"
_DIGITS = 20
"""The fewest digits of a number that the kubelet refuses as too large."""
TOML_HEAD = r"(?m)^[ \t]*\[\[?settings[.\]]"
NODECONFIG_HEAD = r"(?m)^[ \t]*apiVersion:[ \t]*[\"']?node\.eks\.aws/"
_HARMLESS = ("--apiserver-endpoint", "--b64-cluster-ca", "--container-runtime", "--dns-cluster-ip", "--ip-family")


class KubeletSetting(NamedTuple):
    """A kubelet setting: its name in `spec.kubelet`, the key or flag in the user data, and start and end.

    `node` is its value in a NodeConfig (with offsets in the part), `value` its plain value.
    """

    name: str
    written: str
    how: Literal["config", "flag", "toml"]
    start: int
    end: int
    node: Node | None = None
    value: Any = None


class TomlSetting(NamedTuple):
    """A value of Bottlerocket's settings, start and end of its key, and those of its literal (None if these are not
    known).
    """

    value: Any
    start: int
    end: int
    literal: tuple[int, int] | None


class NodeLabel(NamedTuple):
    """A label that the kubelet sets on the node, with start and end of its key in the user data."""

    key: str
    start: int
    end: int

    @property
    def domain(self) -> str:
        """Return the part of the key before the slash. Empty if there is none."""
        return self.key.rpartition("/")[0]

    @property
    def refused(self) -> bool:
        """Return whether the kubelet refuses to start with this label (reserved kubernetes.io or k8s.io domain)."""
        domain = self.domain
        if not domain.endswith((".kubernetes.io", ".k8s.io")) and domain not in ("kubernetes.io", "k8s.io"):
            return False
        free = ("kubelet.kubernetes.io", "node.kubernetes.io")
        own = domain in free or domain.endswith(tuple(f".{setting}" for setting in free))
        return not own and self.key not in table("nodeconfig")["kubeletLabels"]


class BootstrapCall(NamedTuple):
    """A call with which a node joins: characters `start` to `end`. `lines` are start and end of its lines, with the
    line break.

    `plain` is true if it does nothing more than Karpenter's own call.
    """

    program: str
    start: int
    end: int
    lines: tuple[int, int]
    plain: bool


def of_nodeconfig(root: Node, part: Part) -> Iterator[KubeletSetting]:
    """Yield the kubelet settings of a NodeConfig: all of its `config`, and the flags with which Karpenter plans."""
    facts = table("nodeconfig")
    config = root.find("spec", "kubelet", "config")
    base = part.start
    for entry in config.entries if config is not None else ():
        if entry.name is not None:
            key = entry.key
            yield KubeletSetting(
                entry.name, entry.name, "config", base + key.start, base + key.end, entry.value, entry.value.plain()
            )
    flags = root.find("spec", "kubelet", "flags")
    names = {flag: name for name, (_, flag) in facts["planned"].items()}
    for item in flags.items if flags is not None and flags.kind == "sequence" else ():
        flag = item.value.partition("=")[0].strip() if isinstance(item.value, str) else ""
        if flag in names:
            yield KubeletSetting(names[flag], flag, "flag", base + item.start, base + item.end, item)


def of_flags(text: str, start: int, end: int) -> Iterator[KubeletSetting]:
    """Yield the kubelet flags of a script with which Karpenter plans, without those whose value the script
    computes.
    """
    names = {flag: name for name, (_, flag) in table("nodeconfig")["planned"].items()}
    flags = "|".join(map(re.escape, names))
    for found in re.compile(rf"(?<![\w-])({flags})[= ]([\"']?)([\w.,:=<%-]++)").finditer(text, start, end):
        ends = text[found.end() : min(found.end() + 1, end)]
        if (not ends or ends.isspace() or ends in "\"'\\") and not _is_comment(text, found.start()):
            value = int(found[3]) if found[3].isdecimal() and len(found[3]) < _DIGITS else found[3]
            yield KubeletSetting(names[found[1]], found[1], "flag", *found.span(1), value=value)


def of_toml(settings: dict[str, Any], text: str) -> Iterator[KubeletSetting]:
    """Yield the kubelet settings of Bottlerocket's TOML that Karpenter writes or uses for its plans."""
    kubernetes = settings.get("kubernetes")
    for name, key in table("nodeconfig")["bottlerocket"].items():
        if isinstance(kubernetes, dict) and key in kubernetes:
            start, end = find_key(text, ("settings", "kubernetes", key))
            yield KubeletSetting(name, key, "toml", start, end, value=kubernetes[key])


def toml_setting(settings: dict[str, Any], text: str, path: tuple[str, ...]) -> TomlSetting | None:
    """Return the value at a path below `settings`, with its offsets. None if there is none."""
    value: Any = settings
    for step in path:
        if not isinstance(value, dict) or step not in value:
            return None
        value = value[step]
    start, end = find_key(text, ("settings", *path))
    word = re.compile(r"[\"']?\s*=\s*(true|false|-?\d+)(?=\s|#|$)").match(text, end)
    own = re.search(rf"{re.escape(path[-1])}[\"']?$", text[start:end]) is not None
    return TomlSetting(value, start, end, word.span(1) if word is not None and own else None)


def cluster_of_toml(text: str) -> tuple[int, int] | None:
    """Return start and end of the first key in Bottlerocket's TOML that names the cluster, also in a template. None
    if there is none.
    """
    found = []
    for key in table("nodeconfig")["bottlerocketJoins"] if "kubernetes" in text else ():
        start, end = find_key(text, ("settings", "kubernetes", key))
        if re.split(r"[\s.]", text[start:end])[-1].strip("\"'") == key:
            found.append((start, end))
    return min(found, default=None)


def labels_of_toml(settings: dict[str, Any], text: str) -> Iterator[NodeLabel]:
    kubernetes = settings.get("kubernetes")
    labels = kubernetes.get("node-labels") if isinstance(kubernetes, dict) else None
    for key in labels if isinstance(labels, dict) else ():
        yield NodeLabel(key, *find_key(text, ("settings", "kubernetes", "node-labels", key)))


def labels_of_flags(text: str, start: int, end: int) -> Iterator[NodeLabel]:
    """Yield the labels of `--node-labels` in a script or a NodeConfig, without those in comments."""
    for found in re.compile(_LABELS).finditer(text, start, end):
        if _is_comment(text, found.start()):
            continue
        at = found.start(1)
        for pair in found[1].split(","):
            key = pair.partition("=")[0]
            if re.fullmatch(r"[\w./-]+", key):
                yield NodeLabel(key, at, at + len(key))
            at += len(pair) + 1


def taints_of_flags(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for found in re.compile(_TAINTS).finditer(text, start, end):
        if not _is_comment(text, found.start()):
            yield found.start(), found.end(1)


def calls(text: str, start: int, end: int, windows: bool = False) -> Iterator[BootstrapCall]:
    """Yield the calls of a script with which a node joins a cluster."""
    for found in re.compile(_WINDOWS_CALL if windows else _CALL).finditer(text, start, end):
        first, last = found.span("call")
        program = "Start-EKSBootstrap.ps1" if windows else "nodeadm" if "nodeadm" in found[0] else "bootstrap.sh"
        begin = text.rfind("\n", 0, first) + 1
        stop = text.find("\n", last)
        yield BootstrapCall(
            program,
            first,
            last,
            (max(begin, start), end if stop < 0 or stop >= end else stop + 1),
            not windows and not text[begin:first].strip() and _is_plain(found["call"]),
        )


def _is_plain(call: str) -> bool:
    words = re.findall(_WORD, call.replace("\\\n", " "))
    rest = iter(words[1:])
    named = False
    for word in rest:
        if word in _HARMLESS:
            next(rest, None)
        elif not word.startswith("-") and not named:
            named = True
        else:
            return False
    return ";" not in call and "&" not in call and "|" not in call


def _is_comment(text: str, at: int) -> bool:
    return text[text.rfind("\n", 0, at) + 1 : at].lstrip().startswith("#")


def find_key(text: str, path: tuple[str, ...]) -> tuple[int, int]:
    """Return start and end of a key in TOML. If the key is not found, those of its nearest parent table, else of the
    first character.
    """
    table_path: tuple[str, ...] = ()
    best, nearest = (0, min(len(text), 1)), 0
    quote = ""
    at = 0
    for line in text.split("\n"):
        here, at = at, at + len(line) + 1
        if quote:
            quote = "" if quote in line else quote
            continue
        header = re.match(r"\s*\[([^\[\]]+)\]\s*(?:#.*)?$", line)
        pair = re.match(r"\s*((?:\"[^\"]*\"|'[^']*'|[\w-]+)(?:\s*\.\s*(?:\"[^\"]*\"|'[^']*'|[\w-]+))*)\s*=", line)
        found = header or pair
        if found is None:
            continue
        keys = tuple(key.strip("\"'") for key in re.findall(r"\"[^\"]*\"|'[^']*'|[\w-]+", found[1]))
        table_path = keys if header else table_path
        whole = keys if header else (*table_path, *keys)
        if path[: len(whole)] == whole and len(whole) > nearest:
            best, nearest = (here + found.start(1), here + found.end(1)), len(whole)
        quote = next((q for q in ('"""', "'''") if pair and line.count(q) % 2), "")
    return best
