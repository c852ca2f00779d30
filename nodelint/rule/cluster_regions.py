"""Find the AWS regions that the files of a run state for the cluster."""

from __future__ import annotations

import re

from nodelint.base.types import TYPE_CHECKING
from nodelint.model.finding import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nodelint.forms.terraform.terraform_trace import TerraformBlocks
    from nodelint.rule.run_files import RunFiles
    from nodelint.text import Source

__all__ = ["StatedRegion", "find_regions", "names_region"]

_ONE = r"[a-z]{2}(?:-[a-z]+){1,3}-\d"
_PROVIDER = re.compile(r'(?m)^provider[ \t]+"aws"[ \t]*\{((?:(?!^\}).)*)', re.DOTALL)
_REGION = re.compile(r'(?m)^[ \t]*region[ \t]*=[ \t]*("[^"\n]*"|(?:local|var)\.[\w-]+)')
_CONFIG = re.compile(r"(?m)^kind:[ \t]*ClusterConfig\b")
_CONFIG_REGION = re.compile(r"(?m)^metadata:[^\n]*\bregion:[ \t]*[\"']?([\w-]+)|^  region:[ \t]*[\"']?([\w-]+)")
_SUBNETS = re.compile(rf'(?m)^[ \t]*(?:azs|availability_zones?)[ \t]*=[ \t]*+\[?\s*+"({_ONE})[a-z]"')
_ENDPOINT = re.compile(rf"(?i)\bcluster_?endpoint\b[^\n]{{0,40}}https://\w+\.\w+\.({_ONE})\.eks\.amazonaws\.com")
_IN_SCRIPT = re.compile(rf"(?m)^[ \t]*(?:export[ \t]+)?AWS_(?:DEFAULT_)?REGION=[\"']?({_ONE})\b")
_TERRAFORM = (".tf", ".tofu", ".hcl")
StatedRegion = tuple[str, Span, bool]
"""A region, the place that states it, and whether it is the default of a variable, which a run may replace."""


def find_regions(run_files: RunFiles) -> list[StatedRegion]:
    """Return the regions that files state for the cluster, each with its place."""
    found: list[StatedRegion] = []
    for file in run_files.terraform.files if run_files.has_terraform else ():
        if file.path.endswith(_TERRAFORM):
            found += _find_in_terraform(file, run_files.terraform)
    for pattern in (_CONFIG, _ENDPOINT):
        for file in run_files.files_with(pattern, around=True):
            stated = (_CONFIG_REGION if pattern is _CONFIG else _ENDPOINT).search(file.text)
            if stated is not None:
                number = 1 if stated[1] else 2
                found.append((stated[number], Span(file, *stated.span(number)), False))
    installing = {path for install in run_files.installs for path in install.paths}
    for file in run_files.files_with(_IN_SCRIPT, around=True) if installing else ():
        if file.path in installing:
            found += [(m[1], Span(file, *m.span(1)), False) for m in _IN_SCRIPT.finditer(file.text)]
    return found


def _find_in_terraform(file: Source, blocks: TerraformBlocks) -> Iterator[StatedRegion]:
    """Yield the regions of the providers and subnets in a file."""
    for provider in _PROVIDER.finditer(file.text):
        written = _REGION.search(provider[1])
        if written is None or "alias" in provider[1]:
            continue
        start = provider.start(1) + written.start(1)
        at = Span(file, start, start + len(written[1]))
        name = blocks.literal(written[1], file.path)
        if name is not None:
            yield name, at, False
            continue
        for region, is_default in blocks.provider_values(file.path, "aws", "region"):
            yield region, at, is_default
    for subnets in _SUBNETS.finditer(file.text):
        yield subnets[1], Span(file, *subnets.span(1)), False


def names_region(regions: set[str], path: str, run_files: RunFiles) -> bool:
    """Return whether a path or a file names one of the regions, and not only a zone: another cluster may be there."""
    names = "|".join(sorted(regions))
    return any(region in path for region in regions) or run_files.is_in_files(
        re.compile(rf"\b(?:{names})(?![\w-])"), around=True
    )
