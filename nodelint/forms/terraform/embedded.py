"""Find manifests in HCL: objects, heredocs and strings, values of charts, and resources that create pods."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nodelint.forms.terraform.hcl import HclError, Text
from nodelint.forms.terraform.hclexpr import OF_KARPENTER, read_encoded
from nodelint.forms.terraform.hclstrings import unescape
from nodelint.text.embedded import read_quoted, read_text
from nodelint.text.embedded_regions import VALUES, EmbeddedYaml, Reading, groups_of
from nodelint.text.nodes import SourceText

_IN_STRINGS = ("karpenter.", "eks.amazonaws.com/")
"""Texts of which each string with a manifest contains one."""


def may_embed(source: SourceText) -> bool:
    """Return whether a text may contain values of pools, or (if read for workloads) resources that create pods."""
    return _gives_values(source.text) or _may_make_pods(source)


def _gives_values(text: str) -> bool:
    return "karpenter" in text and re.search(f"{VALUES}|{OF_KARPENTER}", text) is not None


def read_embedded(source: SourceText, start: int, end: int, lenient: bool = False) -> Iterator[Reading]:
    text = source.text
    words = Text(text, start, end, groups=groups_of(source))
    found: list[Reading] = []
    for heredoc in words.heredocs:
        found += read_text(source, EmbeddedYaml(heredoc.start, heredoc.end, "terraform", lenient=lenient))
    for token in words.tokens:
        if token.kind == "str" and any(text.find(mark, token.start, token.end) >= 0 for mark in _IN_STRINGS):
            found += read_quoted(source, token.start, token.end, unescape(text[token.start + 1 : token.end - 1]))
    for manifest in words.manifests():
        at = words.tokens[manifest.at].start
        region = EmbeddedYaml(at, at, "hcl")
        try:
            node = words.object(source, manifest)
        except HclError as odd:
            found.append(
                Reading(None, at, words.end_of(manifest.at), region, False, "", odd.message, odd.offset, True)
            )
            continue
        if node.get("spec") is None:
            continue  # a reference to an object, as in a v1beta1 nodeClassRef
        begin = _comments_above(text, at)
        found.append(Reading(node, begin, node.end, region, manifest.merged, ""))
    found += _workloads(source, words)
    for node in read_encoded(source, words):  # values of a chart, if they are no manifest
        if all(reading.end <= node.start or node.end <= reading.start for reading in found):
            found.append(Reading(node, node.start, node.end, EmbeddedYaml(node.start, node.start, "hcl"), False, ""))
    yield from sorted(found, key=lambda reading: reading.start)


def _may_make_pods(source: SourceText) -> bool:
    """Return whether a source is read for workloads and may contain resources that create pods."""
    return source.also is not None and "kubernetes_" in source.text


def _workloads(source: SourceText, words: Text) -> Iterator[Reading]:
    """Yield the resources that create pods without a manifest, if the source is read for workloads."""
    if not _may_make_pods(source):
        return
    from nodelint.forms.terraform.workloads import read_workloads

    for block in read_workloads(source, words):
        if isinstance(block, HclError):
            region = EmbeddedYaml(block.offset, block.offset, "hcl")
            yield Reading(None, block.offset, block.offset, region, False, "", block.message, block.offset)
        else:
            region = EmbeddedYaml(block.start, block.start, "hcl")
            yield Reading(block.node, block.start, block.end, region, False, "")


def _comments_above(text: str, at: int) -> int:
    """Return the start of the comment lines directly above an offset.

    Without comments, return the start of its line.
    """
    start = text.rfind("\n", 0, at) + 1
    while start > 0:
        above = text.rfind("\n", 0, start - 1) + 1
        if not text[above:start].lstrip().startswith(("#", "//")):
            break
        start = above
    return start
