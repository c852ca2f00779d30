"""Compute the Applications that an Argo CD ApplicationSet creates with its list, git, matrix and merge generators.

The elements of a list generator are in the file (Argo CD docs: operator-manual/applicationset/Generators-List.md),
those of a git generator in the repository. A matrix combines each pair, a merge those with equal keys. The results of
other generators are known only in the cluster: their parameters stay placeholders.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product

from nodelint.base.budget import BudgetSpent, WorkBudget
from nodelint.forms.argocd.git_generators import ReadFile, list_git_parameters
from nodelint.forms.lib.gotemplate.evaluate import fill_text
from nodelint.forms.lib.gotemplate.sprig import read_printed
from nodelint.forms.lib.gotemplate.sprig_values import CopiedText, TracedText, Unresolved
from nodelint.forms.lib.gotemplate.syntax import BadTemplate, parse
from nodelint.text import Node
from nodelint.text.limits import note_left_out, note_limit
from nodelint.text.missing import items_of, text_of
from nodelint.text.nodes import MappingEntry
from nodelint.text.syntax_errors import Unreadable
from nodelint.text.unknown_value import UNKNOWN

MOST_APPLICATIONS = 1000
"""The most Applications of one ApplicationSet."""
_MOST_STEPS = 1_000_000
"""The most steps for one ApplicationSet: one for each value of an Application, more for long values."""
_CHARACTERS_OF_STEP = 8

_PARAMETER = r"\{\{-?\s*([\w.-]+)\s*-?\}\}"
"""A parameter in an ApplicationSet that does not use Go templates."""

_Parameters = dict[str, Node]


def list_applications(root: Node, read_file: ReadFile) -> Iterator[Node]:
    """Yield the spec of each Application that an ApplicationSet creates.

    Unknown parameters stay as they are written.
    """
    template = root.find("spec", "template")
    for made in list_templates(root, read_file) if template is not None and template.get("spec") is not None else ():
        spec = made.get("spec")
        if spec is not None:
            yield spec


def list_templates(root: Node, read_file: ReadFile) -> Iterator[Node]:
    """Yield the template of an ApplicationSet, with `metadata` and `spec`, for each Application that it creates.

    Unknown parameters stay as they are written.
    """
    template = root.find("spec", "template")
    if template is None:
        return
    go = root.find("spec", "goTemplate")
    templates = go is not None and go.value is True
    generators = root.find("spec", "generators")
    line = root.source.position(root.start).line
    budget = WorkBudget(_MOST_STEPS, what="its Applications")
    size = sum(
        1 + (node.end - node.start) // _CHARACTERS_OF_STEP for node in template.walk() if node.kind == "scalar"
    )
    try:
        for number, parameters in enumerate(_list_parameters(generators, read_file, budget)):
            if number >= MOST_APPLICATIONS:
                note_limit(root.source.path, MOST_APPLICATIONS, "Applications of this ApplicationSet", line)
                return
            budget.spend(size if parameters else 1)
            yield _filled(template, parameters, templates) if parameters else template
    except BudgetSpent as limit:
        note_left_out(root.source.path, str(limit), line)


def _list_parameters(generators: Node | None, read_file: ReadFile, budget: WorkBudget) -> Iterator[_Parameters]:
    for generator in items_of(generators):
        yield from _parameters_of(generator, read_file, budget)


def _parameters_of(generator: Node, read_file: ReadFile, budget: WorkBudget) -> Iterator[_Parameters]:
    """Yield the parameters of each Application of a generator. For a generator that is not supported, yield none."""
    elements, several = generator.find("list", "elements"), generator.find("matrix", "generators")
    if elements is not None and elements.kind == "sequence":
        for element in elements.items:
            budget.spend(1 + len(element.entries))
            yield {entry.name: entry.value for entry in element.entries if entry.name is not None}
    elif several is not None and several.items:
        # Of a nested generator, only as many Applications are needed as exceed the limit.
        parts_of_each = (
            [*islice(_parameters_of(p, read_file, budget), MOST_APPLICATIONS + 1)] for p in several.items
        )
        for parts in product(*parts_of_each):
            budget.spend(sum(1 + len(part) for part in parts))
            yield {name: value for part in parts for name, value in part.items()}
    elif (merge := generator.get("merge")) is not None:
        yield from _merge_parameters(merge, read_file, budget)
    elif (git := generator.get("git")) is not None and (
        found := [*islice(list_git_parameters(git, read_file, budget), MOST_APPLICATIONS + 1)]
    ):
        yield from found
    else:
        yield {}


def _merge_parameters(merge: Node, read_file: ReadFile, budget: WorkBudget) -> Iterator[_Parameters]:
    """Yield the parameters of the first generator, each with those of the others that have equal `mergeKeys`.

    If a value of such a key is not known, yield none.
    """
    keys = [text_of(key) for key in items_of(merge.get("mergeKeys"))]
    generators = items_of(merge.get("generators"))
    several = [[*islice(_parameters_of(p, read_file, budget), MOST_APPLICATIONS + 1)] for p in generators]
    if not keys or any(not text_of(part.get(key)) for parts in several for part in parts for key in keys):
        yield {}
        return
    merged = {tuple(text_of(part[key]) for key in keys): part for part in (several[0] if several else ())}
    for part in (part for parts in several[1:] for part in parts):
        budget.spend(1 + len(part))
        names = tuple(text_of(part[key]) for key in keys)
        if names in merged:
            merged[names] = {**merged[names], **part}
    yield from merged.values()


def list_unread_generators(root: Node) -> Iterator[Node]:
    """Yield the generators of an ApplicationSet that depend on the cluster, another service, or a git revision."""
    yield from _list_unread(items_of(root.find("spec", "generators")))


def _list_unread(generators: Sequence[Node]) -> Iterator[Node]:
    pending = [*generators]
    while pending:
        generator = pending.pop()
        several, merged = generator.find("matrix", "generators"), generator.find("merge", "generators")
        if several is not None:
            pending += several.items
        elif merged is not None and not any(_list_unread(merged.items)):
            continue
        elif (git := generator.get("git")) is not None:
            yield from (found for field in ("repoURL", "revision") if (found := git.get(field)) is not None)
        elif generator.find("list", "elements") is None:
            yield generator


def list_unset_parameters(root: Node, read_file: ReadFile) -> Iterator[tuple[int, Node, str]]:
    """Yield the uses of a parameter that an Application does not have: its number, the text, and the parameter.

    Nothing if the parameters of a generator are not all in the files, and for code that tests them.
    """
    spec = root.find("spec", "template", "spec")
    if spec is None or next(list_unread_generators(root), None) is not None:
        return
    go = root.find("spec", "goTemplate")
    pattern = _GO_PARAMETER if go is not None and go.value is True else _PLAIN_PARAMETER
    uses = [
        (node, name)
        for node in spec.walk()
        if node.kind == "scalar" and "{{" in node.text and not re.search(_TESTS, node.text)
        for name in re.findall(pattern, node.text)
    ]
    try:
        given = islice(_list_parameters(root.find("spec", "generators"), read_file, WorkBudget(_MOST_STEPS)), 1000)
        for number, parameters in enumerate(given if uses else ()):
            yield from ((number, node, name) for node, name in uses if parameters and name not in parameters)
    except BudgetSpent:
        return


_GO_PARAMETER = r"\{\{-?\s*\.([A-Za-z_]\w*)(?:\.\w+)*\s*-?\}\}"
_PLAIN_PARAMETER = r"\{\{\s*([A-Za-z_][\w-]*)(?:\.[\w.-]+)?\s*\}\}"
_TESTS = r"\{\{-?\s*(?:if|with|range|else|define|block|template|end)\b"


def _filled(node: Node, parameters: Mapping[str, Node], templates: bool) -> Node:
    """Return a copy of a node in which template code is replaced by the parameters."""
    if node.kind == "scalar":
        return _fill_scalar(node, parameters, templates) if "{{" in node.text else node
    made = Node(node.source, node.start, node.end, node.kind, node.style, node.value)
    made.items = [_filled(item, parameters, templates) for item in node.items]
    made.entries = [
        MappingEntry(entry.key, _filled(entry.value, parameters, templates), entry.name) for entry in node.entries
    ]
    return made


def _fill_scalar(node: Node, parameters: Mapping[str, Node], templates: bool) -> Node:
    is_block = node.style == "literal"
    start = node.source.text.find("\n", node.start, node.end) + 1 if is_block else node.start
    text = node.source.text[start : node.end] if is_block else node.unquoted
    start += 0 if is_block else node.style in ("single", "double")
    traced_text = (
        _fill_template(text, start, node, parameters) if templates else _replace(text, start, node, parameters)
    )
    if traced_text is None:
        return node
    if is_block:
        try:
            return read_printed(traced_text)
        except (Unresolved, Unreadable):
            return node
    written = str(traced_text)
    values = [value for piece, value in traced_text.pieces if piece]
    only = values[0] if len(values) == 1 else None
    at = node if only is None or isinstance(only, CopiedText) else only  # copied code is without its quotes
    return Node(at.source, at.start, at.end, "scalar", at.style, UNKNOWN if "{{" in written else written)


def _replace(text: str, start: int, node: Node, parameters: Mapping[str, Node]) -> TracedText:
    pieces: list[tuple[str, Node | None]] = []
    at = 0
    for match in re.finditer(_PARAMETER, text):
        name, *below = match[1].split(".")
        value = parameters.get(name)
        value = value.find(*below) if value is not None and below else value
        if name == "path" and not below and value is not None and value.kind == "mapping":
            value = value.get("path")
        if value is None or value.kind != "scalar" or value.value is UNKNOWN or value.value is None:
            continue
        pieces += [(text[at : match.start()], _copied(node, start + at)), (_text_of(value), value)]
        at = match.end()
    return TracedText([*pieces, (text[at:], _copied(node, start + at))], free=True)


def _fill_template(text: str, start: int, node: Node, parameters: Mapping[str, Node]) -> TracedText | None:
    try:
        found = fill_text(text, parse(text), dict(parameters))
    except (BadTemplate, BudgetSpent, Unresolved):
        return None
    return TracedText(
        [(piece, value if at is None else _copied(node, start + at)) for piece, value, at in found], free=True
    )


def _copied(node: Node, start: int) -> CopiedText:
    return CopiedText(node.source, start, node.end, "scalar", "plain", UNKNOWN)


def _text_of(value: Node) -> str:
    if isinstance(value.value, bool):
        return "true" if value.value else "false"
    return str(value.value)
