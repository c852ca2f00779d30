"""Merge keys as sigs.k8s.io/yaml reads them: it sets the keys of a mapping one by one, and the last one set stays."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nodelint.edits import NotEditable, add_key, apply, remove, set_value
from nodelint.text import Node, Source
from tests.text.test_source import root

Member = tuple[str, Any]
"""A key and its number, or `<<` and the mappings of a merge."""


def _mappings(parts: st.SearchStrategy[list[Member]]) -> st.SearchStrategy[list[Member]]:
    key = st.tuples(st.sampled_from("abcd"), st.integers(0, 99))
    merge = st.tuples(st.just("<<"), st.lists(parts, min_size=1, max_size=3))
    members: st.SearchStrategy[list[Member]] = st.lists(key | merge, max_size=5)
    return members.filter(
        lambda found: all(count == 1 for k, count in Counter(k for k, _ in found).items() if k != "<<")
    )


MAPPINGS: st.SearchStrategy[list[Member]] = st.recursive(st.just([]), _mappings, max_leaves=8)


def render_merge(members: list[Member], block: bool = False) -> str:
    parts = []
    for key, value in members:
        if isinstance(value, list):
            texts = [render_merge(part) for part in value]
            value = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
        parts.append(f"{key}: {value}")
    return "\n".join(parts) if block else "{" + ", ".join(parts) + "}"


def value_of(members: list[Member]) -> dict[str, object]:
    """The model: whatever is further down replaces what is above; of one merge's mappings the first wins."""
    found: dict[str, object] = {}
    for key, value in members:
        if isinstance(value, list):
            for part in reversed(value):
                found.update(value_of(part))
        else:
            found[key] = value
    return found


@pytest.mark.slow
@given(MAPPINGS)
@example([("a", 10), ("<<", [[("a", 500)]])])
@example([("<<", [[("a", 1)]]), ("<<", [[("a", 2)]])])
@example([("<<", [[("a", 1), ("b", 1)], [("a", 2), ("c", 2)]]), ("c", 3)])
def test_the_last_key_set_stays(members: list[Member]) -> None:
    flow = root(f"k: {render_merge(members)}")
    assert flow.plain() == {"k": value_of(members)}
    if members:
        assert root(render_merge(members, block=True)).plain() == value_of(members)


@given(MAPPINGS, st.sampled_from("abcd"), st.booleans())
def test_a_key_that_is_added_or_set_beside_merges_has_its_value(members: list[Member], key: str, block: bool) -> None:
    top = root(render_merge(members, block) if block and members else render_merge(members))
    node = top.get(key)
    assert node is None or node.value == value_of(members)[key]
    try:
        edits = add_key(top, key, 1000) if node is None or node.shared else set_value(node, 1000)
    except NotEditable:
        return  # it stands above the merge that replaces it
    after = Source.from_text("x.yaml", apply(top.source.text, edits))
    assert after.problems == []
    assert after.documents[0].root is not None
    assert after.documents[0].root.plain() == {**value_of(members), key: 1000}


def test_a_key_that_a_merge_replaces_keeps_its_place() -> None:
    top = root("a: 1 # one\n<<: {a: 2, b: 3}\nc: 4\n")
    assert top.plain() == {"a": 2, "b": 3, "c": 4}
    assert [(e.name, e.merged) for e in top.entries] == [("c", False), ("a", True), ("b", True)]
    assert [e.name for e in top.merges] == ["a", "<<"]
    assert isinstance(top.get("c"), Node)
    after = apply(top.source.text, remove(top.get("c")))  # type: ignore[arg-type]
    assert after == "# karpenter\na: 1 # one\n<<: {a: 2, b: 3}\n"
