"""Facts from AWS in a run: which snapshot, which region, how old, and what is said of those that are missing."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import jsonschema
import platformdirs
import pytest

from nodelint.ec2 import cache
from nodelint.ec2.client import policy
from nodelint.ec2.facts import moment
from nodelint.ec2.fake_account import FakeAccount
from nodelint.ec2.snapshot import Answer, MachineImage, Question, Region, Reply, Snapshot, Subnet, snapshot_text
from nodelint.model.documents import objects
from nodelint.model.manifest import EC2NodeClass
from nodelint.model.releases import NEWEST
from nodelint.text import Source
from tests.conftest import ROOT
from tests.manifests import nodeclass

Run = Callable[..., CompletedProcess[str]]

CLASS = nodeclass()
ACCOUNT = """\
region: us-east-1
subnets: [{id: subnet-1, zone: us-east-1a, tags: {karpenter.sh/discovery: main}}]
securityGroups: [{id: sg-1, name: nodes, tags: {karpenter.sh/discovery: main}}]
roles: [KarpenterNodeRole-main]
"""
WITHOUT_SUBNETS = re.sub("subnets: .*", "subnets: []", ACCOUNT)
NOON = {"NODELINT_NOW": "2026-11-20T12:00:00Z"}
ONE_RULE = ("--select", "empty-selector")


def snapshot_of(*accounts: str, manifest: str = CLASS) -> Snapshot:
    classes = [o for o in objects(Source.from_text("a.yaml", manifest)) if isinstance(o, EC2NodeClass)]
    regions = [FakeAccount(account).facts(classes, NEWEST).region for account in accounts]
    return Snapshot("a test", "2026-11-20", regions=tuple(region for region in regions if region))


def put(folder: Path, *accounts: str, name: str = "facts.json", manifest: str = CLASS) -> Path:
    (folder / "class.yaml").write_text(manifest, encoding="utf-8")
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(snapshot_text(snapshot_of(*accounts, manifest=manifest)), encoding="utf-8")
    return path


def cached(folder: Path, *accounts: str) -> Path:
    """What `refresh` would have left in the cache that the command is run with."""
    (folder / ".git").mkdir(exist_ok=True)
    path = put(folder, *accounts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NODELINT_CACHE_DIR", str(folder / ".cache"))
        place = Path(cache.place(str(folder)))
    place.parent.mkdir(exist_ok=True)
    path.rename(place)
    return place


def test_a_snapshot_is_named_by_flag_configuration_or_cache(nodelint: Run, tmp_path: Path) -> None:
    path = put(tmp_path, WITHOUT_SUBNETS)
    assert nodelint("check", *ONE_RULE).returncode == 0
    assert nodelint("check", *ONE_RULE, "--snapshot", "facts.json").returncode == 1
    folder = tmp_path / "facts"
    folder.mkdir()
    path.rename(folder / "facts.json")
    (tmp_path / "nodelint.yaml").write_text("snapshot: facts/facts.json\n", encoding="utf-8")
    assert nodelint("check", *ONE_RULE).returncode == 1
    assert nodelint("check", *ONE_RULE, str(tmp_path), cwd=folder).returncode == 1
    assert nodelint("check", *ONE_RULE, "--snapshot", "bundled").returncode == 0
    (tmp_path / "nodelint.yaml").unlink()
    cached(tmp_path, WITHOUT_SUBNETS)
    assert nodelint("check", *ONE_RULE, env=NOON).returncode == 1
    assert nodelint("check", *ONE_RULE, "--snapshot", "bundled", env=NOON).returncode == 0


def test_the_cache_is_in_the_user_s_cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NODELINT_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    project = tmp_path / "project"
    project.mkdir()
    for folder in (tmp_path / "home" / ".cache", tmp_path / "xdg"):
        if folder.name == "xdg":
            monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
        assert cache.find_cached(str(project)) is None
        place = Path(cache.place(str(project)))
        assert place.parent == platformdirs.user_cache_path("nodelint", appauthor=False)
        if sys.platform == "linux":
            assert place.parent == folder / "nodelint"
        place.parent.mkdir(parents=True)
        assert cache.find_cached(str(project)) is None
        place.write_text("", encoding="utf-8")
        assert cache.find_cached(str(project)) == str(place)


def test_what_is_cached_is_the_repository_s_own(nodelint: Run, tmp_path: Path) -> None:
    cached(tmp_path, WITHOUT_SUBNETS)
    deep = tmp_path / "clusters" / "prod"
    deep.mkdir(parents=True)
    (deep / "class.yaml").write_text(CLASS, encoding="utf-8")
    assert nodelint("check", *ONE_RULE, cwd=deep, env=NOON).returncode == 1
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    (other / "class.yaml").write_text(CLASS, encoding="utf-8")
    assert nodelint("check", *ONE_RULE, cwd=other, env=NOON).returncode == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "not a snapshot: not JSON"),
        ("{}", "not a snapshot: the key"),
        ("kind: NodePool\n", "not a snapshot: not JSON"),
        ('{"nodelint-snapshot": 2}', "snapshot of format `2`"),
        (None, "no such file or directory"),
    ],
)
def test_a_broken_or_foreign_file_is_an_error_that_names_it(
    nodelint: Run, tmp_path: Path, content: str | None, message: str
) -> None:
    path = put(tmp_path, ACCOUNT)
    if content is None:
        path.unlink()
    else:
        path.write_text(content, encoding="utf-8")
    for command in (["check"], ["explain"], ["snapshot", "show"], ["snapshot", "diff", "facts.json"]):
        flag = ["facts.json"] if command[0] == "snapshot" else ["--snapshot", "facts.json"]
        done = nodelint(*command, *flag)
        assert done.returncode == 2
        assert f"nodelint: facts.json: {message}" in done.stderr


def test_a_broken_cached_file_says_how_to_make_it_anew(nodelint: Run, tmp_path: Path) -> None:
    place = cached(tmp_path, ACCOUNT)
    place.write_text(place.read_text(encoding="utf-8")[:-20], encoding="utf-8")
    done = nodelint("check")
    assert done.returncode == 2
    assert str(place) in done.stderr
    assert "`nodelint refresh --fresh` replaces it" in done.stderr


def test_of_several_regions_one_has_to_be_named(nodelint: Run, tmp_path: Path) -> None:
    put(tmp_path, ACCOUNT, WITHOUT_SUBNETS.replace("us-east-1", "eu-west-1"))
    done = nodelint("check", *ONE_RULE, "--snapshot", "facts.json", "--require-facts")
    assert done.returncode == 5
    assert "facts.json knows eu-west-1, us-east-1; --region says which one the manifests are for" in done.stderr
    for region, code in (("us-east-1", 0), ("eu-west-1", 1)):
        assert nodelint("check", *ONE_RULE, "--snapshot", "facts.json", "--region", region).returncode == code
    (tmp_path / "nodelint.yaml").write_text("snapshot: facts.json\nregion: eu-west-1\n", encoding="utf-8")
    assert nodelint("check", *ONE_RULE).returncode == 1
    done = nodelint("check", *ONE_RULE, "--region", "ap-south-1", "--require-facts")
    assert done.returncode == 5
    assert "knows eu-west-1, us-east-1, not `ap-south-1`" in done.stderr


@pytest.mark.parametrize(("flags", "named", "more"), [((), 3, " and 5 more"), (("--verbose",), 8, "")])
def test_of_the_rules_that_lack_a_region_three_are_named_and_all_on_request(
    nodelint: Run, tmp_path: Path, flags: Sequence[str], named: int, more: str
) -> None:
    put(tmp_path, ACCOUNT)
    done = nodelint("check", "class.yaml", "--snapshot", "facts.json", "--region", "eu-west-1", *flags)
    (rules,) = re.findall("(?m)^Not run because a fact from AWS is missing: (.*?): facts.json knows", done.stdout)
    assert (len(rules.split(", ")), rules.endswith(more)) == (named, True), rules


def test_what_is_cached_is_used_for_its_time_and_what_is_named_for_good(nodelint: Run, tmp_path: Path) -> None:
    later = {"NODELINT_NOW": "2026-11-20T12:06:00Z"}
    cached(tmp_path, WITHOUT_SUBNETS)
    done = nodelint("check", *ONE_RULE, env=later)
    assert done.returncode == 0
    assert (
        "AWS was asked 6 min ago, which is more than 5 min; `nodelint refresh` asks again (empty-selector)."
        in done.stdout
    )
    assert nodelint("check", *ONE_RULE, "--max-age", "7m", env=later).returncode == 1
    put(tmp_path, WITHOUT_SUBNETS)
    assert nodelint("check", *ONE_RULE, "--snapshot", "facts.json", env=later).returncode == 1
    assert nodelint("check", *ONE_RULE, "--snapshot", "facts.json", "--max-age", "5m", env=later).returncode == 0


def test_rules_without_facts_are_one_line_and_the_summary_names_the_facts(nodelint: Run, tmp_path: Path) -> None:
    put(tmp_path, ACCOUNT)
    lines = nodelint("check", "--select", "missing-role,empty-selector").stdout.splitlines()
    assert lines == [
        line
        for line in lines
        if line.endswith("; 2 rules did not run, because they need facts from AWS (nodelint refresh).")
    ]
    lines = nodelint("check", "--snapshot", "facts.json").stdout.splitlines()
    assert lines[-2].startswith("Facts: us-east-1 as of 2026-11-20 12:00 UTC (facts.json); ")
    assert lines[-1].startswith("No findings; ")
    assert not any(line.startswith("Not judged") for line in lines)


def test_json_names_the_fact_that_was_missing_and_the_snapshot(nodelint: Run, tmp_path: Path) -> None:
    put(tmp_path, ACCOUNT + "denied: [subnets]\n")
    schema = json.loads((ROOT / "schemas" / "check.schema.json").read_text(encoding="utf-8"))
    for flags in ([], ["--snapshot", "facts.json"]):
        report = json.loads(nodelint("check", "--format", "json", *flags).stdout)
        jsonschema.Draft202012Validator(schema).validate(report)
        (skip,) = [s for s in report["skipped"] if s["rule"] == "empty-selector"]
        assert skip["fact"] == "subnets"
        assert bool(skip["path"]) == bool(flags)
    assert report["summary"]["facts"]["snapshot"] == {
        "path": "facts.json",
        "region": "us-east-1",
        "account": None,
        "since": "2026-11-20T12:00:00Z",
        "until": "2026-11-20T12:00:00Z",
    }


def test_explain_takes_a_snapshot_too(nodelint: Run, tmp_path: Path) -> None:
    pool = (ROOT / "examples" / "good" / "general.yaml").read_text(encoding="utf-8")
    put(tmp_path, ACCOUNT + "zones: {us-east-1a: use1-az1}\nabsent: {'*': ['[c-z]*', m*, r*]}\n", manifest=pool)
    whole = json.loads(nodelint("explain", "--format", "json").stdout)["nodePools"][0]["instanceTypes"]
    fewer = json.loads(nodelint("explain", "--format", "json", "--snapshot", "facts.json").stdout)
    assert len(fewer["nodePools"][0]["instanceTypes"]) < len(whole)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--max-age", "soon"], "`soon` is not a length of time such as 30m, 12h or 7d"),
        (["--max-age", "5"], "`5` is not a length of time"),
        (["--region", "mars"], "--region: `mars` is not a region such as us-east-1"),
        (["--live", "--snapshot", "facts.json"], "--live and --snapshot cannot be used together: one asks AWS, "),
    ],
    ids=str,
)
def test_flags_that_cannot_be_used(nodelint: Run, tmp_path: Path, args: list[str], message: str) -> None:
    put(tmp_path, ACCOUNT)
    done = nodelint("check", *args)
    assert done.returncode == 2
    assert message in done.stderr


def test_show_says_what_is_in_a_snapshot_and_how_old_it_is(nodelint: Run, tmp_path: Path) -> None:
    images = "images: [{id: ami-1, name: golden-1, state: pending, created: 2026-11-10, tags: {a: b}}]\n"
    manifest = CLASS.replace("alias: al2023@v20250403", "tags: {a: b}")
    path = put(tmp_path, ACCOUNT + images + "denied: [roles]\n", manifest=manifest)
    later = {"NODELINT_NOW": "2026-11-20T14:30:00Z"}
    text = nodelint("snapshot", "show", "facts.json", env=later).stdout
    for message in (
        "ami-1  golden-1  amd64  pending  of self  10 d 14 h old",
        "subnet-1  us-east-1a (use1-az1)  vpc-1  200 free",
        "sg-1  nodes  vpc-1",
        "roles name=KarpenterNodeRole-main: not known: UnauthorizedOperation",
        "asked 2026-11-20 12:00 UTC, 2 h 30 min ago\n",
    ):
        assert message in text
    report = json.loads(nodelint("snapshot", "show", "--format", "json", "facts.json", env=later).stdout)
    (requested,) = [a for a in report["regions"][0]["asked"] if a["ask"] == "images"]
    assert (requested["age"], requested["total"], requested["found"][0]["state"]) == (9000, 1, "pending")
    path.unlink()
    assert nodelint("snapshot", "show").stdout.startswith("Nothing is cached for this repository")
    place = cached(tmp_path, ACCOUNT)
    text = nodelint("snapshot", "show", env={"NODELINT_NOW": "2026-11-20T12:03:00Z"}).stdout
    assert text.startswith(str(place))
    assert "3 min ago, good for 2 min" in text
    assert "2 h 30 min ago, expired" in nodelint("snapshot", "show", env=later).stdout


def test_diff_says_what_changed_and_nothing_of_times(nodelint: Run, tmp_path: Path) -> None:
    manifest = CLASS.replace("alias: al2023@v20250403", "tags: {a: b}")
    images = (
        "images:\n- {id: ami-1, name: golden-1, state: pending, tags: {a: b}}\n- {id: ami-2, name: g, tags: {a: b}}\n"
    )
    put(tmp_path, "now: 2026-11-20T10:00:00Z\n" + ACCOUNT + images, name="a.json", manifest=manifest)
    put(tmp_path, ACCOUNT + images, name="b.json", manifest=manifest)
    done = nodelint("snapshot", "diff", "a.json", "b.json")
    assert (done.returncode, done.stdout) == (0, "The facts are the same.\n")
    images = "images:\n- {id: ami-1, name: golden-1, tags: {a: b}}\n- {id: ami-3, name: new, tags: {a: b}}\n"
    put(
        tmp_path,
        ACCOUNT.replace("subnet-1", "subnet-2") + images + "denied: [roles]\n",
        name="c.json",
        manifest=manifest,
    )
    done = nodelint("snapshot", "diff", "a.json", "c.json")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    for message in (
        "    ~ ami-1  golden-1: state pending -> available",
        "    - ami-2  g  amd64  available  of self",
        "    + ami-3  new  amd64  available  of self",
        "    + subnet-2  us-east-1a (use1-az1)  vpc-1  200 free",
        "    - subnet-1  us-east-1a (use1-az1)  vpc-1  200 free",
    ):
        assert message in lines
    assert any("roles name=KarpenterNodeRole-main: failed none -> UnauthorizedOperation" in line for line in lines)
    answer = json.loads(nodelint("snapshot", "diff", "--format", "json", "a.json", "c.json").stdout)["differences"]
    assert {"name": "state", "old": "pending", "new": "available"} in [f for d in answer for f in d["fields"]]
    assert nodelint("snapshot", "diff", "a.json", "missing.json").returncode == 2


def image(id: str, state: str = "available") -> MachineImage:
    return MachineImage(id, id, "amd64", state, "2026-11-01T00:00:00Z", "self")


def test_answers_of_another_account_are_thrown_away() -> None:
    question = Question.make("images", ("image-id", "ami-1"))
    other = Question.make("subnets", ("subnet-id", "subnet-1"))
    subnet = Subnet("subnet-1", "us-east-1a", "use1-az1", "vpc-1", 5)
    at = "2026-11-20T12:00:00Z"
    region = Region("us-east-1", "one", {other: Answer(at, ("subnet-1",), 1)}, subnets={"subnet-1": subnet})
    old = Snapshot("EC2", "2026-11-20", regions=(region, region._replace(name="eu-west-1")))
    reply = Reply(Region("us-east-1", "one", {question: Answer(at, ("ami-1",), 1)}, images={"ami-1": image("ami-1")}))
    both = cache.with_reply(old, reply, moment(at), "1")
    assert [set(r.answers) for r in both.regions] == [{other}, {question, other}]
    untold = cache.with_reply(old, reply._replace(region=reply.region._replace(account=None)), moment(at), "1")
    assert [(r.account, set(r.answers)) for r in untold.regions] == [("one", {other}), ("one", {question, other})]
    first = cache.with_reply(old, reply._replace(region=reply.region._replace(account="two")), moment(at), "1")
    assert [set(r.answers) for r in first.regions] == [{other}, {question}]
    assert first.regions[1].subnets == {}


def test_a_failure_takes_no_answer_s_place_but_is_asked_again() -> None:
    question = Question.make("images", ("image-id", "ami-1"))
    at, now = "2026-11-20T12:00:00Z", moment("2026-11-20T12:04:00Z")
    region = Region("us-east-1", None, {question: Answer(at, ("ami-1",), 1)}, images={"ami-1": image("ami-1")})
    failed = Reply(
        Region("us-east-1", None, {question: Answer("2026-11-20T12:04:00Z", failed="cut", transient=True)})
    )
    merged = cache.with_reply(Snapshot("EC2", "2026-11-20", regions=(region,)), failed, now, "1").regions[0]
    assert merged.answers[question].found == ("ami-1",)
    assert set(cache.still_good(merged, now, cache.time_to_live()).answers) == {question}
    assert not cache.still_good(merged, now + timedelta(minutes=2), cache.time_to_live()).answers
    assert not cache.still_good(failed.region, now, cache.time_to_live()).answers


def test_the_policy_in_the_docs_is_the_one_that_is_printed(nodelint: Run) -> None:
    done = nodelint("refresh", "--print-policy")
    assert done.returncode == 0
    printed: Any = json.loads(done.stdout)
    assert printed == policy()
    page = (ROOT / "docs" / "facts.md").read_text(encoding="utf-8")
    assert f"```json\n{done.stdout}```" in page


POOLS = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: NAME}
spec:
  template:
    spec:
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
        - {key: node.kubernetes.io/instance-type, operator: In, values: [m5.large, m5.xlarge]}
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: CLASS}
"""


