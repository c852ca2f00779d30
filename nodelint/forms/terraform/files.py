"""Which files a text of Terraform may fill in or read as manifests: told by words, before it is evaluated."""

from __future__ import annotations


def may_name(text: str, name: str) -> bool:
    """Whether a text of Terraform may fill in a file of a name, or one of a pattern."""
    return ("templat" in text and (name in text or "fileset" in text)) or "kubectl_path_documents" in text
