"""Manifests inside other texts: found, judged at the lines of the file that holds them, and fixed there."""

from __future__ import annotations

import difflib
import json
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodelint import edits
from nodelint.files.discover import discover
from nodelint.files.globs import Excluded, Globs
from nodelint.lint.autofix import Fixed, fix
from nodelint.lint.engine import LintRequest, Report, Selection, Target, lint
from nodelint.model.cluster_objects import CapacityBuffer, Workload
from nodelint.model.documents import objects
from nodelint.model.finding import Edit
from nodelint.model.manifest import EC2NodeClass, NodePool, Object
from nodelint.model.releases import NEWEST
from nodelint.report.page import alone, target_of
from nodelint.text import UNKNOWN, Node, Source
from nodelint.text.embedded import host_of
from nodelint.text.source_comments import template_of
from tests.conftest import by_place
from tests.laws.test_rules import RULES, TEXT_RULES, TRIAL, ExamplePair, Laws, has_fix, representatives
from tests.manifests import nodepool

Run = Callable[..., subprocess.CompletedProcess[str]]
LAWS = Laws()

# Whether a value is left to be replaced depends on whether the host is a text for readers, or fills it in.
# What installs the controller is read in files of its own form, and not in scripts and texts for readers.
HOST_RULES = {
    *("placeholder-left", "terraform-reference", "unset-variable"),
    *("chart-not-found", "endpoint-inside-cluster", "unread-chart-value"),
}

# Behind `<<-` the shell takes the tabs away, so that places within user data are told as the field's, without a fix.
USER_DATA_RULES = {
    "admin-container",
    "custom-user-data",
    "hidden-kubelet-setting",
    "joins-another-cluster",
    "local-disks-set-up-twice",
    "local-storage-in-user-data",
    "login-in-user-data",
    "node-labels-in-user-data",
    "overridden-user-data",
    "repeated-bootstrap",
    "secret-in-user-data",
    "slow-start",
    "unpinned-download",
    "user-data-family",
    "user-data-syntax",
}


def parse_objects(path: str, text: str) -> list[Object]:
    return list(objects(Source.from_text(path, text)))


def indented(text: str, pad: str) -> str:
    return "".join(pad + line if line.strip() else line for line in text.splitlines(keepends=True))


# -- each example of each rule, in each host


def in_heredoc(text: str) -> tuple[str, str]:
    return (
        "a.tf",
        f'resource "kubectl_manifest" "this" {{\n  yaml_body = <<-YAML\n{indented(text, "    ")}  YAML\n}}\n',
    )


def in_script(text: str) -> tuple[str, str]:
    return "a.sh", f"set -e\nkubectl apply -f - <<'EOF'\n{text}EOF\necho done\n"


def in_script_with_tabs(text: str) -> tuple[str, str]:
    return "a.sh", f"if true; then\n\tkubectl apply -f - <<-'EOF'\n{indented(text, chr(9))}\tEOF\nfi\n"


def in_config_map(text: str) -> tuple[str, str]:
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: pools\ndata:\n  pools.yaml: |\n"
    return "a.yaml", head + indented(text, "    ") + "  other: text\n"


def in_fence(text: str) -> tuple[str, str]:
    return "a.md", f"# Pools\n\n1. As here:\n\n   ```yaml\n{indented(text, '   ')}   ```\n\nEnd.\n"


HOSTS = [in_heredoc, in_script, in_script_with_tabs, in_config_map, in_fence]
Host = Callable[[str], tuple[str, str]]


def judged(path: str, text: str, case: ExamplePair) -> tuple[Source, Report]:
    source = Source.from_text(path, text)
    report = lint([source], LintRequest(target_of(case.bad), RULES, alone(case.rule)))
    assert not report.faults
    return source, report


def finding_places(
    source: Source, report: Report, lines_above: int = 0, indent: int = 0
) -> list[tuple[str, str, int, int]]:
    found = []
    for result in report.results:
        at = source.position(result.span.start)
        found.append((result.rule.name, result.finding.message, at.line - lines_above, at.column - indent))
    return found


def mended(path: str, text: str, case: ExamplePair) -> Fixed:
    source = Source.from_text(path, text)
    return fix([source], LintRequest(target_of(case.bad), RULES, alone(case.rule)), unsafe=True)


def _needs_a_second_object(case: ExamplePair) -> bool:
    """Where none can follow, what is left of the finding is another rule's: that `*` matches nothing."""
    return case.rule.name == "flex-preference" and "*" in case.bad.text


def _differs(case: ExamplePair, host: Host) -> bool:
    """Whether a host may change what is found."""
    if host is in_heredoc and _needs_a_second_object(case):
        return True
    if host is in_script_with_tabs and case.rule.name in USER_DATA_RULES:
        return True  # places within user data are the field's here
    # What an object in a text for readers lacks may be left out on purpose.
    return host is in_fence and "amiSelectorTerms" not in case.bad.text and case.rule.name == "invalid-field"


@LAWS.about(lambda case: _is_embedded(case) and case.rule.name not in HOST_RULES)
def a_host_changes_no_finding(case: ExamplePair) -> None:
    plain = finding_places(*judged("a.yaml", case.bad.text, case))
    for host in HOSTS:
        if _differs(case, host):
            continue
        path, text = host(case.bad.text)
        mark = "@@@@"
        above = host(mark + "\n")[1].split(mark)[0]
        lines, indent = above.count("\n"), len(above) - above.rfind("\n") - 1
        assert finding_places(*judged(path, text, case), lines, indent) == plain, host.__name__


def _is_embedded(case: ExamplePair) -> bool:
    """Whether what the rule looks at is read inside other texts: workloads and buffers are not."""
    return case.rule.name not in TEXT_RULES and not issubclass(case.rule.on, (CapacityBuffer, Workload))


@LAWS.about(lambda case: _is_embedded(case) and has_fix(case))
def a_fix_lands_in_the_host(case: ExamplePair) -> None:
    for host in HOSTS:
        if host is in_heredoc and TRIAL.good(case).text.count("\n---") > case.bad.text.count("\n---") == 0:
            continue  # a resource of Terraform holds one manifest
        if _differs(case, host):
            continue
        done = mended(*host(case.bad.text), case)
        assert not done.refused
        assert done.sources[0].text == host(TRIAL.good(case).text)[1], host.__name__


# -- patches of operations


def as_operations(value: Any, path: str = "/spec", deep: int = 4) -> list[tuple[str, Any]]:
    """What a mapping holds as paths and values, some steps deep."""
    found: list[tuple[str, Any]] = []
    for key, below in value.items():
        at = f"{path}/{key.replace('~', '~0').replace('/', '~1')}"
        found += as_operations(below, at, deep - 1) if isinstance(below, dict) and below and deep else [(at, below)]
    return found


def in_patch(kind: str, operations: list[tuple[str, Any]]) -> str:
    lines = "".join(
        f"      - op: replace\n        path: {json.dumps(path)}\n        value: {json.dumps(value)}\n"
        for path, value in operations
    )
    head = "# for karpenter\nkind: Kustomization\npatches:\n  - target:\n      kind: "
    return f"{head}{kind}\n    patch: |-\n{lines}"


@LAWS.about(lambda case: True)
def a_patch_of_operations_is_judged_and_stays_one(case: ExamplePair) -> None:
    for root in known_roots(case.bad.text) or []:
        if not isinstance(root, dict) or root.get("kind") not in ("NodePool", "EC2NodeClass"):
            continue
        if not str(root.get("apiVersion")).endswith("/v1") or not isinstance(root.get("spec"), dict):
            continue
        operations = [(path, value) for path, value in as_operations(root["spec"]) if value is not None]
        text = in_patch(root["kind"], operations)
        source = Source.from_text("kustomization.yaml", text)
        (obj,) = objects(source, foreign=True)
        assert obj.partial and not source.problems
        done = fix([source], LintRequest(target_of(case.bad), RULES), unsafe=True)
        (after,) = [d for d in done.sources[0].documents if d.target is not None]
        assert after.root is not None
        assert [set(item) for item in after.root.plain()] == [{"op", "path", "value"}] * len(operations)  # type: ignore[attr-defined]


