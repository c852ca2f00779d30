"""A pipeline of images in an account that answers over HTTP: asked once, judged offline, fixed, clean.

Three images are available, a newer one is pending, one has failed, one is deprecated, and somebody else
publishes one that looks alike.
"""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from syrupy.assertion import SnapshotAssertion

from nodelint.cli import cli
from nodelint.ec2.snapshot import parse_snapshot
from tests.ec2_front import Front, clean

pytest.importorskip("moto.server")

ACCOUNT, STRANGER = "123456789012", "999988887777"
NOW = "2026-11-20T12:00:00Z"

CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: golden
spec:
  amiFamily: AL2023
  role: KarpenterNodeRole-golden
  amiSelectorTerms:
    - {term}
  subnetSelectorTerms:
    - tags: {{karpenter.sh/discovery: main}}
  securityGroupSelectorTerms:
    - tags: {{karpenter.sh/discovery: main}}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: golden}}
      requirements:
        - key: kubernetes.io/arch
          operator: In
          values: [amd64]
"""


@pytest.fixture(scope="module")
def account(server: Front) -> None:
    """An account whose images moto's own API could not make."""
    import boto3
    from moto.ec2.models import ec2_backends
    from moto.ec2.models.amis import Ami

    server.reset()
    with pytest.MonkeyPatch.context() as patch:
        _credentials(patch, server.url)
        boto3.client("sts", region_name="ca-central-1").get_caller_identity()
        images = ec2_backends[ACCOUNT]["ca-central-1"]
        for id, name, created, state, owner, tags in (
            ("ami-0a1", "golden-1", (2026, 11, 1), "available", ACCOUNT, {"pipeline": "golden"}),
            ("ami-0a2", "golden-2", (2026, 11, 2), "available", ACCOUNT, {"pipeline": "golden"}),
            ("ami-0a3", "golden-3", (2026, 11, 3), "available", ACCOUNT, {"pipeline": "golden"}),
            ("ami-0a4", "golden-4", (2026, 11, 19), "pending", ACCOUNT, {"pipeline": "golden"}),
            ("ami-0af", "golden-0", (2026, 11, 4), "failed", ACCOUNT, {"pipeline": "golden"}),
            ("ami-0ad", "golden-old", (2025, 6, 1), "available", ACCOUNT, {"pipeline": "golden", "line": "old"}),
            ("ami-0ff", "golden-99", (2026, 10, 1), "available", STRANGER, {"pipeline": "golden", "line": "new"}),
        ):
            image = Ami(
                images,
                id,
                name=name,
                owner_id=owner,
                architecture="x86_64",
                state=state,
                creation_date=datetime(*created),
                public=owner == STRANGER,
            )
            image.add_tags(tags)
            images.amis[id] = image
        images.amis["ami-0ad"].deprecation_time = "2026-06-01T00:00:00.000Z"
        ec2 = boto3.client("ec2", region_name="ca-central-1")
        vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
        subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.0.0.0/24", AvailabilityZone="ca-central-1a")["Subnet"]
        group = ec2.create_security_group(GroupName="nodes", Description="nodes", VpcId=vpc)["GroupId"]
        found = [subnet["SubnetId"], group]
        ec2.create_tags(Resources=found, Tags=[{"Key": "karpenter.sh/discovery", "Value": "main"}])
        iam = boto3.client("iam")
        iam.create_role(RoleName="KarpenterNodeRole-golden", AssumeRolePolicyDocument="{}")


def _credentials(patch: pytest.MonkeyPatch, url: str) -> None:
    clean(patch)
    for name, value in {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_REGION": "ca-central-1",
        "AWS_DEFAULT_REGION": "ca-central-1",
        "NODELINT_NOW": NOW,
    }.items():
        patch.setenv(name, value)


