"""Which files a pattern stands for."""

from __future__ import annotations

import pytest

from nodelint.forms.lib.file_patterns import names_file


@pytest.mark.parametrize(
    ("pattern", "path", "stands"),
    [
        ("a/**/b.yaml", "a/b.yaml", True),
        ("a/**/b.yaml", "a/x/y/b.yaml", True),
        ("a/**/b.yaml", "x/a/b.yaml", False),
        ("a/*.yaml", "a/x/b.yaml", False),
        ("a/{b,c}.yaml", "a/c.yaml", True),
        ("./a/../b/*.yaml", "b/c.yaml", True),
    ],
)
def test_a_pattern_stands_for_a_file(pattern: str, path: str, stands: bool) -> None:
    assert names_file(pattern, path) is stands
