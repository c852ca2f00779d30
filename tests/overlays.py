"""Overlays of kustomize at random: every feature that is built, combined, and what can go wrong with each."""

# ruff: noqa: E501
from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random

from nodelint.forms.kustomize.values import written_text
from nodelint.text import UNKNOWN, Node, Source
from nodelint.text.source import chunks
from nodelint.text.yaml.compose import compose

_API = {
    "NodePool": "karpenter.sh/v1",
    "EC2NodeClass": "karpenter.k8s.aws/v1",
    "HelmRelease": "helm.toolkit.fluxcd.io/v2",
}
_NAMES = ("default", "gpu", "spot", "batch")
_SCALARS = (
    "1", "0", "-5", "1.5", "1e3", "0x1F", "0777", "1_000", "true", "False", "yes", "on", "n", "null", "~", "", '""',
    "'1'", '"yes"', "plain text", "${CLUSTER}", '"${A}-b"', "2024-01-31", "m5.large", '"a\\tb"', "'it''s'", "12345678901234567890",
    '"\\u00e4"', "ä", "50%", "72h", "!!str 5", "1:30", "0.30", ".5", "<cluster>",
)  # fmt: skip
_WORDS = ("a", "b", "c", "on", "x-y", "example.com/team", "karpenter.sh/x", "1", "true")


