"""The names that a rule imports: objects, facts about them, and types for findings.

The rules in `rules/` use nothing else, and your own rules need nothing else. These names and their documented
behaviour do not change within a major version; everything else in the package may change.

| name | what it is |
| --- | --- |
| `rule` | the decorator for the function of a rule file |
| `Context` | facts besides the rule's object: release, AWS facts, resolution, schema, other objects |
| `Finding`, `Also`, `Edit`, `Span`, `Skip`, `Suggestion` | the values that a rule yields, and their parts |
| `Findings`, `Group`, `Severity`, `Safety` | types for annotations |
| `NodePool`, `EC2NodeClass`, `Object`, `RequirementLine` | manifests as typed values, each with its node |
| `EVERY_PROVIDER` | `providers` of a rule that also applies to NodePools of EKS Auto Mode and other providers |
| `RuleCheck`, `run_checks` | several checks about one cause, the most specific one first |
| `Suppression` | a comment that suppresses a rule |
| `objects` | Karpenter's objects in a source |
| `Source`, `Node`, `UNKNOWN`, `scalars` | the text, a YAML value with its place, and the value of a placeholder |
| `edits` | edits in the file's own style: `set_value`, `add_item`, `remove` |
| `fixes` | edits that several rules offer: `require`, `drop`, `pin` |
| `comments` | the texts of comments next to a value |
| `remedies` | suggestions that remove a refused part, if this is enough |
| `pool_suggestions` | changes of requirements after which some instance types match |
| `keys` | label keys by name: `keys.ARCH` |
| `labels` | which label keys and values a release has |
| `pool_requirements`, `taints` | requirements of a NodePool; which components set, remove and tolerate a taint |
| `dummy_values`, `spelling` | placeholders that were left in; the nearest correctly spelled word |
| `messages` | format values and counts for messages |
| `manifest`, `gvk`, `requirement`, `quantities` | more of the model: terms, the algebra, `20Gi` |
| `releases`, `support` | versions, and how long they are supported |
| `TypeSet`, `type_set` | a set of instance types, and the union of several sets |
| `AwsFacts`, `Missing`, `catalog`, `snapshot`, `questions` | facts about EC2, and the questions of Karpenter |
| `type_names` | instance types that the catalogue lacks: newer, sold elsewhere, ended |
| `terraform_blocks` | the texts of a Terraform file's resource and module blocks |
| `terraform_trace` | the resource or module from which a Terraform expression gets its value |
| `missing_sources` | paths in objects of Argo CD, Flux, helmfile and kustomize that the repository does not have |
| `module_folder` | a Terraform folder: its declarations, and the modules that it calls |
| `resource_arguments` | missing and unknown arguments of Terraform resources around Karpenter |
| `cluster_regions` | regions that the files state for the cluster |
| `closed_groups` | security groups of Terraform that shut out the control plane |
| `cluster_access` | Terraform clusters whose creator gets no access |
| `karpenter_calls` | resources that public Terraform modules create for Karpenter, such as roles and access |
| `queue_events` | interruption queues of Terraform that get no events |
| `stack_queues` | interruption queues of CloudFormation that get no events |
| `provider_sources` | the addresses from which Terraform modules get their providers |
| `public_subnets` | public subnets that Terraform gives a tag |
| `spot_groups` | Terraform managed node groups that only use spot capacity |
| `first_nodes` | nodes that Terraform creates for a cluster before Karpenter launches any |
| `role_policies` | policies that Terraform attaches to a role |
| `aws_auth` | the rows of `aws-auth`: the IAM roles that may join a cluster |
| `node_roles` | node roles that Terraform creates, and whether they have access to the cluster |
| `expressions` | CEL in a class's kubelet settings |
| `cluster_objects`, `fit` | workloads, and which NodePool accepts their pods |
| `images`, `selectors`, `resolve` | images that selector terms match, and types that a NodePool can launch |
| `node_overlays` | which NodeOverlays count, and for which offers |
| `budgets` | how many nodes may be disrupted when, over a week |
| `hashes` | the fields that Karpenter compares for drift: `moves_nodes` |
| `userdata` | the user data of a class: its settings, and whether they fit the image family |
| `controller_settings` | how the repository installs the controller, and which values its chart reads |
| `controller_policy`, `iam_statements` | the permissions that the controller needs, and those that policies grant |
| `controller_permissions` | permissions that the controller of a file needs, and the statements that may grant them |
| `apiserver`, `controller`, `convert` | checks of the API server and the controller; conversion of old APIs |

A module is loaded when a rule first uses it. `overlays` is the former name of `node_overlays`: it is deprecated and
will be removed in the next release.
"""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING
from nodelint.model.finding import Also, Edit, Finding, Safety, Severity, Span, Suggestion
from nodelint.model.gap import Findings, Skip
from nodelint.model.manifest import EC2NodeClass, NodePool, Object
from nodelint.model.manifest_terms import RequirementLine
from nodelint.model.providers import EVERY as EVERY_PROVIDER
from nodelint.rule.classification import Group
from nodelint.rule.context import Context
from nodelint.rule.definition import rule
from nodelint.text import UNKNOWN, Node, Source

