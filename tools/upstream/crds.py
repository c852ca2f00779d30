"""The CRDs at a revision, flattened to one entry for each path, and what changed between two revisions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from upstream.git import Repository

KEYWORDS = (
    "type",
    "enum",
    "pattern",
    "format",
    "default",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "minProperties",
    "maxProperties",
    "required",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-type",
    "x-kubernetes-preserve-unknown-fields",
)
"""What decides whether an object is taken, less the CEL rules, which are compared apart."""

FOLDER = "pkg/apis/crds"

_LABELS = re.compile(r'"(karpenter\.k8s\.aws/[\w.-]+)"')

Flat = dict[str, dict[str, Any]]
"""Keywords by path: `spec.disruption.budgets[].nodes`; `{}` is a value of a map. `rules` holds the CEL rules."""


class Change(NamedTuple):
    """One difference between the CRDs of two revisions.

    `what` is `field` (a path came or went), `opened` (an object with fields became a map, or the reverse), `keyword`,
    `rule` (a CEL rule came or went) or `label` (a label key that the rules about label domains name). `old` and `new`
    are None if there is none.
    """

    kind: str
    version: str
    what: str
    path: str
    name: str
    old: Any
    new: Any

    def __str__(self) -> str:
        subject = f"{self.kind}/{self.version} {self.path}"
        named = f" {self.name}" if self.what in ("keyword", "label") else ""
        if self.old is None:
            return f"{subject}: {self.what}{named} came: {_short(self.new)}"
        if self.new is None:
            return f"{subject}: {self.what}{named} went: {_short(self.old)}"
        return f"{subject}: {self.what}{named}: {_short(self.old)} -> {_short(self.new)}"


def _short(value: Any) -> str:
    text = "(an object)" if isinstance(value, dict) else str(value)
    return text if len(text) <= 160 else text[:157] + "..."


def read(repository: Repository, revision: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the OpenAPI schema of each kind and API version that the CRDs at a revision serve."""
    from ruamel.yaml import YAML

    found: dict[tuple[str, str], dict[str, Any]] = {}
    for path in repository.files(revision, FOLDER):
        if not path.endswith(".yaml"):
            continue
        definition = YAML(typ="safe").load(repository.show(revision, path))
        for version in definition["spec"]["versions"]:
            if version["served"]:
                found[definition["spec"]["names"]["kind"], version["name"]] = version["schema"]["openAPIV3Schema"]
    return found


def flat(schema: dict[str, Any]) -> Flat:
    """Return a schema's `spec` as keywords and rules by path."""
    found: Flat = {}
    pending = [("spec", schema["properties"].get("spec", {}))]
    while pending:
        path, raw = pending.pop()
        found[path] = {keyword: raw[keyword] for keyword in KEYWORDS if keyword in raw}
        if found[path].get("x-kubernetes-list-type") == "atomic":  # about merging, not about valid values
            del found[path]["x-kubernetes-list-type"]
        found[path]["rules"] = [rule["rule"] for rule in raw.get("x-kubernetes-validations") or []]
        pending += [(f"{path}.{name}", child) for name, child in (raw.get("properties") or {}).items()]
        for keyword, mark in (("items", "[]"), ("additionalProperties", "{}")):
            if isinstance(raw.get(keyword), dict):
                pending.append((path + mark, raw[keyword]))
    return found


def schema_at_path(schema: dict[str, Any], path: str) -> dict[str, Any]:
    """Return the part of a CRD's schema at a path. Raise KeyError if there is none."""
    raw = schema
    for step in re.findall(r"[^.\[\]{}]+|\[\]|\{\}", path):
        raw = (
            raw["items"] if step == "[]" else raw["additionalProperties"] if step == "{}" else raw["properties"][step]
        )
    return raw


def changes(kind: tuple[str, str], old: dict[str, Any], new: dict[str, Any]) -> Iterator[Change]:
    """Yield the differences of two schemas of one kind, in the order of the paths. Of added parts only the topmost
    is yielded.
    """
    before, after = flat(old), flat(new)
    labels_old: set[str] = set()
    labels_new: set[str] = set()
    opened = {path for path in before.keys() & after.keys() if _has_fields(old, path) != _has_fields(new, path)}
    for path in sorted(before.keys() | after.keys()):
        if path in opened:
            yield Change(*kind, "opened", path, path, schema_at_path(old, path), schema_at_path(new, path))
            continue
        if any(path.startswith((f"{whole}.", f"{whole}{{")) for whole in opened):
            continue
        if path not in before or path not in after:
            parent = re.sub(r"(\.[^.\[\]{}]+|\[\]|\{\})$", "", path)
            if (path in before) == (parent in before) and (path in after) == (parent in after):
                continue
            gone = schema_at_path(old, path) if path in before else None
            yield Change(*kind, "field", path, path, gone, schema_at_path(new, path) if path in after else None)
            continue
        yield from _of_keywords(kind, path, before[path], after[path])
        for rules, labels in ((before[path]["rules"], labels_old), (after[path]["rules"], labels_new)):
            labels.update(label for rule in rules for label in _LABELS.findall(rule))
        yield from _of_rules(kind, path, before[path]["rules"], after[path]["rules"])
    for label in sorted(labels_old ^ labels_new):
        came = label in labels_new
        yield Change(*kind, "label", "spec", label, None if came else label, label if came else None)


def _has_fields(schema: dict[str, Any], path: str) -> bool:
    return bool(schema_at_path(schema, path).get("properties"))


def _of_keywords(kind: tuple[str, str], path: str, old: dict[str, Any], new: dict[str, Any]) -> Iterator[Change]:
    for keyword in KEYWORDS:
        first, second = old.get(keyword), new.get(keyword)
        if keyword in ("enum", "required"):
            same = sorted(first or []) == sorted(second or [])
        else:
            same = first == second and isinstance(first, bool) == isinstance(second, bool)
        if not same:
            yield Change(*kind, "keyword", path, keyword, first, second)


def _of_rules(kind: tuple[str, str], path: str, old: list[str], new: list[str]) -> Iterator[Change]:
    """Yield the added and removed CEL rules. Two rules that differ only in the label keys that they name count as
    equal.
    """
    plain_old = {_LABELS.sub("", rule): rule for rule in old}
    plain_new = {_LABELS.sub("", rule): rule for rule in new}
    plain_old = {re.sub(r"[\s,]+", "", plain): rule for plain, rule in plain_old.items()}
    plain_new = {re.sub(r"[\s,]+", "", plain): rule for plain, rule in plain_new.items()}
    for plain, rule in plain_old.items():
        if plain not in plain_new:
            yield Change(*kind, "rule", path, "", rule, None)
    for plain, rule in plain_new.items():
        if plain not in plain_old:
            yield Change(*kind, "rule", path, "", None, rule)
