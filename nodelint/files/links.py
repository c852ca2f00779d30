"""Check links in a folder: none is followed out of its chart or repository."""

from __future__ import annotations

import os

from nodelint.files.gate import gate
from nodelint.files.safe_read import is_inside, repository
from nodelint.forms.registry import TABLE


def link_leaves(link: str, top: str) -> str | None:
    """Return `chart`, `repository` or `folder` (the requested one) if a link leads out of it. None otherwise."""
    folder = os.path.dirname(os.path.abspath(link))
    root = repository(folder) or os.path.abspath(top)
    chart, above = None, folder
    while True:
        if any(os.path.isfile(os.path.join(above, name)) for name in TABLE.package_heads):
            chart = above
        if above == root or above == os.path.dirname(above):
            break
        above = os.path.dirname(above)
    if is_inside(link, chart or root) and gate.holds(link):
        return None
    return "chart" if chart else "repository" if repository(folder) else "folder"
