"""What AWS, the network and the disk do wrong, as a user of the command line meets it.

Each fault once: what `refresh` says and with what code it ends, what stands in the snapshot, and what a check
that needs the facts makes of it.
"""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from nodelint.cli import cli
from nodelint.ec2.snapshot import parse_snapshot
from tests import ec2_front as aws
from tests.ec2_front import NOW, OWN, PLACE, SMALL
from tests.forked import Command
from tests.manifests import nodeclass, nodepool

pytest.importorskip("moto.server")

MANIFEST = (
    nodeclass("amiFamily: AL2023", name="golden", ami="tags: {pipeline: golden}, owner: self")
    + "---\n"
    + nodepool(
        "key: kubernetes.io/arch, operator: In, values: [amd64]",
        "key: karpenter.k8s.aws/instance-size, operator: In, values: [small]",
        "key: topology.kubernetes.io/zone, operator: In, values: [us-east-1a]",
        node_class="golden",
    )
)
ZONES = MANIFEST.splitlines(keepends=True)[-1]
IMAGE = {
    "ImageId": "ami-0a1",
    "Name": "golden-1",
    "Architecture": "x86_64",
    "State": "available",
    "CreationDate": "2026-11-01T00:00:00.000Z",
    "OwnerId": OWN,
    "Public": False,
}
SUBNET = {"SubnetId": "subnet-1", "AvailabilityZone": "us-east-1a", "AvailableIpAddressCount": 250, "VpcId": "vpc-1"}
GROUP = {"GroupId": "sg-1", "GroupName": "nodes", "VpcId": "vpc-1"}
IDENTITY = (
    "<GetCallerIdentityResponse><GetCallerIdentityResult>"
    f"<Account>{OWN}</Account></GetCallerIdentityResult></GetCallerIdentityResponse>"
)
ROLE = "<GetRoleResponse><GetRoleResult><Role/></GetRoleResult></GetRoleResponse>"
ASKED = 9
"""Questions of the manifest: instance types, offerings, images, subnets, security groups, the role."""
OF_EC2 = (
    "DescribeInstanceTypes",
    "DescribeInstanceTypeOfferings",
    "DescribeImages",
    "DescribeSubnets",
    "DescribeSecurityGroups",
)

Run = Callable[..., Result]


