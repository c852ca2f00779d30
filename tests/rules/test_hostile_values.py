"""No value of a field, whatever its size or form, makes a rule break down."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from nodelint.lint.engine import LintRequest, Target, lint
from nodelint.model.releases import NEWEST
from nodelint.rule.definition import Rule
from nodelint.text import Source

Run = Callable[..., CompletedProcess[str]]

DIGITS = "9" * 5000
VALUES = (
    *("1E400", '"1E400"', "-1e400", '"1E400Ei"', '"1e5000Gi"', "1e999999999", ".inf", ".nan", "nan", "1.5e308"),
    *('"nan%"', '"inf%"', '"-nan%"', '"1e400%"', '"NaN"', '"infinity%"'),
    *(DIGITS, f'"{DIGITS}"', f'"-{DIGITS}"', f'"{DIGITS}%"', f'"{DIGITS}Gi"', f'"{DIGITS}h"', f'"0.{DIGITS}"'),
    *(f'"{DIGITS} * * * *"', f'"*/{DIGITS} * * * *"', f"al2023@v{DIGITS}", f"0x{'f' * 5000}", f"1:{DIGITS}"),
    *('"²"', '"٣"', '"\\U0001F600"', '""', "{}", "[]", "[[]]", '"--max-pods=²"', f'"--max-pods={DIGITS}"'),
    *(f"{{{{ {DIGITS} }}}}", f"{{{{ {DIGITS}.5 | quote }}}}", f'"${{{DIGITS}}}"'),
)
FIELDS = {
    "schedule": '"0 0 * * *"',
    "nodes": '"10%"',
    "duration": "10m",
    "cpu": "100",
    "weight": "10",
    "expireAfter": "720h",
    "key": "karpenter.k8s.aws/instance-cpu",
    "values": '["3"]',
    "alias": "al2023@v20250403",
    "maxPods": "110",
    "hard": "100Mi",
    "reserved": "100Mi",
    "grace": "1m",
    "volumeSize": "20Gi",
    "iops": "3000",
    "hops": "2",
    "userData": '"x"',
}
TEXT = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: p}}
spec:
  disruption: {{budgets: [{{nodes: {nodes}, schedule: {schedule}, duration: {duration}}}, {{nodes: "1"}}]}}
  limits: {{cpu: {cpu}, memory: {hard}}}
  weight: {weight}
  template:
    spec:
      expireAfter: {expireAfter}
      nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: c}}
      requirements:
        - {{key: {key}, operator: Gt, values: {values}}}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {{name: c}}
spec:
  role: r
  amiSelectorTerms: [{{alias: {alias}}}]
  kubelet:
    maxPods: {maxPods}
    evictionHard: {{memory.available: {hard}, nodefs.available: {hard}}}
    evictionSoft: {{memory.available: {hard}}}
    systemReserved: {{memory: {reserved}, cpu: {reserved}}}
    evictionSoftGracePeriod: {{memory.available: {grace}}}
  blockDeviceMappings: [{{deviceName: /dev/xvda, ebs: {{volumeSize: {volumeSize}, iops: {iops}}}}}]
  metadataOptions: {{httpPutResponseHopLimit: {hops}}}
  userData: {userData}
"""


@pytest.mark.parametrize("field", FIELDS)
def test_a_value_breaks_no_rule(rules: dict[str, Rule], field: str) -> None:
    for value in VALUES[list(FIELDS).index(field) % 3 :: 3]:
        text = TEXT.format(**{**FIELDS, field: value})
        report = lint([Source.from_text("p.yaml", text)], LintRequest(Target(NEWEST), rules))
        assert not report.faults, (field, value[:40], report.faults)


@pytest.mark.slow
def test_commands_read_them_too(nodelint: Run, tmp_path: Path) -> None:
    for number, (field, value) in enumerate([*itertools.product(FIELDS, VALUES)][::59]):
        (tmp_path / f"{number}.yaml").write_text(TEXT.format(**{**FIELDS, field: value}), encoding="utf-8")
    for command in (["hash"], ["explain"], ["check", "--fix"]):
        done = nodelint(*command, ".")
        assert done.returncode in (0, 1, 2), (command, done.stderr[-2000:])


CONFIG_VALUES = ("''", DIGITS, "['']", "{'': ''}", ".nan")
CONFIG_KEYS = (
    *("karpenter-version", "kubernetes-version", "profile", "select", "ignore", "exclude", "include", "baseline"),
    *("respect-gitignore", "fail-on", "crds", "snapshot", "rules", "policies", "region", "kustomize", "helm"),
    *("options", "per-path-ignores", "per-path-versions", "''", "1", ".inf", "[]", "!x a"),
)


@pytest.mark.parametrize("key", CONFIG_KEYS)
def test_a_configuration_breaks_nothing(nodelint: Run, tmp_path: Path, key: str) -> None:
    (tmp_path / "p.yaml").write_text(TEXT.format(**FIELDS), encoding="utf-8")
    for number, value in enumerate(CONFIG_VALUES):
        (tmp_path / "nodelint.yaml").write_text(f"{key}: {value}\n", encoding="utf-8")
        done = nodelint("check", *([] if number else ["--config", "nodelint.yaml"]), ".")
        assert done.returncode in (0, 1, 2), (key, value[:40], done.stderr[-2000:])


@pytest.mark.parametrize("form", ["text", "concise"])
@pytest.mark.parametrize("name", ["::add-mask::p.yaml", "##[add-mask]p.yaml", " ::error::p.yaml"])
def test_a_name_is_no_command_of_a_runner(nodelint: Run, tmp_path: Path, name: str, form: str) -> None:
    (tmp_path / name).write_text(TEXT.format(**{**FIELDS, "hops": "x", "values": "[a]"}), encoding="utf-8")
    done = nodelint("check", "--format", form, ".")
    assert done.returncode == 1 and name.strip().replace("##[", "#\\x23[") in done.stdout
    assert _commands(done.stdout) == []


@pytest.mark.parametrize("name", ["::add-mask::p.yaml", "##[add-mask]p.yaml"])
def test_a_name_that_cannot_be_read_is_no_command_of_a_runner(nodelint: Run, name: str) -> None:
    done = nodelint("check", name)
    assert done.returncode == 2 and "add-mask" in done.stderr
    assert _commands(done.stderr) == []


def _commands(text: str) -> list[str]:
    """Lines that a runner of GitHub may take for commands: `::` begins one, `##[` may stand anywhere in one."""
    return [line for line in text.splitlines() if line.lstrip().startswith("::") or "##[" in line]


def test_a_name_brings_no_markup_into_an_upgrades_markdown(nodelint: Run, tmp_path: Path) -> None:
    name = "a` <img src=x> [l](http:e) `b.yaml"
    text = TEXT.format(**FIELDS).replace("karpenter.sh/v1\n", "karpenter.sh/v1beta1\n")
    (tmp_path / name).write_text(text, encoding="utf-8")
    done = nodelint("upgrade", "--from", "1.0.6", "--to", "1.4.0", "--format", "markdown", ".")
    lines = [line for line in done.stdout.splitlines() if "<img" in line]
    assert lines, done.stdout + done.stderr
    assert all(f"``{name}:" in line for line in lines), lines
