"""What the selector terms of a class find: its subnets, security groups and reservations, term by term.

If a term has a placeholder, or if an AWS fact is not available, its result is unknown and nothing is concluded from
it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from nodelint.base.tuples import Generic, NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.data import table
from nodelint.ec2.facts import AwsFacts, Missing, moment
from nodelint.ec2.place_names import state_of_place
from nodelint.ec2.questions import (
    FieldQuestion,
    group_question,
    placement_question,
    reservation_questions,
    subnet_question,
)
from nodelint.ec2.snapshot import CapacityReservation, PlacementGroup, Question, SecurityGroup, Subnet
from nodelint.karpenter.pool_requirements import PoolRequirement, find_last_requirement, requirements_of
from nodelint.model.fact_kinds import FactKind
from nodelint.model.folders import list_environments
from nodelint.model.gap import Skip
from nodelint.model.keys import REGION, ZONE, ZONE_ID
from nodelint.model.manifest import EC2NodeClass, NodePool
from nodelint.model.releases import Version, behaves
from nodelint.model.requirement import Requirement
from nodelint.text import UNKNOWN, Node

if TYPE_CHECKING:
    from typing import TypeVar

    _Found = TypeVar("_Found", Subnet, SecurityGroup, CapacityReservation, PlacementGroup)


class TermFinds(NamedTuple, Generic["_Found"]):
    """The resources that the term at `node` finds. `found` is None if a placeholder, or a `missing` fact, makes them
    unknown.
    """

    node: Node
    question: Question | None
    found: tuple[_Found, ...] | None
    missing: Missing | None = None

    @property
    def place(self) -> Node:
        """Return the node to report: the only value by which the term selects, else the whole term."""
        values = [node for key in ("id", "name") if (node := self.node.get(key)) is not None]
        tags = self.node.get("tags")
        if not values and tags is not None:
            values = [entry.value for entry in tags.entries]
        return values[0] if len(values) == 1 else self.node

    @property
    def selector_kind(self) -> str:
        """Return by which field the term selects: `id`, `name`, else `tags`."""
        first = self.question.filters[0][0] if self.question is not None and self.question.filters else ""
        return "id" if first.endswith("-id") and first != "owner-id" else "name" if first == "group-name" else "tags"

    @property
    def is_open(self) -> bool:
        """Return whether the result is unknown because the term holds a placeholder."""
        return self.found is None and any(node.value is UNKNOWN for node in self.node.walk())

    @property
    def description(self) -> str:
        """Return the id, the name or the tags by which the term selects, for messages."""
        return describe_question(self.question) if self.question is not None else ""


class Finds(NamedTuple, Generic["_Found"]):
    """The resources that all terms of one selector find. `at` is its key in the class, None if the class has none.

    `whole` is False if a placeholder or template code may hold further terms.
    """

    at: Node | None
    terms: tuple[TermFinds[_Found], ...]
    whole: bool

    @property
    def known(self) -> tuple[_Found, ...]:
        """Return the resources that are certainly found, without duplicates, in the order of the terms."""
        return tuple({group.id: group for term in self.terms for group in term.found or ()}.values())

    @property
    def nothing(self) -> bool:
        """Return whether all terms are known and none finds anything. False if there are no terms."""
        return self.whole and bool(self.terms) and all(term.found == () for term in self.terms)

    def skips(self) -> Iterator[Skip]:
        """Yield the AWS facts that are missing, each at its term."""
        for term in self.terms:
            if term.missing is not None:
                yield Skip(term.place, term.missing.reason, term.missing.transient, term.missing.kind)

    def everything(self) -> tuple[_Found, ...] | None:
        """Return all resources that the terms find, without duplicates. None if a placeholder makes this unknown.
        Raise Missing if an AWS fact is missing.
        """
        for term in self.terms:
            if term.missing is not None:
                raise term.missing
        return self.known if self.whole and all(term.found is not None for term in self.terms) else None


def subnets_of(node_class: EC2NodeClass, facts: AwsFacts) -> Finds[Subnet]:
    """Return the subnets that each term of a class finds."""
    terms = [FieldQuestion(term.node, subnet_question(term)) for term in node_class.subnet_terms]
    return _finds(node_class, "subnetSelectorTerms", terms, facts.subnets)


def groups_of(node_class: EC2NodeClass, facts: AwsFacts) -> Finds[SecurityGroup]:
    """Return the security groups that each term of a class finds."""
    terms = [FieldQuestion(term.node, group_question(term)) for term in node_class.security_group_terms]
    return _finds(node_class, "securityGroupSelectorTerms", terms, facts.groups)


def reservations_of(node_class: EC2NodeClass, facts: AwsFacts, release: Version) -> Finds[CapacityReservation]:
    """Return the capacity reservations that each term of a class finds and Karpenter uses: they are active and have
    not ended.
    """

    def usable(question: Question) -> tuple[CapacityReservation, ...]:
        active = [reservation for reservation in facts.reservations(question) if reservation.state == "active"]
        return tuple(r for r in active if r.ends is None or facts.now is None or moment(r.ends) > facts.now)

    terms = reservation_questions(node_class, release) if behaves("reservation-terms", release) else []
    return _finds(node_class, "capacityReservationSelectorTerms", terms, usable)


def placements_of(node_class: EC2NodeClass, facts: AwsFacts, release: Version) -> Finds[PlacementGroup]:
    """Return the placement group that a class finds, if it is available: Karpenter ignores others."""

    def usable(question: Question) -> tuple[PlacementGroup, ...]:
        return tuple(group for group in facts.placements(question) if group.state == "available")

    asks = placement_question(node_class) if behaves("checks-placement-group", release) else None
    return _finds(node_class, "placementGroupSelector", [asks] if asks is not None else [], usable)


def _finds(
    node_class: EC2NodeClass,
    field: str,
    terms: Iterable[FieldQuestion],
    look_up: Callable[[Question], tuple[_Found, ...]],
) -> Finds[_Found]:
    spec = node_class.node.get("spec")
    node = node_class.node.find("spec", field)
    found: list[TermFinds[_Found]] = []
    for term in terms:
        try:
            hits = look_up(term.question) if term.question is not None else None
            found.append(TermFinds(term.node, term.question, hits))
        except Missing as missing:
            found.append(TermFinds(term.node, term.question, None, missing))
    # Lines of template code may add terms; so may a placeholder in the place of one, or of the whole list.
    unseen = node is not None and (node.value is UNKNOWN or any(item.value is UNKNOWN for item in node.items))
    at = spec.key(field) if spec is not None else None
    return Finds(at, tuple(found), not unseen and not node_class.document.templated)


def describe_question(question: Question) -> str:
    """Return the id, the name or the tags for which a question asks, as a manifest writes them."""
    return ", ".join(f"{name[4:]}: {value}" if name.startswith("tag:") else value for name, value in question.filters)


def spelt_right(question: Question | None, facts: AwsFacts) -> Question | None:
    """Return the question of the snapshot that differs from this one only in case and punctuation, and whose answer
    is not empty.

    None if there is none, or more than one. The snapshot has it because of another class.
    """
    if question is None or facts.region is None:
        return None
    plain = _plain(question)
    same = [
        other
        for other, answer in facts.region.answers.items()
        if other.kind == question.kind and other != question and answer.found and _plain(other) == plain
    ]
    return same[0] if len(same) == 1 else None


def _plain(question: Question) -> list[tuple[str, ...]]:
    return sorted(tuple(re.sub(r"[^a-z0-9*?]", "", text.lower()) for text in pair) for pair in question.filters)


def elsewhere(pools: Iterable[NodePool], facts: AwsFacts) -> str | None:
    """Return why the AWS facts do not apply to NodePools and their class: the pools are for another region. None if
    the facts apply.

    At least one pool must list zones or regions of another region, and none may be for the region of the facts.
    """
    if facts.region is None:
        return None
    answers = [_pool_in_region(pool, facts.region.name) for pool in pools]
    if False in answers and True not in answers:
        return f"the zones are in another region than the facts (`{facts.region.name}`)"
    return None


def check_region(pools: Iterable[NodePool], facts: AwsFacts, kind: FactKind) -> None:
    """Raise Missing if the AWS facts are for another region than NodePools and their class (see `elsewhere`)."""
    why = elsewhere(pools, facts)
    if why is not None:
        raise Missing(kind, why)


def _pool_in_region(pool: NodePool, region: str) -> bool | None:
    """Return whether a pool is for a region. None if the pool lists neither zones nor regions."""
    answers: list[bool] = []
    for item in requirements_of(pool):
        if item.key in (REGION, ZONE) and item.operator == "In" and item.known and item.texts:
            regions = {text if item.key == REGION else region_of(text) for text in item.texts}
            if None not in regions:
                answers.append(region in regions)
    return all(answers) if answers else None


def region_of_zones(pool: NodePool) -> tuple[str, PoolRequirement] | None:
    """Return the only region of the zones that a pool requires, with the requirement that lists them.

    None if the zones are not known or are in several regions.
    """
    item = find_last_requirement(pool, ZONE)
    if item is None or item.operator != "In" or not item.known:
        return None
    regions = {region_of(text) for text in item.texts}
    region = regions.pop() if len(regions) == 1 else None
    return None if region is None else (region, item)


def region_of(zone: str) -> str | None:
    """Return the region in the name of a zone, also of a Local Zone (`us-east-1-bos-1a`). None if the text is no such
    name.
    """
    forms = table("vocabulary")["forms"]
    region = re.match(forms[REGION], zone)
    return region[0] if region is not None and re.fullmatch(forms[ZONE], zone) else None


def allows_place(requirement: Requirement) -> bool:
    """Return whether a requirement on a region, a zone or a zone id allows one that exists or that AWS may have
    added.
    """
    key = requirement.key
    return requirement.complement or any(state_of_place(key, value) != "impossible" for value in requirement.values)


def name_other_environments(value: str, others: Iterable[str]) -> bool:
    """Return whether a tag's value names an environment or a region, and each of some other names another one.

    `fleet-prod` is of another cluster than `fleet-dev`. False if there is no other name.
    """
    own = list_environments([value])
    theirs = [list_environments([other]) for other in others]
    return bool(own and theirs) and all(named and named.isdisjoint(own) for named in theirs)


def zones_left(pool: NodePool, subnets: Iterable[Subnet]) -> dict[str, str]:
    """Return the zones of subnets that the pool's known requirements allow, each with its zone id."""
    wanted = [
        Requirement.parse(item.key, item.operator, item.texts)
        for item in requirements_of(pool)
        if item.key in (ZONE, ZONE_ID) and item.known and item.operator in ("In", "NotIn", "Exists", "DoesNotExist")
    ]
    left = {}
    for subnet in subnets:
        own = {ZONE: subnet.zone, ZONE_ID: subnet.zoneId}
        if all(requirement.admits(own[requirement.key]) for requirement in wanted):
            left[subnet.zone] = subnet.zoneId
    return dict(sorted(left.items()))
