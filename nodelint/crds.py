"""CustomResourceDefinitions of a cluster, read as schemas."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nodelint.cel import Unsupported, compile
from nodelint.schema_shape import Raw, load

_KINDS = {("karpenter.sh", "NodePool"), ("karpenter.k8s.aws", "EC2NodeClass")}
_ENDINGS = frozenset((".yaml", ".yml", ".json"))


def read(path: str) -> tuple[dict[tuple[str, str], Raw], tuple[str, ...]]:
    """The schemas by kind and API version, and which of their rules cannot be judged here.

    Raises OSError where nothing can be read, and ValueError where there is no CRD of Karpenter's or
    a file is no YAML.
    """
    roots: dict[tuple[str, str], Raw] = {}
    for file in _files(Path(path)):
        for definition in _definitions(file):
            roots.update(_served(definition))
    if not roots:
        raise ValueError("holds no CustomResourceDefinition of NodePool or EC2NodeClass")
    skipped = dict.fromkeys(reason for root in roots.values() for reason in _not_compiling(root))
    return roots, tuple(skipped)


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    return sorted(file for file in path.rglob("*") if file.suffix.lower() in _ENDINGS and file.is_file())


def _definitions(file: Path) -> Iterator[dict[str, Any]]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    data = file.read_bytes()
    if b"CustomResourceDefinition" not in data or b"karpenter" not in data:
        return
    try:
        documents = list(YAML(typ="safe").load_all(data))
    except (YAMLError, UnicodeDecodeError) as error:
        first = " ".join(str(error).split())
        raise ValueError(f"{file.name} is no YAML: {first[:120]}") from None
    for document in documents:
        items = document.get("items") if isinstance(document, dict) else None
        for one in items if isinstance(items, list) else [document]:
            if isinstance(one, dict) and one.get("kind", "CustomResourceDefinition") == "CustomResourceDefinition":
                yield one


def _served(definition: dict[str, Any]) -> Iterator[tuple[tuple[str, str], Raw]]:
    spec = definition.get("spec")
    names = spec.get("names") if isinstance(spec, dict) else None
    kind = names.get("kind") if isinstance(names, dict) else None
    if not isinstance(spec, dict) or (spec.get("group"), kind) not in _KINDS:
        return
    for version in spec.get("versions") or []:
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if version.get("served", True) and isinstance(schema, dict):
            yield (
                (str(kind), str(version["name"])),
                _root(schema, "status" in (version.get("subresources") or {})),
            )


def _root(schema: Raw, status: bool) -> Raw:
    """The schema with what an API server adds: the checks of metadata, and a status that it drops."""
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
