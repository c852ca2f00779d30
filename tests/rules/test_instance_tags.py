"""Conditions of the controller's policy about tags of instances; and the twin of each."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import CompletedProcess

import pytest
import yaml

from tests.manifests import nodeclass
from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]


def as_json(operator: str, tag: str, value: str) -> str:
    condition = {operator: {f"ec2:ResourceTag/{tag}": value}}
    rows: list[Mapping[str, object]] = [
        {"Sid": "karpenter", "Effect": "Allow", "Action": ["ec2:CreateFleet"], "Resource": "*"},
        {"Effect": "Allow", "Action": "ec2:TerminateInstances", "Resource": "*", "Condition": condition},
    ]
    return json.dumps({"Statement": rows}, indent=2)


def as_document(operator: str, tag: str, value: str) -> str:
    return (
        'data "aws_iam_policy_document" "karpenter" {\n  statement {\n    actions = ["ec2:CreateFleet"]\n'
        '    resources = ["*"]\n  }\n  statement {\n    actions = ["ec2:TerminateInstances"]\n    resources = ["*"]\n'
        f'    condition {{\n      test = "{operator}"\n      variable = "aws:ResourceTag/{tag}"\n'
        f'      values = ["{value}"]\n    }}\n  }}\n}}\n'
    )


def as_jsonencode(operator: str, tag: str, value: str) -> str:
    text = as_json(operator, tag, value).replace('": ', '" = ')
    return f'resource "aws_iam_policy" "karpenter" {{\n  policy = jsonencode({text})\n}}\n'


def as_template(operator: str, tag: str, value: str) -> str:
    policy = yaml.safe_dump(json.loads(as_json(operator, tag, value)))
    text = "".join(f"        {line}\n" for line in policy.splitlines())
    return (
        f"Resources:\n  Karpenter:\n    Type: AWS::IAM::ManagedPolicy\n    Properties:\n      PolicyDocument:\n{text}"
    )


FORMS = {"policy.json": as_json, "document.tf": as_document, "encoded.tf": as_jsonencode, "stack.yaml": as_template}


@pytest.mark.parametrize("path", FORMS)
@pytest.mark.parametrize(
    ("operator", "tag", "value", "name", "count"),
    [
        ("StringLike", "Name", "*karpenter*", None, 1),
        ("StringLike", "Name", "*karpenter*", "karpenter-node", 0),
        ("StringLike", "Name", "main-node", "main-1-29-node", 1),
        ("StringLike", "Name", "ip-*", None, 0),
        ("StringLike", "karpenter.sh/provisioner-name", "*", None, 1),
        ("StringLike", "karpenter.sh/nodepool", "*", None, 0),
        ("StringEquals", "karpenter.sh/nodepool", "*", None, 1),
        ("StringEqualsIfExists", "karpenter.sh/provisioner-name", "*", None, 0),
        ("StringEquals", "kubernetes.io/cluster/main", "owned", None, 0),
    ],
)
def test_a_condition_about_the_tags_of_instances(
    nodelint: Run, tmp_path: Path, path: str, operator: str, tag: str, value: str, name: str | None, count: int
) -> None:
    tags = f"  tags: {{Name: {name}}}\n" if name else ""
    files = {path: f"{FORMS[path](operator, tag, value)}", "class.yaml": nodeclass() + tags}
    write_files(tmp_path, files)
    done = nodelint("check", str(tmp_path), "--format", "json", "--select", "tag-condition-never-met")
    assert len(json.loads(done.stdout)["findings"]) == count


@pytest.mark.parametrize("name", ["${var.name}-node", "*-node"])
def test_a_name_that_is_not_known(nodelint: Run, tmp_path: Path, name: str) -> None:
    files = {
        "main.tf": as_document("StringLike", "Name", name),
        "class.yaml": nodeclass() + "  tags: {Name: a-node}\n",
    }
    write_files(tmp_path, files)
    done = nodelint("check", str(tmp_path), "--format", "json", "--select", "tag-condition-never-met")
    assert json.loads(done.stdout)["findings"] == []