if TYPE_CHECKING:
    from nodelint import apiserver, convert, edits, fit
    from nodelint.drift import budgets, hashes
    from nodelint.ec2 import catalog, questions, snapshot, type_names, type_set
    from nodelint.ec2.facts import AwsFacts, Missing
    from nodelint.ec2.type_set import TypeSet
    from nodelint.forms.terraform import (
        closed_groups,
        cluster_access,
        first_nodes,
        karpenter_calls,
        module_folder,
        node_roles,
        provider_sources,
        public_subnets,
        queue_events,
        resource_arguments,
        role_policies,
        spot_groups,
        terraform_blocks,
        terraform_trace,
    )
    from nodelint.inventory import missing_sources
    from nodelint.karpenter import (
        controller,
        controller_settings,
        dummy_values,
        images,
        labels,
        node_overlays,
        pool_requirements,
        resolve,
        selectors,
        spelling,
        taints,
        userdata,
    )
    from nodelint.karpenter.controller import expressions
    from nodelint.model import (
        cluster_objects,
        controller_policy,
        gvk,
        iam_statements,
        keys,
        manifest,
        messages,
        quantities,
        releases,
        requirement,
        stack_queues,
        support,
    )
    from nodelint.model.documents import objects
    from nodelint.rule import (
        aws_auth,
        cluster_regions,
        comments,
        controller_permissions,
        fixes,
        pool_suggestions,
        remedies,
    )
    from nodelint.rule.checks import RuleCheck, run_checks
    from nodelint.rule.suppressions import Suppression
    from nodelint.text.yaml import scalars

# -- written by tools/make_api.py
__all__ = [
    "EVERY_PROVIDER",
    "UNKNOWN",
    "Also",
    "AwsFacts",
    "Context",
    "EC2NodeClass",
    "Edit",
    "Finding",
    "Findings",
    "Group",
    "Missing",
    "Node",
    "NodePool",
    "Object",
    "RequirementLine",
    "RuleCheck",
    "Safety",
    "Severity",
    "Skip",
    "Source",
    "Span",
    "Suggestion",
    "Suppression",
    "TypeSet",
    "apiserver",
    "aws_auth",
    "budgets",
    "catalog",
    "closed_groups",
    "cluster_access",
    "cluster_objects",
    "cluster_regions",
    "comments",
    "controller",
    "controller_permissions",
    "controller_policy",
    "controller_settings",
    "convert",
    "dummy_values",
    "edits",
    "expressions",
    "first_nodes",
    "fit",
    "fixes",
    "gvk",
    "hashes",
    "iam_statements",
    "images",
    "karpenter_calls",
    "keys",
    "labels",
    "manifest",
    "messages",
    "missing_sources",
    "module_folder",
    "node_overlays",
    "node_roles",
    "objects",
    "pool_requirements",
    "pool_suggestions",
    "provider_sources",
    "public_subnets",
    "quantities",
    "questions",
    "queue_events",
    "releases",
    "remedies",
    "requirement",
    "resolve",
    "resource_arguments",
    "role_policies",
    "rule",
    "run_checks",
    "scalars",
    "selectors",
    "snapshot",
    "spelling",
    "spot_groups",
    "stack_queues",
    "support",
    "taints",
    "terraform_blocks",
    "terraform_trace",
    "type_names",
    "type_set",
    "userdata",
]

