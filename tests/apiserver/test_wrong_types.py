"""A value of a wrong type or form, in each field: its fix and each of its suggestions settle what they are for."""

from __future__ import annotations

import copy
import itertools
import json
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from nodelint.apiserver.schema_node import load
from nodelint.edits import apply
from nodelint.lint.engine import LintRequest, Report, Result, Target, lint
from nodelint.model.finding import Edit
from nodelint.model.releases import NEWEST, Version
from nodelint.rule.definition import bundled
from nodelint.rule.definition import load as load_rules
from nodelint.text import Source
from tests.plain_yaml import dump_yaml

RULES = load_rules(bundled())
POOL: dict[str, Any] = {
    "apiVersion": "karpenter.sh/v1",
    "kind": "NodePool",
    "metadata": {"name": "web"},
    "spec": {
        "template": {
            "spec": {
                "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "web"},
                "requirements": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}],
            }
        },
        "limits": {"cpu": 100},
    },
}
CLASS: dict[str, Any] = {
    "apiVersion": "karpenter.k8s.aws/v1",
    "kind": "EC2NodeClass",
    "metadata": {"name": "web"},
    "spec": {
        "role": "KarpenterNodeRole-web",
        "amiSelectorTerms": [{"alias": "al2023@v20260714"}],
        "subnetSelectorTerms": [{"tags": {"karpenter.sh/discovery": "web"}}],
        "securityGroupSelectorTerms": [{"tags": {"karpenter.sh/discovery": "web"}}],
    },
}
WRONG = ("text", "10.0.0.10", "110", "true", 7, 0, True, None, [], ["a"], [3], {}, {"a": "b"}, "", "1d", "10Gi")
PARTS = (
    ("nodepool-v1", POOL, ("spec",)),
    ("ec2nodeclass-v1", CLASS, ("spec",)),
    ("kubelet", CLASS, ("spec", "kubelet")),
)


def _fields(schema: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for name, part in schema.get("properties", {}).items():
        yield (*path, name)
        yield from _fields(part, (*path, name))
        items = part.get("items")
        if isinstance(items, dict):
            yield from _fields(items, (*path, name, "[]"))


def _schema(name: str, path: tuple[str, ...]) -> Any:
    found = load(name)
    return found["properties"]["spec"] if path == ("spec",) else found


def _manifest_with(base: dict[str, Any], path: tuple[str, ...], value: Any) -> str:
    obj = copy.deepcopy(base)
    holder: Any = obj
    for step, after in itertools.pairwise(path):
        if step == "[]":
            if not holder:
                holder.append({})
            holder = holder[0]
        else:
            holder = holder.setdefault(step, [] if after == "[]" else {})
    if path[-1] == "[]":
        holder[:] = [value]
    else:
        holder[path[-1]] = value
    return dump_yaml(obj)


def _lint(text: str, release: Version) -> Report:
    return lint([Source.from_text("web.yaml", text)], LintRequest(Target(release), RULES))


@cache
def _errors_left(text: str, release: Version) -> Counter[tuple[str, str]]:
    """The errors of a text: what is offered makes the same one of many."""
    return _errors(_lint(text, release))


def _errors(report: Report) -> Counter[tuple[str, str]]:
    return Counter((r.rule.name, r.finding.message) for r in report.results if r.severity == "error")


@pytest.mark.slow
@pytest.mark.parametrize("release", [Version.parse("1.14.1"), NEWEST], ids=str)
@pytest.mark.parametrize(("name", "base", "path"), PARTS, ids=[name for name, _, _ in PARTS])
def test_what_is_offered_settles_the_error(
    name: str, base: dict[str, Any], path: tuple[str, ...], release: Version
) -> None:
    left: list[str] = []
    for number, field in enumerate(_fields(_schema(name, path), path)):
        # Fields of a type are many: each takes its share of the values in turn, and fewer where a release is older.
        shares = 3 if release == NEWEST else 6
        for value in WRONG[number % shares :: shares]:
            text = _manifest_with(base, field, value)
            report = _lint(text, release)
            for result in report.results:
                if result.severity == "error":
                    left += [
                        f"{'.'.join(field)} = {json.dumps(value)}: {title}: {result.finding.message}"
                        for title, edits in _offers(result)
                        if not _settles(text, edits, result, report, release)
                    ]
    assert left == []


def _offers(result: Result) -> Iterator[tuple[str, list[Edit]]]:
    if result.finding.edits:
        yield "fix", list(result.finding.edits)
    for suggestion in result.finding.suggestions:
        yield suggestion.name, list(suggestion.edits)


def _settles(text: str, edits: list[Edit], result: Result, report: Report, release: Version) -> bool:
    key = (result.rule.name, result.finding.message)
    return _errors_left(apply(text, edits), release)[key] < _errors(report)[key]
