"""The user data of a class, read for its image family: parts, what does not fit, what is broken, what it sets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from nodelint.base.budget import BudgetSpent
from nodelint.base.types import TYPE_CHECKING
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

if TYPE_CHECKING:
    from typing import Any


_NO_LAUNCH = "Karpenter cannot read the userData and launches nothing with this class"
LONGEST = 65_536
"""Characters of user data that are read: four times what EC2 takes. That EC2 refuses a longer one is an error of the
class; that of Bottlerocket is written anew, so that its length says nothing.
"""
_LEAST_ENCODED = 16
"""Characters below which a text is not taken for base64."""
_OPEN = r"\$\{|\{\{|%\{|<[A-Za-z]"
"""What a template still fills in."""


def _open_quote(line: str) -> tuple[int, str] | None:
    """Return where a text begins whose quote stays open to the end of a line of TOML, and the text with the quote
    closed.
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
    """The user data of a class. `family` is what the controller takes: AL2, AL2023, Bottlerocket, Windows2022."""

    def __init__(self, node: Node, written: str, family: str) -> None:
        self.node = node
        self.text = written
        self.family = family
        self.places = ScalarPlaces(node, written)
        self._roots: dict[int, Node | None] = {}
        self._broken: list[UserDataProblem] = []

    @property
    def is_windows(self) -> bool:
        """Whether it is for a family of Windows images."""
        return self.family.startswith("Windows")

    @cached_property
    def mime(self) -> bool:
        """Whether it is a MIME archive of several parts."""
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
        """Return what the user data consists of, as Karpenter takes it."""
        return self._archive.parts

    @cached_property
    def looks(self) -> PartKind | None:
        """Return what a text without MIME header is by its looks, whatever the family."""
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
        """Whether the text is the base64 of a script, an archive or settings."""
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
        """Return a NodeConfig's YAML, in a source of its own; None if it is empty or cannot be read.

        Raise `BudgetSpent` if the time of the run is up.
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
        """Return the tables of Bottlerocket's settings; None for other families and where it is not TOML."""
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
        """Return what cannot be read, or is dropped: archive, NodeConfig, TOML.

        Nothing if it is for another family.
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
        """Return the settings of Bottlerocket that a release of Karpenter drops, or cannot read."""
        settings = self.toml.get("settings") if self.toml is not None else None
        if not isinstance(settings, dict):
            return []
        from nodelint.karpenter.userdata.bottlerocket import faults

        return list(faults(settings, self.text, release))

    def calls(self) -> list[BootstrapCall]:
        """Return the calls by which a script lets its node join a cluster."""
        kinds = ("powershell",) if self.is_windows else ("shell", "plain")
        return [
            call
            for part in self.parts
            if part.kind in kinds
            for call in found_in.calls(self.text, part.start, part.end, self.is_windows)
        ]

    def settings(self) -> Iterator[KubeletSetting]:
        """Yield the kubelet's settings in NodeConfig and TOML."""
        for part in self.parts:
            root = self.root(part) if part.kind == "nodeconfig" and self.family == "AL2023" else None
            if root is not None:
                yield from found_in.of_nodeconfig(root, part)
        table = self.toml["settings"] if self.toml is not None and "settings" in self.toml else None
        if isinstance(table, dict):
            yield from found_in.of_toml(table, self.text)

    def setting(self, *path: str) -> TomlSetting | None:
        """Return a value of Bottlerocket's settings by its path below `settings`."""
        settings = self.toml.get("settings") if self.toml is not None else None
        return found_in.toml_setting(settings, self.text, path) if isinstance(settings, dict) else None

    def local_storage(self) -> tuple[str, int, int] | None:
        """Return what NodeConfig does with a node's local disks, such as `RAID0`, and where it says so."""
        for part in self.parts:
            root = self.root(part) if part.kind == "nodeconfig" and self.family == "AL2023" else None
            strategy = root.find("spec", "instance", "localStorage", "strategy") if root is not None else None
            if strategy is not None and isinstance(strategy.value, str):
                return strategy.value, part.start + strategy.start, part.start + strategy.end
        return None

    def cluster(self) -> tuple[int, int] | None:
        """Return where it names the cluster: NodeConfig's `cluster`, or the first such key of Bottlerocket's TOML."""
        for part in self.parts:
            root = self.root(part) if part.kind == "nodeconfig" and self.family == "AL2023" else None
            spec = root.get("spec") if root is not None else None
            key = spec.key("cluster") if spec is not None else None
            if key is not None:
                return part.start + key.start, part.start + key.end
        return found_in.cluster_of_toml(self.text) if self.family == "Bottlerocket" else None

    def moved(self, setting: KubeletSetting, node_class: EC2NodeClass) -> list[Edit]:
        """Return the edits that say a setting of NodeConfig in `spec.kubelet` instead. Raise `NotEditable`."""
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
            # above the user data: what goes there may be its last line
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
        """Yield the labels that the kubelet gives the node."""
        table = self.toml["settings"] if self.toml is not None and "settings" in self.toml else None
        if isinstance(table, dict):
            yield from found_in.labels_of_toml(table, self.text)
        for part in self.parts:
            if part.kind not in ("toml", "other", "cloud-config"):
                yield from found_in.labels_of_flags(self.text, part.start, part.end)

    def taints(self) -> Iterator[tuple[int, int]]:
        """Yield where kubelet flags name taints."""
        for part in self.parts:
            if part.kind not in ("toml", "other", "cloud-config"):
                yield from found_in.taints_of_flags(self.text, part.start, part.end)


def read(node_class: EC2NodeClass, family: str | None) -> UserData | None:
    """Return the user data of a class for a family of the controller's.

    None if there is none, it is a placeholder, or the family is `Custom` or not known: nothing of it is Karpenter's
    to judge then.
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
