"""Read the entries of NodePool and EC2NodeClass: requirements, labels, taints, selector terms."""

from __future__ import annotations

from nodelint.base.tuples import NamedTuple
from nodelint.text import UNKNOWN, Node, UnknownValue

Text = str | UnknownValue


class Value(NamedTuple):
    """A value of a list with its node. `text` is None if it is not a string, UNKNOWN if it is a placeholder."""

    text: Text | None
    node: Node

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            raise TypeError(f"a value is no text: compare `value.text` with {other!r}, or use `line.texts`")
        return tuple.__eq__(self, other) is True

    def __hash__(self) -> int:
        return tuple.__hash__(self)


class RequirementLine(NamedTuple):
    """An entry of `spec.template.spec.requirements`, as it is written."""

    node: Node
    key: Text | None
    operator: Text | None
    values: tuple[Value, ...]
    min_values: int | None
    known: bool
    """Whether key, operator and all values can be judged: there is no placeholder and no wrong type."""

    @property
    def texts(self) -> tuple[str, ...]:
        """Return the values that are known strings."""
        return tuple([v.text for v in self.values if isinstance(v.text, str)])

    @property
    def known_texts(self) -> tuple[str, ...] | None:
        """Return the values. None if any part of the entry is unknown."""
        return self.texts if self.known else None

    @property
    def key_node(self) -> Node:
        """Return the node of the key's value, or the whole entry if it has no key."""
        return self.node.get("key") or self.node

    @property
    def values_node(self) -> Node:
        """Return the node of the list of values, or the whole entry if it has no list."""
        return self.node.get("values") or self.node


class Label(NamedTuple):
    """An entry of a map of labels or tags."""

    key_node: Node
    node: Node
    key: Text
    value: Text | None


class Taint(NamedTuple):
    """An entry of `taints` or `startupTaints`."""

    node: Node
    key: Text | None
    value: Text | None
    effect: Text | None


class SelectorTerm(NamedTuple):
    """An entry of a list of selector terms (`amiSelectorTerms` and the like)."""

    node: Node
    alias: Text | None
    id: Text | None
    name: Text | None
    owner: Text | None
    ssm_parameter: Text | None
    tags: tuple[Label, ...]


class Alias(NamedTuple):
    """The parts of an alias `family@version` in an AMI selector term. `version` is empty if it is missing."""

    family: str
    version: str


class ClassRef(NamedTuple):
    """`spec.template.spec.nodeClassRef` of a NodePool."""

    node: Node
    group: Text | None
    kind: Text | None
    name: Text | None


def parse_alias(value: str) -> Alias:
    """Return the parts of an alias such as `al2023@v20250403`, split at the first `@` as in the controller."""
    family, _, version = value.partition("@")
    return Alias(family, version)


def text(node: Node | None) -> Text | None:
    """Return the string of a scalar node. `UNKNOWN` for a placeholder, None for anything else."""
    if node is None or node.kind != "scalar":
        return None
    if isinstance(node.value, str) or node.value is UNKNOWN:
        return node.value
    return None


def whole_number(node: Node | None) -> int | None:
    """Return the integer of a node. None for anything else."""
    value = node.value if node is not None else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def mappings_of(node: Node | None) -> list[Node]:
    """Return the mappings of a list. Empty if it is not a list."""
    if node is None or node.kind != "sequence":
        return []
    return [item for item in node.items if item.kind == "mapping"]


def requirement_line(node: Node) -> RequirementLine:
    """Return an entry of a list of requirements: of a NodePool, or of an image in the status of a class."""
    listed = node.get("values")
    is_list = listed is None or listed.kind == "sequence"
    key, operator = text(node.get("key")), text(node.get("operator"))
    values = [Value(text(item), item) for item in listed.items] if listed is not None else []
    known = is_list and isinstance(key, str) and isinstance(operator, str)
    return RequirementLine(
        node=node,
        key=key,
        operator=operator,
        values=tuple(values),
        min_values=whole_number(node.get("minValues")),
        known=known and all(isinstance(value.text, str) for value in values),
    )


def labels(node: Node | None) -> tuple[Label, ...]:
    """Return the entries of a map of labels or tags. Empty if it is not a mapping."""
    if node is None or node.kind != "mapping":
        return ()
    found = []
    for entry in node.entries:
        key = text(entry.key)
        if key is not None:
            found.append(Label(entry.key, entry.value, key, text(entry.value)))
    return tuple(found)


def taint(node: Node) -> Taint:
    """Return an entry of a list of taints."""
    return Taint(node, text(node.get("key")), text(node.get("value")), text(node.get("effect")))


def selector_term(node: Node) -> SelectorTerm:
    """Return an entry of a list of selector terms."""
    return SelectorTerm(
        node=node,
        alias=text(node.get("alias")),
        id=text(node.get("id")),
        name=text(node.get("name")),
        owner=text(node.get("owner")),
        ssm_parameter=text(node.get("ssmParameter")),
        tags=labels(node.get("tags")),
    )