def test_diff_says_which_pools_and_classes_a_new_image_moves(nodelint: Run, tmp_path: Path) -> None:
    golden = CLASS.replace("alias: al2023@v20250403", "tags: {a: b}").replace("  role", "  amiFamily: AL2023\n  role")
    pinned = golden.replace("tags: {a: b}", "tags: {c: d}").replace("name: default", "name: pinned")
    manifest = f"{golden}---\n{pinned}"
    old = "images:\n- {id: ami-1, name: a, created: 2026-11-10, tags: {a: b}}\n- {id: ami-9, name: p, tags: {c: d}}\n"
    new = old + "- {id: ami-2, name: two, created: 2026-11-12, tags: {a: b}}\n"
    put(tmp_path, ACCOUNT + old, name="a.json", manifest=manifest)
    put(tmp_path, ACCOUNT + new, name="b.json", manifest=manifest)
    pools = [POOLS.replace("NAME", name).replace("CLASS", of) for name, of in (("web", "default"), ("db", "pinned"))]
    (tmp_path / "pools.yaml").write_text("---\n".join(pools), encoding="utf-8")
    done = nodelint("snapshot", "diff", "a.json", "b.json", ".")
    assert done.returncode == 1
    assert done.stdout.splitlines()[-2:] == [
        "  NodePool with other images",
        "    ~ web (pools.yaml:3), EC2NodeClass default: 2 instance types ami-1 -> ami-2",
    ]
    answer = json.loads(nodelint("snapshot", "diff", "a.json", "b.json", ".", "--format", "json").stdout)[
        "differences"
    ]
    fields = [entry["fields"] for entry in answer if entry["what"] == "NodePool with other images"]
    assert fields == [[{"name": "2 instance types", "old": "ami-1", "new": "ami-2"}]]
    assert "NodePool" not in nodelint("snapshot", "diff", "a.json", "b.json").stdout
    assert nodelint("snapshot", "diff", "b.json", "b.json", ".").returncode == 0


