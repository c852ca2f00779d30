"""Where a path stands below a folder."""

from __future__ import annotations

import os

from hypothesis import example, given
from hypothesis import strategies as st

from nodelint.model.folders import path_below

STEPS = st.lists(st.sampled_from(["a", "b", ".", "..", "", ".hidden", "a b"]), min_size=1, max_size=5)


@given(STEPS, STEPS, st.booleans())
@example(["a"], ["b", ""], True)
@example(["..", "a"], ["..", "b"], True)
def test_a_path_below_a_folder_is_what_the_system_calls_it(root: list[str], path: list[str], below: bool) -> None:
    folder = "/".join(root)
    whole = "/".join([*root, *path] if below else path) or "a"
    assert path_below(whole, folder) == os.path.relpath(whole, folder)
