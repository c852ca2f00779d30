"""`fit` against a scheduler that goes through every relaxation, group, type and offering one by one."""

from __future__ import annotations

import json
import math
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodelint.ec2.catalog import Catalog
from nodelint.fit.tree import Tree
from nodelint.model.cluster_objects import PATTERN, ClusterObject
from nodelint.model.documents import objects
from nodelint.model.manifest import NodePool
from nodelint.model.quantities import billionths
from nodelint.model.releases import Version
from nodelint.model.requirement import Requirement, Requirements, well_known
from nodelint.rule.context import Context
from nodelint.rule.target import Target
from nodelint.text import Source
from tests.plain_yaml import dump_all_yaml

K = "karpenter.k8s.aws/"
CT = "karpenter.sh/capacity-type"
ZONE = "topology.kubernetes.io/zone"
TYPE = "node.kubernetes.io/instance-type"
RELEASES = [Version(1, 5, 0), Version(1, 8, 0), Version(1, 13, 0), Version(1, 14, 1)]
TYPES = ["m5.large", "m6g.xlarge", "g5.xlarge", "t3.nano", "c6i.4xlarge", "i4i.large"]
WORLD = [*TYPES, "m5.xlarge", "c6i.large", "m6g.large", "g5.48xlarge", "g4ad.xlarge", "inf2.xlarge", "t3.micro"]
GIB = 1 << 30


def tree_of(documents: list[dict[str, Any]], release: Version) -> Tree:
    source = Source.from_text("all.yaml", dump_all_yaml(documents), PATTERN)
    contents = list(objects(source))
    context = Context(contents, Target(release))
    pools = [obj for obj in contents if isinstance(obj, NodePool)]
    others = [obj for obj in objects(source, more=True) if isinstance(obj, ClusterObject)]
    return Tree([context.resolution(pool) for pool in pools], others)


CLASS = {
    "apiVersion": "karpenter.k8s.aws/v1",
    "kind": "EC2NodeClass",
    "metadata": {"name": "default"},
    "spec": {
        "role": "r",
        "amiSelectorTerms": [{"alias": "al2023@v20250403"}],
        "subnetSelectorTerms": [{"tags": {"a": "b"}}],
        "securityGroupSelectorTerms": [{"tags": {"a": "b"}}],
    },
}


