"""Check on the examples of a rule that it does not judge unknown values.

Each scalar of an example in turn becomes a placeholder, and each list in turn gets a placeholder as a further item.
The rule must find nothing in places where it found nothing before. Only `test-rules` and the tests load this module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from nodelint import edits
from nodelint.base.tuples import NamedTuple
from nodelint.lint.engine import Report
from nodelint.model.finding import Span
from nodelint.model.manifest import EC2NodeClass, NodePool
from nodelint.report.page import read_example
from nodelint.text import UNKNOWN, Source

Place = tuple[int, str]
"""The number of a document, and the path of a field in it."""

PLACEHOLDER = "${OTHER}"
"""A placeholder for envsubst. nodelint reads it as an unknown value."""


class Unknown(NamedTuple):
    """An example in which one value is unknown.

    - `text`: the text of the example.
    - `field`: kind and path of the field.
    - `longer`: the text with a known item in place of the placeholder in a list, else None. A finding there is about
      the number of items, which is known.
    """

    text: str
    field: str
    longer: str | None


def with_unknowns(text: str) -> Iterator[Unknown]:
    """Yield variants of an example in which one scalar is a placeholder, or one list has a placeholder as a new item.

    Nothing is yielded for an example of several files, or with template code.
    """
    if "# file:" in text or "{{" in text or "%{" in text:
        return
    for obj in read_example(text).objects():
        if not isinstance(obj, NodePool | EC2NodeClass):
            continue
        spec = obj.node.get("spec")
        nodes = list(spec.walk()) if spec is not None else []
        keys = {id(entry.key) for node in nodes for entry in node.entries}
        for node in nodes:
            if node.kind == "sequence":
                known = (item for item in node.items if all(part.value is not UNKNOWN for part in item.walk()))
                item = next(known, None)
                plain: Any = item.plain() if item is not None else None
                longer = edits.apply(text, edits.add_item(node, plain)) if item is not None else None
                yield Unknown(edits.apply(text, edits.add_item(node, PLACEHOLDER)), f"{obj.kind} {node.path}", longer)
            elif node.kind == "scalar" and id(node) not in keys:
                replaced = f'{text[: node.start]}"{PLACEHOLDER}"{text[node.end :]}'
                yield Unknown(replaced, f"{obj.kind} {node.path}", None)


def judged_unknowns(text: str, judge: Callable[[str], Report]) -> Iterator[str]:
    """Yield the findings of a rule in a text with an unknown value, at places without a finding before."""
    before = judge(text).results
    places = {_place(span) for result in before for span in (result.span, *(a.span for a in result.finding.also))}
    hides_others = any(result.finding.once for result in before)
    for unknown in with_unknowns(text):
        for result in judge(unknown.text).results:
            place = _place(result.span)
            if any(_is_near(place, other) for other in places) or (result.finding.once and hides_others):
                continue
            if any(f"`{field.rpartition('.')[2]}`" in result.message for _, field in places):
                continue  # another message about the same field
            if PLACEHOLDER[2:-1] in result.message:
                continue  # the rule may be about the placeholder itself
            known = judge(unknown.longer).results if unknown.longer is not None else ()
            if result.message not in {other.message for other in known}:
                yield f"with `{PLACEHOLDER}` in {unknown.field}: {result.message}"


def _place(span: Span) -> Place:
    found = [
        (node.end - node.start, number, node.path)
        for number, document in enumerate(span.source.documents if isinstance(span.source, Source) else ())
        for node in (document.root.walk() if document.root is not None else ())
        if node.start <= span.start and span.end <= node.end
    ]
    return min(found)[1:] if found else (-1, "")


def _is_near(place: Place, other: Place) -> bool:
    """Return whether two findings can be the same finding: same list, same entry, or field and parent."""
    (document, path), (other_document, other_path) = place, other
    if document != other_document:
        return False
    short, long = sorted((path.rsplit("[", 1)[0], other_path.rsplit("[", 1)[0]), key=len)
    is_part = long.startswith(short) and not short.endswith("spec")
    return long == short or is_part or other_path.rpartition(".")[0] == path
