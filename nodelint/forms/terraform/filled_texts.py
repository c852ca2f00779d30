"""Render the texts of Terraform before an apply: its own files, and files of `templatefile`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence

from nodelint.base.budget import RUN, BudgetSpent
from nodelint.base.tuples import NamedTuple
from nodelint.forms.given_up import give_up
from nodelint.forms.lib.gotemplate.evaluate import Filled
from nodelint.forms.terraform.evaluate import EvaluationBudget
from nodelint.forms.terraform.file_blocks import TerraformBlock
from nodelint.forms.terraform.fill import ENDS, FileFiller, Origins, ReadManifests, fill_template
from nodelint.forms.terraform.modules import ModuleFiles
from nodelint.forms.terraform.terragrunt import TerragruntCall
from nodelint.forms.terraform.values import Modules, TerraformModule
from nodelint.text import Source
from nodelint.text.limits import note_fault
from nodelint.text.syntax_errors import RenderingProblem

_FILLED = ("resource", "module", "data", "locals")
"""Blocks that create objects, or contain them."""
_FOR_WORD = 2
"""The budget steps for each token of a file that is rendered."""
_NAMES = (
    r"\b(?:var|local|each|count|module|path|kube(?:rnetes|ctl)_manifest)\."
    r"|\$\{|%\{|\b(?!yamlencode|jsonencode)[a-z0-9]+\(|\bfor\b|\?"
)


class FilledText(NamedTuple):
    """A text that Terraform renders.

    - `template`: the file.
    - `result`: the rendered source; `filled`: its text with origins.
    - `caller`: the call of its module.
    - `root`: the root module.
    - `own`: the variable file for this rendering only.
    - `way`: the number of this rendering, and how many there are: one for each call of the module or template.
    - `needs_values`: as in `Built`.
    - `unit`: the Terragrunt unit that applies it.
    - `files`: the files whose objects it prints.
    """

    template: Source
    result: Source
    filled: Filled
    caller: str = ""
    root: str = ""
    own: Source | None = None
    way: tuple[int, int] = (0, 1)
    needs_values: bool = False
    unit: TerragruntCall | None = None
    files: ReadManifests = ReadManifests(set(), set())


def any_filled(sources: Sequence[Source]) -> bool:
    """Return whether Terraform may render one of the texts."""
    modules = Modules(sources)
    return any(_may_fill(source, modules) for source in sources)


def _may_fill(source: Source, modules: Modules) -> bool:
    """Return whether Terraform may render a text: its own file, or a file next to Terraform files."""
    if source.path.endswith(ENDS):
        return re.search(_NAMES, source.text) is not None
    return (
        ("${" in source.text or "%{" in source.text)
        and "{{" not in source.text
        and bool(modules.near(os.path.dirname(os.path.abspath(source.path))))
    )


def filled_texts(sources: Sequence[Source], module_files: ModuleFiles, settled: bool = False) -> Iterator[FilledText]:
    """Yield the sources that Terraform renders, once for each rendering.

    `module_files` are all files that may be read for them, with the sources. With `settled`, defaults that a caller
    or user may replace are not used.
    """
    modules = Modules(module_files, settled)
    for folder, files in _by_folder(sources, modules).items():
        modules.budget = EvaluationBudget()
        try:
            variants = modules.variants(folder)
            for number, module in enumerate(variants):
                for text in _of_module(module, files):
                    yield text._replace(way=(number, len(variants)))
        except BudgetSpent as limit:
            for source in files:
                give_up(source, limit)
        except Exception as error:  # an internal error for one module must not prevent the others
            for source in files:
                note_fault(source.path, error)
    for source in sources:
        if not source.path.endswith(ENDS) and _may_fill(source, modules):
            yield from _of_template(source, modules)


def _by_folder(sources: Sequence[Source], modules: Modules) -> dict[str, list[Source]]:
    """Return the Terraform files that may be rendered, by the folder of their module."""
    found: dict[str, list[Source]] = {}
    for source in sources:
        if source.path.endswith(ENDS) and _may_fill(source, modules):
            found.setdefault(os.path.dirname(os.path.abspath(source.path)), []).append(source)
    return found


class RefilledTexts:
    """Renders files again after they were changed. Each rendering is computed once."""

    def __init__(self, sources: Sequence[Source], module_files: ModuleFiles, settled: bool) -> None:
        self._modules = Modules(module_files, settled)
        self._sources = sources
        self._folders: dict[str, list[Source]] | None = None
        self._filled: dict[tuple[str, int], list[FilledText]] = {}

    def find(self, template: Source, caller: str, way: tuple[int, int]) -> list[FilledText]:
        """Return the new renderings of a file for its earlier way, or all those of its caller."""
        if not template.path.endswith(ENDS):
            found = self._filled.get((template.path, -1))
            if found is None:
                found = self._filled[template.path, -1] = list(_of_template(template, self._modules))
            same = [text for text in found if text.way == way]
            return same or [text for text in found if text.caller == caller]
        folder = os.path.dirname(os.path.abspath(template.path))
        try:
            variants = self._modules.variants(folder)
            number, count = way
            if len(variants) == count and variants[number].label == caller:
                numbers = [number]
            else:
                numbers = [n for n, module in enumerate(variants) if module.label == caller]
            texts = [text for n in numbers for text in self._fill_variant(folder, n, variants[n])]
        except BudgetSpent:
            return []
        return [text for text in texts if text.template is template]

    def _fill_variant(self, folder: str, number: int, module: TerraformModule) -> list[FilledText]:
        if (folder, number) not in self._filled:
            if self._folders is None:
                self._folders = _by_folder(self._sources, self._modules)
            self._filled[folder, number] = list(_of_module(module, self._folders.get(folder, ())))
        return self._filled[folder, number]


def _of_template(source: Source, modules: Modules) -> Iterator[FilledText]:
    modules.budget = EvaluationBudget()
    seen: set[tuple[str, ...]] = set()
    try:
        RUN.check_time()
        calls = modules.template_calls(source.path)
        for number, (evaluator, module) in enumerate(calls):
            evaluator.budget = modules.budget
            filled = fill_template(evaluator)
            if filled is None or not (filled.values or _is_unread(module)):
                continue
            # Each environment and each call of a module has an object of its own, also where all hold the same.
            own = module.own.path if module.own is not None else ""
            mark = filled.text, module.root, module.label, own
            if mark in seen:
                continue
            seen.add(mark)
            result = _read(source, filled)
            if result is None:
                _say_broken(source, _broken(source, filled, [0]), "the file")
            else:
                way = number, len(calls)
                made = FilledText(source, result, filled, module.label, module.root, module.own, way)
                yield made._replace(needs_values=module.needs_values, unit=module.unit)
    except BudgetSpent as limit:
        give_up(source, limit)
    except Exception as error:
        note_fault(source.path, error)


def _of_module(module: TerraformModule, files: Sequence[Source]) -> Iterator[FilledText]:
    """Yield the rendered files of a module.

    Objects that one file prints for another are left out where they are written.

    Raise `BudgetSpent`.
    """
    RUN.check_time()
    used: Origins = set()
    first: list[tuple[int, Filled, ReadManifests]] = []  # with the number of used objects known at that time
    for source in files:
        known = len(used)
        filled, own, read = _fill(module, source, used)
        first.append((known, filled, read))
        used |= own
    for source in files:
        _mark_parts(source, used)
    for source, (known, filled, read) in zip(files, first, strict=True):
        if known != len(used):
            filled, _, read = _fill(module, source, used)
        file = module.modules.file(os.path.abspath(source.path))
        starts = [block.start for block in file.blocks] if file is not None else []
        result = _read(source, filled)
        if result is None:
            broken = _broken(source, filled, starts)
            _say_broken(source, broken)
            filled, _, read = _fill(module, source, used, frozenset(broken))
            result = _read(source, filled)
        if result is not None and (filled.values or _is_unread(module)):
            made = FilledText(source, result, filled, module.label, module.root, module.own, files=read)
            yield made._replace(needs_values=module.needs_values, unit=module.unit)


def _is_unread(module: TerraformModule) -> bool:
    """Return whether Terragrunt cannot read the unit that applies a module, so that its values are not known."""
    return module.unit is not None and module.unit.is_unread


_INDENT = re.compile(r"(?m)^[ \t]+%\{[^}\n]*~\}[ \t]*$")
"""A directive that leaves its indent in front of the next line."""


def _say_broken(source: Source, blocks: Mapping[int, str], what: str = "a text of this block") -> None:
    """Record that the texts of blocks are judged unrendered. `blocks` has the reason for the start of each block."""
    for start, reason in sorted(blocks.items()):
        inside = (document for document in source.documents if document.root is not None)
        document = next((document for document in inside if document.start >= start), None)
        if document is not None and all(aside.offset != document.start for aside in source.set_aside):
            indent = _INDENT.search(source.text, document.start, document.end)
            hint = f"; the indent before `{indent[0].strip()}` stays, in front of the next line" if indent else ""
            message = (
                f"{what} is no YAML once its values are filled in ({reason}{hint}): it is judged as it is written"
            )
            source.set_aside.append(RenderingProblem(document.start, message))


def _mark_parts(source: Source, used: Origins) -> None:
    """Mark the objects that are merged into others elsewhere as parts."""
    for document in source.documents:
        root = document.root
        if root is not None and (source.path, root.start, root.end) in used:
            document.part = True


def _fill(
    module: TerraformModule, source: Source, used: Origins, less: frozenset[int] = frozenset()
) -> tuple[Filled, Origins, ReadManifests]:
    """Return a rendered file, the objects that it prints, and the files whose objects it prints.

    `less` are the offsets of blocks that stay unrendered.
    """
    module.budget = module.modules.budget = EvaluationBudget()
    file = module.modules.file(os.path.abspath(source.path))
    assert file is not None
    RUN.draw(_FOR_WORD * len(file.words.tokens), len(source.text))
    filler = FileFiller(file, module.evaluator(source), used)
    filled = filler.fill(
        block for block in file.blocks if _is_filled(source, block, used) and block.start not in less
    )
    return filled, filler.used, filler.files


def _is_filled(source: Source, block: TerraformBlock, used: Origins) -> bool:
    """Return whether rendering changes a block."""
    if block.kind not in _FILLED:
        return False
    if any(path == source.path and block.start <= start < block.end for path, start, _ in used):
        return True
    return re.compile(_NAMES).search(source.text, block.start, block.end) is not None


def _read(source: Source, filled: Filled) -> Source | None:
    """Return the rendered text as a source. None if a part of it cannot be parsed that can be parsed in the file."""
    result = Source.from_text(source.path, filled.text, source.also)
    result.part = source.part
    bad = len(result.problems) + len(result.set_aside)
    aside = sum(not isinstance(aside, RenderingProblem) for aside in source.set_aside)
    return None if bad > len(source.problems) + aside else result


def _broken(source: Source, filled: Filled, starts: Sequence[int]) -> dict[int, str]:
    """Return why blocks that begin at `starts` render to text that cannot be parsed, by their offsets."""
    result = Source.from_text(source.path, filled.text, source.also)
    found: dict[int, str] = {}
    segments = [segment.at for segment in filled.segments]
    for problem in (*result.problems, *result.set_aside):
        at = max((n for n, start in enumerate(segments) if start <= problem.offset), default=0)
        within = filled.segments[at]
        place = within.start if within.code is not None else within.start + problem.offset - within.at
        reason = f"line {source.position(place).line}: {problem.message}"
        found.setdefault(max((start for start in starts if start <= place), default=0), reason)
    return found
