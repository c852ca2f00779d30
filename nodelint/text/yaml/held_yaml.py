"""Check YAML before PyYAML loads it: PyYAML keeps each collection on C's stack, and copies merged values."""

from __future__ import annotations

from nodelint.base.types import Any
from nodelint.text.yaml.aliases import MOST_COPIES

_DEEPEST = 200
"""The deepest nesting of collections. The deepest CRDs in use have about 50 levels."""


def hold(data: str | bytes) -> None:
    """Raise ValueError for YAML that PyYAML must not load: too deep, recursive, or with aliases for too many values.

    Raise yaml.YAMLError if the text is not YAML.
    """
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    sizes: dict[str, int] = {}
    opened: list[tuple[str | None, int]] = []
    copies = size = 0
    for event in yaml.parse(data, loader):
        if isinstance(event, yaml.DocumentStartEvent):
            sizes.clear()
        elif isinstance(event, yaml.CollectionStartEvent):
            opened.append((event.anchor, size))
            if len(opened) > _DEEPEST:
                raise ValueError(f"nested more than {_DEEPEST} levels deep")
            size += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = opened.pop()
            if anchor is not None:
                sizes[anchor] = size - before
        elif isinstance(event, yaml.ScalarEvent):
            size += 1
        elif isinstance(event, yaml.AliasEvent):
            if any(anchor == event.anchor for anchor, _ in opened):
                raise ValueError(f"`*{event.anchor}` stands in what it stands for")
            copied = sizes.get(event.anchor, 1)
            size += copied
            copies += copied
            if copies > MOST_COPIES:
                raise ValueError(f"its aliases stand for more than {MOST_COPIES:,} values")
