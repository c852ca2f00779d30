"""What Karpenter's controller has to be allowed in AWS, by release, and which modules of Terraform allow it."""

from __future__ import annotations

import re
from functools import cache

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.data import table
from nodelint.model.releases import Version

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from nodelint.model.manifest import EC2NodeClass

START, READY, LAUNCH = "start", "ready", "launch"
"""Effects after which no node is launched."""
CLEANUP, HEALTH, PRICES = "cleanup", "health", "prices"
"""Effects after which nodes are launched and removed all the same."""


class Call(NamedTuple):
    """A call of the controller: the action that allows it, and what happens without it.

    `since` is the first release that makes it. `when` names what a class or the chart has to ask for, "" where the
    controller makes the call in any case. `kinds` are the resources of EC2 for which it has to be allowed.
    """

    action: str
    effect: str
    since: Version | None
    when: str
    kinds: tuple[str, ...]

    @property
    def consequence(self) -> str:
        """Return what happens without the call, as a clause."""
        text: str = table("permissions")["effects"][self.effect]
        return text


@cache
def calls() -> Sequence[Call]:
    """Return the calls of the controller, those without which least works first."""
    return [
        Call(
            row["action"],
            row["effect"],
            Version.parse(row["since"]) if "since" in row else None,
            row.get("when", ""),
            tuple(row.get("on", ())),
        )
        for row in table("permissions")["actions"]
    ]


def calls_of(conditions: Collection[str], oldest: Version | None) -> list[Call]:
    """Return the calls that a controller makes, one for each action and its kinds of resources.

    `conditions` says what its classes and its chart ask for (`Call.when`), `oldest` is the oldest release that may
    run. It is None if that is not known: a call that only some releases make counts then if classes ask for it.
    """
    found: dict[tuple[str, tuple[str, ...]], Call] = {}
    for call in calls():
        is_made = call.since is None or call.when in conditions or (oldest is not None and oldest >= call.since)
        if is_made and (not call.when or call.when in conditions):
            found.setdefault((call.action, call.kinds), call)
    return list(found.values())


def list_conditions(classes: Sequence[EC2NodeClass]) -> set[str]:
    """Return what classes ask of the controller, as `Call.when` names it."""
    conditions = set()
    for node_class in classes:
        spec = node_class.node.get("spec")
        if spec is None:
            continue
        text = spec.source.text[spec.start : spec.end]
        if spec.get("role") and not spec.get("instanceProfile"):
            conditions.add("role")
        for field, name in (
            ("capacityReservationSelectorTerms", "reservations"),
            ("placementGroupSelector", "placement-group"),
        ):
            if spec.get(field) is not None:
                conditions.add(name)
        terms = spec.get("amiSelectorTerms")
        listed = terms.items if terms is not None else ()
        if any(term.get("alias") or term.get("ssmParameter") for term in listed):
            conditions.add("alias")
        if re.search(r"\balias[\"']?\s*:\s*[\"']?al2023@|\bamiFamily[\"']?\s*:\s*[\"']?AL2023\b", text):
            conditions.add("al2023")
    return conditions


class PolicyModule(NamedTuple):
    """A module of Terraform that grants Karpenter's controller its permissions.

    `only` is the argument that has to be true for that, `extra` the one that adds permissions. `v1_switch` is the
    argument that grants what v1 asks for, from `v1_since` on; from `v1_always` on, all versions do. `grants` holds
    the actions that older versions do not grant, with the first version that does; none is empty. `switches` are
    arguments without which some actions are not granted. Versions are numbers, as many as are known.
    """

    name: str
    only: str | None
    extra: str
    v1_switch: str | None
    v1_since: tuple[int, ...]
    v1_always: tuple[int, ...]
    grants: dict[str, tuple[int, ...]]
    switches: dict[str, Sequence[str]]

    def is_in_use(self, block: str) -> bool:
        """Return whether a call makes the controller's policy, as far as it says."""
        if re.search(r"(?m)^[ \t]+create(?:_iam_role|_role)?\s*=\s*false", block):
            return False
        return self.only is None or re.search(rf"(?m)^[ \t]+{self.only}\s*=\s*true", block) is not None

    def lacks(self, action: str, block: str, newest: tuple[float, ...]) -> bool:
        """Return whether a call whose module is of at most a version does not grant an action."""
        since = self.grants.get(action)
        switch = next((name for name, granted in self.switches.items() if action in granted), None)
        if switch is not None:
            return re.search(rf"(?m)^[ \t]+{switch}\s*=\s*(?!false|null)", block) is None
        return since is not None and (not since or newest < since)

    def version_with(self, actions: Collection[str]) -> str:
        """Return the first version that grants all of some actions; "" if none does."""
        versions = [self.grants[action] for action in actions if action in self.grants]
        return ".".join(map(str, max(versions))) if versions and all(versions) else ""

    def switch_for(self, actions: Collection[str]) -> str:
        """Return the argument with which one of some actions is granted; "" if none is needed."""
        return next((name for name, granted in self.switches.items() if set(granted) & set(actions)), "")


def policy_module(source: str) -> PolicyModule | None:
    """Return the module of a `source` in Terraform, such as `aws-ia/eks-blueprints-addons/aws`; None for
    any other.
    """
    for row in table("permissions")["modules"]:
        if source == row["module"] or source.endswith(f"/{row['module']}"):
            v1 = row.get("v1", {})
            return PolicyModule(
                row["module"],
                row.get("only"),
                row["extra"],
                v1.get("switch"),
                _numbers(v1.get("since", "")),
                _numbers(v1.get("always", "")),
                {action: _numbers(version) for action, version in row["grants"].items()},
                row.get("switches", {}),
            )
    return None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, filter(None, version.split("."))))
