"""Two commands, two formats, or a part and the whole of a repository give the same answer."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.manifests import nodeclass, nodepool
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]

BY_NAME = "name: amazon-eks-node-al2023-x86_64-standard-1.33-v20260618, owner: amazon"
BOTH = "key: kubernetes.io/arch, operator: In, values: [amd64, arm64]"


def rows(text: str) -> list[int]:
    """The numbers in front of the bars of `explain`."""
    return [int(row.replace(",", "")) for row in re.findall(r"(?m)^ +([\d,]+)  [█·]+ ", text)]


def launched(text: str) -> int:
    verdict = re.search(r"=> (?:at most )?([\d,]+) of [\d,]+ instance types can be launched", text)
    assert verdict is not None, text
    return int(verdict[1].replace(",", ""))


@pytest.mark.parametrize("cpu", ["16", "100000"])
def test_all_formats_of_explain_count_the_same_types(tmp_path: Path, nodelint: Run, cpu: str) -> None:
    pool = nodepool("key: kubernetes.io/arch, operator: In, values: [amd64]", spec=f"  limits: {{cpu: {cpu}}}\n")
    (tmp_path / "a.yaml").write_text(f"{pool}---\n{nodeclass()}", encoding="utf-8")
    text = nodelint("explain", "a.yaml").stdout
    assert rows(text)[-1] == launched(text)
    found = json.loads(nodelint("explain", "a.yaml", "--format", "json").stdout)["nodePools"][0]
    assert len(found["instanceTypes"]) == launched(text)
    page = nodelint("explain", "a.yaml", "--format", "html").stdout
    assert f"{launched(text):,} of" in page
    is_limited = cpu == "16"
    assert bool(found["unlaunchable"]) is is_limited
    assert (f"spec.limits, cpu: {cpu}" in page) is is_limited


def test_numbers_of_one_explanation_add_up(tmp_path: Path, nodelint: Run) -> None:
    pool = nodepool(BOTH, spec="  limits: {cpu: 64}\n")
    (tmp_path / "a.yaml").write_text(f"{pool}---\n{nodeclass('amiFamily: AL2023', ami=BY_NAME)}", encoding="utf-8")
    text = nodelint("explain", "a.yaml").stdout
    more = [
        int(number.replace(",", ""))
        for number in re.findall(r"([\d,]+)\s+more", text.partition("=>")[2].partition("\n\n")[0])
    ]
    assert len(more) == 2
    assert rows(text)[-1] == launched(text)
    assert launched(text) + sum(more) in rows(text)
    found = json.loads(nodelint("explain", "a.yaml", "--format", "json").stdout)["nodePools"][0]
    assert len(found["unlaunchable"]) == sum(more)


OVERLAYS = {
    "base/pools.yaml": nodepool(BOTH, name="a", spec="  weight: 5\n") + "---\n" + nodepool(BOTH, name="b"),
    "base/class.yaml": nodeclass(),
    "base/kustomization.yaml": "resources: [pools.yaml, class.yaml]\n",
    "overlays/dev/kustomization.yaml": "resources: [../../base]\n",
    "overlays/prod/kustomization.yaml": "resources: [../../base]\n",
}


def test_pools_of_different_environments_are_not_compared(tmp_path: Path, nodelint: Run) -> None:
    write_files(tmp_path, OVERLAYS)
    page = nodelint("explain", "--format", "html").stdout
    assert page.count("<table class=matrix>") == 2
    assert "<th>3</th>" not in page
    text = nodelint("explain").stdout
    assert "overlays/dev: a (5) > b (0)" in text and "overlays/prod: a (5) > b (0)" in text
    page_of_base = nodelint("explain", "base", "--format", "html").stdout
    assert page_of_base.count("<table class=matrix>") == 1


def test_a_patch_of_an_overlay_that_is_not_built_is_not_explained(tmp_path: Path, nodelint: Run) -> None:
    patch = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec: {limits: {cpu: 5}}\n"
    files = {**OVERLAYS, "overlays/prod/patch.yaml": patch}
    files["overlays/prod/kustomization.yaml"] += "patches: [{path: patch.yaml}]\n"
    write_files(tmp_path, files)
    assert nodelint("explain").stdout.count("\nNodePool a ") + 1 == 2
    (tmp_path / "base/pools.yaml").write_text(files["base/pools.yaml"] + " limits:\n", encoding="utf-8")
    assert "\nNodePool " not in "\n" + nodelint("explain", "overlays").stdout


LIFETIME = nodepool(template="      expireAfter: %s\n", spec="  weight: 3\n")


@pytest.mark.parametrize(("lifetime", "is_known"), [("${LIFETIME}", False), ("720h", True)])
def test_what_is_judged_in_part_is_the_same_everywhere(
    tmp_path: Path, nodelint: Run, lifetime: str, is_known: bool
) -> None:
    (tmp_path / "a.yaml").write_text(f"{LIFETIME % lifetime}---\n{nodeclass()}", encoding="utf-8")
    done = nodelint("check", "a.yaml", "--select", "narrow-spot", "--fail-on-unjudged")
    assert ("1 pool not judged in full" in done.stdout) is not is_known
    assert done.returncode == int(not is_known)
    found = json.loads(nodelint("check", "a.yaml", "--format", "json").stdout)["coverage"]
    assert len(found["inPart"]) == int(not is_known)


@pytest.mark.parametrize("has_class", [False, True])
def test_an_object_that_a_rule_skips_is_judged_in_part(tmp_path: Path, nodelint: Run, has_class: bool) -> None:
    text = f"{nodepool(BOTH)}---\n{nodeclass()}" if has_class else nodepool(BOTH)
    (tmp_path / "a.yaml").write_text(text, encoding="utf-8")
    done = nodelint("check", "a.yaml", "--select", "image-arch-mismatch", "--fail-on-unjudged")
    assert ("1 pool not judged in full" in done.stdout) is not has_class, done.stdout
    assert done.returncode == int(not has_class)
    found = nodelint("check", "a.yaml", "--select", "image-arch-mismatch", "--format", "json").stdout
    assert len(json.loads(found)["coverage"]["inPart"]) == int(not has_class)


PULUMI = "name: a\nruntime: yaml\nresources:\n  pool:\n    type: kubernetes:apiextensions.k8s.io:CustomResource\n"


@pytest.mark.parametrize(("lifetime", "clear"), [("${lifetime}", "No findings"), ("720h", "All good")])
def test_a_value_of_a_pulumi_program_s_configuration_is_no_all_clear(
    tmp_path: Path, nodelint: Run, lifetime: str, clear: str
) -> None:
    properties = "".join(f"      {line}\n" for line in (LIFETIME % lifetime).splitlines())
    write_files(
        tmp_path,
        {
            "Pulumi.yaml": f"{PULUMI}    properties:\n{properties}",
            "Pulumi.prod.yaml": "config:\n  karpenter:lifetime: 30d\n",
        },
    )
    assert nodelint("check", "--select", "narrow-spot").stdout.splitlines()[-1].startswith(clear)


PROGRAM = 'POOL = """\n%s"""\n' % nodepool()  # noqa: UP031


@pytest.mark.parametrize("name", ["a.py", "a.ts", "a.jsonnet", "a.go", "a.cue"])
def test_a_named_program_is_not_read_as_yaml(tmp_path: Path, nodelint: Run, name: str) -> None:
    (tmp_path / name).write_text(PROGRAM, encoding="utf-8")
    whole, alone = nodelint("check"), nodelint("check", name)
    line = next(line for line in whole.stdout.splitlines() if line.startswith("Not read:"))
    assert line in alone.stdout
    assert "yaml-syntax" not in alone.stdout
    assert nodelint("check", name, "--fail-on-unjudged").returncode == 1
    assert nodelint("check", "missing.py").returncode == 2


def test_a_named_manifest_beside_a_program_is_judged(tmp_path: Path, nodelint: Run) -> None:
    write_files(tmp_path, {"a.py": "print(1)\n", "pool.yaml": nodepool("key: a b, operator: In, values: [c]")})
    done = nodelint("check", "a.py", "pool.yaml")
    assert "pool.yaml:" in done.stdout
    assert "1 Python file (a.py); pipe what it generates" in done.stdout


def test_a_clone_beside_a_named_file_is_another_repository(tmp_path: Path, nodelint: Run) -> None:
    overlay = {"kustomization.yaml": "resources: [../named/pool.yaml]\nnamePrefix: karpenter-\n"}
    for folder, git in (("clone", {".git/HEAD": "ref: refs/heads/main\n"}), ("plain", {})):
        write_files(tmp_path, {f"{folder}/{path}": text for path, text in {**overlay, **git}.items()})
    write_files(tmp_path, {"named/pool.yaml": nodepool()})
    read = nodelint("check", "named/pool.yaml", "--format", "json", "--verbose").stdout
    assert json.loads(read)["summary"]["files"] == 2
    (tmp_path / "plain/.git").mkdir()
    read = nodelint("check", "named/pool.yaml", "--format", "json", "--verbose").stdout
    assert json.loads(read)["summary"]["files"] == 1


MODULE = {
    "infra/main.tf": 'module "pools" {\n  source = "../modules/pools"\n  alias  = var.alias\n}\n',
    "infra/variables.tf": 'variable "alias" { type = string }\n',
    "infra/envs/dev.tfvars": 'alias = "al2023@v20260618"\n',
    "infra/envs/prod.tfvars": 'alias = "al2023@v20260618"\n',
    "modules/pools/main.tf": 'variable "alias" { type = string }\nresource "kubectl_manifest" "class" {\n'
    '  yaml_body = templatefile("${path.module}/class.yaml.tftpl", { alias = var.alias })\n}\n',
    "modules/pools/class.yaml.tftpl": nodeclass(ami="alias: ${alias}"),
}


def test_a_value_that_all_variables_files_give_is_known(tmp_path: Path, nodelint: Run) -> None:
    write_files(tmp_path, MODULE)
    assert "Not known" not in nodelint("check").stdout
    (tmp_path / "infra/envs/prod.tfvars").unlink()
    (tmp_path / "infra/envs/dev.tfvars").unlink()
    assert "amiSelectorTerms[0].alias is `${alias}`" in nodelint("check").stdout


@pytest.mark.parametrize(
    ("alias", "safety"),
    [("al2023@2026.06.18", "safe"), ("al2@v20240807", "unsafe")],
    ids=["no release has such a version", "an older cluster had the image"],
)
def test_the_fix_of_a_class_that_never_found_an_image_is_safe(
    tmp_path: Path, nodelint: Run, alias: str, safety: str
) -> None:
    text = f"{nodepool()}---\n{nodeclass(ami=f'alias: {alias}')}"
    (tmp_path / "a.yaml").write_text(text, encoding="utf-8")
    flags = ["--kubernetes-version", "1.33", "--karpenter-version", "1.14.1"]
    done = nodelint("check", "a.yaml", "--format", "json", *flags)
    found = [f for f in json.loads(done.stdout)["findings"] if f["rule"] == "unsupported-alias"]
    offered = {"unsafe"} if found[0]["fix"] is None else {found[0]["fix"]["safety"]}
    assert offered == {safety}, done.stdout


def test_a_fix_that_leads_to_another_finding_does_not_claim_that_nodes_are_replaced(
    tmp_path: Path, nodelint: Run
) -> None:
    types = "key: node.kubernetes.io/instance-type, operator: In, values: [m6i.2xlarge, m7i.2xlarge, m7g.2xlarge]"
    text = f"{nodepool(BOTH, types)}---\n{nodeclass('amiFamily: AL2023', ami=BY_NAME)}"
    (tmp_path / "a.yaml").write_text(text, encoding="utf-8")
    shown = " ".join(nodelint("check", "a.yaml", "--select", "image-arch-mismatch,unmatchable-value").stdout.split())
    assert "it brings a new finding, unmatchable-value; no running node is replaced" in shown
    assert "RequirementsDrifted" not in shown


GRAVITON = {
    "base/class.yaml": nodeclass("amiFamily: AL2023", ami=BY_NAME),
    "base/pool.yaml": nodepool("key: kubernetes.io/arch, operator: In, values: [amd64]"),
    "base/kustomization.yaml": "resources: [class.yaml, pool.yaml]\n",
    "overlays/dev/kustomization.yaml": "resources: [../../base]\n",
    "overlays/prod/kustomization.yaml": "resources: [../../base]\npatches:\n- path: arch.yaml\n"
    "  target: {kind: NodePool}\n",
    "overlays/prod/arch.yaml": "- op: add\n  path: /spec/template/spec/requirements/0/values/-\n  value: arm64\n",
    ".git/HEAD": "ref: refs/heads/main\n",
}
AT = "overlays/prod/arch.yaml:3"


def test_a_suggestion_for_a_shared_file_names_the_other_overlays(tmp_path: Path, nodelint: Run) -> None:
    write_files(tmp_path, GRAVITON)
    whole = " ".join(nodelint("check").stdout.split())
    assert "(also changes overlays/dev)" in whole
    assert "1 fixable with --apply FILE:LINE" in whole
    assert "Fixed 1 finding" in nodelint("check", "--apply", AT).stdout


def test_a_suggestion_that_cannot_be_applied_is_not_counted(tmp_path: Path, nodelint: Run) -> None:
    write_files(tmp_path, GRAVITON)
    part = " ".join(nodelint("check", "overlays/prod").stdout.split())
    assert "in base/class.yaml, which was not named" in part
    assert "--apply FILE:LINE" not in part
    assert "1 fixable if the files of the edits are named too" in part
    assert "Fixed 1 finding" in nodelint("check", "overlays/prod", "base/class.yaml", "--apply", AT).stdout


def test_a_suggestion_for_a_file_of_one_overlay_names_none(tmp_path: Path, nodelint: Run) -> None:
    write_files(tmp_path, {path: text for path, text in GRAVITON.items() if "dev" not in path})
    shown = nodelint("check").stdout
    assert "also changes" not in shown
    assert "1 fixable with --apply FILE:LINE" in shown
