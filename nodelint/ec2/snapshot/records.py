"""Records of facts about EC2: the question, its time, region and account, and the answer.

A snapshot is one JSON document with one fact to a line, so that the difference between two of them can be
read (`format`). The catalogue that comes with nodelint is such a file (`data/catalog.json`, made by
`tools/make_catalog.py`): it holds instance types and no region.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.model.fact_kinds import FactKind
from nodelint.model.releases import Version

if TYPE_CHECKING:
    from typing import Any

    Row = tuple[str, list[str | None], list[str | None], list[Any] | None, list[float | None]]
    """An instance type: name, label values, resource quantities, network limits, prices (USD per hour)."""
else:
    Row = tuple

FORMAT = 1
"""The version of the file format. A reader refuses any other."""


class SnapshotError(ValueError):
    """A file that is not a snapshot, or has a format that this release does not read.

    `misshapen` says that the file breaks its JSON Schema, which names every fault with its place.
    """

    misshapen = False


class Network(NamedTuple):
    """What a VPC allows an instance type: counts of interfaces and addresses.

    `interfaces` is the number of network interfaces that can be attached, `ipv4_per_interface` the
    addresses on each, `trunking` whether it can have branch interfaces and `branches` how many, `cards`
    the largest number of interfaces on each network card, in the order of their indices.
    """

    interfaces: int
    ipv4_per_interface: int
    trunking: bool
    branches: int
    cards: tuple[int, ...]


class Origin(NamedTuple):
    """Where facts come from, and of what day (ISO 8601) they are."""

    facts: str
    origin: str
    date: str


class Change(NamedTuple):
    """Label values as they were `before` a Karpenter release: by type, None for a label that was missing."""

    before: Version
    label: str
    values: dict[str, str | None]


class Question(NamedTuple):
    """One thing to ask of a region: EC2's filters, sorted pairs of name and value, and image owners.

    A parameter, role or instance profile is asked for by the filter `name`; instance types and their
    offerings by none. Each id, and each name of a security group, is a question of its own. A filter may
    stand there several times (`tag-key`): all have to be met.
    """

    kind: FactKind
    filters: tuple[tuple[str, str], ...] = ()
    owners: tuple[str, ...] = ()

    @classmethod
    def make(cls, kind: FactKind, *filters: tuple[str, str], owners: Iterable[str] = ()) -> Question:
        """Return a question, its filters brought into order."""
        return cls(kind, tuple(sorted(filters)), tuple(owners))

    def value(self, name: str) -> str | None:
        """Return the value of a filter; None if the question has no such filter."""
        return next((value for key, value in self.filters if key == name), None)


class Answer(NamedTuple):
    """What came back: the ids `found` (of a parameter its value), or why nothing is known (`failed`).

    `at` is when, ISO 8601 in UTC to the second. `total` is how many there were where not all are kept:
    of images only those are that can decide (see `kept_images`). A failure is `transient` where asking
    again may help. Instance types and offerings stand in tables of their own; `found` is empty for them.
    """

    at: str
    found: tuple[str, ...] = ()
    total: int = 0
    failed: str | None = None
    transient: bool = False


class MachineImage(NamedTuple):
    """An image as DescribeImages returns it.

    `arch` is Kubernetes' word (`amd64`, `arm64`) or EC2's own for what Karpenter passes over. `owner` is
    `self`, `amazon`, another alias of EC2's or an account. `created` and `deprecated` are ISO 8601.
    """

    id: str
    name: str
    arch: str
    state: str
    created: str
    owner: str
    deprecated: str | None = None
    public: bool = False
    platform: str | None = None


class Subnet(NamedTuple):
    """A subnet: its zone by name and by id, and how many addresses are `free`."""

    id: str
    zone: str
    zoneId: str
    vpc: str
    free: int
    name: str | None = None


class SecurityGroup(NamedTuple):
    """A security group. `clusters` are those whose `kubernetes.io/cluster/<name>` tag it bears."""

    id: str
    name: str
    vpc: str
    clusters: tuple[str, ...] = ()


class CapacityReservation(NamedTuple):
    """A capacity reservation: `kind` is `default` or `capacity-block`, `free` the instances that are left."""

    id: str
    type: str
    zone: str
    state: str
    free: int
    owner: str
    kind: str = "default"
    match: str | None = None
    ends: str | None = None


class PlacementGroup(NamedTuple):
    """A placement group with its strategy (`cluster`, `partition`, `spread`)."""

    id: str
    name: str
    strategy: str
    state: str
    partitions: int = 0


class Offering(NamedTuple):
    """Where a region offers an instance type, and the capacity types (`on-demand`, `spot`) it is sold as."""

    type: str
    zones: tuple[str, ...]
    capacity: tuple[str, ...]


class OnDemandPrice(NamedTuple):
    """What an instance type (`id`) costs an hour on demand under Linux, in USD as AWS writes it."""

    id: str
    usd: str


class SpotPrice(NamedTuple):
    """What an instance type cost an hour as spot in a zone when AWS was asked. `id` is of both."""

    id: str
    type: str
    zone: str
    usd: str


class Region(NamedTuple):
    """What one region of one account answered. `account` is a hash; tables are by id, or by instance type."""

    name: str
    account: str | None
    answers: Mapping[Question, Answer]
    images: Mapping[str, MachineImage] = {}
    subnets: Mapping[str, Subnet] = {}
    groups: Mapping[str, SecurityGroup] = {}
    reservations: Mapping[str, CapacityReservation] = {}
    placements: Mapping[str, PlacementGroup] = {}
    offerings: Mapping[str, Offering] = {}
    prices: Mapping[str, OnDemandPrice] = {}
    spot_prices: Mapping[str, SpotPrice] = {}

    def merged(self, newer: Region) -> Region:
        """Both answers' facts; where both speak of one thing, the newer one's.

        A failure takes no answer's place: what was known stays known, as old as it is. Things that no
        answer names any more are dropped.
        """
        answers = dict(self.answers)
        for question, answer in newer.answers.items():
            if answer.failed is None or question not in answers or answers[question].failed is not None:
                answers[question] = answer
        whole = Region(
            newer.name,
            newer.account or self.account,
            answers,
            {**self.images, **newer.images},
            {**self.subnets, **newer.subnets},
            {**self.groups, **newer.groups},
            {**self.reservations, **newer.reservations},
            {**self.placements, **newer.placements},
            newer.offerings or self.offerings,
            {**self.prices, **newer.prices},
            {**self.spot_prices, **newer.spot_prices},
        )
        return whole._only_answered()

    def _only_answered(self) -> Region:
        named = {id for answer in self.answers.values() for id in answer.found}
        tables: dict[str, Any] = {
            field: {id: record for id, record in getattr(self, field).items() if id in named}
            for field in TABLE_OF.values()
        }
        return self._replace(**tables)


def account_hash(account: str) -> str:
    """Return the beginning of a hash of an account's id: a snapshot is not to hold the id."""
    from hashlib import sha256

    return f"sha256:{sha256(account.encode()).hexdigest()[:16]}"


