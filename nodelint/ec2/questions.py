"""The questions that Karpenter would ask AWS about a class.

`nodelint refresh` asks these questions, and the checks look up their answers, so that both always agree. A question
is made only of known values: a placeholder makes none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import Any
from nodelint.data import table
from nodelint.ec2.facts import AwsFacts, Missing
from nodelint.ec2.snapshot import MachineImage, Question, Region, Reply, Row
from nodelint.model.fact_kinds import FactKind
from nodelint.model.manifest import EC2NodeClass
from nodelint.model.manifest_terms import Alias, Label, SelectorTerm, Text, labels, parse_alias, text
from nodelint.model.releases import NEWEST, KubernetesVersion, Version, behaves, kubernetes_match, releases_match
from nodelint.text import UNKNOWN, Node
from nodelint.text.missing import items_of

DEFAULT_OWNERS = ("self", "amazon")
"""The owners whose images a name without owner finds (Karpenter 1.0.0 and newer)."""

ENCRYPTION = Question("volume-encryption")
"""The question whether the account encrypts volumes by default. Asked if a class has a volume without `encrypted`."""

EVERYWHERE = (Question("instance-types"), Question("offerings"))
"""The questions that are asked for every region, whatever the manifests contain."""


def image_question(term: SelectorTerm) -> Question | None:
    """Return the question of an AMI selector term without alias and parameter. None if the term has neither id, name
    nor tags, or a placeholder.

    If a term has an id, the other fields do not count. Names and tag values are filter patterns of EC2.
    """
    if isinstance(term.id, str) and term.id:
        return id_question(term.id)
    if term.id or term.ssm_parameter or term.alias:
        return None
    tags = tag_filters(term.tags)
    if tags is None or not (isinstance(term.name, str) or term.name is None):
        return None
    if not (isinstance(term.owner, str) or term.owner is None):
        return None
    if term.name:
        owners = (term.owner,) if term.owner else DEFAULT_OWNERS
        return Question.make("images", ("name", term.name), *tags, owners=owners)
    # The API server refuses a term with an owner alone. The answer would be all images of the owner.
    if not tags:
        return None
    return Question.make("images", *tags, owners=(term.owner,) if term.owner else ())


def subnet_question(term: SelectorTerm) -> Question | None:
    """Return the question of a subnet selector term: by its id only, else by its tags. None for a placeholder, or
    without both.
    """
    return _id_or_tags("subnets", "subnet-id", term)


def group_question(term: SelectorTerm) -> Question | None:
    """Return the question of a security group selector term: by its id only, else by its name, else by its tags. None
    for a placeholder, or without all of them.
    """
    if not term.id and term.name:
        return Question.make("security-groups", ("group-name", term.name)) if isinstance(term.name, str) else None
    return _id_or_tags("security-groups", "group-id", term)


def _id_or_tags(kind: FactKind, id_filter: str, term: SelectorTerm) -> Question | None:
    if term.id:
        return Question.make(kind, (id_filter, term.id)) if isinstance(term.id, str) else None
    tags = tag_filters(term.tags)
    return Question.make(kind, *tags) if tags else None


def tag_filters(tags: Iterable[Label]) -> list[tuple[str, str]] | None:
    """Return EC2's filters for tags: for the value `"*"`, only the key counts. None if a tag holds a placeholder."""
    filters = []
    for tag in tags:
        if not isinstance(tag.key, str) or not isinstance(tag.value, str):
            return None
        filters.append(("tag-key", tag.key) if tag.value == "*" else (f"tag:{tag.key}", tag.value))
    return filters


class FieldQuestion(NamedTuple):
    """The question of a field or of a list entry, and its node. `question` is None if a placeholder makes it
    unknown.
    """

    node: Node
    question: Question | None


