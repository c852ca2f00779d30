"""The bridge between the page and nodelint: one text is checked, explained or hashed, and JSON comes back."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml
from _ruamel_yaml import CParser

FOLDER = Path("/manifests")
FILE = "manifest.yaml"
NOT_KNOWN = {"", "not known"}


def prepare() -> None:
    """Make the folder of the text, and put the parser where nodelint looks for a second one."""
    stand_in = ModuleType("yaml.cyaml")
    vars(stand_in)["CParser"] = CParser
    sys.modules["yaml.cyaml"] = vars(yaml)["cyaml"] = stand_in
    os.environ["NODELINT_CACHE_DIR"] = "/nowhere"
    FOLDER.mkdir(exist_ok=True)
    os.chdir(FOLDER)


def run(*arguments: str) -> tuple[int, str, str]:
    """Run a command of nodelint; return its exit code, and what it printed to both streams."""
    from nodelint.cli import cli

    out, err = io.StringIO(), io.StringIO()
    code = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            cli(list(arguments))
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
    return code, out.getvalue(), err.getvalue()


def check(request: str) -> str:
    """Return the findings of a text, the text of `explain`, and the fixed text, as JSON.

    The request is JSON as well: `text`, `karpenter` and `kubernetes` (empty for not known), `profile`.
    """
    asked: dict[str, str] = json.loads(request)
    (FOLDER / FILE).write_text(asked["text"], encoding="utf-8")
    target = []
    if asked.get("karpenter", "") not in NOT_KNOWN:
        target += ["--karpenter-version", asked["karpenter"]]
    if asked.get("kubernetes", "") not in NOT_KNOWN:
        target += ["--kubernetes-version", asked["kubernetes"]]
    answer: dict[str, Any] = {}
    profile = ["--profile", asked.get("profile") or "default"]
    code, out, err = run("check", *target, *profile, "--format", "json", FILE)
    answer["check"] = json.loads(out) if out.strip() else None
    answer["error"] = err if code not in (0, 1) or err else ""
    _, answer["text"], _ = run("check", *target, *profile, FILE)
    _, answer["explain"], explain_error = run("explain", *target, FILE)
    answer["explain"] = answer["explain"] or explain_error
    return json.dumps(answer)


def rule(name: str) -> str:
    """Return the page of a rule as text."""
    return run("rule", name)[1]