@pytest.fixture
def run(front: aws.Front, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command in a folder with the manifest, before an account in which all is well."""
    front.on("GetCallerIdentity", aws.body(IDENTITY))
    front.on("GetRole", aws.body(ROLE))
    front.on("DescribeInstanceTypes", aws.answer({"InstanceTypes": [SMALL]}))
    front.on("DescribeInstanceTypeOfferings", aws.answer({"InstanceTypeOfferings": [PLACE]}))
    front.on("DescribeImages", aws.answer({"Images": [IMAGE]}))
    front.on("DescribeSubnets", aws.answer({"Subnets": [SUBNET]}))
    front.on("DescribeSecurityGroups", aws.answer({"SecurityGroups": [GROUP]}))
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("NODELINT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("NODELINT_NOW", NOW)
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / "golden.yaml").write_text(MANIFEST, encoding="utf-8")

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(cli, list(arguments), catch_exceptions=False)

    return run


def failures(path: str = "facts.json") -> dict[str, tuple[str, bool]]:
    """The kinds of fact that a snapshot has no answer about: why, and whether that may pass."""
    (region,) = parse_snapshot(Path(path).read_bytes()).regions
    return {q.kind: (a.failed, a.transient) for q, a in region.answers.items() if a.failed is not None}


FAULTS: list[tuple[str, str, str, aws.Step, str, int]] = [
    ("throttled", "DescribeImages", "images", aws.error("RequestLimitExceeded", 503), "throttled", 4),
    ("refused images", "DescribeImages", "images", aws.error("UnauthorizedOperation", 403), "not allowed", 5),
    ("refused subnets", "DescribeSubnets", "subnets", aws.error("UnauthorizedOperation", 403), "not allowed", 5),
    ("refused roles", "GetRole", "roles", aws.error("AccessDenied", 403), "not allowed", 5),
    ("refused types", "DescribeInstanceTypes", "instance-types", aws.error("AccessDenied", 403), "not allowed", 5),
    ("out of order", "DescribeImages", "images", aws.error("InternalError", 500), "failed at AWS", 4),
    ("cut before", "DescribeSecurityGroups", "security-groups", aws.gone, "was cut", 4),
    ("cut within", "DescribeSecurityGroups", "security-groups", aws.cut, "`ec2:DescribeSecurityGroups`", 4),
    ("broken XML", "DescribeSubnets", "subnets", aws.body("<DescribeSubnetsResponse><sub"), "cannot be read", 4),
    ("a proxy's page", "DescribeImages", "images", aws.body("<html><body>Log in</body></html>"), "cannot be read", 4),
    ("a proxy's refusal", "DescribeImages", "images", aws.body("<html>no</html>", 403), "failed (403)", 5),
    ("hangs", "DescribeImages", "images", aws.hang, "timed out", 4),
    ("region not opted in", "DescribeImages", "images", aws.error("OptInRequired", 403), "not signed up", 5),
]


@pytest.mark.parametrize(
    ("operation", "kind", "step", "message", "code"), [f[1:] for f in FAULTS], ids=[f[0] for f in FAULTS]
)
def test_a_fault_costs_the_facts_behind_it_and_no_others(
    run: Run, front: aws.Front, operation: str, kind: str, step: aws.Step, message: str, code: int
) -> None:
    front.on(operation, step)
    done = run("refresh", "--timeout", "3", "--output", "facts.json")
    assert done.exit_code == code, done.output
    (line,) = [line for line in done.stdout.splitlines() if "not answered" in line]
    assert message in line and ("which may pass" in line) == (code == 4)
    assert "; will be skipped: " in line
    assert OWN not in done.output and "arn:" not in done.output
    # Where types are offered is nothing that can be used without them, and is not said to be nowhere.
    assert ("of no use without the instance types" in done.stdout) == (kind == "instance-types")
    ((failed, (why, transient)),) = failures().items()
    assert (failed, transient) == (kind, code == 4)
    assert message in why
    checked = run("check", "--snapshot", "facts.json", "--require-facts")
    assert checked.exit_code == code, checked.output
    assert {line.split()[2].rstrip(":") for line in checked.stderr.splitlines()} == {kind}
    assert why in checked.stdout
    assert run("check", "--snapshot", "facts.json").exit_code == 0


def nothing_of_that_name(request: aws.Request, front: aws.Front) -> aws.Response | None:
    return aws.answer({"Parameters": [], "InvalidParameters": request.fields["Names"]})(request, front)


def test_without_a_fault_all_is_answered_and_judged(run: Run, front: aws.Front) -> None:
    done = run("refresh", "--output", "facts.json")
    assert (done.exit_code, done.stderr, failures()) == (0, "", {})
    checked = run("check", "--snapshot", "facts.json", "--require-facts")
    assert (checked.exit_code, checked.stderr) == (0, "")
    assert "Skipped" not in checked.stdout and "Not judged" not in checked.stdout


def test_what_is_slow_or_in_many_pages_is_waited_for(run: Run, front: aws.Front) -> None:
    many = [{**IMAGE, "ImageId": f"ami-{n:017x}", "Name": f"golden-{n}"} for n in range(2500)]

    def slow(request: aws.Request, of: aws.Front) -> aws.Response | None:
        of.going_on.wait(0.3)
        return aws.listed("Images", many)(request, of)

    front.on("DescribeImages", slow)
    done = run("refresh", "--output", "facts.json")
    assert (done.exit_code, failures()) == (0, {})
    assert "images                   10 found, 2,490 older ones left out (1 query)\n" in done.stdout
    assert front.counted()["ec2:DescribeImages"] == 3


def test_what_is_throttled_for_a_moment_is_asked_again(run: Run, front: aws.Front) -> None:
    front.on("DescribeImages", aws.error("RequestLimitExceeded", 503), aws.gone, aws.answer({"Images": [IMAGE]}))
    assert run("refresh", "--output", "facts.json").exit_code == 0
    assert failures() == {}


def test_of_what_passes_and_what_stays_the_latter_decides(run: Run, front: aws.Front) -> None:
    front.on("DescribeImages", aws.error("RequestLimitExceeded", 503))
    front.on("DescribeSubnets", aws.error("UnauthorizedOperation", 403))
    assert run("refresh", "--output", "facts.json").exit_code == 5
    assert {kind: transient for kind, (_, transient) in failures().items()} == {"images": True, "subnets": False}
    flags = ("--snapshot", "facts.json", "--require-facts")
    assert run("check", *flags).exit_code == 5
    # A rule that is not asked for misses nothing.
    assert run("check", *flags, "--select", "no-image").exit_code == 4
    assert run("check", *flags, "--select", "missing-role").exit_code == 0


@pytest.mark.parametrize(
    ("code", "status", "message"),
    [
        ("ExpiredToken", 400, "the credentials have expired (ExpiredToken); log in"),
        ("RequestExpired", 400, "the credentials have expired (RequestExpired); log in"),
    ],
)
def test_expired_credentials_are_said_once_and_nothing_is_written(
    run: Run, front: aws.Front, code: str, status: int, message: str
) -> None:
    front.on("*", aws.error(code, status))
    for operation in ("GetCallerIdentity", "GetRole", *OF_EC2):
        front.on(operation, aws.error(code, status))
    for command in (["refresh"], ["refresh", "--output", "facts.json"], ["check", "--live", "--require-facts"]):
        done = run(*command)
        assert done.exit_code == 5, done.output
        assert done.stderr.startswith(f"nodelint: AWS cannot be asked: {message}")
    assert not Path("facts.json").exists() and not Path("cache").exists()


def test_no_credentials(run: Run, front: aws.Front, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    done = run("refresh")
    assert (done.exit_code, done.stdout) == (5, "")
    assert done.stderr.startswith("nodelint: AWS cannot be asked: no AWS credentials are available; log in")
    live = run("check", "--live")
    assert live.exit_code == 0
    assert "no AWS credentials are available" in live.stdout
    assert not front.seen


def test_a_region_that_is_not_enabled_in_the_account(run: Run, front: aws.Front) -> None:
    for operation in OF_EC2:
        front.on(operation, aws.error("AuthFailure", 401))
    done = run("refresh", "--region", "ap-east-1", "--output", "facts.json")
    assert done.exit_code == 5
    assert "or the region is not enabled (AuthFailure)" in done.stdout


def test_a_name_that_no_region_can_have_is_refused(run: Run, front: aws.Front) -> None:
    done = run("refresh", "--region", "eu-middle-1", "--output", "facts.json")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "`eu-middle-1` is not a region such as us-east-1 (did you mean `eu-west-1`?)" in done.stderr
    assert not Path("facts.json").exists() and not front.seen


def test_a_region_that_does_not_exist(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    monkeypatch.setattr("socket.getaddrinfo", _no_such_host)
    done = run("refresh", "--region", "eu-west-99", "--output", "facts.json")
    assert done.exit_code == 5, done.output
    assert "there is no region `eu-west-99`" in done.stdout
    assert not Path("facts.json").exists()


def _no_such_host(*_: object) -> object:
    raise socket.gaierror("no such host")


def test_an_endpoint_where_nobody_answers(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{bound.getsockname()[1]}")
        done = run("refresh", "--output", "facts.json")
        assert done.exit_code == 4, done.output
        assert "cannot be reached" in done.output and "Nothing was written" in done.stdout
        assert run("check", "--live", "--require-facts").exit_code == 4
    assert not Path("facts.json").exists() and not Path("cache").exists()


def test_one_region_of_two_fails(run: Run, front: aws.Front) -> None:
    Path("golden.yaml").write_text(MANIFEST.replace(ZONES, ""), encoding="utf-8")
    front.on("DescribeSubnets", aws.answer({"Subnets": [SUBNET]}), aws.error("UnauthorizedOperation", 403))
    done = run("refresh", "--region", "us-east-1", "--region", "us-west-2", "--output", "facts.json")
    assert done.exit_code == 5, done.output
    assert done.stdout.endswith("Next: nodelint check --snapshot facts.json --region us-east-1\n")
    flags = ("--snapshot", "facts.json", "--require-facts")
    assert run("check", *flags, "--region", "us-east-1").exit_code == 0
    assert run("check", *flags, "--region", "us-west-2").exit_code == 5
    unnamed = run("check", *flags)
    assert unnamed.exit_code == 5
    assert "facts.json knows us-east-1, us-west-2; --region says which one" in unnamed.stdout
    other = run("check", *flags, "--region", "eu-west-1")
    assert other.exit_code == 5
    assert "`nodelint refresh --region eu-west-1` asks" in other.stdout


@pytest.mark.parametrize("flags", [[], ["--fresh"]])
def test_runs_side_by_side_lose_no_region(
    run: Run, front: aws.Front, flags: list[str], tmp_path: Path, forked: Command
) -> None:
    """Each asks for a region, and has read the cache before any of them writes to it."""
    assert run("refresh", "--region", "sa-east-1").exit_code == 0
    regions = ["us-east-1", "eu-west-1", "ap-south-1", "us-west-2"]
    together = threading.Barrier(len(regions), timeout=60)

    def wait(request: aws.Request, front: aws.Front) -> aws.Response | None:
        together.wait()
        return aws.answer({"Subnets": [SUBNET]})(request, front)

    front.on("DescribeSubnets", wait)
    started = [forked.start(["refresh", *flags, "--region", name], tmp_path, dict(os.environ)) for name in regions]
    for process in started:
        output = process.communicate()
        assert process.returncode == 0, output
    (path,) = (tmp_path / "cache").iterdir()
    names = [region.name for region in parse_snapshot(path.read_bytes()).regions]
    assert names == sorted([*regions, *([] if flags else ["sa-east-1"])])
    front.on("DescribeSubnets", aws.answer({"Subnets": [SUBNET]}))
    assert run("refresh", "--fresh", "--region", "us-east-1").exit_code == 0
    assert [region.name for region in parse_snapshot(path.read_bytes()).regions] == ["us-east-1"]


def test_what_comes_next_asks_for_what_was_answered(run: Run, front: aws.Front) -> None:
    assert run("refresh", "--region", "us-east-1").stdout.endswith("Next: nodelint check\n")
    done = run("refresh", "--region", "us-west-2", "--karpenter-version", "1.4", "--exclude", "old/*", "golden.yaml")
    flags = "--karpenter-version 1.4 --exclude 'old/*' --region us-west-2"
    assert done.stdout.endswith(f"Next: nodelint check {flags} golden.yaml\n"), "the cache holds both regions now"


def test_images_of_an_alias_that_cannot_be_asked_for_are_named(run: Run, front: aws.Front) -> None:
    front.on("GetParameters", nothing_of_that_name)
    alias = MANIFEST.replace("{tags: {pipeline: golden}, owner: self}", "{alias: al2023@latest}")
    Path("golden.yaml").write_text(alias, encoding="utf-8")
    done = run("refresh")
    assert done.exit_code == 0
    message = (
        "Not asked: the images of `al2023@latest`, which depend on the Kubernetes version; pass --kubernetes-version"
    )
    assert message in done.stdout
    assert "Not asked" not in run("refresh", "--kubernetes-version", "1.32").stdout


def test_the_answers_of_another_account_are_not_mixed_in(run: Run, front: aws.Front) -> None:
    assert run("refresh").exit_code == 0
    (path,) = Path("cache").iterdir()
    front.on("GetCallerIdentity", aws.body(IDENTITY.replace(OWN, "210987654321")))
    front.on("DescribeImages", aws.answer({"Images": []}))
    done = run("refresh")
    assert "0 known already" not in done.stdout and f"{ASKED} questions" in done.stdout
    (region,) = parse_snapshot(path.read_bytes()).regions
    assert not region.images
    assert "no-image" in run("check").stdout


def test_facts_that_are_too_old(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("refresh", "--output", "facts.json").exit_code == 0
    monkeypatch.setenv("NODELINT_NOW", "2026-11-20T14:00:00Z")
    flags = ("--snapshot", "facts.json", "--require-facts")
    assert run("check", *flags).exit_code == 0
    assert run("check", *flags, "--max-age", "3h").exit_code == 0
    old = run("check", *flags, "--max-age", "1h")
    assert old.exit_code == 4
    assert "AWS was asked 2 h ago, which is more than 1 h; `nodelint refresh` asks again" in old.stdout
    assert run("check", *flags[:2], "--max-age", "1h").exit_code == 0


def test_an_old_answer_that_stays_as_nobody_answers_is_said(
    run: Run, front: aws.Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("refresh").exit_code == 0
    (cached,) = Path("cache").iterdir()
    monkeypatch.setenv("NODELINT_NOW", "2026-11-20T14:00:00Z")
    front.on("DescribeSubnets", aws.error("RequestLimitExceeded", 503))
    live = run("check", "--live", "--require-facts")
    assert live.exit_code == 4
    throttled = "`ec2:DescribeSubnets` is throttled (RequestLimitExceeded)"
    message = f"nodelint: AWS was asked again about subnets: {throttled}; the older answer stays"
    assert live.stderr.splitlines()[0] == message
    assert "AWS was asked 2 h ago, which is more than 5 min" in live.stdout
    offline = run("check", "--snapshot", str(cached), "--max-age", "5m", "--require-facts", "--select", "no-image")
    assert (offline.exit_code, offline.stderr) == (0, "")


def test_live_fixes_what_it_finds_and_leaves_nothing_to_fix(run: Run, front: aws.Front) -> None:
    manifest = Path("golden.yaml")
    manifest.write_text(MANIFEST.replace("[us-east-1a]", "[us-east-1a, us-east-1b]"), encoding="utf-8")
    found = run("check", "--live", "--fail-on", "warning")
    assert found.exit_code == 1
    assert "warning[zone-without-subnet]: the class has no subnet in `us-east-1b`" in found.stdout
    assert run("check", "--live", "--fix", "--require-facts").exit_code == 0
    assert manifest.read_text(encoding="utf-8") == MANIFEST
    before = len(front.seen)
    again = run("check", "--live", "--require-facts")
    assert (again.exit_code, len(front.seen)) == (0, before + 1), "only the account is asked again"


# The disk


@pytest.mark.parametrize("command", [["refresh"], ["refresh", "--output", "facts.json"], ["check", "--live"]])
def test_a_full_disk(run: Run, monkeypatch: pytest.MonkeyPatch, command: list[str]) -> None:
    assert run("refresh").exit_code == run("refresh", "--output", "facts.json").exit_code == 0
    remaining = [Path("facts.json"), *Path("cache").iterdir()]
    before = [path.read_bytes() for path in remaining]

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    monkeypatch.setenv("NODELINT_NOW", "2026-11-20T14:00:00Z")
    done = run(*command)
    assert done.exit_code == (0 if command[0] == "check" else 2), done.output
    assert "not written: no space left on device" in done.stderr
    assert [path.read_bytes() for path in remaining] == before
    assert sorted(path.name for path in Path().iterdir()) == [".git", "cache", "facts.json", "golden.yaml"]
    assert len(list(Path("cache").iterdir())) == 1


def test_a_cache_folder_that_cannot_be_made(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("file").write_text("", encoding="utf-8")
    monkeypatch.setenv("NODELINT_CACHE_DIR", "file/cache")
    done = run("refresh")
    assert done.exit_code == 2
    assert done.stderr.endswith(": not written: not a directory; NODELINT_CACHE_DIR names another folder\n")
    live = run("check", "--live", "--require-facts")
    assert live.exit_code == 0
    assert "not written: not a directory" in live.stderr and "(not saved)" in live.stdout


BROKEN = [
    ("truncated", lambda text: text[: len(text) // 2], "not a snapshot: not JSON"),
    ("empty", lambda text: "", "not a snapshot: not JSON"),
    ("foreign", lambda text: '{"kind": "List"}', "not a snapshot: the key"),
    (
        "newer",
        lambda text: text.replace('"nodelint-snapshot": 1', '"nodelint-snapshot": 9'),
        "snapshot of format `9`",
    ),
]


@pytest.mark.parametrize(("broken", "message"), [b[1:] for b in BROKEN], ids=[b[0] for b in BROKEN])
def test_a_file_that_is_broken_is_named_and_never_passed_over(
    run: Run, broken: Callable[[str], str], message: str
) -> None:
    assert run("refresh").exit_code == run("refresh", "--output", "facts.json").exit_code == 0
    (cached,) = Path("cache").iterdir()
    for path in (cached, Path("facts.json")):
        path.write_text(broken(path.read_text(encoding="utf-8")), encoding="utf-8")
    for command in (["check", "--snapshot", "facts.json"], ["check"], ["check", "--live"], ["refresh"], ["explain"]):
        done = run(*command)
        assert (done.exit_code, done.stdout) == (2, ""), command
        assert message in done.stderr
        if "--snapshot" not in command:
            assert "; `nodelint refresh --fresh` replaces it" in done.stderr
    assert run("refresh", "--fresh").exit_code == 0
    assert run("check", "--require-facts").exit_code == 0


def test_a_snapshot_beside_the_manifests_is_no_manifest(run: Run) -> None:
    assert run("refresh", "--output", "facts.json").exit_code == 0
    done = run("check", "--snapshot", "facts.json", "--format", "json")
    assert json.loads(done.stdout)["findings"] == []
    assert run("check", "facts.json").stdout.startswith("Nothing to check: no NodePool or EC2NodeClass in 1 file")
    from nodelint.files.discover import discover

    assert [source.path for source in discover(["."]).sources] == ["golden.yaml"]
