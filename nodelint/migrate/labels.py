"""Node labels that have different keys in Karpenter and in EKS Auto Mode."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache

from nodelint.base.types import TYPE_CHECKING
from nodelint.data import table
from nodelint.model.gvk import AUTO_MODE_GROUP, AWS_GROUP
from nodelint.model.requirement import well_known_since

if TYPE_CHECKING:
    from typing import Literal

    MoveTarget = Literal["auto-mode", "karpenter"]
    """Where objects are moved to."""
else:
    MoveTarget = str

COMPUTE_TYPE = f"{AUTO_MODE_GROUP}/compute-type"
"""The label of all nodes of EKS Auto Mode. Karpenter has no such label."""

_CLASS_LABELS = {f"{AWS_GROUP}/ec2nodeclass": f"{AUTO_MODE_GROUP}/nodeclass"}


@cache
def counterparts(target: MoveTarget) -> Mapping[str, str]:
    """Return the target's label key for each label key of the other side."""
    facts = table("auto_mode")
    pairs = dict(_CLASS_LABELS)
    for name in (*facts["labels_of_every_type"], *facts["labels_of_some_types"]):
        if well_known_since(f"{AWS_GROUP}/{name}") is not None:
            pairs[f"{AWS_GROUP}/{name}"] = f"{AUTO_MODE_GROUP}/{name}"
    return pairs if target == "auto-mode" else {new: old for old, new in pairs.items()}


def has_no_counterpart(key: str, target: MoveTarget) -> bool:
    """Return whether the key is a label of the other side for which the target has no label."""
    if target == "karpenter":
        return key == COMPUTE_TYPE
    return key.startswith(f"{AWS_GROUP}/") and key not in counterparts(target) and well_known_since(key) is not None


@cache
def _pattern(target: MoveTarget) -> re.Pattern[str]:
    keys = sorted(counterparts(target), key=len, reverse=True)
    names = "|".join(re.escape(key).replace("/", "(?:/|~1)") for key in keys)
    return re.compile(rf"(?<![\w./-])(?:{names})(?![\w/-]|\.\w)|(?<=/)(?:{names.replace('(?:/|~1)', '~1')})(?![\w-])")


_COMMENT = re.compile(r"[ \t]*(?:#|//)|.*?[ \t]#")


def find_labels(text: str, target: MoveTarget) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and new key for each label in a text that has another key on the target. Comments are skipped.

    In a JSON pointer the slash is written as `~1`, also in the new key.
    """
    for match in _pattern(target).finditer(text):
        begin = text.rfind("\n", 0, match.start()) + 1
        if _COMMENT.match(text, begin, match.start()) is None:
            new = counterparts(target)[match[0].replace("~1", "/")]
            yield match.start(), match.end(), new.replace("/", "~1") if "~1" in match[0] else new