def test_a_patch_of_operations_in_a_file_of_its_own(nodelint: Run, tmp_path: Path) -> None:
    (tmp_path / "kustomization.yaml").write_text(
        "resources: [../base]\npatches:\n  - target: {kind: NodePool}\n    path: spot.yaml\n", encoding="utf-8"
    )
    patch = (
        "- op: test\n  path: /spec/weight\n  value: x\n"
        "- op: replace\n  path: /spec/template/spec/requirements\n  value:\n"
        "    - {key: karpenter.sh/capacity-typ, operator: In, values: [spot]}\n"
        "- {op: add, path: /spec/disruption/consolidationPolicy, value: WhenUnderutilized}\n"
    )
    (tmp_path / "spot.yaml").write_text(patch, encoding="utf-8")
    wanted = [("spot.yaml", 7, "unknown-label"), ("spot.yaml", 8, "invalid-field")]
    assert findings(nodelint, tmp_path, ".") == wanted
    nodelint("check", "--fix", "--snapshot", "bundled", ".", cwd=tmp_path)
    assert (tmp_path / "spot.yaml").read_text(encoding="utf-8") == (
        patch.replace("-typ,", "-type,").replace("WhenUnder", "WhenEmptyOrUnder")
    )


@pytest.mark.parametrize(
    ("target", "label"),
    [
        ("NodePool", "NodePool"),
        ("NodePool\n      name: spot", "NodePool/spot"),
        ("NodePool\n      name: .*", "NodePool"),
        ("NodePool\n      name: a|b", "NodePool"),
    ],
)
def test_a_patch_of_operations_is_of_the_object_that_its_target_names(target: str, label: str) -> None:
    (obj,) = objects(Source.from_text("kustomization.yaml", in_patch(target, [("/spec/weight", 1)])))
    assert obj.label == label


def test_operations_are_a_patch_where_kustomize_takes_one() -> None:
    text = in_patch("NodePool", [("/spec/weight", 1)])
    for other in (
        text.replace("    patch: ", "    options: "),
        "|-\n  # for karpenter.sh\n  - {op: add, path: /spec}\n",
    ):
        assert list(objects(Source.from_text("kustomization.yaml", other))) == []


