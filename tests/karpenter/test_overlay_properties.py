"""NodeOverlays against the controller's loop, one pool, type, offering and overlay at a time."""

from __future__ import annotations

from itertools import product
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from nodelint.ec2.catalog import Catalog
from nodelint.karpenter.node_overlays import decide, named_values, view_pool
from nodelint.model.documents import objects
from nodelint.model.manifest import NodeOverlay, NodePool
from nodelint.model.releases import Version
from nodelint.model.requirement import Requirement, Requirements, well_known
from nodelint.rule.context import Context
from nodelint.rule.target import Target
from nodelint.text import Source
from tests.plain_yaml import dump_all_yaml

RELEASE = Version(1, 14, 1)
CATALOG = Catalog.bundled().for_release(RELEASE)
TYPES = ["m5.large", "m6g.xlarge", "g5.xlarge", "t3.nano", "c6i.4xlarge"]
K, CT, ZONE = "karpenter.k8s.aws/", "karpenter.sh/capacity-type", "topology.kubernetes.io/zone"
ZONES = ["us-east-1a", "us-east-1b"]
UNNAMED = "us-east-1f"

Asked = dict[str, Any]


def on_values(key: str, values: list[str]) -> st.SearchStrategy[Asked]:
    sample = st.lists(st.sampled_from(values), min_size=1, max_size=2, unique=True)
    of_values = st.builds(
        lambda op, vs: {"key": key, "operator": op, "values": vs}, st.sampled_from(["In", "NotIn"]), sample
    )
    return of_values | st.sampled_from(["Exists", "DoesNotExist"]).map(lambda op: {"key": key, "operator": op})


def on_number(key: str, values: list[str]) -> st.SearchStrategy[Asked]:
    bounds = st.builds(
        lambda op, v: {"key": key, "operator": op, "values": [v]},
        st.sampled_from(["Gt", "Lt", "Gte", "Lte"]),
        st.sampled_from(values),
    )
    return on_values(key, values) | bounds


requested = st.one_of(
    on_values("node.kubernetes.io/instance-type", TYPES),
    on_values(f"{K}instance-family", ["m5", "g5", "nothing"]),
    on_number(f"{K}instance-gpu-count", ["0", "1"]),
    on_number(f"{K}instance-generation", ["3", "5", "6"]),
    on_values(CT, ["spot", "on-demand"]),
    on_values(ZONE, ZONES),
    on_values("karpenter.sh/nodepool", ["first", "second", "third"]),
    on_values("team", ["a", "b"]),
)
effect = st.sampled_from(
    [
        {"price": "1.5"},
        {"priceAdjustment": "+10%"},
        {"capacity": {"example.com/a": 1}},
        {"capacity": {"example.com/b": 1}},
        {"capacity": {"example.com/a": 2, "example.com/b": 1}, "price": "2"},
        {"capacity": {}},
        {},
    ]
)
overlay_specs = st.builds(
    lambda requirements, weight, what: {"requirements": requirements, **weight, **what},
    st.lists(requested, max_size=1) | st.lists(requested, min_size=2, max_size=2),
    st.sampled_from([{}, {}, {"weight": 1}]),
    effect,
)
pool_labels = st.sampled_from([{}, {"team": "a"}, {"team": "b", f"{K}instance-family": "m5"}, {CT: "spot"}])


def overlay_of(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "karpenter.sh/v1alpha1",
        "kind": "NodeOverlay",
        "metadata": {"name": name},
        "spec": spec,
    }


def pool_of(name: str, labels: dict[str, str]) -> dict[str, Any]:
    ref = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    template = {"metadata": {"labels": labels}, "spec": {"nodeClassRef": ref, "requirements": []}}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {"template": template},
    }


