"""The command as a user meets it: what is printed where, and the exit codes."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
from syrupy.assertion import SnapshotAssertion

from nodelint.base.printable import printable
from tests.conftest import ROOT, by_place
from tests.manifests import nodepool

Run = Callable[..., subprocess.CompletedProcess[str]]

CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: KarpenterNodeRole-main
  amiSelectorTerms: [{alias: al2023@v20250403}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  detailedMonitoring: true
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
"""
TYPO = CLASS.replace("securityGroupSelectorTerms", "securityGroupSelectorTerm")
BREAK_A_RULE = """\
import nodelint.rule.definition as r, sys
real = r.load_bundled
def broken():
    rules = {**real()}
    def check(obj, context): raise KeyError('x'); yield
    rules['removed-api'] = rules['removed-api']._replace(check=check)
    return rules
r.load_bundled = broken
"""
"""The beginning of a program in which a rule breaks down."""


def put(folder: Path, text: str, name: str = "class.yaml") -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize(
    "command", [[], ["check"], ["explain"], ["refresh"], ["rule"], ["snapshot"], ["snapshot", "diff"]], ids=str
)
def test_help_teaches(nodelint: Run, command: list[str], snapshot: SnapshotAssertion) -> None:
    done = nodelint(*command, "--help")
    assert done.returncode == 0
    assert done.stdout == snapshot


