"""The `helm_release` blocks of Terraform that install Karpenter's controller, with what is known of their values."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from nodelint.release_evidence.charts import CHART
from nodelint.source import Node
from nodelint.source.terraform.tffill import (
    BlockAttribute,
    TerraformBlock,
    TerraformFile,
    attributes_of,
    explain_no_instance,
    instances,
)
from nodelint.tuples import NamedTuple

if TYPE_CHECKING:
    from nodelint.source.terraform.hcltree import HclExpression
    from nodelint.source.terraform.tftemplate import Evaluator
    from nodelint.source.terraform.tfvalues import Modules, TerraformModule


class ControllerRelease(NamedTuple):
    """A `helm_release` of Karpenter's chart as one caller of its module makes it."""

    block: TerraformBlock
    given: tuple[BlockAttribute, ...]
    evaluator: Evaluator
    module: TerraformModule
    version: Node | None
    """The value of `version`; None where the block sets none."""

    @property
    def version_text(self) -> str:
        """The version; empty where it is not known."""
        value = self.version.value if self.version is not None else None
        return value if isinstance(value, str) else ""


def controller_releases(file: TerraformFile, modules: Modules) -> Iterator[ControllerRelease]:
    """The blocks of a file that install the controller's chart, each as every caller of the module has it.

    Raises `EvaluationLimit`.
    """
    around = os.path.dirname(os.path.abspath(file.source.path))
    for block in file.blocks:
        if block.kind != "resource" or block.names[:1] != ("helm_release",):
            continue
        given = tuple(attributes_of(file.words, block))
        outer = {attribute.name: attribute.value for attribute in given if not attribute.depth}
        for module in modules.variants(around) if "chart" in outer else ():
            evaluator = module.evaluator(file.source)
            if module.is_off or explain_no_instance(outer, evaluator):
                continue
            for names in instances(outer, evaluator):
                inside = evaluator.inside(names)
                if _is_controller(outer, inside):
                    version = inside.value(outer["version"]) if "version" in outer else None
                    yield ControllerRelease(block, given, inside, module, version)


def _is_controller(outer: dict[str, HclExpression], evaluator: Evaluator) -> bool:
    """Whether a block installs Karpenter's own chart: by its name or address, else by the release's name."""
    values = {name: evaluator.value(outer[name]).value for name in ("chart", "repository", "name") if name in outer}
    repository = values.get("repository")
    if isinstance(repository, str) and "karpenter" not in repository:
        return False
    chart = values["chart"]
    if not isinstance(chart, str):
        return values.get("name") == "karpenter"
    found = re.fullmatch(CHART, chart)
    return found is not None and found[1] is None
