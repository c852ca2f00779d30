"""Edits that several rules offer: requirements written into a NodePool, another alias in an EC2NodeClass.

Like all of `edits`, they raise NotEditable if the place is written in another file or holds template code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence

from nodelint.base.types import TYPE_CHECKING
from nodelint.data import table
from nodelint.ec2.catalog import Catalog
from nodelint.ec2.questions import DEFAULT_OWNERS, alias_families, alias_version_behind
from nodelint.ec2.snapshot import MachineImage
from nodelint.ec2.type_set import NONE, TypeSet
from nodelint.karpenter.images import (
    Image,
    ImageSet,
    TermImages,
    alias_images,
    alias_version_valid,
    ami_family_of,
    family_title,
    is_deprecated,
    unknown_fact,
    variant_requirements,
)
from nodelint.karpenter.images.choice import why_unseen
from nodelint.karpenter.labels import nearest_key
from nodelint.karpenter.pool_requirements import requirements_of
from nodelint.karpenter.resolve.accelerators import accelerated
from nodelint.karpenter.resolve.offers import RESERVED
from nodelint.karpenter.resolve.resolution import Resolution
from nodelint.model.finding import Edit
from nodelint.model.gap import Gap
from nodelint.model.keys import ARCH, OS
from nodelint.model.manifest import EC2NodeClass, NodePool
from nodelint.model.manifest_terms import Alias, RequirementLine, Value
from nodelint.model.providers import karpenters_key, providers_key
from nodelint.model.releases import Version
from nodelint.model.requirement import Requirement, normalize
from nodelint.text import UNKNOWN, Node
from nodelint.text.placeholders import depth

if TYPE_CHECKING:
    from datetime import datetime

Wanted = tuple[str, str, tuple[str, ...]]
"""A requirement to write: key, operator, values (empty for Exists and DoesNotExist)."""


def place(pool: NodePool) -> Node:
    """Return the node to report for all requirements of a pool: their key, else the pool's name."""
    spec = pool.node.find("spec", "template", "spec")
    return visible_node((spec.key("requirements") if spec is not None else None) or pool.name_node)


def visible_node(node: Node) -> Node:
    """Return the node that a reader of this object sees: the alias instead of a node inside the anchored value."""
    while node.shared and node.parent is not None:
        node = node.parent
    return node


def names_device(pool: NodePool) -> bool:
    """Return whether a taint of a pool names GPUs or accelerators, so that the pool is meant for nodes with
    devices.
    """
    words = [word for words in table("resources")["words"].values() for word in words]
    names = [taint.key.lower() for taint in pool.taints if isinstance(taint.key, str)]
    return any(word in name for word in words for name in names)


def describe_long_work(pool: NodePool, resolve: Callable[[NodePool], Resolution]) -> str | None:
    """Return a sentence about the eviction of long-running pods, if a pool is for jobs or for pods on GPUs. None
    otherwise.

    `resolve` returns the types that the pool can launch. It is only called if the pool's names show nothing.
    """
    word = names_jobs(pool)
    if word is not None:
        return f"jobs of this pool (`{word}`) are evicted while they run"
    devices = bool(names_device(pool))
    if not devices and not pool.foreign:
        resolution = resolve(pool)
        left = resolution.candidates
        devices = bool(left) and not left - accelerated(resolution.catalog) and not doubts(resolution)
    return "pods on GPUs or accelerators are evicted while they run" if devices else None


def names_jobs(pool: NodePool) -> str | None:
    """Return the word in a pool's name, taints or labels that shows that its pods are jobs, which start again when
    evicted. None if there is none.
    """
    words: frozenset[str] = frozenset(table("vocabulary")["jobs"])
    taints = (text for taint in pool.taints for text in (taint.key, taint.value))
    labels = (text for label in pool.template_labels for text in (label.key, label.value))
    for text in (pool.name, *taints, *labels):
        found = words.intersection(re.split(r"[^a-z0-9]+", text.lower())) if isinstance(text, str) else None
        if found:
            return min(found)
    return None


def idle_annotation(key: str) -> tuple[str, str] | None:
    """Return why a node annotation has no effect, and what to write instead.

    None for any other annotation.
    """
    meaning = table("vocabulary")["idle_annotations"].get(key)
    return None if meaning is None else (str(meaning[0]), str(meaning[1]))


def key_of(node: Node) -> Node:
    """Return the key of a node, to report a field by its name. The node itself if it has no key."""
    entry = node.own_entry
    return visible_node(node if entry is None else entry.key)


