"""Overlays at random over two pools and a class: the odd corners of kustomize, several in one overlay."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

_POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: NAME
  labels: {team: NAME, tier: "1"}
  annotations: {note: x}
spec:
  weight: 10
  template:
    metadata: {labels: {a: b}}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      taints: [{key: a, value: b, effect: NoSchedule}]
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
        - {key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}
  limits: {cpu: "10"}
  disruption:
    budgets:
      - nodes: 10%
      - {nodes: "0", schedule: "0 9 * * 1", duration: 8h}
"""
_CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: KarpenterNode
  amiSelectorTerms: [{alias: al2023@latest}]
  tags: {team: x}
"""
_LINES = "/spec/template/spec/requirements"
_OPERATIONS: list[dict[str, object]] = [
    {"op": "add", "path": f"{_LINES}/-", "value": {"key": "x", "operator": "Exists"}},
    {"op": "add", "path": f"{_LINES}/0", "value": {"key": "first", "operator": "Exists"}},
    {"op": "add", "path": f"{_LINES}/1/values/-", "value": "reserved"},
    {"op": "replace", "path": f"{_LINES}/0/values", "value": ["arm64"]},
    {"op": "test", "path": "/spec/template/metadata/labels", "value": {"a": "b"}},
    {"op": "copy", "from": "/spec/disruption", "path": "/spec/copied"},
    {"op": "add", "path": "/metadata/annotations/karpenter.sh~1do-not-disrupt", "value": "true"},
    {"op": "add", "path": "/spec/disruption/budgets/1/nodes", "value": "5"},
    {"op": "remove", "path": f"{_LINES}/0"},
    {"op": "add", "path": "/spec/weight", "value": 50},
]
_RISKS: list[dict[str, object]] = [
    {"op": "remove", "path": "/spec/limits"},
    {"op": "move", "from": "/spec/weight", "path": "/spec/heft"},
    {"op": "test", "path": "/spec/weight", "value": "10"},
    {"op": "remove", "path": "/spec/nothing"},
    {"op": "replace", "path": "/spec/nothing", "value": 1},
    {"op": "add", "path": f"{_LINES}/7", "value": {}},
    {"op": "remove", "path": f"{_LINES}/-1"},
    {"op": "replace", "path": f"{_LINES}/-", "value": {}},
    {"op": "add", "path": "/spec/new/deep", "value": 1},
]
_ADDED = [{"key": "z", "operator": "Exists"}]
_MERGES: list[dict[str, object]] = [
    {"spec": {"$patch": "replace", "weight": 3}},
    {"spec": {"limits": {"$patch": "delete"}}},
    {"spec": {"limits": {"$patch": "replace", "memory": "1Gi"}}},
    {"spec": {"limits": {"cpu": None, "memory": "5Gi"}}},
    {"$patch": "replace", "spec": {"weight": 7}},
    {"spec": {"template": {"spec": {"requirements": _ADDED}}}},
    {"spec": {"template": {"spec": {"requirements": [{"$patch": "replace"}, *_ADDED]}}}},
    {"spec": {"template": {"spec": {"taints": []}}}},
    {"spec": {"template": {"spec": {"taints": None}}}},
    {"spec": {"$retainKeys": ["weight"], "weight": 2}},
    {"metadata": {"labels": {"tier": None, "n": "1"}}},
    {"metadata": {"annotations": {"n": 1}}},
    {"spec": {"disruption": {"budgets": [{"nodes": "1"}]}}},
    {"spec": {"limits": ["a"]}},
    {},
]
_TARGETS: list[dict[str, object]] = [
    {"kind": "NodePool"},
    {"kind": "NodePool", "name": "a|b"},
    {"kind": "NodePool", "name": "^a$"},
    {"kind": "NodePool", "labelSelector": "team=a"},
    {"kind": "NodePool", "labelSelector": "team in (a,c),tier=1"},
    {"kind": "NodePool", "labelSelector": "!none"},
    {"kind": "NodePool", "annotationSelector": "note=x"},
    {"kind": "Node.*", "annotationSelector": "note!=y"},
    {"group": "karpenter.sh", "name": ".*"},
    {"version": "v1", "kind": "NodePool", "name": "b"},
]
_FIELDS: list[tuple[str, object, float]] = [
    ("namePrefix", "p-", 0.15),
    ("nameSuffix", "-s", 0.15),
    ("namespace", "other", 0.15),
    ("commonLabels", {"cl": "1"}, 0.1),
    ("commonAnnotations", {"ca": "1"}, 0.15),
    ("labels", [{"pairs": {"l": "1"}, "includeSelectors": True}], 0.15),
    ("labels", [{"pairs": {"l": "1"}, "includeTemplates": True}, {"pairs": {"m": "3"}}], 0.15),
    ("configMapGenerator", [{"name": "cm", "literals": ["size=5"]}], 0.1),
    ("generatorOptions", {"disableNameSuffixHash": True}, 0.1),
    ("sortOptions", {"order": "fifo"}, 0.05),
    ("replicas", [{"name": "a", "count": 3}], 0.02),
    ("images", [{"name": "x", "newTag": "1"}], 0.05),
]
_SOURCES: list[dict[str, object]] = [
    {"kind": "EC2NodeClass", "fieldPath": "spec.role", "options": {"delimiter": "r", "index": 1}},
    {"kind": "NodePool", "name": "a", "fieldPath": "metadata.name"},
    {"kind": "EC2NodeClass", "name": "default", "fieldPath": "spec.tags"},
    {"kind": "NodePool", "name": "a", "fieldPath": "spec.template.spec.taints.[key=a].value"},
]
_PATHS = (
    *("spec.weight", "metadata.labels.team", "metadata.annotations.[new.io/x]", "spec.nope.deep"),
    *("spec.template.spec.nodeClassRef.name", "spec.template.spec.taints.*.effect"),
    "spec.template.spec.requirements.[key=karpenter.sh/capacity-type].values.0",
)
_OPTIONS: list[dict[str, object]] = [
    {"create": True},
    {"create": True},
    {"delimiter": "-", "index": 0},
    {"delimiter": "/", "index": -1},
]


def write_corners(folder: Path, seed: int) -> Path:
    """Write the files of an overlay; its folder."""
    random = Random(seed)
    files = {"base/pools.yaml": "---\n".join(_POOL.replace("NAME", name) for name in "ab"), "base/class.yaml": _CLASS}
    _write_level(random, "base", ["pools.yaml", "class.yaml"], files)
    top = "base"
    for number in range(random.choice((1, 1, 2))):
        _write_level(random, f"top{number}", [f"../{top}"], files)
        top = f"top{number}"
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder / top


def _write_level(random: Random, name: str, below: list[str], files: dict[str, str]) -> None:
    fields: dict[str, object] = {"resources": below}
    if not below:
        fields = {"apiVersion": "kustomize.config.k8s.io/v1alpha1", "kind": "Component"}
    patches = [_make_patch(random, name, number, files) for number in range(random.choice((0, 1, 1, 2)))]
    fields |= {"patches": patches} if patches else {}
    fields |= {field: value for field, value, chance in _FIELDS if random.random() < chance}
    if not below:
        fields.pop("sortOptions", None)
    if "configMapGenerator" in fields and name != "base":
        fields["configMapGenerator"] = [
            {"name": "cm", "literals": ["a=b"], "behavior": random.choice(("merge", "create"))}
        ]
    if random.random() < 0.2:
        target: dict[str, object] = {
            "select": random.choice(({"kind": "NodePool"}, {"name": "b"}, {"group": "karpenter.sh"})),
            "fieldPaths": [random.choice(_PATHS)],
            "options": random.choice(_OPTIONS),
        }
        if random.random() < 0.2:
            target["reject"] = [{"name": "b"}]
        fields["replacements"] = [{"source": random.choice(_SOURCES), "targets": [target]}]
    if below and random.random() < 0.3:
        parts = [f"{name}-part{number}" for number in range(random.randint(1, 2))]
        for part in parts:
            _write_level(random, part, [], files)
        fields["components"] = [f"../{part}" for part in parts]
    files[f"{name}/kustomization.yaml"] = json.dumps(fields)


def _make_patch(random: Random, level: str, number: int, files: dict[str, str]) -> dict[str, object]:
    target: dict[str, object] | None = random.choice(_TARGETS)
    if random.random() < 0.5:
        operations = random.sample(_OPERATIONS, random.randint(1, 3))
        text = json.dumps(operations + random.sample(_RISKS, int(random.random() < 0.15)))
    else:
        merge = random.choice(_MERGES)
        names = ["any"]
        if random.random() < 0.5:
            target, names = None, random.sample(["a", "b"], random.choice((1, 1, 2)))
        text = "\n---\n".join(json.dumps(_make_object(merge, name)) for name in names)
    patch: dict[str, object] = {"target": target} if target is not None else {}
    if random.random() < 0.3:
        files[f"{level}/p{number}.yaml"] = text + "\n"
        return {**patch, "path": f"p{number}.yaml"}
    return {**patch, "patch": text}


def _make_object(merge: dict[str, object], name: str) -> dict[str, object]:
    metadata = merge.get("metadata")
    own = metadata if isinstance(metadata, dict) else {}
    head = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool"}
    return {**head, **merge, "metadata": {"name": name, **own}}
