"""Render Terraform files, and templates that they read, with all known values.

Each object is rendered once for each instance of its block. The origin of each character is recorded.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.forms.lib.gotemplate.evaluate import Filled, Segment
from nodelint.forms.lib.gotemplate.syntax import Code
from nodelint.forms.lib.made_nodes import UNSET, mapping, sequence
from nodelint.forms.terraform.block_instances import instances
from nodelint.forms.terraform.encode import json_pieces
from nodelint.forms.terraform.file_blocks import TerraformBlock, TerraformFile
from nodelint.forms.terraform.hclexpr import read_file_template
from nodelint.forms.terraform.hcltree import BadExpression, HclExpression, TemplatePiece
from nodelint.forms.terraform.nodes import RENDERED_FILE, TextNode, is_unknown
from nodelint.forms.terraform.template import BadBlocks, Evaluator, nest, render
from nodelint.text.nodes import Node
from nodelint.text.unknown_value import UNKNOWN

JSON_ENDS = (".tf.json", ".tofu.json")
ENDS = (".tf", ".tofu", *JSON_ENDS)
"""Endings of the names of Terraform's own files."""
_GROUPS = ("karpenter.", "eks.amazonaws.com/")
"""The beginnings of the apiVersion of objects that are read."""
_ENCODERS = ("yamlencode", "jsonencode")
_UNKNOWN = "unknown"
_TRAVERSAL = r"[A-Za-z_][\w.-]*(?:\[[\w.\"]+\][\w.]*)*"
_LEFT = ("file", "templatefile", "yamldecode")
"""Functions of files. Their manifests are judged in these files."""


