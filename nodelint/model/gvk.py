"""Read the apiVersion and kind of an object, also if a template writes them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from nodelint.base.tuples import NamedTuple
from nodelint.text import UNKNOWN, Node
from nodelint.text.nodes import MappingEntry

CORE_GROUP = "karpenter.sh"
AWS_GROUP = "karpenter.k8s.aws"
CLASS_KIND = "EC2NodeClass"
OVERLAY_KIND, OVERLAY_API = "NodeOverlay", f"{CORE_GROUP}/v1alpha1"
AUTO_MODE_GROUP, AUTO_MODE_KIND = "eks.amazonaws.com", "NodeClass"
BUFFER_KIND, BUFFER_API = "CapacityBuffer", "autoscaling.x-k8s.io/v1beta1"
GROUPS = {"NodePool": CORE_GROUP, CLASS_KIND: AWS_GROUP}
"""The API group of each kind that releases from 1.0.0 on serve."""

EVER_SERVED = frozenset(
    {*GROUPS, OVERLAY_KIND, "NodeClaim", "Machine", "Provisioner", "AWSNodeTemplate", BUFFER_KIND}
)
"""The kinds in the CRDs of any release of Karpenter for AWS, up to 1.14.1."""


def is_other_kind(kind: str) -> bool:
    """Return whether a patch for a kind changes no object of Karpenter. False for a pattern, and if it names none."""
    return kind.isalnum() and kind not in EVER_SERVED and kind != AUTO_MODE_KIND


class Identity(NamedTuple):
    """The node of an object, with its apiVersion and kind (None if missing or not a string).

    `instead` is the apiVersion of another template branch, which is judged in place of this one.
    """

    node: Node
    api_version: str | None
    kind: str | None
    instead: str | None = None


def identities(node: Node) -> Iterator[Identity]:
    """Yield the objects that a mapping writes: one, or one for each template branch with a whole object.

    If a template chooses between versions, or fills one in, it is v1: every known release serves it.
    """
    parts = _branches(node)
    stated = [Identity(part, _api_version(part), _text(part.get("kind"))) for part in parts]
    served = next((identity for identity in stated if (identity.api_version or "").endswith("/v1")), None)
    for identity in stated:
        other = served is not None and identity is not served and identity.kind in (served.kind, *_BEFORE)
        yield identity._replace(instead=served.api_version) if other and served is not None else identity


_BEFORE = ("Provisioner", "AWSNodeTemplate")
"""Kinds of old releases, which may be in a branch next to today's kinds."""


def _branches(node: Node) -> list[Node]:
    """Return the mapping itself, or one mapping for each branch.

    If only apiVersion is repeated, return one mapping with the v1 apiVersion.
    """
    starts = [n for n, entry in enumerate(node.entries) if entry.name == "apiVersion"]
    if len(starts) < 2:
        return [node]
    parts = [node.entries[a:b] for a, b in pairwise([*starts, len(node.entries)])]
    names = [{entry.name for entry in part} for part in parts]
    if starts[0] or not (all({"kind", "spec"} <= own for own in names) or _have_kinds_of_their_own(parts)):
        chosen = next((n for n in starts if (_text(node.entries[n].value) or "").endswith("/v1")), starts[0])
        parts = [[entry for n, entry in enumerate(node.entries) if n not in starts or n == chosen]]
    found = []
    for part in parts:
        branch = Node(node.source, part[0].key.start, part[-1].value.end, "mapping", node.style)
        branch.entries, branch.parent = part, node.parent
        found.append(branch)
    return found


def _have_kinds_of_their_own(parts: list[list[MappingEntry]]) -> bool:
    """Return whether each branch states a kind, and all are different."""
    kinds = [next((_text(entry.value) for entry in part if entry.name == "kind"), None) for part in parts]
    return None not in kinds and len(set(kinds)) == len(kinds)


def _api_version(node: Node) -> str | None:
    """Return the apiVersion of an object; v1 if a template fills it in. None if it is unknown."""
    written = node.get("apiVersion")
    kind = _text(node.get("kind"))
    if written is None or written.value is not UNKNOWN or kind not in GROUPS:
        return _text(written)
    group, slash, _ = written.unquoted.strip("\"'").rpartition("/")
    if slash and "{" not in group and "$" not in group and group != GROUPS[kind]:
        return None  # another API has a kind with this name
    if kind == "NodePool" and node.find("spec", "template", "spec") is None:
        return None
    return f"{GROUPS[kind]}/v1"


def _text(node: Node | None) -> str | None:
    return node.value if node is not None and isinstance(node.value, str) else None
