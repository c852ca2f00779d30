"""Replace one part of a data file and keep the layout of the rest."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def wrapped(items: Sequence[str], count: int) -> str:
    """Return items separated by commas, with `count` of them on each line."""
    rows = [", ".join(items[start : start + count]) for start in range(0, len(items), count)]
    return ",\n".join(f"  {row}" for row in rows)


def strings(items: Iterable[str]) -> list[str]:
    return [json.dumps(item) for item in items]


def pairs(items: Mapping[str, str]) -> list[str]:
    return [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in items.items()]


def with_block(text: str, key: str, body: str) -> str:
    """Return a file's text with new content in the brackets of a key at the top level. Raise ValueError if it lacks
    the key.
    """
    made, count = re.subn(
        rf'^( "{re.escape(key)}": [\[{{])\n(?:.*?\n)??( [\]}}],?)$',
        lambda match: f"{match[1]}\n{body}\n{match[2]}",
        text,
        count=1,
        flags=re.MULTILINE | re.DOTALL,
    )
    if not count:
        raise ValueError(f"no `{key}` in the layout that is expected")
    return made


def with_text(text: str, key: str, value: str) -> str:
    """Return a file's text with a new string for a key at the top level."""
    made, count = re.subn(
        rf'^( {{1,2}}"{re.escape(key)}": )"(?:[^"\\]|\\.)*"',
        lambda match: match[1] + json.dumps(value),
        text,
        count=1,
        flags=re.MULTILINE,
    )
    if not count:
        raise ValueError(f"no `{key}` in the layout that is expected")
    return made


def with_newest(text: str, key: str, newest: str) -> str:
    """Return a JSON text in which the range of releases of `key`, such as `1.0.0 to 1.14.1`, ends with `newest`."""
    value = str(json.loads(text)[key])
    made = re.sub(r"(\d+\.\d+\.\d+ to v?)\d+\.\d+\.\d+", rf"\g<1>{newest}", value)
    return with_text(text, key, made)


def lines(items: Mapping[str, Any]) -> str:
    """Return the members of a JSON object, one in each line."""
    rows = (f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in items.items())
    return ",\n".join(rows)
