"""Print the blocks of a Terraform file in JSON syntax as HCL, for rules that read the text of a block."""

from __future__ import annotations

import json
import re

from nodelint.base.budget import BudgetSpent
from nodelint.base.types import TYPE_CHECKING
from nodelint.forms.terraform.json_syntax import read_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from nodelint.text import Source

_NESTED = frozenset(
    {
        *(
            "access_config",
            "condition",
            "egress",
            "ingress",
            "kubernetes",
            "launch_template",
            "metadata",
            "principals",
        ),
        *("remote_access", "route", "scaling_config", "selector", "set", "set_list", "set_sensitive", "statement"),
        *("taint", "vpc_config"),
    }
)
"""Names of nested blocks, which JSON writes like arguments."""
_EXPRESSION = re.compile(r"\$\{((?:[^{}$]|\{[^{}]*\})*)\}")
_NAME = re.compile(r"[A-Za-z_][\w-]*")


def list_json_blocks(source: Source) -> Iterator[tuple[str, tuple[str, ...], int, str]]:
    """Yield (kind, labels, offset of the last label, body in HCL) for each block of a file in JSON syntax."""
    try:
        blocks = read_file(source).blocks
    except BudgetSpent:
        return
    for block in blocks:
        try:
            body = json.loads(source.text[block.start : block.end])
        except (ValueError, RecursionError):
            continue
        label = f'"{block.names[-1]}"' if block.names else ""
        at = source.text.rfind(label, 0, block.start) if label else block.start
        if isinstance(body, dict) and at >= 0:
            yield block.kind, block.names, at, "\n".join(["", *_print_body(body, "  ")])


def _print_body(body: dict[str, Any], indent: str) -> Iterator[str]:
    for name, value in body.items():
        items = value if isinstance(value, list) else [value]
        if name in _NESTED and items and all(isinstance(item, dict) for item in items):
            for item in items:
                yield f"{indent}{name} {{"
                yield from _print_body(item, indent + "  ")
                yield f"{indent}}}"
        elif name != "//":
            shown = name if _NAME.fullmatch(name) else json.dumps(name, ensure_ascii=False)
            yield f"{indent}{shown} = {_print_value(value, indent)}"


def _print_value(value: Any, indent: str) -> str:
    """Return a value as an expression of HCL. A text that is one template is its expression."""
    if isinstance(value, dict):
        return "\n".join(["{", *_print_body(value, indent + "  "), f"{indent}}}"]) if value else "{}"
    if isinstance(value, list):
        return f"[{', '.join(_print_value(item, indent) for item in value)}]"
    expression = _EXPRESSION.fullmatch(value) if isinstance(value, str) else None
    return expression[1] if expression is not None else json.dumps(value, ensure_ascii=False)
