"""Checks of the controller and of EC2 for an EC2NodeClass that the API server accepts.

The facts are those of the AWS provider 1.0.0 to 1.14.1 (selector terms become filters of Describe calls, block
devices and user data become a launch template) and of the EC2 API reference (`EbsBlockDevice`, user data, tags).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from nodelint.karpenter.controller.kubelet import lost_fields, problems
from nodelint.karpenter.controller.problem import NO_LAUNCH, ControllerProblem
from nodelint.karpenter.controller.syntax import seconds
from nodelint.karpenter.controller.volumes import volumes
from nodelint.model.manifest import EC2NodeClass
from nodelint.model.manifest_terms import Label, SelectorTerm, text
from nodelint.model.messages import short
from nodelint.model.releases import Version, behaves
from nodelint.text import Node

_UNREADABLE = "the API server accepts the object, but the controller cannot read it, nor any list that includes it"

_USER_DATA = 16384
"""The largest user data that EC2 accepts, in bytes before base64."""

_ADDED = 1500
"""The fewest bytes that Karpenter adds to the user data of an AMI family: the certificate of the cluster alone has as
many.
"""

# Of a security group's term, Karpenter uses the first of these fields that is set, and ignores the listed others.
_GROUP_FIELDS: tuple[tuple[str, tuple[str, ...]], ...] = (("id", ("name", "tags")), ("name", ("tags", "id")))

_LONGEST_ROLE = 64
_LONGEST_PROFILE = 128
"""The most characters in the name of an IAM instance profile, after those of a role (IAM User Guide, quotas)."""


def node_class(obj: EC2NodeClass, release: Version) -> Iterator[ControllerProblem]:
    """Yield the problems of an EC2NodeClass, in the controller's order of its fields."""
    yield from _images(obj, release)
    yield from _subnets(obj)
    yield from _security_groups(obj)
    yield from _reservations(obj)
    yield from volumes(obj)
    yield from _kubelet(obj, release)
    yield from _user_data(obj)
    yield from _tags(obj)
    yield from _profile(obj)
    yield from _role(obj, release)


def _profile(obj: EC2NodeClass) -> Iterator[ControllerProblem]:
    node = obj.node.find("spec", "instanceProfile")
    profile = text(node)
    if node is not None and isinstance(profile, str):
        if profile.startswith("arn:"):
            yield ControllerProblem(
                node,
                f"`{short(profile)}` is an ARN: instanceProfile must be a name",
                "instance-profile",
                "error",
                NO_LAUNCH,
                profile.rpartition("/")[2] or None,
            )
        elif len(profile) > _LONGEST_PROFILE:
            message = (
                f"`{short(profile)}` is too long for an instance profile: {len(profile)} characters, at most 128"
            )
            yield ControllerProblem(node, message, "instance-profile", "error", NO_LAUNCH)


_ARN = (
    r"(?:\$\{\s*)?(?:aws_iam_role\.[\w\[\]\"*.-]+\.arn|module\.[\w\[\]\"*.-]+\.(?:node_)?iam_role_arn)(?:\s*\})?"
    r"|\$\{?\s*[\w.]*(?i:role_?arn)\s*\}?|\{\{-?\s*\.Values\.[\w.]*(?i:role_?arn)\s*(?:\|\s*quote\s*)?-?\}\}"
)
"""A pattern for references to the ARN of a role: an attribute or output in Terraform, or a variable with such a
name.
"""


def _role(obj: EC2NodeClass, release: Version) -> Iterator[ControllerProblem]:
    node = obj.node.find("spec", "role")
    if node is None:
        return
    written = text(node)
    refers = not isinstance(written, str) and re.fullmatch(_ARN, node.unquoted) is not None
    if not refers and not isinstance(written, str):
        return
    role = node.unquoted if refers else str(written)
    name = "" if refers else role.rpartition("/")[2]
    is_arn = refers or role.startswith("arn:")
    if len(name) > _LONGEST_ROLE:
        yield ControllerProblem(
            node,
            f"`{short(name)}` is too long for a role: {len(name)} characters, at most {_LONGEST_ROLE}",
            "role",
            "error",
            "IAM has no such role: Karpenter creates no instance profile, and the class never becomes ready",
        )
    elif (is_arn or "/" in role) and release < Version(1, 2, 0):
        what = "an ARN" if is_arn else "a role with its path"
        yield ControllerProblem(
            node,
            f"`{short(role, 36)}` is {what}: before Karpenter 1.2.0, role must be a name",
            "role",
            "error",
            "IAM refuses to put it into an instance profile, and the class never becomes ready",
            name or None,
        )
    elif (is_arn or "/" in role) and release >= Version(1, 7, 0):
        what = "an ARN" if is_arn else "a role with its path"
        yield ControllerProblem(
            node,
            f"`{short(role, 36)}` is {what}: Karpenter keeps creating instance profiles",
            "role",
            "warning",
            "IAM returns the bare name of the role, which never equals `role`: Karpenter creates a new profile each "
            "time that it looks (at most every 15 minutes), and deletes unused ones later",
            name or None,
        )


