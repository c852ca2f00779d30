"""The list of fields that Karpenter hashes and the schemas have the same fields, for each release."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from nodelint.data import table
from nodelint.drift.hashes import root
from nodelint.drift.hashstructure import fields
from nodelint.model.releases import RELEASES, Version, releases_match
from tests.conftest import ROOT

Path = tuple[str, ...]
ELSEWHERE = {("spec", "kubelet")}
"""Its hash is not that of the class in 1.0, and that of an open map from 1.15 on."""


def resolved(node: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in node:
        target = schema["$defs"][node["$ref"].rpartition("/")[2]]
        node = {**target, **{key: value for key, value in node.items() if key != "$ref"}}
    return node


def compare(
    node: dict[str, Any], schema: dict[str, Any], struct: str, release: Version, path: Path
) -> Iterator[Path]:
    """The fields that only one of the two lists has in a release."""
    known = {field.json: field for field in fields(struct)}
    for name, written in node.get("properties", {}).items():
        below, at = resolved(written, schema), (*path, name)
        since, until = (below.get(f"x-karpenter-{word}") for word in ("since", "until"))
        served = (not since or release >= Version.parse(since)) and (not until or release < Version.parse(until))
        field = known.get(name)
        if served != (field is not None and releases_match(field.releases, release)) and at not in ELSEWHERE:
            yield at
        kind = field.type.lstrip("*[]") if field is not None and field.tag != "ignore" else ""
        if kind in table("hashes")["structs"] and at not in ELSEWHERE:
            items = resolved(below["items"], schema) if "items" in below else below
            yield from compare(items, schema, kind, release, at)


@pytest.mark.parametrize("kind", ["NodePool", "EC2NodeClass"])
def test_schemas_and_hashes_have_the_same_fields(kind: str) -> None:
    schema = json.loads((ROOT / "schemas" / f"{kind.lower()}-v1.schema.json").read_text(encoding="utf-8"))
    path, struct = root(kind)
    node = schema
    for step in path:
        node = resolved(node["properties"][str(step)], schema)
    for release in RELEASES:
        assert list(compare(node, schema, struct, release, tuple(map(str, path)))) == [], release