def reservation_questions(node_class: EC2NodeClass, release: Version = NEWEST) -> list[FieldQuestion]:
    """Return the questions for each entry of `capacityReservationSelectorTerms`.

    They find reservations in every state, although Karpenter uses only active ones. An entry with an id and tags
    gives two questions. `instanceMatchCriteria` counts from 1.8.0 on.
    """
    questions = []
    for node in items_of(node_class.node.find("spec", "capacityReservationSelectorTerms")):
        if node.kind != "mapping":
            continue
        id, owner, match = (text(node.get(key)) for key in ("id", "ownerID", "instanceMatchCriteria"))
        tags, match = labels(node.get("tags")), match if behaves("reservation-match-terms", release) else None
        if id:
            questions.append(
                FieldQuestion(node, _question_by_name("capacity-reservations", "capacity-reservation-id", id))
            )
        if tags or match:
            questions.append(FieldQuestion(node, _reservations(tags, owner, match)))
    return questions


def _reservations(tags: Iterable[Label], owner: Text | None, match: Text | None) -> Question | None:
    filters = tag_filters(tags)
    if filters is None or owner is UNKNOWN or match is UNKNOWN:
        return None
    rest = (("owner-id", owner), ("instance-match-criteria", match))
    filters += [(name, value) for name, value in rest if isinstance(value, str) and value]
    return Question.make("capacity-reservations", *filters)


def placement_question(node_class: EC2NodeClass) -> FieldQuestion | None:
    """Return the question of placementGroupSelector: by its id, else by its name. None if the class has neither.

    It finds groups in every state, although Karpenter uses only an available one.
    """
    node = node_class.node.find("spec", "placementGroupSelector")
    for key, filter in (("id", "group-id"), ("name", "group-name")):
        value = text(node.get(key)) if node is not None and node.kind == "mapping" else None
        if node is not None and value:
            return FieldQuestion(node.get(key) or node, _question_by_name("placement-groups", filter, value))
    return None


def profile_question(node_class: EC2NodeClass) -> FieldQuestion | None:
    """Return the question of `instanceProfile`. None if the class has none."""
    return _field(node_class, "instanceProfile", "instance-profiles")


def role_question(node_class: EC2NodeClass) -> FieldQuestion | None:
    """Return the question of `role`, without a path before the name. None if the class has none."""
    question = _field(node_class, "role", "roles")
    name = question.question.value("name") if question is not None and question.question is not None else None
    return (
        question._replace(question=_question_by_name("roles", "name", name.rpartition("/")[2]))
        if question and name
        else question
    )


def _field(node_class: EC2NodeClass, field: str, kind: FactKind) -> FieldQuestion | None:
    node = node_class.node.find("spec", field)
    value = text(node)
    return FieldQuestion(node, _question_by_name(kind, "name", value)) if node is not None and value else None


def _question_by_name(kind: FactKind, filter: str, value: Text) -> Question | None:
    return Question.make(kind, (filter, value)) if isinstance(value, str) else None


class AskedAlias(NamedTuple):
    """The alias of a class: its text in the file (`shown`), and whether its version is `known` (no placeholder)."""

    alias: Alias
    node: Node
    shown: str
    known: bool = True


def alias_of(node_class: EC2NodeClass) -> AskedAlias | None:
    """Return the alias of a class: the first alias of its terms, whatever other terms there are. None if there is
    none.

    A v1beta1 class with an AMI family and no terms is converted to the family's alias at latest (Karpenter 1.0).
    """
    for term in node_class.ami_terms:
        if not term.alias:
            continue
        node = term.node.get("alias") or term.node
        if isinstance(term.alias, str):
            return AskedAlias(parse_alias(term.alias), node, term.alias)
        # The family is before the `@`. A placeholder after the `@` makes only the version unknown.
        written = re.match(r"[\"']?([a-zA-Z0-9]+)@", node.text)
        return AskedAlias(Alias(written[1], "latest"), node, node.unquoted, known=False) if written else None
    field = node_class.node.find("spec", "amiSelectorTerms")
    if node_class.version != "v1beta1" or node_class.partial or (field is not None and field.items):
        return None
    at = node_class.node.find("spec", "amiFamily") or node_class.name_node
    named = (name for name, row in alias_families().items() if row["amiFamily"] == node_class.ami_family)
    return next((AskedAlias(Alias(name, "latest"), at, f"{name}@latest") for name in named), None)


class AliasImage(NamedTuple):
    """An image of an alias in a release: architecture, variants, and the SSM parameter that contains its id."""

    arch: str
    variants: tuple[str, ...]
    parameter: str


