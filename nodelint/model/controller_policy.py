"""List the AWS permissions that Karpenter's controller needs, by release, and Terraform modules that grant them."""

from __future__ import annotations

import re
from functools import cache

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.data import table
from nodelint.model.releases import Version
from nodelint.text.missing import items_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from nodelint.model.finding import Severity
    from nodelint.model.manifest import EC2NodeClass

CLEANUP = "cleanup"
"""The effect of a missing permission with which nodes are still launched and removed, but not all that is theirs."""
_SEVERITIES: dict[str, Severity] = {
    **dict.fromkeys(("start", "ready", "launch", "spot"), "error"),
    **dict.fromkeys(("health", "prices"), "info"),
}
"""An effect after which no node, or no Spot node, is launched is an error; one that no node feels is information."""


class Call(NamedTuple):
    """An AWS call of the controller.

    - `action`: the IAM action that allows it.
    - `effect`: what happens without it.
    - `since`: the first release that makes the call, None for all.
    - `when`: the setting of a class or of the chart that leads to the call. Empty if the controller always makes it.
    - `kinds`: the EC2 resources for which the action must be allowed.
    """

    action: str
    effect: str
    since: Version | None
    when: str
    kinds: tuple[str, ...]

    @property
    def consequence(self) -> str:
        """Return what happens without the permission, as a part of a sentence."""
        text: str = table("permissions")["effects"][self.effect]
        return text

    @property
    def severity(self) -> Severity | None:
        """Return the severity of a call that is not allowed. None if it is the rule's own."""
        return _SEVERITIES.get(self.effect)


@cache
def calls() -> Sequence[Call]:
    """Return the calls of the controller. The calls with the worst effect come first."""
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

    `conditions` are the settings of its classes and its chart (`Call.when`). `oldest` is the oldest release that may
    run. If it is None (not known), a call that only some releases make counts only if classes ask for it.
    """
    found: dict[tuple[str, tuple[str, ...]], Call] = {}
    for call in calls():
        is_made = call.since is None or call.when in conditions or (oldest is not None and oldest >= call.since)
        if is_made and (not call.when or call.when in conditions):
            found.setdefault((call.action, call.kinds), call)
    return list(found.values())


def list_conditions(classes: Sequence[EC2NodeClass]) -> set[str]:
    """Return the values of `Call.when` that apply to some classes."""
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
        listed = items_of(spec.get("amiSelectorTerms"))
        if any(term.get("alias") or term.get("ssmParameter") for term in listed):
            conditions.add("alias")
        if re.search(r"\balias[\"']?\s*:\s*[\"']?al2023@|\bamiFamily[\"']?\s*:\s*[\"']?AL2023\b", text):
            conditions.add("al2023")
    return conditions


class PolicyModule(NamedTuple):
    """A Terraform module that grants Karpenter's controller its permissions.

    - `only`: the argument that must be true for that.
    - `extra`: the argument that adds permissions.
    - `v1_switch`: the argument that grants what Karpenter v1 needs, from version `v1_since` on.
    - `v1_always`: the version from which on v1 permissions are always granted.
    - `grants`: for each action that older versions do not grant, the first version that does; empty if none does.
    - `switches`: for each argument, the actions that are not granted without it.

    A version is a tuple of numbers, as many as are known.
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
        """Return whether a module block creates the controller's policy, as far as its text says."""
        if re.search(r"(?m)^[ \t]+create(?:_iam_role|_role)?\s*=\s*false", block):
            return False
        return self.only is None or re.search(rf"(?m)^[ \t]+{self.only}\s*=\s*true", block) is not None

    def lacks(self, action: str, block: str, newest: tuple[float, ...]) -> bool:
        """Return whether a module block does not grant an action. `newest` is the newest version that it may have."""
        since = self.grants.get(action)
        switch = next((name for name, granted in self.switches.items() if action in granted), None)
        if switch is not None:
            return re.search(rf"(?m)^[ \t]+{switch}\s*=\s*(?!false|null)", block) is None
        return since is not None and (not since or newest < since)

    def version_with(self, actions: Collection[str]) -> str:
        """Return the first version that grants all of these actions. Empty if there is none."""
        versions = [self.grants[action] for action in actions if action in self.grants]
        return ".".join(map(str, max(versions))) if versions and all(versions) else ""

    def v1_advice(self, newest: tuple[float, ...]) -> str:
        """Return the advice to set the switch for v1 permissions, and to update the module if its newest allowed
        version `newest` does not have the switch.
        """
        since = "" if newest >= self.v1_since else f" with version {'.'.join(map(str, self.v1_since))} or newer"
        return f"set `{self.v1_switch} = true`{since}"

    def switch_for(self, actions: Collection[str]) -> str:
        """Return the argument of the module that grants one of these actions. Empty if none of them needs an
        argument.
        """
        return next((name for name, granted in self.switches.items() if set(granted) & set(actions)), "")


def without_pass_role() -> frozenset[str]:
    """Return policies of AWS that do not grant `iam:PassRole`, of those that are attached to Karpenter's roles."""
    return frozenset(table("permissions")["without_pass_role"])


def policy_module(source: str) -> PolicyModule | None:
    """Return the module of a Terraform `source`, such as `aws-ia/eks-blueprints-addons/aws`.

    None if it is unknown.
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
