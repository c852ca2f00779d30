"""Hover texts in Markdown for a place in a manifest, and the definition of the class that a NodePool uses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from nodelint.apiserver.schema_node import SchemaNode
from nodelint.base.tuples import NamedTuple
from nodelint.data import table
from nodelint.ec2.catalog import Catalog
from nodelint.karpenter.images import families, family_title
from nodelint.karpenter.labels import known_values, natural, unit_of
from nodelint.karpenter.resolve import LineEffect, Resolution
from nodelint.karpenter.resolve.offers import OWN_DOMAINS
from nodelint.karpenter.resolve.readiness import launch_steps, launched, why_none_launched
from nodelint.lint.fingerprints import relative
from nodelint.lsp.buffers import Buffer
from nodelint.lsp.hcl_outline import find_spot
from nodelint.lsp.markdown import code, escape_markdown, message_markdown
from nodelint.lsp.outline import Spot
from nodelint.lsp.view import View
from nodelint.model.finding import Span, span_of
from nodelint.model.keys import ARCH, INSTANCE_TYPE
from nodelint.model.manifest import EC2NodeClass, NodePool, Object, served
from nodelint.model.manifest_terms import Label, RequirementLine, parse_alias
from nodelint.model.messages import short
from nodelint.model.releases import Version
from nodelint.model.requirement import INCLUSIVE_BOUNDS, normalize, well_known, well_known_since
from nodelint.report.explain_verdict import explain_not_launched
from nodelint.text import Node

_CPU, _MEMORY = "karpenter.k8s.aws/instance-cpu", "karpenter.k8s.aws/instance-memory"
_SHOWN = 12

_OLDEST = Version(1, 0, 0)
"""The oldest release that a hover mentions. Features of this release are not marked as new."""

MEANINGS = {
    "In": "one of the values; a type without the label does not meet it",
    "NotIn": "none of the values; a type without the label meets it too",
    "Exists": "any value; a type without the label does not meet it",
    "DoesNotExist": "no such label",
    "Gt": "a number above the value; a type without the label does not meet it",
    "Lt": "a number below the value; a type without the label does not meet it",
    "Gte": "the value or a number above it; a type without the label does not meet it",
    "Lte": "the value or a number below it; a type without the label does not meet it",
}
"""The meaning of each operator for an instance type."""


class Hover(NamedTuple):
    """A text in Markdown, and the span that it describes."""

    markdown: str
    span: Span


def hover(view: View, buffer: Buffer, offset: int) -> Hover | None:
    """Return the hover text of a place: for a rendered object that uses it, else for an object written there.

    None if there is nothing to say.
    """
    for obj, at, span in _built_here(view, buffer, offset):
        found = _in_object(view, obj, at)
        if found is not None:
            return found._replace(span=span)
    for obj in view.objects(buffer):
        found = _in_object(view, obj, offset)
        if found is not None:
            return found
    return _of_field(view.for_text(buffer), buffer, offset) or _of_named_value(view, buffer, offset)


_NAMED = re.compile(r"[ \t]*\"?[\w.-]+\"?[ \t]*([=:])[ \t\r\n\[]*\"?")
"""A pattern of the name of a local, a variable or a value, up to the first character of its value."""


def _of_named_value(view: View, buffer: Buffer, offset: int) -> Hover | None:
    """Return the hover text of the first value after a name, such as a Terraform local, that a rendered
    object uses.
    """
    text = buffer.source.text
    match = _NAMED.match(text, text.rfind("\n", 0, offset) + 1)
    if match is None or offset > match.start(1):
        return None
    for obj, at, _ in _built_here(view, buffer, match.end()):
        found = _in_object(view, obj, at)
        if found is not None:
            return found._replace(span=Span(buffer.source, match.start(), match.start(1)))
    return None


def _built_here(view: View, buffer: Buffer, offset: int) -> Iterator[tuple[Object, int, Span]]:
    """Yield the rendered objects that use a value of a text: object, offset in the object, and span in the text.

    The span is where the value is written, or where a template prints it.
    """
    for obj in view.built:
        for node in obj.node.walk():
            origin = obj.source.built.find_origin(node) if node.kind == "scalar" else None
            if origin is None or not (
                origin.exact or (isinstance(origin.at, Node) and origin.at.value == node.value)
            ):
                continue  # of a value that is put together, this is a part
            for place in (origin.at, *(step.at for step in origin.through)):
                span = span_of(place)
                if span.source is buffer.source and span.start <= offset <= span.end:
                    yield obj, node.start, span


def _in_object(view: View, obj: Object, offset: int) -> Hover | None:
    view = view.for_object(obj)
    if not served(obj, view.target.karpenter):
        return None
    if isinstance(obj, NodePool):
        return _in_pool(view, obj, offset)
    return _in_class(view, obj, offset) if isinstance(obj, EC2NodeClass) else None


def definition(view: View, buffer: Buffer, offset: int) -> Span | None:
    """Return the span of the name of the class to which the place refers; None for another place."""
    for pool in view.objects(buffer):
        if isinstance(pool, NodePool) and pool.class_ref is not None and _holds(pool.class_ref.node, offset):
            node_class = view.context.node_class(pool)
            return None if node_class is None else span_of(node_class.name_node)
    return None


def _holds(node: Node, offset: int) -> bool:
    return node.start <= offset <= node.end


def _in_pool(view: View, pool: NodePool, offset: int) -> Hover | None:
    ref = pool.class_ref
    name = ref.node.get("name") if ref is not None else None
    if name is not None and _holds(name, offset):
        return Hover(_class_of(view, pool), span_of(name))
    if _holds(pool.name_node, offset):
        from nodelint.lsp.summary import describe_pool

        text = describe_pool(view, pool)
        return None if text is None else Hover(text, span_of(pool.name_node))
    lines: list[RequirementLine | Label] = [*pool.requirements, *pool.template_labels]
    for at in lines:
        start = at.key_node.start if isinstance(at, Label) else at.node.start
        if start <= offset <= at.node.end:
            return _of_line(view, pool, at, offset)
    return None


def _of_line(view: View, pool: NodePool, at: RequirementLine | Label, offset: int) -> Hover:
    resolution = view.context.resolution(pool)
    line = next(effect for effect in resolution.lines if effect.at is at)
    catalog = resolution.catalog
    for value in at.values if isinstance(at, RequirementLine) else ():
        known = isinstance(value.text, str) and normalize(line.key) == INSTANCE_TYPE and value.text in catalog
        if known and _holds(value.node, offset):
            return Hover(instance_type(catalog, str(value.text)), span_of(value.node))
    parts = [_heading(line), *_effect(line, resolution)]
    if isinstance(at.key, str) and _holds(at.key_node, offset):
        parts += ["---", *label(at.key, catalog)]
    span = Span(at.node.source, at.key_node.start, at.node.end) if isinstance(at, Label) else span_of(at.node)
    return Hover("\n\n".join(parts), span)


def _heading(line: LineEffect) -> str:
    words = [f"**{escape_markdown(line.key)}** {line.operator}"]
    values = [code(value) for value in line.values[:_SHOWN]]
    if len(line.values) > _SHOWN:
        values.append(f"and {len(line.values) - _SHOWN:,} more")
    if values:
        words.append(", ".join(values))
    if line.min_values is not None:
        words.append(f"(at least {line.min_values} values)")
    return " ".join(words)


def _effect(line: LineEffect, resolution: Resolution) -> Iterator[str]:
    meaning = MEANINGS.get(line.operator)
    if line.is_label:
        meaning = "a label of the template, which counts as a requirement too"
    if meaning:
        yield f"{meaning[0].upper()}{meaning[1:]}."
    if line.requirement is None:
        yield "A placeholder, or a form that Karpenter does not read, keeps it from being judged."
        return
    yield from _about_key(line, resolution.version)
    yield "\n".join(f"- {row}" for row in _counts(line, resolution))
    yield from _beside(line, line.requirement.key, resolution)
    yield f"*Karpenter {resolution.version}*"


def _about_key(line: LineEffect, release: Version) -> Iterator[str]:
    """Yield how Karpenter reads the key, and why an unknown key removes no instance type."""
    key = normalize(line.key)
    if key != line.key:
        yield f"Karpenter reads the key as {code(key)}."
    if key not in well_known(release):
        since = well_known_since(key)
        if since is not None:
            reason = f"Karpenter {release} has no such label, {since} brings it"
        elif key.startswith(OWN_DOMAINS):
            reason = "Karpenter has no such label, and refuses it"
        else:
            reason = "it is one of your own"
        yield f"It removes no instance type: {reason}."


def _counts(line: LineEffect, resolution: Resolution) -> Iterator[str]:
    """Yield the number of instance types for the requirement alone, after it, and in the end."""
    total = len(resolution.catalog)
    yield f"alone it leaves **{len(line.kept):,}** of {total:,} instance types"
    removed = line.removed
    back = f"{-removed:,} come back" if removed < 0 else f"{removed:,} removed"
    yield f"here {len(line.before):,} → {len(line.after):,} ({back})"
    if line.removed_alone > 0:
        yield f"without this line, {line.removed_alone:,} more could be launched"
    most = "" if resolution.complete else "at most "
    why = explain_not_launched(resolution)
    if why is not None:
        yield f"nothing is launched with {message_markdown(why)}"
        if count := len(launched(resolution)):
            yield f"once that is corrected, the pool can launch {most}**{count:,}** instance types"
    elif (why := why_none_launched(resolution)) is not None:
        yield f"nothing is launched: {message_markdown(why)}"
    else:
        yield f"with all requirements, the pool can launch {most}**{len(launched(resolution)):,}** instance types"
    for step in launch_steps(resolution):
        if step.removed:
            yield f"{len(step.removed):,} more meet the requirements, but {step.why} ({code(step.words)})"
    least = next((min_values for min_values in resolution.min_values if min_values.line is line), None)
    if least is not None and least.have is not None:
        yield f"minValues: {least.have:,} values are possible, {least.wanted:,} are required"


def _beside(line: LineEffect, key: str, resolution: Resolution) -> Iterator[str]:
    """Yield the effect of other requirements on the same key, a note, and unknown facts."""
    same = [effect for effect in resolution.lines if effect.requirement and effect.requirement.key == key]
    if len(same) > 1:
        yield f"With the other lines on this key: {code(str(resolution.folded.get(key)))}"
    if line.operator in ("Gt", "Lt") and len(same) > 1 and resolution.version < INCLUSIVE_BOUNDS:
        yield f"Karpenter before {INCLUSIVE_BOUNDS} does not see that `Gt 3` and `Lt 4` leave no whole number."
    if line.note is not None:
        yield f"Note: {line.note}."
    unknown = dict.fromkeys(fact.reason for fact in resolution.unknown)
    if unknown:
        yield "Not known: " + "; ".join(short(reason, 120) for reason in unknown) + "."


def label(key: str, catalog: Catalog) -> list[str]:
    """Return the meaning of a label, the release that added it, and its values."""
    name = normalize(key)
    since = well_known_since(name)
    if since is None:
        if name.startswith(OWN_DOMAINS):
            return [f"{code(key)} is not a label of Karpenter's, and nobody else may bring one in its domain."]
        return [f"{code(key)} is not a label that Karpenter knows: what it asks is met by nodes that bear it."]
    parts = [f"{code(name)}: {table('label_words')['meanings'].get(name, '')}"]
    unit = unit_of(name)
    if unit:
        parts[0] += f" In {unit}."
    values = known_values(name, catalog)
    if values:
        examples = sorted(values, key=natural)
        more = f", … ({len(examples):,} in all)" if len(examples) > _SHOWN else ""
        parts.append("Values: " + ", ".join(code(value) for value in examples[:_SHOWN] if value) + more)
    if name not in well_known(catalog.version):
        parts.append(f"Since Karpenter {since}, not in {catalog.version}.")
    elif since > _OLDEST:
        parts.append(f"Since Karpenter {since}.")
    return parts


def instance_type(catalog: Catalog, name: str) -> str:
    """Return an instance type with its size and price in one line."""
    return f"**{name}**: {size_of(catalog, name)}"


def size_of(catalog: Catalog, name: str) -> str:
    """Return the size and price of an instance type: `4 vCPU, 16 GiB, arm64, 0.15 USD an hour`."""
    parts = []
    if cpu := catalog.label(name, _CPU):
        parts.append(f"{cpu} vCPU")
    if memory := catalog.label(name, _MEMORY):
        parts.append(f"{int(memory) / 1024:g} GiB")
    if arch := catalog.label(name, ARCH):
        parts.append(arch)
    price = catalog.prices.on_demand(name)
    if price is not None:
        parts.append(f"{price:g} USD an hour on demand in us-east-1")
    return ", ".join(parts)


def _class_of(view: View, pool: NodePool) -> str:
    node_class = view.context.node_class(pool)
    if node_class is None:
        unknown = view.context.resolution(pool).images.unknown
        return f"EC2NodeClass: {unknown[0].reason}" if unknown else "EC2NodeClass: not known"
    place = node_class.source.position(node_class.name_node.start)
    where = f"{relative(node_class.source.path, view.home)}:{place.line}"
    parts = [f"**EC2NodeClass {escape_markdown(str(node_class.name))}** in {code(where)}"]
    images = dict.fromkeys(image.label for image in view.context.images(node_class).images)
    if images:
        parts.append("Images: " + ", ".join(code(short(image, 60)) for image in images))
    return "\n\n".join(parts)


def _in_class(view: View, node_class: EC2NodeClass, offset: int) -> Hover | None:
    for term in node_class.ami_terms:
        node = term.node.get("alias")
        if node is not None and isinstance(term.alias, str) and _holds(node, offset):
            return Hover("\n\n".join(_of_alias(view, node_class, term.alias)), span_of(node))
    return None


def _of_alias(view: View, node_class: EC2NodeClass, written: str) -> Iterator[str]:
    alias = parse_alias(written)
    release, kubernetes = view.target.karpenter, view.target.kubernetes
    known = families(release)
    if alias.family not in known:
        yield f"{code(alias.family)} is not an alias of Karpenter {release}; there are {_listed(known)}."
        return
    which = "whatever is newest" if alias.version == "latest" else escape_markdown(alias.version)
    yield f"**{family_title(alias.family)}**, {which}"
    found = view.context.images(node_class)
    resolutions = [view.context.resolution(pool) for pool in view.context.pools(node_class)]
    rows, unused = [], []
    for index, image in enumerate(found.images):
        if image.alias is None:
            continue
        takes = [
            f"{len(types):,} types of {code(str(resolution.pool.name))}"
            for resolution in resolutions
            if (types := resolution.types_by_image[index])
        ]
        what = f"{image.arch or '?'} {'/'.join(image.variants)}".strip()
        if image.found is not None:
            what += f" {code(image.found.id)}"
        if takes:
            rows.append(f"- {what}: {', '.join(takes)}")
        else:
            unused.append(what)
    if unused:
        which = (
            "No NodePool in the open files uses its images" if not rows else "Used by no NodePool in the open files"
        )
        rows.append(f"{'- ' if rows else ''}{which}: {', '.join(unused)}.")
    if rows:
        yield "\n".join(rows)
    for problem in found.problems:
        yield problem.message if problem.active else f"Later: {problem.message}"
    on = f", Kubernetes {kubernetes}" if kubernetes else ""
    yield f"*Karpenter {release}{on}*"


def _of_field(view: View, buffer: Buffer, offset: int) -> Hover | None:
    """Return the schema's description of the field under the cursor; None if there is none."""
    found = find_spot(buffer.path, buffer.text, offset)
    if found is None or found.place == "value":
        return None
    start = found.end
    while start > 0 and (buffer.text[start - 1].isalnum() or buffer.text[start - 1] in "_$"):
        start -= 1
    name = buffer.text[start : found.end]
    holder = shape_at(view, found)
    shape = holder.field(name) if holder is not None else None
    if shape is None or not shape.raw.get("description"):
        return None
    parts = [f"**{name}** *{'list' if shape.type == 'array' else shape.type}*", str(shape.raw["description"])]
    if "default" in shape.raw:
        parts.append(f"Default: {code(str(shape.raw['default']))}")
    if shape.window.since is not None:
        parts.append(f"Since Karpenter {shape.window.since}.")
    if shape.window.until is not None:
        parts.append(f"Gone since Karpenter {shape.window.until}.")
    return Hover("\n\n".join(parts), Span(buffer.source, start, found.end))


def shape_at(view: View, found: Spot) -> SchemaNode | None:
    """Return the schema of the value at a spot's path in the target release; None if there is none."""
    version = found.api_version.rpartition("/")[2]
    shape = view.context.schemas.shape(found.kind, version, view.target.karpenter)
    for step in found.path:
        if shape is None:
            return None
        shape = shape.items if step == "-" else shape.field(step) or shape.extra
    return shape


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(code, names))


def releases_with(shape: SchemaNode, value: str, release: Version) -> bool:
    """Return whether a release has this value of a field whose values changed between releases."""
    window = shape.values.get(value, {})
    since, until = window.get("since"), window.get("until")
    return (since is None or release >= Version.parse(since)) and (until is None or release < Version.parse(until))
