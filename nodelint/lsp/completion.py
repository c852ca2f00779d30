"""Completion: fields, label keys, operators, values, aliases and names of classes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from lsprotocol import types

from nodelint.apiserver.schema_node import SchemaNode
from nodelint.base.tuples import NamedTuple
from nodelint.data import table
from nodelint.ec2.catalog import Catalog
from nodelint.ec2.facts import AwsFacts, Missing
from nodelint.ec2.questions import alias_families
from nodelint.karpenter.images import ami_family_of, ended, families, family_example, family_title, newest_known
from nodelint.karpenter.labels import known_values, natural
from nodelint.lsp.buffers import Buffer
from nodelint.lsp.hcl_outline import find_spot
from nodelint.lsp.hover import MEANINGS, label, releases_with, shape_at, size_of
from nodelint.lsp.markdown import code
from nodelint.lsp.outline import Spot
from nodelint.lsp.reached_fields import find_reached_spot
from nodelint.lsp.skeletons import beginnings
from nodelint.lsp.view import View
from nodelint.model.keys import ARCH, CAPACITY_TYPE, INSTANCE_TYPE
from nodelint.model.requirement import INCLUSIVE_BOUNDS, normalize, well_known

_REQUIREMENTS = ("spec", "template", "spec", "requirements", "-")
_LABELS = ("spec", "template", "metadata", "labels")
_ALIAS = ("spec", "amiSelectorTerms", "-", "alias")
_REF = ("spec", "template", "spec", "nodeClassRef")
_REGION, _ZONE, _ZONE_ID = "topology.kubernetes.io/region", "topology.kubernetes.io/zone", "topology.k8s.aws/zone-id"
_OF_A_POOL = "karpenter.sh/nodepool"

_MOST = 300
"""The most items of one completion. If there are more, the editor asks again with each letter."""

_Kind = types.CompletionItemKind


class CompletionOffer(NamedTuple):
    """A text to complete; `key`: a colon follows, `bare`: the text is not quoted.

    `holds` is `mapping` or `list` for a key whose value is a mapping or a list of mappings.
    """

    text: str
    kind: types.CompletionItemKind
    detail: str = ""
    documentation: str = ""
    key: bool = False
    bare: bool = False
    holds: str = ""


def complete(view: View, buffer: Buffer, offset: int) -> types.CompletionList:
    """Return the completions at an offset, in the order to show."""
    view = view.for_text(buffer)
    found = find_spot(buffer.path, buffer.text, offset)
    offers = list(_offers(view, found)) if found is not None else []
    if found is None and view.inventory.built:
        found = find_reached_spot(view, buffer, offset)
        offers = list(_offers(view, found)) if found is not None else []
    if not offers and (begun := list(beginnings(buffer, offset))):
        return types.CompletionList(is_incomplete=False, items=begun)
    if found is None or not offers:
        return types.CompletionList(is_incomplete=False, items=[])
    typed = buffer.text[found.start : offset].lower()
    several = len(offers) > _MOST
    if several:
        offers = [offer for offer in offers if _has_letters(typed, offer.text.lower())]
    shape = shape_at(view, found)
    around = {"value": "[{}]", "open": "- {}", "key": "{}"}[found.place]
    form = around if shape is not None and shape.items is not None else "{}"
    items = [_item(buffer, found, offer, number, form) for number, offer in enumerate(offers[:_MOST])]
    return types.CompletionList(is_incomplete=several, items=items)


def _has_letters(typed: str, text: str) -> bool:
    """Return whether the text contains the typed letters in order, as editors filter completions."""
    rest = iter(text)
    return all(letter in rest for letter in typed)


def _item(buffer: Buffer, found: Spot, offer: CompletionOffer, number: int, form: str) -> types.CompletionItem:
    """Return an offer in the form of the protocol; `form` wraps it into a list if none has begun."""
    text = offer.text
    quoted = buffer.text[found.start - 1 : found.start] in ("'", '"')
    if not quoted and not offer.bare:
        text = form.format(_write_text(text, offer, found, buffer.path))
    below = ""
    if offer.key and found.in_hcl:
        text += "" if quoted or re.match(r"[ \t]*[=:]", buffer.text[found.end :]) else " = "
    elif offer.key and not quoted and not re.match(r"[ \t]*:", buffer.text[found.end :]):
        below = _line_break(buffer, found, offer.holds)
        text += f":{below}" if below else ": "
    return types.CompletionItem(
        label=offer.text,
        kind=offer.kind,
        detail=offer.detail or None,
        documentation=types.MarkupContent(types.MarkupKind.Markdown, offer.documentation)
        if offer.documentation
        else None,
        sort_text=f"{number:05}",
        filter_text=offer.text,
        text_edit=types.TextEdit(buffer.lines.range(found.start, found.end), text),
        # The indentation is in the text: an editor that adds that of the line would do so twice.
        insert_text_mode=types.InsertTextMode.AsIs if below else None,
    )


def _write_text(text: str, offer: CompletionOffer, found: Spot, path: str) -> str:
    """Return a text as it is written in the language of the file, with quotes where they are needed."""
    if path.endswith(".json") or (found.in_hcl and not (offer.key and text.isidentifier())):
        return f'"{text}"'
    return text if offer.key else _quoted(text)


def _line_break(buffer: Buffer, found: Spot, holds: str) -> str:
    """Return the text between a key and the lines below it; empty if the value must be on the key's line."""
    text = buffer.text
    head = text[max(text.rfind("\n", 0, found.start), text.rfind("\r", 0, found.start)) + 1 : found.start]
    if not holds or found.place != "open" or re.fullmatch(r"[ -]*", head) is None:
        return ""
    if re.match(r"[^\S\r\n]*[^\s]", text[found.end :]):
        return ""  # there is text after it already
    # As the text has it elsewhere, else two blanks.
    behind = "- " if holds == "list" else r"\w"
    steps = re.finditer(rf"(?m)^([ -]*+)[\w./][\w./-]*+:[ \t]*+\r?\n( *+){behind}", text)
    step = next((len(found[2]) - len(found[1]) for found in steps if len(found[2]) >= len(found[1])), 2)
    return f"{buffer.source.newline}{' ' * (len(head) + step)}" + ("- " if holds == "list" else "")


