"""User data of the AMI family `Custom`, which reaches the node unchanged: can it let the node join its cluster?

The published name, parameter or alias of the image shows what the image is. For custom images, only faults that hold
for every image are reported. Images that join by themselves, and scripts that download others, are not judged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from nodelint.data import table
from nodelint.karpenter.userdata import settings as found_in
from nodelint.karpenter.userdata.family_mismatch import WORDS, end_of_line, first_line, unrunnable
from nodelint.karpenter.userdata.parts import Archive, Part, UserDataProblem, archive, is_mime
from nodelint.karpenter.userdata.reading import LONGEST, UserData
from nodelint.karpenter.userdata.settings import KubeletSetting
from nodelint.model.manifest import EC2NodeClass
from nodelint.model.manifest_terms import text
from nodelint.text import Node

_NO_JOIN = "the node never joins the cluster"
_BY_CLOUD_INIT = r"#(?:cloud-|include|part-handler|upstart)|## template"
"""The beginnings of texts that cloud-init reads and that are neither a script nor a MIME archive."""
_MAY_JOIN = (
    r"(?i)bootstrap|nodeadm|kubelet|nodeconfig|curl|wget|\baws\b|s3:|https?:|source\b"
    r"|^[^\S\n]*+\.\s|/opt/|\.sh\b|\.py\b"
)
"""Words of a script that may let a node join in a way that nodelint does not know."""


class CustomUserData(UserData):
    """The user data of a class of the AMI family `Custom`.

    `image` is the AMI family as which the images are built; None if it is not known. `family` is `image`, or else the
    family for which the text is written.
    """

    def __init__(self, node: Node, written: str, image: str | None) -> None:
        super().__init__(node, written, image or _detect_family(written))
        self.image = image

    @cached_property
    def mime(self) -> bool:
        """Return whether the text is a MIME archive of several parts."""
        return self.family != "Bottlerocket" and not self.is_windows and is_mime(self.text)

    @cached_property
    def _archive(self) -> Archive:
        if self.mime:
            return archive(self.text)
        return Archive((Part(self.looks or "shell", 0, len(self.text)),), ())

    def planned(self) -> Iterator[KubeletSetting]:
        """Yield the kubelet settings in the user data that Karpenter needs for its plans: `spec.kubelet` must state
        them as well.
        """
        names = table("nodeconfig")["planned"]
        yield from (setting for setting in self.settings() if setting.name in names)
        for part in self.parts:
            if part.kind in ("shell", "plain"):
                yield from found_in.of_flags(self.text, part.start, part.end)

    def joining(self) -> Iterator[tuple[int, int]]:
        """Yield the ranges of text that name the cluster to join: calls of a bootstrap program, fields of NodeConfig
        and TOML.
        """
        for call in self.calls():
            yield call.start, call.end
        for part, root in self._node_configs():
            cluster = root.find("spec", "cluster") if root is not None else None
            for entry in cluster.entries if cluster is not None else ():
                yield part.start + entry.value.start, part.start + entry.value.end
        settings = self.toml.get("settings") if self.toml is not None else None
        for key in table("nodeconfig")["bottlerocketJoins"] if isinstance(settings, dict) else ():
            if key in _kubernetes(settings):
                start, _ = found_in.find_key(self.text, ("settings", "kubernetes", key))
                yield start, end_of_line(self.text, start)

    def faults(self) -> list[UserDataProblem]:
        """Return the reasons why the node cannot join: those of the first kind that has any."""
        return list(self._for_another()) or list(self._unread()) or list(self._joins_nowhere())

    def _for_another(self) -> Iterator[UserDataProblem]:
        """Yield the parts that are written for images of another AMI family."""
        if self.image is None:
            return
        whole = {"Bottlerocket": "toml"}.get(self.image, "powershell" if self.is_windows else None)
        kind = "mime" if is_mime(self.text) else self.looks
        first = first_line(self, Part("plain", 0, len(self.text)))
        if kind is not None and (kind != whole if whole else kind in ("toml", "powershell")):
            what = "a MIME archive" if kind == "mime" else WORDS[kind]
            message = f"the image is {self.image}, which cannot read {what}"
            yield UserDataProblem(*first, message, _NO_JOIN, help=_for_image(self.image))
            return
        if self.is_windows and kind is None and not re.search(r"(?i)<script>", self.text):
            message = "PowerShell without `<powershell>` around it: the image does not run it"
            yield UserDataProblem(*first, message, _NO_JOIN, help="Karpenter adds no tags for the family Custom")
            return
        lacks = {"AL2": ("nodeadm", "nodeconfig"), "AL2023": ("bootstrap.sh", "")}.get(self.image)
        if lacks is None:
            return
        program, part_kind = lacks
        note, way = _NO_JOIN, _for_image(self.image)
        if self.image == "AL2023" and self._node_configs():
            note, way = "what it sets is lost", "remove the call, and set the same in the NodeConfig"
        for part in self.parts:
            if part.kind == part_kind:
                message = f"the image has no {program} to read a NodeConfig"
                yield UserDataProblem(*first_line(self, part), message, note, help=way)
        for call in self.calls():
            if call.program == program:
                end = end_of_line(self.text, call.start)
                yield UserDataProblem(call.start, end, f"the image has no {program}: the call fails", note, help=way)

    def _unread(self) -> Iterator[UserDataProblem]:
        """Yield the parts that cloud-init, nodeadm or Bottlerocket cannot read."""
        by_nodeadm = "application/node.eks.aws" in self.text
        for problem in self.broken():
            if by_nodeadm or not problem.lenient:
                yield problem._replace(note=_NO_JOIN if "Karpenter" in (problem.note or "") else problem.note)
        for part in self.parts if self.mime else ():
            if part.kind == "shell":
                yield from unrunnable(self, part)
        body = self.text.lstrip()
        if self.mime or self.looks is not None or re.match(_BY_CLOUD_INIT, body):
            return
        if self.family in ("AL2", "AL2023") and any(self.calls()) and not body.startswith("#!"):
            yield from unrunnable(self, self.parts[0])

    def _joins_nowhere(self) -> Iterator[UserDataProblem]:
        """Yield a problem if the user data names no cluster, and the image does not join by itself."""
        configs = self._node_configs()
        if self.family == "AL2023" and configs:
            if all(root is not None for _, root in configs) and "nodeadm.d" not in self.text:
                yield from self._without_cluster([(part, root) for part, root in configs if root is not None])
        elif self.family == "Bottlerocket":
            settings = self.toml.get("settings") if self.toml is not None else None
            lacking = [key for key in table("nodeconfig")["bottlerocketJoins"] if key not in _kubernetes(settings)]
            if isinstance(settings, dict) and lacking:
                at = found_in.find_key(self.text, ("settings", "kubernetes"))
                message = f"settings.kubernetes lacks `{'`, `'.join(lacking)}`"
                yield UserDataProblem(*at, message, _NO_JOIN, help="Karpenter adds nothing for the family Custom")
        elif (
            self.image in ("AL2", "AL2023")
            and {part.kind for part in self.parts} == {"shell"}
            and not re.search(_MAY_JOIN, self.text, re.MULTILINE)
        ):
            message = f"nothing in the userData joins a node with the {self.image} image to a cluster"
            yield UserDataProblem(
                *first_line(self, self.parts[0]), message, _NO_JOIN, help=_describe_remedy(self.image)
            )

    def _without_cluster(self, configs: list[tuple[Part, Node]]) -> Iterator[UserDataProblem]:
        stated_keys = {key for _, root in configs for key in _keys(root.find("spec", "cluster"))}
        lacking = [key for key in table("nodeconfig")["joins"] if key not in stated_keys]
        part, root = configs[0]
        if lacking and None not in stated_keys:
            spec = root.get("spec")
            at = spec.key("cluster") if spec is not None else None
            start, end = first_line(self, part) if at is None else (part.start + at.start, part.start + at.end)
            message = f"no NodeConfig sets spec.cluster.{lacking[0]}: nodeadm refuses to start"
            more = f"it lacks {', '.join(lacking)}; Karpenter adds nothing for the family Custom"
            yield UserDataProblem(start, end, message, _NO_JOIN, help=more)

    def _node_configs(self) -> list[tuple[Part, Node | None]]:
        return [(part, self.root(part)) for part in self.parts if part.kind == "nodeconfig"]


def read_custom(node_class: EC2NodeClass, image: str | None) -> CustomUserData | None:
    """Return the user data of a class of the family `Custom`, with the AMI family as which its images are built.

    None for other families, without user data, for a placeholder, and for a text longer than `LONGEST`.
    """
    node = node_class.node.find("spec", "userData")
    written = text(node)
    if node_class.ami_family != "Custom" or node is None or not isinstance(written, str) or not written.strip():
        return None
    if len(written) > LONGEST:
        return None
    return CustomUserData(node, written, image)


def _detect_family(written: str) -> str:
    """Return the AMI family for which a text is written. Empty if it is not known."""
    if re.search(found_in.TOML_HEAD, written):
        return "Bottlerocket"
    if "<powershell>" in written.lower():
        return "Windows2022"
    if re.search(found_in.NODECONFIG_HEAD, written):
        return "AL2023"
    return "AL2" if any(found_in.calls(written, 0, len(written))) else ""


def _for_image(image: str) -> str:
    return f"write the userData for {image}, or select images of the family that this userData is for"


def _describe_remedy(image: str) -> str:
    return f"set amiFamily to {image}, for which Karpenter adds what is missing, or add the bootstrap call"


def _kubernetes(settings: object) -> dict[str, object]:
    found = settings.get("kubernetes") if isinstance(settings, dict) else None
    return found if isinstance(found, dict) else {}


def _keys(cluster: Node | None) -> list[str | None]:
    """Return the keys of a cluster's mapping that have a value. A None is in the list if a key or the whole mapping
    is a placeholder.
    """
    if cluster is not None and cluster.kind != "mapping" and cluster.value is not None:
        return [None]
    entries = cluster.entries if cluster is not None else ()
    return [entry.name for entry in entries if entry.value.value not in (None, "")]
