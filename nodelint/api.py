"""What a rule imports: the objects that it judges, what it may ask, and what it says.

This is all that the rules in `rules/` use, and all that a rule of your own needs. The names here, and what their
docstrings say, stay as they are within a major version; everything else in the package may move.

| name | what it is |
| --- | --- |
| `rule` | marks the function of a rule file |
| `Context` | what a rule may ask beside its object: release, facts, resolution, schema, other objects |
| `Finding`, `Also`, `Edit`, `Span`, `Skip`, `Suggestion` | what a rule yields, and what these consist of |
| `Findings`, `Group`, `Severity`, `Safety` | types for annotations |
| `NodePool`, `EC2NodeClass`, `Object`, `RequirementLine` | manifests as typed values, each with its node |
| `EVERY_PROVIDER` | `providers` of a rule that holds for NodePools of Auto Mode and of other providers too |
| `RuleCheck`, `run_checks` | several checks about one cause, the one that knows most first |
| `Suppression` | a comment that silences a rule |
| `objects` | Karpenter's objects in a source |
| `Source`, `Node`, `UNKNOWN`, `scalars` | the text, a YAML value with its place, and the value of a placeholder |
| `edits` | edits in the file's own style: `set_value`, `add_item`, `remove` |
| `fixes` | edits that several rules offer: `require`, `drop`, `pin` |
| `remedies` | ways out by name: what is refused taken away, where that settles it |
| `keys` | label keys by name: `keys.ARCH` |
| `labels` | which label keys and values a release has |
| `pool_requirements`, `taints` | what a pool asks of nodes; who sets, removes and tolerates a taint |
| `dummy_values`, `spelling` | values that a person was to replace; words a slip apart |
| `messages` | values and counts as messages name them |
| `manifest`, `gvk`, `requirement`, `quantities` | more of the model: terms, the algebra, `20Gi` |
| `releases`, `support` | versions, and how long they are supported |
| `TypeSet`, `type_set` | a set of instance types, and what makes one of several |
| `AwsFacts`, `Missing`, `catalog`, `snapshot`, `questions` | facts about EC2, and what Karpenter asks |
| `type_names` | instance types that the catalogue lacks: newer, sold elsewhere, ended |
| `terraform_blocks` | resources and modules of a Terraform file, as texts |
| `terraform_trace` | which resource or module an expression of Terraform comes from |
| `missing_sources` | what Applications of Argo CD name and the repository does not have |
| `module_folder` | a folder of Terraform: what it declares, and the modules that it calls |
| `karpenter_calls` | what calls of public modules of Terraform make for Karpenter: roles, access, associations |
| `role_policies` | policies that Terraform attaches to a role |
| `node_roles` | roles of nodes that Terraform creates, and whether something gives them access to the cluster |
| `expressions` | CEL in a class's kubelet settings |
| `cluster_objects`, `fit` | workloads, and which NodePool takes their pods |
| `images`, `selectors`, `resolve` | what terms find, and what a pool can launch |
| `node_overlays` | which NodeOverlays count, and for which offers |
| `budgets` | how many nodes may be disrupted when, over a week |
| `hashes` | which fields Karpenter compares running nodes by: `moves_nodes` |
| `userdata` | the user data of a class: what in it fits the image family, and what it sets |
| `controller_settings` | how the repository installs the controller, and which values its chart reads |
| `controller_policy`, `iam_statements` | what the controller needs to be allowed, and what policies allow |
| `controller_permissions` | what the controller beside a file needs, and which statements of a run may allow it |
| `apiserver`, `controller`, `convert` | what the API server and the controller say of an object; old APIs made v1 |

Modules are loaded when a rule first uses something of them. `overlays` is the former name of `node_overlays`: it is
deprecated, and the next release is without it.
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
    from nodelint.forms.argocd import missing_sources
    from nodelint.forms.terraform import (
        karpenter_calls,
        module_folder,
        node_roles,
        role_policies,
        terraform_blocks,
        terraform_trace,
    )
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
        support,
    )
    from nodelint.model.documents import objects
    from nodelint.rule import controller_permissions, fixes, remedies
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
    "budgets",
    "catalog",
    "cluster_objects",
    "controller",
    "controller_permissions",
    "controller_policy",
    "controller_settings",
    "convert",
    "dummy_values",
    "edits",
    "expressions",
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
    "quantities",
    "questions",
    "releases",
    "remedies",
    "requirement",
    "resolve",
    "role_policies",
    "rule",
    "run_checks",
    "scalars",
    "selectors",
    "snapshot",
    "spelling",
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
    "nodelint.forms.argocd": ("missing_sources",),
    "nodelint.forms.terraform": (
        "karpenter_calls",
        "module_folder",
        "node_roles",
        "role_policies",
        "terraform_blocks",
        "terraform_trace",
    ),
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
        "support",
    ),
    "nodelint.rule": (
        "controller_permissions",
        "fixes",
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
"""Where the modules and names are that are loaded when a rule first uses them; checkers read the imports above."""

_FORMER = {"overlays": "node_overlays"}
"""Deprecated names, each with the one that took its place."""


class _Module:
    """A module that is loaded when a rule first uses something of it: most rules find nothing to look at."""

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
        """Return what is loaded only when it is used. Raise AttributeError for a name that the API has not."""
        name = _FORMER.get(name, name)
        for package, modules in _MODULES.items():
            if name in modules:
                return globals().setdefault(name, _Module(f"{package}.{name}"))
        for module, names in _NAMES.items():
            if name in names:
                from importlib import import_module

                return getattr(import_module(module), name)
        raise AttributeError(f"nodelint.api has no `{name}`; it has {', '.join(__all__)}")
