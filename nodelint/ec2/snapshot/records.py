"""Records of facts about EC2: the question, its time, region and account, and the answer.

A snapshot is one JSON document with one fact per line, so that a diff of two snapshots is readable (`format`). The
bundled catalogue is such a file (`data/catalog.json`, made by `tools/make_catalog.py`): it has instance types and no
region.
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
    """Raised for a file that is not a snapshot, or has a format that this release does not read.

    `misshapen` is true if the file violates its JSON Schema, with which every fault can be located.
    """

    misshapen = False


class Network(NamedTuple):
    """The network limits of an instance type in a VPC.

    `interfaces` is the number of network interfaces that can be attached, `ipv4_per_interface` the addresses on each.
    `trunking` is true if the type can have branch interfaces, `branches` is their number. `cards` has the most
    interfaces of each network card, in the order of their indices.
    """

    interfaces: int
    ipv4_per_interface: int
    trunking: bool
    branches: int
    cards: tuple[int, ...]


class Origin(NamedTuple):
    """The source of a group of facts, and their date (ISO 8601)."""

    facts: str
    origin: str
    date: str


class Change(NamedTuple):
    """Label values that differed `before` a Karpenter release, by instance type. None if the label was missing."""

    before: Version
    label: str
    values: dict[str, str | None]


class Question(NamedTuple):
    """A question to a region: EC2's filters as sorted pairs of name and value, and the owners of images.

    A parameter, role or instance profile is requested with the filter `name`; instance types and their offerings need
    no filter. Each id, and each name of a security group, is a separate question. A filter may occur several times
    (`tag-key`): all must be met.
    """

    kind: FactKind
    filters: tuple[tuple[str, str], ...] = ()
    owners: tuple[str, ...] = ()

    @classmethod
    def make(cls, kind: FactKind, *filters: tuple[str, str], owners: Iterable[str] = ()) -> Question:
        """Return a question with sorted filters."""
        return cls(kind, tuple(sorted(filters)), tuple(owners))

    def value(self, name: str) -> str | None:
        """Return the value of a filter. None if the question has no such filter."""
        return next((value for key, value in self.filters if key == name), None)


class Answer(NamedTuple):
    """The answer to a question: the ids `found` (for a parameter its value), or the reason why there is none
    (`failed`).

    `at` is the time, ISO 8601 in UTC to the second. `total` is the number of records in EC2: of images, only those
    that can decide are in `found` (see `kept_images`). A failure is `transient` if a retry may help. Instance types
    and offerings have tables of their own, so their `found` is empty.
    """

    at: str
    found: tuple[str, ...] = ()
    total: int = 0
    failed: str | None = None
    transient: bool = False


class MachineImage(NamedTuple):
    """An image as DescribeImages returns it.

    `arch` is Kubernetes' word (`amd64`, `arm64`), or EC2's for architectures that Karpenter ignores. `owner` is
    `self`, `amazon`, another alias of EC2 or an account. `created` and `deprecated` are ISO 8601.
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
    """A subnet: its zone by name and by id, and the number of `free` IP addresses."""

    id: str
    zone: str
    zoneId: str
    vpc: str
    free: int
    name: str | None = None


class SecurityGroup(NamedTuple):
    """A security group. `clusters` are the names in its `kubernetes.io/cluster/<name>` tags."""

    id: str
    name: str
    vpc: str
    clusters: tuple[str, ...] = ()


class CapacityReservation(NamedTuple):
    """A capacity reservation. `kind` is `default` or `capacity-block`, `free` the number of available instances."""

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
    """The zones in which a region offers an instance type, and its capacity types (`on-demand`, `spot`)."""

    type: str
    zones: tuple[str, ...]
    capacity: tuple[str, ...]


class OnDemandPrice(NamedTuple):
    """The on-demand price of an instance type (`id`) per hour under Linux, in USD as AWS writes it."""

    id: str
    usd: str


class SpotPrice(NamedTuple):
    """The spot price of an instance type in a zone per hour, at the time of the question. `id` consists of both."""

    id: str
    type: str
    zone: str
    usd: str


class Region(NamedTuple):
    """The answers of one region of one account. `account` is a hash. Records are listed by id, or by instance
    type.
    """

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
        """Return the facts of both. If both have a fact, the newer one counts.

        A failure does not replace an answer: the old answer stays, with its old time. Records that no answer names
        are dropped.
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
    """Return the beginning of a hash of an account's id, so that a snapshot does not contain the id."""
    from hashlib import sha256

    return f"sha256:{sha256(account.encode()).hexdigest()[:16]}"


class Reply(NamedTuple):
    """The answers of a region to some questions. `rows` are instance types, with the columns of `Snapshot.labels`."""

    region: Region
    rows: tuple[Row, ...] = ()


_PER_GROUP = 10


def kept_images(images: Iterable[MachineImage], now: str) -> list[MachineImage]:
    """Return the images of an answer that can decide, newest first.

    Karpenter uses the newest of an architecture, so the ten newest of every architecture, state, owner and
    deprecation (at `now`) are kept: enough to know which one is used and which one will be next.
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
    """Return the owners of whose images `kept_images` may have dropped some."""
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
"""The table of a Region with the records whose ids an answer contains. Kinds without an entry have only ids or
values.
"""


class Snapshot(NamedTuple):
    """The content of a snapshot file.

    `labels`, `resources` and `priced` (regions) name the columns of the rows. Rows are sorted by name. A label that
    is None is missing on the type; an empty text is a value. `date` is the date of the instance types, `nodelint` the
    version that wrote the file.
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
        """Return the answers of a region. None if the snapshot does not have the region."""
        return next((region for region in self.regions if region.name == name), None)
