"""Find installations of Karpenter's controller by `helm_release`, and settings that are passed to modules."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from nodelint.base.budget import BudgetSpent
from nodelint.forms.lib.chart_values import merge_layer
from nodelint.forms.lib.controller_install import ControllerFiles, is_controller, make_install
from nodelint.forms.registry import TERRAFORM
from nodelint.forms.terraform.chart_releases import ENCODERS, known_layers, read_values
from nodelint.forms.terraform.controller_releases import controller_releases
from nodelint.forms.terraform.file_blocks import BlockAttribute, TerraformBlock, TerraformFile
from nodelint.forms.terraform.hcl import words_of
from nodelint.forms.terraform.resources import MANIFESTS
from nodelint.forms.terraform.values import Modules
from nodelint.model.controller_settings import ControllerInstall, WrittenSetting
from nodelint.model.finding import Span
from nodelint.text import Node, Source
from nodelint.text.placeholders import holds_code, mask
from nodelint.text.syntax_errors import Unreadable
from nodelint.text.yaml.compose import compose

_SET = re.compile(r'\bname"?\s*+[=:]\s*+"(settings\.[\w.]+)"\s*+,?\s*+"?value"?\s*+[=:]\s*+"?([\w.=,%-]+)"?')
"""A setting that is passed to a module: the path of a chart value, and the value."""


def find_installs(source: Source, files: ControllerFiles) -> Iterator[ControllerInstall]:
    """Yield the installations in a file: by `helm_release` and other blocks, and settings outside of these."""
    if not source.path.endswith(TERRAFORM.stating):
        return
    read: list[tuple[int, int]] = []
    modules = files.keep("terraform modules", lambda: Modules(files.sources))
    installs = any(word in source.text for word in TERRAFORM.installing_words)
    file = modules.file(os.path.abspath(source.path)) if installs else None
    if file is not None:
        try:
            for block, install in _installs_by_addons(file, modules):
                read.append((block.start, block.end))
                yield install
            for block, install in _installs_by_argocd(file, modules):
                read.append((block.start, block.end))
                yield install
            for release in controller_releases(file, modules):
                block = release.block
                read.append((block.start, block.end))
                layers, is_complete = known_layers(file, block, release.given, release.evaluator)
                at = Node(source, block.start, block.end, "mapping", "flow")
                install = make_install(at, "the helm_release", release.version_text, layers, is_complete)
                yield install._replace(at=_rest_of_line(source, block.start))
        except BudgetSpent:
            pass
    settings = []
    for match in _SET.finditer(source.text):
        if not any(start <= match.start() < end for start, end in read):
            key = Node(source, match.start(1), match.end(1), "scalar", "plain", match[1])
            settings.append(WrittenSetting("value", match[1], match[2], key))
    if settings:
        yield ControllerInstall(
            _rest_of_line(source, settings[0].node.start),
            "settings in Terraform",
            None,
            tuple(settings),
            False,
            None,
            (),
        )


def _installs_by_addons(file: TerraformFile, modules: Modules) -> Iterator[tuple[TerraformBlock, ControllerInstall]]:
    """Yield the chart values in `karpenter` of each `module` with `enable_karpenter`. The module adds others.

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
            yield block, install._replace(at=_rest_of_line(file.source, block.start), is_complete=False)


_INSTALLING = r"(?:Application|ApplicationSet|HelmRelease)"


def read_roots(source: Source) -> list[Node]:
    """Return the manifests in heredocs and HCL objects that install Karpenter's chart.

    Values that Terraform inserts into a heredoc are unknown.
    """
    found = _read_objects(source) if re.search(rf'\bkind"?\s*[=:]\s*"{_INSTALLING}"', source.text) else []
    if not re.search(rf"\bkind:\s*{_INSTALLING}\b", source.text):
        return found
    for heredoc in words_of(source.text).heredocs:
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


def _read_objects(source: Source) -> list[Node]:
    """Return the manifests that resources create from HCL objects."""
    modules = Modules([source])
    file = modules.file(os.path.abspath(source.path))
    found: list[Node] = []
    for block in file.blocks if file is not None else ():
        if block.kind != "resource" or not block.names or block.names[0] not in MANIFESTS:
            continue
        assert file is not None
        outer = file.attributes(block)
        written = outer.get("manifest") or outer.get("yaml_body")
        if written is not None and written.kind == "call" and written.value in ENCODERS and len(written.parts) == 1:
            written = written.parts[0]
        try:
            for module in modules.variants(os.path.dirname(os.path.abspath(source.path))):
                root = module.evaluator(source).value(written) if written is not None else None
                found += [root] if root is not None and root.kind == "mapping" else []
        except BudgetSpent:
            break
    return found


def _installs_by_argocd(file: TerraformFile, modules: Modules) -> Iterator[tuple[TerraformBlock, ControllerInstall]]:
    """Yield the chart values of each `argocd_application` for Karpenter's chart. Raise `BudgetSpent`."""
    for block in file.blocks:
        if block.kind != "resource" or block.names[:1] != ("argocd_application",):
            continue
        given = {attribute.name: attribute.value for attribute in file.every_attribute(block)}
        for module in modules.variants(os.path.dirname(os.path.abspath(file.source.path))):
            evaluator = module.evaluator(file.source)
            texts = {
                name: value.value
                for name in ("chart", "repo_url", "target_revision")
                if name in given and isinstance((value := evaluator.value(given[name])).value, str)
            }
            if not is_controller(str(texts.get("chart") or texts.get("repo_url") or "")):
                continue
            root = read_values(given["values"], evaluator) if "values" in given else None
            layers = [merge_layer(root)] if root is not None else []
            is_known = (root is not None) == ("values" in given) and not _ARGOCD_MORE & given.keys()
            at = Node(file.source, block.start, block.end, "mapping", "flow")
            version = str(texts.get("target_revision") or "")
            install = make_install(at, "the argocd_application", version, layers, is_known)
            yield block, install._replace(at=_rest_of_line(file.source, block.start))


_ARGOCD_MORE = {"value_files", "force_string", "value", "ignore_missing_value_files"}
"""Attributes that set further values. `value` is in a block `parameter`."""


def _rest_of_line(source: Source, start: int) -> Span:
    """Return the rest of the line after an offset."""
    end = source.text.find("\n", start)
    line = source.text[start : end if end >= 0 else None]
    return Span(source, start, start + len(line.rstrip(" \t\r{")))