def alias_rows(family: str, release: Version, version: str = "latest") -> list[dict[str, Any]]:
    """Return the images of an alias in a release as `data/images.json` has them. Raise KeyError if `family` is not an
    alias family.
    """
    return [
        image
        for image in alias_families()[family]["images"]
        if releases_match(image.get("releases", ""), release)
        and not (re.fullmatch(r"v\d{8}", version) and version < image.get("published", ""))
    ]


def alias_parameters(alias: Alias, release: Version, kubernetes: KubernetesVersion) -> list[AliasImage]:
    """Return the images of an alias with their SSM parameters.

    Empty if the release or Kubernetes does not have the alias.
    """
    family: dict[str, Any] | None = alias_families().get(alias.family)
    if (
        family is None
        or not releases_match(family["releases"], release)
        or not kubernetes_match(family["kubernetes"], kubernetes)
        or re.fullmatch(family["versions"], alias.version) is None
    ):
        return []
    found = []
    for image in alias_rows(alias.family, release, alias.version):
        # Bottlerocket's parameters have no `v` before the version, which Karpenter takes off.
        words = {"kubernetes": kubernetes, "version": alias.version, "bare": alias.version.lstrip("v")}
        pinned: str = image.get("pinned") or family.get("pinned", "")
        which = family.get("latest", "") if alias.version == "latest" else pinned.format(**words)
        path: str = image["parameter"]
        found.append(AliasImage(image["arch"], tuple(image["variants"]), path.format(**words, which=which)))
    return found


def alias_version_behind(image_name: str) -> str | None:
    """Return the alias version to which an image with a published name can be pinned: `v20250403`. None for other
    names.
    """
    for family in alias_families().values():
        found = re.fullmatch(family.get("names", "(?!)"), image_name)
        if found:
            return found[1]
    return None


def latest_version(
    family: str, release: Version, kubernetes: KubernetesVersion | None, facts: AwsFacts
) -> str | None:
    """Return the version that `<family>@latest` resolves to. None if the Kubernetes version is not known, if the
    facts have no such image, or if no parameter of that version exists.
    """
    if kubernetes is None:
        return None
    for image in _alias_found(Alias(family, "latest"), release, kubernetes, facts):
        version = alias_version_behind(image.name)
        if version is not None:
            return version if _may_be_published(Alias(family, version), release, kubernetes, facts) else None
    return None


def _may_be_published(alias: Alias, release: Version, kubernetes: KubernetesVersion, facts: AwsFacts) -> bool:
    try:
        rows = alias_parameters(alias, release, kubernetes)
        return any(facts.parameter(row.parameter) is not None for row in rows)
    except Missing:
        return True


def alias_families() -> dict[str, Any]:
    """Return the alias families with their facts, by name (`data/images.json`)."""
    families: dict[str, Any] = table("images")["families"]
    return families


def parameter_question(name: str) -> Question:
    """Return the question for an SSM parameter."""
    return Question.make("parameters", ("name", name))


def id_question(id: str) -> Question:
    """Return the question for the image with an id."""
    return Question.make("images", ("image-id", id))


def _alias_questions(
    alias: Alias, release: Version, kubernetes: KubernetesVersion | None, facts: AwsFacts
) -> Iterator[Question]:
    """Yield the questions for the SSM parameters of an alias and for their images. The alias at latest, and at the
    version that latest resolves to, is asked for as well.
    """
    if kubernetes is None:
        return
    latest = Alias(alias.family, "latest")
    wanted = dict.fromkeys((alias, latest))
    behind = (alias_version_behind(image.name) for image in _alias_found(latest, release, kubernetes, facts))
    wanted |= {Alias(alias.family, version): None for version in behind if version is not None}
    for wanted_alias in wanted:
        for row in alias_parameters(wanted_alias, release, kubernetes):
            yield from _parameter_questions(row.parameter, facts)


def _alias_found(
    alias: Alias, release: Version, kubernetes: KubernetesVersion, facts: AwsFacts
) -> Iterator[MachineImage]:
    for row in alias_parameters(alias, release, kubernetes):
        try:
            id = facts.parameter(row.parameter)
            yield from facts.images(id_question(id)).images if id else ()
        except Missing:
            continue


