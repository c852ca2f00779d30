"""What `explain` prints, for people and as JSON."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from nodelint.ec2.catalog import Catalog
from nodelint.ec2.facts import AwsFacts
from nodelint.ec2.fake_account import FakeAccount
from nodelint.karpenter.resolve import Resolution, resolve
from nodelint.model.documents import objects
from nodelint.model.manifest import EC2NodeClass, NodePool
from nodelint.model.releases import NEWEST, KubernetesVersion, Version
from nodelint.report.explain import explain_text
from nodelint.report.explain_json import explain_json
from nodelint.report.layout import families
from nodelint.report.price_chart import Point, price_chart
from nodelint.rule.context import Context
from nodelint.rule.target import Target
from nodelint.text import Source
from tests.conftest import ROOT
from tests.manifests import nodeclass, nodepool

Run = Callable[..., subprocess.CompletedProcess[str]]

CATALOG = Catalog.bundled()

POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: web
spec:
  weight: 10
  template:
    metadata:
      labels:
        team: web
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: web}
      requirements:
        - key: karpenter.k8s.aws/instance-family
          operator: In
          values: [m5, m6g, g5g]
        - key: karpenter.k8s.aws/instance-size
          operator: NotIn
          values: [metal]
        - key: karpenter.sh/capacity-type
          operator: Exists
          minValues: 2
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: web
spec:
  amiSelectorTerms:
    - alias: al2@latest
  role: nodes
  subnetSelectorTerms: [{tags: {a: b}}]
  securityGroupSelectorTerms: [{tags: {a: b}}]
"""


def resolutions(
    *texts: str, version: Version = NEWEST, kubernetes: str | None = None, with_class: bool = True
) -> list[Resolution]:
    found: list[Resolution] = []
    wanted = KubernetesVersion.parse(kubernetes) if kubernetes else None
    for text in texts:
        contents = list(objects(Source.from_text("web.yaml", text)))
        classes = [obj for obj in contents if isinstance(obj, EC2NodeClass)] if with_class else []
        node_class = classes[0] if classes else None
        pools = [obj for obj in contents if isinstance(obj, NodePool)]
        found += [resolve(pool, node_class, CATALOG, version, wanted) for pool in pools]
    return found


def text(*texts: str, **kwargs: Any) -> str:
    shown = explain_text(resolutions(*texts, **kwargs), width=100)
    assert max(map(len, shown.splitlines())) <= 100
    assert not any(line != line.rstrip() for line in shown.splitlines())
    return shown


def test_text_as_a_whole() -> None:
    assert (
        text(POOL, kubernetes="1.31")
        == """\
NodePool web  weight 10                                                                   web.yaml:4
====================================================================================================
EC2NodeClass web  al2@latest                                                             web.yaml:27
Karpenter 1.15.1, Kubernetes 1.31

  1,363  ██████████          all instance types
     24  █·········  -1,339  karpenter.k8s.aws/instance-family In m5, m6g, g5g
                               drop this line: +1,292 types
     21  █·········      -3  karpenter.k8s.aws/instance-size NotIn metal
                               drop this line: +3 types
     21  █·········          karpenter.sh/capacity-type Exists (minValues 2)
     21  █·········          team=web (label of the template)
                               (a label of your own: no instance type has it)
     16  █·········      -5  the class has no image for them

=> 16 of 1,363 instance types can be launched; 5 more have no image

Images
  amd64 standard           8 types  without metal: m5
  arm64 standard           8 types  without metal: m6g
  amd64 nvidia/neuron      0 types  none: `karpenter.k8s.aws/instance-family In m5, m6g, g5g`
                                    removed the last of them

No image
  5 types: `al2` has no image for arm64 types with a GPU
    g5g.xlarge g5g.2xlarge g5g.4xlarge g5g.8xlarge g5g.16xlarge
    aliases that have one: al2023, bottlerocket

minValues
  karpenter.sh/capacity-type: 2 wanted, 2 there

Cheapest on demand
  m6g.medium  $0.0385/h  1 vCPU   4 GiB  arm64 standard
  m6g.large   $0.0770/h  2 vCPU   8 GiB  arm64 standard
  m5.large    $0.0960/h  2 vCPU   8 GiB  amd64 standard
  m6g.xlarge  $0.1540/h  4 vCPU  16 GiB  arm64 standard
  m5.xlarge   $0.1920/h  4 vCPU  16 GiB  amd64 standard


Instance types: Karpenter v1.14.1, its instance type page and tables, 2026-07-11.
Prices: on demand in us-east-1, USD, 2026-07-06; yours may differ.
Images: source of the Karpenter AWS provider v1.0.0 to v1.14.1; image names as published,
  2026-08-20."""
    )


