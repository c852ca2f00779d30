"""What no file of manifests shows: programs, hidden folders, patterns of files, what a program imports."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plan.test_plan_missing_references import APPLICATION, BOTH, CHART, Edit, Files, Run, change, plan
from tests.plan.test_plan_missing_references import HCL as TERRAFORM

POOLS = {"x/n.yaml": BOTH}
OLD = BOTH.replace("name: web", "name: old").replace("name: default", "name: old")
EXCLUDED = {
    "a.yaml": APPLICATION.replace("pools/prod}", 'pools, directory: {recurse: true, exclude: "old/*"}}'),
    "pools/n.yaml": BOTH,
    "pools/old/n.yaml": OLD,
}
TILT = "k8s_yaml(helm('./c', name='nodes', set=['cost=t']))\nk8s_resource('x')\n"
CDK = "cluster.addHelmChart('n', {chart: 'karpenter-nodes', repository: 'oci://x', values: VALUES});\nconst x = 1;\n"
PATCHED = """\
releases:
  - name: karpenter-nodes
    chart: ./c
    strategicMergePatches:
      - {apiVersion: V, kind: KIND, metadata: {name: default}, spec: {x: "2"}}
"""
GENERATED = {
    "prod/kustomization.yaml": "resources: [n.yaml]\ngenerators: [g.yaml]\n",
    "prod/n.yaml": BOTH,
    "prod/g.yaml": "apiVersion: x/v1\nkind: Pools\nmetadata: {name: g}\nspec: {pools: 3}\n",
}
JSONNET = {
    "n.jsonnet": 'local t = import "t.libsonnet";\n'
    '{apiVersion: "karpenter.k8s.aws/v1", kind: "EC2NodeClass", metadata: {name: "web"}, spec: {tags: t}}\n',
    "t.libsonnet": '{team: "a"}\n',
    "u.libsonnet": '{team: "a"}\n',
}
REMOTE = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: nodes}
spec:
  sources:
    - {repoURL: https://charts.example.com, chart: fleet, targetRevision: 1.0.0, helm: {valueFiles: [$v/prod.yaml]}}
    - {repoURL: https://example.com/x.git, ref: v}
"""
SOPS = 'data "sops_file" "s" {\n  source_file = "s.yaml"\n}\n'
DECRYPTED = SOPS + TERRAFORM.replace("cost: web", 'cost: ${data.sops_file.s.data["cost"]}')
CHANGED: dict[str, tuple[Files, Edit]] = {
    "Tiltfile": ({**CHART, "Tiltfile": TILT}, ("Tiltfile", "cost=t", "cost=u")),
    "remote chart of a Tiltfile": (
        {**POOLS, "Tiltfile": "helm_remote('karpenter-nodes', version='1.0.0')\n"},
        ("Tiltfile", "1.0.0", "1.1.0"),
    ),
    "CDK": ({**POOLS, "s.ts": CDK.replace("VALUES", "{cost: 'a'}")}, ("s.ts", "'a'", "'b'")),
    "values of the CDK in a name": (
        {**POOLS, "s.ts": f"const v = {{cost: 'a'}};\n{CDK.replace('VALUES', 'v')}"},
        ("s.ts", "'a'", "'b'"),
    ),
    "Application in a hidden folder": (
        {**CHART, ".argocd/a.yaml": APPLICATION.replace("pools/prod}", "c, helm: {valuesObject: {cost: q}}}")},
        (".argocd/a.yaml", "cost: q", "cost: r"),
    ),
    "file that is included": (EXCLUDED, ("pools/n.yaml", "cost: web", "cost: b")),
    "patch of the class": (
        {**CHART, "helmfile.yaml": PATCHED.replace("V,", "karpenter.k8s.aws/v1,").replace("KIND", "EC2NodeClass")},
        ("helmfile.yaml", '"2"', '"3"'),
    ),
    "generator": (GENERATED, ("prod/g.yaml", "pools: 3", "pools: 4")),
    "import": (JSONNET, ("t.libsonnet", '"a"', '"b"')),
    "version of a remote chart with values of pools": (
        {**POOLS, "a.yaml": REMOTE, "prod.yaml": "nodePools:\n  web: {types: [m5.large]}\n"},
        ("a.yaml", "1.0.0", "1.1.0"),
    ),
    "encrypted file": ({"main.tf": DECRYPTED, "s.yaml": "cost: ENC[x]\n"}, ("s.yaml", "ENC[x]", "ENC[y]")),
    "list of files that helm ignores": (
        {**CHART, "c/.helmignore": "x\n"},
        ("c/.helmignore", "x", "templates/n.yaml"),
    ),
}
UNCHANGED: dict[str, tuple[Files, Edit]] = {
    "another call of a Tiltfile": ({**CHART, "Tiltfile": TILT}, ("Tiltfile", "('x')", "('y')")),
    "another chart of a Tiltfile": (
        {**POOLS, "Tiltfile": "helm_remote('redis', version='1.0.0')\n"},
        ("Tiltfile", "1.0.0", "1.1.0"),
    ),
    "another statement of a program": (
        {**POOLS, "s.ts": CDK.replace("VALUES", "{cost: 'a'}")},
        ("s.ts", "const x = 1", "const x = 2"),
    ),
    "hidden folder of something else": ({**POOLS, ".web/a.yaml": "a: 1\n"}, (".web/a.yaml", "1", "2")),
    "file that is excluded": (EXCLUDED, ("pools/old/n.yaml", "cost: web", "cost: b")),
    "pattern that leaves out the same files": (EXCLUDED, ("a.yaml", '"old/*"', '"{old/*,no/*}"')),
    "patch of a Deployment": (
        {**CHART, "helmfile.yaml": PATCHED.replace("V,", "apps/v1,").replace("KIND", "Deployment")},
        ("helmfile.yaml", '"2"', '"3"'),
    ),
    "comment in a generator": (GENERATED, ("prod/g.yaml", "spec:", "# more\nspec:")),
    "file that no program imports": (JSONNET, ("u.libsonnet", '"a"', '"b"')),
    "version of a remote chart without pools": (
        {**POOLS, "a.yaml": REMOTE, "prod.yaml": "nodeSelector: {karpenter.sh/nodepool: web}\n"},
        ("a.yaml", "1.0.0", "1.1.0"),
    ),
    "comment in the list of files that helm ignores": (
        {**CHART, "c/.helmignore": "x\n"},
        ("c/.helmignore", "x", "# more\nx"),
    ),
}