class Model:
    """The controller's store: for each pool and type the offerings with a price, and what was brought last."""

    def __init__(self, pools: list[dict[str, Any]], zones: list[str]) -> None:
        self.pools = pools
        self.zones = zones
        self.weights: dict[tuple[str, str, tuple[str, str]], int] = {}
        self.brought: dict[tuple[str, str], tuple[int, set[str]]] = {}

    def run(self, overlays: list[dict[str, Any]]) -> dict[str, bool]:
        ordered = sorted(overlays, key=lambda value: value["metadata"]["name"], reverse=True)
        ordered.sort(key=lambda value: -value["spec"].get("weight", 0))
        return {obj["metadata"]["name"]: self.accept(obj["spec"]) for obj in ordered}

    def accept(self, spec: dict[str, Any]) -> bool:
        weight, met = spec.get("weight", 0), list(self.count_meant(spec))
        priced = "price" in spec or "priceAdjustment" in spec
        for pool, name, offerings in met:
            if priced and any(self.weights.get((pool, name, offering)) == weight for offering in offerings):
                return False
            before = self.brought.get((pool, name))
            if before is not None and before[0] == weight and before[1] & set(spec.get("capacity", ())):
                return False
        for pool, name, offerings in met:
            if priced:
                self.weights.update({(pool, name, offering): weight for offering in offerings})
            if "capacity" in spec:
                self.brought[pool, name] = weight, set(spec["capacity"])
        return True

    def count_meant(self, spec: dict[str, Any]) -> Any:
        wanted = Requirements(
            Requirement.parse(requirement["key"], requirement["operator"], requirement.get("values", ()))
            for requirement in spec["requirements"]
        )
        for pool, name in product(self.pools, TYPES):
            own = Requirements.from_labels({"karpenter.sh/nodepool": pool["metadata"]["name"]})
            own.add(*Requirements.from_labels(pool["spec"]["template"]["metadata"]["labels"]))
            own.add(*self.labels_of(name))
            if own.compatible(wanted) is not None:
                continue
            offerings = [
                (zone, kind)
                for zone, kind in product(self.zones, ["on-demand", "spot"])
                if wanted.compatible(Requirements.from_labels({ZONE: zone, CT: kind}), well_known(RELEASE)) is None
            ]
            if offerings:
                yield pool["metadata"]["name"], name, offerings

    def labels_of(self, name: str) -> Any:
        for key in CATALOG.keys:
            value = CATALOG.label(name, key)
            yield Requirement.parse(key, "DoesNotExist") if value is None else Requirement.parse(key, "In", [value])
        yield Requirement.parse(CT, "In", ["on-demand", "spot"])
        yield Requirement.parse(ZONE, "In", self.zones)


@settings(max_examples=150)
@given(st.lists(overlay_specs, min_size=2, max_size=5), st.lists(pool_labels, min_size=1, max_size=2), st.randoms())
def test_overlays_are_accepted_as_by_the_controller(
    specs: list[dict[str, Any]], labels: list[dict[str, str]], random: Any
) -> None:
    names = [f"overlay-{n}" for n in range(len(specs))]
    random.shuffle(names)
    overlays = [overlay_of(name, spec) for name, spec in zip(names, specs, strict=True)]
    pools = [pool_of(name, value) for name, value in zip(("first", "second"), labels, strict=False)]
    class_ = {
        "apiVersion": "karpenter.k8s.aws/v1",
        "kind": "EC2NodeClass",
        "metadata": {"name": "default"},
        "spec": {"role": "r", "amiSelectorTerms": [{"alias": "al2023@v20250403"}]},
    }
    source = Source.from_text("all.yaml", dump_all_yaml([*overlays, *pools, class_]))
    contents = list(objects(source, more=True))
    read = [obj for obj in contents if isinstance(obj, NodeOverlay)]
    context = Context(contents, Target(RELEASE))
    zones = named_values(read, ZONE)
    views = [view_pool(context.resolution(obj), zones) for obj in contents if isinstance(obj, NodePool)]
    for view in views:
        view.types = CATALOG.types_of(TYPES)
    verdicts = decide(read, views, RELEASE, lambda _: False)
    assert {verdict.overlay.name: verdict.standing for verdict in verdicts} == {
        name: "accepted" if accepted else "conflict"
        for name, accepted in Model(pools, [*sorted(zones), UNNAMED]).run(overlays).items()
    }
    for verdict in verdicts:
        assert (verdict.other is not None) == (verdict.standing == "conflict") == bool(verdict.shared)
