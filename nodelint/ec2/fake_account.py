"""An imaginary AWS account for an example: a text lists its resources, and questions are answered as EC2 would do.

A rule's page describes an account in a fence "yaml facts". The contract tests of all rules, and the generated pages,
check the examples after the fence with the answers of this account. Kinds that the description omits have no answer.

    region: us-east-1
    now: 2026-11-20T12:00:00Z
    images: [{id: ami-1, name: golden-1, arch: amd64, created: 2026-11-02, tags: {pipeline: golden}}]
    parameters: {/golden/amd64: ami-1}
    subnets: [{id: subnet-1, zone: us-east-1a, free: 200, tags: {karpenter.sh/discovery: main}}]
    securityGroups: [{id: sg-1, name: nodes, tags: {karpenter.sh/discovery: main}}]
    zones: {us-east-1a: use1-az1}              every type is offered in every zone, except
    absent: {us-east-1a: ["p5*"], "*": [a1*]}  the types that a zone, or the region (*), lacks
    roles: [KarpenterNodeRole-main]
    encryptsVolumes: true
    denied: [images]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nodelint.ec2.catalog import Catalog
from nodelint.ec2.facts import AwsFacts, matches, moment
from nodelint.ec2.questions import gather
from nodelint.ec2.snapshot import (
    Answer,
    CapacityReservation,
    MachineImage,
    Offering,
    PlacementGroup,
    Question,
    Region,
    Reply,
    SecurityGroup,
    Snapshot,
    Subnet,
    kept_images,
)
from nodelint.model.fact_kinds import FactKind
from nodelint.model.manifest import EC2NodeClass
from nodelint.model.releases import KubernetesVersion, Version
from nodelint.text import Source
from nodelint.text.yaml.compose import compose

_NOW = "2026-11-20T12:00:00Z"

_KEYS: dict[str, tuple[FactKind, str, Any, dict[str, object]]] = {
    "images": (
        "images",
        "images",
        MachineImage,
        {"arch": "amd64", "state": "available", "created": "2026-11-01", "owner": "self"},
    ),
    "subnets": ("subnets", "subnets", Subnet, {"zoneId": "use1-az1", "vpc": "vpc-1", "free": 200}),
    "securityGroups": ("security-groups", "groups", SecurityGroup, {"vpc": "vpc-1"}),
    "capacityReservations": (
        "capacity-reservations",
        "reservations",
        CapacityReservation,
        {"state": "active", "free": 1, "owner": "self"},
    ),
    "placementGroups": (
        "placement-groups",
        "placements",
        PlacementGroup,
        {"strategy": "cluster", "state": "available"},
    ),
}
_NAMES: dict[str, FactKind] = {"roles": "roles", "instanceProfiles": "instance-profiles"}
_ID_FILTERS = ("image-id", "subnet-id", "group-id", "capacity-reservation-id", "group-name", "name")


class FakeAccount:
    """An AWS account with the resources that a text describes (see the module)."""

    def __init__(self, text: str) -> None:
        source = Source("facts", text)
        root = compose(source, text, 0, masked=False)[0]
        data = root.plain() if root is not None else None
        if not isinstance(data, dict):
            raise ValueError("a mapping is wanted")
        self._data: dict[str, Any] = data
        self.region = str(data.get("region", "us-east-1"))
        self.now = str(data.get("now", _NOW))

    def facts(
        self, classes: Sequence[EC2NodeClass], release: Version, kubernetes: KubernetesVersion | None = None
    ) -> AwsFacts:
        """Return the facts that `nodelint refresh` would have of this account for some classes."""
        reply = gather(self.ask, self.region, classes, release, kubernetes)
        answered = {q: a for q, a in reply.region.answers.items() if a.failed != ""}
        region = reply.region._replace(answers=answered)
        return AwsFacts(Snapshot("an imagined account", self.now[:10], regions=(region,)), region, moment(self.now))

    def ask(self, questions: Sequence[Question]) -> Reply:
        """Return the answers that EC2 would give. A question about a kind that the text does not mention fails with
        an empty reason.
        """
        answers: dict[Question, Answer] = {}
        tables: dict[str, dict[str, Any]] = {}
        for question in questions:
            answers[question] = self._answer(question, tables)
        return Reply(Region(self.region, None, answers, **tables))

    def _answer(self, question: Question, tables: dict[str, dict[str, Any]]) -> Answer:
        kind = question.kind
        if kind in self._data.get("denied", ()):
            return Answer(self.now, failed="UnauthorizedOperation")
        if kind in ("instance-types", "offerings") and "zones" in self._data:
            offerings = {offering.type: offering for offering in self._offerings()}
            tables["offerings"] = offerings
            return Answer(self.now, total=len(offerings))
        if kind == "parameters" and "parameters" in self._data:
            value = self._data["parameters"].get(question.value("name"))
            found = () if value is None else (str(value),)
            return Answer(self.now, found, len(found))
        if kind == "volume-encryption" and "encryptsVolumes" in self._data:
            return Answer(self.now, ("true" if self._data["encryptsVolumes"] else "false",), 1)
        for key, kind_of_key in _NAMES.items():
            if kind_of_key == kind and key in self._data:
                found = tuple(name for name in self._data[key] if name == question.value("name"))
                return Answer(self.now, found, len(found))
        for key, (kind_of_key, field, cls, defaults) in _KEYS.items():
            if kind_of_key == kind and key in self._data:
                things = [(thing, _record(cls, thing, defaults)) for thing in self._data[key]]
                hits = [record for thing, record in things if _meets(question, record, thing.get("tags", {}))]
                answered = kept_images(hits, self.now) if kind == "images" else hits
                tables.setdefault(field, {}).update({record.id: record for record in answered})
                return Answer(self.now, tuple(record.id for record in answered), len(hits))
        return Answer(self.now, failed="")

    def _offerings(self) -> Iterator[Offering]:
        absent: Mapping[str, Sequence[str]] = self._data.get("absent", {})
        for name in Catalog.bundled().names:
            lacking = [zone for zone, globs in absent.items() if any(matches(glob, name) for glob in globs)]
            zones = tuple(z for z in self._data["zones"] if z not in lacking and "*" not in lacking)
            if zones:
                yield Offering(name, zones, ("on-demand", "spot"))


def _record(cls: Any, thing: Mapping[str, Any], defaults: Mapping[str, object]) -> Any:
    given = {**defaults, **{key: value for key, value in thing.items() if key != "tags"}}
    for key in ("created", "deprecated", "ends"):
        if isinstance(given.get(key), str) and len(given[key]) == len("2026-11-20"):
            given[key] += "T00:00:00Z"
    record = cls(**given)
    return record._replace(clusters=tuple(record.clusters)) if cls is SecurityGroup else record


def _meets(question: Question, record: Any, tags: Mapping[str, str]) -> bool:
    if question.owners and record.owner not in question.owners:
        return False
    for name, value in question.filters:
        if name == "tag-key":
            met = value in tags
        elif name.startswith("tag:"):
            met = name[4:] in tags and matches(value, str(tags[name[4:]]))
        elif name in ("name", "group-name"):
            met = matches(value, record.name or "")
        elif name in _ID_FILTERS:
            met = record.id == value
        else:
            met = str(getattr(record, {"owner-id": "owner", "instance-match-criteria": "match"}[name])) == value
        if not met:
            return False
    return True
