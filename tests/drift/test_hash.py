"""`nodelint hash`: the values that Karpenter writes on objects, from manifests."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from nodelint.apiserver import Schemas
from nodelint.drift import Unhashable, go_values, hash_object, hash_stored
from nodelint.drift.hashes import kubelet_hash, kubelet_text, version
from nodelint.drift.hashstructure import text_hash
from nodelint.model.documents import objects
from nodelint.model.releases import NEWEST, RELEASES, Version
from nodelint.text import Source
from tests.conftest import ROOT
from tests.manifests import nodeclass, nodepool

Run = Callable[..., CompletedProcess[str]]
UPSTREAM = json.loads((Path(__file__).parents[1] / "drift" / "upstream_hashes.json").read_text(encoding="utf-8"))
EACH = [
    pytest.param(tag, cases, id=tag)
    for cases in UPSTREAM["sets"]
    for tag in dict.fromkeys((cases["tags"][0], cases["tags"][-1]))
]


def merged(into: Any, changes: Any) -> Any:
    """As upstream's tests merge a change into their class: entries of lists one by one."""
    for key, value in changes.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            merged(into[key], value)
        elif isinstance(value, list) and isinstance(into.get(key), list):
            for old, new in zip(into[key], value, strict=False):
                merged(old, new)
        else:
            into[key] = value
    return into


@pytest.mark.parametrize(("tag", "cases"), EACH)
def test_upstreams_fixed_values(tag: str, cases: dict[str, Any]) -> None:
    ca = text_hash(cases["caBundle"]) if cases["caBundle"] else None
    found = {}
    for case in cases["cases"]:
        spec = merged(deepcopy(UPSTREAM["base"]), case["spec"])
        found[case["name"]] = str(hash_stored("EC2NodeClass", {"spec": spec}, Version.parse(tag), ca).value)
    assert found == {case["name"]: case["hash"] for case in cases["cases"]} != {}


def test_upstreams_values_are_those_of_every_release() -> None:
    """Of every release whose own tests could be read."""
    messages = {tag for cases in UPSTREAM["sets"] for tag in cases["tags"]}
    unread = {"1.9.3", "1.14.2", "1.14.3", "1.15.0", "1.15.1"}
    assert {str(release) for release in RELEASES} - unread <= messages


