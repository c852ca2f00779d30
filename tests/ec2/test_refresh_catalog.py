"""`nodelint refresh --catalog` asks for the instance types of a region, so that one newer than nodelint is known."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import boto3
import pytest

from nodelint import data
from nodelint.ec2.catalog import Catalog
from nodelint.ec2.snapshot import parse_snapshot
from tests.ec2_front import FEW, PLACE, SMALL, Front, error, listed
from tests.manifests import nodepool

pytest.importorskip("moto.server")

Run = Callable[..., CompletedProcess[str]]
POOL = nodepool(
    "key: karpenter.k8s.aws/instance-family, operator: In, values: [t9]",
    'key: karpenter.k8s.aws/instance-cpu, operator: In, values: ["2"]',
)


@pytest.fixture
def region(front: Front) -> Front:
    """A region that offers one type, which is not bundled."""
    front.on("DescribeInstanceTypes", listed("InstanceTypes", [SMALL]))
    front.on("DescribeInstanceTypeOfferings", listed("InstanceTypeOfferings", [PLACE]))
    return front


def env(front: Front, now: str = "2026-11-20T12:00:00Z") -> dict[str, str]:
    return {
        "AWS_ENDPOINT_URL": front.url,
        "AWS_ACCESS_KEY_ID": "a",
        "AWS_SECRET_ACCESS_KEY": "b",
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": "/dev/null",
        "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
        "NODELINT_NOW": now,
    }


def pool(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "pool.yaml").write_text(POOL, encoding="utf-8")


def test_a_type_brought_yesterday_is_known_today(nodelint: Run, tmp_path: Path, region: Front) -> None:
    pool(tmp_path)
    assert "`t9`" in nodelint("check", "--select", "unknown-value,no-instance-type").stdout
    done = nodelint("refresh", "--catalog", env=env(region))
    assert (done.returncode, done.stderr) == (0, "")
    assert "1 instance type newer than the bundled list (t9)" in done.stdout
    later = env(region, "2026-11-22T12:00:00Z")
    assert (
        nodelint("check", "--select", "unknown-value,no-instance-type", env=later)
        .stdout.splitlines()[-1]
        .startswith("All good")
    )
    (found,) = json.loads(nodelint("explain", "--format", "json", env=later).stdout)["nodePools"]
    assert [instance_type["name"] for instance_type in found["instanceTypes"]] == ["t9.small"]


def test_what_came_over_the_wire_is_what_karpenters_page_says(nodelint: Run, tmp_path: Path, front: Front) -> None:
    output = tmp_path / "types.json"
    assert nodelint("refresh", "--catalog", "--output", str(output), env=env(front)).returncode == 0
    brought, known = Catalog(parse_snapshot(output.read_bytes())), Catalog.bundled()
    assert brought.names == FEW
    for name in FEW:
        assert brought.labels(name) == known.labels(name)
        assert brought.resources.amounts(name) == known.resources.amounts(name)
        assert brought.resources.network(name) == known.resources.network(name)
        assert brought.prices.on_demand(name) == known.prices.on_demand(name)


def test_a_type_without_a_known_price_is_said_to_have_none(nodelint: Run, tmp_path: Path, region: Front) -> None:
    pool(tmp_path)
    nodelint("refresh", "--catalog", env=env(region))
    shown = nodelint("explain", env=env(region)).stdout
    assert "Cheapest on demand\n  price not known: t9.small\n" in shown
    (tmp_path / "pool.yaml").write_text(POOL.replace("[t9]", "[t9, m5]"), encoding="utf-8")
    from moto.ec2.models.instance_types import INSTANCE_TYPES

    region.on("DescribeInstanceTypes", listed("InstanceTypes", [SMALL, INSTANCE_TYPES["m5.large"]]))
    both = [PLACE, {**PLACE, "InstanceType": "m5.large"}]
    region.on("DescribeInstanceTypeOfferings", listed("InstanceTypeOfferings", both))
    nodelint("refresh", "--catalog", env=env(region))
    shown = nodelint("explain", env=env(region)).stdout
    assert re.search(r"\n  m5.large  \$0.\d+/h .*\n  price not known: t9.small\n", shown), shown


def test_the_day_of_the_types_is_that_of_the_newest_answer(nodelint: Run, tmp_path: Path, region: Front) -> None:
    pool(tmp_path)
    (tmp_path / "pool.yaml").write_text(POOL.replace("[t9]", "[t9, q9]"), encoding="utf-8")
    nodelint("refresh", "--catalog", env=env(region))
    shown = nodelint("check", env=env(region)).stdout
    assert "no instance type has instance-family `q9`" in shown
    assert "nodelint knows the types of 2026-11-20;" in shown
    assert "1,364 instance types of 2026-11-20." in shown
    explained = " ".join(nodelint("explain", env=env(region)).stdout.split())
    assert re.search(r"Instance types: Karpenter v[\d.]+, [^;]*, 2026-07-11; EC2, 2026-11-20\.", explained)


def test_no_manifest_is_read_and_nothing_else_is_asked(nodelint: Run, tmp_path: Path, region: Front) -> None:
    output = tmp_path / "types.json"
    assert nodelint("refresh", "--catalog", "--output", str(output), env=env(region)).returncode == 0
    requested = {operation for operation, count in region.counted().items() if count}
    assert requested == {"sts:GetCallerIdentity", "ec2:DescribeInstanceTypes", "ec2:DescribeInstanceTypeOfferings"}
    (row,) = parse_snapshot(output.read_bytes()).rows
    assert row[0] == "t9.small"
    shown = nodelint("snapshot", "show", str(output), env=env(region)).stdout
    assert "1 instance type of 2026-11-20 (EC2), read in us-east-1" in shown


def test_the_types_are_asked_for_again_however_new_they_are(nodelint: Run, tmp_path: Path, region: Front) -> None:
    (tmp_path / ".git").mkdir()
    nodelint("refresh", "--catalog", env=env(region))
    newer = {**SMALL, "InstanceType": "t9.large"}
    region.on("DescribeInstanceTypes", listed("InstanceTypes", [SMALL, newer]))
    offered = [PLACE, {**PLACE, "InstanceType": "t9.large"}]
    region.on("DescribeInstanceTypeOfferings", listed("InstanceTypeOfferings", offered))
    done = nodelint("refresh", "--catalog", env=env(region))
    assert "2 instance types newer than the bundled list (t9)" in done.stdout


def test_a_refusal_is_said_and_keeps_what_was_known(nodelint: Run, tmp_path: Path, region: Front) -> None:
    pool(tmp_path)
    nodelint("refresh", "--catalog", env=env(region))
    region.on("DescribeInstanceTypes", error("UnauthorizedOperation", 403))
    done = nodelint("refresh", "--catalog", env=env(region))
    assert done.returncode == 5
    assert re.search("not answered: instance types: .*not allowed", done.stdout)
    assert (
        nodelint("check", "--select", "unknown-value", env=env(region)).stdout.splitlines()[-1].startswith("All good")
    )


def test_what_comes_along_is_shown_with_its_age(nodelint: Run, tmp_path: Path, region: Front) -> None:
    (tmp_path / ".git").mkdir()
    done = nodelint("snapshot", "show", env=env(region))
    assert done.returncode == 0
    assert done.stdout.startswith("Nothing is cached for this repository; `nodelint refresh` asks AWS.")
    assert "labels and resources: of 2026-07-11, 132 days old" in done.stdout
    assert "read in us-east-1, us-east-2 and us-west-2" in done.stdout
    report = json.loads(nodelint("snapshot", "show", "--format", "json", env=env(region)).stdout)
    (labels,) = [fact for fact in report["bundled"] if fact["what"] == "labels and resources"]
    assert (labels["date"], labels["age"] // 86400) == ("2026-07-11", 132)
    nodelint("refresh", "--catalog", env=env(region))
    report = json.loads(nodelint("snapshot", "show", "--format", "json", env=env(region)).stdout)
    assert report["instanceTypes"] == 1 and report["bundled"]


def test_a_described_type_is_a_row_of_the_catalogue_and_refresh_keeps_it(
    nodelint: Run, tmp_path: Path, front: Front
) -> None:
    from nodelint.ec2.merge import joined

    front.on("DescribeInstanceTypes", listed("InstanceTypes", [SMALL]))
    ec2 = boto3.client("ec2", "us-east-1", endpoint_url=front.url, aws_access_key_id="a", aws_secret_access_key="b")
    answer = {"InstanceTypes": ec2.describe_instance_types()["InstanceTypes"]}
    described, output = tmp_path / "described.json", tmp_path / "catalog.json"
    described.write_text(json.dumps(answer), encoding="utf-8")
    bundled = Path(data.__file__).with_name("catalog.json").read_bytes()
    output.write_bytes(bundled)
    tool = importlib.import_module("tools.make_catalog")
    assert tool.add_file(output, described, "2026-11-01") == 1
    assert tool.add_file(output, described, "2026-11-02") == 0
    made = parse_snapshot(output.read_bytes())
    assert made.date == "2026-11-01"
    found = Catalog(made)
    assert found.labels("t9.small")["karpenter.k8s.aws/instance-memory"] == "2048"
    assert found.labels("m5.large") == Catalog.bundled().labels("m5.large")
    brought = tmp_path / "types.json"
    front.on("DescribeInstanceTypes", listed("InstanceTypes", [{**SMALL, "InstanceType": "t9.large"}]))
    front.on(
        "DescribeInstanceTypeOfferings", listed("InstanceTypeOfferings", [{**PLACE, "InstanceType": "t9.large"}])
    )
    assert nodelint("refresh", "--catalog", "--output", str(brought), env=env(front)).returncode == 0
    both = Catalog(joined(made, parse_snapshot(brought.read_bytes())))
    assert {"t9.small", "t9.large", "m5.large"} <= set(both.names)