def test_json_as_the_readers_of_it_expect_it() -> None:
    (pool,) = explain_json(resolutions(POOL))["nodePools"]
    assert (pool["name"], pool["path"], pool["nodeClass"]) == ("web", "web.yaml", "web")
    assert pool["images"] == [
        {"id": None, "alias": "al2@latest", "arch": "amd64", "variants": ["standard"]},
        {"id": None, "alias": "al2@latest", "arch": "arm64", "variants": ["standard"]},
        {"id": None, "alias": "al2@latest", "arch": "amd64", "variants": ["nvidia", "neuron"]},
    ]
    images = {
        instance_type["name"]: (instance_type["arch"], instance_type["image"])
        for instance_type in pool["instanceTypes"]
    }
    assert images["m5.large"] == ("amd64", 0)
    assert images["m6g.large"] == ("arm64", 1)
    assert len(pool["instanceTypes"]) == 16
    assert [instance_type["name"] for instance_type in pool["instanceTypes"]] == sorted(
        instance_type["name"] for instance_type in pool["instanceTypes"]
    )
    assert {entry["name"].partition(".")[0] for entry in pool["unlaunchable"]} == {"g5g"}
    assert "arm64" in pool["unlaunchable"][0]["reason"]
    assert pool["requirements"] == [
        {
            "key": "karpenter.k8s.aws/instance-family",
            "operator": "In",
            "values": ["m5", "m6g", "g5g"],
            "removed": 1339,
            "removedAlone": 1292,
        },
        {
            "key": "karpenter.k8s.aws/instance-size",
            "operator": "NotIn",
            "values": ["metal"],
            "removed": 3,
            "removedAlone": 3,
        },
        {
            "key": "karpenter.sh/capacity-type",
            "operator": "Exists",
            "values": [],
            "removed": 0,
            "removedAlone": 0,
        },
        {"key": "team", "operator": "In", "values": ["web"], "removed": 0, "removedAlone": 0},
    ]


def test_json_holds_these_keys_and_no_more() -> None:
    report = explain_json(resolutions(POOL))
    assert set(report) == {"version", "nodePools"}
    assert report["version"] == 1
    assert set(report["nodePools"][0]) == {
        "name",
        "path",
        "nodeClass",
        "images",
        "instanceTypes",
        "launchOrder",
        "unlaunchable",
        "requirements",
    }
    assert json.loads(json.dumps(report)) == report


def test_json_of_images_that_only_aws_knows() -> None:
    own = POOL.replace("- alias: al2@latest", "- id: ami-0123\n  amiFamily: AL2")
    (pool,) = explain_json(resolutions(own))["nodePools"]
    assert pool["images"] == [{"id": "ami-0123", "alias": None, "arch": None, "variants": []}]
    assert {instance_type["image"] for instance_type in pool["instanceTypes"]} == {0}
    (pool,) = explain_json(resolutions(POOL, with_class=False))["nodePools"]
    assert pool["nodeClass"] == "web"
    assert len(pool["instanceTypes"]) == 21


def test_text_says_what_is_unknown() -> None:
    shown = text(POOL.replace("m6g, g5g", '"${FAMILY}"').replace("al2@latest", '"${ALIAS}"'))
    assert "=> at most" in shown
    assert "Not known\n  web.yaml:14  a requirement on `karpenter.k8s.aws/instance-family`" in shown
    assert "web.yaml:30  the alias is a placeholder" in shown
    assert "(not judged: it holds a placeholder or is malformed)" in shown


