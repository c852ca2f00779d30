"""What packaging/ holds is what is made of the schemas and of pyproject.toml, and can be used as it stands."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import jsonschema
import pytest

from tests.conftest import ROOT
from tests.manifests import nodeclass, nodepool
from tests.plain_yaml import load_yaml
from tools.make_packaging import SENT, files

PACKAGING = ROOT / "packaging"


def test_the_files_are_the_generated_ones() -> None:
    made = files()
    there = {str(path.relative_to(PACKAGING)) for path in PACKAGING.rglob("*") if path.is_file()} - {"README.md"}
    assert there == set(made)
    for name, text in made.items():
        assert (PACKAGING / name).read_text(encoding="utf-8") == text, "run tools/make_packaging.py"


def sent(file: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((PACKAGING / "schemastore" / file).read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize(
    ("file", "good", "bad"),
    [
        ("nodelint.json", {"profile": "strict", "preview": True}, {"profil": "strict"}),
        ("karpenter-nodepool.json", load_yaml(nodepool()), {"kind": "NodePool"}),
        ("karpenter-ec2nodeclass.json", load_yaml(nodeclass()), {"kind": "EC2NodeClass"}),
    ],
)
def test_a_schema_that_is_sent_stands_alone(file: str, good: dict[str, Any], bad: dict[str, Any]) -> None:
    schema = sent(file)
    assert set(SENT) >= {file} and schema["$id"].endswith(f"/{file}")
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)
    assert not re.search(r'"(x-karpenter[\w-]*|x-kubernetes[\w-]*|patternErrorMessage)":', json.dumps(schema))
    assert validator.is_valid(good)
    assert not validator.is_valid(bad)


def test_a_field_keeps_its_schema_where_a_keyword_of_ours_goes() -> None:
    here = json.loads((ROOT / "schemas" / "nodepool-v1.schema.json").read_text(encoding="utf-8"))
    fields = here["properties"]["spec"]["properties"]
    assert set(sent("karpenter-nodepool.json")["properties"]["spec"]["properties"]) == set(fields)


def test_the_recipe_asks_for_what_the_project_does() -> None:
    recipe = load_yaml((PACKAGING / "conda" / "recipe.yaml").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = {requirement.lower().replace(">=", " >=") for requirement in project["dependencies"]}
    assert set(recipe["requirements"]["run"]) == wanted | {f"python {project['requires-python']}"}


def test_no_registry_is_named() -> None:
    for path in PACKAGING.rglob("*"):
        assert path.is_dir() or not re.search(
            r"pypi|pythonhosted|npmjs|anaconda\.org", path.read_text(encoding="utf-8")
        )


@pytest.mark.slow  # builds the wheel
def test_an_editor_opens_the_page_of_a_rule_from_the_wheel(tmp_path: Path) -> None:
    wheels = pytest.importorskip("hatchling.builders.wheel")
    (built,) = wheels.WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with zipfile.ZipFile(built) as wheel:
        wheel.extractall(tmp_path / "installed")
        pages = [info for info in wheel.infolist() if info.filename.startswith("nodelint/docs/rules/")]
    assert sum(page.compress_size for page in pages) < 1_000_000
    code = "from nodelint.lsp.diagnostics import _find_page; print(*map(_find_page, ['wildcard-value', 'mine']))"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "installed")}
    done = subprocess.run([sys.executable, "-c", code], env=environment, cwd=tmp_path, capture_output=True, text=True)
    address, none = done.stdout.split()
    page = Path(url2pathname(urlsplit(address).path))
    assert page.is_relative_to(tmp_path / "installed") and page.read_text().startswith("# wildcard-value")
    assert none == "None"