@pytest.fixture
def folder(account: None, front: Front, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    _credentials(monkeypatch, front.url)
    monkeypatch.setenv("NODELINT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments), catch_exceptions=False)


def refresh_facts(folder: Path, term: str) -> Path:
    """A class with a term, and what AWS says about it in a file."""
    manifest = folder / "golden.yaml"
    manifest.write_text(CLASS.format(term=term), encoding="utf-8")
    done = run("refresh", "--output", "facts.json", "golden.yaml")
    assert done.exit_code == 0, done.output
    return manifest


@pytest.mark.parametrize("release", ["1.1.0", "1.2.2", "1.14.1"])
@pytest.mark.parametrize("term", ["tags: {pipeline: golden}", "name: golden-*"], ids=["tags", "name"])
def test_found_fixed_clean(folder: Path, term: str, release: str, snapshot: SnapshotAssertion) -> None:
    manifest = refresh_facts(folder, term)
    flags = ["--snapshot", "facts.json", "--karpenter-version", release, "golden.yaml"]
    found = run("check", *flags)
    # Which image the running nodes have, only the account knows: the pin may replace some.
    fixed = run("check", "--fix", "--unsafe-fixes", *flags)
    assert (found.output, fixed.output, manifest.read_text(encoding="utf-8")) == snapshot
    # What takes a pending image is an error, and what is left after the fix is none.
    assert found.exit_code == (1 if release == "1.1.0" else 0)
    again = run("check", "--fail-on", "warning", *flags)
    assert again.exit_code == 0, again.output
    assert "Skipped" not in again.output


def test_the_answers_are_those_of_ec2(folder: Path) -> None:
    refresh_facts(folder, "tags: {pipeline: golden}")
    region = parse_snapshot((folder / "facts.json").read_bytes()).regions[0]
    assert {i.name: (i.state, i.owner) for i in region.images.values()} == {
        "golden-1": ("available", "self"),
        "golden-2": ("available", "self"),
        "golden-3": ("available", "self"),
        "golden-4": ("pending", "self"),
        "golden-0": ("failed", "self"),
        "golden-old": ("available", "self"),
        "golden-99": ("available", STRANGER),
    }
    assert region.images["ami-0ad"].deprecated == "2026-06-01T00:00:00Z"
    assert region.images["ami-0ff"].public
    assert ACCOUNT not in (folder / "facts.json").read_text()


def test_only_deprecated_images(folder: Path) -> None:
    refresh_facts(folder, "tags: {line: old}")
    done = run("check", "--format", "json", "--snapshot", "facts.json", "golden.yaml")
    (finding,) = json.loads(done.output)["findings"]
    assert (finding["rule"], finding["severity"]) == ("deprecated-image", "warning")
    assert "`golden-old` (ami-0ad) has been deprecated since 2026-06-01" in finding["message"]


@pytest.mark.parametrize("release", ["1.0.0", "1.14.1"])
def test_somebody_elses_image_is_taken(folder: Path, release: str) -> None:
    manifest = refresh_facts(folder, "tags: {line: new}")
    flags = ["--snapshot", "facts.json", "--karpenter-version", release, "--fail-on", "warning", "golden.yaml"]
    done = run("check", *flags)
    assert done.exit_code == 1
    assert f"without `owner` the term selects `golden-99` (ami-0ff) of account {STRANGER}" in done.output
    before = manifest.read_bytes()
    run("check", "--fix", "--unsafe-fixes", *flags)
    assert manifest.read_bytes() == before  # whom to trust is for the user to say


def test_live_and_snapshot_say_the_same(folder: Path) -> None:
    refresh_facts(folder, "tags: {pipeline: golden}")
    for release in ("1.1.0", "1.14.1"):
        for form in ("text", "json"):
            flags = ["--karpenter-version", release, "--format", form, "golden.yaml"]
            remaining = run("check", "--snapshot", "facts.json", *flags)
            live = run("check", "--live", *flags)
            assert _findings(live, form) == _findings(remaining, form)
            assert live.exit_code == remaining.exit_code


def _findings(done: Result, form: str) -> str:
    """All that is said but for where the facts come from: a file, or AWS by way of the cache."""
    if form == "text":
        return done.output.partition("Facts:")[0]
    data = json.loads(done.output)
    data["summary"]["facts"].pop("snapshot")
    return json.dumps(data)


def test_explain_tells_the_images_in_their_order(folder: Path) -> None:
    refresh_facts(folder, "tags: {pipeline: golden}")
    flags = ["--format", "json", "--snapshot", "facts.json", "golden.yaml"]
    for release, taken in (("1.1.0", "ami-0a4"), ("1.2.2", "ami-0a3")):
        (pool,) = json.loads(run("explain", "--karpenter-version", release, *flags).output)["nodePools"]
        assert pool["images"][0]["id"] == taken
