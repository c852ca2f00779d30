"""`nodelint refresh` and `--live` against a server that speaks AWS's API, and one before it that refuses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import jsonschema
import pytest

from nodelint.ec2.snapshot import parse_snapshot
from tests.conftest import ROOT
from tests.ec2_front import FEW, Front, error
from tests.manifests import nodeclass

Run = Callable[..., CompletedProcess[str]]

CLASS = nodeclass("amiFamily: AL2023", ami="tags: {pipeline: golden}")
_BY_REGION = {"ec2:DescribeInstanceTypes", "ec2:DescribeInstanceTypeOfferings"}
"""What is kept for longer than the rest."""


@pytest.fixture
def account(front: Front) -> Any:
    """An account with what the class selects, one image of which is not ready."""
    import boto3

    front.reset()
    ec2 = boto3.client("ec2", region_name="us-east-1")
    iam = boto3.client("iam", region_name="us-east-1")
    iam.create_role(RoleName="KarpenterNodeRole-main", AssumeRolePolicyDocument="{}")
    tags = [{"Key": "karpenter.sh/discovery", "Value": "main"}]
    (vpc,) = ec2.describe_vpcs()["Vpcs"]
    subnets = ec2.describe_subnets()["Subnets"][:2]
    group = ec2.create_security_group(GroupName="nodes", Description="nodes", VpcId=vpc["VpcId"])["GroupId"]
    ec2.create_tags(Resources=[group, *(s["SubnetId"] for s in subnets)], Tags=tags)
    image = ec2.register_image(Name="golden-1", Architecture="x86_64")["ImageId"]
    ec2.create_tags(Resources=[image], Tags=[{"Key": "pipeline", "Value": "golden"}])
    front.clear()
    return ec2


def keys(front: Front, **more: str) -> dict[str, str]:
    return {
        "AWS_ENDPOINT_URL": front.url,
        "AWS_ACCESS_KEY_ID": "a",
        "AWS_SECRET_ACCESS_KEY": "b",
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": "/dev/null",
        "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
        **more,
    }


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "class.yaml").write_text(CLASS, encoding="utf-8")
    return tmp_path


def cached(folder: Path) -> Path:
    (path,) = (folder / ".cache").iterdir()
    return path


@pytest.mark.slow
def test_refresh_keeps_what_it_asked_and_asks_again_only_what_is_too_old(
    nodelint: Run, project: Path, front: Front, account: Any
) -> None:
    done = nodelint("refresh", env=keys(front, NODELINT_NOW="2026-11-20T12:00:00Z"))
    assert (done.returncode, done.stderr) == (0, "")
    path = cached(project)
    lines = done.stdout.splitlines()
    assert lines[0].startswith("us-east-1 (account ")
    assert "9 questions in 11 calls" in lines[0]
    assert any(line.split() == ["subnets", "2", "found", "(1", "query)"] for line in lines)
    assert lines[-1] == f"Written to {path}. Next: nodelint check"
    snapshot = parse_snapshot(path.read_bytes())
    (region,) = snapshot.regions
    assert len(region.subnets) == 2
    assert len(region.images) == 1
    assert region.offerings.keys() == set(FEW)
    assert {a.at for a in region.answers.values()} == {"2026-11-20T12:00:00Z"}
    assert nodelint("check", "--require-facts", env={"NODELINT_NOW": "2026-11-20T12:04:00Z"}).returncode in (0, 1)

    front.clear()
    done = nodelint("refresh", env=keys(front, NODELINT_NOW="2026-11-20T12:04:00Z"))
    assert "0 questions in 1 call" in done.stdout
    assert front.counted() == {"sts:GetCallerIdentity": 1}
    front.clear()
    done = nodelint("refresh", env=keys(front, NODELINT_NOW="2026-11-20T12:06:00Z"))
    assert "4 questions" in done.stdout
    assert "5 known already" in done.stdout
    assert not front.counted().keys() & _BY_REGION
    assert parse_snapshot(path.read_bytes()).rows == snapshot.rows
    assert "9 questions" in nodelint("refresh", "--fresh", env=keys(front)).stdout


def test_live_and_the_snapshot_that_it_leaves_say_the_same_byte_for_byte(
    nodelint: Run, project: Path, front: Front, account: Any
) -> None:
    (project / "pool.yaml").write_text(
        (ROOT / "examples" / "good" / "general.yaml").read_text(encoding="utf-8").partition("\n---\n")[0] + "\n",
        encoding="utf-8",
    )
    subnets = [s["SubnetId"] for s in account.describe_subnets()["Subnets"]]
    account.delete_tags(Resources=subnets, Tags=[{"Key": "karpenter.sh/discovery"}])
    for form in ("text", "json"):
        env = keys(front)
        live = nodelint("check", "--live", "--format", form, env=env)
        assert "empty-selector" in live.stdout
        path = str(cached(project))
        before = len(front.seen)
        offline = nodelint("check", "--snapshot", path, "--format", form)
        assert (offline.stdout, offline.returncode) == (live.stdout, live.returncode)
        assert len(front.seen) == before
        assert nodelint("check", "--format", form).stdout == live.stdout
    # It says how old things are.
    at = {"NODELINT_NOW": "2030-01-01T00:00:00Z"}
    explained = nodelint("explain", "--live", env=keys(front, **at))
    assert explained.returncode == 0
    assert explained.stdout == nodelint("explain", "--snapshot", path, env=at).stdout


def test_output_is_written_anew_and_what_was_refused_stands_in_it(
    nodelint: Run, project: Path, front: Front, account: Any
) -> None:
    done = nodelint("refresh", "--output", "class.yaml", env=keys(front))
    assert done.returncode == 2
    assert "class.yaml: not a snapshot, so it is not written over" in done.stderr
    assert not front.seen
    path = project / "facts.json"
    path.write_text('{"nodelint-snapshot": 1, "bro', encoding="utf-8")
    front.on("DescribeSubnets", error("UnauthorizedOperation", 403))
    done = nodelint("refresh", "--output", "facts.json", env=keys(front))
    assert done.returncode == 5, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if "not answered: subnets" in line]
    assert "UnauthorizedOperation" in line
    assert "; will be skipped: " in line
    assert "empty-selector" in line
    assert "Written to facts.json. Next: nodelint check --snapshot facts.json\n" in done.stdout
    data = json.loads(path.read_text(encoding="utf-8"))
    schema = json.loads((ROOT / "schemas" / "snapshot.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(data)
    (subnets,) = [a for a in data["regions"][0]["asked"] if a["ask"] == "subnets"]
    assert "failed" in subnets
    assert not subnets["transient"]
    assert not (project / ".cache").exists()
    assert nodelint("check", "--snapshot", "facts.json", "--require-facts").returncode == 5


def test_a_full_disk_is_said_and_leaves_the_old_file(project: Path, front: Front, account: Any) -> None:
    path = project / "facts.json"
    path.write_text('{"nodelint-snapshot": 1, "old', encoding="utf-8")
    command = f"ulimit -f 1; exec '{sys.executable}' -B -m nodelint refresh --output facts.json"
    env = {**os.environ, **keys(front)}
    done = subprocess.run(["bash", "-c", command], cwd=project, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stdout
    assert done.stderr == "nodelint: facts.json: not written: file too large\n"
    assert path.read_text(encoding="utf-8") == '{"nodelint-snapshot": 1, "old'
    assert sorted(p.name for p in project.iterdir()) == [".git", "class.yaml", "facts.json"]


def test_ctrl_c_ends_the_run_at_once_and_is_no_finding(project: Path, front: Front, account: Any) -> None:
    front.on("DescribeSubnets", error("Unavailable", 503))
    env = {**os.environ, **keys(front), "NODELINT_CACHE_DIR": str(project / ".cache")}
    # A job in the background is started with SIGINT ignored, and its children inherit that.
    handled = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    code = f"{handled}; import nodelint.__main__ as program; program.main()"
    command = [sys.executable, "-c", code, "refresh"]
    running = subprocess.Popen(command, cwd=project, env=env, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 120
    while not front.counted()["ec2:DescribeSubnets"] and time.monotonic() < until:
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    _, output = running.communicate(timeout=30)
    assert (running.returncode, output) == (130, "nodelint: interrupted\n")
    assert not (project / ".cache").exists()


def test_what_fails_for_now_ends_with_code_4_and_costs_no_old_answer(
    nodelint: Run, project: Path, front: Front, account: Any
) -> None:
    assert nodelint("refresh", env=keys(front, NODELINT_NOW="2026-11-20T12:00:00Z")).returncode == 0
    front.on("DescribeImages", error("Unavailable", 503))
    done = nodelint("refresh", "--timeout", "2", env=keys(front, NODELINT_NOW="2026-11-20T12:10:00Z"))
    assert done.returncode == 4, done.stdout
    assert "which may pass" in done.stdout
    (region,) = parse_snapshot(cached(project).read_bytes()).regions
    at = {question.kind: answer.at for question, answer in region.answers.items()}
    assert at["images"] == "2026-11-20T12:00:00Z"
    assert at["subnets"] == "2026-11-20T12:10:00Z"
    assert len(region.images) == 1


def test_without_credentials_nothing_is_asked_and_nothing_is_lost(
    nodelint: Run, project: Path, front: Front, account: Any
) -> None:
    assert nodelint("refresh", env=keys(front)).returncode == 0
    path = cached(project)
    before = path.read_bytes()
    none = {**keys(front), "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}
    for command in (["refresh", "--fresh"], ["refresh", "--fresh", "--aws-profile", "nobody"]):
        done = nodelint(*command, env=none)
        assert (done.returncode, done.stdout) == (5, "")
        assert done.stderr.startswith("nodelint: AWS cannot be asked: ")
        assert len(done.stderr.splitlines()) == 1
    assert path.read_bytes() == before
    path.unlink()
    done = nodelint("check", "--live", "--require-facts", env=none)
    assert done.returncode == 5
    assert "AWS cannot be asked: " in done.stderr
    assert not path.exists()


@pytest.mark.slow
def test_without_a_network_what_is_known_stays_and_trying_again_may_help(
    nodelint: Run, project: Path, front: Front, account: Any
) -> None:
    cut = keys(front, AWS_ENDPOINT_URL="http://127.0.0.1:1", NODELINT_NOW="2026-11-20T12:06:00Z")
    for command in (["check", "--live", "--require-facts"], ["refresh"], ["refresh", "--output", "facts.json"]):
        assert nodelint(*command, env=cut).returncode == 4
    assert [path.name for path in project.iterdir() if path.name != ".git"] == ["class.yaml"]
    assert nodelint("refresh", env=keys(front, NODELINT_NOW="2026-11-20T12:00:00Z")).returncode == 0
    before = cached(project).read_bytes()
    for command in (["check", "--live", "--require-facts"], ["refresh"]):
        assert nodelint(*command, env=cut).returncode == 4
    assert cached(project).read_bytes() == before


def test_regions_are_named_by_flags_configuration_or_environment(
    nodelint: Run, project: Path, front: Front, account: Any
) -> None:
    env = keys(front)
    del env["AWS_REGION"]
    done = nodelint("refresh", env=env)
    assert done.returncode == 2
    assert "no AWS region is known; set --region" in done.stderr
    assert nodelint("refresh", "--region", "us east 1", env=env).returncode == 2
    done = nodelint("refresh", "--region", "us-west-2", "--region", "us-east-1", env=env)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("Next: nodelint check --region us-west-2\n")
    assert [r.name for r in parse_snapshot(cached(project).read_bytes()).regions] == ["us-east-1", "us-west-2"]
    (project / "nodelint.yaml").write_text("region: us-east-1\n", encoding="utf-8")
    assert "\nus-east-1 (" in "\n" + nodelint("refresh", "--fresh", env=env).stdout


def test_a_cache_that_cannot_be_written_costs_refresh_its_work_but_not_a_live_check(
    nodelint: Run, project: Path, front: Front, account: Any
) -> None:
    (project / "file").write_text("", encoding="utf-8")
    env = keys(front, NODELINT_CACHE_DIR=str(project / "file"))
    done = nodelint("refresh", env=env)
    assert done.returncode == 2
    assert "not written: " in done.stderr
    done = nodelint("check", "--live", "--require-facts", env=env)
    assert done.returncode in (0, 1), done.stderr
    assert "(not saved)" in done.stdout


def test_a_folder_without_manifests_asks_nothing(nodelint: Run, tmp_path: Path, front: Front) -> None:
    done = nodelint("refresh", env=keys(front))
    assert (done.returncode, done.stdout) == (0, "Nothing to ask: there is no file that nodelint reads.\n")
    assert not front.seen


def test_a_manifest_that_cannot_be_read_is_said_and_the_others_are_asked_for(
    nodelint: Run, project: Path, front: Front, account: Any
) -> None:
    broken = "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: a}\nspec: b: c\n"
    (project / "broken.yaml").write_text(broken, encoding="utf-8")
    done = nodelint("refresh", env=keys(front))
    assert done.returncode == 2
    assert "broken.yaml:4:8: not asked for: " in done.stderr
    assert "9 questions in 11 calls" in done.stdout


def test_each_class_is_asked_about_for_the_releases_of_its_folder(
    account: Any, project: Path, front: Front, nodelint: Run
) -> None:
    (project / "class.yaml").unlink()
    class_ = CLASS.replace("{tags: {pipeline: golden}}", "{alias: al2023@latest}")
    for name, kubernetes, karpenter in (("dev", "1.30", "1.2.1"), ("prod", "1.33", "1.8.1")):
        (project / name).mkdir()
        (project / name / "class.yaml").write_text(class_, encoding="utf-8")
        chart = f"apiVersion: v2\nname: x\ndependencies:\n- {{name: karpenter, version: {karpenter}}}\n"
        (project / name / "Chart.yaml").write_text(chart, encoding="utf-8")
        cluster = f'kind: ClusterConfig\napiVersion: eksctl.io/v1alpha5\nmetadata: {{version: "{kubernetes}"}}\n'
        (project / name / "cluster.yaml").write_text(cluster, encoding="utf-8")
    done = nodelint("refresh", "--output", "facts.json", env=keys(front))
    assert "Karpenter 1.2.1 (Kubernetes 1.30) and Karpenter 1.8.1 (Kubernetes 1.33)" in done.stdout
    assert "pass --kubernetes-version" not in done.stdout
    facts = (project / "facts.json").read_text(encoding="utf-8")
    assert all(f"optimized-ami/{version}/amazon-linux-2023" in facts for version in ("1.30", "1.33"))
    check = nodelint("check", "--snapshot", "facts.json", "--format", "json")
    skipped = [entry["reason"] for entry in json.loads(check.stdout)["skipped"]]
    assert not [reason for reason in skipped if "was not asked" in reason or "nodelint refresh" in reason], skipped
