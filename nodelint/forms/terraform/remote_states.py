"""Find the root modules of a repository whose outputs another root module reads from their state."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from nodelint.forms.terraform.input_places import ANY
from nodelint.forms.terraform.modules import ModuleFiles

STATES = ("terraform_remote_state", "tfe_outputs")
"""Data sources that read the outputs of another root module."""
_ADDRESS = re.compile(r'\b(?:key|path|prefix|name|workspace)\s*=\s*"([^"$]+)"')
"""Arguments of a backend that say which state it is."""
_BACKEND = re.compile(r'\b(?:backend\s+"|cloud\s*\{)')


def find_roots_of_state(modules: ModuleFiles, folder: str, data: str, output: Sequence[str]) -> list[str]:
    """Return the folders whose outputs the data source with the text `data` may read.

    These are the folders that state the address of its backend. If there is none, any folder may be meant.
    `output` has the name of the output, and is empty if all are read.
    """
    word = output[0] if output and output[0] != ANY else "output"
    texts: dict[str, list[str]] = {}
    for path in modules.near(folder):
        home, source = os.path.dirname(path), modules.source(path)
        if home != folder and source is not None:
            texts.setdefault(home, []).append(source.text)
    homes = [home for home, files in texts.items() if any("output" in text and word in text for text in files)]
    addresses = _ADDRESS.findall(data)
    paths = {os.path.normpath(os.path.join(folder, os.path.dirname(address))) for address in addresses}
    named = [home for home in homes if home in paths or any(_states(text, addresses) for text in texts[home])]
    return named or homes


def _states(text: str, addresses: Sequence[str]) -> bool:
    return _BACKEND.search(text) is not None and not set(_ADDRESS.findall(text)).isdisjoint(addresses)
