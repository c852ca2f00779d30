"""What an object says it is: its apiVersion and kind, also where a template writes them."""

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
"""The kinds that the CRDs of any release of Karpenter for AWS have, up to 1.14.1."""


class Identity(NamedTuple):
    """The node that holds an object, with its apiVersion and kind; None for what is not a known text.

    `instead` is the apiVersion of another branch of a template that is judged in the place of this one.
    """

    node: Node
    api_version: str | None
    kind: str | None
    instead: str | None = None


def identities(node: Node) -> Iterator[Identity]:
    """Yield the objects that a mapping writes: one, or one for each branch of a template that parts whole objects.

    Where a template chooses between versions, or fills one in, that is v1, which every release serves that is known.
    """
    parts = _branches(node)
    stated = [Identity(part, _api_version(part), _text(part.get("kind"))) for part in parts]
    served = next((identity for identity in stated if (identity.api_version or "").endswith("/v1")), None)
    for identity in stated:
        other = served is not None and identity is not served and identity.kind in (served.kind, *_BEFORE)
        yield identity._replace(instead=served.api_version) if other and served is not None else identity


_BEFORE = ("Provisioner", "AWSNodeTemplate")
"""Kinds that stand in the branch of an old release beside one of today."""


def _branches(node: Node) -> list[Node]:
    """Return the mapping itself, or one for each branch; where only apiVersion is written more than once, one with
    v1's.
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
    """Whether each branch states a kind, and no two the same one."""
    kinds = [next((_text(entry.value) for entry in part if entry.name == "kind"), None) for part in parts]
    return None not in kinds and len(set(kinds)) == len(kinds)


def _api_version(node: Node) -> str | None:
    """Return the apiVersion of an object; v1 where a template fills it in."""
    written = node.get("apiVersion")
    kind = _text(node.get("kind"))
    if written is None or written.value is not UNKNOWN or kind not in GROUPS:
        return _text(written)
    group, slash, _ = written.unquoted.strip("\"'").rpartition("/")
    if slash and "{" not in group and "$" not in group and group != GROUPS[kind]:
        return None  # another API has a kind of that name
    if kind == "NodePool" and node.find("spec", "template", "spec") is None:
        return None
    return f"{GROUPS[kind]}/v1"


def _text(node: Node | None) -> str | None:
    return node.value if node is not None and isinstance(node.value, str) else None
