"""A bound on what evaluating an expression costs an API server, in its units of CEL cost.

Each name, field, operator and call is counted as one, a call that reads a text as a tenth of the longest text that
counts, and the body of a macro as often as its list may have items.
"""

from __future__ import annotations

import re

LIMIT = 1_000_000
"""The units that one evaluation may cost; Kubernetes calls it PerCallLimit."""

_ITEMS = {
    "requirements": 100,
    "budgets": 50,
    "blockDeviceMappings": 50,
    "amiSelectorTerms": 30,
    "subnetSelectorTerms": 30,
    "securityGroupSelectorTerms": 30,
    "tags": 20,
    "values": 100,
}
"""`maxItems` and `maxProperties` of Karpenter's CRDs by field.

`values` have none: 100 in each of 100 requirements are many.
"""
_UNBOUNDED = 1000
"""Items of a list without `maxItems`, such as taints or annotations: many more than one object holds."""
_TEXT = 13
"""The cost of reading a text of 128 characters, as long as the key of a tag; labels and names are shorter."""
_TOKEN = re.compile(r"'(?:[^'\\]|\\.)*'|[A-Za-z_][\w.]*|[0-9.]+|&&|\|\||[!<>=]=|[^\s\w]")
_MACROS = ("all", "exists", "filter", "map", "exists_one")
_READS_TEXT = ("matches", "contains", "startsWith", "endsWith", "lowerAscii", "duration")


def estimate_cost(expression: str) -> int:
    """Return the most that an evaluation costs."""
    return _cost(_TOKEN.findall(expression), 0)[0]


def _cost(tokens: list[str], at: int) -> tuple[int, int]:
    """The cost of tokens up to the bracket that closes them, and the place behind it."""
    cost = 0
    while at < len(tokens) and tokens[at] != ")":
        token = tokens[at]
        name = token.rpartition(".")[2]
        cost += 1 + token.count(".") + (_TEXT if name in _READS_TEXT else 0)
        if token in ("in", "=="):
            cost += _TEXT // 5
        at += 1
        if token == "(" or (at < len(tokens) and tokens[at] == "(" and token[0].isalpha()):
            inner, at = _cost(tokens, at if token == "(" else at + 1)
            cost += inner * (_count_items(token) if name in _MACROS else 1)
    return cost, at + 1


def _count_items(call: str) -> int:
    return _ITEMS.get(call.split(".")[-2], _UNBOUNDED)