def as_hcl(value: Any, indent: str = "") -> str:
    """A value as an expression of HCL, as `terraform fmt` would lay it out but for the columns."""
    inner = indent + "  "
    if isinstance(value, dict):
        keys = {k: k if re.fullmatch(r"[A-Za-z_]\w*", k) else json.dumps(k, ensure_ascii=False) for k in value}
        lines = [f"{inner}{keys[k]} = {as_hcl(v, inner)}\n" for k, v in value.items()]
        return "{\n" + "".join(lines) + indent + "}" if lines else "{}"
    if isinstance(value, list):
        if any(isinstance(item, (dict, list)) for item in value):
            return "[\n" + "".join(f"{inner}{as_hcl(item, inner)},\n" for item in value) + indent + "]"
        return "[" + ", ".join(as_hcl(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False).replace("${", "$${").replace("%{", "%%{")


def as_resources(roots: list[Any]) -> str:
    return "\n".join(
        f'resource "kubernetes_manifest" "r{n}" {{\n  manifest = {as_hcl(root, "  ")}\n}}\n'
        for n, root in enumerate(roots)
    )


@cache
def known_roots(text: str) -> list[Any] | None:
    """The values of a text, None where HCL cannot say them."""
    source = Source.from_text("a.yaml", text)
    roots = [d.root for d in source.documents if d.root]
    if any(n.value is UNKNOWN or isinstance(n.value, float) for root in roots for n in root.walk()):
        return None
    return [root.plain() for root in roots]


def _in_hcl(case: ExamplePair) -> bool:
    if case.rule.name in (*TEXT_RULES, "unused-suppression"):
        return False
    roots = known_roots(case.bad.text)
    return bool(roots) and all(isinstance(root, dict) for root in roots or [])


@LAWS.about(lambda case: _in_hcl(case) and not _needs_a_second_object(case) and case.rule.name not in HOST_RULES)
def an_object_of_hcl_has_the_findings_of_the_same_yaml(case: ExamplePair) -> None:
    roots = known_roots(case.bad.text)
    assert roots
    text = as_resources(roots)
    assert [o.node.plain() for o in parse_objects("a.tf", text)] == [
        o.node.plain() for o in parse_objects("a.yaml", case.bad.text)
    ]

    def places(source: Source, report: Report) -> list[tuple[str, str, str]]:
        return sorted(
            (r.rule.name, r.finding.message, r.finding.at.path if isinstance(r.finding.at, Node) else "")
            for r in report.results
        )

    as_json = "".join("---\n" + json.dumps(root, indent=2) + "\n" for root in roots)
    assert places(*judged("a.tf", text, case)) == places(*judged("a.yaml", as_json, case))


@LAWS.about(lambda case: _in_hcl(case) and has_fix(case))
def a_fix_of_hcl_says_what_the_good_example_says(case: ExamplePair) -> None:
    roots, wanted = known_roots(case.bad.text), known_roots(TRIAL.good(case).text)
    assert roots and wanted
    if len(roots) != len(wanted):
        return  # an object of HCL is not followed by another
    done = mended("a.tf", as_resources(roots), case)
    assert not done.refused
    assert [o.node.plain() for o in objects(done.sources[0])] == [
        o.node.plain() for o in parse_objects("a.yaml", TRIAL.good(case).text)
    ]


# -- one small repository of each style, through the command line

TREES = Path(__file__).parents[1] / "trees"
CATEGORY = ("node.kubernetes.io/instance-category", "karpenter.k8s.aws/instance-category")
CAPACITY = ("karpenter.sh/capacity-typ,", "karpenter.sh/capacity-type,")

STYLES: dict[str, tuple[list[tuple[str, int, str]], list[tuple[str, str]]]] = {
    "argocd": (
        [("application.yaml", 27, "unknown-label"), ("application.yaml", 50, "unsupported-alias")],
        [CATEGORY, ("al2023@latst", "al2023@latest")],
    ),
    "config-map": ([("configmap.yaml", 23, "unknown-label")], [CATEGORY]),
    "crossplane": ([("object.yaml", 19, "unknown-label")], [CATEGORY]),
    "envsubst": ([("pool.yaml", 10, "unknown-label")], [CATEGORY]),
    "flux": ([("release.yaml", 28, "unknown-label"), ("release.yaml", 41, "invalid-field")], [CATEGORY]),
    "helm-chart": ([("templates/pool.yaml", 13, "unknown-label")], [CATEGORY]),
    "helm-values": (
        [("values.yaml", 20, "unknown-label"), ("values.yaml", 32, "unknown-label")],
        [CATEGORY, CAPACITY],
    ),
    "kustomize": (
        [
            ("base/pool.yaml", 10, "unknown-label"),
            ("overlays/prod/heavier.yaml", 7, "unknown-field"),
            ("overlays/prod/kustomization.yaml", 13, "unknown-field"),
        ],
        [CATEGORY, ("consolidateAftr", "consolidateAfter"), ("wieght", "weight")],
    ),
    "markdown": (
        [("README.md", 20, "unknown-label"), ("README.md", 51, "unknown-label")],
        [CATEGORY, CAPACITY],
    ),
    "shell": (
        [("install.sh", 36, "unknown-label"), ("install.sh", 52, "unknown-label")],
        [CATEGORY, ("karpenter.sh/capacity-typ\n", "karpenter.sh/capacity-type\n")],
    ),
    "terraform-heredoc": (
        [("karpenter.tf", 42, "manifest-before-crds"), ("karpenter.tf", 56, "unknown-label")],
        [CATEGORY],
    ),
    "terraform-object": (
        [("karpenter.tf", 39, "unknown-label"), ("karpenter.tf", 73, "unknown-label")],
        [CATEGORY, ('"karpenter.sh/capacity-typ"', '"karpenter.sh/capacity-type"')],
    ),
    "terraform-template": (
        [("class.tftpl", 7, "invalid-field"), ("pool.yaml.tpl", 13, "unknown-label")],
        [CATEGORY, ("Al2023", "AL2023")],
    ),
}
# Files that are read when they are named, or by `--include`; in a folder they are not manifests by their endings.
NAMED = {"markdown": ["README.md"], "shell": ["install.sh"]}


def copied(style: str, folder: Path) -> list[Path]:
    """The files of a style's repository, in a folder of the test's own."""
    made = []
    for path in sorted((TREES / style).rglob("*")):
        if path.is_file():
            target = folder / path.relative_to(TREES / style)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
            made.append(target)
    return made


def findings(run: Run, folder: Path, *args: str) -> list[tuple[str, int, str]]:
    done = run("check", "--format", "json", "--snapshot", "bundled", *args, cwd=folder)
    assert done.returncode in (0, 1), done.stderr
    report = json.loads(done.stdout)
    return [(f["path"].removeprefix("./"), f["start"]["line"], f["rule"]) for f in report["findings"]]


def test_each_style_has_its_repository() -> None:
    assert {path.name for path in TREES.iterdir()} == {*STYLES, "cluster"}


@pytest.mark.parametrize("style", STYLES)
def test_a_style_has_its_findings_and_fixes_and_no_other(style: str, nodelint: Run, tmp_path: Path) -> None:
    wanted, changes = STYLES[style]
    files = copied(style, tmp_path)
    before = {path: path.read_bytes() for path in files}
    paths = NAMED.get(style, ["."])
    assert findings(nodelint, tmp_path, *paths) == wanted
    nodelint("check", "--unsafe-fixes", "--snapshot", "bundled", *paths, cwd=tmp_path)
    for path in files:
        text = before[path].decode()
        for old, new in changes:
            if path.name != "configmap.yaml" or old == CATEGORY[0]:
                text = text.replace(old, new)
        assert path.read_text(encoding="utf-8") == text
    unfixed = {"manifest-before-crds", *(["invalid-field"] if style == "flux" else [])}
    fixable = {rule for _, _, rule in wanted} - unfixed
    left = [rule for _, _, rule in findings(nodelint, tmp_path, *paths)]
    assert not fixable.intersection(left), left


@pytest.mark.parametrize("style", STYLES)
def test_line_breaks_of_windows_and_a_byte_order_mark_change_nothing(style: str) -> None:
    def plainly(path: Path, text: str) -> tuple[list[object], list[str], Fixed]:
        source = Source.from_text(path.name, text)
        assert source.problems == []
        done = fix([source], LintRequest(Target(NEWEST), RULES), unsafe=True)
        places = [source.position(obj.node.start)[:2] for obj in objects(source)]
        return (
            [(o.label, at) for o, at in zip(objects(source), places, strict=True)],
            [r.finding.message for r in done.applied],
            done,
        )

    for path in sorted((TREES / style).rglob("*.*")):
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            labels, message, done = plainly(path, text)
            for mark in ("", "\ufeff"):
                other, said_too, done_too = plainly(path, mark + text.replace("\n", "\r\n"))
                assert (other, said_too) == (labels, message)
                assert done_too.sources[0].text == mark + done.sources[0].text.replace("\n", "\r\n")


@pytest.mark.slow
def test_a_tree_that_mixes_all_styles(nodelint: Run, tmp_path: Path) -> None:
    for style in STYLES:
        copied(style, tmp_path / style)
    wanted = sorted((f"{style}/{path}", line, rule) for style in STYLES for path, line, rule in STYLES[style][0])
    named = [f"{style}/{name}" for style, names in NAMED.items() for name in names]
    assert sorted(findings(nodelint, tmp_path, ".", *named)) == wanted


def test_scripts_and_markdown_are_read_where_a_glob_includes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for style in STYLES:
        copied(style, tmp_path / style)
    monkeypatch.chdir(tmp_path)
    plainly = {source.path for source in discover(["."]).sources}
    assert not {path for path in plainly if path.endswith((".md", ".sh"))}
    more = {source.path for source in discover(["."], include=Globs(["*.md", "shell/*"])).sources}
    assert more - plainly == {"markdown/README.md", "shell/install.sh"}
    fewer = discover(["."], Excluded(["shell"]), include=Globs(["*.md", "shell/*"]))
    assert {source.path for source in fewer.sources} - plainly == {"markdown/README.md"}


def test_templates_and_terraform_are_read_in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["a.tf", "a.tofu", "b.yaml.j2", "b.yml.tpl", "c.tftpl", "d.yaml.gotmpl", "d.yaml.tmpl"]
    for name in [*names, "a.tfvars", "b.py", "c.sh", "d.md"]:
        (tmp_path / name).write_text(pool("spot"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert [source.path for source in discover(["."]).sources] == names
    assert [len(list(objects(source))) for source in discover(["."]).sources] == [0, 0, 1, 1, 1, 1, 1]


# -- what comes through a pipe

RENDERED = """\
---
# Source: pools/templates/pool.yaml
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: a}
spec: {}
---
# Source: pools/templates/class.yaml
# made by hand
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: a}
spec: {}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: b} # Source: of no file
spec: {}
"""


def test_a_rendered_chart_names_the_file_of_each_object() -> None:
    found = parse_objects("-", RENDERED)
    origins = [template_of(obj.source, obj.node.start) for obj in found]
    assert origins == ["pools/templates/pool.yaml", "pools/templates/class.yaml", None]
    link = "# Source: https://karpenter.sh/docs/templates/\n"
    (quoted,) = parse_objects("-", link + RENDERED.partition("pool.yaml\n")[2][:80])
    assert template_of(quoted.source, quoted.node.start) is None


def test_a_finding_names_the_file_that_was_rendered(nodelint: Run) -> None:
    done = nodelint("check", "--snapshot", "bundled", "-", stdin=RENDERED)
    assert "\n-:13:1 (pools/templates/class.yaml): error[" in by_place(done.stdout)
    assert "\n    -:18:1\n" in done.stdout
    done = nodelint("check", "--snapshot", "bundled", "--format", "json", "-", stdin=RENDERED)
    assert {(f["start"]["line"] > 14, f["origin"]) for f in json.loads(done.stdout)["findings"]} == {
        (False, "pools/templates/pool.yaml"),
        (False, "pools/templates/class.yaml"),
        (True, None),
    }


def test_what_a_cluster_adds_to_an_object_is_no_finding(nodelint: Run) -> None:
    """A list as `kubectl get nodepools,ec2nodeclasses -o yaml` gives it of a cluster with Karpenter 1.14."""
    text = (TREES / "cluster" / "list.yaml").read_text(encoding="utf-8")
    done = nodelint("check", "--format", "json", "--snapshot", "bundled", "-", stdin=text)
    report = json.loads(done.stdout)
    assert report["findings"] == []
    found = parse_objects("-", text)
    assert [obj.label for obj in found] == ["NodePool/default", "EC2NodeClass/default"]


# -- the particulars of each host


@pytest.mark.parametrize(
    ("host", "line"), [(in_heredoc, 6), (in_script, 6), (in_script_with_tabs, 6), (in_config_map, 10)]
)
def test_a_manifest_that_is_no_yaml_is_told_at_its_line(host: Host, line: int) -> None:
    text = "apiVersion: karpenter.sh/v1\nkind: NodePool\nspec: {}\nspec: {}\n"
    source = Source.from_text(*host(text))
    report = lint([source], LintRequest(Target(NEWEST), RULES))
    assert [(r.rule.name, source.position(r.span.start).line) for r in report.results] == [("yaml-syntax", line)]


POOL = nodepool("key: karpenter.sh/capacity-type, operator: In, values: [VALUE]", name="NAME")


def pool(value: str, name: str = "default") -> str:
    return POOL.replace("VALUE", value).replace("NAME", name)


def value_of(obj: Object) -> object:
    assert isinstance(obj, NodePool)
    return obj.requirements[0].values[0].text


@pytest.mark.parametrize(
    ("path", "host"),
    [
        ("a.yaml", None),
        ("a.yaml.tpl", None),
        ("a.tftpl", None),
        ("a.yml.j2", None),
        ("a", None),
        ("main.tf", "terraform"),
        ("main.tofu", "terraform"),
        ("main.tf.tmpl", "terraform"),
        ("main.tf.disabled", "terraform"),
        ("README.md.bak", "markdown"),
        ("pool.yaml.disabled", None),
        ("pool.yml.example", None),
        ("run.sh", "shell"),
        ("run.sh.tpl", "shell"),
        ("README.md", "markdown"),
    ],
)
def test_a_file_is_read_by_its_ending(path: str, host: str | None) -> None:
    assert host_of(path) == host


class TestHeredocsOfTerraform:
    @pytest.mark.parametrize("mark", ["<<EOT", "<<-EOT", "<<-YAML"])
    def test_positions_are_those_of_the_file(self, mark: str) -> None:
        text = f"x = {mark}\n{indented(pool('spot'), '    ')}  {mark.lstrip('<-')}\n"
        (obj,) = parse_objects("a.tf", text)
        source = obj.source
        assert source.position(obj.node.start)[:2] == (2, 5)
        assert source.line(source.position(obj.name_node.start).line).strip() == "name: default"
        assert obj.document.host == "terraform"

    def test_a_script_within_keeps_the_signs_of_both(self) -> None:
        text = f"command = <<-CMD\n    kubectl apply -f - <<EOF\n{pool('$${TYPE}', '${var.name}')}EOF\n  CMD\n"
        (obj,) = parse_objects("a.tf", text)
        assert value_of(obj) is UNKNOWN
        assert obj.name is UNKNOWN

    def test_an_interpolation_is_unknown_and_lines_of_code_are_set_aside(self) -> None:
        text = "x = <<EOT\n%{ if var.a }\n" + pool('${lookup(var.m, "k", { a = 1 })}') + "%{ endif }\nEOT\n"
        (obj,) = parse_objects("a.tf", text)
        assert value_of(obj) is UNKNOWN
        assert obj.partial

    @pytest.mark.parametrize(
        ("line", "expected"),
        [("${var.a}", 0), ("%{ if var.a }", 0), ("a: ${var.a}", 1), ("- a: ${var.a}", 1)],
    )
    def test_what_no_value_can_mend_is_a_mistake(self, line: str, expected: int) -> None:
        text = f"x = <<-EOT\n{pool('spot')}  {line}\n status:\nEOT\n"
        source = Source.from_text("a.tf", text)
        assert len(source.problems) == expected

    def test_several_documents_are_told_apart(self) -> None:
        text = "x = <<-EOT\n" + indented(pool("spot", "a") + "---\n" + pool("spot", "b"), "    ") + "  EOT\n"
        assert [obj.name for obj in parse_objects("a.tf", text)] == ["a", "b"]

    def test_what_is_no_manifest_is_left_alone(self) -> None:
        source = Source.from_text(
            "a.tf",
            'output "how" {\n  value = <<EOT\nRun this: kubectl get nodepools\n'
            "apiVersion: karpenter.sh/v1 (is served)\nEOT\n}\n",
        )
        assert list(objects(source)) == []
        assert source.problems == []

    def test_a_script_in_a_heredoc(self) -> None:
        text = f"command = <<-CMD\n    kubectl apply -f - <<EOF\n{pool('$TYPE')}EOF\n  CMD\n"
        (obj,) = parse_objects("a.tf", text)
        assert value_of(obj) is UNKNOWN

    def test_a_new_document_goes_only_where_there_are_several(self) -> None:
        (obj,) = parse_objects("a.tf", "x = <<-EOT\n" + indented(pool("spot"), "    ") + "  EOT\n")
        with pytest.raises(edits.NotEditable):
            edits.add_document(obj.document, "a: 1\n")
        first, _ = parse_objects(
            "a.tf", "x = <<-EOT\n" + indented(pool("a") + "---\n" + pool("b"), "    ") + "  EOT\n"
        )
        text = edits.apply(first.source.text, edits.add_document(first.document, "---\na: 1\n"))
        assert "[a]}\n    ---\n    a: 1\n    ---\n" in text


class TestObjectsOfHcl:
    WHOLE = """\
    resource "kubernetes_manifest" "pool" {
      manifest = {
        apiVersion = "karpenter.sh/v1" # the one that is served
        "kind" : "NodePool",
        metadata = { name = "a", labels = { "a.b/c" = "d", (var.key) = "e" } }
        /* a comment
           of two lines */
        spec = {
          weight = -1
          limits = { cpu = 1.5, memory = "${var.gi}Gi" }
          list   = [1, true, null, "a\\tb \\"c\\" \\u00e9 $${x} %%{y}",
            var.x, f("}"), [for a in b : a], { for a in b : a => a }]
          cond   = var.a ? {
            b = 1
          } : {}
          text = <<-EOT
            apiVersion: nothing
            EOT
        }
      }
    }
    """

    def test_values(self) -> None:
        (obj,) = parse_objects("a.tf", self.WHOLE)
        assert obj.node.plain() == {
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodePool",
            "metadata": {"name": "a", "labels": {"a.b/c": "d", "(var.key)": "e"}},
            "spec": {
                "weight": -1,
                "limits": {"cpu": 1.5, "memory": UNKNOWN},
                "list": [1, True, None, 'a\tb "c" é ${x} %{y}', UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN],
                "cond": UNKNOWN,
                "text": "apiVersion: nothing\n",
            },
        }

    def test_spans_are_tight(self) -> None:
        (obj,) = parse_objects("a.tf", self.WHOLE)
        items = obj.node.find("spec", "list")
        assert items is not None
        assert [item.text for item in items.items[4:]] == [
            "var.x", 'f("}")', "[for a in b : a]", "{ for a in b : a => a }",
        ]  # fmt: skip
        condition = obj.node.find("spec", "cond")
        assert condition is not None
        assert condition.text.startswith("var.a ? {") and condition.text.endswith("} : {}")

    def test_what_is_merged_may_lack_fields(self) -> None:
        text = 'manifest = merge({ apiVersion = "karpenter.sh/v1", kind = "NodePool", spec = {} }, var.more)\n'
        (obj,) = parse_objects("a.tf", text)
        assert obj.partial
        (whole,) = parse_objects("a.tf", text.replace("merge(", "yamlencode(").replace(", var.more)", ")"))
        assert not whole.partial

    def test_what_is_worked_out_elsewhere_may_hold_anything(self) -> None:
        text = 'm = { apiVersion = "karpenter.sh/v1", kind = "NodePool", spec = { template = { spec = %s } } }\n'
        (hidden,) = parse_objects("a.tf", text % "merge({ taints = [] }, var.more)")
        (shown,) = parse_objects("a.tf", text % "{ taints = [] }")
        assert (hidden.partial, shown.partial) == (True, False)

    def test_a_reference_is_no_object(self) -> None:
        text = 'ref = { apiVersion = "karpenter.k8s.aws/v1beta1", kind = "EC2NodeClass", name = "a" }\n'
        assert parse_objects("a.tf", text) == []
        assert parse_objects("a.tf", "".join(f"# {line}\n" for line in self.WHOLE.splitlines())) == []

    def test_what_cannot_be_read_is_set_aside_with_a_reason(self) -> None:
        source = Source.from_text("a.tf", 'm = {\n  apiVersion = "karpenter.sh/v1"\n  = 5\n  spec = {}\n}\n')
        assert list(objects(source)) == []
        assert [aside.message for aside in source.set_aside] == ["an object of a form that is not read"]

    def test_a_comment_silences_a_rule(self) -> None:
        text = as_resources(
            [json.loads(json.dumps(obj.node.plain())) for obj in parse_objects("a.yaml", pool("spto"))]
        )
        for place in ("values = ", "manifest = "):
            line = next(line for line in text.splitlines() if place in line)
            pad = line[: len(line) - len(line.lstrip())]
            quiet = text.replace(line, f"{pad}# nodelint: ignore[unknown-value] why\n{line}")
            for given_text, count in ((text, 1), (quiet, 0)):
                report = lint([Source.from_text("a.tf", given_text)], LintRequest(Target(NEWEST), RULES))
                assert [r.rule.name for r in report.results].count("unknown-value") == count


OBJECT = """\
manifest = {
  apiVersion = "karpenter.sh/v1"
  kind       = "NodePool"
  spec = {
    limits = {}
    none   = []
    values = ["a", "b"] # two
    items = [
      # the first
      { key = "a", values = ["x"] },
      {
        key    = "b"
        values = ["y"]
      } # no comma
    ]
    weight = 10
  }
}
"""


class TestEditsOfHcl:
    @staticmethod
    def edited(change: Callable[[Node], list[Edit]], text: str = OBJECT) -> list[str]:
        """The lines that are other than before, with `-` and `+`."""
        (obj,) = parse_objects("a.tf", text)
        spec = obj.node.get("spec")
        assert spec is not None
        new = edits.apply(text, change(spec))
        assert len(parse_objects("a.tf", new)) == 1
        lines = difflib.ndiff(text.splitlines(), new.splitlines())
        return [line for line in lines if line[0] in "+-"]

    def test_set_value(self) -> None:
        assert self.edited(lambda s: edits.set_value(s.find("weight") or s, 20)) == [
            "-     weight = 10",
            "+     weight = 20",
        ]
        assert self.edited(lambda s: edits.set_value(s.find("values", 0) or s, 'c"${d}')) == [
            '-     values = ["a", "b"] # two',
            '+     values = ["c\\"$${d}", "b"] # two',
        ]

    def test_add_item(self) -> None:
        assert self.edited(lambda s: edits.add_item(s.find("values") or s, "c")) == [
            '-     values = ["a", "b"] # two',
            '+     values = ["a", "b", "c"] # two',
        ]
        assert self.edited(lambda s: edits.add_item(s.find("none") or s, "c")) == [
            "-     none   = []",
            '+     none   = ["c"]',
        ]
        assert self.edited(lambda s: edits.insert_item(s.find("items") or s, 0, {"key": "z"})) == [
            '+       { key = "z" },'
        ]
        assert self.edited(lambda s: edits.add_item(s.find("items") or s, {"key": "c", "values": ["z"]})) == [
            "-       } # no comma",
            "+       }, # no comma",
            "+       {",
            '+         key    = "c"',
            '+         values = ["z"]',
            "+       }",
        ]

    def test_add_key(self) -> None:
        assert self.edited(lambda s: edits.add_key(s, "new", True)) == ["+     new    = true"]
        assert self.edited(lambda s: edits.add_key(s, "a.b/c", {"d": 1}, after="none")) == [
            '+     "a.b/c" = {',
            "+       d = 1",
            "+     }",
        ]
        assert self.edited(lambda s: edits.add_key(s.find("limits") or s, "cpu", 100)) == [
            "-     limits = {}",
            "+     limits = {",
            "+       cpu = 100",
            "+     }",
        ]
        assert self.edited(lambda s: edits.add_key(s.find("items", 0) or s, "operator", "In", after="key")) == [
            '-       { key = "a", values = ["x"] },',
            '+       { key = "a", operator = "In", values = ["x"] },',
        ]

    def test_remove(self) -> None:
        assert self.edited(lambda s: edits.remove(s.find("weight") or s)) == ["-     weight = 10"]
        assert self.edited(lambda s: edits.remove(s.find("values", 0) or s)) == [
            '-     values = ["a", "b"] # two',
            '+     values = ["b"] # two',
        ]
        assert self.edited(lambda s: edits.remove(s.find("items", 0) or s)) == [
            "-       # the first",
            '-       { key = "a", values = ["x"] },',
        ]
        assert self.edited(lambda s: edits.remove(s.find("items", 1, "values", 0) or s)) == [
            '-         values = ["y"]',
            "+         values = []",
        ]

    def test_set_values(self) -> None:
        assert self.edited(lambda s: edits.set_values(s.find("values") or s, ["b", "c", "d"])) == [
            '-     values = ["a", "b"] # two',
            '+     values = ["b", "c", "d"] # two',
        ]

    def test_what_cannot_be_done_is_told(self) -> None:
        (obj,) = parse_objects("a.tf", OBJECT)
        weight = obj.node.find("spec", "weight")
        assert weight is not None
        for attempt in (
            lambda: edits.remove(obj.node),
            lambda: edits.add_item(weight, 1),
            lambda: edits.copy_document(obj.node),
            lambda: edits.add_object(obj.node, "a: 1\n"),
        ):
            with pytest.raises(edits.NotEditable):
                attempt()


class TestScripts:
    def test_what_the_shell_expands_is_unknown(self) -> None:
        for value in ("$TYPE", "$type", "${type:-spot}", "$(get type)", "`get type`", '"$1"'):
            (obj,) = parse_objects("a.sh", f"kubectl apply -f - <<EOF\n{pool(value)}EOF\n")
            assert value_of(obj) is UNKNOWN, value

    @pytest.mark.parametrize("mark", ["'EOF'", '"EOF"', "\\EOF"])
    def test_a_quoted_word_leaves_the_text_as_it_is(self, mark: str) -> None:
        (obj,) = parse_objects("a.sh", f"kubectl apply -f - <<{mark}\n{pool('$TYPE')}EOF\n")
        assert value_of(obj) == "$TYPE"
        (obj,) = parse_objects("a.sh", f"envsubst <<{mark} | kubectl apply -f -\n{pool('$TYPE')}EOF\n")
        assert value_of(obj) is UNKNOWN

    def test_leading_tabs_are_no_part_of_the_text(self) -> None:
        text = f"\tcat <<-EOF\n{indented(pool('spot'), chr(9))}\tEOF\n"
        (obj,) = parse_objects("a.sh", text)
        assert isinstance(obj, NodePool)
        where = obj.requirements_node
        assert where is not None
        new = edits.apply(text, edits.add_item(where, {"key": "a", "operator": "Exists"}))
        assert "\n\t        - {key: a, operator: Exists}\n" in new
        assert [obj.node.plain() for obj in parse_objects("a.sh", new)]

    def test_a_user_data_script_keeps_its_text(self) -> None:
        text = (
            "cat <<EOF\napiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: a}\n"
            "spec:\n  userData: |\n    echo $name $(date)\nEOF\n"
        )
        (obj,) = parse_objects("a.sh", text)
        assert isinstance(obj, EC2NodeClass)
        user_data = obj.node.find("spec", "userData")
        assert user_data is not None
        assert user_data.value == "echo $name $(date)\n"

    def test_a_heredoc_that_does_not_end_is_none(self) -> None:
        assert parse_objects("a.sh", f"cat <<EOF\n{pool('spot')}") == []
        assert parse_objects("a.sh", f"# cat <<EOF\n{pool('spot')}EOF\n") == []
        assert parse_objects("a.sh", f"cat <<<EOF\n{pool('spot')}EOF\n") == []


class TestMarkdown:
    @pytest.mark.parametrize("word", ["yaml", "yml", "YAML", "{.yaml}", 'yaml title="pool.yaml"'])
    def test_fences(self, word: str) -> None:
        assert len(parse_objects("a.md", f"```{word}\n{pool('spot')}```\n")) == 1
        assert len(parse_objects("a.md", f"~~~~{word}\n{pool('spot')}# ~~~\n~~~~\n")) == 1

    @pytest.mark.parametrize("word", ["", "text"])
    def test_a_fence_that_names_no_language(self, word: str) -> None:
        assert len(parse_objects("a.md", f"```{word}\n{pool('spot')}```\n")) == 1
        assert len(parse_objects("a.md", f"```{word}\nkubectl apply -f - <<EOF\n{pool('spot')}EOF\n```\n")) == 1
        assert parse_objects("a.md", f"```{word}\n$ kubectl get nodepool -o yaml\n{pool('spot')}```\n") == []

    def test_an_excerpt_is_not_told_what_it_lacks(self) -> None:
        lines = pool("spot").replace(
            "      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}\n", ""
        )
        (obj,) = parse_objects("a.md", f"```yaml\n{lines}```\n")
        assert obj.partial
        (obj,) = parse_objects("a.md", f"```yaml\n{pool('spot')}```\n")
        assert not obj.partial
        (obj,) = parse_objects("a.md", "```yaml\n" + pool("spot") + "  # ...\n```\n")
        assert obj.partial

    def test_a_fence_that_is_no_yaml_is_no_error(self) -> None:
        source = Source.from_text("a.md", "```yaml\napiVersion: karpenter.sh/v1\nkind: [NodePool\n```\n")
        assert source.problems == []
        assert len(source.set_aside) == 1

    def test_terraform_in_a_fence(self) -> None:
        (obj,) = parse_objects("a.md", f"```hcl\n{OBJECT}```\n")
        assert obj.document.host == "hcl"

    def test_text_is_not_read(self) -> None:
        source = Source.from_text("a.md", pool("spot"))
        assert list(objects(source)) == [] and source.problems == []


class TestWhole:
    """Template code that adds nothing to a spec leaves it an object that is judged whole."""

    def missing(self, text: str) -> bool:
        selected = Selection(groups=frozenset({"correctness", "hazard", "practice"}))
        report = lint([Source.from_text("a.yaml", text)], LintRequest(Target(NEWEST), RULES, selected))
        return "no-limits" in {r.rule.name for r in report.results}

    @pytest.mark.parametrize(
        "text",
        [
            "{{- if .Values.enabled }}\n" + pool("spot") + "{{- end }}\n",
            pool("spot").replace("spec:\n", '  labels:\n    {{- include "a" . | nindent 4 }}\nspec:\n', 1),
            pool("spot").replace("spec:\n", "spec:\n  {{- /* what it is */}}\n", 1),
            pool("spot").replace("spec:\n", "spec:\n  {{- $name := .Values.name }}\n", 1),
        ],
    )
    def test_what_stands_around_a_spec_adds_nothing_to_it(self, text: str) -> None:
        assert self.missing(text)

    def test_a_loop_over_values_adds_nothing_else(self) -> None:
        line = "        - key: karpenter.sh/capacity-type\n          operator: In\n          values:\n"
        loop = "            {{- range .x }}\n            - {{ . }}\n            {{- end }}\n"
        text = re.sub(r" *- \{key.*\n", lambda _: line + loop, pool("spot"))
        assert text.endswith(line + loop) and self.missing(text)
        assert not self.missing(text + "            {{- include 1 }}\n")

    @pytest.mark.parametrize(
        "line", ["{{- toYaml .Values.spec | nindent 2 }}", "{{- if .x }}\n  weight: 1\n  {{- end }}"]
    )
    def test_what_may_be_added_or_left_out_is_not_missed(self, line: str) -> None:
        assert not self.missing(pool("spot").replace("spec:\n", f"spec:\n  {line}\n", 1))
        assert not self.missing(pool("spot") + f"  {line}\n")


class TestBranches:
    @pytest.mark.parametrize(
        "marks",
        [("{{- if .x }}", "{{- else }}", "{{- end }}"), ("#{{ if .x }}", "#{{ else if .y }}", "#{{ end }}"),
         ("%{ if x }", "%{ else }", "%{ endif }"), ("{% if x %}", "{% else %}", "{% endif %}")],
    )  # fmt: skip
    def test_a_key_in_two_branches_of_a_template(self, marks: tuple[str, str, str]) -> None:
        if_, else_, end = (f"  {mark}\n" if mark[0] != "#" else f"{mark}\n" for mark in marks)
        weights = f"{if_}  weight: 1\n{else_}  weight: none\n{end}"
        source = Source.from_text("a.yaml", pool("spot").replace("spec:\n", "spec:\n" + weights, 1))
        report = lint([source], LintRequest(Target(NEWEST), RULES))
        assert [(r.rule.name, source.position(r.span.start).line) for r in report.results] == [("invalid-field", 9)]
        assert not source.problems and not source.set_aside
        assert not [s for s in report.skipped if s.rule is None]

    @pytest.mark.parametrize(
        "marks", [("{{- if .x }}", "{{- else }}", "{{- end }}"), ("%{ if x }", "%{ else }", "%{ endif }")]
    )
    @pytest.mark.parametrize(
        ("first", "second", "wrong"), [("spto", "on-demand", "spto"), ("spot", "on-demnd", "on-demnd")]
    )
    def test_values_in_two_branches_of_a_template(
        self, marks: tuple[str, str, str], first: str, second: str, wrong: str
    ) -> None:
        if_, else_, end = (f"          {mark}\n" for mark in marks)
        values = f"{if_}          - {first}\n{else_}          - {second}\n{end}"
        line = f"        - key: karpenter.sh/capacity-type\n          operator: In\n          values:\n{values}"
        source = Source.from_text("a.yaml", re.sub(r" *- \{key.*\n", lambda _: line, pool("spot")))
        report = lint([source], LintRequest(Target(NEWEST), RULES))
        assert [(r.rule.name, str(r.finding.at.value)) for r in report.results if isinstance(r.finding.at, Node)] == [
            ("unknown-value", wrong)
        ]
        assert not source.problems and not source.set_aside

    def test_a_key_twice_in_one_branch_is_a_mistake(self) -> None:
        text = pool("spot").replace("spec:\n", "spec:\n  weight: 1\n  weight: 2\n  {{ include }}\n", 1)
        (aside,) = Source.from_text("a.yaml", text).set_aside
        assert aside.message.endswith(": the key `weight` is set twice")

    @pytest.mark.parametrize("first", ["v1", "v1beta1"])
    def test_an_api_version_that_a_template_chooses(self, first: str) -> None:
        other = "v1beta1" if first == "v1" else "v1"
        chosen = "{{ if .x }}\napiVersion: karpenter.sh/%s\n{{ else }}\napiVersion: karpenter.sh/%s\n{{ end }}\n"
        text = pool("spto").replace("apiVersion: karpenter.sh/v1\n", chosen % (first, other))
        report = lint([Source.from_text("a.yaml", text)], LintRequest(Target(NEWEST), RULES))
        assert [r.rule.name for r in report.results] == ["unknown-value"]
        assert [obj.api_version for obj in report.objects] == ["karpenter.sh/v1"]

    @pytest.mark.parametrize("written", ["{{ .Values.version }}", "karpenter.sh/{{ .v }}", "karpenter.sh/${VERSION}"])
    def test_an_api_version_that_a_template_fills_in(self, written: str) -> None:
        text = pool("spto").replace("karpenter.sh/v1", written)
        report = lint([Source.from_text("a.yaml", text)], LintRequest(Target(NEWEST), RULES))
        assert [r.rule.name for r in report.results] == ["unknown-value"]

    @pytest.mark.parametrize("written", ["hypershift.openshift.io/{{ .v }}", "other.example/v1"])
    def test_the_api_of_another_group_is_none_of_karpenters(self, written: str) -> None:
        assert parse_objects("a.yaml", pool("spto").replace("karpenter.sh/v1", written)) == []

    def test_of_whole_objects_in_two_branches_the_one_of_v1_is_judged(self) -> None:
        old = pool("spot").replace("karpenter.sh/v1", "karpenter.sh/v1beta1")
        for branch, other in ((pool("spto"), old), (old, pool("spto"))):
            text = "{{ if .x }}\n" + branch + "{{ else }}\n" + other + "{{ end }}\n"
            report = lint([Source.from_text("a.yaml", text)], LintRequest(Target(NEWEST), RULES))
            assert [r.rule.name for r in report.results] == ["unknown-value"]
            assert [s.reason for s in report.skipped if s.rule is None] == [
                "another branch of the template, for `karpenter.sh/v1`, is judged"
            ]

    def test_two_objects_without_a_branch_between_them_are_set_aside(self) -> None:
        text = "{{ if .x }}\n" + pool("spot") + "{{ end }}\n" + pool("on-demand")
        source = Source.from_text("a.yaml", text)
        assert (source.problems, len(source.set_aside)) == ([], 1)

    def test_items_of_a_list_in_two_branches_never_stand_beside_each_other(self) -> None:
        line = "- {key: kubernetes.io/arch, operator: In, values: [%s]}\n"
        lines = f"{{{{ if .x }}}}\n{line % 'amd64'}{{{{ else }}}}\n{line % 'arm64'}{{{{ end }}}}\n"
        text = pool("spot").replace("requirements:\n", "requirements:\n" + indented(lines, " " * 8), 1)
        report = lint([Source.from_text("a.yaml", text)], LintRequest(Target(NEWEST), RULES))
        assert (report.results, [s for s in report.skipped if s.rule is None]) == ((), [])

    @pytest.mark.parametrize(
        ("inner", "expected"),
        [
            ("  amiSelectorTerms: [{alias: al2@latest}]\n", [9]),
            ("  {{- if .y }}\n  tags: {a: b}\n  {{- end }}\n  amiSelectorTerms: [{alias: al2@latest}]\n", [12]),
            ("  {{- with .y }}\n  kubelet: {{ . }}\n  {{- else }}\n  amiSelectorTerms: [{alias: al2@latest}]\n"
             "  {{- end }}\n", [12]),
            ("  amiSelectorTerms:\n    {{- toYaml .Values.terms | nindent 4 }}\n", []),
        ],
    )  # fmt: skip
    def test_the_else_of_a_template_is_judged_by_itself(self, inner: str, expected: list[int]) -> None:
        first = "  amiFamily: AL2023\n  amiSelectorTerms: [{alias: al2023@v20250403}]\n"
        text = (
            "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: a}\nspec:\n"
            f"  {{{{- if .x }}}}\n{first}  {{{{- else }}}}\n{inner}  {{{{- end }}}}\n  role: a\n"
        )
        source = Source.from_text("a.yaml", text)
        report = lint([source], LintRequest(Target(NEWEST), RULES))
        messages = [(r.rule.name, source.position(r.span.start).line) for r in report.results]
        assert messages == [("unsupported-alias", line) for line in expected]
        assert not [s for s in report.skipped if s.rule is None]

    def test_branches_of_items_are_judged_by_themselves(self) -> None:
        text = (
            "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: a}\nspec:\n  amiSelectorTerms:\n"
            "  {{- if .x }}\n  - alias: al2023@v20250403\n  {{- else if .y }}\n  - alias: bottlerocket@v1.46.0\n"
            "  {{- else }}\n  - alias: al2@latest\n  {{- end }}\n  role: a\n"
        )
        source = Source.from_text("a.yaml", text)
        report = lint([source], LintRequest(Target(NEWEST), RULES))
        assert [(r.rule.name, source.position(r.span.start).line) for r in report.results] == [
            ("unsupported-alias", 11)
        ]

    def test_conditions_that_may_hold_together_are_no_branches(self) -> None:
        weights = "  {{- if .x }}\n  weight: 1\n  {{- end }}\n  {{- if .y }}\n  weight: 2\n  {{- end }}\n"
        source = Source.from_text("a.yaml", pool("spot").replace("spec:\n", "spec:\n" + weights, 1))
        report = lint([source], LintRequest(Target(NEWEST), RULES))
        assert [s.reason.partition(",")[0] for s in report.skipped if s.rule is None] == ["of `weight`"]

    def test_selectors_that_a_chart_has_under_conditions_need_not_be_there_together(self) -> None:
        terms = (
            "  amiSelectorTerms:\n  {{- with .ids }}\n  - id: {{ . }}\n  {{- end }}\n"
            "  {{- if .alias }}\n  - alias: {{ .alias }}\n  {{- end }}\n"
        )
        text = "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: a}\nspec:\n  role: a\n"
        text += "  subnetSelectorTerms: [{id: subnet-0123456789}]\n  securityGroupSelectorTerms: [{name: a}]\n"
        report = lint([Source.from_text("a.yaml", text + terms)], LintRequest(Target(NEWEST), RULES))
        assert report.results == ()


class TestYamlWithinYaml:
    def test_annotations_and_user_data_hold_no_objects(self) -> None:
        inner = json.dumps({"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {}})
        text = pool("spot").replace(
            "  name: default\n", f"  name: default\n  annotations:\n    last: |\n      {inner}\n", 1
        )
        assert len(parse_objects("a.yaml", text)) == 1
        outer = f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  annotations:\n    last: |\n      {inner}\n"
        assert parse_objects("a.yaml", outer) == []

    def test_references_are_no_objects(self) -> None:
        text = (
            "apiVersion: v1\nkind: Node\nmetadata:\n  ownerReferences:\n"
            "    - {apiVersion: karpenter.sh/v1, kind: NodeClaim, name: a}\n"
            "    - {apiVersion: karpenter.sh/v1, kind: NodePool, name: a}\n"
        )
        assert parse_objects("a.yaml", text) == []

    def test_a_script_in_a_workflow(self) -> None:
        step = "jobs:\n  a:\n    steps:\n      - run: |\n          kubectl apply -f - <<EOF\n"
        for value in ("${{ inputs.type }}", "$type", "$(get type)"):
            text = step + indented(pool(value), "          ") + "          EOF\n"
            (obj,) = parse_objects("ci.yaml", text)
            assert value_of(obj) is UNKNOWN
            assert obj.source.problems == []

    def test_a_text_in_a_text_in_a_text(self) -> None:
        values = "extraObjects:\n  - |\n" + indented(pool("${var.x}", "inner"), "    ")
        text = "values = [<<-EOT\n" + indented(values, "    ") + "    EOT\n]\n"
        (obj,) = parse_objects("a.tf", text)
        assert (obj.name, value_of(obj)) == ("inner", UNKNOWN)
        inner = indented(values, "        ")
        application = f"apiVersion: v1\nkind: ConfigMap\ndata:\n  app.yaml: |\n    helm:\n      values: |\n{inner}"
        (obj,) = parse_objects("a.yaml", application)
        assert obj.source.position(obj.node.start)[:2] == (9, 13)
        tabs = indented(application.replace("${var.x}", "$(x)"), "\t")
        (obj,) = parse_objects("a.sh", f"cat <<-EOF\n{tabs}\tEOF\n")
        assert (obj.name, value_of(obj)) == ("inner", UNKNOWN)

    def test_a_folded_manifest_is_said_to_be_unread(self) -> None:
        source = Source.from_bytes("a.yaml", (TREES / "config-map" / "configmap.yaml").read_bytes())
        assert [aside.message for aside in source.set_aside] == [
            "a manifest in a folded text, whose lines are joined: write `|` in the place of `>`"
        ]

    def test_a_plain_file_does_not_import_what_reads_others(self) -> None:
        code = (
            "import sys; from nodelint.text import Source; from nodelint.model.documents import objects\n"
            f"assert len(list(objects(Source.from_text('a.yaml', {pool('spot')!r})))) == 1\n"
            "assert 'nodelint.text.embedded' not in sys.modules"
        )
        subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])


# -- against a parser of the language, and on any text


hcl_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), max_size=12),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.from_regex(r"[a-z][a-z0-9_./-]{0,8}", fullmatch=True), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(hcl_values)
def test_hcl_says_what_it_was_made_from(value: Any) -> None:
    root = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "spec": {"x": value}}
    text = f"manifest = {as_hcl(root)}\n"
    (obj,) = parse_objects("a.tf", text)
    assert obj.node.plain() == root