class Model:
    """The scheduler, one type and one offering at a time."""

    def __init__(self, pool: dict[str, Any], daemons: list[dict[str, Any]], release: Version) -> None:
        self.release = release
        self.catalog = Catalog.bundled().for_release(release)
        self.spec = pool["spec"]
        self.template = Requirements()
        for line in self.spec["template"]["spec"]["requirements"]:
            self.template.add(
                Requirement.parse(
                    line["key"], line["operator"], line.get("values", ()), line.get("minValues"), release
                )
            )
        own = {**self.spec["template"]["metadata"]["labels"], "karpenter.sh/nodepool": pool["metadata"]["name"]}
        own |= {"kubernetes.io/hostname": "h", "karpenter.k8s.aws/ec2nodeclass": "default"}
        self.template.add(*Requirements.from_labels(own))
        self.daemons = daemons
        self._labels: dict[str, Requirements] = {}
        self.known = well_known(release)

    def labels(self, name: str) -> Requirements:
        if name not in self._labels:
            self._labels[name] = self._read_labels(name)
        return self._labels[name]

    def _read_labels(self, name: str) -> Requirements:
        found = Requirements.from_labels(self.catalog.labels(name))
        for key in self.catalog.keys - found.keys():
            found.add(Requirement.parse(key, "DoesNotExist"))
        found.add(Requirement.parse(CT, "In", ("spot", "on-demand")), Requirement.parse(ZONE, "In", ZONES))
        return found

    def allocatable(self, name: str) -> dict[str, float]:
        has = self.catalog.resources.amounts(name)
        cpus = int(self.catalog.label(name, f"{K}instance-cpu") or 0)
        mib = int(self.catalog.label(name, f"{K}instance-memory") or 0)
        mib -= 64 if self.catalog.label(name, "kubernetes.io/arch") == "arm64" else 0
        mib -= math.ceil(mib * 0.075 - 1e-9)
        found = {value: float(billionths(amount) // 10**9) for value, amount in has.items()}
        found["memory"] = (mib - 100 - 255 - 11 * int(has["pods"])) * 1024.0**2
        spent, rest = 0, 1000 * cpus
        for begin, end, per_mille in ((0, 1000, 60), (1000, 2000, 10), (2000, 4000, 5)):
            spent += (min(rest, end) - begin) * per_mille // 1000 if rest > begin else 0
        spent += (rest - 4000) * 25 // 10000 if rest > 4000 else 0
        found["cpu"] = (rest - spent) / 1000
        found["ephemeral-storage"] = 17.0 * GIB
        return found

    def verdict(self, pod: dict[str, Any]) -> str | None:
        types = [name for name in WORLD if self.labels(name).intersects(self.template) is None]
        types = [name for name in types if any(self.offers(self.template))]
        if not types:
            return "requirements"
        most = self.spec.get("limits", {})
        if types and "cpu" in most:
            types = [n for n in types if int(self.catalog.label(n, f"{K}instance-cpu") or 0) <= int(most["cpu"])]
            if not types:
                return "limits"
        reason: str | None = None
        for expressions, tolerations in self.states(pod):
            reason = self.attempt(pod, expressions, tolerations, types)
            if reason is None:
                return None
        return reason

    def states(self, pod: dict[str, Any]) -> list[tuple[list[dict[str, Any]], list[dict[str, Any]]]]:
        affinity = pod.get("affinity", {}).get("nodeAffinity", {})
        required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", {}).get("nodeSelectorTerms", [{}])
        preferred = affinity.get("preferredDuringSchedulingIgnoredDuringExecution", [])
        preferred = [entry["preference"] for entry in sorted(preferred, key=lambda value: -value["weight"])]
        tolerated = pod.get("tolerations", [])
        found = []
        while True:
            terms = [required[0], *(preferred[:1])]
            found.append(
                ([expression for term in terms for expression in term.get("matchExpressions", [])], tolerated)
            )
            if len(required) > 1:
                required = required[1:]
            elif preferred:
                preferred = preferred[1:]
            else:
                break
        soft = [*tolerated, {"operator": "Exists", "effect": "PreferNoSchedule"}]
        return [*found, (found[-1][0], soft)]

    def attempt(
        self, pod: dict[str, Any], expressions: list[Any], tolerations: list[Any], types: list[str]
    ) -> str | None:
        for taint in self.spec["template"]["spec"].get("taints", []):
            if not any(tolerates(toleration, taint) for toleration in tolerations):
                return "taint"
        requested = Requirements.from_labels(pod.get("nodeSelector", {}))
        for requirement in expressions:
            requested.add(
                Requirement.parse(
                    requirement["key"], requirement["operator"], requirement.get("values", ()), None, self.release
                )
            )
        if self.template.compatible(requested, self.known) is not None:
            return "requirements"
        whole = self.template.copy()
        whole.add(*requested)
        left, flags, pairs = [], [False, False, False], set()
        for name in types:
            fits_labels = self.labels(name).intersects(whole) is None
            offered = any(self.offers(whole))
            total = self.requests([pod, *(daemon for daemon in self.daemons if self.runs(daemon, name))])
            allocatable = self.allocatable(name)
            room = all(amount <= allocatable.get(value, 0) for value, amount in total.items())
            room = room and min(allocatable.values()) >= 0 and (offered or self.release < Version(1, 14, 0))
            flags = [flag or new for flag, new in zip(flags, (fits_labels, room, offered), strict=True)]
            pairs.add((fits_labels, room, offered))
            if fits_labels and room and offered:
                left.append(name)
        if not left:
            words = ("requirements", "resources", "offering")
            missing = [word for word, flag in zip(words, flags, strict=True) if not flag]
            only_resources = (True, True, False) not in pairs and (False, True, True) in pairs
            return missing[0] if missing else "resources" if only_resources else "requirements"
        for requirement in whole:
            least = requirement.min_values
            if (
                least is not None
                and len({self.catalog.label(name, requirement.key) for name in left} - {None}) < least
            ):
                return "minValues"
        return None

    def offers(self, whole: Requirements) -> list[bool]:
        pairs = product(ZONES, ("spot", "on-demand"))
        offers = (Requirements.from_labels({ZONE: zone, CT: kind}) for zone, kind in pairs)
        return [whole.compatible(offer, self.known) is None for offer in offers]

    def runs(self, daemon: dict[str, Any], name: str) -> bool:
        for taint in self.spec["template"]["spec"].get("taints", []):
            soft = taint["effect"] == "PreferNoSchedule"
            if not soft and not any(tolerates(toleration, taint) for toleration in daemon.get("tolerations", [])):
                return False
        requested = Requirements.from_labels(daemon.get("nodeSelector", {}))
        if self.template.compatible(requested, self.known) is not None:
            return False
        return self.release < Version(1, 14, 0) or self.labels(name).intersects(requested) is None

    def requests(self, pods: list[dict[str, Any]]) -> dict[str, float]:
        total: dict[str, float] = {"pods": len(pods)}
        for pod in pods:
            for value, amount in self.of_pod(pod).items():
                total[value] = total.get(value, 0) + amount
        return total

    def of_pod(self, pod: dict[str, Any]) -> dict[str, float]:
        containers = [stated(container) for container in pod["containers"]]
        inits = [
            (container.get("restartPolicy") == "Always", stated(container))
            for container in pod.get("initContainers", [])
        ]
        found = {}
        for value in {name for requested in (*containers, *(i for _, i in inits)) for name in requested}:
            neighbours = sum(requested.get(value, 0) for always, requested in inits if always)
            peaks = [sum(requested.get(value, 0) for requested in containers) + neighbours]
            for n, (_, requested) in enumerate(inits):
                before = sum(other.get(value, 0) for stays, other in inits[:n] if stays)
                peaks.append(before + requested.get(value, 0))
            found[value] = max(peaks)
        return found


def stated(container: dict[str, Any]) -> dict[str, float]:
    resources = container.get("resources", {})
    both = {**resources.get("limits", {}), **resources.get("requests", {})}
    return {name: billionths(str(amount)) / 10**9 for name, amount in both.items()}


def tolerates(toleration: dict[str, Any], taint: dict[str, Any]) -> bool:
    if toleration.get("effect") not in (None, taint["effect"]) or toleration.get("key") not in (None, taint["key"]):
        return False
    return toleration.get("operator") == "Exists" or toleration.get("value", "") == taint.get("value", "")


ZONES = ("us-east-1a", "us-east-1b", "us-east-1c", "elsewhere")
VALUES = {
    TYPE: TYPES,
    CT: ["spot", "on-demand"],
    ZONE: ["us-east-1a", "us-east-1b", "us-east-1c"],
    "kubernetes.io/arch": ["amd64", "arm64"],
    f"{K}instance-cpu": ["2", "4", "16"],
    f"{K}instance-gpu-count": ["1", "8"],
    f"{K}instance-family": ["m5", "m6g", "g5", "c6i"],
    "team": ["a", "b"],
    "example.com/tier": ["a", "b"],
}


@st.composite
def expressions(draw: st.DrawFn, pools: bool) -> dict[str, Any]:
    key = draw(st.sampled_from(list(VALUES)))
    operators = ["In", "In", "NotIn", "Exists", "DoesNotExist"]
    operators += ["Gt", "Lt"] if key.endswith(("cpu", "count")) else []
    operator = draw(st.sampled_from(operators))
    found: dict[str, Any] = {"key": key, "operator": operator}
    if operator in ("In", "NotIn"):
        found["values"] = draw(st.lists(st.sampled_from(VALUES[key]), min_size=1, max_size=3, unique=True))
    elif operator in ("Gt", "Lt"):
        found["values"] = [draw(st.sampled_from(["1", "3", "8"]))]
    if pools and operator == "In" and key.startswith(K) and draw(st.integers(0, 4)) == 0:
        found["minValues"] = draw(st.integers(1, len(found["values"])))
    return found


def taints() -> st.SearchStrategy[Any]:
    effects = st.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule"])
    taint = st.fixed_dictionaries(
        {"key": st.sampled_from(["gpu", "team"]), "effect": effects}, optional={"value": st.just("x")}
    )
    return st.lists(taint, max_size=1)


def tolerations() -> st.SearchStrategy[Any]:
    exists = st.fixed_dictionaries(
        {"operator": st.just("Exists")}, optional={"key": st.sampled_from(["gpu", "team"])}
    )
    equal = st.fixed_dictionaries(
        {"key": st.sampled_from(["gpu", "team"]), "value": st.sampled_from(["x", "y"])},
        optional={"effect": st.sampled_from(["NoSchedule", "PreferNoSchedule"])},
    )
    return st.lists(exists | equal, max_size=2)


@st.composite
def pools(draw: st.DrawFn) -> dict[str, Any]:
    template = {
        "metadata": {"labels": draw(st.sampled_from([{}, {"team": "a"}, {"example.com/tier": "b"}]))},
        "spec": {
            "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
            "requirements": [
                {"key": TYPE, "operator": "In", "values": WORLD},
                *draw(st.lists(expressions(pools=True), max_size=3)),
            ],
            "taints": draw(taints()),
            "startupTaints": [{"key": "start", "effect": "NoSchedule"}],
        },
    }
    spec: dict[str, Any] = {"template": template}
    if draw(st.booleans()):
        spec["limits"] = {"cpu": draw(st.sampled_from(["1", "2", "8", "1000"]))}
    return {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "p"}, "spec": spec}


def containers(least: int) -> st.SearchStrategy[Any]:
    amounts = st.fixed_dictionaries(
        {},
        optional={
            "cpu": st.sampled_from(["100m", "1", "1930m", "1931m", "3.92", "15"]),
            "memory": st.sampled_from(["128Mi", "1Gi", "6903Mi", "6904Mi", "30G"]),
            "nvidia.com/gpu": st.sampled_from([1, 4]),
            "ephemeral-storage": st.sampled_from(["1Gi", "17Gi", "18Gi"]),
        },
    )
    resources = st.fixed_dictionaries({}, optional={"requests": amounts, "limits": amounts})
    container = st.fixed_dictionaries({"name": st.just("c"), "resources": resources})
    return st.lists(container, min_size=least, max_size=2)


@st.composite
def pods(draw: st.DrawFn, whole: bool = True) -> dict[str, Any]:
    found: dict[str, Any] = {"containers": draw(containers(1)), "tolerations": draw(tolerations())}
    if draw(st.booleans()):
        key = draw(st.sampled_from(list(VALUES)))
        found["nodeSelector"] = {key: draw(st.sampled_from(VALUES[key]))}
    if not whole:
        return found
    found["initContainers"] = draw(containers(0))
    for entry in found["initContainers"]:
        if draw(st.booleans()):
            entry["restartPolicy"] = "Always"
    terms = st.fixed_dictionaries({"matchExpressions": st.lists(expressions(pools=False), min_size=1, max_size=2)})
    required = draw(st.lists(terms, max_size=2))
    preferred = draw(st.lists(st.fixed_dictionaries({"weight": st.integers(1, 3), "preference": terms}), max_size=2))
    affinity: dict[str, Any] = {"preferredDuringSchedulingIgnoredDuringExecution": preferred} if preferred else {}
    if required:
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": required}
    if affinity:
        found["affinity"] = {"nodeAffinity": affinity}
    return found


@pytest.mark.slow
@given(
    pools(),
    st.lists(pods(), min_size=1, max_size=4),
    st.lists(pods(whole=False), max_size=2),
    st.sampled_from(RELEASES),
)
def test_each_verdict_is_that_of_a_search_through_all_types_and_offerings(
    pool: dict[str, Any], requested: list[dict[str, Any]], daemons: list[dict[str, Any]], release: Version
) -> None:
    model = Model(pool, daemons, release)
    documents = [pool, CLASS]
    for n, spec in enumerate(daemons):
        template = {"spec": {"template": {"spec": spec}}}
        documents.append({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": f"d{n}"}, **template})
    for n, spec in enumerate(requested):
        documents.append({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{n}"}, "spec": spec})
    tree = tree_of(documents, release)
    found = [tree.fit(workload) for workload in tree.workloads if workload.kind == "Pod"]
    filtered = tree.pools[0].unmet is not None
    for spec, fit in zip(requested, found, strict=True):
        (verdict,) = fit.verdicts
        reason = None if verdict.refusal is None else verdict.refusal.reason
        shown = json.dumps([pool, spec, daemons, str(release), verdict.refusal and verdict.refusal.message])
        assert reason == ("requirements" if filtered else model.verdict(spec)), shown


def daemon_reason(model: Model, pod: dict[str, Any], types: list[str]) -> str | None:
    """Why no node of some types runs a daemon beside the others; None where one does."""
    for taint in model.spec["template"]["spec"].get("taints", []):
        soft = taint["effect"] == "PreferNoSchedule"
        if not soft and not any(tolerates(toleration, taint) for toleration in pod.get("tolerations", [])):
            return "taint"
    affinity = pod.get("affinity", {}).get("nodeAffinity", {})
    terms = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", {}).get("nodeSelectorTerms", [{}])
    met = set()
    for term in terms:
        requested = Requirements.from_labels(pod.get("nodeSelector", {}))
        for expression in term.get("matchExpressions", []):
            requested.add(
                Requirement.parse(
                    expression["key"], expression["operator"], expression.get("values", ()), None, model.release
                )
            )
        if model.template.compatible(requested, model.known) is None:
            met.update(name for name in types if model.labels(name).intersects(requested) is None)
    if not met:
        return "requirements"
    for name in met:
        total = model.requests([pod, *(daemon for daemon in model.daemons if model.runs(daemon, name))])
        allocatable = model.allocatable(name)
        if all(amount <= allocatable.get(value, 0) for value, amount in total.items()):
            return None
    return "resources"


@given(pools(), pods(), st.lists(pods(whole=False), max_size=2), st.sampled_from(RELEASES))
def test_a_daemon_runs_where_a_search_finds_a_node_for_it(
    pool: dict[str, Any], requested: dict[str, Any], others: list[dict[str, Any]], release: Version
) -> None:
    model = Model(pool, others, release)
    documents = [pool, CLASS]
    for n, spec in enumerate([requested, *others]):
        template = {"spec": {"template": {"spec": spec}}}
        documents.append({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": f"d{n}"}, **template})
    tree = tree_of(documents, release)
    (verdict,) = tree.fit(tree.workloads[0]).verdicts
    reason = None if verdict.refusal is None else verdict.refusal.reason
    types = [name for name in WORLD if model.labels(name).intersects(model.template) is None]
    types = [
        name for name in types if any(model.offers(model.template)) and min(model.allocatable(name).values()) >= 0
    ]
    most = model.spec.get("limits", {}).get("cpu")
    allowed = [n for n in types if most is None or int(model.catalog.label(n, f"{K}instance-cpu") or 0) <= int(most)]
    wanted = "requirements" if not types else "limits" if not allowed else daemon_reason(model, requested, allowed)
    assert reason == wanted, json.dumps([pool, requested, others, str(release)])
