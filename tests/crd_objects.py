"""Objects made up and spoilt from a seed, and what the CRDs of some releases say of them.

`python -m tests.crd_objects FOLDER` writes `crd_verdicts.json` anew from real CRDs, each release's in a folder of its
name (see `test_schema_against_crds`): a letter for each object, so that every run can compare without the CRDs.
"""

from __future__ import annotations

import copy
import hashlib
import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from nodelint.apiserver import Schemas, check, refuses
from nodelint.model.documents import objects
from nodelint.model.manifest import Object
from nodelint.model.releases import target
from nodelint.text import Source

VERDICTS = Path(__file__).with_name("crd_verdicts.json")
RECORDED = ("v1.0.0", "v1.4.0", "v1.9.0", "v1.14.1", "next")
"""The releases whose verdicts are written down: the first and the newest, and where the most changed."""

EACH = 50
"""Objects for each release and kind of which the verdict is written down."""

_T = TypeVar("_T")


class Chance:
    """Chance from a seed, the same in every release of Python."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)

    def below(self, limit: int) -> int:
        return int(self._random.random() * limit)

    def chance_of(self, number: int) -> bool:
        return self.below(number) == 0

    def choice(self, items: list[_T]) -> _T:
        return items[self.below(len(items))]


TAGS = {"karpenter.sh/discovery": "main"}
KUBELET = {
    "clusterDNS": ["10.0.1.100"],
    "maxPods": 20,
    "systemReserved": {"cpu": "100m"},
    "evictionHard": {"memory.available": "5%"},
    "evictionSoft": {"memory.available": "500Mi"},
    "evictionSoftGracePeriod": {"memory.available": "1m"},
    "imageGCHighThresholdPercent": 85,
    "imageGCLowThresholdPercent": 80,
}
REQUIREMENTS = [
    {"key": "karpenter.k8s.aws/instance-category", "operator": "In", "values": ["c", "m"]},
    {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"], "minValues": 1},
    {"key": "karpenter.k8s.aws/instance-generation", "operator": "Gt", "values": ["2"]},
    {"key": "karpenter.sh/capacity-type", "operator": "Exists"},
]
POOL = {
    "template": {
        "metadata": {"labels": {"team": "a", "node.kubernetes.io/x": "y"}, "annotations": {"a/b": "c"}},
        "spec": {
            "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
            "expireAfter": "720h",
            "terminationGracePeriod": "1h",
            "requirements": REQUIREMENTS,
            "taints": [{"key": "a/b", "effect": "NoSchedule", "value": "x"}],
        },
    },
    "disruption": {
        "consolidationPolicy": "WhenEmpty",
        "consolidateAfter": "30s",
        "budgets": [{"nodes": "5", "schedule": "@daily", "duration": "10m", "reasons": ["Empty", "Drifted"]}],
    },
    "limits": {"cpu": "1000", "nodes": 3},
    "weight": 10,
}
STATIC = {"template": POOL["template"], "replicas": 3, "limits": {"nodes": "10"}}
OLD_POOL = {
    "template": {
        "spec": {
            "kubelet": KUBELET,
            "resources": {},
            "nodeClassRef": {"apiVersion": "karpenter.k8s.aws/v1beta1", "kind": "EC2NodeClass", "name": "default"},
            "requirements": REQUIREMENTS,
        },
    },
    "disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "30s", "expireAfter": "720h"},
}
OLD_CLASS = {
    "amiFamily": "AL2",
    "role": "nodes",
    "amiSelectorTerms": [{"id": "ami-1"}, {"name": "x*", "owner": "self"}, {"tags": TAGS}],
    "subnetSelectorTerms": [{"tags": TAGS}, {"id": "subnet-1"}],
    "securityGroupSelectorTerms": [{"tags": TAGS}, {"id": "sg-1"}, {"name": "x"}],
    "blockDeviceMappings": [
        {"deviceName": "/dev/xvda", "rootVolume": True, "ebs": {"volumeSize": "100Gi", "volumeType": "gp3"}},
        {"ebs": {"snapshotID": "snap-1", "iops": 3000}},
    ],
    "metadataOptions": {"httpEndpoint": "enabled", "httpTokens": "required", "httpPutResponseHopLimit": 2},
    "tags": {"a": "b"},
    "detailedMonitoring": True,
    "userData": "x",
}
CLASS = {**OLD_CLASS, "amiFamily": "AL2023", "amiSelectorTerms": [{"alias": "al2023@latest"}], "kubelet": KUBELET}
NEW_CLASS = {
    **CLASS,
    "amiSelectorTerms": [{"ssmParameter": "/a"}, {"id": "ami-1"}],
    "capacityReservationSelectorTerms": [{"id": "cr-1"}, {"tags": TAGS, "ownerID": "123456789012"}],
    "networkInterfaces": [{"deviceIndex": 0, "networkCardIndex": 0, "interfaceType": "interface"}],
    "placementGroupSelector": {"name": "x"},
    "connectionTracking": {"udpTimeout": 30},
    "cpuOptions": {"nestedVirtualization": "enabled"},
    "ipPrefixCount": 1,
}
SPECS: list[tuple[str, str, dict[str, Any]]] = [
    ("karpenter.sh/v1", "NodePool", POOL),
    ("karpenter.sh/v1", "NodePool", STATIC),
    ("karpenter.sh/v1beta1", "NodePool", OLD_POOL),
    ("karpenter.k8s.aws/v1", "EC2NodeClass", CLASS),
    ("karpenter.k8s.aws/v1", "EC2NodeClass", NEW_CLASS),
    ("karpenter.k8s.aws/v1beta1", "EC2NodeClass", OLD_CLASS),
]
TEXTS = [
    *(
        "",
        "a",
        "Never",
        "1hr",
        "FooNever",
        "1h30m",
        "10%",
        "101%",
        "@dailyfoo",
        "a b c d e",
        "*",
        "-1",
        "+1",
        " 1",
        "1.5",
    ),
    *("Ti", "18Ti", "100Gi", "59001Gi", "In", "Inn", "Gt", "Gte", "NotIn", "WhenUnderutilized", "Balanced", "AL2"),
    *("Bottlerocket", "Custom", "Ubuntu", "Windows2025", "al2@latest", "al2", "windows2025@latest", "windows2022@1"),
    *(
        "windows2019@latest@x",
        "ubuntu@latest",
        "@x",
        "al2023@",
        "ami-1",
        "sg-1",
        "cr-1",
        "NoExecute",
        "Empty",
        "open",
    ),
    *("99999999999999999999", "2020-02-30T00:00:00Z", "é" * 70, "x" * 64, "karpenter.k8s.aws/v1", "a\nb", "efa-only"),
]
KEYS = [
    *("karpenter.sh/capacity-type", "karpenter.sh/nodepool", "x.karpenter.sh/x", "karpenter.sh", "kubernetes.io/os"),
    *("kubernetes.io/hostname", "foo.kubernetes.io/x", "node.kubernetes.io/x", "beta.kubernetes.io/arch", "k8s.io/x"),
    *("x.node-restriction.kubernetes.io/x", "kops.k8s.io/x", "topology.k8s.aws/zone-id", "karpenter.k8s.aws/foo"),
    *("karpenter.k8s.aws/ec2nodeclass", "karpenter.k8s.aws/instance-tenancy", "karpenter.k8s.aws/placement-group-id"),
    *("karpenter.k8s.aws/instance-capability-flex", "karpenter.k8s.aws/capacity-reservation-interruptible"),
    *("karpenter.k8s.aws/capacity-reservation-id", "karpenter.k8s.aws/capacity-reservation-type", "-bad", "a" * 320),
    *("karpenter.k8s.aws/instance-cpu-sustained-clock-speed-mhz", "kubernetes.io/cluster/x", "eks:eks-cluster-name"),
    *(
        "karpenter.sh/managed-by",
        "cpu",
        "pid",
        "nodes",
        "memory.available",
        "foo",
        "id",
        "name",
        "tags",
        "alias",
        "owner",
    ),
    *(
        "instanceProfile",
        "replicas",
        "reasons",
        "minValues",
        "values",
        "kubelet",
        "duration",
        "instanceMatchCriteria",
    ),
]
NUMBERS: list[Any] = [0, 1, -1, 3, 50, 51, 60, 64, 65, 100, 101, 300, 2**31, 2**63, 1.5, 2.0, 10**25]
COLLECTIONS: list[Any] = [
    [],
    {},
    ["a"],
    [{}],
    {"a": "b"},
    {"a": ""},
    {"": "x"},
    [None],
    {"a": None},
    ["Empty"] * 2,
    ["a"] * 60,
]


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Where something could be changed: each collection with each of its keys or indices."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield value, key
        yield from places(inner)


def anything(chance: Chance) -> Any:
    scalar: list[list[Any]] = [*[TEXTS] * 5, *[KEYS] * 2, *[NUMBERS] * 3, *[[True, None]] * 2, *[COLLECTIONS] * 2]
    return copy.deepcopy(chance.choice(chance.choice(scalar)))


def spoil(spec: dict[str, Any], chance: Chance) -> dict[str, Any]:
    """A copy of a spec with up to three things changed."""
    spec = copy.deepcopy(spec)
    for _ in range(chance.choice([0, 1, 1, 1, 2, 3])):
        found = list(places(spec))
        if not found:
            break
        holder, key = chance.choice(found)
        inner = holder[key]
        way = chance.below(7)
        if way == 0:
            del holder[key]
        elif way == 1 and isinstance(holder, list):
            holder.extend(copy.deepcopy(inner) for _ in range(chance.choice([1, 1, 30, 60, 110])))
        elif way == 2 and isinstance(inner, dict):
            inner[chance.choice(KEYS)] = anything(chance)
        elif way == 3 and isinstance(holder, dict):
            holder[chance.choice(KEYS)] = anything(chance)
        elif isinstance(inner, str) and way < 6:
            holder[key] = chance.choice(TEXTS + KEYS)
        else:
            holder[key] = anything(chance)
    return spec


def read(whole: dict[str, Any]) -> Object | None:
    """The object; None for a NodePool whose class is another provider's."""
    return next(objects(Source.from_text("x.json", json.dumps(whole))), None)