def test_diff_says_where_the_images_of_a_pool_are_not_known(nodelint: Run, tmp_path: Path) -> None:
    golden = CLASS.replace("alias: al2023@v20250403", "tags: {a: b}").replace("  role", "  amiFamily: AL2023\n  role")
    put(tmp_path, ACCOUNT, name="a.json", manifest=CLASS)
    put(tmp_path, ACCOUNT, name="b.json", manifest=golden)
    pool = POOLS.replace("NAME", "web").replace("CLASS", "default")
    (tmp_path / "pools.yaml").write_text(pool, encoding="utf-8")
    output = nodelint("snapshot", "diff", "a.json", "b.json", ".").stdout
    assert "    ? web (pools.yaml:3), EC2NodeClass default  unknown: not every image is known" in output
    assert nodelint("snapshot", "diff", "a.json", "b.json", "missing.yaml").returncode == 2


def test_rules_without_facts_are_counted_where_nothing_is_found_and_named_on_request(
    nodelint: Run, tmp_path: Path
) -> None:
    rules = ("--select", "missing-role,empty-selector,wildcard-value")
    waiting = "2 rules did not run, because they need facts from AWS"
    named = "(`nodelint refresh` gets them): empty-selector, missing-role."
    put(tmp_path, ACCOUNT)
    clean = nodelint("check", *rules)
    assert waiting in clean.stdout
    assert named not in clean.stdout
    assert named in nodelint("check", *rules, "--verbose").stdout
    (tmp_path / "pool.yaml").write_text(POOL_OF_ANY)
    found = nodelint("check", *rules)
    assert "error[wildcard-value]" in found.stdout
    assert waiting not in found.stdout
    assert named in nodelint("check", *rules, "-v").stdout
    both = nodelint("check", "-v", "-q")
    assert (both.returncode, both.stderr) == (2, "nodelint: --quiet and --verbose cannot be used together\n")


POOL_OF_ANY = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: any}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.k8s.aws/instance-family, operator: In, values: ["*"]}
"""
