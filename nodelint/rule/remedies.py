"""Suggestions against a refusal that several rules offer by name. Suggestions that remove a field are tried first.

Like all of `edits`, they do not change text in another file or with template code: then there is no suggestion.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from nodelint.base.budget import RUN
from nodelint.base.types import TYPE_CHECKING
from nodelint.edits import add_key, add_keys, apply, if_editable, remove, replace, set_key, set_value
from nodelint.model.documents import objects
from nodelint.model.finding import Edit, Suggestion
from nodelint.model.manifest import EC2NodeClass, Object
from nodelint.model.messages import short
from nodelint.text import UNKNOWN, Node, reread, reread_document
from nodelint.text.missing import is_null as _is_null
from nodelint.text.yaml.scalars import resolve

if TYPE_CHECKING:
    from typing import Protocol

    from nodelint.apiserver import SchemaProblem
    from nodelint.edits.formatting import Plain
    from nodelint.karpenter.userdata import UserData
    from nodelint.karpenter.userdata.source_map import ScalarPlaces

    class Problem(Protocol):
        """A problem of an object, with its node."""

        @property
        def node(self) -> Node: ...

        @property
        def message(self) -> str: ...

    Judge = Callable[[Object], Sequence[Problem]]

DISCOVERY = "karpenter.sh/discovery"
ROLE_PREFIX = "KarpenterNodeRole-"
"""The prefix of the node role, as Karpenter's getting started guide names it for a cluster."""


MOST_OFFERED = 4


def list_suggestions(ways: Iterable[tuple[str, list[Edit]]]) -> list[Suggestion]:
    """Return the suggestions of the first `ways` that have edits, each change once."""
    found: dict[tuple[tuple[int, int, str], ...], Suggestion] = {}
    for name, changes in ways:
        if changes:
            found.setdefault(tuple((e.start, e.end, e.text) for e in changes), Suggestion(name, changes))
    return list(found.values())[:MOST_OFFERED]


MOST_TRIED = 25
"""The most problems of one object for which suggestions are tried: each trial reads and judges the object again."""


def duration_meant(text: str) -> str | None:
    """Return the duration that was meant by `30d` or `24H`, as Go writes it: `720h`. None if the text is no
    duration.
    """
    from nodelint.apiserver import value_suggestions

    return value_suggestions.duration_meant(text)


def write_meant(node: Node, meant: str, wanted: str, several: bool = False) -> list[Edit]:
    """Return the edits that write the value which was meant by a scalar, with the JSON type `wanted`; an empty
    `wanted` keeps its type.

    If a list is wanted, the value becomes its only item. With `several`, each part between commas becomes an item.
    """
    if wanted == "array":
        items: list[Plain] = [part.strip() for part in meant.split(",")] if several else [meant]
        return if_editable(replace, node, items) if all(items) else []
    value = resolve(meant) if node.value == meant else meant
    return if_editable(set_value, node, value) if isinstance(value, str | int | float) else []


def drop_refused(obj: Object, node: Node, judge: Judge | None) -> list[Suggestion]:
    """Return the suggestion to remove an entry or item, if the object then has fewer problems and no new ones.

    Without `judge` this is not checked: the caller knows that nothing else depends on the removed text.
    """
    holder = node.parent
    if holder is None or node.shared:
        return []
    if len(holder.entries) == 1 and (obj.partial or _is_tags_of_term(holder)):
        return []  # an empty mapping may be refused (not checked in a partial object), or may select everything
    problems = judge(obj) if judge is not None else ()
    if len(problems) > MOST_TRIED and all(problem.node is not node for problem in problems[:MOST_TRIED]):
        return []
    changes = if_editable(remove, node)
    if not changes or (judge is not None and not _settles(obj, changes, judge)):
        return []
    entry = next((e for e in holder.entries if node in (e.key, e.value)), None)
    name = f"remove `{entry.name}`" if entry is not None and entry.name else "remove this entry"
    return [Suggestion(name, changes)]


def _is_tags_of_term(holder: Node) -> bool:
    term = holder.parent
    if term is None or term.parent is None or term.parent.kind != "sequence":
        return False
    return term.get("tags") is holder


def _settles(obj: Object, changes: list[Edit], judge: Judge) -> bool:
    """Return whether an object has fewer problems after the edits, and none that it did not have before.

    If the values of an operator such as `Gt` are removed as a whole, its one required value is still missing.
    """
    source = obj.source
    if any(edit.source is not source for edit in changes) or RUN.is_over():
        return False
    document, text = obj.document, apply(source.text, changes)
    inside = all(document.start <= edit.start and edit.end <= document.end for edit in changes)
    changed = reread_document(source, document.index, text) if inside else reread(source, text)
    new = list(objects(changed, foreign=True, more=True))
    old = list(objects(source, foreign=True, more=True))
    at = next((n for n, other in enumerate(old) if other.node is obj.node), None)
    if at is None or len(new) != len(old) or new[at].document.index != obj.document.index:
        return False
    before, after = ([problem.message for problem in judge(judged)] for judged in (obj, new[at]))
    return len(after) < len(before) and Counter(after) <= Counter(before)