@settings(max_examples=settings().max_examples // 2)
@given(hcl_values)
def test_hcl_agrees_with_another_parser(value: Any) -> None:
    hcl2 = pytest.importorskip("hcl2")
    root = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "spec": {"x": value}}
    text = f"manifest = {as_hcl(root)}\n"
    (obj,) = parse_objects("a.tf", text)

    def plain(found: Any) -> Any:
        if isinstance(found, dict):
            return {
                json.loads(k) if k.startswith('"') else k: plain(v)
                for k, v in found.items()
                if not k.startswith("__")
            }
        if isinstance(found, list):
            return [plain(item) for item in found]
        if isinstance(found, str) and found.startswith('"'):
            return json.loads(found).replace("$${", "${").replace("%%{", "%{")
        return found

    assert plain(hcl2.loads(text)["manifest"]) == obj.node.plain()


PIECES = [
    "apiVersion: karpenter.sh/v1\n", 'apiVersion = "karpenter.sh/v1"', "kind: NodePool\n", "spec:\n", "  - a: ",
    "<<EOT\n", "<<-EOF\n", "<<'EOF'\n", "EOT\n", "EOF\n", "${", "}", "%{ if x }\n", "%{ endif }", "{", "[", "]", "(",
    ")", '"', "'", "`", "$(", "$((", "\\", "#", "//", "/*", "*/", "```yaml\n", "```\n", "~~~\n", "---\n", "\t", "  ",
    "\n", "\r\n", "|\n", ">-\n", "data:\n", "  x: |\n", "manifest = ", "=", ":", ",", "for", "\ufeff", "\0",
    "é", "...",
]  # fmt: skip


