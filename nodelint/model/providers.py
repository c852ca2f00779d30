"""Decide whose NodePool an object is: Karpenter's for AWS, EKS Auto Mode's, or another provider's."""

from __future__ import annotations

from collections.abc import Sequence

from nodelint.base.types import TYPE_CHECKING
from nodelint.model.gvk import AUTO_MODE_GROUP, AWS_GROUP, CLASS_KIND, CORE_GROUP
from nodelint.text import UnknownValue

if TYPE_CHECKING:
    from typing import Literal

    Provider = Literal["aws", "auto-mode", "other"]
    """The provider of a pool or class: `aws` is Karpenter for AWS. It is also used if the provider is not clear."""
else:
    Provider = str

EVERY: tuple[Provider, ...] = ("aws", "auto-mode", "other")

_LABELS: dict[str, Provider] = {
    f"{AUTO_MODE_GROUP}/": "auto-mode",
    "karpenter.azure.com/": "other",
    "karpenter.k8s.gcp/": "other",
}

_EC2_GROUPS = ("karpenter.hypershift.openshift.io",)
"""Groups of other providers' classes whose nodes are EC2 instances with the labels of Karpenter for AWS.

OpenShift's AutoNode has `OpenshiftEC2NodeClass` (github.com/openshift/hypershift, karpenter-operator).
"""

_Text = str | UnknownValue | None


def by_class(group: _Text, kind: _Text) -> Provider:
    """Return the provider of a nodeClassRef with this group and kind.

    The API server refuses an empty group or kind, so an empty one is a mistake and not another provider.
    """
    if not isinstance(group, str) or not isinstance(kind, str) or not (group and kind):
        return "aws"
    name = group.partition("/")[0]
    if name == AUTO_MODE_GROUP:
        return "auto-mode"
    return "aws" if name == AWS_GROUP or kind == CLASS_KIND else "other"


def is_of_ec2(group: _Text, keys: Sequence[str]) -> bool:
    """Return whether another provider's class launches EC2 instances, by its group or by the label keys of a pool."""
    return group in _EC2_GROUPS or any(key.startswith(f"{AWS_GROUP}/") for key in keys)


def by_labels(keys: Sequence[str]) -> Provider:
    """Return the provider whose labels are used. If a label of Karpenter for AWS is among them, it is `aws`."""
    if any(key.startswith(AWS_GROUP) for key in keys):
        return "aws"
    return next((whose for key in keys for start, whose in _LABELS.items() if key.startswith(start)), "aws")


def karpenters_key(key: str, provider: Provider) -> str:
    """Return the label of Karpenter for AWS that corresponds to a key of another provider. Other keys stay unchanged.

    Auto Mode's instance types have Karpenter's labels under Auto Mode's domain, with the same values:
    `eks.amazonaws.com/instance-family`.
    """
    start, _, name = key.partition("/")
    of_types = provider == "auto-mode" and start == AUTO_MODE_GROUP and name.startswith("instance-")
    return f"{AWS_GROUP}/{name}" if of_types else key


def providers_key(key: str, provider: Provider) -> str:
    """Return the provider's own key for a `karpenter.k8s.aws/` label. Other keys stay unchanged.

    For EKS Auto Mode it is, for example, `eks.amazonaws.com/instance-family`.
    """
    start, _, name = key.partition("/")
    of_types = provider == "auto-mode" and start == AWS_GROUP and name.startswith("instance-")
    return f"{AUTO_MODE_GROUP}/{name}" if of_types else key


def judged_in_part(provider: Provider, kind: _Text, version: _Text, of_ec2: bool = False) -> str:
    """Return the note on a NodePool of another provider, for which nodelint judges only what is common to all.

    `version` is the version of its API: nothing is known about old versions of other providers. `of_ec2`: its
    instance types are those of EC2.
    """
    named = f" (`{kind}`)" if isinstance(kind, str) and kind else ""
    if provider == "auto-mode":
        return "a NodePool of EKS Auto Mode, of whose controller AWS publishes neither images nor hashes"
    judged = "its schema, requirements, budgets and taints are judged, and no instance types"
    if of_ec2:
        judged = "its schema, requirements, budgets, taints and instance types are judged, and its class is not"
    if version != "v1":
        judged = f"its API `{version}` is an old one, of which nothing is judged"
    return f"a NodePool of another provider{named}: {judged}"


def why_not_judged(kind: str, group: str) -> str | None:
    """Return why an object of a related kind is not judged.

    None if the kind has nothing to do with Karpenter for AWS.
    """
    if kind.endswith("NodeClass") and "karpenter" in group and group != AWS_GROUP:
        return f"a class of another provider (`{group}`) is not judged"
    if group in (CORE_GROUP, AWS_GROUP):
        return f"{'an' if kind[:1] in 'AEIOU' else 'a'} {kind} is not judged"
    return None