def _parameter_questions(name: str, facts: AwsFacts) -> Iterator[Question]:
    yield parameter_question(name)
    try:
        id = facts.parameter(name)
    except Missing:
        return
    if id is not None and id.startswith("ami-"):
        yield id_question(id)


def network_questions(node_class: EC2NodeClass) -> Iterator[Question]:
    """Yield the questions of a class about subnets and security groups."""
    questions = [
        *map(subnet_question, node_class.subnet_terms),
        *map(group_question, node_class.security_group_terms),
    ]
    yield from (question for question in questions if question is not None)


Ask = Callable[[Sequence[Question]], Reply]
"""A function that sends questions to a region. Every question gets an answer, or the reason why there is none."""


class ClassesAt(NamedTuple):
    """The classes of one cluster, with its Karpenter release and Kubernetes version."""

    classes: Sequence[EC2NodeClass]
    karpenter: Version
    kubernetes: KubernetesVersion | None


def gather_all(ask: Ask, region: str, places: Sequence[ClassesAt], known: Region | None = None) -> Reply:
    """Return the answers that `gather` returns, for classes of several releases. No question is asked twice."""
    found = known or Region(region, None, {})
    rows: tuple[Row, ...] = ()
    for place in places:
        reply = gather(ask, region, place.classes, place.karpenter, place.kubernetes, found)
        found, rows = reply.region, rows + reply.rows
    return Reply(found, rows)


def gather(
    ask: Ask,
    region: str,
    classes: Sequence[EC2NodeClass],
    release: Version,
    kubernetes: KubernetesVersion | None,
    known: Region | None = None,
) -> Reply:
    """Return the answers to all questions about some classes. Questions with an answer in `known` are not asked
    again.

    Some questions follow from answers (the image of a parameter), so questions are asked in rounds until there is no
    new one.
    """
    found = known or Region(region, None, {})
    rows: tuple[Row, ...] = ()
    answered = set(found.answers)
    while True:
        facts = AwsFacts(region=found)
        new = [q for q in dict.fromkeys(questions(classes, release, kubernetes, facts)) if q not in answered]
        if not new:
            return Reply(found, rows)
        reply = ask(new)
        answered.update(new)
        found = found.merged(reply.region)
        rows += reply.rows


def questions(
    classes: Sequence[EC2NodeClass], release: Version, kubernetes: KubernetesVersion | None, facts: AwsFacts
) -> Iterator[Question]:
    """Yield all questions that Karpenter would ask about these classes and that the known facts allow."""
    yield from EVERYWHERE
    if any(map(_leaves_encryption_open, classes)):
        yield ENCRYPTION
    for node_class in classes:
        yield from network_questions(node_class)
        yield from (
            question.question
            for question in _list_named_resources(node_class, release)
            if question.question is not None
        )
        alias = alias_of(node_class)
        if alias is not None:
            if alias.known:
                yield from _alias_questions(alias.alias, release, kubernetes, facts)
            continue
        for term in node_class.ami_terms:
            question = image_question(term)
            if question is not None:
                yield question
            elif not term.id and isinstance(term.ssm_parameter, str) and behaves("ssm-parameter-terms", release):
                yield from _parameter_questions(term.ssm_parameter, facts)


def _leaves_encryption_open(node_class: EC2NodeClass) -> bool:
    mappings = node_class.node.find("spec", "blockDeviceMappings")
    volumes = (mapping.get("ebs") for mapping in mappings.items) if mappings is not None else ()
    return any(ebs is not None and ebs.kind == "mapping" and ebs.get("encrypted") is None for ebs in volumes)


def _list_named_resources(node_class: EC2NodeClass, release: Version) -> Iterator[FieldQuestion]:
    """Yield the questions about a class's reservations, placement group, instance profile and role."""
    if behaves("reservation-terms", release):
        yield from reservation_questions(node_class, release)
    group = placement_question(node_class) if behaves("checks-placement-group", release) else None
    yield from (question for question in (group, profile_question(node_class), role_question(node_class)) if question)