def test_json_shows_a_placeholder_as_it_is_written() -> None:
    found = explain_json(resolutions(POOL.replace("m6g, g5g", '"${FAMILY}"')))["nodePools"][0]
    assert found["requirements"][0]["values"] == ["m5", "${FAMILY}"]


def test_text_without_class() -> None:
    shown = text(POOL, with_class=False)
    assert "EC2NodeClass: the class `web` is not among the files" in shown
    assert "=> at most 21 of 1,363" in shown


def test_text_when_requirements_leave_nothing() -> None:
    shown = text(POOL.replace("[m5, m6g, g5g]", "[m5]").replace("NotIn", "In"))
    # m5.metal
    assert "=> 1 of 1,363" in shown
    clash = POOL.replace("instance-size", "instance-cpu").replace("NotIn", "In").replace("[metal]", "['3']")
    shown = text(clash, kubernetes="1.31")
    assert "=> none of 1,363 instance types meets the requirements" in shown
    assert "no type meets `karpenter.k8s.aws/instance-cpu In 3`" in shown
    assert "24 would remain without `karpenter.k8s.aws/instance-cpu In 3`" in shown
    assert "Cheapest" not in shown
    assert "Images\n" not in shown


def test_text_says_that_a_slip_in_karpenters_domain_is_no_label_of_ones_own() -> None:
    shown = text(POOL.replace("karpenter.sh/capacity-type", "karpenter.sh/capacity-typ"))
    assert "(Karpenter has no such label, and refuses it)" in shown


def test_text_when_two_lines_clash() -> None:
    two = POOL.replace("instance-size", "instance-category").replace("NotIn", "In").replace("[metal]", "[c]")
    assert "`karpenter.k8s.aws/instance-family In m5, m6g, g5g` and" in text(two)


def test_text_when_no_image_is_there() -> None:
    shown = text(POOL, kubernetes="1.33")
    assert "=> none can be launched: 21 meet the requirements, but have no image" in shown
    assert shown.count("`al2` has no image on Kubernetes 1.33 and newer") == 1


def test_text_names_what_will_break_later() -> None:
    assert "later: `al2` has no image on Kubernetes 1.33 and newer" in text(POOL)
    assert "Kubernetes version not given" in text(POOL)


def test_text_when_min_values_cannot_be_met() -> None:
    shown = text(POOL.replace("minValues: 2", "minValues: 9"))
    assert "=> none is launched: 16 of 1,363 instance types would fit, but minValues requires" in shown
    assert "karpenter.sh/capacity-type: 9 wanted, only 2 there" in shown


def test_text_tells_of_the_loose_match_of_older_releases() -> None:
    assert "fixed in 1.4.0" in text(POOL, version=Version(1, 3, 8))
    assert "fixed in 1.4.0" not in text(POOL, version=Version(1, 4, 0))


def test_text_tells_which_types_are_tried_last() -> None:
    bare = POOL[: POOL.index("      requirements:")] + "      requirements: []\n" + POOL[POOL.index("---") :]
    assert "(GPU, accelerator or bare metal) are tried only when nothing else" in text(bare)
    # With minValues Karpenter sets nothing aside.
    assert "tried only when" not in text(POOL.replace("NotIn", "In").replace("[metal]", "[metal, large]"))


def test_text_of_a_pool_with_spot_alone_says_whose_prices_it_shows() -> None:
    alone = POOL.replace("operator: Exists\n          minValues: 2", "operator: In\n          values: [spot]")
    shown = " ".join(text(alone).split())
    note = "the pool launches only spot capacity; these are the on-demand prices of its types"
    assert f"Cheapest on demand {note}" in shown
    assert "the pool launches only" not in text(POOL)


def test_text_orders_pools_by_weight_and_names_facts_once() -> None:
    shown = text(POOL, POOL.replace("name: web\n", "name: api\n", 1).replace("weight: 10", "weight: 50"))
    assert "Order of trial, by weight\n  api (50) > web (10)" in shown
    assert shown.count("Prices: on demand in us-east-1") == 1