def spoilt_objects(release: str, value: int) -> Iterator[dict[str, Any]]:
    """The spoilt objects of a release (`v1.4.0`, `next`), of the versions that it serves."""
    chance = Chance(release)
    served = Schemas.bundled()
    for version, kind, spec in SPECS:
        shape = served.shape(kind, version.rpartition("/")[2], target(release))
        if shape is None or target(release) not in shape.window:
            continue
        for _ in range(value):
            yield {"apiVersion": version, "kind": kind, "metadata": {"name": "a"}, "spec": spoil(spec, chance)}


def digest(release: str) -> str:
    """What tells the objects of a release from others."""
    text = "".join(json.dumps(whole) for whole in spoilt_objects(release, EACH))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def verdict(obj: Object | None, release: str, schemas: Schemas) -> str:
    """`.` for what is taken, `u` for what has unknown fields alone, `x` for what is refused, `-` for another's."""
    if obj is None:
        return "-"
    at = target(release)
    found = check(obj, at, schemas)
    if not found:
        return "."
    return "x" if refuses(obj, at, schemas) or any(problem.path == "apiVersion" for problem in found) else "u"


def _record(folder: Path) -> None:
    recorded = {}
    for release in RECORDED:
        theirs = Schemas.from_crds(folder / release)
        letters = "".join(verdict(read(whole), release, theirs) for whole in spoilt_objects(release, EACH))
        recorded[release] = {"objects": digest(release), "verdicts": letters}
    VERDICTS.write_text(json.dumps(recorded, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    _record(Path(sys.argv[1]))
