"""The classification of rules: group, subject, profile, and tags for the code that runs them."""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Literal

    Group = Literal["correctness", "hazard", "practice"]
    """The kind of problem that a rule reports.

    - `correctness`: the object is refused, never ready, cannot launch, or part of it is silently dropped.
    - `hazard`: the object works, but can cause cost, an outage, a security problem or a surprise.
    - `practice`: a decision that a careful team makes once.
    """
    Tag = Literal[
        "names",
        "class-reference",
        "template-code",
        "installation",
        "admission",
        "release-dependent",
        "controller",
        "stated-release",
        "workloads",
        "demanding-workloads",
        "all-workloads",
        "retired-api",
        "syntax",
        "ended-image",
        "root-module",
        "terraform",
    ]
    """A property of a rule that the code which runs rules needs: see `TAGS`."""
else:
    Group = Tag = str


GROUPS: tuple[Group, ...] = ("correctness", "hazard", "practice")
SUBJECTS: dict[str, str] = {
    "objects": "Fields, names and API versions: what the API server and the controller take.",
    "requirements": "Labels and values of requirements, and the instance types that they allow.",
    "instance types": "Families, sizes and architectures that a pool can launch.",
    "GPUs": "GPUs and other accelerators: types, images, taints.",
    "images": "Image families, aliases and selectors, and the images that they find.",
    "disks": "Volumes of a class, and local disks of its types.",
    "network": "Subnets, security groups and the metadata service.",
    "user data": "What nodes run when they start.",
    "kubelet": "Kubelet settings, and the room that they leave for pods.",
    "disruption": "Budgets, consolidation, expiry and drift.",
    "spot": "Capacity types and reservations.",
    "pools": "Limits, weights, taints and labels, and how several pools share the pods.",
    "security": "Access to nodes, and the permissions of nodes.",
    "templates": "Charts, Kustomize and Terraform that make the objects.",
    "migration": "Old APIs, and what releases of Karpenter and Kubernetes require.",
}
"""The subjects of rules by name, each with a description."""
PROFILES: dict[str, frozenset[Group]] = {
    "minimal": frozenset({"correctness"}),
    "default": frozenset({"correctness", "hazard"}),
    "strict": frozenset(GROUPS),
}
"""The groups of rules that a profile runs, by the name of the profile."""
FIRST_VERSION = "0.1.0"
"""The first version of nodelint. A later rule states in `since` the version that introduced it."""
TAGS: dict[Tag, str] = {
    "names": "judges names, which the user of a chart chooses",
    "class-reference": "judges a reference to a class that is not in the run",
    "template-code": "judges the code of a template before it is rendered",
    "installation": "judges installations of the controller, which it finds itself",
    "admission": "judges what the API server or the controller refuses: an unknown release may accept it",
    "release-dependent": "judges what one release refuses and another may accept",
    "controller": "judges what the controller does, which is not known for releases before 1.0.0",
    "stated-release": "judges the release that a file states, and reports that line",
    "workloads": "judges workloads",
    "demanding-workloads": "needs only those workloads that request more than a little",
    "all-workloads": "needs all workloads of a repository",
    "retired-api": "asks to convert an object of a removed API",
    "syntax": "reports a file that cannot be parsed",
    "ended-image": "reports images that get no more fixes",
    "root-module": "needs all files of the Terraform root modules with Karpenter, also those that do not name it",
    "terraform": "reports nothing in a run without Terraform files, and is not loaded there",
}
"""The tags of rules, each with a description: properties that the code which runs rules needs, in addition to the
group.
"""