@pytest.mark.parametrize("width", [72, 100, 140])
def test_width_is_kept(width: int) -> None:
    for version in (Version(1, 3, 0), NEWEST):
        shown = explain_text(resolutions(POOL, version=version), width=width)
        assert max(map(len, shown.splitlines())) <= width


def test_bars_and_verdict_have_colours_and_the_text_stays_the_same(nodelint: Run, tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text(POOL, encoding="utf-8")
    plain, coloured = (nodelint("explain", f"--color={when}").stdout for when in ("never", "always"))
    assert "\x1b[32m█" in coloured and "\x1b" not in plain
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain
    assert max(map(len, plain.splitlines())) <= 80
    narrow = nodelint("explain", env={"COLUMNS": "72"}).stdout
    assert max(map(len, narrow.splitlines())) <= 72


def test_nothing_to_explain() -> None:
    assert explain_text([]) == ""
    assert explain_json([]) == {"version": 1, "nodePools": []}


def test_long_paths_stand_below_their_title() -> None:
    path = f"{'deep/' * 17}web.yaml"
    pool, node_class = objects(Source.from_text(path, POOL))
    assert isinstance(pool, NodePool)
    assert isinstance(node_class, EC2NodeClass)
    shown = explain_text([resolve(pool, node_class, CATALOG, NEWEST)], width=100)
    assert f"NodePool web  weight 10\n  {path}:4\n====" in shown
    assert max(map(len, shown.splitlines())) <= 100


# With facts from AWS

OWN = POOL.replace("al2@latest", "x").replace(
    "amiSelectorTerms:\n    - alias: x\n",
    "amiFamily: AL2023\n  amiSelectorTerms: [{name: golden-*, owner: self}]\n",
)
OWN = OWN.replace(
    "subnetSelectorTerms: [{tags: {a: b}}]", "subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]"
)

ACCOUNT = """
region: eu-west-3
now: 2026-11-20T12:00:00Z
zones: {eu-west-3a: euw3-az1, eu-west-3b: euw3-az2, eu-west-3c: euw3-az3}
absent: {eu-west-3b: ["m6g.*"], "*": ["g5g.*"]}
images:
  - {id: ami-0a1, name: golden-1, arch: amd64, created: 2026-11-02}
  - {id: ami-0a2, name: golden-2, arch: amd64, created: 2026-11-19, state: pending}
  - {id: ami-0a0, name: golden-0, arch: amd64, created: 2026-10-01, deprecated: 2026-11-01}
  - {id: ami-0b1, name: golden-3, arch: arm64, created: 2026-11-03, deprecated: 2027-11-01, public: true}
subnets:
  - {id: subnet-1, zone: eu-west-3a, zoneId: euw3-az1, free: 1200, tags: {karpenter.sh/discovery: main}}
  - {id: subnet-2, zone: eu-west-3a, zoneId: euw3-az1, free: 34, tags: {karpenter.sh/discovery: main}}
  - {id: subnet-3, zone: eu-west-3b, zoneId: euw3-az2, free: 0, tags: {karpenter.sh/discovery: main}}
"""


def with_facts(text: str, account: str = ACCOUNT, version: Version = NEWEST) -> tuple[list[Resolution], AwsFacts]:
    contents = list(objects(Source.from_text("web.yaml", text)))
    facts = FakeAccount(account).facts([obj for obj in contents if isinstance(obj, EC2NodeClass)], version)
    context = Context(contents, Target(version, facts=facts))
    return [context.resolution(obj) for obj in contents if isinstance(obj, NodePool)], facts


def part(shown: str, title: str) -> str:
    """A part of the text: what stands between its title and the next."""
    return shown.split(f"\n\n{title}\n", 1)[1].split("\n\n", 1)[0]


def test_text_of_images_by_state_age_and_owner_in_the_order_of_trial() -> None:
    found, facts = with_facts(OWN)
    shown = explain_text(found, facts, width=100)
    assert (
        part(shown, "Images, in the order in which they are tried")
        == """\
  ami-0b1 arm64      8 types  without metal: m6g
    golden-3, available, 17 d 12 h old, owner self (public), deprecated from 2027-11-01
  ami-0a1 amd64      8 types  without metal: m5
    golden-1, available, 18 d 12 h old, owner self"""
    )
    assert (
        part(shown, "Passed over")
        == """\
  ami-0a2  golden-2, pending, 1 d 12 h old, owner self
    Karpenter 1.15.1 takes none that is pending
  ami-0a0  golden-0, available, 50 d 12 h old, owner self, deprecated since 2026-11-01
    not deprecated ones come first; `ami-0a1` is taken"""
    )


def test_older_releases_take_a_pending_image_and_that_is_said() -> None:
    found, facts = with_facts(OWN, version=Version(1, 2, 1))
    shown = explain_text(found, facts, width=100)
    assert "ami-0a2 amd64" in part(shown, "Images, in the order in which they are tried")
    assert "there is a newer one; `ami-0a2` is taken" in part(shown, "Passed over")


def test_text_of_zones_with_subnets_addresses_and_types() -> None:
    found, facts = with_facts(OWN)
    assert (
        part(explain_text(found, facts, width=100), "Zones")
        == """\
  eu-west-3a  euw3-az1  2 subnets  1,234 addresses free  offers 1,357 types  16 can be launched
  eu-west-3b  euw3-az2   1 subnet      0 addresses free  offers 1,348 types   8 can be launched"""
    )
    # A zone that the pool leaves out has none of its types.
    only_b = OWN.replace("key: karpenter.k8s.aws/instance-size", "key: topology.kubernetes.io/zone").replace(
        "values: [metal]", "values: [eu-west-3a]"
    )
    found, facts = with_facts(only_b)
    shown = explain_text(found, facts, width=100)
    assert "the class has subnets in eu-west-3a, eu-west-3b" in shown
    assert "  0 can be launched" in part(shown, "Zones").splitlines()[0]


RESERVED = OWN.replace(
    "requirements:", "requirements:\n        - {key: karpenter.sh/capacity-type, CAPACITY}", 1
).replace("spec:\n  amiFamily", "spec:\n  capacityReservationSelectorTerms: [{tags: {team: ml}}]\n  amiFamily")
RESERVATION = "  - {id: cr-NUMBER, type: TYPE, zone: eu-west-3a, free: FREE, tags: {team: ml}}"


@pytest.mark.parametrize(
    ("capacity", "free", "ready", "step"),
    [
        ("values: [reserved]", (1, 1), 2, ""),
        ("values: [reserved]", (1, 0), 1, "-1"),
        ("values: [reserved]", (0, 0), 0, "-2"),
        ("values: [reserved, on-demand]", (0, 0), 16, ""),
    ],
)
def test_a_full_reservation_launches_nothing_as_long_as_it_is_full(
    capacity: str, free: tuple[int, int], ready: int, step: str
) -> None:
    rows = [
        RESERVATION.replace("NUMBER", str(n)).replace("TYPE", name).replace("FREE", str(left))
        for n, (name, left) in enumerate(zip(("m5.large", "m6g.large"), free, strict=True))
    ]
    account = "\n".join([ACCOUNT, "capacityReservations:", *rows, ""])
    found, facts = with_facts(RESERVED.replace("CAPACITY", f"operator: In, {capacity}"), account)
    shown = explain_text(found, facts, width=100)
    row = next((line for line in shown.splitlines() if "reservations without a free instance" in line), "")
    assert row.split()[2:3] == ([step] if step else [])
    count = "none is launched" if not ready else f"{ready} of "
    assert next(line for line in shown.splitlines() if line.startswith("=> ")).startswith(f"=> {count}")
    assert ("have no free reserved instance" in shown) is (0 < ready < 2)


def test_text_of_what_the_region_lacks() -> None:
    found, facts = with_facts(OWN)
    shown = explain_text(found, facts, width=100)
    assert "  1,357  ██████████      -6  not offered in eu-west-3\n" in shown
    assert "=> 16 of 1,363 instance types can be launched" in shown


@pytest.mark.parametrize(
    ("ago", "message"),
    [(timedelta(), "0 s old"), (timedelta(minutes=5), "5 min old"), (timedelta(days=2), "2 d old")],
)
def test_text_says_whose_facts_these_are_and_how_old(ago: timedelta, message: str) -> None:
    found, facts = with_facts(OWN)
    facts.now = datetime(2026, 11, 20, 12, tzinfo=UTC) + ago
    assert f"Facts: eu-west-3, {message}.\n" in explain_text(found, facts, width=100)


def test_text_of_facts_of_two_times_and_of_no_clock() -> None:
    found, facts = with_facts(OWN)
    assert facts.region is not None
    assert facts.now is not None
    answers = dict(facts.region.answers)
    first = next(iter(answers))
    answers[first] = answers[first]._replace(at="2026-11-20T10:00:00Z")
    both = AwsFacts(facts.snapshot, facts.region._replace(answers=answers), facts.now + timedelta(minutes=5))
    assert "Facts: eu-west-3, 5 min to 2 h 5 min old." in explain_text(found, both)
    assert "Facts: eu-west-3, of 2026-11-20." in explain_text(found, AwsFacts(facts.snapshot, facts.region))


def test_text_of_a_class_that_finds_no_subnet() -> None:
    found, facts = with_facts(OWN.replace("discovery: main", "discovery: other"))
    shown = explain_text(found, facts, width=100)
    assert "=> none is launched: the class finds no subnet (16 of 1,363 instance types would fit)" in shown
    assert "judged as if it had one in every zone of eu-west-3" in " ".join(shown.split())


def test_text_of_subnets_that_are_not_known() -> None:
    found, facts = with_facts(OWN, f"{ACCOUNT}denied: [subnets]\n")
    shown = explain_text(found, facts, width=100)
    assert part(shown, "Zones").startswith("  the class's subnets are not known: every zone of the region counts\n")
    assert "AWS was asked about subnets: UnauthorizedOperation" in part(shown, "Not known")
    assert "=> at most 16" in shown


def test_json_with_facts_is_what_the_schema_says() -> None:
    found, facts = with_facts(OWN)
    report = explain_json(found, facts)
    schema = json.loads((ROOT / "schemas" / "explain.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    at = "2026-11-20T12:00:00Z"
    for account in (ACCOUNT, f"{ACCOUNT}denied: [subnets]\n", f"{ACCOUNT}denied: [offerings]\n"):
        again = explain_json(*with_facts(OWN, account))
        jsonschema.Draft202012Validator(schema).validate(json.loads(json.dumps(again)))
    assert report["facts"] == {"region": "eu-west-3", "oldest": at, "newest": at}
    (pool,) = report["nodePools"]
    assert pool["region"] == "eu-west-3"
    assert pool["zones"][0] == {
        "name": "eu-west-3a",
        "id": "euw3-az1",
        "subnets": 2,
        "freeAddresses": 1234,
        "offered": 1357,
        "left": 16,
    }
    assert [(image["id"], image["state"]) for image in pool["images"]] == [
        ("ami-0b1", "available"),
        ("ami-0a1", "available"),
    ]
    assert [(entry["id"], entry["reason"]) for entry in pool["passedOver"]] == [
        ("ami-0a2", "Karpenter 1.15.1 takes none that is pending"),
        ("ami-0a0", "not deprecated ones come first; `ami-0a1` is taken"),
    ]


@pytest.mark.parametrize("width", [72, 100])
def test_width_is_kept_with_facts(width: int) -> None:
    found, facts = with_facts(OWN)
    assert max(map(len, explain_text(found, facts, width=width).splitlines())) <= width


LIMITED = """---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  limits: {cpu: "%s"}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m5]%s}
---
"""


@pytest.mark.parametrize(("release", "limits"), [("1.10.1", False), ("1.11.0", True)])
def test_a_limit_of_no_nodes_counts_from_its_release_on(
    tmp_path: Path, nodelint: Run, release: str, limits: bool
) -> None:
    (tmp_path / "a.yaml").write_text(nodepool(spec="  limits: {nodes: 0}\n"), encoding="utf-8")
    shown = nodelint("explain", "a.yaml", "--karpenter-version", release).stdout
    assert ("spec.limits, nodes: 0" in shown) is limits


@pytest.mark.parametrize(
    ("cpu", "verdict"),
    [
        ("1", "=> none is launched: 9 of 1,363 instance types would fit, but this excludes the"),
        ("2", "=> 1 of 1,363 instance types can be launched; 8 more exceed the limits"),
        ("96", "=> 9 of 1,363 instance types can be launched"),
    ],
)
def test_limits_are_a_step_of_the_way(tmp_path: Path, nodelint: Run, cpu: str, verdict: str) -> None:
    (tmp_path / "a.yaml").write_text(LIMITED % (cpu, "") + nodeclass())
    output = nodelint("explain", "a.yaml").stdout
    assert verdict in output
    assert (f"spec.limits, cpu: {cpu}" in output) == (cpu != "96")
    pool = json.loads(nodelint("explain", "a.yaml", "--format", "json").stdout)["nodePools"][0]
    ready = [instance_type["name"] for instance_type in pool["instanceTypes"] if instance_type["ready"]]
    assert len(ready) == {"1": 0, "2": 1, "96": 9}[cpu]


def test_types_are_a_table_by_price_with_what_pods_can_use(tmp_path: Path, nodelint: Run) -> None:
    (tmp_path / "a.yaml").write_text(LIMITED % ("100", "") + nodeclass("kubelet: {maxPods: 20}"))
    output = nodelint("explain", "a.yaml", "--types").stdout
    row = next(line for line in output.splitlines() if line.strip().startswith("m5.large"))
    assert row.split()[1:3] == ["$0.0960/h", "2"]
    assert "1930m" in row
    assert "6903Mi" in row
    assert " 20 " in row
    pool = json.loads(nodelint("explain", "a.yaml", "--format", "json").stdout)["nodePools"][0]
    large = next(instance_type for instance_type in pool["instanceTypes"] if instance_type["name"] == "m5.large")
    assert large["allocatable"]["pods"] == "20"
    assert large["vcpu"] == 2


def test_a_mark_of_many_types_names_some_and_counts_the_others() -> None:
    chart = price_chart([Point(f"m{n}.large", "amd64", 2, 0.1) for n in range(6)], "vCPUs")
    assert "m3.large $0.1000 and 2 more</title>" in chart and "m4.large" not in chart


def test_a_type_without_a_size_or_a_price_is_not_drawn() -> None:
    chart = price_chart(
        [Point("a", "amd64", 2, 0.1), Point("b", "amd64", 0, 0.1), Point("c", "amd64", 4, 0)], "vCPUs"
    )
    assert "of 1 instance types" in chart
    assert price_chart([Point("b", "amd64", 0, 0.1)], "vCPUs") == ""


def test_an_axis_is_labelled_by_whole_numbers_and_thousands() -> None:
    chart = price_chart([Point("a", "amd64", 2, 0.01), Point("b", "amd64", 4, 20_000)], "vCPUs")
    assert re.findall(r">(\$[^<]+)<", chart) == ["$0.01", "$1", "$100", "$10k"]


@pytest.mark.parametrize(("count", "shown", "rest"), [(4, 4, ""), (5, 3, "some sizes of 2 more families")])
def test_of_many_families_in_part_some_are_shown_and_the_others_counted(count: int, shown: int, rest: str) -> None:
    catalog = Catalog.bundled()
    sizes = [("m5", "large 2xlarge"), ("c5", "xlarge 4xlarge"), ("r5", "large 4xlarge"), ("m6i", "large xlarge")]
    names = [
        f"{family}.{size}" for family, both in (*sizes, ("c6i", "2xlarge 8xlarge"))[:count] for size in both.split()
    ]
    lines = list(families(catalog, catalog.types_of(names), "types: ", 80))
    assert len([line for line in lines if "only" in line]) == shown
    assert lines[shown:] == ([f"       {rest}"] if rest else [])
