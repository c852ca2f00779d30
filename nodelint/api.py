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
| `messages` | values and counts as messages name them |
| `manifest`, `requirement`, `quantities` | more of the model: terms, the algebra, `20Gi` |
| `releases`, `support` | versions, and how long they are supported |
| `TypeSet`, `type_set` | a set of instance types, and what makes one of several |
| `AwsFacts`, `Missing`, `catalog`, `snapshot`, `questions` | facts about EC2, and what Karpenter asks |
| `expressions` | CEL in a class's kubelet settings |
| `cluster_objects`, `fit` | workloads, and which NodePool takes their pods |
| `images`, `selectors`, `resolve` | what terms find, and what a pool can launch |
| `overlays` | which NodeOverlays count, and for which offers |
| `budgets` | how many nodes may be disrupted when, over a week |
| `hashes` | which fields Karpenter compares running nodes by: `moves_nodes` |
| `userdata` | the user data of a class: what in it fits the image family, and what it sets |
| `apiserver`, `controller`, `convert` | what the API server and the controller say of an object; old APIs made v1 |

Modules are loaded when a rule first uses something of them.
"""

from __future__ import annotations

from nodelint.lint.context import Context
from nodelint.lint.rule import Group, rule
from nodelint.model.finding import Also, Edit, Finding, Findings, Safety, Severity, Skip, Span, Suggestion
from nodelint.model.manifest import EC2NodeClass, NodePool, Object, RequirementLine
from nodelint.model.providers import EVERY as EVERY_PROVIDER
from nodelint.source import UNKNOWN, Node, Source

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from nodelint import apiserver as apiserver
    from nodelint import edits as edits
    from nodelint import fit as fit
    from nodelint.drift import budgets as budgets
    from nodelint.ec2 import catalog as catalog
    from nodelint.ec2 import questions as questions
    from nodelint.ec2 import snapshot as snapshot
    from nodelint.ec2 import type_set as type_set
    from nodelint.ec2.facts import AwsFacts as AwsFacts
    from nodelint.ec2.facts import Missing as Missing
    from nodelint.ec2.type_set import TypeSet as TypeSet
    from nodelint.karpenter import controller as controller
    from nodelint.karpenter import convert as convert
    from nodelint.karpenter import images as images
    from nodelint.karpenter import labels as labels
    from nodelint.karpenter import overlays as overlays
    from nodelint.karpenter import resolve as resolve
    from nodelint.karpenter import selectors as selectors
    from nodelint.karpenter import userdata as userdata
    from nodelint.karpenter.controller import expressions as expressions
    from nodelint.lint import fixes as fixes
    from nodelint.lint import remedies as remedies
    from nodelint.lint.checks import RuleCheck as RuleCheck
    from nodelint.lint.checks import run_checks as run_checks
    from nodelint.lint.suppressions import Suppression as Suppression
    from nodelint.model import cluster_objects as cluster_objects
    from nodelint.model import keys as keys
    from nodelint.model import manifest as manifest
    from nodelint.model import messages as messages
    from nodelint.model import quantities as quantities
    from nodelint.model import releases as releases
    from nodelint.model import requirement as requirement
    from nodelint.model import support as support
    from nodelint.model.documents import objects as objects
    from nodelint.source.yaml import scalars as scalars

_MODULES = {
    "apiserver": "nodelint.apiserver",
    "budgets": "nodelint.drift.budgets",
    "catalog": "nodelint.ec2.catalog",
    "cluster_objects": "nodelint.model.cluster_objects",
    "controller": "nodelint.karpenter.controller",
    "convert": "nodelint.karpenter.convert",
    "edits": "nodelint.edits",
    "expressions": "nodelint.karpenter.controller.expressions",
    "fit": "nodelint.fit",
    "fixes": "nodelint.lint.fixes",
    "hashes": "nodelint.drift.hashes",
    "images": "nodelint.karpenter.images",
    "keys": "nodelint.model.keys",
    "labels": "nodelint.karpenter.labels",
    "manifest": "nodelint.model.manifest",
    "messages": "nodelint.model.messages",
    "overlays": "nodelint.karpenter.overlays",
    "quantities": "nodelint.model.quantities",
    "questions": "nodelint.ec2.questions",
    "releases": "nodelint.model.releases",
    "remedies": "nodelint.lint.remedies",
    "requirement": "nodelint.model.requirement",
    "support": "nodelint.model.support",
    "resolve": "nodelint.karpenter.resolve",
    "scalars": "nodelint.source.yaml.scalars",
    "selectors": "nodelint.karpenter.selectors",
    "snapshot": "nodelint.ec2.snapshot",
    "type_set": "nodelint.ec2.type_set",
    "userdata": "nodelint.karpenter.userdata",
}
_LATER = {
    "AwsFacts": "nodelint.ec2.facts",
    "RuleCheck": "nodelint.lint.checks",
    "Missing": "nodelint.ec2.facts",
    "Suppression": "nodelint.lint.suppressions",
    "TypeSet": "nodelint.ec2.type_set",
    "run_checks": "nodelint.lint.checks",
    "objects": "nodelint.model.documents",
}

__all__ = [
    "EVERY_PROVIDER",
    "UNKNOWN",
    "Also",
    "Context",
    "EC2NodeClass",
    "Edit",
    "Finding",
    "Findings",
    "Group",
    "Node",
    "NodePool",
    "Object",
    "RequirementLine",
    "Safety",
    "Severity",
    "Skip",
    "Source",
    "Span",
    "Suggestion",
    "rule",
    *_LATER,
    *_MODULES,
]


class _Module:
    """A module that is loaded when a rule first uses something of it: most rules find nothing to look at."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __getattr__(self, name: str) -> Any:
        from importlib import import_module

        found = getattr(import_module(self._path), name)
        setattr(self, name, found)
        return found


def __getattr__(name: str) -> Any:
    """What is loaded only when it is used; AttributeError for a name that the API has not."""
    if name in _MODULES:
        found = globals()[name] = _Module(_MODULES[name])
        return found
    if name in _LATER:
        from importlib import import_module

        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"nodelint.api has no `{name}`; it has {', '.join(sorted(__all__))}")