class Reply(NamedTuple):
    """What asking some questions of a region brought; `rows` are instance types, under `Snapshot.labels`."""

    region: Region
    rows: tuple[Row, ...] = ()


_PER_GROUP = 10


def kept_images(images: Iterable[MachineImage], now: str) -> list[MachineImage]:
    """Return the images of an answer that can decide, newest first.

    Karpenter takes the newest of an architecture, so of every architecture, state, owner and (at `now`) deprecation
    the ten newest are kept: enough to tell what is taken and what will be next.
    """
    left: dict[tuple[object, ...], int] = {}
    newest = []
    for image in sorted(images, key=lambda i: (i.created, i.id), reverse=True):
        group = _group(image, now)
        left[group] = left.get(group, _PER_GROUP) - 1
        if left[group] >= 0:
            newest.append(image)
    return newest


def pruned_owners(images: Iterable[MachineImage], now: str) -> set[str]:
    """Return the owners of whom `kept_images` may have left some out."""
    counts: dict[tuple[object, ...], int] = {}
    owners = set()
    for image in images:
        group = _group(image, now)
        counts[group] = counts.get(group, 0) + 1
        if counts[group] == _PER_GROUP:
            owners.add(image.owner)
    return owners


def _group(image: MachineImage, now: str) -> tuple[object, ...]:
    return image.arch, image.state, image.owner, image.deprecated is not None and image.deprecated <= now


TABLE_OF: dict[FactKind, str] = {
    "images": "images",
    "subnets": "subnets",
    "security-groups": "groups",
    "capacity-reservations": "reservations",
    "placement-groups": "placements",
    "prices": "prices",
    "spot-prices": "spot_prices",
}
"""Where the things stand whose ids an answer holds. Of the other kinds the ids say it all."""


class Snapshot(NamedTuple):
    """The content of a snapshot file.

    `labels`, `resources` and `priced` (regions) name what stands in the columns of the rows. Rows are
    sorted by name. A label that is None is missing on the type; an empty text is a value. `date` is the
    day of the instance types, `nodelint` the release that wrote the file.
    """

    origin: str
    date: str
    sources: tuple[Origin, ...] = ()
    labels: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    priced: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    rows: Sequence[Row] = ()
    regions: tuple[Region, ...] = ()
    nodelint: str | None = None

    def region(self, name: str) -> Region | None:
        """Return what a region answered; None if it was not asked."""
        return next((region for region in self.regions if region.name == name), None)