class OverlayMaker:
    """Files of one overlay, by path. `risk` is how often a part of it is something that kustomize may refuse."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.risk = random.choice((0.0, 0.0, 0.0, 0.04, 0.15))
        self.files: dict[str, str] = {}
        self.settings: set[str] = set()
        self.taken: set[tuple[str, str]] = set()
        self.objects: list[tuple[str, str, str]] = []
        self._folders = 0

    def make(self) -> dict[str, str]:
        self._kustomization("overlay", depth=self.random.choice((0, 1, 1, 2)), component=False)
        return self.files

    def _errs(self) -> bool:
        return self.random.random() < self.risk

    # -- objects

    def _value(self, depth: int) -> object:
        roll = self.random.random()
        if depth and roll < 0.3:
            return {self.random.choice(_WORDS): self._value(depth - 1) for _ in range(self.random.randint(0, 3))}
        if depth and roll < 0.45:
            return [self._value(depth - 1) for _ in range(self.random.randint(0, 3))]
        return _Raw(self.random.choice(_SCALARS))

    def _typed(self, word: str) -> object:
        """A list for `list`, else a mapping, so that a patch and its object mostly agree."""
        if self._errs():
            return self._value(2)
        if word == "list":
            return [self._value(1) for _ in range(self.random.randint(0, 3))]
        words = self.random.sample(_WORDS, self.random.randint(0, 3))
        return {word: [self._value(1)] if word == "x-y" else self._scalar() for word in words}

    def _scalar(self) -> object:
        return _Raw(self.random.choice(_SCALARS))

    def _spec(self) -> dict[str, object]:
        spec: dict[str, object] = {"weight": _Raw("10"), "role": "KarpenterNode", "arch": "amd64"}
        for word in self.random.sample(
            ("limits", "tags", "list", "kubelet", "disruption"), self.random.randint(0, 4)
        ):
            spec[word] = self._typed(word)
        if not self._errs():
            keys = self.random.sample(("arch", "capacity", "zone", "family"), self.random.randint(1, 3))
            lines = [{"key": key, "operator": "In", "values": self.random.sample(_NAMES, 2)} for key in keys]
            spec["template"] = {
                "spec": {"requirements": lines, "nodeClassRef": {"name": "default", "kind": "EC2NodeClass"}}
            }
        if self.random.random() < 0.4:
            spec["userData"] = _Raw("|\n  #!/bin/bash\n  echo hi\n\n    indented\n")
        if self.random.random() < 0.2:
            spec["text"] = _Raw("|-\n  one\n  two: 2\n")
        return spec

    def _metadata(self, name: str) -> dict[str, object]:
        metadata: dict[str, object] = {"name": name}
        for field in ("labels", "annotations"):
            if self.random.random() < 0.4:
                words = self.random.sample(_WORDS if self._errs() else _WORDS[:-2], self.random.randint(1, 3))
                metadata[field] = {word: _Raw(self.random.choice(_SCALARS)) for word in words}
        if self.random.random() < 0.1:
            metadata["namespace"] = self.random.choice(("karpenter", "default"))
        return metadata

    def _object(self, kind: str, name: str) -> dict[str, object]:
        metadata = self._metadata(name)
        if self.random.random() < 0.05:
            metadata["annotations"] = {"config.kubernetes.io/local-config": "true"}
        return {"apiVersion": _API[kind], "kind": kind, "metadata": metadata, "spec": self._spec()}

    def _resources(self, folder: str, fields: dict[str, object]) -> None:
        listed = []
        for n in range(self.random.randint(1, 3)):
            objects = []
            for _ in range(self.random.randint(1, 2)):
                kind = self.random.choice(("NodePool", "NodePool", "EC2NodeClass", "HelmRelease"))
                name = self.random.choice(_NAMES)
                if (kind, name) in self.taken and not self._errs():
                    continue
                self.taken.add((kind, name))
                self.objects.append((kind, name, folder))
                objects.append(self._object(kind, name))
            if not objects:
                continue
            path = f"r{n}.yaml"
            if self.random.random() < 0.15:
                text = dump({"apiVersion": "v1", "kind": "List", "items": objects})
            else:
                text = "---\n".join(dump(obj) for obj in objects)
            if self.random.random() < 0.3 and (not self.settings or self._errs()):
                self.settings.add(folder)
                text += "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings-" + folder.replace(
                    "/", "-"
                )
                text += "\ndata:\n  region: eu-west-1\n  size: '5'\n"
            self.files[f"{folder}/{path}"] = text
            listed.append(path)
        fields.setdefault("resources", []).extend(listed)  # type: ignore[attr-defined]

    # -- kustomizations

    def _kustomization(self, folder: str, depth: int, component: bool) -> None:
        fields: dict[str, object] = {}
        before = self.objects
        if not component:
            self.objects = []
        if component:
            fields |= {"apiVersion": "kustomize.config.k8s.io/v1alpha1", "kind": "Component"}
        for _ in range(self.random.randint(1, 2) if depth else 0):
            self._folders += 1
            below = f"base{self._folders}"
            self._kustomization(below, depth - 1, component=False)
            field = "bases" if self.random.random() < 0.1 else "resources"
            fields.setdefault(field, []).append(f"../{below}")  # type: ignore[attr-defined]
        if not depth or self.random.random() < 0.4:
            self._resources(folder, fields)
        if depth and self.random.random() < 0.35:
            self._folders += 1
            self._kustomization(f"component{self._folders}", 0, component=True)
            fields["components"] = [f"../component{self._folders}"]
        self._names(fields)
        if self.objects:
            self._patches(folder, fields)
        if self.random.random() < 0.3:
            fields["replacements"] = [self._replacement() for _ in range(self.random.randint(1, 2))]
        if self.random.random() < 0.1:
            fields["images"] = [{"name": "x", "newTag": "v1"}]
        self.files[f"{folder}/kustomization.yaml"] = dump(fields) if fields else "resources: []\nnamePrefix: e-\n"
        self.objects = self.objects if component else before + self.objects

    def _names(self, fields: dict[str, object]) -> None:
        chosen = self.random.random
        if chosen() < 0.25:
            fields["namePrefix"] = self.random.choice(("p-", "dev-"))
        if chosen() < 0.2:
            fields["nameSuffix"] = "-s"
        if chosen() < 0.25:
            fields["namespace"] = self.random.choice(("karpenter", "other"))
        if chosen() < 0.25:
            words = _WORDS if self._errs() else _WORDS[:-2]
            pairs = {word: self.random.choice(_NAMES) for word in self.random.sample(words, 2)}
            fields["labels"] = [
                {"pairs": pairs, "includeSelectors": chosen() < 0.3, "includeTemplates": chosen() < 0.3}
            ]
            if chosen() < 0.4:
                spec = {"path": "spec/template/metadata/labels", "create": chosen() < 0.7, "kind": "NodePool"}
                fields["labels"][0]["fields"] = [spec]  # type: ignore[index]
        if chosen() < 0.2:
            fields["commonLabels"] = {"team": "a"}
        if chosen() < 0.2:
            fields["commonAnnotations"] = {"owner": "b", "a": "1"}

    def _target(self) -> dict[str, object]:
        kind, name, _ = self.random.choice(self.objects)
        group, _, version = _API[kind].partition("/")
        every = {"group": group, "version": version, "kind": kind, "name": name, "namespace": "default"}
        fields = self.random.sample(("group", "version", "kind", "kind", "name", "name", "namespace"), 2)
        target: dict[str, object] = {field: every[field] for field in fields}
        roll = self.random.random()
        if roll < 0.15:
            target["name"] = self.random.choice(
                (".*", "gpu|spot", "d.fault", "ault", "nowhere", "^default$", "(p-)?gpu")
            )
        elif roll < 0.22:
            target["labelSelector"] = self.random.choice(("a=1", "a", "!b", "a in (x, 1)", "a!=1,c", "on", "team=a"))
        elif roll < 0.26:
            target["annotationSelector"] = self.random.choice(("owner=b", "a"))
        return target

    def _change(self, word: str) -> object:
        value = self._typed(word)
        if isinstance(value, dict) and self.random.random() < 0.15:
            value["$patch"] = self.random.choice(("delete", "replace", "merge"))
        return value

    def _merge_patch(self, named: bool) -> dict[str, object]:
        kind, name, _ = self.random.choice(self.objects)
        patch: dict[str, object] = {
            "apiVersion": _API[kind],
            "kind": kind,
            "metadata": {"name": name if named else "any"},
        }
        spec: dict[str, object] = {}
        for word in self.random.sample(
            ("limits", "tags", "list", "kubelet", "disruption", "new"), self.random.randint(0, 3)
        ):
            spec[word] = self._change(word)
        if self.random.random() < 0.4:
            line = {"key": "extra", "operator": "Exists"}
            spec["template"] = {"spec": {"requirements": [line] if not self._errs() else _Raw("null")}}
        if self.random.random() < 0.3:
            spec["weight"] = _Raw(self.random.choice(("20", "null", "'5'")))
        if self.random.random() < 0.3:
            labels = {"a": _Raw(self.random.choice(_SCALARS)), "new": "1"}
            patch["metadata"][self.random.choice(("labels", "annotations"))] = labels  # type: ignore[index]
        patch["spec"] = spec
        if self.random.random() < 0.06:
            patch["$patch"] = self.random.choice(("delete", "replace"))
        return patch

    def _operations(self) -> list[dict[str, object]]:
        operations: list[dict[str, object]] = []
        for _ in range(self.random.randint(1, 3)):
            path = self.random.choice(
                (
                    "/spec/weight", "/spec/new", "/metadata/labels", "/spec/tags", "/spec/template/spec/requirements/-",
                    "/spec/template/spec/requirements/0", "/spec/template/spec/requirements/0/values/1", "/spec/role",
                    "/metadata/annotations", "/spec/a~1b", "/spec/template/spec/requirements/-1", "/metadata/name",
                )
                if self._errs()
                else (
                    "/spec/new", "/metadata/labels", "/spec/tags", "/spec/template/spec/requirements/-", "/spec/arch",
                    "/metadata/annotations", "/spec/a~1b", "/spec/template/spec/requirements/0", "/metadata/name",
                )
            )  # fmt: skip
            ops = (
                ("add", "add", "replace", "remove", "test", "copy", "move")
                if self._errs()
                else ("add", "add", "copy")
            )
            op = self.random.choice(ops)
            operation: dict[str, object] = {"op": op, "path": path}
            if op in ("add", "replace", "test"):
                operation["value"] = "renamed" if path == "/metadata/name" else self._value(2)
            if path in ("/metadata/labels", "/metadata/annotations") and op != "remove":
                operation |= {"op": "add", "value": {"k": "v"}}
            if path == "/metadata/name":
                operation["op"] = self.random.choice(("replace", "add"))
                operation["value"] = "renamed"
            if op in ("copy", "move") and operation["op"] == op:
                operation["from"] = "/spec/none" if self._errs() else "/spec/template"
            operations.append(operation)
        return operations

    def _patches(self, folder: str, fields: dict[str, object]) -> None:
        entries: list[dict[str, object]] = []
        for n in range(self.random.choice((0, 1, 1, 2, 3))):
            target = self._target() if self.random.random() < 0.6 else None
            entry: dict[str, object] = {}
            if target is not None and self.random.random() < 0.5:
                operations = self._operations()
                text = json.dumps(plain(operations)) if self.random.random() < 0.2 else dump(operations)
            else:
                text = dump(self._merge_patch(named=target is None or self.random.random() < 0.5))
                if target is None and self.random.random() < 0.2:
                    text += "---\n" + dump(self._merge_patch(named=True))
                if self.random.random() < 0.1:
                    entry["options"] = {"allowNameChange": True, "allowKindChange": self.random.random() < 0.5}
            if target is not None:
                entry["target"] = target
            if self.random.random() < 0.5:
                path = f"patches/p{n}.yaml" if self.random.random() < 0.5 else f"p{n}.yaml"
                self.files[f"{folder}/{path}"] = text
                entry["path"] = path
            else:
                entry["patch"] = _Raw("|\n" + "".join(f"  {line}\n" for line in text.splitlines()))
            entries.append(entry)
        if entries:
            fields["patches"] = entries
        if self.random.random() < 0.12:
            self.files[f"{folder}/merge.yaml"] = dump(self._merge_patch(named=True))
            fields["patchesStrategicMerge"] = ["merge.yaml"]
        if self.random.random() < 0.12:
            target = {**self._target(), "name": self.random.choice(_NAMES)}
            text = dump(self._operations())
            fields["patchesJson6902"] = [
                {"target": target, "patch": _Raw("|\n" + "".join(f"  {x}\n" for x in text.splitlines()))}
            ]

    def _replacement(self) -> dict[str, object]:
        target: dict[str, object] = {"select": {"kind": self.random.choice(("NodePool", "EC2NodeClass"))}}
        paths = ["spec.role", "spec.arch", "spec.template.spec.nodeClassRef.name", "metadata.labels.[example.com/team]",
            "spec.template.spec.requirements.0.values.1", "spec.template.spec.requirements.*.operator", "metadata.annotations.a",
            "spec.new.below"]  # fmt: skip
        if self._errs():
            paths = [
                "spec.weight",
                "spec.template.spec.requirements.[key=arch].values.0",
                "spec.none.at.all",
                "spec.tags",
            ]
        target["fieldPaths"] = [self.random.choice(paths)]
        if self.random.random() < 0.3:
            target["reject"] = [{"name": self.random.choice(_NAMES)}]
        options: dict[str, object] = {"create": True} if not self._errs() else {}
        if self.random.random() < 0.15:
            options |= {"delimiter": "-", "index": self.random.choice((0, 1, -1, 9))}
        if options:
            target["options"] = options
        if self._errs():
            return {"source": {"kind": "EC2NodeClass", "fieldPath": "spec.role"}, "targets": [target]}
        if self.random.random() < 0.25 or not (self.settings or self.objects):
            return {"sourceValue": self.random.choice(("given", "5", "a-b")), "targets": [target]}
        if self.settings and self.random.random() < 0.3:
            source: dict[str, object] = {
                "kind": "ConfigMap",
                "fieldPath": self.random.choice(("data.region", "data.size")),
            }
        else:
            kind, name, _ = self.random.choice(self.objects or [("NodePool", "default", "")])
            path = self.random.choice(
                ("metadata.name", "spec.role", "spec.weight", "spec.template.spec.requirements.0.key")
            )
            source = {"kind": kind, "name": name, "fieldPath": path}
            if path == "spec.role":
                source["options"] = {"delimiter": "r", "index": 1}
        return {"source": source, "targets": [target]}


class _Raw(str):
    """Characters that stand in the YAML as they are."""


def plain(value: object) -> object:
    """A value without raw characters: what JSON takes."""
    if isinstance(value, dict):
        return {name: plain(child) for name, child in value.items()}
    if isinstance(value, list):
        return [plain(child) for child in value]
    return str(value)


def dump(value: object, indent: int = 0) -> str:
    """YAML in block style; empty collections and raw scalars stand behind their key."""
    margin = " " * indent
    if isinstance(value, dict):
        return (
            "".join(f"{margin}{_key(name)}:{_behind(value, indent)}" for name, value in value.items())
            or f"{margin}{{}}\n"
        )
    if isinstance(value, list):
        return "".join(_item(value, indent) for value in value) or f"{margin}[]\n"
    raise TypeError(value)


def _key(name: str) -> str:
    return f'"{name}"' if name in ("on", "1", "true") else name


def _behind(value: object, indent: int) -> str:
    if isinstance(value, dict | list) and value:
        return "\n" + dump(value, indent + 2)
    return f" {_scalar(value, indent)}\n"


def _item(value: object, indent: int) -> str:
    margin = " " * indent
    if isinstance(value, dict | list) and value:
        return margin + "- " + dump(value, indent + 2)[indent + 2 :]
    return f"{margin}- {_scalar(value, indent)}\n"


def _scalar(value: object, indent: int) -> str:
    if isinstance(value, _Raw):
        lines = value.split("\n")
        return "\n".join([lines[0], *(" " * indent + line if line else "" for line in lines[1:])]).rstrip("\n")
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value)


# -- what kustomize makes of them


def read_results(text: str) -> dict[str, object]:
    """The objects of Karpenter's in what kustomize has printed, or in what is built, by kind and name."""
    found: dict[str, object] = {}
    source = Source("-", text)
    for begin, end in chunks(text, 0):
        for root in compose(source, text[begin:end], begin, masked=False):
            value = read_plain(root) if root is not None else None
            if isinstance(value, dict) and "karpenter" in str(value.get("apiVersion")):
                metadata = value["metadata"]
                found[f"{value['apiVersion']} {value['kind']} {metadata.get('namespace', '')}/{metadata['name']}"] = (
                    value
                )
    return found


