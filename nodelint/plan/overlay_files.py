"""Changed files of overlays that nodelint does not read: transformers, and the files of generators."""

from __future__ import annotations

import os

from nodelint.base.types import TYPE_CHECKING
from nodelint.files.gate import gate
from nodelint.forms.lib.unread_inputs import in_one_line
from nodelint.forms.lib.values import own_roots, read
from nodelint.forms.registry import TABLE
from nodelint.model.finding import Span
from nodelint.model.folders import path_below
from nodelint.model.gvk import is_other_kind
from nodelint.plan.gone_appliers import show_place
from nodelint.plan.uncompared import uncompared
from nodelint.text import Node, Source
from nodelint.text.missing import items_of, text_of
from nodelint.text.source import WHOLE_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nodelint.model.gap import Gap
    from nodelint.plan.read_side import Read


def find_changed_generators(was: Read, new: Read) -> Iterator[Gap]:
    """Yield the changed files of generators, of overlays that are rendered without what these make."""
    before, after = (_list_generators(side) for side in (was, new))
    for place in sorted(before.keys() & after.keys()):
        if list_parts(before[place].text) != list_parts(after[place].text):
            at = show_place(new, Span(after[place], 0, 0))
            yield uncompared(at, place, "a generator of an overlay: what it makes is not known", True)


def _list_generators(side: Read) -> dict[str, Source]:
    """Return the files that overlays of Karpenter name as generators, by their paths below the side's root."""
    found: dict[str, Source] = {}
    parts = {part for built in side.inventory.built for part in built.parts}
    for path in sorted(part for part in parts if os.path.basename(part) in TABLE.names):
        source = read(path)
        for root in own_roots(source) if source is not None and "generators" in source.text else ():
            for item in items_of(root.get("generators")):
                named = os.path.normpath(os.path.join(os.path.dirname(path), text_of(item)))
                text = read(os.path.relpath(named)) if text_of(item) and gate.is_file(named) else None
                if text is not None:
                    found[path_below(named, side.root)] = text
    return found


def list_parts(text: str) -> list[str]:
    """Return the documents of a file on one line each, without transformers of other kinds of objects.

    A text that is not plain YAML is returned as it is.
    """
    source = Source.from_text("", text, WHOLE_FILE)
    if source.problems or source.masked or "{{" in text:
        return [text]
    return [in_one_line(root) for root in own_roots(source) if not _is_of_other_kinds(root)]


def _is_of_other_kinds(root: Node) -> bool:
    """Return whether a document is a built-in transformer whose fields are those of other kinds alone."""
    if text_of(root.get("apiVersion")) != "builtin":
        return False
    specs = items_of(root.get("fieldSpecs"))
    kinds = [text_of(spec.get("kind")) for spec in specs] or [text_of(root.find("target", "kind"))]
    return all(map(is_other_kind, kinds))