@given(
    st.sampled_from(["a.tf", "a.sh", "a.md", "a.yaml", "a.yaml.tpl", "a.tftpl"]),
    st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=40).map("".join),
)
def test_no_text_breaks_a_reader(path: str, text: str) -> None:
    source = Source.from_text(path, "karpenter\n" + text)
    for obj in objects(source):
        assert obj.node.end <= len(source.text)
        for node in obj.node.walk():
            assert 0 <= node.start <= node.end <= len(source.text)
    for problem in source.problems:
        assert 0 <= problem.offset <= len(source.text)


@given(st.sampled_from(sorted(TREES.rglob("*.*"))), st.data())
def test_no_half_of_a_file_breaks_a_reader(path: Path, data: st.DataObject) -> None:
    if not path.is_file():
        return
    text = path.read_text(encoding="utf-8")
    cut = data.draw(st.integers(0, len(text)))
    for half in (text[:cut], text[cut:], text[:cut] + text[cut + 1 :]):
        assert isinstance(list(objects(Source.from_text(path.name, half))), list)


class TestNoFalseAlarm:
    """What looks like an object and is not one, or is not all of one."""

    def test_what_is_deleted_or_patched_by_a_script(self) -> None:
        short = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\n"
        assert parse_objects("a.sh", f"kubectl delete -f - <<EOF\n{short}EOF\n") == []
        (obj,) = parse_objects("a.sh", f'kubectl patch nodepool a --patch "$(cat <<EOF\n{short}EOF\n)"\n')
        assert obj.partial

    def test_a_play_that_takes_an_object_away(self) -> None:
        inner = "    definition: {apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: a}}\n"
        assert parse_objects("a.yaml", f"- kubernetes.core.k8s:\n    state: absent\n{inner}") == []

    def test_the_base_of_a_composition_is_a_part(self) -> None:
        text = (
            "apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nspec:\n  resources:\n    - base:\n"
            "        spec:\n          manifest: {apiVersion: karpenter.sh/v1, kind: NodePool, spec: {weight: 1}}\n"
        )
        (obj,) = parse_objects("a.yaml", text)
        assert obj.partial

    def test_a_patch_of_a_pool_of_auto_mode_or_of_another_cloud(self) -> None:
        for key in ("eks.amazonaws.com/instance-category", "karpenter.azure.com/sku-family"):
            line = {"key": key, "operator": "In", "values": ["c"]}
            assert parse_objects("a.yaml", in_patch("NodePool", [("/spec/template/spec/requirements/-", line)])) == []
            whole = pool("c").replace("group: karpenter.k8s.aws, kind: EC2NodeClass, ", "")
            assert parse_objects("a.yaml", whole.replace("karpenter.sh/capacity-type", key)) == []
        own = {"key": "karpenter.k8s.aws/instance-category", "operator": "In", "values": ["c"]}
        assert len(parse_objects("a.yaml", in_patch("NodePool", [("/spec/template/spec/requirements/-", own)]))) == 1

    def test_a_patch_of_operations_for_another_kind_or_version(self) -> None:
        text = in_patch("NodePool", [("/spec/weight", "x")])
        assert len(parse_objects("a.yaml", text)) == 1
        assert parse_objects("a.yaml", text.replace("kind: NodePool", "kind: Deployment")) == []
        assert parse_objects("a.yaml", text.replace("kind: NodePool", "kind: NodePool\n      version: v1beta1")) == []
        assert parse_objects("a.yaml", text.replace("op: replace", "op: remove")) == []

    def test_what_only_looks_like_a_heredoc_in_a_script(self) -> None:
        for line in ('echo "<<EOF"', "echo 'use <<EOF'", "echo $((1<<2))", "grep <<< EOF", "# <<EOF"):
            assert len(parse_objects("a.sh", f"{line}\ncat <<EOF\n{pool('spot')}EOF\n")) == 1
        assert len(parse_objects("a.sh", f'x="$(cat <<EOF\n{pool("spot")}EOF\n)"\n')) == 1

    def test_tabs_of_different_number_are_taken_away_by_a_shell(self) -> None:
        first, _, rest = pool("spot").partition("\n")
        source = Source.from_text("a.sh", f"cat <<-EOF\n{first}\n{indented(rest, chr(9))}EOF\n")
        assert (source.problems, len(source.set_aside)) == ([], 1)

    def test_a_large_file_of_values_is_no_mistake(self) -> None:
        filler = "".join(f"k{n}: {{a: [1, 2, 3], b: {'x' * 9000}}}\n" for n in range(600))
        values = f"objects:\n  - {indented(pool('spot'), '    ').lstrip()}{filler}"
        source = Source.from_text("values.yaml", values)
        assert (source.problems, len(source.set_aside)) == ([], 1)
        source = Source.from_text("a.yaml", pool("spot") + filler)
        assert len(source.problems) == 1

    def test_a_script_in_another_encoding(self) -> None:
        data = "# für karpenter.sh/v1\n".encode("latin-1")
        assert Source.from_bytes("a.sh", data).problems == []
        assert len(Source.from_bytes("a.yaml", data).problems) == 1
        assert len(Source.from_bytes("a.tf", data).problems) == 1


