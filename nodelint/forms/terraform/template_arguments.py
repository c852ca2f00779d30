"""Find the arguments with which blocks of Terraform render a template."""

from __future__ import annotations

import os
from collections.abc import Iterator

from nodelint.forms.lib.file_patterns import names_file
from nodelint.forms.lib.made_nodes import mapping
from nodelint.forms.terraform.block_instances import instances
from nodelint.forms.terraform.file_blocks import TerraformFile
from nodelint.forms.terraform.template import Evaluator
from nodelint.text.nodes import Node
from nodelint.text.unknown_value import UNKNOWN

_DOCUMENTS = "kubectl_path_documents"


def list_template_arguments(file: TerraformFile, evaluator: Evaluator, folder: str, template: str) -> Iterator[Node]:
    """Yield the arguments of each data source in a file that renders a template, a file with an absolute path.

    Calls of `templatefile` are only evaluated: the module that calls collects their arguments (`renders`).
    """
    for block in file.blocks:
        written = file.source.text[block.start : block.end]
        if "templat" not in written and _DOCUMENTS not in written:
            continue
        outer = file.attributes(block)
        kind = block.names[:1] if block.kind == "data" else ()
        for names in instances(outer, evaluator):
            inside = evaluator.inside(names)
            for attribute in file.every_attribute(block):
                if "templatefile" in file.source.text[attribute.value.start : attribute.value.end]:
                    inside.value(attribute.value)
            if kind == ("template_file",) and {"template", "vars"} <= outer.keys():
                text = inside.value(outer["template"])
                if os.path.abspath(text.source.path) == template and text.value is not UNKNOWN:
                    yield inside.value(outer["vars"])
            if kind == (_DOCUMENTS,) and "pattern" in outer:
                pattern = inside.value(outer["pattern"]).value
                if isinstance(pattern, str) and names_file(os.path.join(folder, pattern), template):
                    given = outer.get("vars")
                    yield mapping(inside.place(outer["pattern"]), ()) if given is None else inside.value(given)