@pytest.mark.parametrize("name", CHANGED)
def test_a_change_that_may_reach_nodes_is_not_unchanged(nodelint: Run, tmp_path: Path, name: str) -> None:
    files, edit = CHANGED[name]
    done = plan(nodelint, tmp_path, files, change(files, edit))
    assert done.returncode == 1 and "No node is replaced." not in done.stdout, done.stdout


@pytest.mark.parametrize("name", UNCHANGED)
def test_a_change_of_something_else_is_no_alarm(nodelint: Run, tmp_path: Path, name: str) -> None:
    files, edit = UNCHANGED[name]
    done = plan(nodelint, tmp_path, files, change(files, edit))
    assert done.returncode == 0, done.stdout


def test_a_class_that_is_refused_has_no_nodes_whatever_its_role_is(nodelint: Run, tmp_path: Path) -> None:
    text = TERRAFORM.replace("role: nodes", "role: ${var.role}")
    start = text.index("amiSelectorTerms: [")
    refused = f"{text[:start]}amiSelectorTerms: []{text[text.index(chr(10), start) :]}"
    for name, body, code in (("refused", refused, 0), ("accepted", text, 1)):
        files = {"main.tf": f'variable "role" {{}}\n{body}'}
        done = plan(nodelint, tmp_path / name, files, change(files, ("main.tf", "cost: web", "cost: b")))
        assert done.returncode == code, done.stdout
