"""JSON as it is printed."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodelint.report.json_text import JsonLine, json_parts

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


@pytest.mark.parametrize("ascii_only", [True, False])
@given(value=VALUES)
def test_a_value_without_lines_is_printed_as_the_library_does(value: object, ascii_only: bool) -> None:
    assert "".join(json_parts(value, ascii_only)) == json.dumps(value, indent=2, ensure_ascii=ascii_only)


@pytest.mark.slow
@given(st.lists(st.dictionaries(st.text(), VALUES), min_size=1))
def test_a_json_line_takes_one_line_and_says_the_same(objects: list[dict[str, object]]) -> None:
    text = "".join(json_parts({"types": [JsonLine(value) for value in objects]}, ascii_only=True))
    assert json.loads(text) == {"types": objects}
    assert len(text.splitlines()) == len(objects) + 4
