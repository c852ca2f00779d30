"""State the address of the project, for the package and its reports."""

from __future__ import annotations

HOME: str | None = None
"""The address of the public repository, such as `https://github.com/<owner>/nodelint`, without a final `/`.

None until it exists: nobody may take a name to which this package sends people. RELEASE.md says when it is set. No
other file states the address (`tests/project/test_project_address.py`).
"""


def page(path: str) -> str | None:
    """Return the web address of a file of the repository. None if the project has no address."""
    return None if HOME is None else f"{HOME}/blob/main/{path}"


def raw_file(path: str) -> str | None:
    """Return the address of the raw content of a file on GitHub. None if the project has no address on GitHub."""
    if HOME is None or not HOME.startswith("https://github.com/"):
        return None
    return f"{HOME.replace('https://github.com', 'https://raw.githubusercontent.com', 1)}/main/{path}"
