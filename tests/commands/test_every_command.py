"""Every field of both kinds with values of every wrong type, and doubled keys: no command breaks down."""

from __future__ import annotations

import copy
import itertools
import json
import random
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import in_process
from tests.apiserver.test_wrong_types import CLASS, PARTS, POOL, _fields, _schema
from tests.conftest import NOW
from tests.own_home import FOLDER
from tests.plain_yaml import dump_yaml, load_yaml
from tests.repositories import write_files

WRONG: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        -1,
        7,
        1.5,
        float("inf"),
        2**70,
        "",
        "text",
        "24h",
        "10",
        "true",
        "\0x",
        "${x}",
        "{{ x }}",
    ),
    *([], ["a"], [3], [None], [[]], {}, {"a": "b"}, {"a": {"b": {"c": [1, {"d": None}]}}}, [{"a": [{"b": 1}]}]),
)
NAMES = ("template", "spec", "x", "metadata", "kubelet", "requirements", "key", "disruption")
FIELDS = [
    (base, field)
    for name, base, path in PARTS
    for field in (*_fields(_schema(name, path), path), *(("metadata",), ("metadata", "name"), ("spec",), ("kind",)))
]
COMMANDS = [
    *(["check", "--format", form, "."] for form in ("text", "json", "jsonl", "sarif", "github", "markdown", "junit")),
    *(["plan", "--old", "../old", "--format", form, "."] for form in ("text", "json", "markdown", "html")),
    *(["explain", "--format", form, "."] for form in ("text", "json")),
    *(["hash", "--format", form, "."] for form in ("text", "json")),
    *(["check", "--diff", "--unsafe-fixes", "."], ["check", "--profile", "strict", "."], ["fit", "."]),
    *(["plan", "--old", ".", "../old"], ["plan", "--old", "../other", "."], ["check", "--unsafe-fixes", "."]),
    *(["hash", "--live", "../live.yaml", "."], ["plan", "--old", "../old", "--live", "../live.yaml", "."]),
    *(["upgrade", "--from", "1.0.0", "--to", "1.15.1", "."], ["baseline", "."], ["init"]),
    ["check", "--karpenter-version", "1.0.0", "."],
]


def _text(obj: object) -> str:
    return dump_yaml(obj)


GOOD = [_text(POOL), _text(CLASS)]


def _put(obj: Any, path: tuple[str, ...], value: object) -> None:
    """Put a value at a path, as far as what is there already has the form that leads there."""
    holder = obj
    for step, after in itertools.pairwise(path):
        new: Any = [] if after == "[]" else {}
        if step == "[]" and isinstance(holder, list):
            holder.append(new) if not holder else None
            holder = holder[0]
        elif step != "[]" and isinstance(holder, dict):
            holder = holder.setdefault(step, new)
    if path[-1] == "[]" and isinstance(holder, list):
        holder[:] = [value]
    elif isinstance(holder, dict):
        holder[path[-1]] = value


def _double(text: str, by: random.Random) -> str:
    """A text in which one key, with what is below it, is there twice."""
    lines = text.splitlines(keepends=True)
    first = by.randrange(len(lines))
    indents = [len(line) - len(line.lstrip()) for line in lines]
    last = next((n for n in range(first + 1, len(lines)) if indents[n] <= indents[first]), len(lines))
    return "".join([*lines[:last], *lines[first:last], *lines[last:]])


def _make(by: random.Random) -> list[str]:
    pool, node_class = copy.deepcopy(POOL), copy.deepcopy(CLASS)
    for _ in range(by.choice([1, 1, 1, 2, 3])):
        base, field = by.choice(FIELDS)
        field = field[: by.randrange(1, len(field) + 1)] if by.random() < 0.2 else field
        field = (*field[:-1], by.choice(NAMES)) if by.random() < 0.15 else field
        _put(pool if base is POOL else node_class, field, by.choice(WRONG))
    texts = [_text(pool), _text(node_class)]
    if by.random() < 0.3:
        number = by.randrange(2)
        texts[number] = _double(texts[number], by)
    return texts


def _in_terraform(texts: list[str]) -> dict[str, str]:
    blocks = []
    for number, text in enumerate(texts):
        try:
            manifest = json.dumps(load_yaml(text))
        except (yaml.YAMLError, TypeError, ValueError):
            continue
        blocks.append(f'resource "kubernetes_manifest" "m{number}" {{\n  manifest = {manifest}\n}}\n')
        blocks.append(f'resource "kubectl_manifest" "y{number}" {{\n  yaml_body = yamlencode({manifest})\n}}\n')
    return {"main.tf": "".join(blocks)}


def _in_heredocs(texts: list[str]) -> dict[str, str]:
    named = [text.replace("name: web", "name: ${var.n}") for text in texts]
    blocks = (
        f'resource "kubectl_manifest" "m{n}" {{\n  yaml_body = <<EOF\n{t}EOF\n}}\n' for n, t in enumerate(named)
    )
    return {"main.tf": 'variable "n" { default = "web" }\n' + "".join(blocks)}


FORMS = {
    "plain": lambda texts: {"p.yaml": "---\n".join(texts)},
    "v1beta1": lambda texts: {"p.yaml": re.sub(r"(?m)^(apiVersion: .*/v1)$", r"\1beta1", "---\n".join(texts))},
    "kustomize": lambda texts: {
        "base/p.yaml": "---\n".join(texts),
        "base/kustomization.yaml": "resources: [p.yaml]\n",
        "kustomization.yaml": "resources: [base]\nnamePrefix: a-\npatches:\n- target: {kind: NodePool}\n"
        "  patch: |-\n    - {op: add, path: /spec/weight, value: 3}\n",
    },
    "helm": lambda texts: {
        "Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n",
        "values.yaml": "n: web\na: [amd64]\n",
        "values-prod.yaml": "a: [arm64]\n",
        "templates/p.yaml": "---\n".join(texts).replace("name: web", "name: {{ .Values.n }}"),
    },
    "terraform": _in_terraform,
    "heredocs": _in_heredocs,
}
ENVIRONMENT = {"HOME": FOLDER, "PATH": "/usr/bin:/bin", "NODELINT_DEBUG": "1", "NODELINT_NOW": NOW}


def try_one(folder: Path, form: str, seed: int) -> None:
    """Run one command over one input, and fail where it breaks down."""
    by = random.Random(seed)
    sides = {"new": _make(by), "old": GOOD, "other": _make(by)}
    shutil.rmtree(folder, ignore_errors=True)
    for side, texts in sides.items():
        write_files(folder / side, FORMS[form](texts))
        (folder / side / ".git").mkdir()
    write_files(folder, {"live.yaml": "---\n".join(by.choice([*sides.values()]))})
    args = by.choice(COMMANDS)
    cache = {"NODELINT_CACHE_DIR": str(folder / "cache")}
    done = in_process.run(args, folder / "new", {**ENVIRONMENT, **cache})  # NODELINT_DEBUG raises what breaks down
    assert done.returncode in (0, 1, 2) and "Traceback" not in done.stderr, (args, sides, done.stderr)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=settings().max_examples // 5)
@given(seed=st.integers(0, 2**32))
def test_no_command_breaks_down(tmp_path_factory: pytest.TempPathFactory, form: str, seed: int) -> None:
    try_one(tmp_path_factory.getbasetemp() / f"every-command-{form}", form, seed)
