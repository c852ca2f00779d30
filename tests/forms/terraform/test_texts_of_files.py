"""Manifests in files that Terraform reads into a local and applies one by one: each is judged once, in its file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]

ROOT = """variable "kinds" {{
  default = ["{kind}"]
}}
locals {{
  pools = {pools}
}}
resource "kubectl_manifest" "pools" {{
  for_each  = local.pools
  yaml_body = {body}
}}
"""
POOL = """apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: a
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - key: karpenter.sh/capacity-type
          operator: In
          values: VALUES
"""
EACH = 'for f in fileset("${path.module}/pools", "*") : f =>'
FILE = f'{{ {EACH} file("${{path.module}}/pools/${{f}}") }}'
TEMPLATE = f'{{ {EACH} templatefile("${{path.module}}/pools/${{f}}", {{ kinds = var.kinds }}) }}'
ONE = '{ a = templatefile("${path.module}/pools/a.yaml", { kinds = var.kinds }) }'


@pytest.mark.parametrize("body", ["each.value", "local.pools[each.key]"])
@pytest.mark.parametrize(
    ("pools", "values", "line"),
    [
        (FILE, "[KIND]", ("a.yaml", 12)),
        (TEMPLATE, "[KIND]", ("a.yaml", 12)),
        (TEMPLATE, "${jsonencode(kinds)}", ("main.tf", 2)),
        (ONE, "${jsonencode(kinds)}", ("main.tf", 2)),
    ],
)
@pytest.mark.parametrize(("kind", "found"), [("on_demand", True), ("on-demand", False)])
def test_a_text_of_a_file_is_judged_once(
    nodelint: Run, tmp_path: Path, body: str, pools: str, values: str, line: tuple[str, int], kind: str, found: bool
) -> None:
    files = {
        "main.tf": ROOT.format(kind=kind, pools=pools, body=body),
        "pools/a.yaml": POOL.replace("VALUES", values).replace("KIND", kind),
    }
    write_files(tmp_path, files)
    done = json.loads(nodelint("check", "--format", "json", str(tmp_path)).stdout)
    assert [(Path(f["path"]).name, f["start"]["line"]) for f in done["findings"]] == [line] * found
    assert done["summary"]["objects"] == 1


DECODED = f'{{ {EACH} yamldecode(templatefile("${{path.module}}/pools/${{f}}", {{ kinds = var.kinds }})) }}'


@pytest.mark.parametrize("body", ["yamlencode(each.value)", "yamlencode(local.pools[each.key])"])
@pytest.mark.parametrize(("kind", "found"), [("on_demand", True), ("on-demand", False)])
def test_a_rendered_text_that_is_decoded_is_judged_once(
    nodelint: Run, tmp_path: Path, body: str, kind: str, found: bool
) -> None:
    text = POOL.replace("VALUES", "${jsonencode(kinds)}")
    write_files(tmp_path, {"main.tf": ROOT.format(kind=kind, pools=DECODED, body=body), "pools/a.yaml": text})
    done = json.loads(nodelint("check", "--format", "json", str(tmp_path)).stdout)
    assert [(Path(f["path"]).name, f["start"]["line"]) for f in done["findings"]] == [("main.tf", 2)] * found
    assert done["summary"]["objects"] == 1
    assert nodelint("explain", str(tmp_path)).stdout.count("NodePool a\n") == 1