def in_values(text: str) -> str:
    """Each document an item of a list in a HelmRelease's values."""
    head = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: a}\n"
    head += "spec:\n  values:\n    objects:\n"
    items = [part for part in re.split(r"(?m)^---.*\n", text) if part.strip()]
    return head + "".join("      - " + indented(part, "        ")[8:] for part in items)


def _fits_values(case: ExamplePair) -> bool:
    # an object below others is found by its kind and its `spec`; what stands above its first key is not its own
    def fits(text: str) -> bool:
        return all(re.match(r"apiVersion|kind", part) for part in re.split(r"(?m)^---.*\n", text) if part.strip())

    return _is_embedded(case) and fits(case.bad.text) and fits(TRIAL.good(case).text)


@LAWS.about(_fits_values)
def values_of_a_release_change_no_finding(case: ExamplePair) -> None:
    if len(parse_objects("a.yaml", in_values(case.bad.text))) != len(parse_objects("a.yaml", case.bad.text)):
        assert "spec:" not in case.bad.text, "an object with a spec is found wherever it stands"
        return

    def finding_lines(source: Source, report: Report) -> list[tuple[str, str, str]]:
        return sorted(
            (r.rule.name, r.finding.message, source.line(_line(source, r.span.start)).lstrip(" -"))
            for r in report.results
        )

    def _line(source: Source, at: int) -> int:
        return source.position(at).line

    assert finding_lines(*judged("a.yaml", in_values(case.bad.text), case)) == finding_lines(
        *judged("a.yaml", case.bad.text, case)
    )


