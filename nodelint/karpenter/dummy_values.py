"""Leftover placeholders: words instead of a name, and invalid or documentation ids.

The words and the ids are in `data/vocabulary.json`.
"""

from __future__ import annotations

import re

from nodelint.data import table
from nodelint.model.folders import is_of_examples
from nodelint.text.placeholders import holds_any, left_by_hand

__all__ = [
    "is_dummy_value",
    "is_malformed_id",
    "is_of_examples",
    "is_template_name",
    "may_hold_stand_in_name",
    "no_id",
    "no_kms_key",
    "no_snapshot",
    "stand_in_name",
]

_HEX = frozenset("0123456789abcdef")


def is_dummy_value(value: str) -> str | None:
    """Return the part of a value that somebody forgot to replace: `<cluster>`, `your-role`, `ami-xxxxxxxx`.

    None if there is none.
    """
    return left_by_hand(value, table("vocabulary")["stand_ins"])


_TEMPLATES = ("template", ".example", ".sample", "-example", "-sample", ".tpl", ".tftpl", ".tmpl", ".j2")


def is_template_name(path: str) -> bool:
    """Return whether a file is named as a template or an example, in which somebody has to replace values."""
    name = path.rpartition("/")[2].lower()
    return any(part in name for part in _TEMPLATES)


def stand_in_name(value: str) -> bool:
    """Return whether a whole value is a placeholder word: `cluster-name`, `changeme`."""
    words: list[str] = table("vocabulary")["stand_in_names"]
    return value.lower() in words


def may_hold_stand_in_name(text: str) -> bool:
    """Return whether a text contains a placeholder word. If not, none of its values can be one."""
    return holds_any(text.lower(), table("vocabulary")["stand_in_names"])


def no_id(value: str) -> bool:
    """Return whether a text has the form of an AWS id but is not one: the letters of `sg-zzzz` are no hexadecimal
    digits.
    """
    kind, dash, number = value.partition("-")
    return bool(dash) and kind in table("vocabulary")["id_kinds"] and not _HEX.issuperset(number.lower())


def no_snapshot(value: str) -> bool:
    """Return whether a text is not the id of an EBS snapshot: `SNAPSHOT`, `snap-xxxx`."""
    kind, _, number = value.partition("-")
    return kind != "snap" or not number or not _HEX.issuperset(number.lower())


def is_malformed_id(value: str) -> bool:
    """Return whether an AWS id is an example from documentation: `ami-123`, `sg-0123456789abcdef0`, or a listed
    one.
    """
    kind, _, number = value.partition("-")
    if kind not in table("vocabulary")["id_kinds"] or len(number) < 3:
        return False
    return value in table("vocabulary")["documented_ids"] or _counted(number.lower())


def _counted(number: str) -> bool:
    """Return whether a number consists of runs of at least three digits that count up or repeat: `abc123`,
    `111222`.
    """
    length, step = 1, None
    for at in range(1, len(number)):
        pair = number[at - 1 : at + 1]
        follows = pair in "0123456789abcdef0" or pair in ("90", "0a")
        now = "same" if pair[0] == pair[1] else "next" if follows else None
        if now is not None and (step is None or now == step):
            length, step = length + 1, now
        elif length < 3:
            return False
        else:
            length, step = 1, None
    return length > 2


def no_kms_key(value: str) -> bool:
    """Return whether a text is not a KMS key for EC2: neither the id of a key, an alias, nor the ARN of either. A
    text with a placeholder may be one.
    """
    key = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|mrk-[0-9a-f]{32}"
    arn = r"arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:"
    form = rf"(?i)({arn}key/|key/)?({key})|({arn})?alias/[\w/-]+"
    return not set("${<") & set(value) and re.fullmatch(form, value) is None