def require(pool: NodePool, wanted: Sequence[Wanted]) -> list[Edit]:
    """Return the edits that add requirements to a pool, in the style of the pool's own requirements. Raise
    NotEditable if none can be added.
    """
    from nodelint.edits import NotEditable, add_key, insert_items, replace

    items = []
    for key, operator, values in wanted:
        item: dict[str, str | list[str]] = {"key": providers_key(key, pool.provider), "operator": operator}
        if values:
            item["values"] = list(values)
        items.append(item)
    node = pool.requirements_node
    if node is None:
        spec = pool.node.find("spec", "template", "spec")
        if spec is None:
            raise NotEditable("the NodePool has no spec.template.spec")
        return add_key(spec, "requirements", items)
    if node.kind == "scalar" and node.value is None:
        return replace(node, items)
    return insert_items(node, len(node.items), items)


def keep_out(pool: NodePool, key: str, values: Sequence[str]) -> list[Edit]:
    """Return the edits that exclude values of a label: in the pool's NotIn requirement for the key if it has one,
    else in a new one.
    """
    for line in pool.requirements:
        named = isinstance(line.key, str) and normalize(karpenters_key(line.key, pool.provider)) == key
        if named and line.known and line.operator == "NotIn" and line.node.get("values") is not None:
            return _hold(line.values_node, [*line.texts, *values])
    return require(pool, [(key, "NotIn", tuple(values))])


def take_out(line: RequirementLine, values: Collection[str]) -> list[Edit]:
    """Return the edits that remove some values of a requirement. Raise NotEditable if no value, or fewer than
    minValues, would remain.
    """
    from nodelint.edits import NotEditable

    left = [text for text in line.texts if text not in values]
    if not left:
        raise NotEditable("no value would be left")
    if line.min_values is not None and line.min_values > len(left):
        raise NotEditable("minValues asks for more values than would be left")
    return _hold(line.values_node, left)


def drop(line: RequirementLine, value: Value) -> list[Edit]:
    """Return the edits that remove one value of a requirement. Raise NotEditable in the cases of `take_out`."""
    from nodelint.edits import remove

    if line.values_node.alias or len(line.values) == 1 or (line.min_values or 0) >= len(line.values):
        return take_out(line, (str(value.text),))
    return remove(value.node)


def split_values(values: Node) -> list[Edit]:
    """Return the edits that split texts with commas in a list into several entries. Empty if no text has a comma."""
    from nodelint.edits import if_editable

    texts = [str(item.value) for item in values.items]
    parts = [part.strip() for text in texts for part in text.split(",")]
    if not all(parts) or any(item.value is UNKNOWN or item.kind != "scalar" for item in values.items):
        return []
    return [] if parts == texts else if_editable(_hold, values, list(dict.fromkeys(parts)))


def split_term(term: Node, field: str, values: Sequence[str]) -> list[Edit]:
    """Return the edits that split a term with several ids into one term for each id.

    Raise NotEditable if the term has other fields.
    """
    from nodelint.edits import NotEditable, insert_items, replace

    if term.parent is None or term.parent.kind != "sequence" or len(term.entries) != 1 or not values:
        raise NotEditable("the term says more than its ids")
    at = next(n for n, item in enumerate(term.parent.items) if item is term) + 1
    more = insert_items(term.parent, at, [{field: value} for value in values[1:]]) if len(values) > 1 else []
    return [*replace(term, {field: values[0]}), *more]


def _hold(node: Node, texts: Sequence[str]) -> list[Edit]:
    """Return the edits that set the texts of a list. A YAML alias is replaced, so that its anchor does not change."""
    from nodelint.edits import replace, set_values

    return replace(node, texts) if node.alias else set_values(node, texts)


def move_alias(
    node_class: EC2NodeClass, images: ImageSet, family: str, version: str = "latest", any_script: bool = False
) -> list[Edit]:
    """Return the edits that set another alias in a class that has one, and the matching amiFamily.

    Raise NotEditable if the class has user data or volumes for the old family. With `any_script`, a shell script
    without a known fault under the new family may stay.
    """
    from nodelint.edits import NotEditable, set_value

    node = images.alias_node
    if node is None or images.alias is None:
        raise NotEditable("the class has no alias")
    if node.value is UNKNOWN:
        raise NotEditable("the alias is a placeholder")
    field = node_class.node.find("spec", "amiFamily")
    changed = images.alias.family != family
    if (
        changed
        and not (any_script and _script_fits(node_class, ami_family_of(family)))
        and (node_class.node.find("spec", "userData") is not None)
    ):
        raise NotEditable("the userData is written for the old family")
    devices = node_class.node.find("spec", "blockDeviceMappings") is not None
    if changed and devices and "bottlerocket" in (images.alias.family, family):
        raise NotEditable("the volumes are laid out for the old family")
    if field is node:
        return set_value(node, ami_family_of(family))
    edits = set_value(node, f"{family}@{version}")
    if field is not None and changed and field.value not in ("Custom", UNKNOWN):
        edits = [*edits, *set_value(field, ami_family_of(family))]
    at = [node] if field is None else [node, field]
    return [*edits, *_comments_about(at, images.alias.family, family)] if changed else edits


