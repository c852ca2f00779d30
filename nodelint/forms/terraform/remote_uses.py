"""Find the remote modules, charts and units that may create pools, with their inputs."""

from __future__ import annotations

import os
import re

from nodelint.base.types import TYPE_CHECKING
from nodelint.forms.input_text import RemoteUse
from nodelint.forms.lib.chart_values import MAKES_POOLS, MAY_MAKE_POOLS
from nodelint.forms.terraform.input_places import COMMENT, InputPlace
from nodelint.forms.terraform.parsed import parse_text
from nodelint.forms.terraform.remote_units import KNOWN_PUBLISHERS, find_remote_module
from nodelint.forms.terraform.terragrunt import NAME

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nodelint.forms.terraform.hcltree import HclExpression
    from nodelint.forms.terraform.inputs import TerraformInputs
    from nodelint.text import Source

_OF_POOLS = re.compile(
    r"instance_(?:famil\w+|categor\w+|types?|sizes?|generations?)|capacity_types?|requirements|taints|consolidat\w+"
    r"|ami_alias|expire_after"
)
"""Inputs that show that a module creates pools, unless it creates node groups."""
_OF_SCHEDULE = frozenset(
    [
        "depends_on",
        "providers",
        "provider",
        "timeout",
        "wait",
        "wait_for_jobs",
        "atomic",
        "cleanup_on_fail",
        "verify",
        "max_history",
        "force_update",
        "recreate_pods",
        "create_namespace",
        "lint",
        "description",
        "skip_crds",
        "dependency_update",
        "replace",
        "disable_webhooks",
        "repository_username",
        "repository_password",
    ]
)
"""Arguments that decide when and how a chart is installed, not what."""
_REASON = "`{}` of it changes, and no file of the module is here: what it makes is not known"


def list_remote_modules(inputs: TerraformInputs, source: Source) -> Iterator[RemoteUse]:
    """Yield the remote modules and charts that may create pools, each with its inputs."""
    path = os.path.abspath(source.path)
    file = inputs.modules.file(path)
    for block in file.blocks if file is not None else ():
        is_release = block.kind == "resource" and block.names[:1] == ("helm_release",)
        given = file.attributes(block) if file is not None and (is_release or block.kind == "module") else {}
        where = given.pop("chart" if is_release else "source", None)
        address = source.text[where.start : where.end].strip('"') if where is not None else ""
        if not address or re.match(r"\.{0,2}/|\$\{", address) or not block.names:
            continue
        text = source.text[block.start : block.end]
        is_known = is_release or KNOWN_PUBLISHERS.match(address)
        makes_pools = MAKES_POOLS.search(address if is_known else COMMENT.sub("", text)) or (
            not is_known and any(map(_OF_POOLS.fullmatch, given))
        )
        makes_pools = makes_pools or (is_release and MAY_MAKE_POOLS.search(address) is not None)
        if not makes_pools:
            continue
        folder = os.path.dirname(path)
        label = ".".join(block.names) if is_release else f"module.{block.names[0]}"
        places = [
            InputPlace(f"{label}: {key}", folder, source, value.start, value.end, block)
            for key, value in [("chart" if is_release else "source", where), *given.items()]
            if value is not None and key not in (_OF_SCHEDULE if is_release else ("depends_on", "providers"))
        ]
        reason = _REASON.replace("module", "chart") if is_release else _REASON
        yield RemoteUse(os.path.dirname(source.path), label, inputs.follow(places), reason)


def list_remote_units(inputs: TerraformInputs, sources: Sequence[Source]) -> Iterator[RemoteUse]:
    """Yield the Terragrunt units with a remote module that may create pools, each with its inputs."""
    called: list[tuple[Source, HclExpression | None]]
    called = [(source, where) for source in sources if (where := find_remote_module(source)) is not None]
    names = {os.path.basename(source.path) for source, _ in called} - {NAME}
    called += [(s, None) for s in sources if s.path.endswith(NAME) and any(name in s.text for name in names)]
    for source, where in called:
        folder = os.path.dirname(os.path.abspath(source.path))
        given = [("source", where), ("inputs", parse_text(source.text).outer.get("inputs"))]
        places = [InputPlace(f"unit: {key}", folder, source, part.start, part.end) for key, part in given if part]
        yield RemoteUse(source.path, os.path.basename(source.path), inputs.follow(places), _REASON)
