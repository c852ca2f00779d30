"""The facts of AWS for a run: the answers of one region of a snapshot, with a limit for their age.

A missing answer is no empty answer: if a question was not asked, was refused, or if its answer is too old, `Missing`
is raised. The engine then skips the check and gives the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.ec2.snapshot import (
    Answer,
    CapacityReservation,
    MachineImage,
    Offering,
    PlacementGroup,
    Question,
    Region,
    SecurityGroup,
    Snapshot,
    Subnet,
    account_hash,
    pruned_owners,
)
from nodelint.model.fact_kinds import PRICE_KINDS, FactKind
from nodelint.model.messages import short

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from nodelint.ec2.catalog import Catalog
    from nodelint.ec2.catalog_prices import RegionPrices

WORDS: dict[FactKind, str] = {
    "instance-types": "instance types",
    "offerings": "what the region offers",
    "images": "images",
    "parameters": "SSM parameters",
    "subnets": "subnets",
    "security-groups": "security groups",
    "capacity-reservations": "capacity reservations",
    "placement-groups": "placement groups",
    "instance-profiles": "instance profiles",
    "roles": "roles",
    "volume-encryption": "encryption by default",
    "prices": "prices on demand",
    "spot-prices": "spot prices",
}
"""The name of each kind of fact in messages."""


NO_SNAPSHOT = "there is no snapshot: run `nodelint refresh` to ask AWS"
"""The reason why a run without a snapshot has no facts of AWS."""


class Missing(Exception):
    """Raised if a fact is not available: its kind, the reason, and whether a retry may help (`transient`)."""

    def __init__(self, kind: FactKind, reason: str, transient: bool = False) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason
        self.transient = transient


class Images(NamedTuple):
    """The images that a question finds, newest first. `total` counts all in EC2; only those that can decide are
    listed.
    """

    images: tuple[MachineImage, ...]
    total: int


class AwsFacts:
    """The answers of one region. `now` is the time of the run, `limits` the largest age of each kind (no limit if it
    is missing).

    Without a region, every question raises Missing with the reason `why`.
    """

    def __init__(
        self,
        snapshot: Snapshot | None = None,
        region: Region | None = None,
        now: datetime | None = None,
        limits: Mapping[FactKind, timedelta] | None = None,
        why: str = NO_SNAPSHOT,
    ) -> None:
        self.snapshot = snapshot
        self.region = region
        self.now = now
        self._limits = limits or {}
        self._why = why

    def __bool__(self) -> bool:
        """Return whether facts of AWS are available."""
        return self.region is not None

    def answer(self, question: Question) -> Answer:
        """Return the answer to exactly this question. Raise Missing if the facts lack the answer."""
        kind = question.kind
        if self.region is None:
            raise Missing(kind, self._why)
        answer = self.region.answers.get(question)
        if answer is None:
            raise Missing(kind, f"the snapshot holds no answer about {_describe(question)}; `nodelint refresh` asks")
        if answer.failed is not None:
            raise Missing(kind, f"AWS was asked about {WORDS[kind]}: {answer.failed}", answer.transient)
        self._check_age(kind, answer.at)
        return answer

    def images(self, question: Question) -> Images:
        """Return the images of a question, in every state. Raise Missing if the facts lack the answer.

        The answer to another question is used if it includes the answer to this one: it contains the requested id,
        its name pattern covers the requested name, or it asks for more owners.
        """
        region = self.region
        if region is None or question in region.answers:
            answer = self.answer(question)
            assert region is not None
            return Images(_newest_first(region.images[id] for id in answer.found), answer.total)
        id = question.value("image-id")
        if id is not None and id in region.images:
            self._check_age("images", max(a.at for a in region.answers.values() if id in a.found))
            return Images((region.images[id],), 1)
        for answered_question, answer in region.answers.items():
            found = None if answer.failed else self._narrowed(question, answered_question, answer)
            if found is not None:
                self._check_age("images", answer.at)
                return Images(_newest_first(found), len(found))
        raise Missing("images", f"the snapshot holds no answer about {_describe(question)}; `nodelint refresh` asks")

    def _narrowed(self, question: Question, asked_question: Question, answer: Answer) -> list[MachineImage] | None:
        """Return the images of a question that another question's answer includes.

        None if the answer does not certainly include them.
        """
        name, pattern = question.value("name"), asked_question.value("name")
        rest = [[pair for pair in q.filters if pair[0] != "name"] for q in (question, asked_question)]
        if asked_question.kind != "images" or rest[0] != rest[1]:
            return None
        if name != pattern and (name is None or re.search(r"[*?\\]", name) or not matches(pattern or "*", name)):
            return None
        owners = {self._owner(owner) for owner in question.owners}
        if None in owners or (asked_question.owners and not (owners and owners <= set(asked_question.owners))):
            return None
        assert self.region is not None
        images = [self.region.images[id] for id in answer.found]
        found = [i for i in images if name in (pattern, i.name) and (not owners or i.owner in owners)]
        # The answer contains the newest images of each owner, which decide. An owner has at most one image of a full
        # name.
        if name != pattern and answer.total > len(images):
            pruned = pruned_owners(images, answer.at)
            lost = pruned & owners if owners else pruned
            if lost - {image.owner for image in found}:
                return None
        return found

    def _owner(self, owner: str) -> str | None:
        """Return an owner as the images name it: `self` for the account of the snapshot. None if the owner of an
        account number is not known.
        """
        if not owner.isdigit():
            return owner
        there = self._known_region
        if there.account is not None and account_hash(owner) == there.account:
            return "self"
        # The accounts of `amazon` and other aliases have numbers too, which the images do not contain.
        return owner if any(image.owner == owner for image in there.images.values()) else None

    def parameter(self, name: str) -> str | None:
        """Return the value of an SSM parameter. None if the parameter does not exist. Raise Missing if the facts lack
        the answer.
        """
        found = self.answer(Question.make("parameters", ("name", name))).found
        return found[0] if found else None

    def subnets(self, question: Question) -> tuple[Subnet, ...]:
        """Return the subnets of a question. Raise Missing if the facts lack the answer."""
        found = self.answer(question).found
        return tuple(self._known_region.subnets[id] for id in found)

    def groups(self, question: Question) -> tuple[SecurityGroup, ...]:
        """Return the security groups of a question. Raise Missing if the facts lack the answer."""
        found = self.answer(question).found
        return tuple(self._known_region.groups[id] for id in found)

    def reservations(self, question: Question) -> tuple[CapacityReservation, ...]:
        """Return the capacity reservations of a question. Raise Missing if the facts lack the answer."""
        found = self.answer(question).found
        return tuple(self._known_region.reservations[id] for id in found)

    def placements(self, question: Question) -> tuple[PlacementGroup, ...]:
        """Return the placement groups of a question. Raise Missing if the facts lack the answer."""
        found = self.answer(question).found
        return tuple(self._known_region.placements[id] for id in found)

    def exists(self, question: Question) -> bool:
        """Return whether a role or instance profile exists. Raise Missing if the facts lack the answer."""
        return bool(self.answer(question).found)

    @property
    def encrypts_volumes(self) -> bool:
        """Return whether EC2 encrypts volumes of the account by default. Raise Missing if the facts lack the
        answer.
        """
        return self.answer(Question("volume-encryption")).found == ("true",)

    @cached_property
    def offerings(self) -> Mapping[str, Offering]:
        """Return the instance types that the region offers, with their zones and capacity types. Raise Missing if the
        facts lack the answer.
        """
        self.answer(Question("offerings"))
        self.answer(Question("instance-types"))
        return self._known_region.offerings

    @cached_property
    def catalog(self) -> Catalog:
        """Return the catalogue of all known instance types: the bundled ones and those of the snapshot, with the
        region's prices.
        """
        from nodelint.ec2.catalog import Catalog

        bundled = Catalog.bundled()
        known = bundled if self.snapshot is None else bundled.extended(self.snapshot)
        prices = self._prices()
        return known if prices is None else known.with_prices(prices)

    def _prices(self) -> RegionPrices | None:
        """Return the prices that AWS answered for the region, however old: they carry their date. None if it answered
        none.
        """
        region = self.region
        days = [a.at[:10] for q, a in region.answers.items() if q.kind in PRICE_KINDS and a.found] if region else []
        if region is None or not days:
            return None
        from nodelint.ec2.catalog_prices import RegionPrices

        spot: dict[str, dict[str, float]] = {}
        for price in region.spot_prices.values():
            spot.setdefault(price.type, {})[price.zone] = float(price.usd)
        on_demand = {name: float(price.usd) for name, price in region.prices.items()}
        return RegionPrices(region.name, min(days), on_demand, spot)

    @property
    def _known_region(self) -> Region:
        assert self.region is not None
        return self.region

    def _check_age(self, kind: FactKind, at: str) -> None:
        limit = self._limits.get(kind)
        if limit is None or self.now is None:
            return
        age = self.now - moment(at)
        if age > limit:
            # Without the kind of fact: all answers of one time and one age limit are reported in one line.
            old = f"AWS was asked {span(age)} ago, which is more than {span(limit)}; `nodelint refresh` asks again"
            raise Missing(kind, old, transient=True)


def moment(at: str) -> datetime:
    """Return the time of an ISO 8601 text with `Z` or an offset. Raise ValueError if the text is not a time."""
    from datetime import datetime

    return datetime.fromisoformat(at)


def span(length: timedelta) -> str:
    """Return a length of time in its two largest units that are not 0: `2 d 3 h`, `5 min`."""
    seconds = max(0, int(length.total_seconds()))
    parts = []
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)):
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2]) or "0 s"


@lru_cache(maxsize=256)
def _pattern(text: str) -> re.Pattern[str]:
    parts = re.findall(r"\\.|.", text, re.DOTALL)
    words = {"*": ".*", "?": "."}
    return re.compile("".join(words.get(p) or re.escape(p[-1]) for p in parts), re.DOTALL)


def matches(pattern: str, value: str) -> bool:
    r"""Return whether a value matches a filter pattern of EC2: `*` any text, `?` one character, `\` escapes."""
    return _pattern(pattern).fullmatch(value) is not None


def _newest_first(images: Iterable[MachineImage]) -> tuple[MachineImage, ...]:
    return tuple(sorted(images, key=lambda i: (i.created, i.id), reverse=True))


NOTHING = AwsFacts()
"""Facts without any answer: those of a run without a snapshot."""


def _describe(question: Question) -> str:
    fields = ", ".join(f"{name}={value}" for name, value in question.filters)
    return f"{WORDS[question.kind]} of `{short(fields, 60)}`" if fields else WORDS[question.kind]