@LAWS.about(lambda case: _fits_values(case) and has_fix(case))
def a_fix_lands_in_the_values_of_a_release(case: ExamplePair) -> None:
    done = mended("a.yaml", in_values(case.bad.text), case)
    assert not done.refused
    assert done.sources[0].text == in_values(TRIAL.good(case).text)


def _collections(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if isinstance(value, (dict, list)) else []
    if isinstance(value, dict):
        return found + [p for k, v in value.items() for p in _collections(v, (*path, k))]
    if isinstance(value, list):
        return found + [p for i, v in enumerate(value) for p in _collections(v, (*path, i))]
    return found


def _laid_out(value: Any, draw: Callable[[Any], Any], indent: str = "  ") -> str:
    """A value as HCL in some layout or other, with comments where there may be some."""
    inner = indent + "  "
    if not isinstance(value, (dict, list)) or not value:
        return as_hcl(value)
    parts = (
        [f"{json.dumps(k)} = {_laid_out(v, draw, inner)}" for k, v in value.items()]
        if isinstance(value, dict)
        else [_laid_out(v, draw, inner) for v in value]
    )
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    if not draw(st.booleans()):
        return f"{opening} {', '.join(parts)} {closing}"
    out = ""
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        comma = "," if (isinstance(value, list) and not last) or draw(st.booleans()) else ""
        out += draw(st.sampled_from(["", f"{inner}# above\n", f"{inner}// above\n"]))
        out += (
            inner + part + comma + draw(st.sampled_from(["", " # beside, it", " // beside", " /* beside */"])) + "\n"
        )
    return f"{opening}\n{out}{indent}{closing}"


@given(st.dictionaries(st.sampled_from("abcd"), hcl_values, min_size=1, max_size=4), st.data())
def test_an_edit_of_hcl_changes_what_it_says_and_nothing_else(value: dict[str, Any], data: st.DataObject) -> None:
    root = {"apiVersion": "karpenter.sh/v1", "spec": value}
    text = f"manifest = {_laid_out(root, data.draw)}\n"
    source = Source.from_text("a.tf", text)
    (document,) = [d for d in source.documents if d.root is not None]
    assert document.root is not None and document.root.plain() == root
    path = data.draw(st.sampled_from(_collections(value)))
    node = document.root.find("spec", *path)
    wanted: Any = json.loads(json.dumps(root))
    target = wanted["spec"]
    for step in path:
        target = target[step]
    assert node is not None
    new = data.draw(hcl_values)
    members = [*target] if isinstance(target, dict) else [*range(len(target))]
    act = data.draw(st.sampled_from(["add", "remove", "replace"] if members else ["add"]))
    if act == "add" and isinstance(target, list):
        at = data.draw(st.integers(0, len(target)))
        made = edits.insert_item(node, at, new)
        target.insert(at, new)
    elif act == "add":
        first = data.draw(st.booleans())
        made = edits.add_keys(node, {"new key": new, "Z": 1}, first=first)
        target.update({"new key": new, "Z": 1})
    else:
        member = data.draw(st.sampled_from(members))
        below = node.find(member)
        assert below is not None
        made = edits.remove(below) if act == "remove" else edits.replace(below, new)
        if act == "remove":
            del target[member]
        else:
            target[member] = new
    after = edits.apply(text, made)
    roots = [d.root for d in Source.from_text("a.tf", after).documents if d.root is not None]
    assert [r.plain() for r in roots] == [wanted], after
    assert act != "add" or after.count("above") == text.count("above")


SCRIPT = """\
cat <<EOF | kubectl apply -f -
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      requirements:
        - {key: karpenter.sh/capacity-typ, operator: In, values: [spot]}
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: "${CLUSTER}"}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: "${CLUSTER}"
spec:
  role: "node-$(whoami)"
  amiSelectorTerms: [{alias: al2023@v20250403}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
EOF
"""


@pytest.mark.parametrize(
    "head", ["", "#!/bin/sh\nset -e\n", "# the pools\n", "export CLUSTER=main\n\n", "\ufeff", "kubectl create ns x\n"]
)
def test_a_script_under_a_name_of_yaml(head: str, nodelint: Run, tmp_path: Path) -> None:
    path = tmp_path / "pools.yaml"
    path.write_text(head + SCRIPT, encoding="utf-8")
    (tmp_path / "known.sh").write_text(head + SCRIPT, encoding="utf-8")
    found = [json.loads(nodelint("check", "--format", "json", name).stdout) for name in ("pools.yaml", "known.sh")]
    places = [[(f["rule"], f["start"]["line"], f["start"]["column"]) for f in entry["findings"]] for entry in found]
    assert places[0] == places[1]
    assert ("unknown-label", 10 + head.count("\n"), 17) in places[0]
    assert found[0]["summary"]["objects"] == 2
    nodelint("check", "--fix", "pools.yaml")
    assert path.read_text(encoding="utf-8") == head + SCRIPT.replace("capacity-typ,", "capacity-type,")


@pytest.mark.parametrize(
    "text",
    [
        # a step of a workflow, whose own mistake is to be told
        "jobs:\n  a:\n  - run: |\n" + indented(SCRIPT, "     ") + "  - name: 'x\n",
        "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: [}\n---\n" + SCRIPT,
        "a: b: c karpenter.sh/v1\n",
    ],
)
def test_yaml_that_cannot_be_read_is_no_script(text: str) -> None:
    source = Source.from_text("a.yaml", text)
    assert source.problems
    assert all(document.host != "shell" for document in source.documents)


@pytest.mark.parametrize("rule", representatives())
def test_the_examples_of_a_rule_keep_the_laws_of_hosts(rule: str) -> None:
    LAWS.hold(rule)
