"""An object of a file that Terraform decodes is one object: that of the file, or the one that Terraform prints."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]

POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: {name}}}
spec:
  limits: {{cpu: 100}}
  template:
    spec:
      nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}
      requirements:
      - {{key: karpenter.k8s.aws/instance-family, operator: In, values: {families}}}
"""
READ = {
    "file": 'yamldecode(file("${path.module}/${f}"))',
    "templatefile": 'yamldecode(templatefile("${path.module}/${f}", { families = jsonencode(["m5", "c7-a"]) }))',
}
MAIN = """\
locals {{
  pools = {{ for f in fileset(path.module, "pools/*.yaml") : f => {read} }}
}}
resource "kubectl_manifest" "p" {{
  for_each  = local.pools
  yaml_body = yamlencode({value})
}}
"""
OVER = '{ limits = { cpu = "3x" } }'
PRINTED = {
    "as it is": "each.value",
    "a field added": f"merge(each.value, {{ spec = merge(each.value.spec, {OVER}) }})",
    "as a new object": "{ apiVersion = each.value.apiVersion, kind = each.value.kind, metadata = each.value.metadata,"
    f" spec = merge(each.value.spec, {OVER}) }}",
}


def write(folder: Path, read: str, value: str, name: str = "main.tf") -> None:
    files = {"a": '["m5", "c7-a"]', "b": '["m5", "c7a"]'}
    families = {name: text if read == "file" else "${families}" for name, text in files.items()}
    pools = {f"pools/{name}.yaml": POOL.format(name=name, families=text) for name, text in families.items()}
    write_files(folder, {**pools, name: MAIN.format(read=READ[read], value=value)})


@pytest.mark.parametrize("read", READ)
@pytest.mark.parametrize("printed", PRINTED)
@pytest.mark.parametrize("word", ["", "# karpenter\n"])
def test_each_object_counts_once_with_the_values_that_it_gets(
    nodelint: Run, tmp_path: Path, read: str, printed: str, word: str
) -> None:
    write(tmp_path, read, PRINTED[printed])
    main = tmp_path / "main.tf"
    main.write_text(word + main.read_text(encoding="utf-8"), encoding="utf-8")
    explained = nodelint("explain", ".").stdout
    assert re.findall(r"(?m)^NodePool (\w+) ", explained) == ["a", "b"], explained
    report = json.loads(nodelint("check", "--format", "json", ".").stdout)
    found = [(finding["rule"], finding["path"]) for finding in report["findings"] if finding["severity"] != "info"]
    refused = [path for rule, path in found if rule == "invalid-field"]
    assert refused == ([] if printed == "as it is" else ["main.tf"]), found
    assert [rule for rule, _ in found if rule == "unknown-value"] == ["unknown-value"], found


def test_a_plan_counts_each_pool_once(nodelint: Run, tmp_path: Path) -> None:
    for name, cpu in (("old", "8"), ("new", "9")):
        write(tmp_path / name, "templatefile", PRINTED["a field added"].replace("3x", cpu))
    done = nodelint("plan", "--old", "old", "new")
    assert "\n2 NodePools: " in done.stdout, done.stdout


def test_an_object_that_only_a_variable_file_names_is_judged(nodelint: Run, tmp_path: Path) -> None:
    """The module does not name Karpenter: it prints what it is given."""
    pool = json.dumps(
        {
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodePool",
            "metadata": {"name": "web"},
            "spec": {
                "limits": {"cpu": "3x"},
                "template": {
                    "spec": {
                        "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
                        "requirements": [],
                    }
                },
            },
        }
    )
    main = (
        'variable "pool" { type = any }\nresource "kubectl_manifest" "p" {\n  yaml_body = yamlencode(var.pool)\n}\n'
    )
    write_files(tmp_path, {"main.tf": main, "terraform.tfvars": f"pool = {pool}\n"})
    done = nodelint("check", ".")
    assert (done.returncode, "--> terraform.tfvars:1:" in done.stdout) == (1, True), done.stdout
    write_files(
        tmp_path, {"main.tf": main, "terraform.tfvars": 'pool = { kind = "Other" } # karpenter.sh apiVersion\n'}
    )
    done = nodelint("check", ".")
    assert (done.returncode, "Nothing to check" in done.stdout + done.stderr) == (0, True), done.stdout


def test_a_heredoc_that_a_local_decodes_counts_once(nodelint: Run, tmp_path: Path) -> None:
    pool = POOL.format(name="a", families='["m5", "c7-a"]').replace("100", "${3 * 2}")
    main = f'locals {{\n  pool = yamldecode(<<EOT\n{pool}EOT\n  )\n}}\nresource "kubernetes_manifest" "p" {{\n'
    (tmp_path / "main.tf").write_text(main + "  manifest = local.pool\n}\n", encoding="utf-8")
    assert re.findall(r"(?m)^NodePool (\w+) ", nodelint("explain", ".").stdout) == ["a"]
    done = nodelint("check", ".")
    assert (done.stdout.count("[unknown-value]"), "duplicate-name" in done.stdout) == (1, False), done.stdout
