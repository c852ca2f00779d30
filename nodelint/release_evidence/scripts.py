"""Evidence in lines of any text: scripts, Makefiles, workflows, environment files."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nodelint.release_evidence.evidence import DEFAULT, STATED, Evidence, stated

_RELEASE = r"v?(\d+\.\d+(?:\.\d+)?)(?![\w.*])"
_VARIABLE = (
    r"\b(?:KARPENTER_(?:CHART_|HELM_|HELM_CHART_)?VERSION|karpenter_(?:chart_|helm_|helm_chart_)?version"
    rf"|karpenter(?:Chart)?Version)[\"']?\s*(?:\?=|::?=|:-|=|:)\s*[\"']?{_RELEASE}"
)
_DEFAULTED = rf"\$\{{(?:KARPENTER|karpenter):-{_RELEASE}"
_HELM = (
    r"helm[ \t]+(?:upgrade|install|template|pull)\b(?=[^\n;&|]{0,1000}\bkarpenter\b)"
    r"(?![^\n;&|]{0,1000}\bkarpenter-crd\b)"
    rf"[^\n;&|]{{0,1000}}--version[ =][\"']?{_RELEASE}"
)
_IMAGE = rf"\bkarpenter/controller:{_RELEASE}"
_BUILD = rf"\bimage[\"']?\s*[:=]\s*[\"']?(?:[\w.:@-]{{1,100}}/){{1,8}}karpenter:{_RELEASE}"
_KUBERNETES = (
    r"\b(?:(?:K8S|KUBERNETES|EKS|EKS_CLUSTER|CLUSTER)_VERSION|[Kk]8[Ss]_?[Vv]ersion)[\"']?"
    r"\s*(?:\?=|::?=|:-|=|:)\s*[\"']?v?(1\.\d\d)(?![\w.])"
)
_CONTINUED = r"\\\r?\n"


def evidence(path: str, text: str) -> Iterator[Evidence]:
    """What the lines of a text state; comments are passed over."""
    joined = re.sub(_CONTINUED, lambda broken: " " * len(broken[0]), text) if "helm" in text else text
    for pattern, where, by, weight in (
        (_VARIABLE, text, "a variable", DEFAULT),
        (_DEFAULTED, text, "a variable", DEFAULT),
        (_HELM, joined, "a helm command", DEFAULT),
        (_IMAGE, text, "the controller's image", STATED),
        (_BUILD, text, "an image of the controller", DEFAULT),
    ):
        for match in re.finditer(pattern, where):
            if found := _make_evidence("karpenter", path, text, match, by, weight):
                yield found
    # Of other clusters, and of tools, there are versions too: only beside what is about Karpenter is it plain which.
    if "karpenter" in text or "KARPENTER" in text or "eksctl" in text:
        for match in re.finditer(_KUBERNETES, text):
            if found := _make_evidence("kubernetes", path, text, match, "a variable", DEFAULT):
                yield found


def _make_evidence(about: str, path: str, text: str, match: re.Match[str], by: str, weight: int) -> Evidence | None:
    begins = text.rfind("\n", 0, match.start()) + 1
    before = text[begins : match.start()]
    if "#" in before or before.lstrip().startswith("//"):
        return None
    line = text.count("\n", 0, match.start(1)) + 1
    return stated("karpenter" if about == "karpenter" else "kubernetes", match[1], path, line, by, weight)