def _images(obj: EC2NodeClass, release: Version) -> Iterator[ControllerProblem]:
    for term in obj.ami_terms:
        if isinstance(term.alias, str) and term.alias.count("@") > 1:
            yield ControllerProblem(
                term.node.get("alias") or term.node,
                f"the alias `{short(term.alias)}` has more than one `@`",
                "alias",
                "error",
                "the API server accepts the alias, but the controller fails when it reads it",
            )
        yield from _id(term, "ami", "image")
        if release >= Version(1, 4, 0) and _is_set(term.node, "ssmParameter"):
            if _is_set(term.node, "alias"):
                yield _ignored(term, "ssmParameter", "alias")
            elif _is_set(term.node, "id"):
                yield _ignored(term, "ssmParameter", "id")
            elif term.ssm_parameter:
                for name in ("name", "owner", "tags"):
                    if _is_set(term.node, name):
                        yield _ignored(term, name, "ssmParameter")
        yield from _everything(term, "image", ("alias", "id", "ssmParameter", "name"))


def _subnets(obj: EC2NodeClass) -> Iterator[ControllerProblem]:
    terms = obj.subnet_terms
    every = all(_is_set(term.node, "id") and _is_set(term.node, "tags") for term in terms)
    for term in terms:
        yield from _id(term, "subnet", "subnet")
        if _is_set(term.node, "id") and _is_set(term.node, "tags") and not every:
            yield _ignored(term, "tags", "id")
        yield from _everything(term, "subnet", ("id",))


def _security_groups(obj: EC2NodeClass) -> Iterator[ControllerProblem]:
    terms = obj.security_group_terms
    refused = any(_all_hold(terms, first, others) for first, others in _GROUP_FIELDS)
    for term in terms:
        yield from _id(term, "sg", "security group")
        first, others = next(((f, o) for f, o in _GROUP_FIELDS if _is_set(term.node, f)), ("", ()))
        for other in others if not refused else ():
            if _is_set(term.node, other):
                yield _ignored(term, other, first)
        yield from _everything(term, "security group", ("id", "name"))


def _all_hold(terms: Sequence[SelectorTerm], first: str, others: Sequence[str]) -> bool:
    """Return whether every term has `first` and one of `others`: then the API server refuses the list already."""
    return all(_is_set(t.node, first) and any(_is_set(t.node, other) for other in others) for t in terms)


def _reservations(obj: EC2NodeClass) -> Iterator[ControllerProblem]:
    terms = obj.node.find("spec", "capacityReservationSelectorTerms")
    items = [item for item in terms.items if item.kind == "mapping"] if terms is not None else []
    other_fields = ("tags", "ownerID", "instanceMatchCriteria")
    every = all(_is_set(item, "id") and any(_is_set(item, name) for name in other_fields) for item in items)
    for item in items:
        tags = item.get("tags")
        if _is_set(item, "id"):
            for name in other_fields:
                node = item.key(name)
                if node is not None and _is_set(item, name) and not every:
                    narrows = name != "ownerID" or _is_set(item, "tags") or _is_set(item, "instanceMatchCriteria")
                    way_out = "give it a term of its own" if narrows else f"remove `{name}`"
                    yield ControllerProblem(
                        node,
                        f"`{name}` has no effect in a term with `id`: {way_out}",
                        "ignored-field",
                        "warning",
                        "the controller searches by id alone, and then by the other fields alone",
                    )
        elif (
            tags is not None
            and tags.kind == "mapping"
            and not tags.entries
            and not _is_set(item, "instanceMatchCriteria")
        ):
            yield ControllerProblem(
                tags,
                "a term without a tag selects no capacity reservation",
                "empty-term",
                "warning",
                "the controller ignores the term",
            )


def _id(term: SelectorTerm, prefix: str, what: str) -> Iterator[ControllerProblem]:
    # The CRD's pattern is not anchored: a text that holds an id somewhere passes.
    if not isinstance(term.id, str):
        return
    found = re.search(prefix + "-[0-9a-z]+", term.id)
    if found is None or found[0] == term.id:
        return
    article = "an" if what[0] in "aeiou" else "a"
    alone = len(re.findall(prefix + "-[0-9a-z]+", term.id)) == 1 and term.id.strip() == found[0]
    yield ControllerProblem(
        term.node.get("id") or term.node,
        f"`{short(term.id)}` is not the id of {article} {what}: write one id and nothing else",
        "selector-id",
        "error",
        f"EC2 finds no {what} with it",
        found[0] if alone else None,
    )


