"""Texts that Terraform fills in, with what it knows before an apply: its own files, and files of `templatefile`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from nodelint.base.tuples import NamedTuple
from nodelint.forms.terraform.evaluate import EvaluationBudget, EvaluationLimit
from nodelint.forms.terraform.fill import ENDS, FileFiller, Origins, TerraformBlock, fill_template
from nodelint.forms.terraform.modules import ModuleFiles
from nodelint.forms.terraform.values import Modules, TerraformModule
from nodelint.text import Source
from nodelint.text.syntax_errors import SetAside

if TYPE_CHECKING:
    from nodelint.forms.lib.gotemplate.evaluate import Filled

_FILLED = ("resource", "module", "data", "locals")
"""Blocks that make objects, or hold them."""
_NAMES = (
    r"\b(?:var|local|each|count|module|path|kube(?:rnetes|ctl)_manifest)\."
    r"|\$\{|%\{|\b(?!yamlencode|jsonencode)[a-z0-9]+\(|\bfor\b|\?"
)


class FilledText(NamedTuple):
    """A text that Terraform fills in: the file, the result with its places, who calls its module, and the root.

    `own` is the file of variables that is named for it alone.
    """

    template: Source
    result: Source
    filled: Filled
    caller: str = ""
    root: str = ""
    own: Source | None = None


def any_filled(sources: Sequence[Source]) -> bool:
    """Whether Terraform may fill in one of some texts."""
    modules = Modules(sources)
    return any(_may_fill(source, modules) for source in sources)


def _may_fill(source: Source, modules: Modules) -> bool:
    """Whether Terraform may fill in a text: a file of its own, or one with Terraform beside it."""
    if source.path.endswith(ENDS):
        return re.search(_NAMES, source.text) is not None
    return (
        ("${" in source.text or "%{" in source.text)
        and "{{" not in source.text
        and bool(modules.near(os.path.dirname(os.path.abspath(source.path))))
    )


def filled_texts(
    sources: Sequence[Source], module_files: ModuleFiles, settled: bool = False, only: Source | None = None
) -> Iterator[FilledText]:
    """The texts among the sources that Terraform fills in, once for each way in which it does.

    `module_files` are all that may be read for them, the sources among them. With `settled` no default counts that
    whoever calls a module, or runs it, may replace. With `only`, just what is needed for that one of the sources is
    filled in.
    """
    modules = Modules(module_files, settled)
    folder = os.path.dirname(os.path.abspath(only.path)) if only is not None else ""
    if only is not None and not only.path.endswith(ENDS):
        yield from _of_template(only, modules)
        return
    own = [source for source in sources if source.path.endswith(ENDS) and _may_fill(source, modules)]
    by_folder: dict[str, list[Source]] = {}
    for source in own:
        by_folder.setdefault(os.path.dirname(os.path.abspath(source.path)), []).append(source)
    for filled_source, files in by_folder.items():
        for module in modules.variants(filled_source) if not folder or filled_source == folder else ():
            try:
                yield from _of_module(module, files)
            except EvaluationLimit as limit:
                for source in files:
                    _give_up(source, limit)
                break
    for source in sources:
        if not source.path.endswith(ENDS) and _may_fill(source, modules):
            yield from _of_template(source, modules)


def _of_template(source: Source, modules: Modules) -> Iterator[FilledText]:
    modules.budget = EvaluationBudget()
    seen: set[tuple[str, str]] = set()
    try:
        for evaluator, module in modules.template_calls(source.path):
            evaluator.budget = modules.budget
            filled = fill_template(evaluator)
            mark = (filled.text, module.root) if filled is not None else ("", "")
            if filled is None or not filled.values or mark in seen:
                continue
            seen.add(mark)
            result = _read(source, filled)
            if result is not None:
                yield FilledText(source, result, filled, module.label, module.root, module.own)
    except EvaluationLimit as limit:
        _give_up(source, limit)


def _give_up(source: Source, limit: EvaluationLimit) -> None:
    """Say that a file is judged as it is written, and why."""
    reason = f"values are not filled in: {limit}"
    if all(aside.reason != reason for aside in source.set_aside):
        source.set_aside.append(SetAside(_first_object(source), reason))


def _first_object(source: Source) -> int:
    return next((document.start for document in source.documents if document.root is not None), 0)


def _of_module(module: TerraformModule, files: Sequence[Source]) -> Iterator[FilledText]:
    """The files of a module. Objects that one of them prints for another are left out where they are written.

    Raises `EvaluationLimit`.
    """
    used: Origins = set()
    for source in files:
        used |= _fill(module, source, used)[1]
    for source in files:
        _mark_parts(source, used)
    for source in files:
        filled, _ = _fill(module, source, used)
        result = _read(source, filled)
        if result is None:
            broken = _broken(source, filled)
            _say_broken(source, broken)
            filled, _ = _fill(module, source, used, broken)
            result = _read(source, filled)
        if result is not None and filled.values:
            yield FilledText(source, result, filled, module.label, module.root, module.own)


_BROKEN = "a text of this block is no YAML once its values are filled in: it is judged as it is written"


def _say_broken(source: Source, blocks: Iterable[int]) -> None:
    """Say of the texts in some blocks that they are judged as they are written, for want of something readable."""
    for start in sorted(blocks):
        inside = (document.start for document in source.documents if document.root is not None)
        at = next((offset for offset in inside if offset >= start), None)
        if at is not None and all(aside.offset != at for aside in source.set_aside):
            source.set_aside.append(SetAside(at, _BROKEN))


def _mark_parts(source: Source, used: Origins) -> None:
    """Say of the objects that something is merged with somewhere else that they are parts of others."""
    for document in source.documents:
        root = document.root
        if root is not None and (source.path, root.start, root.end) in used:
            document.part = True


def _fill(
    module: TerraformModule, source: Source, used: Origins, less: frozenset[int] = frozenset()
) -> tuple[Filled, Origins]:
    """A file filled in, and the objects that it prints; `less` are where blocks begin that stay as they are."""
    module.budget = module.modules.budget = EvaluationBudget()
    file = module.modules.file(os.path.abspath(source.path))
    assert file is not None
    filler = FileFiller(file.words, module.evaluator(source), used)
    filled = filler.fill(
        block for block in file.blocks if _is_filled(source, block, used) and block.start not in less
    )
    return filled, filler.used


def _is_filled(source: Source, block: TerraformBlock, used: Origins) -> bool:
    """Whether a block comes to something else than it is written as."""
    if block.kind not in _FILLED:
        return False
    if any(path == source.path and block.start <= start < block.end for path, start, _ in used):
        return True
    return re.compile(_NAMES).search(source.text, block.start, block.end) is not None


def _read(source: Source, filled: Filled) -> Source | None:
    """The result as a source; None where something in it cannot be read that can be read in the file."""
    result = Source.from_text(source.path, filled.text, source.also)
    result.part = source.part
    bad = len(result.problems) + len(result.set_aside)
    aside = sum(aside.reason != _BROKEN for aside in source.set_aside)
    return None if bad > len(source.problems) + aside else result


def _broken(source: Source, filled: Filled) -> frozenset[int]:
    """Where the blocks begin that come to something that cannot be read."""
    result = Source.from_text(source.path, filled.text, source.also)
    offsets = [problem.offset for problem in result.problems] + [set_aside.offset for set_aside in result.set_aside]
    found = set()
    starts = [segment.at for segment in filled.segments]
    for offset in offsets:
        at = max((n for n, start in enumerate(starts) if start <= offset), default=0)
        place = filled.segments[at].start
        begin = re.compile(r"(?m)^[a-z]+\b[^\n]*\{").finditer(source.text, 0, place + 1)
        found.add(max((match.start() for match in begin), default=0))
    return frozenset(found)
