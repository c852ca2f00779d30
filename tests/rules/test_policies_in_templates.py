"""Policies in templates of CloudFormation: JSON inside of strings, and statements of which a part is not known."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.repositories import write_files
from tests.rules.test_controller_policy import CLASS, Statements, check, policy

Run = Callable[..., CompletedProcess[str]]
HEAD = "Description: roles of karpenter\nResources:\n  Controller:\n    Type: AWS::IAM::ManagedPolicy\n"
LISTS = "iam:ListInstanceProfiles"


def template(document: object) -> str:
    made = {"Type": "AWS::IAM::ManagedPolicy", "Properties": {"PolicyDocument": document}}
    return json.dumps({"Description": "roles of karpenter", "Resources": {"Controller": made}}, indent=1)


def as_text(statements: Statements, indent: int | None = None) -> str:
    return json.dumps({"Statement": list(statements)}, indent=indent)


FORMS: dict[str, Callable[[Statements], dict[str, str]]] = {
    "Fn::Sub": lambda s: {"stack.json": template({"Fn::Sub": as_text(s, 1)})},
    "Fn::Sub with variables": lambda s: {"stack.json": template({"Fn::Sub": [as_text(s), {"Name": "main"}]})},
    "quoted": lambda s: {
        "stack.yaml": f"{HEAD}    Properties:\n      PolicyDocument: !Sub {json.dumps(as_text(s))}\n"
    },
    "script": lambda s: {"setup.sh": f"#!/bin/sh\n# karpenter\nput-policy --document {json.dumps(as_text(s))}\n"},
}


@pytest.mark.parametrize("form", FORMS)
def test_a_policy_in_a_string_and_its_twin(nodelint: Run, tmp_path: Path, form: str) -> None:
    make = FORMS[form]
    lacking = {**make(policy(LISTS)), "class.yaml": CLASS}
    assert [LISTS in text for text in check(nodelint, tmp_path / "new", lacking, "1.7.0")] == [True]
    assert check(nodelint, tmp_path / "old", lacking, "1.6.0") == []
    assert check(nodelint, tmp_path / "whole", {**make(policy()), "class.yaml": CLASS}) == []


@pytest.mark.parametrize("known", [True, False])
def test_a_policy_that_is_joined_from_parts_is_not_known(nodelint: Run, tmp_path: Path, known: bool) -> None:
    """One policy is an object that grants all except one action; a text in a string beside it may grant that one."""
    more = as_text([{"Effect": "Allow", "Action": "iam:Other", "Resource": "ARN"}])
    first, _, last = more.partition("ARN")
    parts = [first, {"Fn::GetAtt": ["Role", "Arn"]}, last] if not known else [more]
    made = {
        name: {"Type": "AWS::IAM::ManagedPolicy", "Properties": {"PolicyDocument": document}}
        for name, document in (("A", {"Statement": list(policy(LISTS))}), ("B", {"Fn::Join": ["", parts]}))
    }
    text = json.dumps({"Description": "karpenter", "Resources": made})
    found = check(nodelint, tmp_path, {"stack.json": text, "class.yaml": CLASS})
    assert [LISTS in message for message in found] == [True] * known


@pytest.mark.parametrize("form", ["yaml", "json"])
@pytest.mark.parametrize(
    ("short", "action", "count"),
    [
        ("sts:AssumeRole", "sts:AssumeRole", 1),
        ("!Ref Action", {"Ref": "Action"}, 0),
        ("!If [New, 'iam:A', 'iam:B']", {"Fn::If": ["New", "iam:A", "iam:B"]}, 0),
        ("['sts:TagSession', !Sub '${Service}:List']", ["sts:TagSession", {"Fn::Sub": "${Service}:List"}], 0),
    ],
)
def test_an_action_of_a_parameter_is_not_known(
    nodelint: Run, tmp_path: Path, form: str, short: str, action: object, count: int
) -> None:
    more = {"Effect": "Allow", "Action": "ACTION", "Resource": "*"}
    whole = template({"Statement": [*policy(LISTS), more]})
    text = whole.replace('"ACTION"', short if form == "yaml" else json.dumps(action))
    found = check(nodelint, tmp_path, {f"stack.{form}": text, "class.yaml": CLASS})
    assert [LISTS in message for message in found] == [True] * count


@pytest.mark.parametrize(("principal", "count"), [("*", 1), ({"Service": "events.amazonaws.com"}, 0)])
def test_a_queue_for_everybody_in_a_string(nodelint: Run, tmp_path: Path, principal: object, count: int) -> None:
    statement = {"Effect": "Allow", "Principal": principal, "Action": "sqs:SendMessage", "Resource": "*"}
    write_files(tmp_path, {".git/HEAD": "", "stack.json": template({"Fn::Sub": as_text([statement])})})
    done = nodelint("check", str(tmp_path), "--format", "json", "--select", "public-queue")
    assert len(json.loads(done.stdout)["findings"]) == count


@pytest.mark.parametrize(("key", "count"), [("NotAction", 1), ("Action", 0)])
def test_all_actions_except_some_in_a_string(nodelint: Run, tmp_path: Path, key: str, count: int) -> None:
    statement = {"Effect": "Allow", key: ["iam:CreateUser"], "Resource": "*"}
    write_files(tmp_path, {".git/HEAD": "", "karpenter.json": template({"Fn::Sub": as_text([statement])})})
    done = nodelint("check", str(tmp_path), "--format", "json", "--select", "wide-controller-policy")
    assert len(json.loads(done.stdout)["findings"]) == count
