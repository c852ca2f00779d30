"""Installations of Karpenter's controller by `helm_release` of Terraform, and settings that modules are given."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from nodelint.base.budget import BudgetSpent
from nodelint.forms.lib.controller_install import ControllerFiles, make_install
from nodelint.forms.registry import TERRAFORM
from nodelint.forms.terraform.chart_releases import known_layers
from nodelint.forms.terraform.controller_releases import controller_releases
from nodelint.forms.terraform.fill import BlockAttribute, TerraformBlock, TerraformFile
from nodelint.forms.terraform.hcl import Text
from nodelint.forms.terraform.values import Modules
from nodelint.model.controller_settings import ControllerInstall, WrittenSetting
from nodelint.model.finding import Span
from nodelint.text import Node, Source
from nodelint.text.placeholders import holds_code, mask
from nodelint.text.syntax_errors import Unreadable
from nodelint.text.yaml.compose import compose

_SET = re.compile(r'\bname"?\s*+[=:]\s*+"(settings\.[\w.]+)"\s*+,?\s*+"?value"?\s*+[=:]\s*+"?([\w.=,%-]+)"?')
"""One of the settings that a module is given: the path of a value of the chart, and the value."""


def find_installs(source: Source, files: ControllerFiles) -> Iterator[ControllerInstall]:
    """The installations in a file: those of `helm_release`, and the settings that stand outside of one."""
    if not source.path.endswith(TERRAFORM.stating):
        return
    read: list[tuple[int, int]] = []
    modules = files.keep("terraform modules", lambda: Modules(files.sources))
    installs = "helm_release" in source.text or "enable_karpenter" in source.text
    file = modules.file(os.path.abspath(source.path)) if installs else None
    if file is not None:
        try:
            for block, install in _installs_by_addons(file, modules):
                read.append((block.start, block.end))
                yield install
            for release in controller_releases(file, modules):
                block = release.block
                read.append((block.start, block.end))
                layers, is_complete = known_layers(file, block, release.given, release.evaluator)
                at = Node(source, block.start, block.end, "mapping", "flow")
                install = make_install(at, "the helm_release", release.version_text, layers, is_complete)
                yield install._replace(at=_first_line(source, block.start))
        except BudgetSpent:
            pass
    settings = []
    for match in _SET.finditer(source.text):
        if not any(start <= match.start() < end for start, end in read):
            key = Node(source, match.start(1), match.end(1), "scalar", "plain", match[1])
            settings.append(WrittenSetting("value", match[1], match[2], key))
    if settings:
        yield ControllerInstall(
            _first_line(source, settings[0].node.start),
            "settings in Terraform",
            None,
            tuple(settings),
            False,
            None,
            (),
        )


def _installs_by_addons(file: TerraformFile, modules: Modules) -> Iterator[tuple[TerraformBlock, ControllerInstall]]:
    """Yield what each `module` with `enable_karpenter` gives the chart by `karpenter`; the module gives more itself.

    Raise `BudgetSpent`.
    """
    for block in file.blocks:
        outer = file.attributes(block) if block.kind == "module" else {}
        config = outer.get("karpenter")
        if "enable_karpenter" not in outer or config is None or config.kind != "object":
            continue
        pairs = zip(config.parts[::2], config.parts[1::2], strict=True)
        given = [BlockAttribute(str(key.value), value, 0) for key, value in pairs]
        at = Node(file.source, block.start, block.end, "mapping", "flow")
        for module in modules.variants(os.path.dirname(os.path.abspath(file.source.path))):
            evaluator = module.evaluator(file.source)
            layers, is_known = known_layers(file, block, given, evaluator)
            version = next((evaluator.value(a.value).value for a in given if a.name == "chart_version"), None)
            shown = version if isinstance(version, str) else ""
            install = make_install(at, "the module of add-ons", shown, layers, is_known)
            yield block, install._replace(at=_first_line(file.source, block.start), is_complete=False)


def read_roots(source: Source) -> list[Node]:
    """The manifests in heredocs that make Karpenter's chart be installed: what Terraform fills in is not known."""
    if not re.search(r"\bkind:\s*(?:Application|ApplicationSet|HelmRelease)\b", source.text):
        return []
    found: list[Node] = []
    for heredoc in Text(source.text, 0, len(source.text)).heredocs:
        body = source.text[heredoc.start : heredoc.end]
        if "karpenter" not in body or "kind:" not in body:
            continue
        shown = mask(body, hcl=True)[0] if holds_code(body) else body
        try:
            roots = compose(source, shown, heredoc.start, masked=shown is not body)
        except Unreadable:
            continue
        found += [root for root in roots if root is not None]
    return found


def _first_line(source: Source, start: int) -> Span:
    """The rest of the line that begins at a place."""
    end = source.text.find("\n", start)
    line = source.text[start : end if end >= 0 else None]
    return Span(source, start, start + len(line.rstrip(" \t\r{")))