def rename_to_missing(
    obj: Object, holder: Node, problems: Sequence[SchemaProblem], judge: Judge
) -> tuple[str, str, list[Edit]] | None:
    """Return an unknown field of a list item, the missing field that was meant, and the edits that rename the field.

    None unless this one change removes a problem. A larger mapping, such as `disruption`, may lack one field and have
    another in the wrong place. `problems` are all problems of the object.
    """
    if holder.parent is None or holder.parent.kind != "sequence" or len(problems) > MOST_TRIED:
        return None
    unknown = [p.node for p in problems if p.layer == "unknown" and p.node.parent is holder]
    missing = [p.missing for p in problems if p.missing is not None and p.holder is holder]
    if len(unknown) != 1 or len(missing) != 1 or not isinstance(unknown[0].value, str):
        return None
    changes = if_editable(set_key, unknown[0], missing[0])
    return (unknown[0].value, missing[0], changes) if changes and _settles(obj, changes, judge) else None


def swap_thresholds(kubelet: Node) -> list[tuple[str, list[Edit]]]:
    """Return the edits that swap the two thresholds of image garbage collection, and those that drop the high one.

    Empty if a number is not known.
    """
    high, low = kubelet.get(_HIGH), kubelet.get("imageGCLowThresholdPercent")
    if high is None or low is None or type(high.value) is not int or type(low.value) is not int:
        return []
    if high.value == low.value:
        return []
    swapped = [if_editable(set_value, high, low.value), if_editable(set_value, low, high.value)]
    dropped = if_editable(remove, high)
    return [("swap the two", [*swapped[0], *swapped[1]] if all(swapped) else []), (f"remove `{_HIGH}`", dropped)]


_HIGH = "imageGCHighThresholdPercent"


def missing_terms(node_class: Object, field: str, others: Sequence[Object]) -> Iterator[tuple[str, list[Edit]]]:
    """Yield the terms for subnets or security groups that a class was probably meant to have, with their edits. They
    come from other terms, other classes and the role's name.
    """
    spec = node_class.node.get("spec")
    if spec is None:
        return
    terms = spec.get(field)
    for title, tags in _discovery_tags(node_class, field, others):
        items = [{"tags": tags}]
        changes = if_editable(add_key, spec, field, items) if terms is None else if_editable(replace, terms, items)
        yield f"select by `{', '.join(f'{k}: {v}' for k, v in tags.items())}`, {title}", changes


def _discovery_tags(node_class: Object, field: str, others: Sequence[Object]) -> Iterator[tuple[str, dict[str, str]]]:
    sibling = "securityGroupSelectorTerms" if field == "subnetSelectorTerms" else "subnetSelectorTerms"
    # A subnet and a security group do not have the same name.
    if (tags := _only_tags(node_class, sibling)) is not None and "Name" not in tags:
        yield f"as {sibling} does", tags
    for other in _other_classes(node_class, others):
        if (tags := _only_tags(other, field)) is not None:
            yield f"as EC2NodeClass `{other.name}` does", tags
    role = node_class.node.find("spec", "role")
    written = role.value if role is not None and isinstance(role.value, str) else ""
    if (named_so := re.fullmatch(rf"{ROLE_PREFIX}([\w-]+)", written)) is not None:
        yield "of the cluster in the name of the role, as Karpenter's guide tags it", {DISCOVERY: named_so[1]}


def move_kubelet_flags(node_class: Object, data: UserData, start: int, end: int) -> list[tuple[str, list[Edit]]]:
    """Return the edits that remove a bootstrap call from `start` to `end`, and those that also move its kubelet flags
    to `spec.kubelet`, each with a title.
    """
    spec, text = node_class.node.get("spec"), data.text
    begin, stop = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    if spec is None or text[begin:start].strip() or re.search(r"[;&|)]", text[start:end]):
        return []
    gone = if_editable(data.places.replace, begin, len(text) if stop < 0 else stop + 1, "")
    kubelet = spec.get("kubelet")
    present = {entry.name for entry in kubelet.entries} if kubelet is not None else set()
    from nodelint.karpenter.userdata.settings import of_flags

    found = [setting for setting in of_flags(text, start, end) if isinstance(setting.value, int)]
    moved: dict[str, Plain] = {setting.name: setting.value for setting in found if setting.name not in present}
    if not gone or not moved or node_class.version != "v1":  # before v1 these settings were the pool's
        return [("remove the call", gone)]
    names = [entry.name for entry in spec.entries]
    before = next((names[n - 1] for n, name in enumerate(names) if name == "userData" and n), None)
    if kubelet is None:
        added = if_editable(add_keys, spec, {"kubelet": moved}, before, before is None)
    else:
        added = if_editable(add_keys, kubelet, moved)
    listed = ", ".join(f"{name}: {value}" for name, value in moved.items())
    title = f"remove the call, and set `{listed}` in spec.kubelet"
    return [(title, [*gone, *added] if added else []), ("remove the call", gone)]


