"""Find chart templates that mention Karpenter but only create objects of other kinds, to skip their rendering."""

from __future__ import annotations

import re
from functools import lru_cache

from nodelint.text import Source

_HOLDS_OURS = re.compile(
    r"karpenter\.(?:sh|k8s\.aws)/v[0-9]|NodePool|NodeClass|NodeOverlay|Provisioner|AWSNodeTemplate|\bkarpenter(?!\.)"
)
_UNSAID = re.compile(r"(?m)\{\{-?\s*+/\*(?:[^*{]|\*(?!/)|\{(?!\{))*+\*/\s*+-?\}\}|^[ \t]*+#[^\n]*+")
_CONTROL = re.compile(r"\{\{-?\s*+(?:if|else|end|with|range|define|block|break|continue|\$\w*+\s*+:?=)[^{}]*+\}\}")
_KIND = re.compile(r"^kind:[ \t]*[\"']?([A-Za-z]+)[\"']?[ \t\r]*$")
_FIELD = re.compile(r"[A-Za-z][\w-]*:(?:[ \t\r]|$)")
_PRINTS_LINES = re.compile(r"\b(?:include|template|tpl|toYaml|toJson|toPrettyJson)\b|\.Files\b|\bnindent\s+0\b")
_INDENTED = re.compile(r"\bn?indent\s+[1-9]")
_ACTION = re.compile(r"\{\{(?:[^{}]|\}(?!\})|\{(?!\{))*+\}\}")

_PLAIN = frozenset(
    (
        "ClusterRole", "ClusterRoleBinding", "HorizontalPodAutoscaler", "Ingress", "LimitRange",
        "Namespace", "NetworkPolicy", "PersistentVolume", "PersistentVolumeClaim", "PodDisruptionBudget",
        "PodMonitor", "PriorityClass", "ResourceQuota", "Role", "RoleBinding",
        "ScaledObject", "Service", "ServiceAccount", "ServiceMonitor", "StorageClass",
    )
)  # fmt: skip
"""Kinds that cannot contain another object."""
_PODS = frozenset(
    ("CronJob", "DaemonSet", "Deployment", "Job", "Pod", "ReplicaSet", "ReplicationController", "StatefulSet")
)
_WITH_TEXTS = frozenset(("ConfigMap", "Secret"))
"""Kinds that may contain a manifest as a text."""


def makes_other_kinds(template: Source) -> bool:
    """Return whether a template certainly creates only objects of other kinds, whatever its values are.

    Each document must name its kind, and no printed value may begin a line. In doubt, return False.
    """
    return _makes_other_kinds(template.text, template.also)


@lru_cache(maxsize=1 << 14)  # cached for both sides of a plan
def _makes_other_kinds(whole: str, also: str | None) -> bool:
    text = _UNSAID.sub("", whole)
    if "{{" not in text or _HOLDS_OURS.search(text) is not None:
        return False
    if also is not None and re.search(also, text) is not None:
        return False
    left = _CONTROL.sub("", text)
    kinds = _list_kinds(left)
    if not kinds or not kinds <= _PLAIN | _PODS | _WITH_TEXTS:
        return False
    if kinds & _WITH_TEXTS and _may_hold_texts(text):
        return False
    return not any(_may_begin_line(left, action) for action in _ACTION.finditer(left))


def _list_kinds(text: str) -> set[str]:
    """Return the kinds of all documents of a text. Empty if one lacks its kind, or has an unexpected line."""
    found: set[str] = set()
    for document in re.split(r"(?m)^---[^\n]*$", text):
        lines = [line for line in document.splitlines() if line.strip() and not line[0].isspace()]
        kinds = [match[1] for line in lines if (match := _KIND.match(line)) is not None]
        if not document.strip():
            continue
        if not kinds or not all(_FIELD.match(line) for line in lines):
            return set()
        found.update(kinds)
    return found


def _may_hold_texts(text: str) -> bool:
    data = re.search(r"(?m)^(?:data|stringData|binaryData):", text)
    rest = text[data.start() :] if data is not None else ""
    return _PRINTS_LINES.search(rest) is not None or "range" in rest or _INDENTED.search(rest) is not None


def _may_begin_line(text: str, action: re.Match[str]) -> bool:
    """Return whether an action may print a line that is not indented."""
    code = action[0]
    if _PRINTS_LINES.search(code) is None or _INDENTED.search(code) is not None:
        return False
    line = text[text.rfind("\n", 0, action.start()) + 1 : action.start()]
    return code.startswith("{{-") or not line.strip()
