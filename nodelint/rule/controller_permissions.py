"""The AWS calls that the Karpenter controller near a file makes, and the IAM policies and Terraform modules of the
run that may allow them.
"""

from __future__ import annotations

import os
import re

from nodelint.base.types import TYPE_CHECKING
from nodelint.files.file_kinds import YAML_ENDINGS
from nodelint.files.gate import gate
from nodelint.forms.terraform.terraform_blocks import ENDINGS
from nodelint.model.controller_policy import calls_of, list_conditions, policy_module
from nodelint.model.iam_statements import list_statements, named_policies
from nodelint.model.keys import CAPACITY_TYPE
from nodelint.model.manifest import EC2NodeClass, NodePool, Object
from nodelint.text import Source
from nodelint.text.source import WHOLE_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nodelint.model.controller_policy import Call, PolicyModule
    from nodelint.model.controller_settings import WrittenSetting
    from nodelint.model.finding import Span
    from nodelint.model.iam_statements import Statement
    from nodelint.model.releases import Version
    from nodelint.rule.context import Context

__all__ = [
    "find_oldest_release",
    "find_policy_module",
    "is_policy_module_in_use",
    "list_needed_calls",
    "list_statements_near",
]

_ACTION = re.compile(r"\b(?:ec2|eks|iam|pricing|sqs|ssm):[A-Z*]")
_SOURCE = re.compile(r'(?m)^[ \t]+source\s*=\s*"([^"\n]*)"')


def find_oldest_release(source: Source, context: Context) -> Version | None:
    """Return the oldest Karpenter release that files state for the objects or installations near a file. None if a
    release is not known.
    """
    objects = context.run_files.objects_near(source, Object)
    stated = [context.stated_releases(obj) for obj in objects]
    if not objects:
        folder = os.path.dirname(source.path)
        installs = [i for i in context.run_files.installs if os.path.dirname(i.at.source.path) == folder]
        stated = [(install.release,) if install.release is not None else () for install in installs]
    return min(map(min, stated)) if stated and all(stated) else None


def list_needed_calls(source: Source, context: Context, oldest: Version | None) -> list[Call]:
    """Return the AWS calls that the controller for the objects near a file makes. Empty if neither a class nor a
    release is known.
    """
    classes = context.run_files.objects_near(source, EC2NodeClass)
    conditions = list_conditions(classes)
    if any(_asks_for_spot(pool) for pool in context.run_files.objects_near(source, NodePool)):
        conditions.add("spot")
    installs = [install for install in context.run_files.installs if not install.at.source.path.endswith(".md")]
    if any(_is_set(setting) for install in installs for setting in install.find("INTERRUPTION_QUEUE")):
        conditions.add("queue")
    if any(install.is_complete and not install.find("CLUSTER_ENDPOINT") for install in installs):
        conditions.add("no-endpoint")
    return calls_of(conditions, oldest) if classes or oldest is not None else []


def _is_set(setting: WrittenSetting) -> bool:
    """Return whether a setting certainly has a value. False for an expression that may be empty."""
    lines = setting.node.source.text[setting.node.start :][:300].split("\n")[:2]
    may_be_empty = r"\{\{" if setting.is_known else r"\{\{|\?|\btry\(|\bcoalesce\("
    return re.search(may_be_empty, "".join(lines)) is None


def _asks_for_spot(pool: NodePool) -> bool:
    return any(
        line.key == CAPACITY_TYPE and "spot" in (line.known_texts or ()) and line.operator == "In"
        for line in pool.requirements
    )


def list_statements_near(source: Source, context: Context) -> Iterator[Statement]:
    """Yield the statements of IAM policies that may apply to the controller of a file. Statements in other folders
    that have a controller policy of their own are not included.
    """
    folder = os.path.dirname(source.path)
    blocks = context.run_files.terraform.files if context.run_files.has_terraform else ()
    files = {file.path: file for file in (*blocks, *context.run_files.files_of_run, source)}
    others = set()
    for path, file in files.items():
        if os.path.dirname(path) != folder and "ec2:CreateFleet" in file.text:
            others.add(os.path.dirname(path))
    whole = {os.path.abspath(path) for path in files}
    neighbours = source.once(_read_beside, lambda: _read_beside(folder))
    files |= {file.path: file for file in neighbours if os.path.abspath(file.path) not in whole}
    for path, file in files.items():
        if os.path.dirname(path) in others:
            continue
        for text in (file, *(policy for at, policy in named_policies(file) if _is_ours(at))):
            for statement in list_statements(text):
                if os.path.dirname(path) == folder or (statement.actions is not None and _is_ours(statement.at)):
                    yield statement


def _read_beside(folder: str) -> list[Source]:
    """Return the files of a folder that may have policies. Discovery leaves out those that do not name Karpenter."""
    found = []
    for name in gate.names(folder or os.curdir):
        path = os.path.join(folder, name)
        text = gate.load_text(path) if name.endswith(YAML_ENDINGS) else None
        if text is not None and _ACTION.search(text) is not None:
            found.append(Source.from_text(path, text, WHOLE_FILE))
    return found


def _is_ours(at: Span) -> bool:
    """Return whether a policy may be the controller's: its Terraform block contains the word Karpenter, or the file
    is no Terraform file.
    """
    text = at.source.text
    if not at.source.path.endswith(ENDINGS):
        return True
    start, end = text.rfind("\n}", 0, at.start), text.find("\n}", at.end)
    return "karpenter" in text[max(start, 0) : end if end >= 0 else len(text)].lower()


def is_policy_module_in_use(context: Context) -> bool:
    """Return whether the run calls a Terraform module that creates a policy of the controller."""
    if not context.run_files.has_terraform:
        return False
    return any(
        block.address.startswith("module.") and find_policy_module(block.text) is not None
        for block in context.run_files.terraform.blocks
    )


def find_policy_module(block: str) -> PolicyModule | None:
    """Return the module that a `module` block calls, if it creates the controller's policy. None otherwise."""
    called = _SOURCE.search(block)
    module = policy_module(called[1]) if called is not None else None
    return module if module is not None and module.is_in_use(block) else None