def _everything(term: SelectorTerm, what: str, fields: Sequence[str]) -> Iterator[ControllerProblem]:
    """Yield a problem for a selector term without any filter (`tags: {}`, or an empty name), and for each tag without
    a value, which the API server drops.
    """
    tags = term.node.get("tags")
    dropped = [label for label in term.tags if label.node.kind == "scalar" and label.node.value is None]
    if (
        tags is not None
        and _is_set(term.node, "tags")
        and (tags.kind != "mapping" or len(tags.entries) > len(dropped))
    ):
        yield from (_dropped_tag(label, what) for label in dropped)
        return
    written = [node for node in (term.node.get(name) for name in fields if _is_set(term.node, name)) if node]
    if any(node.kind != "scalar" or node.value != "" for node in written):
        if what == "image" and [node.value for node in written] == ["*"] and written[0] is term.node.get("name"):
            yield ControllerProblem(
                written[0],
                "the name `*` selects every image that the term may use: the newest is launched",
                "empty-term",
                "warning",
                "an image that was made for something else replaces the nodes as soon as it is the newest",
            )
        return
    empty = tags if tags is not None and tags.kind == "mapping" else next(iter(written), None)
    if empty is not None:
        owner = term.node.get("owner")
        whose = " of its owner" if owner is not None and owner.value != "" and what == "image" else ""
        yield ControllerProblem(
            empty,
            f"a term without a tag or name selects every {what}{whose}",
            "empty-term",
            "error",
            f"the controller searches every {what}{whose} in the region",
        )


def _dropped_tag(label: Label, what: str) -> ControllerProblem:
    return ControllerProblem(
        label.key_node,
        f"`{short(label.key_node.unquoted)}` has no value: the API server drops the tag",
        "ignored-field",
        "warning",
        f"the term selects {'an' if what[0] in 'aeiou' else 'a'} {what} by its other tags alone",
    )


def _is_set(node: Node, name: str) -> bool:
    """Return whether a field has a value other than null: the API server drops a null."""
    value = node.get(name)
    return value is not None and not (value.kind == "scalar" and value.value is None)


def _ignored(term: SelectorTerm, name: str, other_fields: str) -> ControllerProblem:
    return ControllerProblem(
        term.node.key(name) or term.node,
        f"`{name}` is ignored in a term with `{other_fields}`",
        "ignored-field",
        "warning",
        f"the controller reads `{other_fields}` alone",
    )


def _kubelet(obj: EC2NodeClass, release: Version) -> Iterator[ControllerProblem]:
    kubelet = obj.node.find("spec", "kubelet")
    if kubelet is None:
        return
    if behaves("open-kubelet", release):
        yield from problems(obj, release)
        return
    yield from lost_fields(obj, kubelet)
    for field in ("evictionHard", "evictionSoft"):
        signals = kubelet.get(field)
        for entry in signals.entries if signals is not None else ():
            if entry.value.value == "" and entry.value.kind == "scalar":
                yield ControllerProblem(
                    entry.value,
                    f"{field} has no threshold for `{short(entry.name or '')}`",
                    "eviction",
                    "error",
                    "the controller fails when it computes the capacity of a node",
                )
    periods = kubelet.get("evictionSoftGracePeriod")
    for entry in periods.entries if periods is not None else ():
        written = text(entry.value)
        if isinstance(written, str) and seconds(written) is None:
            bare = written.strip().isdigit()
            yield ControllerProblem(
                entry.value,
                f"`{short(written)}` is not a duration that the controller can read",
                "unreadable",
                "error",
                _UNREADABLE,
                f"{written.strip()}s" if bare else None,
            )


def _user_data(obj: EC2NodeClass) -> Iterator[ControllerProblem]:
    node = obj.node.find("spec", "userData")
    data = text(node)
    if node is None or not isinstance(data, str):
        return
    aliases = [term.alias for term in obj.ami_terms if term.node.get("alias") is not None]
    family = obj.ami_family
    if family is None and len(aliases) == 1 and isinstance(aliases[0], str):
        family = aliases[0].partition("@")[0]
    if isinstance(family, str) and family.lower() == "bottlerocket":
        return  # Karpenter writes this TOML again, so the length in the file is not the final one
    size = len(data.encode("utf-8", "surrogatepass"))
    if not isinstance(family, str):
        return
    if size > _USER_DATA:
        yield ControllerProblem(
            node, f"userData has {size} bytes, and EC2 accepts {_USER_DATA}", "user-data", "error", NO_LAUNCH
        )
    elif family.lower() != "custom" and size + _ADDED > _USER_DATA:
        message = f"userData has {size} bytes: EC2 accepts {_USER_DATA} with what Karpenter adds (1.5 kB or more)"
        yield ControllerProblem(node, message, "user-data", "warning", NO_LAUNCH)


def _tags(obj: EC2NodeClass) -> Iterator[ControllerProblem]:
    tags = obj.node.find("spec", "tags")
    for entry in tags.entries if tags is not None else ():
        key, value = text(entry.key), text(entry.value)
        if isinstance(key, str):
            if key.lower().startswith("aws:"):
                yield _unlaunchable(
                    entry.key, f"the tag `{short(key)}` begins with `aws:`, which is reserved for AWS", "tag"
                )
            elif len(key) > 128:
                yield _unlaunchable(entry.key, f"the tag `{short(key)}` is longer than 128 characters", "tag")
        if isinstance(value, str) and len(value) > 256:
            yield _unlaunchable(entry.value, f"the tag value `{short(value)}` is longer than 256 characters", "tag")


def _unlaunchable(node: Node, message: str, kind: str) -> ControllerProblem:
    return ControllerProblem(node, message, kind, "error", NO_LAUNCH)