REF = "nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: %s}"
POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      requirements: []
"""
CLASS = nodeclass(role="nodes", ami="alias: al2023@latest", net="tags: {a: b}", inline=True)


def pool(*lines: str, ref: str = "default") -> str:
    return POOL + "".join(f"      {line}\n" for line in (REF % ref, *lines))


def node_class(*lines: str) -> str:
    return CLASS + "".join(f"  {line}\n" for line in lines)


def value(text: str, release: str = "1.14.1") -> int:
    (obj,) = objects(Source.from_text("x.yaml", text))
    return hash_object(obj, Version.parse(release), Schemas.bundled()).value


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        # aws/karpenter-provider-aws#8741, Karpenter 1.2.1
        (pool("expireAfter: Never"), 17369979337536258260),
        # pages that print `kubectl get nodepool` of their clusters
        (pool("expireAfter: 720h"), 6821555240594823858),
        (pool(), 6821555240594823858),
        (pool("taints: []", "startupTaints: []", ref="default-ec2nodeclass"), 11142864721958693070),
    ],
)
def test_live_nodepools(text: str, seen: int) -> None:
    assert value(text) == seen


def test_a_live_pool_of_another_provider_is_hashed_the_same_way() -> None:
    spec = {
        "expireAfter": "336h",
        "nodeClassRef": {"group": "eks.amazonaws.com", "kind": "NodeClass", "name": "default"},
        "terminationGracePeriod": "24h0m0s",
    }
    stored = {"spec": {"template": {"metadata": {}, "spec": spec}}}
    assert hash_stored("NodePool", stored, Version(1, 2, 1)).value == 4012513481623584108


P, C = pool, node_class


@pytest.mark.parametrize(
    ("left", "other"),
    [
        (P(), P("expireAfter: 720h")),
        (P(), P("expireAfter: 43200m")),
        (P("terminationGracePeriod: 24h0m0s"), P("terminationGracePeriod: 1440m")),
        (P("taints: [{key: a, effect: NoSchedule}]"), P('taints: [{key: a, value: "", effect: NoSchedule}]')),
        (P("taints: null"), P()),
        (P("unknown: field"), P()),
        (
            P("taints: [{key: a, effect: NoSchedule}, {key: b, effect: NoExecute}]"),
            P("taints: [{effect: NoExecute, key: b}, {key: a, effect: NoSchedule}]"),
        ),
        (P("taints: []"), P("taints: [{key: a, effect: NoSchedule}, {key: a, effect: NoSchedule}]")),
        (P().replace("spec:\n  template:\n", "spec:\n  template:\n    metadata: {}\n"), P()),
        (P().replace("spec:\n", "spec:\n  weight: 5\n  limits: {cpu: 1}\n", 1), P()),
        (C(), C("amiFamily: AL2023")),
        (C(), C("metadataOptions: {}")),
        (C(), C("metadataOptions: {httpPutResponseHopLimit: 1, httpTokens: required}")),
        (
            C("blockDeviceMappings: [{ebs: {volumeSize: 1024Gi}}]"),
            C("blockDeviceMappings: [{ebs: {volumeSize: 1Ti}}]"),
        ),
        (
            C("blockDeviceMappings: [{deviceName: a}, {deviceName: b, rootVolume: false}]"),
            C("blockDeviceMappings: [{deviceName: b}, {deviceName: a}]"),
        ),
        (C("kubelet: {evictionSoftGracePeriod: {a: 60s}}"), C("kubelet: {evictionSoftGracePeriod: {a: 1m}}")),
        (C("ipPrefixCount: 1"), C()),
    ],
)
def test_what_does_not_count(left: str, other: str) -> None:
    assert value(left) == value(other)


@pytest.mark.parametrize(
    ("left", "other"),
    [
        (P(), P("taints: []")),
        (P(), P("startupTaints: []")),
        (P(), P("expireAfter: Never")),
        (P("expireAfter: Never"), P("expireAfter: 0s")),
        (P(), P("terminationGracePeriod: 0s")),
        (P(), P().replace("spec:\n  template:\n", "spec:\n  template:\n    metadata: {labels: {}}\n")),
        (C(), C("tags: {}")),
        (C(), C("kubelet: {}")),
        (C(), C("detailedMonitoring: false")),
        (C(), C("associatePublicIPAddress: false")),
        (C(), C("blockDeviceMappings: []")),
        (
            C("blockDeviceMappings: [{ebs: {volumeSize: 1000Gi}}]"),
            C("blockDeviceMappings: [{ebs: {volumeSize: 1T}}]"),
        ),
        (C(), C("amiFamily: Custom")),
        (C(), C("metadataOptions: {httpPutResponseHopLimit: 2}")),
    ],
)
def test_what_counts(left: str, other: str) -> None:
    assert value(left) != value(other)


@pytest.mark.parametrize(
    ("release", "line", "counts"),
    [
        ("1.0.8", "kubelet: {maxPods: 20}", False),
        ("1.1.0", "kubelet: {maxPods: 20}", True),
        ("1.10.0", "networkInterfaces: []", False),
        ("1.11.0", "networkInterfaces: []", True),
        ("1.12.0", "connectionTracking: {}", False),
        ("1.13.0", "connectionTracking: {}", True),
    ],
)
def test_a_field_counts_from_the_release_that_has_it(release: str, line: str, counts: bool) -> None:
    assert (value(node_class(line), release) != value(node_class(), release)) is counts


def test_the_kubelet_of_1_0_has_a_hash_of_its_own() -> None:
    def hash_kubelet(kubelet: dict[str, Any]) -> int | None:
        return kubelet_hash({"spec": kubelet}, Version(1, 0, 8))

    assert hash_kubelet({}) == hash_kubelet({"kubelet": {}}) != hash_kubelet({"kubelet": {"maxPods": 20}})
    assert kubelet_hash({"spec": {}}, Version(1, 1, 0)) is None


# -- properties

NAMES = st.sampled_from(["a", "b", "c", "d/e", ""])
EFFECTS = st.sampled_from(["NoSchedule", "NoExecute"])
TAINTS = st.lists(st.fixed_dictionaries({"key": NAMES, "effect": EFFECTS}, optional={"value": NAMES}), max_size=5)


@given(TAINTS, st.randoms(use_true_random=False))
def test_the_order_of_a_list_never_counts(taints: list[dict[str, str]], chance: Any) -> None:
    mixed = [dict(sorted(taint.items(), reverse=True)) for taint in taints]
    chance.shuffle(mixed)
    assert value(pool(f"taints: {json.dumps(taints)}")) == value(pool(f"taints: {json.dumps(mixed)}"))


@given(st.dictionaries(NAMES, NAMES), st.dictionaries(NAMES, NAMES))
def test_tags_hash_alike_only_where_they_are_the_same(left: dict[str, str], other: dict[str, str]) -> None:
    hashes = [value(node_class(f"tags: {json.dumps(tags)}")) for tags in (left, other)]
    assert (hashes[0] == hashes[1]) is (left == other)


@given(st.integers(1, 4000), st.integers(0, 3))
def test_a_quantity_is_the_same_however_it_is_written(number: int, steps: int) -> None:
    names = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]
    assert go_values.quantity(f"{number * 1024**steps}Ki") == go_values.quantity(f"{number}{names[steps]}")
    assert (
        go_values.quantity(f"{number}000M") == go_values.quantity(f"{number}G") == go_values.quantity(f"{number}.0G")
    )


@given(st.integers(0, 10**6))
def test_a_duration_is_the_same_however_it_is_written(seconds: int) -> None:
    minutes, rest = divmod(seconds, 60)
    hours, over = divmod(minutes, 60)
    same = {go_values.duration(text) for text in (f"{seconds}s", f"{minutes}m{rest}s", f"{hours}h{over}m{rest}s")}
    assert same == {seconds * 10**9}
    assert go_values.duration(f"-{seconds}s") == -go_values.duration(f"+{seconds}000ms")


@pytest.mark.parametrize("text", ["", "1", "h", "1d", ".s", "1h-5m", "9223372036854775808ns", "1 h"])
def test_what_go_takes_for_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        go_values.duration(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (node_class("tags: ${TAGS}"), "spec.tags: a placeholder"),
        (node_class("detailedMonitoring: 'yes'"), "spec.detailedMonitoring: not a boolean"),
        (pool("expireAfter: soon"), "spec.template.spec.expireAfter: `soon` is not a duration"),
        (node_class("blockDeviceMappings: [{ebs: {iops: 9223372036854775808}}]"), "does not fit in 64 bits"),
        (CLASS.replace("aws/v1", "aws/v1beta1"), "Karpenter 1.14.1 serves no EC2NodeClass"),
    ],
)
def test_what_cannot_be_known_is_said(text: str, why: str) -> None:
    with pytest.raises(Unhashable, match=why.replace("[", r"\[")):
        value(text)


@pytest.mark.parametrize(
    ("kubelet", "same"),
    [
        ("{maxPods: null, podsPerCore: 3}", "{podsPerCore: 3}"),
        ("{maxPods: null}", "{}"),
        ("{}", None),
        # What a field of an open map holds is stored as it is.
        ("{kubeReserved: {cpu: null}}", ""),
    ],
)
def test_an_open_kubelet_loses_its_nulls_before_it_is_hashed(kubelet: str, same: str | None) -> None:
    def of_kubelet(text: str | None) -> object:
        return value(node_class(*([f"kubelet: {text}"] if text else [])), "1.15.0")

    assert (of_kubelet(kubelet) == of_kubelet(same)) == (same != "")


SCRIPT = "#!/bin/bash\\necho $(echo ${CLUSTER}) <x> {{ y }}"


def test_a_stored_object_has_its_hash_whatever_its_values_look_like() -> None:
    with pytest.raises(Unhashable, match="a placeholder"):
        value(node_class('userData: "echo ${CLUSTER} <x> {{ y }}"'))
    text = node_class(f'userData: "{SCRIPT}"')
    live = text.replace("metadata: {", "metadata: {resourceVersion: '12', ", 1)
    assert live != text
    assert value(live) != value(live.replace("CLUSTER", "NAME"))


def test_what_a_webhook_converts_first_has_no_hash_here() -> None:
    with pytest.raises(Unhashable, match=r"a webhook converts `karpenter[.]k8s[.]aws/v1beta1` to v1"):
        value(CLASS.replace("aws/v1", "aws/v1beta1"), "1.0.8")


# -- the command


def put(folder: Path, text: str, name: str) -> None:
    (folder / name).write_text(text, encoding="utf-8")


def test_the_example_of_the_documentation_of_1_15() -> None:
    """reference/annotations.md of v1.15: the hash of a pool with a nodeClassRef alone, and the versions."""
    ref = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    stored = {"spec": {"template": {"spec": {"nodeClassRef": ref, "expireAfter": "720h"}}}}
    found = hash_stored("NodePool", stored, Version(1, 15, 0))
    assert (found.value, found.version) == (6821555240594823858, "v3")
    assert version("EC2NodeClass", Version(1, 14, 3)) == "v5"
    assert version("EC2NodeClass", Version(1, 15, 0)) == "v6"


@pytest.mark.parametrize("enclaves", [{"enabled": True}, {"enabled": False}, {}])
def test_a_field_whose_place_in_the_hash_is_not_known_has_no_hash(enclaves: dict[str, Any]) -> None:
    """Where `enclaveOptions` stands among the fields was not to be read, and the order counts."""
    stored = {"spec": {"role": "nodes", "enclaveOptions": enclaves}}
    with pytest.raises(Unhashable, match=r"spec\.enclaveOptions: it counts in the hash of Karpenter 1\.15\.1"):
        hash_stored("EC2NodeClass", stored, Version(1, 15, 1))
    without = {"spec": {"role": "nodes"}}
    older = [hash_stored("EC2NodeClass", value, Version(1, 14, 3)).value for value in (stored, without)]
    assert older[0] == older[1]


def test_the_command_prints_each_object(nodelint: Run, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    put(tmp_path, pool() + "---\n" + node_class("tags: {a: '{{ b }}'}"), "pool.yaml")
    put(tmp_path, node_class("kubelet: {maxPods: 20}"), "class.yaml")
    done = nodelint("hash", "--karpenter-version", "1.0.8")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == snapshot
    report = json.loads(nodelint("hash", "--format", "json").stdout)
    schema = json.loads((ROOT / "schemas" / "hash.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(report)
    assert report == snapshot


def test_a_document_that_cannot_be_read_is_named_and_the_others_are_hashed(nodelint: Run, tmp_path: Path) -> None:
    put(tmp_path, pool(), "pool.yaml")
    put(tmp_path, "apiVersion: karpenter.sh/v1\nkind: [\n", "broken.yaml")
    done = nodelint("hash")
    assert done.returncode == 2
    assert "6821555240594823858" in done.stdout
    assert "nodelint: broken.yaml:3:1: " in done.stderr


def live(release: str, bundle: str) -> str:
    """A cluster whose class and pool stand as `class.yaml` and `pool.yaml` had them, with three NodeClaims."""
    spec = {
        "role": "nodes",
        "amiSelectorTerms": [{"alias": "al2023@latest"}],
        "metadataOptions": {
            "httpEndpoint": "enabled",
            "httpProtocolIPv6": "disabled",
            "httpPutResponseHopLimit": 1,
            "httpTokens": "required",
        },
    }
    found = hash_stored("EC2NodeClass", {"spec": spec}, Version.parse(release), text_hash(bundle))
    key = "karpenter.k8s.aws/ec2nodeclass-hash"
    noted = {key: str(found.value), f"{key}-version": found.version}
    ref = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    of_pool = {"karpenter.sh/nodepool-hash": "6821555240594823858", "karpenter.sh/nodepool-hash-version": "v3"}

    def claim(name: str, changed: dict[str, str], **more: Any) -> dict[str, Any]:
        meta = {
            "name": name,
            "labels": {"karpenter.sh/nodepool": "default"},
            "annotations": noted | of_pool | changed,
        }
        return {"kind": "NodeClaim", "metadata": meta, "spec": {"nodeClassRef": ref, "expireAfter": "720h", **more}}

    items = [
        {"kind": "EC2NodeClass", "metadata": {"name": "default", "annotations": noted}, "spec": spec},
        claim("default-new", {}),
        claim("default-older", {"karpenter.sh/nodepool-hash": "1"}, taints=[{"key": "a", "effect": "NoSchedule"}]),
        claim("default-oldest", {"karpenter.sh/nodepool-hash-version": "v2"}),
    ]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


def test_live_names_the_nodes_that_differ_and_by_which_field(
    nodelint: Run, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    put(tmp_path, pool("expireAfter: 720h"), "pool.yaml")
    put(tmp_path, node_class("tags: {team: web}"), "class.yaml")
    put(tmp_path, live(str(NEWEST), "LS0t"), "cluster.json")
    done = nodelint("hash", "pool.yaml", "class.yaml", "--live", "cluster.json")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == snapshot


@pytest.mark.parametrize(
    ("kind", "changed", "fields"),
    [
        ("NodePool", False, ["spec.template.spec.expireAfter"]),
        ("EC2NodeClass", False, ["spec.tags", "spec.amiFamily"]),
        ("EC2NodeClass", True, []),
    ],
)
def test_live_names_fields_as_far_as_what_a_claim_was_made_of_is_known(
    nodelint: Run, tmp_path: Path, kind: str, changed: bool, fields: list[str]
) -> None:
    """A claim holds the template of its pool, and of its class the hash alone: of a class changed since, nothing."""
    put(
        tmp_path,
        pool("expireAfter: 24h") if kind == "NodePool" else node_class("tags: {team: web}", "amiFamily: AL2"),
        "a.yaml",
    )
    cluster = json.loads(live(str(NEWEST), "LS0t"))
    if changed:
        live_class = cluster["items"][0]
        noted = live_class["metadata"]["annotations"]
        live_class["metadata"]["annotations"] = {**noted, "karpenter.k8s.aws/ec2nodeclass-hash": "1"}
    put(tmp_path, json.dumps(cluster), "cluster.json")
    done = nodelint("hash", "a.yaml", "--live", "cluster.json", "--format", "json")
    (shown,) = json.loads(done.stdout)["objects"]
    (claim,) = [claim for claim in shown["nodeClaims"] if claim["name"] == "default-new"]
    assert (claim["state"], claim["fields"]) == ("differs", fields)


@pytest.mark.parametrize(
    ("holds_class", "tags", "note"),
    [
        (False, "tags: {team: web}", "EC2NodeClass `default` of the cluster is not in the input of --live. Add"),
        (True, "tags: {team: web}", "has changed since these nodes were launched, and differs from this manifest by"),
        (True, "role: nodes", "has changed since these nodes were launched, and is equal to this manifest"),
    ],
    ids=["no class", "another", "equal"],
)
def test_live_says_what_is_known_of_a_class_that_nodes_were_not_launched_with(
    nodelint: Run, tmp_path: Path, holds_class: bool, tags: str, note: str
) -> None:
    put(tmp_path, node_class(*[tags] * tags.startswith("tags")), "a.yaml")
    cluster = json.loads(live("1.6.0", ""))
    for item in cluster["items"][1:]:
        item["metadata"]["annotations"]["karpenter.k8s.aws/ec2nodeclass-hash"] = "1"
    cluster["items"] = cluster["items"][not holds_class :]
    put(tmp_path, json.dumps(cluster), "cluster.json")
    args = ("hash", "a.yaml", "--live", "cluster.json", "--karpenter-version", "1.6.0")
    printed = " ".join(nodelint(*args).stdout.split())
    assert note in printed
    assert ("by spec.tags" in printed) == (holds_class and tags.startswith("tags"))
    assert note in nodelint(*args, "--format", "json").stdout


def test_live_names_labels_that_a_claim_has_not(nodelint: Run, tmp_path: Path) -> None:
    labels = "    metadata: {labels: {team: web, tier: front, zone: a}}\n"
    put(tmp_path, pool("expireAfter: 720h").replace("  template:\n", f"  template:\n{labels}"), "a.yaml")
    cluster = json.loads(live(str(NEWEST), "LS0t"))
    cluster["items"][1]["metadata"]["labels"] |= {"team": "web", "tier": "back", "other": "x"}
    put(tmp_path, json.dumps(cluster), "cluster.json")
    done = nodelint("hash", "a.yaml", "--live", "cluster.json", "--format", "json")
    (shown,) = json.loads(done.stdout)["objects"]
    (claim,) = [claim for claim in shown["nodeClaims"] if claim["name"] == "default-new"]
    field = "spec.template.metadata.labels."
    assert claim["fields"] == [f"{field}tier", f"{field}zone"]


@pytest.mark.parametrize("missing", ["", "-version"])
def test_a_claim_without_its_hash_is_not_compared(nodelint: Run, tmp_path: Path, missing: str) -> None:
    put(tmp_path, pool("expireAfter: 24h"), "pool.yaml")
    put(tmp_path, node_class(), "class.yaml")
    cluster = json.loads(live(str(NEWEST), "LS0t"))
    for item in cluster["items"][1:]:
        del item["metadata"]["annotations"][f"karpenter.sh/nodepool-hash{missing}"]
        item["metadata"]["labels"] = {"karpenter.sh/nodepool": "other"}
    cluster["items"][1]["metadata"]["labels"] = {"karpenter.sh/nodepool": "default"}
    put(tmp_path, json.dumps(cluster), "cluster.json")
    done = nodelint("hash", ".", "--live", "cluster.json", "--format", "json")
    states = {
        shown["kind"]: [claim["state"] for claim in shown["nodeClaims"]]
        for shown in json.loads(done.stdout)["objects"]
    }
    assert states == {"NodePool": ["no-hash"], "EC2NodeClass": ["same"] * 3}


def test_live_gives_the_part_of_the_hash_that_is_the_clusters_own(nodelint: Run, tmp_path: Path) -> None:
    put(tmp_path, node_class(), "class.yaml")
    put(tmp_path, live(str(NEWEST), "LS0t"), "cluster.json")
    done = nodelint("hash", "class.yaml", "--live", "cluster.json", "--format", "json")
    (report,) = json.loads(done.stdout)["objects"]
    assert {claim["state"] for claim in report["nodeClaims"]} == {"same"}
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a: [", "neither JSON nor YAML"),
        ("kind: Pod", "no NodePool, EC2NodeClass or NodeClaim in it"),
        (None, "no such file or directory"),
    ],
)
def test_a_cluster_that_cannot_be_read_is_said(nodelint: Run, tmp_path: Path, text: str | None, why: str) -> None:
    put(tmp_path, pool(), "pool.yaml")
    if text is not None:
        put(tmp_path, text, "cluster.yaml")
    done = nodelint("hash", "pool.yaml", "--live", "cluster.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("nodelint: --live cluster.yaml: ")
    assert why in done.stderr


def test_an_open_kubelet_is_hashed_as_its_text() -> None:
    """`null` where there is none; the keys sorted, and characters escaped as Go's JSON does."""
    assert kubelet_text({"spec": {}}) == kubelet_text({"spec": {"kubelet": {}}}) == "null"
    kubelet = {"maxPods": "vcpus < 4 ? 8 : 110", "featureGates": {"B": True, "A": False}, "x": [1, 0.5]}
    written = '{"featureGates":{"A":false,"B":true},"maxPods":"vcpus \\u003c 4 ? 8 : 110","x":[1,0.5]}'
    assert kubelet_text({"spec": {"kubelet": kubelet}}) == written


