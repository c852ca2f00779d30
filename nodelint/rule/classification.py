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
    "names": "about names, which whoever installs a chart gives",
    "class-reference": "about a pool's class that is not among the objects",
    "template-code": "about the code of a template, which is judged before it is filled in",
    "installation": "about the installation of the controller, which it reads itself with all that changes it",
    "admission": "about what an API server or a controller takes: a newer release may take more than is known here",
    "release-dependent": "about what a release refuses, and another may take",
    "controller": "about what the controller does: of one before 1.0.0 nodelint does not know it",
    "stated-release": "about a release that a file states: the finding stands there",
    "workloads": "looks at workloads",
    "demanding-workloads": "looks at the workloads that ask for more than a little",
    "all-workloads": "looks at all workloads of a repository",
    "retired-api": "asks to convert an object of an API that is gone",
    "syntax": "about a file that cannot be read",
    "ended-image": "about images that get no fixes any more",
    "root-module": "looks at all files of the Terraform root modules with Karpenter, also if they do not name it",
    "terraform": "says nothing in a run without Terraform files, where its file is not loaded",
}
"""The tags of rules, each with a description: properties that the code which runs rules needs, in addition to the
group.
"""
