"""The user data of a class, read for its AMI family: parts, faults, calls and settings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from nodelint.base.budget import BudgetSpent
from nodelint.base.types import Any
from nodelint.edits import NotEditable, add_key, add_keys, remove, with_comments
from nodelint.edits.collections import root_of
from nodelint.karpenter.userdata import settings as found_in
from nodelint.karpenter.userdata.nodeconfig import compose, is_read_as_nodeconfig, troubles
from nodelint.karpenter.userdata.parts import Archive, Part, PartKind, UserDataProblem, archive, is_mime
from nodelint.karpenter.userdata.settings import BootstrapCall, KubeletSetting, NodeLabel, TomlSetting
from nodelint.karpenter.userdata.source_map import ScalarPlaces
from nodelint.model.finding import Edit
from nodelint.model.manifest import EC2NodeClass
from nodelint.model.manifest_terms import text
from nodelint.model.releases import Version
from nodelint.text import Node
from nodelint.text.syntax_errors import NotInTime, Unreadable

_NO_LAUNCH = "Karpenter cannot read the userData and launches nothing with this class"
LONGEST = 65_536
"""The most characters of user data that are read: four times what EC2 accepts.

If EC2 refuses longer user data, the class has an error already. Karpenter rewrites that of Bottlerocket, so its
length does not matter.
"""
_LEAST_ENCODED = 16
"""The fewest characters of a text that may be base64."""
_OPEN = r"\$\{|\{\{|%\{|<[A-Za-z]"
"""A pattern for placeholders that a template has not filled in."""


def _open_quote(line: str) -> tuple[int, str] | None:
    """Return the offset in a line of TOML at which a text with an open quote begins, and the text with the quote
    closed. None if there is none.
    """
    for found in re.finditer(r"=\s*(?=([\"'])(?!\1))", line):
        value = line[found.end() :]
        if value.count(found[1]) == 1:
            return found.end(), value + found[1]
    return None


def _reads(text: str) -> bool:
    import tomllib

    try:
        return bool(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError):
        return False


class UserData:
    """The user data of a class. `family` is the AMI family by which the controller reads it: AL2, AL2023,
    Bottlerocket, Windows2022.
    """

    def __init__(self, node: Node, written: str, family: str) -> None:
        self.node = node
        self.text = written
        self.family = family
        self.places = ScalarPlaces(node, written)
        self._roots: dict[int, Node | None] = {}
        self._broken: list[UserDataProblem] = []

    @property
    def is_windows(self) -> bool:
        """Return whether the AMI family is one of Windows."""
        return self.family.startswith("Windows")

    @cached_property
    def mime(self) -> bool:
        """Return whether the text is a MIME archive of several parts."""
        return self.family in ("AL2", "AL2023") and is_mime(self.text)

    @cached_property
    def _archive(self) -> Archive:
        if self.mime:
            return archive(self.text)
        kind: PartKind = "shell"
        if self.family == "Bottlerocket":
            kind = "toml"
        elif self.is_windows:
            kind = "powershell"
        elif self.family == "AL2023" and is_read_as_nodeconfig(self.text):
            kind = "nodeconfig"
        return Archive((Part(kind, 0, len(self.text)),), ())

    @property
    def parts(self) -> tuple[Part, ...]:
        """Return the parts of the user data, as Karpenter reads them."""
        return self._archive.parts

    @cached_property
    def looks(self) -> PartKind | None:
        """Return the kind of a text without MIME header, by its first characters, whatever the AMI family. None if it
        is not known.
        """
        begin = self.text.lstrip()
        if self.mime:
            return None
        if re.search(found_in.TOML_HEAD, self.text):
            return "toml"
        if "<powershell>" in self.text.lower():
            return "powershell"
        if begin.startswith("#!"):
            return "shell"
        if begin.startswith("#cloud-config"):
            return "cloud-config"
        return "nodeconfig" if re.search(found_in.NODECONFIG_HEAD, self.text) else None

    @cached_property
    def encoded(self) -> bool:
        """Return whether the text is the base64 of a script, an archive or settings."""
        letters = "".join(self.text.split())
        if len(letters) < _LEAST_ENCODED or re.fullmatch(r"[A-Za-z0-9+/]+={0,2}", letters) is None:
            return False
        from base64 import b64decode

        try:
            decoded = b64decode(letters, validate=True).decode()
        except ValueError:
            return False
        begin = decoded.lstrip()
        return (
            begin.startswith(("#!", "#cloud-config", "<powershell>"))
            or is_mime(begin)
            or re.search(found_in.TOML_HEAD, begin) is not None
            or re.search(found_in.NODECONFIG_HEAD, begin) is not None
        )

    def root(self, part: Part) -> Node | None:
        """Return the root of a NodeConfig's YAML, whose offsets count from the start of the part. None if it is empty
        or cannot be read.

        Raise BudgetSpent if the time of the run is used up.
        """
        if part.start not in self._roots:
            try:
                self._roots[part.start] = compose(self.text[part.start : part.end], self.node.source.path)
            except NotInTime as late:
                raise BudgetSpent(late.message) from None
            except Unreadable as error:
                self._roots[part.start] = None
                at = min(part.start + error.offset, part.end)
                hint = "nodeadm cannot read it: the node never joins the cluster"
                self._broken.append(UserDataProblem(at, at, f"invalid YAML: {error.message}", hint))
        return self._roots[part.start]

    @cached_property
    def toml(self) -> dict[str, Any] | None:
        """Return the tables of Bottlerocket's settings. None for other AMI families, with a placeholder, and if the
        text is not TOML.
        """
        if self.family != "Bottlerocket" or self._is_open:
            return None
        import tomllib

        try:
            return tomllib.loads(self.text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            self._broken.append(self._no_toml(str(error)))
            return None

    @cached_property
    def _is_open(self) -> bool:
        return re.search(_OPEN, self.text) is not None

    def _no_toml(self, error: str) -> UserDataProblem:
        found = re.fullmatch(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", error, re.DOTALL)
        words = (found[1] if found else error).partition("\n")[0]
        at = len(self.text.rstrip("\n"))
        if found and found[2]:
            lines = self.text.split("\n")
            at = sum(len(line) + 1 for line in lines[: int(found[2]) - 1]) + int(found[3]) - 1
        message = f"invalid TOML: {words[:1].lower()}{words[1:70]}"
        at = min(at, len(self.text))
        end = self.text.find("\n", at)
        end = len(self.text.rstrip()) if end < at else end
        if opened := _open_quote(self.text[self.text.rfind("\n", 0, at) + 1 : end].rstrip()):
            value, closed = opened
            start = self.text.rfind("\n", 0, at) + 1 + value
            ways = (closed,) if _reads(self.text[:start] + closed + self.text[end:]) else ()
            return UserDataProblem(start, end, "invalid TOML: the quote is not closed", _NO_LAUNCH, choices=ways)
        word = re.compile(r"[A-Za-z_][\w./:@-]*").match(self.text, at)
        bare = word is not None and not self.text[word.end() : end].partition("#")[0].strip()
        ways = (f'"{word[0]}"',) if bare and word is not None else ()
        return UserDataProblem(at, word.end() if bare and word else end, message, _NO_LAUNCH, choices=ways)

    def broken(self) -> list[UserDataProblem]:
        """Return the problems of an archive, NodeConfig or TOML that cannot be read or is dropped.

        Empty if the text is written for another AMI family.
        """
        if self.encoded or (is_mime(self.text) and not self.mime):
            return []
        if self.looks is not None and self.looks not in {part.kind for part in self.parts}:
            return []
        troubled = list(self._archive.troubles)
        for part in self.parts:
            if part.kind == "nodeconfig" and self.family == "AL2023":
                root = self.root(part)
                if not self._broken:
                    troubled += troubles(root, part)
        if self.toml is not None and "settings" not in self.toml and self.text.strip():
            message = "Bottlerocket reads only the table `settings`, which is missing"
            troubled.append(
                UserDataProblem(0, len(self.text.partition("\n")[0]), message, "everything outside is dropped")
            )
        return [*troubled, *self._broken]

    def lost(self, release: Version) -> list[UserDataProblem]:
        """Return the problems of Bottlerocket's settings that a Karpenter release drops or cannot read."""
        settings = self.toml.get("settings") if self.toml is not None else None
        if not isinstance(settings, dict):
            return []
        from nodelint.karpenter.userdata.bottlerocket import faults

        return list(faults(settings, self.text, release))

    def calls(self) -> list[BootstrapCall]:
        """Return the calls in scripts with which the node joins a cluster."""
        kinds = ("powershell",) if self.is_windows else ("shell", "plain")
        return [
            call
            for part in self.parts
            if part.kind in kinds
            for call in found_in.calls(self.text, part.start, part.end, self.is_windows)
        ]

    def settings(self) -> Iterator[KubeletSetting]:
        """Yield the kubelet settings in NodeConfig and TOML."""
        for part in self.parts:
            root = self.root(part) if part.kind == "nodeconfig" and self.family == "AL2023" else None
            if root is not None:
                yield from found_in.of_nodeconfig(root, part)
        table = self.toml["settings"] if self.toml is not None and "settings" in self.toml else None
        if isinstance(table, dict):
            yield from found_in.of_toml(table, self.text)

    def setting(self, *path: str) -> TomlSetting | None:
        """Return a value of Bottlerocket's settings by its path below `settings`. None if there is none."""
        settings = self.toml.get("settings") if self.toml is not None else None
        return found_in.toml_setting(settings, self.text, path) if isinstance(settings, dict) else None

    def local_storage(self) -> tuple[str, int, int] | None:
        """Return the local storage strategy of a NodeConfig, such as `RAID0`, with its start and end. None if no
        NodeConfig sets it.
        """
        for part in self.parts:
            root = self.root(part) if part.kind == "nodeconfig" and self.family == "AL2023" else None
            strategy = root.find("spec", "instance", "localStorage", "strategy") if root is not None else None
            if strategy is not None and isinstance(strategy.value, str):
                return strategy.value, part.start + strategy.start, part.start + strategy.end
        return None

    def cluster(self) -> tuple[int, int] | None:
        """Return start and end of the key that names the cluster: NodeConfig's `cluster`, or the first such key of
        Bottlerocket's TOML. None if there is none.
        """
        for part in self.parts:
            root = self.root(part) if part.kind == "nodeconfig" and self.family == "AL2023" else None
            spec = root.get("spec") if root is not None else None
            key = spec.key("cluster") if spec is not None else None
            if key is not None:
                return part.start + key.start, part.start + key.end
        return found_in.cluster_of_toml(self.text) if self.family == "Bottlerocket" else None

    def moved(self, setting: KubeletSetting, node_class: EC2NodeClass) -> list[Edit]:
        """Return the edits that move a setting of a NodeConfig to `spec.kubelet`. Raise NotEditable if it cannot be
        moved.
        """
        spec, node = node_class.node.get("spec"), setting.node
        if setting.how != "config" or node is None or spec is None or node.parent is None:
            raise NotEditable("it is not a field of a NodeConfig")
        if len(node.parent.entries) == 1:
            raise NotEditable("nothing would be left of the NodeConfig's settings")
        part = next(part for part in self.parts if self.root(part) is root_of(node))
        kubelet = spec.get("kubelet")
        added = {setting.name: setting.value}
        if kubelet is not None:
            changes = add_keys(kubelet, added)
        else:
            # insert above the user data: the inserted text may be its last line
            names = [entry.name for entry in spec.entries if entry.value.start < self.node.start]
            if not names:
                raise NotEditable("there is no field above the user data")
            changes = add_key(spec, "kubelet", added, after=names[-1])
        gone = remove(node)
        changes = with_comments(changes, f"{setting.name}:", gone, node)
        for edit in gone:
            changes += self.places.replace(part.start + edit.start, part.start + edit.end, edit.text)
        return changes

    def labels(self) -> Iterator[NodeLabel]:
        """Yield the labels that the kubelet sets on the node."""
        table = self.toml["settings"] if self.toml is not None and "settings" in self.toml else None
        if isinstance(table, dict):
            yield from found_in.labels_of_toml(table, self.text)
        for part in self.parts:
            if part.kind not in ("toml", "other", "cloud-config"):
                yield from found_in.labels_of_flags(self.text, part.start, part.end)

    def taints(self) -> Iterator[tuple[int, int]]:
        """Yield start and end of each kubelet flag that sets taints."""
        for part in self.parts:
            if part.kind not in ("toml", "other", "cloud-config"):
                yield from found_in.taints_of_flags(self.text, part.start, part.end)


def read(node_class: EC2NodeClass, family: str | None) -> UserData | None:
    """Return the user data of a class for an AMI family.

    None without user data, for a placeholder, and if the AMI family is `Custom` or not known: Karpenter does not read
    such user data. None for a text longer than `LONGEST`, except of Bottlerocket.
    """
    node = node_class.node.find("spec", "userData")
    written = text(node)
    if node is None or not isinstance(written, str) or not written.strip():
        return None
    if family not in ("AL2", "AL2023", "Bottlerocket") and not (family or "").startswith("Windows"):
        return None
    if len(written) > LONGEST and family != "Bottlerocket":
        return None
    return UserData(node, written, str(family))
