"""Generate the ConfigMaps of kustomizations, as far as replacements use their values."""

from __future__ import annotations

import os
from collections.abc import Iterator

from nodelint.forms.kustomize.configuration import Kustomization
from nodelint.forms.kustomize.resources import Resource
from nodelint.forms.kustomize.run import OverlayRun
from nodelint.forms.kustomize.values import YamlTree, new_text
from nodelint.text import Node


def generate_config_map(run: OverlayRun, kustomization: Kustomization, item: YamlTree) -> None:
    """Store the ConfigMap of a generator, or merge it into the one of the same name.

    Raise `BuildError` for a file outside of the repository, and OSError for a file that cannot be read.
    """
    name, behavior = item.text("name"), item.text("behavior") or "create"
    data = YamlTree("mapping", item.at)
    for key, value in _list_data(run, kustomization, item):
        data.put(key, value)
    there = run.generated.get(name)
    if behavior == "merge" and there is not None:
        base = there.value.get("data")
        if base is not None:
            for key, field in data.fields.items():
                base.put(key, field.value)
        return
    made = YamlTree("mapping", item.at)
    made.put("apiVersion", new_text("v1", item.at))
    made.put("kind", new_text("ConfigMap", item.at))
    metadata = YamlTree("mapping", item.at)
    metadata.put("name", new_text(name, item.at))
    made.put("metadata", metadata)
    made.put("data", data)
    run.generated[name] = Resource(made, kustomization.source, False)


def list_named_files(kustomization: Kustomization) -> Iterator[tuple[str, Node | None]]:
    """Yield the paths of the files from which a kustomization generates objects, and of its validators."""
    yield from (named for field in ("generators", "validators") for named in kustomization.texts(field))
    for field in ("configMapGenerator", "secretGenerator"):
        for item in kustomization.items(field):
            env = item.get("env")
            for listed in (*_items(item, "envs"), *([env] if env is not None else [])):
                yield listed.as_text(), listed.at
            for listed in _items(item, "files"):
                yield listed.as_text().rpartition("=")[2], listed.at


def _list_data(run: OverlayRun, kustomization: Kustomization, item: YamlTree) -> list[tuple[str, YamlTree]]:
    """Return the keys and texts of a generator. If a key is repeated, the last one counts."""
    found: list[tuple[str, YamlTree]] = []
    for listed in _items(item, "envs") + ([env] if (env := item.get("env")) is not None else []):
        path = run.resolve(kustomization, listed.as_text(), listed.at)
        source = run.files.read(path)
        run.budget.spend(0, len(source.text))
        run.parts.setdefault(path)
        start = 0
        for line in source.text.split("\n"):
            key, equals, text = line.strip().partition("=")
            if equals and not key.startswith("#"):
                place = Node(source, start, start + len(line.rstrip("\r")), "scalar", "plain")
                found.append((key, new_text(text, place)))
            start += len(line) + 1
    for listed in _items(item, "files"):
        key, equals, name = listed.as_text().rpartition("=")
        path = run.resolve(kustomization, name, listed.at)
        source = run.files.read(path)
        run.parts.setdefault(path)
        place = Node(source, 0, len(source.text), "scalar", "plain")
        found.append((key if equals else os.path.basename(name), new_text(source.text, place)))
    for listed in _items(item, "literals"):
        key, _, text = listed.as_text().partition("=")
        found.append((key, new_text(text.strip("\"'"), listed.at)))
    return found


def _items(item: YamlTree, field: str) -> list[YamlTree]:
    value = item.get(field)
    return list(value.items) if value is not None else []
