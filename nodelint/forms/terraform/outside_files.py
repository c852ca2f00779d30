"""Find manifests that Terraform reads from files outside of the repository: they are not judged."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from nodelint.files.gate import gate
from nodelint.forms.terraform.json_syntax import read_file
from nodelint.text import Source

_MANIFESTS = ("kubectl_manifest", "kubernetes_manifest", "kubectl_path_documents", "kubectl_file_documents")
_HOME = r"(?:\$\{path\.(?:module|root|cwd)\}/)?"
_READS = re.compile(
    rf"\b(?:file\w*|templatefile)\(\s*\"{_HOME}([^\"$]+)\"|\bpattern\s*=\s*\"{_HOME}([^\"$*?{{\[]+)/[^\"/]*[*?{{\[]"
)


def note_outside_files(sources: Sequence[Source]) -> None:
    """Record a gap for each file outside of the repository that a block with a manifest reads."""
    for source in sources:
        if not source.path.endswith((".tf", ".tofu")) or not any(kind in source.text for kind in _MANIFESTS):
            continue
        folder = os.path.dirname(os.path.abspath(source.path))
        for block in read_file(source).blocks:
            if block.names[:1] and block.names[0] in _MANIFESTS:
                for found in _READS.finditer(source.text, block.start, block.end):
                    named = found[1] or found[2]
                    gate.notes_refusal(os.path.join(folder, named), named, source, found.start())