def _comments_about(nodes: Sequence[Node], old: str, new: str) -> list[Edit]:
    """Return the edits to comments after some values, and directly above them, that replace the name of one family by
    another.
    """
    if old not in alias_families() or nodes[0].style == "hcl":
        return []
    words = {old: new, ami_family_of(old): ami_family_of(new), family_title(old): family_title(new)}
    found: dict[int, Edit] = {}
    for node in nodes:
        text, newline = node.source.text, node.source.text.find("\n", node.end)
        lines = [(node.end, newline if newline >= 0 else len(text))]
        start = text.rfind("\n", 0, node.start) + 1
        while start and re.match(r"[ \t]*#", text[(above := text.rfind("\n", 0, start - 1) + 1) : start]):
            lines.append((above, start - 1))
            start = above
        for begin, end in lines:
            mark = re.compile(r"(?:^|(?<=\s))#", re.M).search(text, begin, end)
            for word in re.compile(r"(?<![\w-])(?:" + "|".join(map(re.escape, words)) + r")(?![\w-])").finditer(
                text, mark.end() if mark is not None else end, end
            ):
                found[word.start()] = Edit(node.source, word.start(), word.end(), words[word[0]])
    return list(found.values())


def _script_fits(node_class: EC2NodeClass, ami_family: str) -> bool:
    from nodelint.karpenter.userdata import misfits, read

    data = read(node_class, ami_family)
    return data is not None and data.looks == "shell" and not any(misfits(data))


def alias_instead(node_class: EC2NodeClass, images: ImageSet) -> tuple[str, list[Edit]]:
    """Return the alias that can replace terms for a family's published images (`al2023@v20250403`), and the edits.

    The version is the one that all names have, `latest` if they are patterns. Raise NotEditable if there is no such
    alias.
    """
    from nodelint.edits import NotEditable, replace

    field, first = node_class.node.find("spec", "amiSelectorTerms"), images.images[0] if images.images else None
    family = first.family if first is not None else None
    if field is None or family not in alias_families() or any(image.family != family for image in images.images):
        raise NotEditable("the terms name no images of one family")
    if node_class.ami_family != ami_family_of(family):
        raise NotEditable("the amiFamily is not that of the images")
    versions = {_alias_version(image) for image in images.images}
    version = versions.pop() if len(versions) == 1 else None
    if version is None or not alias_version_valid(Alias(family, version)):
        raise NotEditable("the names do not tell one version")
    return f"{family}@{version}", replace(field, [{"alias": f"{family}@{version}"}])


def _alias_version(image: Image) -> str | None:
    """Return the alias version that selects the image of a name or parameter. None for any other image."""
    if image.parameter is not None:
        return "latest" if re.search("/(?:recommended|latest)/", image.parameter) else None
    name = image.name or (image.found.name if image.found is not None else "")
    return "latest" if re.search(r"[*?]", name) else alias_version_behind(name)


def set_alias(images: ImageSet, family: str, version: str) -> list[Edit]:
    """Return the edits that replace a class's alias. Raise NotEditable if the class has none."""
    from nodelint.edits import NotEditable, set_value

    node = images.alias_node
    if node is None or (node.parent is not None and node.parent.get("amiFamily") is node):
        raise NotEditable("the class has no alias")
    return set_value(node, f"{family}@{version}")


def pin(term: TermImages, images: Sequence[MachineImage]) -> list[Edit]:
    """Return the edits that make a term select only these images, one for each architecture: by the name of the
    image if it has one, else by its id.

    Raise NotEditable if there is no image to pin to.
    """
    from nodelint.edits import NotEditable, insert_items, replace, set_value

    if term.term is None or not images:
        raise NotEditable("there is no image to pin to")
    node, first = term.term.node, images[0]
    field = node.get("name")
    names = list(dict.fromkeys(image.name for image in images))
    if field is not None and isinstance(term.term.name, str) and (len(names) == 1 or _only_names(node)):
        edits = set_value(field, first.name)
        if len(names) > 1 and node.parent is not None:
            owner = node.get("owner")
            owner_field = {} if owner is None else {"owner": str(owner.value)}
            at = node.parent.items.index(node) + 1
            edits = [*edits, *insert_items(node.parent, at, [{"name": name, **owner_field} for name in names[1:]])]
        return edits
    edits = replace(node, {"id": first.id})
    if len(images) > 1 and node.parent is not None:
        at = node.parent.items.index(node) + 1
        edits = [*edits, *insert_items(node.parent, at, [{"id": image.id} for image in images[1:]])]
    return edits


