"""The bundled schemas against the CRDs of each release.

`NODELINT_CRDS` names a folder that holds the two CRDs of any number of releases, each in a folder of the
release's name: `v1.4.0/karpenter.sh_nodepools.yaml` and the like, as Karpenter's repository has them in
`pkg/apis/crds`; `next` is what is not released. Objects are made up and spoilt from a fixed seed; both sides must
agree on each.
"""

import copy
import json
import os
import random
from pathlib import Path

import pytest

from nodelint.apiserver import Schemas, check
from nodelint.model.documents import objects
from nodelint.model.releases import RELEASES, target
from nodelint.source import Source

CRDS = os.environ.get("NODELINT_CRDS")
FOLDERS = [
    folder
    for folder in (sorted(Path(CRDS).iterdir()) if CRDS else [])
    if folder.name == "next" or folder.name.removeprefix("v") in {str(release) for release in RELEASES}
]
ROUNDS = int(os.environ.get("NODELINT_CRDS_ROUNDS", "60"))
"""Objects for each release and kind."""

pytestmark = pytest.mark.skipif(not FOLDERS, reason="NODELINT_CRDS names no folder with CRDs of known releases")

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
SPECS = [
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
NUMBERS = [0, 1, -1, 3, 50, 51, 60, 64, 65, 100, 101, 300, 2**31, 2**63, 1.5, 2.0, 10**25]
COLLECTIONS = [[], {}, ["a"], [{}], {"a": "b"}, {"a": ""}, {"": "x"}, [None], {"a": None}, ["Empty"] * 2, ["a"] * 60]


def places(value):
    """Where something could be changed: each collection with each of its keys or indices."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield value, key
        yield from places(inner)


def anything(chance):
    return copy.deepcopy(
        chance.choices(
            [
                chance.choice(TEXTS),
                chance.choice(KEYS),
                chance.choice(NUMBERS),
                chance.choice([True, None]),
                chance.choice(COLLECTIONS),
            ],
            [5, 2, 3, 2, 2],
        )[0]
    )


def spoil(spec, chance):
    """A copy of a spec with up to three things changed."""
    spec = copy.deepcopy(spec)
    for _ in range(chance.choice([0, 1, 1, 1, 2, 3])):
        found = list(places(spec))
        if not found:
            break
        holder, key = chance.choice(found)
        inner = holder[key]
        way = chance.randrange(7)
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


def read(whole):
    """The object; None for a NodePool whose class is another provider's."""
    return next(objects(Source.from_text("x.json", json.dumps(whole))), None)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f.name)
def test_the_verdict_is_that_of_the_crds(folder):
    release, theirs, ours = target(folder.name), Schemas.from_crds(folder), Schemas.bundled()
    assert theirs.skipped == ()
    chance = random.Random(folder.name)
    taken = refused = 0
    for version, kind, spec in SPECS:
        for _ in range(ROUNDS):
            whole = {"apiVersion": version, "kind": kind, "metadata": {"name": "a"}, "spec": spoil(spec, chance)}
            obj = read(whole)
            if obj is None:
                continue
            here, there = check(obj, release, ours), check(obj, release, theirs)
            assert bool(here) == bool(there), (whole, [p.message for p in here], [p.message for p in there])
            taken += not here
            refused += bool(here)
    assert taken
    assert refused


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f.name)
def test_what_is_taken_is_taken_with_placeholders_and_in_parts(folder):
    release = target(folder.name)
    chance = random.Random(folder.name)
    for schemas in (Schemas.bundled(), Schemas.from_crds(folder)):
        for version, kind, spec in SPECS:
            for _ in range(ROUNDS // 4):
                whole = {"apiVersion": version, "kind": kind, "metadata": {"name": "a"}, "spec": spoil(spec, chance)}
                obj = read(whole)
                if obj is None or check(obj, release, schemas):
                    continue
                masked, part = copy.deepcopy(whole), copy.deepcopy(whole)
                for holder, key in list(places(masked["spec"])):
                    if isinstance(holder[key], (str, int)) and chance.random() < 0.1:
                        holder[key] = "${ANY}"
                obj = read(masked)
                assert obj is None or not check(obj, release, schemas), masked
                holder, key = chance.choice([place for place in places(part["spec"]) if isinstance(place[0], dict)])
                del holder[key]
                obj = read(part)
                assert obj is not None
                obj.partial = True
                assert not check(obj, release, schemas), part
