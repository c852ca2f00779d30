"""Write packaging/: what is sent to SchemaStore, a Homebrew formula, and a conda recipe.

python tools/make_packaging.py
"""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from nodelint import __version__  # noqa: E402
from nodelint.base.project import HOME  # noqa: E402

STORE = "https://json.schemastore.org"
SENT: dict[str, tuple[str, str, str, list[str]]] = {
    "nodelint.json": (
        "config",
        "nodelint",
        "Configuration of nodelint, a linter for Karpenter",
        ["nodelint.yaml", "nodelint.yml"],
    ),
    "karpenter-nodepool.json": (
        "nodepool-v1",
        "Karpenter NodePool",
        "NodePool of Karpenter, karpenter.sh/v1",
        ["*.nodepool.yaml", "*.nodepool.yml"],
    ),
    "karpenter-ec2nodeclass.json": (
        "ec2nodeclass-v1",
        "Karpenter EC2NodeClass",
        "EC2NodeClass of Karpenter on AWS, karpenter.k8s.aws/v1",
        ["*.ec2nodeclass.yaml", "*.ec2nodeclass.yml"],
    ),
}
"""What SchemaStore gets: the name there, the schema here, and the entry of the catalogue.

Names of files that any tool may use for something else, such as `nodepool.yaml`, are not claimed."""


def files() -> dict[str, str]:
    """Return the texts of all files below packaging/ that are generated, by their paths there."""
    entries = [
        {"name": name, "description": about, "fileMatch": matched, "url": f"{STORE}/{file}"}
        for file, (_, name, about, matched) in SENT.items()
    ]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {
        "schemastore/catalog-entries.json": _json(entries),
        **{f"schemastore/{file}": _json(_sent(file, sent[0])) for file, sent in SENT.items()},
        "homebrew/nodelint.rb": _formula(project),
        "conda/recipe.yaml": _recipe(project),
    }


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _sent(file: str, schema: str) -> dict[str, Any]:
    """Return a schema with its public address and without keywords that only nodelint reads."""
    read = json.loads((ROOT / "schemas" / f"{schema}.schema.json").read_text(encoding="utf-8"))
    stated: dict[str, Any] = _standard(read)
    draft = stated.pop("$schema")
    return {"$schema": draft, "$id": f"{STORE}/{file}", **stated}


_OWN = ("x-", "patternErrorMessage")
_NAMES = ("properties", "patternProperties", "$defs")
"""Keywords whose keys are names, of fields for example, and no keywords."""


def _standard(schema: Any, names: bool = False) -> Any:
    if isinstance(schema, list):
        return [_standard(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: part
        if key in ("default", "enum", "const") and not names
        else _standard(part, key in _NAMES and not names)
        for key, part in schema.items()
        if names or not (key.startswith(_OWN) or (key == "$comment" and "x-karpenter" in part))
    }


def _formula(project: dict[str, Any]) -> str:
    address = HOME or "https://github.com/<owner>/nodelint"
    return f"""\
# Made by tools/make_packaging.py. `brew update-python-resources nodelint` writes the resources behind `depends_on`:
# the packages of requirements/nodelint.txt with their hashes. The hash of the archive is that of the release.
class Nodelint < Formula
  include Language::Python::Virtualenv

  desc "{project["description"].replace("A linter", "Linter")}"
  homepage "{address}"
  url "{address}/archive/refs/tags/v{__version__}.tar.gz"
  sha256 "<hash>"
  license "{project["license"]}"

  depends_on "rust" => :build
  depends_on "libyaml"
  depends_on "python@3.13"

  def install
    virtualenv_install_with_resources
  end

  test do
    (testpath/"pool.yaml").write <<~YAML
      apiVersion: karpenter.sh/v1
      kind: NodePool
      metadata: {{name: default}}
      spec: {{}}
    YAML
    assert_match "required", shell_output("#{{bin}}/nodelint check pool.yaml", 1)
  end
end
"""


def _recipe(project: dict[str, Any]) -> str:
    run = [f"python {project['requires-python']}", *map(_conda_name, project["dependencies"])]
    lines = "\n".join(f"    - {requirement}" for requirement in run)
    return f"""\
# Made by tools/make_packaging.py. Build it in a checkout: `rattler-build build --recipe packaging/conda/recipe.yaml`.
package:
  name: nodelint
  version: "{__version__}"

source:
  path: ../..

build:
  number: 0
  noarch: python
  script: python -m pip install . --no-deps --no-build-isolation
  python:
    entry_points:
      - nodelint = {project["scripts"]["nodelint"]}

requirements:
  host:
    - python {project["requires-python"]}
    - pip
    - hatchling >=1.25
  run:
{lines}

tests:
  - script:
      - nodelint --version
      - nodelint rule no-limits

about:
  license: {project["license"]}
  license_file: LICENSE
  summary: {project["description"]}
"""


def _conda_name(requirement: str) -> str:
    name, sign, version = requirement.partition(">=")
    return f"{name.lower()} {sign}{version}"


def main() -> None:
    """Write the files for package managers."""
    for name, text in files().items():
        path = ROOT / "packaging" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