def _only_names(term: Node) -> bool:
    """Return whether a term has no fields except a name and its owner, so that a copy with another name has the same
    meaning.
    """
    return {entry.name for entry in term.entries} <= {"name", "owner"} and all(
        entry.value.value is not UNKNOWN for entry in term.entries
    )


def pinnable(term: TermImages, release: Version, now: datetime | None) -> list[MachineImage]:
    """Return the best image that a term finds for each architecture: available, preferably not deprecated, newest.

    Images of another account count only if the term names its owner. Images that the release would not find do not
    count.
    """
    found: dict[str, MachineImage] = {}
    named = term.term.owner if term.term is not None else None
    for image in sorted(term.images, key=lambda image: is_deprecated(image, now)):
        trusted = named or image.owner in DEFAULT_OWNERS
        if trusted and image.state == "available" and why_unseen(image, release, now) is None:
            found.setdefault(image.arch, image)
    return [found[arch] for arch in sorted(found)]


def nearest_alias(families: Sequence[str], ami_family: str | None = None) -> str:
    """Return the alias family to use, of several possible ones: that of the class's amiFamily, else AL2023, for which
    most images exist, else the first.
    """
    own = next((family for family in families if ami_family_of(family) == ami_family), None)
    return own or ("al2023" if "al2023" in families else families[0])


def served_by(family: str, catalog: Catalog, release: Version) -> TypeSet:
    """Return the instance types for which an alias at `latest` has an image in a release."""
    served = NONE
    for arch, variants in alias_images(family, release):
        for variant in variants:
            wanted = [Requirement.parse(ARCH, "In", (arch,)), *variant_requirements(variant, release)]
            served |= catalog.fitting(wanted)
    return served


def doubts(resolution: Resolution, keys: Collection[str] = ()) -> list[Gap]:
    """Return the gaps about a pool itself that can exclude instance types. With `keys`, only those about these keys.

    Placeholders among zones, capacity types and custom labels exclude no types. Reservations and nested
    virtualization, which few types can have, are such gaps. A misspelled key of Karpenter is a gap as well: its
    requirement is unknown, and the rule `unknown-label` reports the key.
    """
    catalog = resolution.catalog
    slips = resolution.pool.once(
        ("misspelt", catalog.version), (catalog,), lambda: tuple(_misspelt(resolution.pool, catalog))
    )
    found = [fact for key, fact in slips if not keys or key in keys]
    if not keys and resolution.node_class is not None:
        nested = resolution.node_class.node.find("spec", "cpuOptions", "nestedVirtualization")
        found += [fact for fact in resolution.unknown if fact.at is nested or fact.reason == RESERVED]
    if not resolution.unknown:
        return found
    lines = {id(line.node): line for line in resolution.lines}
    pool = resolution.pool
    for fact in resolution.unknown:
        node = fact.at
        if (
            not isinstance(node, Node)
            or node.source is not pool.source
            or not pool.node.start <= visible_node(node).start <= pool.node.end
        ):
            continue
        if any(node is other.at for other in resolution.images.unknown):
            continue
        line = lines.get(id(node))
        key = normalize(line.key) if line is not None else "?"
        if line is not None and key == OS and line.requirement is not None and line.requirement.admits("linux"):
            continue  # the class is in another file: on Windows the requirement would exclude all types
        if key == "?" or (key in keys if keys else key in resolution.catalog.keys):
            found.append(fact)
    return found


def _misspelt(pool: NodePool, catalog: Catalog) -> Iterator[tuple[str, Gap]]:
    """Yield a gap for each requirement whose key is misspelled, with the key that was meant."""
    for item in requirements_of(pool):
        if not item.is_label and (near := nearest_key(item, catalog)) is not None:
            yield near.key, unknown_fact(item.key_node, f"`{item.written}` is no label of instance types")


def conditional(pool: NodePool) -> set[int]:
    """Return the requirements, by the id of their nodes, that a template writes in a condition or loop."""
    return conditional_items(pool, "spec", "template", "spec", "requirements")


def conditional_items(pool: NodePool, *path: str) -> set[int]:
    """Return the items of a list, by the id of their nodes, that a template writes in a condition or loop."""
    holder, items = pool.node.find(*path[:-1]), pool.node.find(*path)
    key = holder.key(path[-1]) if holder is not None else None
    if key is None or items is None or not pool.source.masked:
        return set()
    text = pool.source.text
    return {id(item) for item in items.items if depth(text, key.end, item.start)}