def read_plain(node: Node) -> object:
    """A value in which placeholders are their text, and numbers equal where they are the same number."""
    if node.kind == "mapping":
        return {e.name if e.name is not None else written_text(e.key): read_plain(e.value) for e in node.entries}
    if node.kind == "sequence":
        return [read_plain(item) for item in node.items]
    value = written_text(node) if node.value is UNKNOWN else node.value
    return {"number": float(value)} if isinstance(value, int | float) and not isinstance(value, bool) else value


def digest(results: dict[str, object] | None) -> str:
    """What results come to in a few characters; `fails` for none."""
    if results is None:
        return "fails"
    return hashlib.sha256(json.dumps(results, sort_keys=True).encode()).hexdigest()[:16]


def write_overlay(folder: Path, seed: int) -> Path:
    """Write the files of an overlay; its folder."""
    for path, text in OverlayMaker(Random(seed)).make().items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return folder / "overlay"


def run_kustomize(command: list[str], overlay: Path) -> dict[str, object] | None:
    """What the real kustomize makes of an overlay; None where it refuses."""
    done = subprocess.run([*command, str(overlay)], capture_output=True, text=True, check=False)
    return read_results(done.stdout) if done.returncode == 0 else None


def main() -> None:
    """Record what kustomize makes of overlays: `python -m tests.overlays kubectl kustomize`."""
    recorded = {}
    for seed in range(RECORDED):
        with tempfile.TemporaryDirectory() as folder:
            recorded[seed] = digest(run_kustomize(sys.argv[1:], write_overlay(Path(folder), seed)))
    FILE.write_text(json.dumps(recorded, indent=0) + "\n", encoding="utf-8")


RECORDED = 240
FILE = Path(__file__).with_name("overlays.json")

if __name__ == "__main__":
    main()
