"""Read the CustomResourceDefinitions of a cluster as schemas."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nodelint.apiserver.cel import Unsupported, compile
from nodelint.apiserver.schema_node import Raw, load
from nodelint.files.gate import Gate, Refused, read_bounded
from nodelint.text.yaml.held_yaml import hold

_KINDS = (["karpenter.sh", "NodePool"], ["karpenter.k8s.aws", "EC2NodeClass"], ["eks.amazonaws.com", "NodeClass"])
_ENDINGS = (".yaml", ".yml", ".json")
_MOST_FILES = 50_000
"""The most files and folders below a folder of CRDs: more than such a folder has, and fast enough to list."""


_NO_CRDS = (
    "holds no CustomResourceDefinition of NodePool or EC2NodeClass; `kubectl get crd nodepools.karpenter.sh"
    " ec2nodeclasses.karpenter.k8s.aws -o yaml` prints those of a cluster"
)


def read(path: str, within: str | None = None) -> tuple[dict[tuple[str, str], Raw], tuple[str, ...]]:
    """Return the schemas by kind and API version, and the CEL rules that do not compile and are not checked.

    Symlinks must not leave the folder `within`; None allows any place. Raise OSError if nothing can be read, and
    ValueError if there is no CRD of Karpenter, a file is not YAML, or a CRD does not have the form of one.
    """
    roots: dict[tuple[str, str], Raw] = {}
    for file in _files(path, within):
        for definition in _definitions(file, within):
            try:
                roots.update(_served(definition))
            except _Misshapen as error:
                raise ValueError(f"{file.name}: {error}") from None
    if not roots:
        raise ValueError(_NO_CRDS)
    skipped = dict.fromkeys(reason for root in roots.values() for reason in _not_compiling(root))
    return roots, tuple(skipped)


def _files(path: str, within: str | None) -> list[Path]:
    if not os.path.isdir(path):
        return [Path(path)]
    # A folder that an option names is its own root: links must not lead out of it.
    walk = Gate(within if within is not None else path).walk
    found: list[Path] = []
    seen = 0
    for folder, folders, names in walk(path):
        seen += len(folders) + len(names)
        if seen > _MOST_FILES:
            raise ValueError(f"holds more than {_MOST_FILES:,} files; name the folder of the CRDs")
        found += [Path(folder, name) for name in names if name.lower().endswith(_ENDINGS)]
    return sorted(file for file in found if file.is_file())


def _definitions(file: Path, within: str | None) -> Iterator[dict[str, Any]]:
    import yaml

    try:
        data = read_bounded(str(file), within)
    except Refused as error:
        raise ValueError(f"{file.name} is {error.strerror}") from None
    if b"CustomResourceDefinition" not in data or b"karpenter" not in data:
        return
    try:
        hold(data)
        documents = list(yaml.load_all(data, _loader()))
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
        why = getattr(error, "problem", None) or " ".join(str(error).split())[:120]
        raise ValueError(f"{file.name} is not YAML{where}: {why}") from None
    for document in documents:
        items = document.get("items") if isinstance(document, dict) else None
        for crd in items if isinstance(items, list) else [document]:
            if isinstance(crd, dict) and crd.get("kind", "CustomResourceDefinition") == "CustomResourceDefinition":
                yield crd


def _loader() -> Any:
    """Return a loader for YAML 1.1 as the API server reads it: dates and a lone `=` are texts."""
    import yaml

    loader = type("Loader", (yaml.CSafeLoader,), {})
    for name in ("timestamp", "value"):
        loader.add_constructor(f"tag:yaml.org,2002:{name}", loader.construct_scalar)  # type: ignore[attr-defined]
    return loader


def _served(definition: dict[str, Any]) -> Iterator[tuple[tuple[str, str], Raw]]:
    spec = definition.get("spec")
    names = spec.get("names") if isinstance(spec, dict) else None
    kind = names.get("kind") if isinstance(names, dict) else None
    if not isinstance(spec, dict) or not isinstance(kind, str) or [spec.get("group"), kind] not in _KINDS:
        return
    versions = _require_type(list, spec.get("versions") or [], "spec.versions")
    for index, item in enumerate(versions):
        where = f"spec.versions[{index}]"
        version = _require_type(dict, item, where)
        schema = _require_type(dict, version.get("schema") or {}, f"{where}.schema").get("openAPIV3Schema")
        if version.get("served", True) and schema is not None:
            name = _require_type(str, version.get("name"), f"{where}.name")
            subresources = _require_type(dict, version.get("subresources") or {}, f"{where}.subresources")
            _hold_to_form(_require_type(dict, schema, f"{where}.schema.openAPIV3Schema"), kind)
            yield (kind, name), _root(schema, "status" in subresources)


class _Misshapen(Exception):
    """Raised if a part of a CRD has the wrong form."""


_TYPES = frozenset(("object", "array", "string", "integer", "number", "boolean"))
_TEXTS = ("type", "format", "pattern", "description", "x-kubernetes-list-type", "x-kubernetes-map-type")
_NUMBERS = ("minimum", "maximum", "multipleOf")
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_LISTS_OF_TEXTS = ("required", "x-kubernetes-list-map-keys")
_MOST_SCHEMAS = 50_000


def _require_type(kind: type, value: Any, where: str) -> Any:
    if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
        wanted = {dict: "a mapping", list: "a list", str: "a text", int: "a whole number"}.get(kind, "a number")
        raise _Misshapen(f"{where} must be {wanted}")
    return value


def _hold_to_form(schema: Raw, where: str) -> None:
    """Raise _Misshapen if a keyword of a schema has the wrong type, or if aliases make the schema too large."""
    pending = [(schema, where)]
    count = 0
    while pending:
        schema, where = pending.pop()
        count += 1
        if count > _MOST_SCHEMAS:
            raise _Misshapen(f"{where} is one of more than {_MOST_SCHEMAS:,} schemas")
        for key, value in schema.items():
            at = f"{where}.{key}"
            _hold_value(key, value, at)
            pending += _schemas_below(key, value, at)


def _hold_value(key: str, value: Any, at: str) -> None:
    """Raise _Misshapen if a keyword without nested schemas has the wrong type."""
    if key in _TEXTS:
        _require_type(str, value, at)
        if key == "type" and value not in _TYPES:
            raise _Misshapen(f"{at}: there is no type `{value[:40]}`")
    elif key in _NUMBERS:
        _require_type(int if isinstance(value, int) else float, value, at)
    elif key in _COUNTS:
        _require_type(int, value, at)
    elif key == "enum":
        _require_type(list, value, at)
    elif key in _LISTS_OF_TEXTS:
        for item in _require_type(list, value, at):
            _require_type(str, item, at)
    elif key == "x-kubernetes-validations":
        for item in _require_type(list, value, at):
            _hold_rule(item, at)


def _hold_rule(item: Any, at: str) -> None:
    _require_type(str, _require_type(dict, item, at).get("rule"), f"{at}: a rule")
    for name in ("message", "messageExpression", "reason", "fieldPath"):
        if name in item:
            _require_type(str, item[name], f"{at}: {name}")


def _schemas_below(key: str, value: Any, at: str) -> list[tuple[Raw, str]]:
    """Return the schemas in a keyword, each with its path."""
    if key in ("items", "not") or (key == "additionalProperties" and not isinstance(value, bool)):
        return [(_require_type(dict, value, at), at)]
    if key in ("anyOf", "oneOf", "allOf"):
        return [(_require_type(dict, item, at), at) for item in _require_type(list, value, at)]
    if key == "properties":
        return [
            (_require_type(dict, item, f"{at}.{k}"), f"{at}.{k}")
            for k, item in _require_type(dict, value, at).items()
        ]
    return []


def _root(schema: Raw, status: bool) -> Raw:
    """Return the schema with the parts that the API server adds: checks of `metadata`, and a `status` without
    checks.
    """
    properties = dict(schema.get("properties") or {})
    properties["metadata"] = {"$ref": "#/$defs/objectMeta"}
    properties.setdefault("apiVersion", {"type": "string"})
    properties.setdefault("kind", {"type": "string"})
    if status:
        properties["status"] = {"x-kubernetes-preserve-unknown-fields": True}
    required = list(dict.fromkeys([*(schema.get("required") or []), "metadata"]))
    meta = load("nodepool-v1")["$defs"]["objectMeta"]
    return {**schema, "properties": properties, "required": required, "$defs": {"objectMeta": meta}}


def _not_compiling(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        for rule in schema.get("x-kubernetes-validations") or []:
            text = rule.get("rule") if isinstance(rule, dict) else None
            if isinstance(text, str) and "oldSelf" not in text:
                try:
                    compile(text)
                except Unsupported as error:
                    yield f"rule `{text}` is left out: {error}"
        for value in schema.values():
            yield from _not_compiling(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _not_compiling(value)