def test_what_is_found_is_printed_with_place_excerpt_and_fix(
    nodelint: Run, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    put(tmp_path, TYPO)
    done = nodelint("check", "--select", "unknown-field")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == snapshot


def test_json_is_what_its_schema_says(nodelint: Run, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    put(tmp_path, TYPO)
    put(tmp_path, "apiVersion: karpenter.sh/v1\nkind: [\n", "broken.yaml")
    done = nodelint("check", "--format", "json", "--select", "unknown-field,yaml-syntax,empty-selector")
    report = json.loads(done.stdout)
    schema = json.loads((ROOT / "schemas" / "check.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(report)
    assert report == snapshot
    edit = report["findings"][1]["fix"]["edits"][0]
    text = (tmp_path / edit["path"]).read_text(encoding="utf-8")
    assert text[: edit["start"]["offset"]] + edit["text"] + text[edit["end"]["offset"] :] == CLASS


def test_nothing_of_karpenter_is_no_failure(nodelint: Run, tmp_path: Path) -> None:
    put(tmp_path, "kind: ConfigMap\n")
    done = nodelint("check")
    assert done.returncode == 0
    assert done.stdout == "Nothing to check: no NodePool or EC2NodeClass in 1 file.\n"
    assert json.loads(nodelint("check", "--format", "json").stdout)["summary"]["files"] == 1


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["check"], 1),
        (["check", "--fail-on", "never"], 0),
        (["check", "--ignore", "unknown-field"], 0),
        (["check", "class.yaml", "missing.yaml"], 2),
        (["check", "--select", "unknown-feild"], 2),
        (["check", "--karpenter-version", "0.37.0"], 2),
        (["check", "--karpenter-version", "latest"], 2),
        (["check", "--kubernetes-version", "2"], 2),
        (["check", "--crds", "nowhere"], 2),
        (["check", "--format", "xml"], 2),
        (["check", "--config", "nowhere.yaml"], 2),
        (["explain", "--nodepool", "nobody"], 2),
        (["rule", "unknown-field"], 0),
        (["rule", "unknown-feild"], 2),
        (["lint"], 2),
    ],
    ids=str,
)
def test_exit_codes(nodelint: Run, tmp_path: Path, args: list[str], code: int) -> None:
    put(tmp_path, TYPO)
    done = nodelint(*args)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert code != 2 or done.stderr


def test_a_path_that_is_not_there_does_not_hide_the_rest(nodelint: Run, tmp_path: Path) -> None:
    put(tmp_path, TYPO)
    done = nodelint("check", "missing.yaml", "class.yaml")
    assert "missing.yaml: no such file or directory" in done.stderr
    assert "unknown-field" in done.stdout


def test_fix_writes_and_reports_what_is_left(nodelint: Run, tmp_path: Path) -> None:
    path = put(tmp_path, TYPO.replace("\n", "\r\n"))
    path.chmod(0o640)
    done = nodelint("check", "--fix")
    assert done.returncode == 0, done.stdout
    assert path.read_bytes() == CLASS.replace("\n", "\r\n").encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert "Fixed" in done.stdout
    assert [p.name for p in tmp_path.iterdir()] == ["class.yaml"], "nothing is left beside it"


def test_fix_follows_a_link_and_leaves_it_a_link(nodelint: Run, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    path = put(tmp_path / "real", TYPO)
    (tmp_path / "link.yaml").symlink_to(path)
    assert nodelint("check", "--fix", "link.yaml").returncode == 0
    assert (tmp_path / "link.yaml").is_symlink()
    assert path.read_text(encoding="utf-8") == CLASS


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_file_that_cannot_be_written_is_said(nodelint: Run, tmp_path: Path) -> None:
    path = put(tmp_path, TYPO)
    path.chmod(0o444)
    done = nodelint("check", "--fix")
    assert done.returncode == 2
    assert "not written" in done.stderr


def test_diff_writes_nothing_and_can_be_applied(nodelint: Run, tmp_path: Path) -> None:
    path = put(tmp_path, TYPO)
    done = nodelint("check", "--diff")
    assert done.returncode == 1
    assert path.read_text(encoding="utf-8") == TYPO
    assert done.stdout.splitlines()[:2] == ["--- a/class.yaml", "+++ b/class.yaml"]
    subprocess.run(["git", "apply", "-"], input=done.stdout, text=True, cwd=tmp_path, check=True)
    assert path.read_text(encoding="utf-8") == CLASS


def test_diff_says_so_where_there_is_no_newline_at_the_end(nodelint: Run, tmp_path: Path) -> None:
    path = put(tmp_path, TYPO.rstrip("\n"))
    done = nodelint("check", "--diff")
    assert "\\ No newline at end of file" in done.stdout
    subprocess.run(["git", "apply", "-"], input=done.stdout, text=True, cwd=tmp_path, check=True)
    assert path.read_text(encoding="utf-8") == CLASS.rstrip("\n")


def test_standard_input_is_fixed_onto_standard_output(nodelint: Run) -> None:
    done = nodelint("check", "--fix", "-", stdin=TYPO)
    assert done.stdout == CLASS
    assert "Fixed" in done.stderr


def test_per_path_ignores_and_excludes_of_the_configuration(nodelint: Run, tmp_path: Path) -> None:
    (tmp_path / "legacy").mkdir()
    put(tmp_path / "legacy", TYPO)
    put(tmp_path, "per-path-ignores:\n  legacy/*: unknown-field\n", "nodelint.yaml")
    assert nodelint("check").returncode == 0
    put(tmp_path, "exclude: legacy\n", "nodelint.yaml")
    assert "Nothing to check" in nodelint("check").stdout
    put(tmp_path, "fail-on: never\n", "nodelint.yaml")
    assert nodelint("check").returncode == 0
    put(tmp_path, "fail-onn: never\n", "nodelint.yaml")
    done = nodelint("check")
    assert (done.returncode, done.stderr) == (
        2,
        "nodelint: nodelint.yaml:1:1: unknown setting `fail-onn` (did you mean `fail-on`?)\n",
    )


def test_a_release_newer_than_the_newest_known_is_said(nodelint: Run, tmp_path: Path) -> None:
    put(tmp_path, CLASS)
    done = nodelint("check", "--karpenter-version", "1.99.0")
    assert done.returncode == 0
    assert "Karpenter 1.99.0 is newer than the releases that nodelint knows (to " in done.stderr


def test_a_manifest_cannot_steer_the_terminal() -> None:
    assert printable("a\x1b[31mb\u202ec") == "a\\x1b[31mb\\u202ec"


def test_a_fault_of_ours_is_said_as_one(tmp_path: Path, nodelint: Run) -> None:
    """A rule that breaks down has not judged the object; what the others found is still printed."""
    put(tmp_path, TYPO)
    code = f"{BREAK_A_RULE}sys.argv = ['nodelint', 'check']\nfrom nodelint.__main__ import main\nmain()\n"
    import sys

    for strict, ends in ({}, 1), ({"NODELINT_FAIL_ON_FAULT": "1"}, 3):
        env = {**os.environ, **strict}
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == ends
        assert "internal error" in done.stderr
        assert "unknown-field" in done.stdout
        assert "the rule broke down over it" in done.stdout


def test_explain_says_what_is_left_and_its_json_is_what_the_schema_says(nodelint: Run, tmp_path: Path) -> None:
    for name in ("gpu.yaml", "general.yaml"):
        put(tmp_path, (ROOT / "examples" / "good" / name).read_text(encoding="utf-8"), name)
    text = nodelint("explain", "--nodepool", "gpu").stdout
    assert "22 of 1,363 instance types can be launched" in text
    assert "general" not in text
    report = json.loads(nodelint("explain", "--format", "json").stdout)
    schema = json.loads((ROOT / "schemas" / "explain.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(report)
    assert [pool["name"] for pool in report["nodePools"]] == ["general", "gpu"]
    gpu = report["nodePools"][1]
    assert len(gpu["instanceTypes"]) == 22
    assert {gpu["images"][t["image"]]["arch"] for t in gpu["instanceTypes"]} == {"amd64", "arm64"}
    assert [r["removed"] for r in gpu["requirements"]] == [1298, 43, 0]


def test_explain_of_a_folder_without_pools_says_so(nodelint: Run, tmp_path: Path) -> None:
    put(tmp_path, CLASS)
    done = nodelint("explain")
    assert done.returncode == 0
    assert done.stdout.startswith("Nothing to explain: no NodePool in 1 file")


def test_a_patch_is_not_told_what_it_lacks(nodelint: Run, tmp_path: Path) -> None:
    put(tmp_path, "resources: [https://example.com/base]\npatches: [{path: class.yaml}]\n", "kustomization.yaml")
    part = "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: default}\nspec:\n"
    put(tmp_path, part + "  detailedMonitoring: true\n")
    assert nodelint("check").returncode == 0
    put(tmp_path, part + "  detailedMonitorin: true\n")
    done = nodelint("check", "--unsafe-fixes")
    assert done.returncode == 0, done.stdout
    assert "Fixed 1 finding:" in done.stdout
    assert (tmp_path / "class.yaml").read_text(encoding="utf-8") == part + "  detailedMonitoring: true\n"


@pytest.mark.parametrize(
    "glob", ["teams/a/*", "teams/a", "./teams/a/", "**/class.yaml", "**/a/*.yaml", "*/class.yaml"], ids=str
)
@pytest.mark.parametrize("setting", ["per-path-ignores: {'%s': unknown-field}", "exclude: ['%s']"])
def test_globs_of_a_file_start_at_its_folder(nodelint: Run, tmp_path: Path, glob: str, setting: str) -> None:
    folder = tmp_path / "teams" / "a"
    folder.mkdir(parents=True)
    put(folder, TYPO)
    put(tmp_path, setting % glob + "\n", "nodelint.yaml")
    assert nodelint("check").returncode == 0
    assert nodelint("check", cwd=folder).returncode == 0
    assert nodelint("check", str(folder / "class.yaml")).returncode == 0
    put(tmp_path, setting % "a/*" + "\n", "nodelint.yaml")
    assert nodelint("check", cwd=tmp_path / "teams").returncode == 1
    assert nodelint("check", "--exclude", "a", cwd=tmp_path / "teams").returncode == 0


def test_no_colour_where_it_is_not_wanted(tmp_path: Path) -> None:
    pty = pytest.importorskip("pty")
    put(tmp_path, TYPO)
    for wanted, value in (("\x1b[31m", ""), ("", "1")):
        outer, inner = pty.openpty()
        env = {**os.environ, "NO_COLOR": value, "TERM": "xterm"}
        command = [sys.executable, "-m", "nodelint", "check", "class.yaml"]
        subprocess.run(command, cwd=tmp_path, stdout=inner, stderr=inner, env=env, check=False)
        os.close(inner)
        printed = os.read(outer, 65536).decode()
        os.close(outer)
        assert "unknown-field" in printed
        assert ("\x1b[" in printed) == bool(wanted)


def test_a_part_is_known_by_the_kustomization_that_names_it(nodelint: Run, tmp_path: Path) -> None:
    for folder in ("base", "prod/patches", "stray"):
        (tmp_path / folder).mkdir(parents=True)
    put(tmp_path, "resources: [pool.yaml, class.yaml]\n", "base/kustomization.yaml")
    put(tmp_path, CLASS, "base/class.yaml")
    put(tmp_path, nodepool("key: karpenter.k8s.aws/instance-category, operator: In, values: [m]"), "base/pool.yaml")
    put(tmp_path, "resources: [../base]\npatches:\n- path: patches/limits.yaml\n", "prod/kustomization.yaml")
    head = "apiVersion: karpenter.{}/v1\nkind: {}\nmetadata: {{name: default}}\nspec: {}\n"
    put(tmp_path, head.format("sh", "NodePool", "{limits: {cpu: 100}}"), "prod/patches/limits.yaml")
    put(tmp_path, head.format("k8s.aws", "EC2NodeClass", "{tags: {env: prod}}"), "prod/class.yaml")
    done = nodelint("check")
    assert done.returncode == 0, done.stdout
    put(tmp_path, head.format("sh", "NodePool", "{limits: {cpu: 100}}"), "stray/limits.yaml")
    done = nodelint("check")
    assert [line for line in by_place(done.stdout).splitlines() if ": error[" in line] == [
        "stray/limits.yaml:4:1: error[invalid-field]: required field `template` is missing in spec"
    ]
    text = head.format("sh", "NodePool", "{weight: 1}").replace("kind:", "$patch: delete\nkind:")
    put(tmp_path, text, "stray/limits.yaml")
    assert nodelint("check", "stray").returncode == 0


def test_a_patch_of_a_class_does_not_stand_for_the_class(nodelint: Run, tmp_path: Path) -> None:
    for folder in ("apps", "base", "prod"):
        (tmp_path / folder).mkdir()
    reference = "{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}"
    template = f"{{spec: {{requirements: [], nodeClassRef: {reference}}}}}"
    pool = f"apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {{name: a}}\nspec: {{template: {template}}}\n"
    put(tmp_path, pool, "apps/pool.yaml")
    put(tmp_path, CLASS, "base/class.yaml")
    put(tmp_path, "patches: [{path: class.yaml}]\n", "prod/kustomization.yaml")
    put(tmp_path, CLASS.partition("spec:")[0] + "spec: {tags: {env: prod}}\n", "prod/class.yaml")
    (answer,) = json.loads(nodelint("explain", "--format", "json").stdout)["nodePools"]
    assert answer["images"][0]["alias"] == "al2023@v20250403"


def test_a_fix_that_the_api_server_would_refuse_is_said_before_it_is_asked_for(nodelint: Run, tmp_path: Path) -> None:
    put(tmp_path, CLASS)
    own = """\
\"\"\"Terms are to go.\"\"\"
from nodelint.api import Context, EC2NodeClass, Edit, Finding, Findings, rule


@rule(on=EC2NodeClass, group="hazard", fix="safe")
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    for name, text in (("amiSelectorTerms", "[]"), ("role", "node")):
        node = node_class.node.find("spec", name)
        if node.text != "node":
            change = Edit(node.source, node.start, node.end, text)
            yield Finding(at=node, message=f"`{name}` is to change", edits=[change])
"""
    (tmp_path / "own").mkdir()
    put(tmp_path, own, "own/terms-go.py")
    put(tmp_path, "select: [terms-go]\n", "nodelint.yaml")
    words = ("check", "--config", "nodelint.yaml", "--rules", "own", "--format", "json", "class.yaml")
    answer = json.loads(nodelint(*words).stdout)
    role, terms = answer["findings"]
    assert "the API server would refuse the file: " in terms["fixWithheld"]["message"]
    assert (terms["fix"], role["fix"] is None, answer["summary"]["fixable"]) == (
        None,
        False,
        {"safe": 0, "unsafe": 1},  # another role is another hash
    )
    fixed = json.loads(nodelint(*words, "--unsafe-fixes").stdout)["summary"]
    assert (fixed["fixed"], len(fixed["refused"])) == (1, 0)


def test_a_fix_that_reaches_into_a_file_that_was_not_named_says_so(nodelint: Run, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    old = CLASS.replace("aws/v1", "aws/v1beta1").replace("  amiSelectorTerms: [{alias: al2023@v20250403}]\n", "")
    put(tmp_path, old.replace("  role", "  amiFamily: AL2023\n  role"))
    pool = (
        "apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nmetadata: {name: a}\nspec:\n  template:\n    spec:\n"
        "      nodeClassRef: {name: default}\n      requirements: []\n      kubelet: {maxPods: 20}\n"
    )
    put(tmp_path, pool, "pool.yaml")
    before = nodelint("check", "pool.yaml").stdout
    assert "fix withheld: it changes class.yaml, which was not named: name it as well" in " ".join(before.split())
    assert "fixable" not in before
    named = ("--karpenter-version", "1.15.1")
    assert "2 fixable with --fix" in nodelint("check", *named, "pool.yaml", "class.yaml").stdout
    done = nodelint("check", "--fix", *named, "pool.yaml")
    assert (
        "Not fixed: removed-api at " in done.stdout
        and "it changes class.yaml, which was not named: name it as well." in done.stdout
    )
    assert (tmp_path / "pool.yaml").read_text(encoding="utf-8") == pool
    assert nodelint("check", "--fix", *named, "pool.yaml", "class.yaml").stdout.startswith("Fixed 2 findings:\n")
    assert "  kubelet: {maxPods: 20}\n" in (tmp_path / "class.yaml").read_text(encoding="utf-8")


def test_of_a_long_line_that_is_shown_which_a_fix_changes(nodelint: Run, tmp_path: Path) -> None:
    tags = ", ".join(f"tag{n}: value" for n in range(40))
    put(tmp_path, CLASS.replace("detailedMonitoring: true", f"tags: {{{tags}, last: 1}}"))
    lines = nodelint("check").stdout.splitlines()
    assert any(line.startswith("    9 -") and line.endswith("last: 1}") for line in lines)
    assert any(line.startswith("    9 +") and line.endswith('last: "1"}') for line in lines)


def test_all_stands_for_every_rule_wherever_rules_are_named(nodelint: Run, tmp_path: Path) -> None:
    put(tmp_path, TYPO)
    assert nodelint("check", "--select", "all").returncode == 1
    assert "`ignore` leaves out every rule" in nodelint("check", "--ignore", "all").stderr
    put(tmp_path, "per-path-ignores: {class.yaml: all}\n", "nodelint.yaml")
    assert nodelint("check").returncode == 0


def test_a_rule_that_needs_facts_from_aws_says_so(nodelint: Run) -> None:
    listed = {line.split()[0]: line for line in nodelint("rule").stdout.splitlines() if line}
    assert "(needs facts from AWS)" in listed["empty-selector"]
    assert "needs facts" not in listed["unknown-field"]
    assert "needs from AWS: subnets" in nodelint("rule", "empty-selector").stdout.splitlines()[1]


@pytest.mark.skipif(sys.platform == "win32", reason="pipes end otherwise there")
def test_a_reader_that_has_gone_is_no_finding(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "nodelint", "check", str(ROOT / "examples" / "good")]
    done = subprocess.run(command, cwd=tmp_path, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


def test_a_command_that_is_mistyped_is_suggested(nodelint: Run) -> None:
    done = nodelint("chek")
    assert (done.returncode, done.stderr.splitlines()[-1]) == (
        2,
        "Error: No such command 'chek' (did you mean `check`?)",
    )
    assert nodelint("zzz").stderr.splitlines()[-1] == (
        "Error: No such command 'zzz'; `nodelint --help` lists the commands, `nodelint rule WORD` rules about it"
    )


def test_what_is_no_command_leads_to_the_one_that_is_meant(nodelint: Run, tmp_path: Path) -> None:
    put(tmp_path, TYPO)
    ends = {
        ("class.yaml",): "to check the manifests there: `nodelint check class.yaml`",
        ("wildcard-value",): "to read the page of that rule: `nodelint rule wildcard-value`",
        ("--fix", "class.yaml"): "options stand after the command, as in `nodelint check --fix`",
    }
    for arguments, end in ends.items():
        done = nodelint(*arguments)
        assert done.returncode == 2 and done.stderr.splitlines()[-1].endswith(f"; {end}")
    assert nodelint("help").stdout == nodelint("--help").stdout
    assert nodelint("help", "check").stdout == nodelint("check", "--help").stdout
    assert nodelint("help", "chek").returncode == 2


def test_of_a_path_that_is_not_there_nothing_is_said_but_that(nodelint: Run, tmp_path: Path) -> None:
    done = nodelint("check", "missing.yaml")
    assert (done.returncode, done.stdout) == (2, "") and "no such file" in done.stderr
    put(tmp_path, "kind: ConfigMap\n")
    assert nodelint("check", ".", "missing.yaml").stdout.startswith("Nothing to check in what could be read: ")
