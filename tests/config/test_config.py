"""Settings: where they are found, how flags go over them, and what is said of those that cannot be used."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from nodelint.config.file import ConfigError
from nodelint.config.settings import Settings, find, load
from nodelint.model.releases import KubernetesVersion, Version
from tests.conftest import ROOT

WHOLE = """\
karpenter-version: "1.4"
kubernetes-version: "1.32"
ignore: [unknown-value]
per-path-ignores:
  legacy/**: removed-api
exclude: vendored/*
fail-on: warning
crds: crds
snapshot: facts/nodelint.snapshot.json
region: us-gov-east-1
"""


def write_config(folder: Path, text: str, name: str = "nodelint.yaml") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_no_file_gives_the_defaults() -> None:
    assert load(None, {}) == Settings()


def test_a_whole_file(tmp_path: Path) -> None:
    path = write_config(tmp_path, WHOLE)
    settings = load(path, {})
    assert settings.karpenter == Version(1, 4, 4), "the newest patch of the minor that is named"
    assert settings.kubernetes == KubernetesVersion(1, 32)
    assert settings.per_path == {"legacy/**": frozenset({"removed-api"})}
    assert settings.fail_on == "warning"
    assert settings.crds == str(tmp_path / "crds"), "relative to the file, wherever the command runs"
    assert settings.snapshot == str(tmp_path / "facts" / "nodelint.snapshot.json")
    assert settings.region == "us-gov-east-1"


def test_a_snapshot_that_is_named_bundled_is_no_path(tmp_path: Path) -> None:
    assert load(write_config(tmp_path, "snapshot: bundled\n"), {}).snapshot == "bundled"
    assert load(write_config(tmp_path, "snapshot: bundled\n"), {"snapshot": "a.json"}).snapshot == "a.json"


def test_flags_go_over_the_file(tmp_path: Path) -> None:
    path = write_config(tmp_path, WHOLE)
    settings = load(path, {"karpenter-version": "1.2.1", "fail-on": None, "ignore": ("a,b", "c")})
    assert settings.karpenter == Version(1, 2, 1)
    assert settings.fail_on == "warning"
    assert settings.ignore == {"a", "b", "c"}


def test_the_table_of_pyproject(tmp_path: Path) -> None:
    text = '[tool.nodelint]\nkarpenter-version = "1.9.0"\nselect = ["removed-api"]\n'
    settings = load(write_config(tmp_path, text, "pyproject.toml"), {})
    assert (settings.karpenter, settings.select) == (Version(1, 9, 0), frozenset({"removed-api"}))


def test_the_nearest_file_upwards_is_found_but_not_beyond_the_repository(tmp_path: Path) -> None:
    write_config(tmp_path, "fail-on: never\n")
    repository = tmp_path / "repository"
    deep = repository / "clusters" / "prod"
    deep.mkdir(parents=True)
    assert find(str(deep)) == str(tmp_path / "nodelint.yaml")
    (repository / ".git").mkdir()
    assert find(str(deep)) is None
    write_config(repository, "[project]\nname = 'x'\n", "pyproject.toml")
    assert find(str(deep)) is None, "a pyproject.toml without the table is not a configuration"
    inner = write_config(repository / "clusters", "fail-on: error\n")
    assert find(str(deep)) == inner


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "karpenter-versoin: '1.4'\n",
            "nodelint.yaml:1:1: unknown setting `karpenter-versoin` (did you mean",
        ),
        (
            "fail-on: error\nkarpenter-version: 1.10\n",
            "nodelint.yaml:2:20: `karpenter-version` must be a string, not `1.10`; put it in quotes",
        ),
        ("karpenter-version: newest\n", "nodelint.yaml:1:1: "),
        ("karpenter-version: '0.37.0'\n", "nodelint.yaml:1:1: "),
        ("fail-on: info\n", "nodelint.yaml:1:10: `fail-on` is `info`, must be error, warning or never"),
        ("select: {a: b}\n", "nodelint.yaml:1:9: `select` must be a string or a list, not a mapping"),
        ("region: us-east-1.example.org\n", "nodelint.yaml:1:1: `us-east-1.example.org` is not a region"),
        ("snapshot: 5\n", "nodelint.yaml:1:11: `snapshot` must be a string, not `5`"),
        ("- a\n", "settings must be a mapping"),
        ("select: [a\n", "nodelint.yaml:"),
        ("select: a\nselect: b\n", "nodelint.yaml:2:1"),
    ],
)
def test_what_cannot_be_used_is_said_with_its_place(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(write_config(tmp_path, text), {})
    assert expected in str(caught.value)


def test_all_faults_are_said_at_once(tmp_path: Path) -> None:
    """By the schema, in the order of the file, each at its own place."""
    text = (
        "fail-onn: error\nignore: [x, 5]\npreview: maybe\npolicies:\n  - {name: a, expr: x, on: Nodepool, foo: 1}\n"
    )
    path = write_config(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        load(path, {})
    assert [message.removeprefix(path) for message in caught.value.messages] == [
        ":1:1: unknown setting `fail-onn` (did you mean `fail-on`?)",
        ":2:13: an item of `ignore` must be a string, not `5`; put it in quotes",
        ":3:10: `preview` must be true or false, not `maybe`",
        ":5:5: `message` is missing",
        ":5:28: `on` is `Nodepool`, must be NodePool or EC2NodeClass",
        ":5:38: unknown setting `foo`; the known ones are name, on, expr, message, at, severity, group, bad, good",
    ]


def test_a_toml_table_has_its_faults_by_key(tmp_path: Path) -> None:
    path = write_config(tmp_path, "[tool.nodelint]\nselect = 5\nfoo = 1\n", "pyproject.toml")
    with pytest.raises(ConfigError) as caught:
        load(path, {})
    assert sorted(message.removeprefix(path)[:40] for message in caught.value.messages) == [
        ": foo: unknown setting `foo`; the known ",
        ": select: `select` must be a string or a",
    ]


def test_the_schema_for_editors_knows_the_same_settings(tmp_path: Path) -> None:
    schema = json.loads((ROOT / "schemas" / "config.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    values = {
        "karpenter-version": "1.4",
        "kubernetes-version": "1.32",
        "profile": "strict",
        "rules": ["team"],
        "policies": [{"name": "a", "on": "NodePool", "expr": "true", "message": "m"}],
        "select": ["all"],
        "extend-select": ["practice"],
        "ignore": "unknown-value",
        "per-path-ignores": {"legacy/**": ["removed-api"]},
        "per-path-versions": {"legacy": {"karpenter-version": ">=1.0 <1.3", "kubernetes-version": "1.31"}},
        "exclude": ["vendored/*"],
        "include": ["*.md"],
        "baseline": "nodelint.baseline.json",
        "fail-on": "never",
        "crds": "crds",
        "snapshot": "nodelint.snapshot.json",
        "region": "eu-central-1",
        "respect-gitignore": False,
        "preview": True,
    }
    assert set(values) == set(schema["properties"])
    jsonschema.validate(values, schema)
    assert load(write_config(tmp_path, json.dumps(values)), {}, trusted=True).fail_on == "never"