class FillWriter:
    """Collects the rendered text: characters of the file, and the output of code."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.source = evaluator.scope.source
        self.budget = evaluator.budget
        self.out: list[str] = []
        self.length = 0
        self.segments: list[Segment] = []
        self.at = 0

    def add(self, text: str, start: int, code: Code | None = None, node: Node | None = None) -> None:
        """Add a piece of text, with the code or the value from which it comes. Raise `BudgetSpent`."""
        if text:
            self.budget.spend(0, len(text))
            last = self.segments[-1] if self.segments else None
            follows = last is not None and last.start + self.length - last.at == start
            if not (follows and code is None and last is not None and last.code is None):
                self.segments.append(Segment(self.length, start, code, node))
            self.out.append(text)
            self.length += len(text)

    def copy_to(self, end: int) -> None:
        """Copy the characters of the file up to an offset."""
        if end > self.at:
            self.add(self.source.text[self.at : end], self.at)
        self.at = max(end, self.at)

    def text(self, start: int, end: int) -> None:
        """Copy characters of a template to the rendered text."""
        self.add(self.source.text[start:end], start)

    def code(self, start: int, end: int) -> None:
        """Copy code with an unknown value to the rendered text."""
        self.add(self.source.text[start:end], start)

    def value(self, piece: TemplatePiece, pieces: Sequence[tuple[str, Node | None]], whole: bool) -> None:
        """Add the output of template code: `pieces` of text, each with the value from which it comes. `whole`: all
        of it is known.
        """
        code = self.code_at(piece.start, piece.end)
        own = self.source.path.endswith(ENDS)
        for text, node in pieces:
            # a caller's name has no meaning in a template, and quotes would end the quotes around: unknown
            shown = node is not None or (own and '"' not in text)
            self.add(text if shown else UNSET, piece.start, code, node)

    def code_at(self, start: int, end: int) -> Code:
        """Return a range of the file as a `Code`."""
        return Code(start, end, start, end, self.source.text[start:end])

    def filled(self) -> Filled:
        """Return the rendered text with the origins of its characters."""
        given = sum(segment.node is not None for segment in self.segments)
        return Filled("".join(self.out), tuple(self.segments), given, 0)


def fill_template(evaluator: Evaluator) -> Filled | None:
    """Return the template of a `templatefile` call, rendered. None if it cannot be parsed. Raise `BudgetSpent`."""
    writer = FillWriter(evaluator)
    text = writer.source.text
    try:
        parts = nest(read_file_template(text))
    except (BadBlocks, BadExpression):
        return None
    render(parts, evaluator, writer)
    return writer.filled()


class ReadManifests(NamedTuple):
    """The absolute paths of the files with objects that Terraform decodes.

    - `unchanged`: those that it applies as they are. Their objects are judged in the file.
    - `changed`: those that it prints as other objects, such as results of `merge`.
    """

    unchanged: set[str]
    changed: set[str]


Origins = set[tuple[str, int, int]]
"""The places (path, start, end) of objects that Terraform prints in another place than the one where they are
written, such as a local that a resource prints.
"""


class FileFiller:
    """Renders one Terraform file.

    `used` collects the Karpenter objects that expressions print. Objects in `left_out` are not rendered again at the
    place where they are written. `files` collects the files whose objects it prints.
    """

    def __init__(self, file: TerraformFile, evaluator: Evaluator, left_out: Origins) -> None:
        self.file = file
        self.text = file.words.text
        self.evaluator = evaluator
        self.left_out = left_out
        self.used: Origins = set()
        self.files = ReadManifests(set(), set())
        self.writer = FillWriter(evaluator)
        self.declares = False
        self.in_manifest = False
        self.is_json = self.writer.source.path.endswith(JSON_ENDS)
        self.partly_printed = ("concat",) if self.is_json else ("concat", "merge")

    def fill(self, blocks: Iterable[TerraformBlock]) -> Filled:
        """Return the file with some of its blocks rendered. Raise `BudgetSpent`."""
        writer = self.writer
        for block in blocks:
            writer.copy_to(block.start)
            self.declares = block.kind == "locals"
            given = self.file.every_attribute(block)
            outer = {attribute.name: attribute.value for attribute in given if not attribute.depth}
            given_names = instances(outer, self.evaluator)
            is_list = block.body is not None and len(given_names) > 1
            if is_list:
                writer.add("[", block.start)
            for n, names in enumerate(given_names):
                writer.at = block.start
                for attribute in given:
                    if attribute.depth or attribute.name not in ("for_each", "count", "depends_on", "source"):
                        self.emit(attribute.value, self.evaluator.inside(names))
                writer.copy_to(block.end)
                if n + 1 < len(given_names):
                    writer.add("," if is_list else "\n", block.end)
            if is_list:
                writer.add("]", block.end)
        writer.copy_to(len(writer.source.text))
        return writer.filled()

    def emit(self, expression: HclExpression, evaluator: Evaluator) -> None:
        """Write an expression with its known values."""
        kind, writer = expression.kind, self.writer
        if self.is_json and self.reads_manifests(expression):
            return
        if kind in ("object", "list", "call") and (
            (writer.source.path, expression.start, expression.end) in self.left_out
        ):
            writer.copy_to(expression.start)
            writer.add("null", expression.start)
            writer.at = expression.end
        elif kind in ("object", "list"):
            around, self.in_manifest = self.in_manifest, self.in_manifest or self.is_manifest(expression)
            for part in expression.parts if kind == "list" else expression.parts[1::2]:
                self.emit(part, evaluator)
            self.in_manifest = around
        elif kind == "call" and expression.value in _ENCODERS and len(expression.parts) == 1:
            self.emit(expression.parts[0], evaluator)
        elif kind == "template" and isinstance(expression.value, tuple) and expression.value[0] != "quoted":
            self.heredoc(expression, evaluator)
        elif kind == "condition" and any(map(self.makes_object, expression.parts[1:])):
            self.branches(expression, evaluator)
        elif kind != "literal" and not (
            kind == "call" and expression.value in _LEFT and self.holds_manifests(expression)
        ):
            self.print(expression, evaluator)

    def reads_manifests(self, expression: HclExpression) -> bool:
        """Return whether a JSON string is an expression that reads the manifests of a file."""
        inner = _take_only_code(expression) if expression.kind == "template" else expression
        is_read = inner is not expression and inner.kind == "call" and inner.value in _LEFT
        return is_read and self.holds_manifests(expression)

    def holds_manifests(self, expression: HclExpression) -> bool:
        """Return whether an expression that reads a file may read manifests. These are judged in that file. False
        for user data.
        """
        before = self.text[max(0, expression.start - 80) : expression.start].rstrip()
        name = re.search(r"(?<![\w-])([\w-]++)\"?\s*+[=:]$", before)
        return name is None or name[1] not in ("userData", "user_data")

    def makes_object(self, expression: HclExpression) -> bool:
        """Return whether an expression contains a Karpenter object."""
        begin, end = expression.start, expression.end
        return self.text.find("apiVersion", begin, end) >= 0 and any(
            self.text.find(group, begin, end) >= 0 for group in _GROUPS
        )

    def is_manifest(self, expression: HclExpression) -> bool:
        """Return whether an expression is an object with an `apiVersion`, also one that is computed."""
        return expression.kind == "object" and self.text.find("apiVersion", expression.start, expression.end) >= 0

    def branches(self, expression: HclExpression, evaluator: Evaluator) -> None:
        """Write a condition: the chosen branch, or each branch with an object if the condition is unknown.

        A branch without an object may disable an object, which is meant to be enabled: then the other branch is
        written.
        """
        test, *branches = expression.parts
        found = evaluator.value(test).value
        chosen = branches[0 if found else 1] if isinstance(found, bool) else None
        for branch in branches:
            if chosen is None or branch is chosen or not self.makes_object(chosen):
                if self.makes_object(branch):
                    self.emit(branch, evaluator)
            else:
                self.writer.copy_to(branch.start)
                self.writer.add("null", branch.start)
                self.writer.at = branch.end

    def heredoc(self, expression: HclExpression, evaluator: Evaluator) -> None:
        assert isinstance(expression.value, tuple)
        pieces: Sequence[TemplatePiece] = expression.value[1]
        if all(not piece.word for piece in pieces):
            return
        try:
            parts = nest(pieces)
        except BadBlocks:
            return
        writer = self.writer
        writer.copy_to(pieces[0].outer_start)
        render(parts, evaluator, writer)
        writer.at = pieces[-1].outer_end
        if writer.out and not writer.out[-1].endswith("\n"):
            writer.add("\n", writer.at)

    def print(self, expression: HclExpression, evaluator: Evaluator) -> None:
        value = evaluator.value(expression)
        if is_unknown(value) or (isinstance(value, TextNode) and value.value is UNKNOWN):
            if expression.kind == "call" and expression.value == "merge" and not self.declares:
                for part in expression.parts:  # objects that are merged with something unknown are only parts
                    self.used.update(_objects_in(evaluator.value(part)))
            inner = _take_only_code(expression) if self.is_json else expression
            if inner.kind == "call" and inner.value in self.partly_printed and not self.declares:
                self.partly_known(inner, expression, evaluator)
            return
        made = set(_objects_in(value))
        if made and self.declares:
            return  # printed where it is used
        read = list(_list_read(value)) if made else []
        if made and self.holds_manifests(expression) and all(own for _, own in read) and len(read) == len(made):
            self.files.unchanged.update(path for path, _ in read)
            return  # judged in its own file
        self.files.changed.update(path for path, _ in read)
        if self.in_manifest and not made and not self.declares:
            self.files.changed.update(_list_files_of_spec(value))
        texts = _texts_in(value) if self.declares else (value,)
        if any(map(_is_manifest_file, texts)) and (self.declares or self.holds_manifests(expression)):
            return  # judged in its own file
        writer = self.writer
        writer.copy_to(expression.start)
        code = writer.code_at(expression.start, expression.end)
        for text, node in json_pieces(value, _unknown_json if self.is_json else _unknown_text):
            writer.add(escaped(text), expression.start, code, node)
        writer.at = expression.end
        self.used |= made

    def partly_known(self, expression: HclExpression, around: HclExpression, evaluator: Evaluator) -> None:
        """Write a list or object with an unknown argument: the known parts, and a placeholder for the rest.

        It replaces `around`: in JSON, this is the string around the code.
        """
        kind = "sequence" if expression.value == "concat" else "mapping"
        values = [evaluator.value(part) for part in expression.parts if part.kind != "spread"]
        if len(values) < len(expression.parts) or all(value.kind != kind for value in values):
            return
        unknown = next((value for value in values if value.kind == "scalar"), None)
        if unknown is None and kind == "mapping":
            return  # the unknown part is an entry of an argument, which is written as it is
        if any(value.kind not in (kind, "scalar") for value in values) or any(
            next(_objects_in(value), None) is not None for value in values
        ):
            return
        at = evaluator.place(expression)
        if kind == "sequence":
            items = (value.items if value.kind == kind else [value] for value in values)
            whole = sequence(at, [item for part in items for item in part])
        else:
            whole = mapping(at, ((e.name or "", e.key, e.value) for value in values for e in value.entries))
        writer = self.writer
        writer.copy_to(around.start)
        code = writer.code_at(around.start, around.end)
        pieces = list(json_pieces(whole, _unknown_json if self.is_json else _unknown_text))
        if kind == "mapping":
            assert unknown is not None
            rest = _unknown_text(unknown)
            pieces[-1:] = [(f", ({rest}) = {rest}", at), pieces[-1]]
        for text, node in pieces:
            writer.add(escaped(text), around.start, code, node)
        writer.at = around.end


def _take_only_code(expression: HclExpression) -> HclExpression:
    """Return the code of a JSON string that consists of one `${}`. Else return the string."""
    pieces: Sequence[TemplatePiece] = expression.value[1] if isinstance(expression.value, tuple) else ()
    inner = pieces[0].expression if len(pieces) == 1 else None
    return expression if inner is None else inner


def _unknown_text(node: Node) -> str:
    """Return the text to show for an unknown value in an object: its own text if it is a reference."""
    text = node.text if node.end - node.start < 200 else ""
    return text if re.fullmatch(_TRAVERSAL, text) and text not in ("true", "false", "null") else _UNKNOWN


def _unknown_json(node: Node) -> str:
    """Return the text to show for an unknown value in a JSON object."""
    return f'"${{{_unknown_text(node)}}}"'


def escaped(text: str) -> str:
    """Return a JSON text with `${` and `%{` escaped for HCL."""
    return re.sub(r"([$%])\{", r"\1\1{", text) if "${" in text or "%{" in text else text


def _objects_in(value: Node) -> Iterator[tuple[str, int, int]]:
    """Yield the places of the Karpenter objects in a value."""
    for node in _collections_in(value):
        group = node.get("apiVersion") if node.kind == "mapping" else None
        if group is None or not isinstance(group.value, str) or not group.value.startswith(_GROUPS):
            continue
        written = group.parent or node
        yield written.source.path, written.start, written.end


def _list_read(value: Node) -> Iterator[tuple[str, bool]]:
    """Yield the absolute path of the file that each Karpenter object in a value comes from, and whether the object is
    all of the file's document.
    """
    for node in _collections_in(value):
        group = node.get("apiVersion") if node.kind == "mapping" else None
        root = group.parent if group is not None else None
        path = _find_file(root) if root is not None else None
        if path is not None:
            yield path, node is root


def _list_files_of_spec(value: Node) -> Iterator[str]:
    """Yield the absolute paths of the files with the objects whose spec, or fields of whose spec, a value holds."""
    holders = {id(node.parent): node.parent for node in (value, *(entry.value for entry in value.entries))}
    for holder in holders.values():
        for root in (holder, holder.parent if holder is not None else None):
            path = _find_file(root) if root is not None else None
            if path is not None:
                yield path


def _find_file(root: Node) -> str | None:
    """Return the absolute path of the file from which a Karpenter object was decoded. None for any other value."""
    group = root.get("apiVersion") if root.kind == "mapping" else None
    if group is None or not isinstance(group.value, str) or not group.value.startswith(_GROUPS):
        return None
    if root.tag is not None and root.tag.startswith(RENDERED_FILE):
        return root.tag.removeprefix(RENDERED_FILE)
    return None if root.source.path.endswith(ENDS) or root.style == "hcl" else os.path.abspath(root.source.path)


def _is_manifest_file(value: Node) -> bool:
    """Return whether a value is the text of a file with Karpenter objects, as `file` and `templatefile` return it."""
    file, text = value.source, value.value
    if not isinstance(text, str) or file.path.endswith(ENDS) or value.start or "apiVersion" not in text:
        return False
    is_whole = text.strip() in file.text or "${" in file.text or "%{" in file.text
    return is_whole and any(group in text for group in _GROUPS)


def _texts_in(value: Node) -> Iterator[Node]:
    """Yield the scalars in a list or object."""
    for node in _collections_in(value):
        yield from (item for item in (*node.items, *(entry.value for entry in node.entries)) if item.kind == "scalar")


def _collections_in(value: Node) -> Iterator[Node]:
    """Yield the lists and objects in a value, each once."""
    pending, seen = [value], set()
    while pending:
        node = pending.pop()
        if node.kind != "scalar" and id(node) not in seen:
            seen.add(id(node))
            yield node
            pending += node.items
            pending += [entry.value for entry in node.entries]
