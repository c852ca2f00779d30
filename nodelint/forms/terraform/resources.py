"""Evaluate the attributes of resources with manifests to which other expressions refer."""

from __future__ import annotations

import re
from collections.abc import Mapping

from nodelint.forms.lib.made_nodes import mapping, scalar, sequence
from nodelint.forms.terraform.block_instances import instances
from nodelint.forms.terraform.hcltree import HclExpression
from nodelint.forms.terraform.nodes import TextNode, is_unknown
from nodelint.forms.terraform.template import Evaluator
from nodelint.text.nodes import MappingEntry, Node

MANIFESTS = ("kubernetes_manifest", "kubectl_manifest")
_ENCODERS = ("yamlencode", "jsonencode")


def manifest_resource(outer: Mapping[str, HclExpression], evaluator: Evaluator) -> Node | None:
    """Return the value of a resource: an object, or with `for_each` or `count` a collection of its instances.

    None if not all of its instances are known. Raise `BudgetSpent`.
    """
    given = instances(outer, evaluator)
    over, count = outer.get("for_each"), outer.get("count")
    at = evaluator.place(next(iter(outer.values()))) if outer else None
    if at is None:
        return None
    made = [_instance(outer, evaluator.inside(names), at) for names in given]
    if over is None and count is None:
        return made[0]
    if over is not None:
        keys = [names["each"].get("key") for names in given]
        if any(key is None or not isinstance(key.value, str) for key in keys):
            return None
        return mapping(
            at, ((str(key.value), key, node) for key, node in zip(keys, made, strict=True) if key is not None)
        )
    index = given[0]["count"].get("index") if given else None
    return None if index is None or not isinstance(index.value, int) else sequence(at, made)


def _instance(outer: Mapping[str, HclExpression], evaluator: Evaluator, at: Node) -> Node:
    members: list[tuple[str, Node, Node]] = []
    if "manifest" in outer:
        manifest = evaluator.value(outer["manifest"])
        members += [("manifest", at, manifest), ("object", at, manifest)]
    elif "yaml_body" in outer:
        body = outer["yaml_body"]
        text = evaluator.value(body)
        name = _object_name(body, text, evaluator)
        members += [("yaml_body", at, text), *([("name", at, name)] if name is not None else [])]
    made = mapping(at, members)
    made.entries.append(MappingEntry(at, at, None))  # attributes that only an apply provides
    return made


def _object_name(body: HclExpression, text: Node, evaluator: Evaluator) -> Node | None:
    """Return the name of the object in a text. None if it is not known."""
    if body.kind == "call" and body.value in _ENCODERS and len(body.parts) == 1:
        named = evaluator.value(body.parts[0]).get("metadata")
        return named.get("name") if named is not None else None
    if is_unknown(text):
        return None
    written = "".join(piece for piece, _ in text.pieces) if isinstance(text, TextNode) else str(text.value)
    name = _find_name(written)
    return scalar(text, name) if name is not None else None


def _find_name(manifest: str) -> str | None:
    """Return `metadata.name` of the object in a YAML text.

    None if there are several objects, or if it is not plain.
    """
    metadata = re.search(r"(?m)^metadata:[ \r]*$", manifest)
    if metadata is None or re.search(r"(?m)^---", manifest[metadata.end() :]) is not None:
        return None
    indent = 0
    for line in manifest[metadata.end() + 1 :].split("\n"):
        entry = line.strip()
        if not entry or entry.startswith("#"):
            continue
        width = len(line) - len(line.lstrip(" "))
        indent = indent or width
        if width < indent or not indent:
            return None
        if width == indent and (name := re.fullmatch(r"name:[ ]*[\"']?([\w.-]+)[\"']?", entry)) is not None:
            return name[1]
    return None