_MODULES = {
    "nodelint": (
        "apiserver",
        "convert",
        "edits",
        "fit",
    ),
    "nodelint.drift": (
        "budgets",
        "hashes",
    ),
    "nodelint.ec2": (
        "catalog",
        "questions",
        "snapshot",
        "type_names",
        "type_set",
    ),
    "nodelint.forms.terraform": (
        "closed_groups",
        "cluster_access",
        "first_nodes",
        "karpenter_calls",
        "module_folder",
        "node_roles",
        "provider_sources",
        "public_subnets",
        "queue_events",
        "resource_arguments",
        "role_policies",
        "spot_groups",
        "terraform_blocks",
        "terraform_trace",
    ),
    "nodelint.inventory": ("missing_sources",),
    "nodelint.karpenter": (
        "controller",
        "controller_settings",
        "dummy_values",
        "images",
        "labels",
        "node_overlays",
        "pool_requirements",
        "resolve",
        "selectors",
        "spelling",
        "taints",
        "userdata",
    ),
    "nodelint.karpenter.controller": ("expressions",),
    "nodelint.model": (
        "cluster_objects",
        "controller_policy",
        "gvk",
        "iam_statements",
        "keys",
        "manifest",
        "messages",
        "quantities",
        "releases",
        "requirement",
        "stack_queues",
        "support",
    ),
    "nodelint.rule": (
        "aws_auth",
        "cluster_regions",
        "comments",
        "controller_permissions",
        "fixes",
        "pool_suggestions",
        "remedies",
    ),
    "nodelint.text.yaml": ("scalars",),
}
_NAMES = {
    "nodelint.ec2.facts": (
        "AwsFacts",
        "Missing",
    ),
    "nodelint.ec2.type_set": ("TypeSet",),
    "nodelint.model.documents": ("objects",),
    "nodelint.rule.checks": (
        "RuleCheck",
        "run_checks",
    ),
    "nodelint.rule.suppressions": ("Suppression",),
}
# -- end of what is written
"""The modules and names that are imported when a rule first uses them. Type checkers read the imports above."""

_FORMER = {"overlays": "node_overlays"}
"""Deprecated names, each with its replacement."""


class _Module:
    """A module that is loaded at the first use of an attribute, because most rules find nothing to check."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __getattr__(self, name: str) -> object:
        found: object = getattr(self._load(), name)
        setattr(self, name, found)
        return found

    def __dir__(self) -> list[str]:
        return dir(self._load())

    def __repr__(self) -> str:
        return repr(self._load())

    def _load(self) -> object:
        from importlib import import_module

        return import_module(self._path)


if not TYPE_CHECKING:  # for a checker every name would be one of the API

    def __getattr__(name: str) -> object:
        """Return a name of the API, loaded at its first use. Raise AttributeError for an unknown name."""
        name = _FORMER.get(name, name)
        for package, modules in _MODULES.items():
            if name in modules:
                return globals().setdefault(name, _Module(f"{package}.{name}"))
        for module, names in _NAMES.items():
            if name in names:
                from importlib import import_module

                return getattr(import_module(module), name)
        raise AttributeError(f"nodelint.api has no `{name}`; it has {', '.join(__all__)}")
