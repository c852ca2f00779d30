"""Call the functions of Terraform that read files, such as `file` and `templatefile`, in a module."""

from __future__ import annotations

import os
from collections.abc import Mapping

from nodelint.files.gate import gate
from nodelint.forms.lib.file_patterns import match_files
from nodelint.forms.lib.made_nodes import scalar, sequence
from nodelint.forms.terraform.evaluate import EvaluationBudget, ExpressionEvaluator, NameScope
from nodelint.forms.terraform.functions.table import call_function
from nodelint.forms.terraform.hclexpr import read_file_template
from nodelint.forms.terraform.hcltree import BadExpression, HclExpression
from nodelint.forms.terraform.missing_files import decode_yaml, note_missing_file
from nodelint.forms.terraform.modules import ModuleFiles
from nodelint.forms.terraform.nodes import TextNode, unknown
from nodelint.forms.terraform.template import Evaluator
from nodelint.text.nodes import Node
from nodelint.text.source import Source


class FileFunctions:
    """The functions of the module in a folder. `root` is the folder of its root module.

    While `renders` is a list, the arguments of each `templatefile` call are added to it, by the path of the file, and
    no template is rendered.
    """

    def __init__(self, files: ModuleFiles, folder: str, root: str) -> None:
        self._files = files
        self._folder = folder
        self._root = root
        self.renders: list[tuple[str, Node]] | None = None

    def call(self, evaluator: ExpressionEvaluator, name: str, args: list[Node], at: Node) -> Node:
        """Return the result of a function. Raise `EvaluationFailure` and `BudgetSpent`."""
        if name == "fileset":
            return self._file_set(args, at, evaluator.budget)
        if name == "yamldecode":
            return decode_yaml(args, at)
        if name not in ("file", "templatefile"):
            return call_function(name, args, at)
        path = args[0].value if args else None
        if not isinstance(path, str):
            return unknown(at)
        whole_path = os.path.normpath(os.path.join(self._folder, path))
        source = self._files.source(whole_path)
        if source is None:
            note_missing_file(name, whole_path, path, at)
        if name == "file" or len(args) < 2:
            if source is None:
                return unknown(at)
            return Node(source, 0, len(source.text), "scalar", "plain", source.text)
        if self.renders is not None:
            self.renders.append((whole_path, args[1]))
            return unknown(at)
        names = {entry.name: entry.value for entry in args[1].entries if entry.name is not None}
        if source is None or evaluator.budget.depth > 60:
            return unknown(at)
        try:
            pieces = read_file_template(source.text)
        except BadExpression:
            return unknown(at)
        whole = HclExpression("template", 0, len(source.text), ("heredoc", pieces))
        found = self.template(source, names, evaluator.budget).strict(whole)
        return found if isinstance(found, TextNode) else unknown(at)

    def _file_set(self, args: list[Node], at: Node, budget: EvaluationBudget) -> Node:
        folder, pattern = (arg.value for arg in args) if len(args) == 2 else (None, None)
        if not isinstance(folder, str) or not isinstance(pattern, str):
            return unknown(at)
        steps = pattern.split("/")
        led = "/".join(steps[: len(steps) - steps[::-1].index("..")]) if ".." in steps else ""
        if gate.notes_refusal(os.path.join(self._folder, folder, led), f"{folder}/{led}", at.source, at.start) or led:
            return unknown(at)
        found = match_files(os.path.join(self._folder, folder), pattern, budget)
        return unknown(at) if found is None else sequence(at, [scalar(at, path) for path in found], "set")

    def template(self, source: Source, names: Mapping[str, Node], budget: EvaluationBudget) -> Evaluator:
        """Return an evaluator for a template that the module renders. It knows only the names that are passed."""
        return Evaluator(NameScope(source, names, lambda word, name: None, self.call, self._root), budget)
