"""Completions for an empty document: apiVersion, kind, and whole objects."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lsprotocol import types

from nodelint.karpenter.images import newest_known
from nodelint.lsp.buffers import Buffer
from nodelint.model.gvk import AWS_GROUP, CLASS_KIND, CORE_GROUP

_MARKER = re.compile(r"(?m)^---.*$")
_BEGUN = re.compile(r"(?m)^(apiVersion|kind):[ \t]*[\"']?([\w./-]*)$")
_VERSIONS = {"NodePool": f"{CORE_GROUP}/v1", CLASS_KIND: f"{AWS_GROUP}/v1"}

_POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef:
        group: karpenter.k8s.aws
        kind: EC2NodeClass
        name: default
      requirements:
        - key: karpenter.k8s.aws/instance-category
          operator: In
          values: ["c", "m", "r"]
        - key: kubernetes.io/arch
          operator: In
          values: ["amd64"]
        - key: karpenter.sh/capacity-type
          operator: In
          values: ["on-demand"]
  disruption:
    consolidationPolicy: WhenEmptyOrUnderutilized
    consolidateAfter: 5m
  limits:
    cpu: 100
"""

_CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: KarpenterNodeRole-CLUSTER
  amiSelectorTerms:
    - alias: {alias}
  subnetSelectorTerms:
    - tags:
        karpenter.sh/discovery: CLUSTER
  securityGroupSelectorTerms:
    - tags:
        karpenter.sh/discovery: CLUSTER
"""


def beginnings(buffer: Buffer, offset: int) -> Iterator[types.CompletionItem]:
    """Yield completions for the beginning of the document around an offset.

    Nothing in a text that is not plain YAML, and nothing after the beginning.
    """
    if not buffer.path.endswith((".yaml", ".yml")) and buffer.on_disk:
        return
    text = buffer.text
    above = [marker.end() for marker in _MARKER.finditer(text, 0, offset)]
    below = _MARKER.search(text, offset)
    start, end = above[-1] if above else 0, below.start() if below is not None else len(text)
    document = text[start:end]
    line = text.rfind("\n", 0, offset) + 1
    typed = text[line:offset]
    if re.fullmatch(r"\w*", document.strip()) and re.fullmatch(r"\w*", typed):
        yield from _objects(buffer, line, offset)
    elif (begun := _BEGUN.fullmatch(typed)) is not None:
        values = _VERSIONS.values() if begun[1] == "apiVersion" else _kinds(document)
        for value in values:
            yield _item(buffer, offset - len(begun[2]), offset, value, value, types.CompletionItemKind.Constant)
    elif re.fullmatch(r"\w+", typed) and not re.search(r"(?m)^(spec|metadata):", document):
        for key in ("apiVersion", "kind"):
            if not re.search(rf"(?m)^{key}:", document):
                yield _item(buffer, line, offset, key, f"{key}: ", types.CompletionItemKind.Field)


def _kinds(document: str) -> list[str]:
    """Return the kinds for the apiVersion of a document; both kinds if it has no apiVersion of Karpenter."""
    found = [kind for kind, version in _VERSIONS.items() if f"apiVersion: {version}" in document]
    return found or list(_VERSIONS)


def _objects(buffer: Buffer, start: int, end: int) -> Iterator[types.CompletionItem]:
    alias = f"al2023@{newest_known('al2023') or 'latest'}"
    snippet = types.CompletionItemKind.Snippet
    yield _item(buffer, start, end, "NodePool", _POOL, snippet, "a pool of on-demand nodes with a limit")
    yield _item(buffer, start, end, CLASS_KIND, _CLASS.format(alias=alias), snippet, "a class by discovery tags")
    for version in _VERSIONS.values():
        text = f"apiVersion: {version}"
        yield _item(buffer, start, end, text, f"{text}\n", types.CompletionItemKind.Constant)


def _item(
    buffer: Buffer, start: int, end: int, label: str, text: str, kind: types.CompletionItemKind, detail: str = ""
) -> types.CompletionItem:
    edit = types.TextEdit(buffer.lines.range(start, end), text.replace("\n", buffer.source.newline))
    return types.CompletionItem(label=label, kind=kind, detail=detail or None, filter_text=label, text_edit=edit)
