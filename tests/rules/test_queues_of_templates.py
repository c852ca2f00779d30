"""The interruption queue of a template of CloudFormation: what sends to it, what may, and what is not known."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]

STACK = """\
Description: what karpenter needs
Resources:
  InterruptionQueue:
    Type: AWS::SQS::Queue
    Properties:
      QueueName: !Sub "${Cluster}"
  QueuePolicy:
    Type: AWS::SQS::QueuePolicy
    Properties:
      Queues: [!Ref InterruptionQueue]
      PolicyDocument:
        Statement:
          - Effect: Allow
            Principal:
              Service: [events.amazonaws.com, sqs.amazonaws.com]
            Action: sqs:SendMessage
            Resource: !GetAtt InterruptionQueue.Arn
          - Effect: Deny
            Principal: "*"
            Action: sqs:*
            Resource: !GetAtt InterruptionQueue.Arn
  SpotRule:
    Type: AWS::Events::Rule
    Properties:
      EventPattern: {source: [aws.ec2], detail-type: [EC2 Spot Instance Interruption Warning]}
      Targets:
        - Id: Queue
          Arn: !GetAtt InterruptionQueue.Arn
  Controller:
    Type: AWS::IAM::ManagedPolicy
    Properties:
      PolicyDocument:
        Statement: {Effect: Allow, Action: sqs:ReceiveMessage, Resource: !GetAtt InterruptionQueue.Arn}
Outputs:
  Name: {Value: !GetAtt InterruptionQueue.QueueName}
"""
TARGETS = "      Targets:\n        - Id: Queue\n          Arn: !GetAtt InterruptionQueue.Arn\n"
ARN = "          Arn: !GetAtt InterruptionQueue.Arn\n"
POLICY = STACK[STACK.index("  QueuePolicy:") : STACK.index("  SpotRule:")]
RULE = STACK[STACK.index("  SpotRule:") : STACK.index("  Controller:")]
LAMBDA = "          Arn: !GetAtt Controller.Arn\n"
NO_RULE = "no EventBridge rule sends to the queue"
NO_TARGET = "no EventBridge rule has a target"
NO_POLICY = "the queue has no policy"
SHUT_OUT = "the policy of the queue does not name EventBridge"

CASES = [
    ("", "", ""),
    (RULE, "", NO_RULE),
    (TARGETS, "", NO_TARGET),
    (ARN, LAMBDA, NO_RULE),
    (ARN, ARN.replace("!GetAtt InterruptionQueue.Arn", "!Sub arn:aws:sqs:${AWS::Region}:1:${Cluster}"), ""),
    (ARN, ARN.replace("!GetAtt InterruptionQueue.Arn", "{'Fn::GetAtt': [InterruptionQueue, Arn]}"), ""),
    (TARGETS, "      Targets: !If [Prod, [], []]\n", ""),
    (POLICY, "", NO_POLICY),
    (POLICY + ARN, ARN, ""),
    ("[!Ref InterruptionQueue]", "[!Ref Controller]", NO_POLICY),
    ("[!Ref InterruptionQueue]", "[!ImportValue Queue]", ""),
    ("events.amazonaws.com, ", "", SHUT_OUT),
    ("[events.amazonaws.com, sqs.amazonaws.com]", "!Ref Sender", ""),
    ("[events.amazonaws.com, sqs.amazonaws.com]", '[!Sub "events.${AWS::URLSuffix}"]', ""),
]


def check(nodelint: Run, folder: Path, files: dict[str, str]) -> list[str]:
    write_files(folder, {".git/HEAD": "ref: refs/heads/main\n", **files})
    done = nodelint("check", str(folder), "--format", "json", "--select", "queue-without-events")
    return [found["message"] for found in json.loads(done.stdout)["findings"]]


@pytest.mark.parametrize(("old", "new", "message"), CASES)
def test_a_queue_without_events_and_its_twins(
    nodelint: Run, tmp_path: Path, old: str, new: str, message: str
) -> None:
    found = check(nodelint, tmp_path, {"stack.yaml": STACK.replace(old, new) if old else STACK})
    assert [text.startswith(message) for text in found] == [True] * bool(message)


def make_json(rule: bool) -> str:
    queue = {"Fn::GetAtt": ["KarpenterQueue1A2B", "Arn"]}
    target = {"Type": "AWS::Events::Rule", "Properties": {"Targets": [{"Id": "Target0", "Arn": queue}]}}
    allowed = {"Effect": "Allow", "Principal": {"Service": "events.amazonaws.com"}, "Resource": queue}
    policy = {"Queues": [{"Ref": "KarpenterQueue1A2B"}], "PolicyDocument": {"Statement": [allowed]}}
    made = {
        "KarpenterQueue1A2B": {"Type": "AWS::SQS::Queue", "Metadata": {"aws:cdk:path": "karpenter/Queue"}},
        "Policy3C4D": {"Type": "AWS::SQS::QueuePolicy", "Properties": policy},
        **({"Rule5E6F": target} if rule else {}),
    }
    return json.dumps({"Resources": made}, indent=1)


@pytest.mark.parametrize(("rule", "count"), [(True, 0), (False, 1)])
def test_a_template_that_cdk_writes(nodelint: Run, tmp_path: Path, rule: bool, count: int) -> None:
    assert len(check(nodelint, tmp_path, {"cdk.out/Karpenter.template.json": make_json(rule)})) == count


@pytest.mark.parametrize(
    ("old", "new", "count"),
    [
        ("Outputs:\n", "Outputs:\n  Arn: {Value: !GetAtt InterruptionQueue.Arn}\n", 0),
        ("Outputs:\n", "Outputs:\n  Region: {Value: !Ref AWS::Region}\n", 1),
        ("Resources:\n", "Transform: AWS::Serverless-2016-10-31\nResources:\n", 0),
        ("Resources:\n", "Resources:\n  More:\n    Type: AWS::CloudFormation::Stack\n", 0),
        ("InterruptionQueue", "OrdersQueue", 0),
    ],
)
def test_a_queue_that_something_else_may_fill(nodelint: Run, tmp_path: Path, old: str, new: str, count: int) -> None:
    text = STACK.replace(RULE, "").replace(old, new)
    assert len(check(nodelint, tmp_path, {"stack.yaml": text})) == count


@pytest.mark.parametrize(("name", "count"), [("karpenter", 0), ("orders", 1)])
def test_a_rule_in_another_file(nodelint: Run, tmp_path: Path, name: str, count: int) -> None:
    rule = f"# {name}\nResources:\n{RULE}" if name == "karpenter" else "# karpenter\nResources: {}\n"
    assert len(check(nodelint, tmp_path, {"stack.yaml": STACK.replace(RULE, ""), "rules.yaml": rule})) == count