def test_an_open_kubelet_changes_the_hash_whatever_it_holds() -> None:
    bare = value(CLASS, "1.15.0")
    first = value(CLASS + "  kubelet: {seccompDefault: true, maxPods: 8}\n", "1.15.0")
    assert first != bare
    assert first == value(CLASS + "  kubelet: {maxPods: 8, seccompDefault: true}\n", "1.15.0")
    with pytest.raises(Unhashable):
        value(CLASS + "  kubelet: {maxPods: '${PODS}'}\n", "1.15.0")


def test_each_object_is_hashed_for_the_release_of_its_folder(nodelint: Run, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    for name, release in (("dev", "1.0.8"), ("prod", "1.14.1")):
        (tmp_path / name).mkdir()
        put(tmp_path, CLASS, f"{name}/class.yaml")
        chart = f"apiVersion: v2\nname: x\ndependencies:\n- {{name: karpenter, version: {release}}}\n"
        put(tmp_path, chart, f"{name}/Chart.yaml")
    report = json.loads(nodelint("hash", "--format", "json").stdout)
    jsonschema.validate(report, json.loads((ROOT / "schemas" / "hash.schema.json").read_text(encoding="utf-8")))
    alone = {
        release: json.loads(nodelint("hash", "--format", "json", "--karpenter-version", release).stdout)["objects"][0]
        for release in ("1.0.8", "1.14.1")
    }
    assert [obj["karpenter"] for obj in report["objects"]] == ["1.0.8", "1.14.1"]
    same = ("hash", "hashVersion", "kubeletHash")
    for entry in report["objects"]:
        assert {key: entry.get(key) for key in same} == {key: alone[entry["karpenter"]].get(key) for key in same}
    text = nodelint("hash").stdout
    assert text.endswith(
        "\n\nKarpenter 1.0.8, as dev/Chart.yaml:4 states it\nKarpenter 1.14.1, as prod/Chart.yaml:4 states it\n"
    )


def test_live_reads_flow_style_that_kubectl_takes(nodelint: Run, tmp_path: Path) -> None:
    """A colon without a blank behind it is part of the value, as it is for `nodelint why`."""
    (tmp_path / "pool.yaml").write_text(nodepool(name="web"), encoding="utf-8")
    pod = "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: x, image: a:1}]}}"
    live = f"apiVersion: v1\nkind: List\nitems:\n- {pod}\n- apiVersion: karpenter.sh/v1\n  kind: NodePool\n"
    (tmp_path / "live.yaml").write_text(f"{live}  metadata: {{name: web}}\n  spec: {{}}\n", encoding="utf-8")
    done = nodelint("hash", "--live", "live.yaml", "pool.yaml")
    assert "no NodeClaims" in done.stdout, done.stderr
