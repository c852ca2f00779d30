"""Record files that Terraform functions read and that do not exist, or are not YAML."""

from __future__ import annotations

import os

from nodelint.files.gate import gate
from nodelint.forms.lib.values import note_broken_text
from nodelint.forms.terraform.functions.table import call_function
from nodelint.forms.terraform.nodes import EvaluationFailure
from nodelint.text import Node
from nodelint.text.limits import note_left_out

_TRIES = ("fileexists", "try(", "can(")
"""Functions with which a file need not exist."""


def note_missing_file(function: str, path: str, written: str, at: Node) -> None:
    """Record that a function reads a file that does not exist, if Terraform stops there."""
    is_refused = gate.notes_refusal(path, written, at.source, at.start)
    if is_refused or gate.exists(path) or any(word in at.source.text for word in _TRIES):
        return
    shown = os.path.relpath(path).replace(os.sep, "/")
    reason = f"{function}() reads `{shown}`, which is not in the repository: what is in it is not known"
    note_left_out(at.source.path, reason, at.source.position(at.start).line)


def decode_yaml(args: list[Node], at: Node) -> Node:
    """Return the value of a text of YAML. If it is a file with a syntax error, record the file.

    Raise `EvaluationFailure`.
    """
    try:
        return call_function("yamldecode", args, at)
    except EvaluationFailure:
        note_broken_text(args[0] if args else at)
        raise
