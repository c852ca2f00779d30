"""Whether a file that something is built of can be read at all: YAML, JSON, a chart's template, or Terraform.

What builds objects passes over a file that it cannot read. A comparison of two sides asks here, for such a file is a
gap and no change.
"""

from __future__ import annotations

import os

from nodelint.base.tuples import NamedTuple
from nodelint.files.links import CHART
from nodelint.forms.helm.charts import DefinedNames, chart_of, find_undefined_include
from nodelint.forms.kustomize.kustomizations import KUSTOMIZATIONS
from nodelint.forms.lib.gotemplate.syntax import BadTemplate, parse
from nodelint.forms.terraform.hclcheck import find_hcl_problem
from nodelint.text import Node, Source
from nodelint.text.syntax_errors import Unreadable
from nodelint.text.yaml.compose import compose

TERRAFORM = (".tf", ".tofu", ".tfvars")
_YAML = (".yaml", ".yml", ".json")


class SyntaxFault(NamedTuple):
    """Why a text cannot be read, and the offset of the place."""

    offset: int
    message: str


def find_undecodable(source: Source, data: bytes) -> SyntaxFault | None:
    """The first byte of a file that is not UTF-8; a source shows it only for a text with a word of Karpenter's."""
    if "\ufffd" in source.text and source.encoding == "utf-8":
        try:
            data.decode()
        except UnicodeDecodeError as error:
            message = f"the byte 0x{data[error.start]:02x} is not UTF-8"
            return SyntaxFault(len(data[: error.start].decode()), message)
    return None


def find_fault(path: str, data: bytes, known: DefinedNames | None = None) -> tuple[Source, SyntaxFault | None]:
    """A file as it is read, and what is wrong with it; None where it can be read, or is of a form not known here.

    `known` remembers the names of the templates of charts from one file to the next.
    """
    source = Source.from_bytes(path, data)
    fault = find_undecodable(source, data)
    if fault is not None:
        return source, fault
    if chart_of(path) is not None:
        fault = _find_template_fault(source.text)
        if (
            fault is None
            and (included := find_undefined_include(path, source.text, {} if known is None else known)) is not None
        ):
            return source, SyntaxFault(included[0], f"no template of the chart is named `{included[1]}`")
        return source, fault
    if source.problems:
        return source, SyntaxFault(source.problems[0].offset, source.problems[0].message)
    if path.endswith(TERRAFORM):
        found = find_hcl_problem(source.text)
        return source, SyntaxFault(*found) if found is not None else None
    return source, _find_yaml_fault(source) if path.endswith(_YAML) and not source.masked else None


def _find_template_fault(text: str) -> SyntaxFault | None:
    opened = text.rfind("{{")
    if opened > text.rfind("}}"):
        return SyntaxFault(opened, "could not find the `}}` of what begins here")
    try:
        parse(text)
    except BadTemplate:
        return SyntaxFault(0, "a block of the template has no `end`, or one too many")
    return None


def _find_yaml_fault(source: Source) -> SyntaxFault | None:
    try:
        roots = compose(source, source.text, 0, masked=False)
    except Unreadable as error:
        # Helm takes the last of two keys of one name.
        is_repeated = error.first is not None and os.path.basename(source.path) not in KUSTOMIZATIONS
        return None if is_repeated else SyntaxFault(error.offset, error.message)
    name = os.path.basename(source.path)
    if name in KUSTOMIZATIONS and not any(map(_says_something, roots)):
        return SyntaxFault(0, "the kustomization is empty")
    if name == CHART and (lacking := _find_lacking(roots)) is not None:
        return SyntaxFault(0, f"the chart has no `{lacking}`")
    if name == CHART or name in KUSTOMIZATIONS or "values" in name:
        other = next((root for root in roots if root is not None and not _is_mapping(root)), None)
        return SyntaxFault(other.start, "expected a mapping here") if other is not None else None
    return None


def _find_lacking(roots: list[Node | None]) -> str | None:
    """The field without which helm loads no chart, where one is missing."""
    root = roots[0] if roots else None
    if root is not None and not _is_mapping(root):
        return None
    return next((name for name in ("name", "version") if root is None or _is_empty(root.get(name))), None)


def _is_empty(node: Node | None) -> bool:
    return node is None or (node.kind == "scalar" and node.value in (None, ""))


def _says_something(root: Node | None) -> bool:
    """Whether a kustomization is more than its own kind; without that kustomize stops."""
    if root is None or root.kind != "mapping":
        return root is not None and root.value is not None
    values = (entry.value for entry in root.entries if entry.name not in ("apiVersion", "kind"))
    return any(value.kind != "scalar" or value.value is not None for value in values)


def _is_mapping(root: Node) -> bool:
    return root.kind == "mapping" or (root.kind == "scalar" and root.value is None)