def _quoted(text: str) -> str:
    """Return a value as YAML text: numbers and booleans are quoted."""
    return f'"{text}"' if re.fullmatch(r"[-+.\d][\d.eE_+-]*|true|false|yes|no|on|off|null|", text) else text


def _offers(view: View, found: Spot) -> Iterator[CompletionOffer]:
    path, catalog = found.path, view.context.catalog
    if found.kind == "NodePool":
        if path == (*_REQUIREMENTS, "key") and found.place == "value":
            yield from _label_keys(catalog)
            return
        if path == (*_REQUIREMENTS, "operator") and found.place == "value":
            yield from _operators(view)
            return
        if path[: len(_REQUIREMENTS) + 1] == (*_REQUIREMENTS, "values"):
            yield from _values(view, found.beside("key"), found.listed())
            return
        if path == _LABELS and found.place != "value":
            yield from (offer._replace(key=True) for offer in _label_keys(catalog) if offer.text not in found.present)
            return
        if path[:-1] == _LABELS and found.place == "value":
            yield from _values(view, path[-1], frozenset())
            return
        if path[:-1] == _REF and found.place == "value":
            yield from _of_reference(view, path[-1])
            return
    if found.kind == "EC2NodeClass" and path == _ALIAS and found.place == "value":
        yield from _aliases(view)
        return
    shape = shape_at(view, found)
    if shape is None:
        return
    if found.place != "value" and shape.has_fields:
        yield from _fields(shape, found)
    elif not shape.has_fields:
        listed = found.listed() if path[-1:] == ("-",) else frozenset()
        yield from (offer for offer in _enumerated(view, shape) if offer.text not in listed)


def _fields(shape: SchemaNode, found: Spot) -> Iterator[CompletionOffer]:
    names = [name for name in shape.fields if name not in found.present]
    for name in sorted(names, key=lambda name: name not in shape.required):
        child = shape.field(name)
        if child is not None and shape.has_release(child):
            kind = {"array": "list"}.get(child.type, child.type)
            detail = f"{kind}, required" if name in shape.required else kind
            entry = child.items
            holds = "list" if entry is not None and entry.has_fields else ""
            if child.has_fields or (child.extra is not None and child.type == "object"):
                holds = "mapping"
            text = str(child.raw.get("description", ""))
            yield CompletionOffer(name, _Kind.Field, detail, text, key=True, holds=holds)


