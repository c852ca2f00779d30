"""What rules work out of a file's text is worked out once in a run, however often fixes are tried."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from nodelint.forms.terraform import terraform_blocks
from nodelint.lint.fix_trials import Trials
from tests import in_process
from tests.repositories import write_files

_MODULE = """variable "name" {}
variable "weight" {}
resource "kubernetes_manifest" "pool" {
  manifest = { apiVersion = "karpenter.sh/v1", kind = "NodePool", metadata = { name = var.name }, spec = {
    weight = var.weight
    template = { spec = {
      nodeClassRef = { group = "karpenter.k8s.aws", kind = "EC2NodeClass", name = "web" }
      requirements = [{ key = "kubernetes.io/arch", operator = "In", values = ["arm46"] }]
    } }
  } }
}
"""
_CALL = 'module "m{n}" {{\n  source = "./m"\n  name   = "pool-{n}"\n  weight = "{n}"\n}}\n'
_ROLE = 'resource "aws_iam_role" "r{n}" {{\n  name = "r"\n}}\n'


def test_the_blocks_of_a_text_are_found_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each caller of a module is judged for itself, with all files beside it, and again in each trial of a fix."""
    found: Counter[tuple[str, str]] = Counter()
    trials: list[Any] = []
    find_blocks, run = terraform_blocks._find_blocks, Trials.run

    def count_blocks(source: Any) -> Any:
        found[source.path, source.text] += source.built is None
        return find_blocks(source)

    def count_trials(*args: Any) -> Any:
        trials.append(args)
        return run(*args)

    monkeypatch.setattr(terraform_blocks, "_find_blocks", count_blocks)
    monkeypatch.setattr(Trials, "run", count_trials)
    files = {f"m/role{n}.tf": _ROLE.format(n=n) for n in range(3)}
    files |= {"m/main.tf": _MODULE, "main.tf": "".join(_CALL.format(n=n) for n in range(9))}
    write_files(tmp_path, {".git/HEAD": "ref: refs/heads/main\n", **files})
    in_process.run(["check", "."], tmp_path, {**os.environ, "NODELINT_JOBS": "1"})
    assert len(trials) > 5
    assert set(files.items()) <= found.keys()
    assert set(found.values()) <= {0, 1}
