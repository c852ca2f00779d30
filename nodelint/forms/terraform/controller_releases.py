"""Read the `helm_release` blocks that install Karpenter's controller, with their known values."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from nodelint.base.budget import BudgetSpent
from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.files.gate import gate
from nodelint.forms.terraform.block_instances import explain_no_instance, instances
from nodelint.forms.terraform.file_blocks import BlockAttribute, TerraformBlock, TerraformFile
from nodelint.model.evidence import OVERRIDDEN, Evidence, match_chart, not_known, stated
from nodelint.text import Node, Source

if TYPE_CHECKING:
    from nodelint.forms.terraform.hcltree import HclExpression
    from nodelint.forms.terraform.template import Evaluator
    from nodelint.forms.terraform.values import Modules, TerraformModule


class ControllerRelease(NamedTuple):
    """A `helm_release` of Karpenter's chart, for one caller of its module.

    - `block`: the block; `given`: its attributes.
    - `evaluator`: evaluates its expressions.
    - `module`: its module.
    """

    block: TerraformBlock
    given: tuple[BlockAttribute, ...]
    evaluator: Evaluator
    module: TerraformModule
    version: Node | None
    """The value of `version`. None if the block sets none."""

    @property
    def version_text(self) -> str:
        """Return the chart version of the release. Empty if it is not known."""
        value = self.version.value if self.version is not None else None
        return value if isinstance(value, str) else ""


def controller_releases(file: TerraformFile, modules: Modules) -> Iterator[ControllerRelease]:
    """Yield the blocks of a file that install the controller's chart, once for each caller of the module.

    Raise `BudgetSpent`.
    """
    around = os.path.dirname(os.path.abspath(file.source.path))
    for block, given, outer in file.chart_releases():
        for module in modules.variants(around):
            evaluator = module.evaluator(file.source)
            if module.is_off or explain_no_instance(outer, evaluator):
                continue
            for names in instances(outer, evaluator):
                inside = evaluator.inside(names)
                if _is_controller(outer, inside, around):
                    version = inside.value(outer["version"]) if "version" in outer else None
                    yield ControllerRelease(block, given, inside, module, version)


def _is_controller(outer: dict[str, HclExpression], evaluator: Evaluator, folder: str) -> bool:
    """Return whether a block installs Karpenter's own chart: by its name or address, else by the release's name.

    A copy of the chart in the repository counts as well.
    """
    values = {name: evaluator.value(outer[name]).value for name in ("chart", "repository", "name") if name in outer}
    repository = values.get("repository")
    if isinstance(repository, str) and "karpenter" not in repository:
        return False
    chart = values["chart"]
    if not isinstance(chart, str):
        return values.get("name") == "karpenter"
    found = match_chart(chart)
    if found is None and chart.startswith((".", os.sep)):
        return _is_copied_chart(os.path.normpath(os.path.join(folder, chart)))
    return found is not None and found[1] is None


def _is_copied_chart(folder: str) -> bool:
    """Return whether a folder contains a copy of Karpenter's chart."""
    text = gate.load_text(os.path.join(folder, "Chart.yaml"), _LARGEST) or ""
    return re.search(r"(?m)^name: *karpenter *$", text) is not None and "aws/karpenter" in text


_LARGEST = 1 << 16
"""The most bytes of a Chart.yaml."""


def evaluated(sources: Sequence[Source], known: Sequence[Evidence]) -> Iterator[Evidence]:
    """Yield the releases that `helm_release` blocks state by an expression, as far as its value is known."""
    from nodelint.forms.terraform.values import Modules

    modules: Modules | None = None
    for source in sources:
        if "helm_release" not in source.text or not source.path.endswith((".tf", ".tofu", ".tf.json", ".tofu.json")):
            continue
        modules = modules or Modules(sources)
        file = modules.file(os.path.abspath(source.path))
        releases: list[ControllerRelease] = []
        try:
            for release in controller_releases(file, modules) if file is not None else ():
                releases.append(release)
                yield from _of_release(release, source, known)
        except BudgetSpent:
            continue
        yield from _overridden(releases, source, known)


def _overridden(
    releases: Sequence[ControllerRelease], source: Source, known: Sequence[Evidence]
) -> Iterator[Evidence]:
    """Yield the defaults of a variable that each call of the module overrides. They state no release."""
    for default in known:
        name = default.by.removeprefix("the default of var.")
        if name == default.by or os.path.dirname(default.path) != os.path.dirname(source.path):
            continue
        reading = re.compile(rf"\bvar\.{re.escape(name)}\b")
        ours = [r for r in releases if reading.search(_written_version(r, source))]
        values = [r.version for r in ours if r.version is not None and isinstance(r.version.value, str)]
        places = {(os.path.abspath(v.source.path), v.source.position(v.start).line) for v in values}
        if ours and len(values) == len(ours) and (os.path.abspath(default.path), default.line) not in places:
            yield default._replace(weight=OVERRIDDEN)


def _written_version(release: ControllerRelease, source: Source) -> str:
    written = next((a.value for a in release.given if a.name == "version" and not a.depth), None)
    return source.text[written.start : written.end] if written is not None else ""


def _of_release(release: ControllerRelease, source: Source, known: Sequence[Evidence]) -> Iterator[Evidence]:
    """Yield the release that a `helm_release` block states, at the line of the value."""
    written = next((a.value for a in release.given if a.name == "version" and not a.depth), None)
    if written is None or release.version is None or written.kind == "literal":
        return
    text = source.text[written.start : written.end]
    line = source.position(written.start).line
    value, at = release.version.value, release.version.source
    if isinstance(value, str):
        place, path = at.position(release.version.start).line, os.path.abspath(at.path)
        if any((os.path.abspath(item.path), item.line) == (path, place) for item in known):
            return
        shown = at.path if os.path.isabs(source.path) or not at.path.startswith("..") else path
        found = stated("karpenter", value, shown, place, f"the version of {source.path}:{line}")
        if found is not None:
            yield found
            return
    variable = re.fullmatch(r"\"?(?:\$\{)?(?:var|local)\.([\w-]+)\}?\"?", text)
    by = (f"the default of var.{variable[1]}", f"var.{variable[1]}", f"local.{variable[1]}") if variable else ()
    if not any(item.by in by and os.path.dirname(item.path) == os.path.dirname(source.path) for item in known):
        yield not_known(source.path, line, "a helm_release", text)
