"""Prices of a region: asked of a server that speaks AWS's API by boto3, kept, and used by every command."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from nodelint.cli import cli
from nodelint.ec2.client.price_lists import price_questions, pricing_region
from nodelint.ec2.snapshot import parse_snapshot
from tests import ec2_front as aws
from tests.ec2_front import PRICES, ask_account, priced_product
from tests.manifests import nodeclass, pool

Run = Callable[..., Result]

REGION = "eu-west-1"
WORKLOAD = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - {name: web, image: web, resources: {requests: {cpu: 1500m, memory: 1Gi}}}
"""


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, front: aws.Front) -> Path:
    """A repository with a pool of two types, on demand or spot, and a workload that fills three nodes."""
    (tmp_path / ".git").mkdir()
    requirements = (
        "node.kubernetes.io/instance-type In [c5.large, m5.large]",
        "karpenter.sh/capacity-type In [on-demand, spot]",
    )
    (tmp_path / "pool.yaml").write_text(pool(*requirements) + "---\n" + nodeclass(), encoding="utf-8")
    (tmp_path / "web.yaml").write_text(WORKLOAD, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NODELINT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("NODELINT_NOW", "2026-11-20T12:00:00Z")
    zone = [
        {"SubnetId": f"subnet-{z}", "AvailabilityZone": f"{REGION}{z}", "AvailabilityZoneId": f"euw1-az{n}",
         "VpcId": "vpc-1", "AvailableIpAddressCount": 9}
        for n, z in enumerate("ab", 1)
    ]  # fmt: skip
    front.on("DescribeSubnets", aws.answer({"Subnets": zone}))
    return tmp_path


@pytest.fixture
def run() -> Run:
    """Nodelint in this process."""

    def run(*arguments: str, **options: Any) -> Result:
        return CliRunner().invoke(cli, list(arguments), catch_exceptions=False, **options)

    return run


def cost(run: Run) -> dict[str, Any]:
    done = run("fit", "--cost", "--format", "json")
    assert done.exit_code in (0, 1), done.output
    found: dict[str, Any] = json.loads(done.stdout)["cost"]
    return found


def test_prices_of_the_region_are_kept_and_used_by_each_command(run: Run, tree: Path, front: aws.Front) -> None:
    done = run("refresh", "--region", REGION)
    assert done.exit_code in (0, 4, 5), done.output
    assert "prices on demand         3 found (2 queries, 1 of which found none)" in done.stdout
    assert "spot prices              3 found (1 query)" in done.stdout
    requests = [request for request in front.seen if request.operation == "GetProducts"]
    assert {request.region for request in requests} == {"eu-central-1"}, "Ireland is in the price list of Frankfurt"
    assert {(f["Field"], f["Value"]) for f in requests[0].fields["Filters"]} >= {
        ("regionCode", REGION), ("operatingSystem", "Linux"), ("marketoption", "OnDemand"),
    }  # fmt: skip
    (spot_request,) = [request for request in front.seen if request.operation == "DescribeSpotPriceHistory"]
    assert spot_request.fields["StartTime"].startswith("2026-11-20T12:00:00"), "not the history, but what holds now"
    (region,) = parse_snapshot(next((tree / "cache").iterdir()).read_bytes()).regions
    assert {name: float(price.usd) for name, price in region.prices.items()} == {
        name: float(usd) for name, usd in PRICES.items()
    }
    assert region.spot_prices[f"m5.large/{REGION}b"].usd == "0.04", "the newest of a type and zone"

    found = cost(run)
    assert found["prices"] == {"region": REGION, "date": "2026-11-20", "hoursAMonth": 730}
    assert found["most"]["pricePerHour"] == pytest.approx(3 * 0.097)
    # c5.large costs 0.031 as spot, m5.large 0.04 in the dearer zone's place.
    assert found["most"]["leastPricePerHourWithSpot"] == pytest.approx(3 * 0.031)
    assert any("may be spot: at the least spot price of each" in note for note in found["notes"])
    (tree / "web.yaml").write_text(WORKLOAD.replace("memory: 1Gi", "memory: 5Gi"), encoding="utf-8")
    assert cost(run)["most"]["leastPricePerHourWithSpot"] == pytest.approx(3 * 0.04), "a c5.large has 4 GiB"
    explained = run("explain").stdout
    assert "$0.0970/h" in explained and f"Prices: on demand in {REGION}, USD, 2026-11-20" in explained
    # Months later they are too old for nothing: their day is said.
    later = run("fit", "--cost", env={"NODELINT_NOW": "2027-03-01T12:00:00Z"})
    assert f"on demand in {REGION}, of 2026-11-20" in " ".join(later.stdout.split())


@pytest.mark.parametrize("code", ["AccessDeniedException", "ThrottlingException"])
def test_without_permission_a_line_says_so_and_the_rest_is_kept(
    run: Run, tree: Path, front: aws.Front, code: str
) -> None:
    expected = run("refresh", "--region", REGION, "--fresh").exit_code
    front.on("GetProducts", aws.error(code, 400))
    front.on("DescribeSpotPriceHistory", aws.error("UnauthorizedOperation", 403))
    done = run("refresh", "--region", REGION, "--fresh")
    assert done.exit_code == expected, "no rule needs a price"
    lines = [line for line in done.stdout.splitlines() if "not answered" in line and "prices" in line]
    assert len(lines) == 2 and all(line.endswith("costs are computed without them") for line in lines), done.stdout
    assert "pricing:GetProducts" in lines[0] and "ec2:DescribeSpotPriceHistory" in lines[1]
    assert "2 found" in next(line for line in done.stdout.splitlines() if "subnets" in line)
    found = cost(run)
    assert found["prices"]["region"] == "us-east-1"
    assert f"no prices are known of {REGION}: those of us-east-1 stand in" in " ".join(found["notes"])
    assert found["most"]["leastPricePerHourWithSpot"] is None
    assert "spot prices are not known" in " ".join(found["notes"])
    assert f"none are known of {REGION}" in " ".join(run("explain").stdout.split())


def test_what_is_no_price_list_is_no_price(front: aws.Front) -> None:
    on_demand = price_questions(REGION)[0]
    for entry in ("{", "[]", priced_product("m5.large", "much"), priced_product("m5.large", "nan"), "[" * 100_000):
        front.on("GetProducts", aws.answer({"PriceList": [entry]}))
        answer = ask_account(on_demand, region=REGION).region.answers[on_demand]
        assert answer.failed, entry
    front.on("GetProducts", aws.answer({"PriceList": [priced_product("m5.large", "0.0000000000")]}))
    assert ask_account(on_demand, region=REGION).region.answers[on_demand].found == ()


@pytest.mark.parametrize(
    ("region", "endpoint"),
    [
        ("us-west-2", "us-east-1"),
        ("ap-southeast-2", "ap-south-1"),
        ("cn-north-1", None),
        ("us-gov-west-1", None),
        ("eusc-de-east-1", None),
    ],
)
def test_where_prices_of_a_region_are_asked_for(region: str, endpoint: str | None) -> None:
    assert pricing_region(region) == endpoint