_NAMED_SELECTORS = ("ami", "securityGroup", "subnet")
"""Selectors whose terms can select by name. For a subnet the name is a tag."""


def selected_by_name(obj: Object, at: Node) -> list[tuple[str, list[Edit]]]:
    """Return the edits that make a selector term select by name, if its `id` is a name. Empty if the value may be an
    id.
    """
    term, value = at.parent, at.value
    spec = obj.node.get("spec")
    if term is None or spec is None or not isinstance(value, str) or re.fullmatch(r"\w+-[0-9a-f]{8,17}|\s*", value):
        return []
    for selector in _NAMED_SELECTORS:
        if term.parent is not None and term.parent is spec.get(f"{selector}SelectorTerms") and len(term.entries) == 1:
            named: Plain = {"tags": {"Name": value}} if selector == "subnet" else {"name": value}
            written = f"tags: {{Name: {value}}}" if selector == "subnet" else f"name: {value}"
            return [(f"select by name: `{short(written, 50)}`", if_editable(replace, term, named))]
    return []


def missing_role(node_class: Object, others: Sequence[Object]) -> Iterator[tuple[str, list[Edit]]]:
    """Yield the role or instance profile that a class was probably meant to have, with the edits. They come from
    other classes and from the cluster in its tags.
    """
    spec = node_class.node.get("spec")
    if spec is None:
        return
    for other in _other_classes(node_class, others):
        for name in ("role", "instanceProfile"):
            value = other.node.find("spec", name)
            if value is not None and isinstance(value.value, str):
                title = f"{name} `{value.value}`, as EC2NodeClass `{other.name}` has"
                yield title, _give(spec, name, value.value)
    for field in ("subnetSelectorTerms", "securityGroupSelectorTerms"):
        cluster = (_only_tags(node_class, field) or {}).get(DISCOVERY)
        if cluster is not None:
            role = f"{ROLE_PREFIX}{cluster}"
            title = f"role `{role}`, as Karpenter's guide names it for the cluster `{cluster}`"
            yield title, _give(spec, "role", role)


def is_null(node: Node | None) -> bool:
    """Return whether a field is missing or null, which is the same to the API server."""
    return _is_null(node)


def _give(holder: Node, name: str, value: str) -> list[Edit]:
    """Return the edits that add a field to a mapping, or set a null. Empty if the field has a value."""
    present = holder.get(name)
    if present is None:
        return if_editable(add_key, holder, name, value)
    return if_editable(set_value, present, value) if _is_null(present) else []


MOST_COMPARED = 10
"""The most other classes that are searched for values that a class lacks: a file with hundreds would be compared pair
by pair.
"""


def _other_classes(node_class: Object, others: Sequence[Object]) -> Iterator[Object]:
    classes = (other for other in others if isinstance(other, EC2NodeClass) and other.node is not node_class.node)
    return islice(classes, MOST_COMPARED)


def _only_tags(node_class: Object, field: str) -> dict[str, str] | None:
    """Return the tags of the only term of a field.

    None unless the field has exactly one term, and the term has only tags, all of them known.
    """
    terms = node_class.node.find("spec", field)
    tags = terms.items[0].get("tags") if terms is not None and len(terms.items) == 1 else None
    if terms is None or tags is None or len(terms.items[0].entries) != 1 or not tags.entries:
        return None
    found = {str(entry.name): entry.value.value for entry in tags.entries}
    if any(value is UNKNOWN or not isinstance(value, str) for value in found.values()):
        return None
    return {name: str(value) for name, value in found.items()}


_WORDS = "if|then|elif|else|fi|for|while|until|do|done|case|esac|in|function"
_PART_OF_BLOCK = rf"(?:^|[\s;])(?:{_WORDS})(?=[\s;]|$)|[{{}}(]\s*$|<<"


def without_line(places: ScalarPlaces, start: int, end: int) -> list[Edit]:
    """Return the edits that remove the line of a range from user data. Empty if the line continues, or is part of a
    larger command.
    """
    text = places.text
    begin, newline = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    stop = len(text) if newline < 0 else newline + 1
    line, above = text[begin:stop].rstrip(), text[:begin].rstrip("\n")
    if "\n" in line or line.endswith(("\\", "|", "&&")) or above.endswith(("\\", "|", "&&")):
        return []
    return [] if re.search(_PART_OF_BLOCK, line) else if_editable(places.replace, begin, stop, "")
