"""Texts into which Terraform inserts no values: every environment of their module gets the same objects."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from nodelint.base.budget import BudgetSpent
from nodelint.forms.lib.gotemplate.evaluate import Filled, Segment
from nodelint.forms.terraform.evaluate import EvaluationBudget
from nodelint.forms.terraform.fill import ENDS
from nodelint.forms.terraform.filled_texts import FilledText
from nodelint.forms.terraform.modules import ModuleFiles
from nodelint.forms.terraform.named_files import list_texts
from nodelint.forms.terraform.values import Modules
from nodelint.model.documents import objects
from nodelint.text import Source


def list_plain_texts(
    sources: Sequence[Source], module_files: ModuleFiles, filled: Sequence[FilledText]
) -> Iterator[FilledText]:
    """Yield the texts with objects that are not among the filled ones, once for each way of applying their module."""
    modules = Modules(module_files)
    done = {os.path.abspath(text.template.path) for text in filled}
    left = {os.path.abspath(source.path): source for source in sources}
    left = {path: source for path, source in left.items() if path not in done and next(objects(source), None)}
    if not left:
        return
    for folder in dict.fromkeys(os.path.dirname(os.path.abspath(s.path)) for s in sources if s.path.endswith(ENDS)):
        modules.budget = EvaluationBudget()
        try:
            variants = modules.variants(folder)
        except BudgetSpent:  # reported when its texts are rendered
            continue
        for path in _list_own(folder, modules, left) if len(variants) > 1 else ():
            source = left[path]
            for number, module in enumerate(variants):
                result = Source.from_text(source.path, source.text, source.also)
                result.part = source.part
                copied = Filled(source.text, (Segment(0, 0),), 0, 0)
                way = number, len(variants)
                text = FilledText(source, result, copied, module.label, module.root, module.own, way)
                yield text._replace(needs_values=module.needs_values, unit=module.unit)


def _list_own(folder: str, modules: Modules, left: Mapping[str, Source]) -> list[str]:
    """Return those of some texts that belong to a module: files of its folder, and files that these read by name."""
    own = [file.source.path for file in modules.files(folder)]
    named = (os.path.abspath(text) for path in own for text in list_texts(path))
    return [path for path in dict.fromkeys((*map(os.path.abspath, own), *named)) if path in left]