def _enumerated(view: View, shape: SchemaNode) -> Iterator[CompletionOffer]:
    """Yield the values that a schema lists, for the value itself or for entries of a list."""
    values = shape.raw.get("enum")
    entries = shape.items
    if values is None and entries is not None:
        shape, values = entries, entries.raw.get("enum")
    if values is None and shape.type == "boolean":
        values = ["true", "false"]
        yield from (CompletionOffer(value, _Kind.Keyword, bare=True) for value in values)
        return
    for value in values or ():
        if isinstance(value, str) and value and releases_with(shape, value, view.target.karpenter):
            yield CompletionOffer(value, _Kind.EnumMember)


def _label_keys(catalog: Catalog) -> Iterator[CompletionOffer]:
    """Yield the label keys that Karpenter of the target release knows, the most common first."""
    first = (ARCH, CAPACITY_TYPE, INSTANCE_TYPE)
    keys = sorted(well_known(catalog.version) - {_OF_A_POOL}, key=lambda key: (key not in first, key))
    meanings = table("label_words")["meanings"]
    for key in keys:
        yield CompletionOffer(key, _Kind.Property, meanings.get(key, ""), "\n\n".join(label(key, catalog)[1:]))


def _operators(view: View) -> Iterator[CompletionOffer]:
    for operator, meaning in MEANINGS.items():
        if operator not in ("Gte", "Lte") or view.target.karpenter >= INCLUSIVE_BOUNDS:
            yield CompletionOffer(operator, _Kind.Operator, meaning)


def _values(view: View, key: str | None, listed: frozenset[str]) -> Iterator[CompletionOffer]:
    if key is None:
        return
    catalog = view.context.catalog
    name = normalize(key)
    values = _of_places(name, view.context.facts)
    if values is None:
        values = known_values(name, catalog)
    by_value = catalog.values(name) if name in catalog.keys else {}
    for value in sorted(values or (), key=natural):
        if value in listed or not value:
            continue
        if name == INSTANCE_TYPE:
            yield CompletionOffer(value, _Kind.Value, size_of(catalog, value))
        else:
            count = len(by_value.get(value, ()))
            yield CompletionOffer(value, _Kind.Value, f"{count:,} instance types" if count else "")


def _of_places(key: str, known: AwsFacts) -> Iterable[str] | None:
    """Return the regions or zones in the facts from AWS; None for other labels."""
    if key not in (_REGION, _ZONE, _ZONE_ID):
        return None
    if known.region is None:
        return ()
    if key == _REGION:
        return (known.region.name,)
    subnets = known.region.subnets.values()
    ids = {subnet.zone: subnet.zoneId for subnet in subnets}
    if key == _ZONE_ID:
        return {id for id in ids.values() if id}
    try:
        return {*ids, *(zone for offering in known.offerings.values() for zone in offering.zones)}
    except Missing:
        return ids


def _of_reference(view: View, field: str) -> Iterator[CompletionOffer]:
    if field == "name":
        names = {c.name: c for c in view.context.classes if isinstance(c.name, str)}
        for name in sorted(names):
            yield CompletionOffer(name, _Kind.Reference, "EC2NodeClass", f"in {code(names[name].source.path)}")
    elif field in ("kind", "group", "apiVersion"):
        known = {"kind": "EC2NodeClass", "group": "karpenter.k8s.aws", "apiVersion": "karpenter.k8s.aws/v1"}
        yield CompletionOffer(known[field], _Kind.Constant)


def _aliases(view: View) -> Iterator[CompletionOffer]:
    """Yield aliases of image families with known versions.

    Families without future releases come last, `latest` last in its family.
    """
    known = families(view.target.karpenter, view.target.kubernetes)
    for family in sorted(known, key=lambda label: ended(ami_family_of(label)) is not None):
        published = _published(view.context.facts, family)
        newest = newest_known(family, view.target.kubernetes)
        example = newest or family_example(family).partition("@")[2]
        for version in published or [example]:
            detail = "published" if published else "newest known" if newest else "an example of a version"
            if version != "latest":
                yield CompletionOffer(f"{family}@{version}", _Kind.Value, f"{family_title(family)}, {detail}")
        yield CompletionOffer(f"{family}@latest", _Kind.Value, f"{family_title(family)}, whatever is newest")


def _published(known: AwsFacts, family: str) -> list[str]:
    """Return the versions of an alias family among the images of the facts, newest first."""
    form = alias_families()[family].get("names")
    if known.region is None or form is None:
        return []
    names = (re.fullmatch(form, image.name) for image in known.region.images.values())
    return sorted({name[1] for name in names if name}, key=natural, reverse=True)
