"""A variable whose default is null or empty: what the code has in its place is known, the default itself is not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

Run = Callable[..., CompletedProcess[str]]

ROOT = """\
variable "none" { default = null }
variable "text" { default = "" }
variable "list" {
  type    = list(string)
  default = []
}
variable "map" { default = {} }
variable "object" {
  default = { arch = null, families = ["m5"] }
}
resource "kubernetes_manifest" "pool" {
  manifest = {
    apiVersion = "karpenter.sh/v1"
    kind       = "NodePool"
    metadata   = { name = "default" }
    spec = { template = { spec = {
      nodeClassRef = { group = "karpenter.k8s.aws", kind = "EC2NodeClass", name = "default" }
      requirements = [{ key = "kubernetes.io/arch", operator = "In", values = EXPRESSION }]
    } } }
  }
}
"""
KNOWN = [
    'coalesce(var.none, ["x"])',
    '[coalesce(var.text, "x")]',
    'coalescelist(var.list, ["x"])',
    'var.none == null ? ["x"] : var.none',
    'var.none != null ? var.none : ["x"]',
    '[var.text == "" ? "x" : var.text]',
    'length(var.list) > 0 ? var.list : ["x"]',
    'length(var.list) == 0 || var.none != null ? ["x"] : var.list',
    '!(var.none != null) ? ["x"] : var.list',
    'try(var.none.arch, ["x"])',
    '[try(var.list[0], "x")]',
    'try(var.map["arch"], ["x"])',
    'lookup(var.map, "arch", ["x"])',
    'can(var.none.arch) ? var.none.arch : ["x"]',
    'var.object.arch == null ? ["x"] : var.list',
    'coalesce(var.object.arch, ["x"])',
]
UNKNOWN = [
    "var.none",
    "var.list",
    "[var.text]",
    "try(var.none.arch, [])",
    "try(var.none.arch, null)",
    "var.none == null ? [] : var.list",
    "var.none == null ? var.list : []",
    'lookup(var.map, "arch", [])',
    'concat(var.list, ["x"])',
    'can(var.none.arch) ? ["y"] : []',
    'var.undeclared == null ? ["x"] : ["y"]',
    'coalesce(var.undeclared, ["x"])',
]


def read_values(nodelint: Run, folder: Path, expression: str) -> str:
    """The values of the line as `explain` has them."""
    (folder / "main.tf").write_text(ROOT.replace("EXPRESSION", expression))
    found = json.loads(nodelint("explain", ".", "--format", "json").stdout)["nodePools"][0]
    (row,) = (row for row in found["requirements"] if row["key"] == "kubernetes.io/arch")
    return ",".join(row["values"])


@pytest.mark.parametrize("expression", KNOWN)
def test_what_stands_in_the_place_of_an_empty_default_is_known(
    nodelint: Run, tmp_path: Path, expression: str
) -> None:
    assert read_values(nodelint, tmp_path, expression) == "x"


@pytest.mark.parametrize("expression", UNKNOWN)
def test_an_empty_default_is_not_known_itself(nodelint: Run, tmp_path: Path, expression: str) -> None:
    (tmp_path / "main.tf").write_text(ROOT.replace("EXPRESSION", expression))
    coverage = json.loads(nodelint("check", ".", "--format", "json").stdout)["coverage"]
    fields = [value["field"] for value in coverage["inPart"][0]["unknown"]]
    assert [field.startswith("spec.template.spec.requirements[0].values") for field in fields] == [True]


@pytest.mark.parametrize("expression", KNOWN)
def test_what_is_given_comes_before_what_stands_in_its_place(nodelint: Run, tmp_path: Path, expression: str) -> None:
    given = 'none = { arch = ["y"] }\ntext = "y"\nlist = ["y"]\nmap = { arch = ["y"] }\nobject = { arch = ["y"] }\n'
    if "var.none" in expression and ".arch" not in expression:
        given = given.replace('{ arch = ["y"] }', '["y"]', 1)
    (tmp_path / "terraform.tfvars").write_text(given)
    expected = "x" if expression.startswith("length(var.list) == 0 ||") else "y"
    assert read_values(nodelint, tmp_path, expression) == expected
