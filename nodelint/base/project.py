"""Where the project is at home, as the package and its reports name it."""

from __future__ import annotations

HOME: str | None = None
"""The address of the public repository, such as `https://github.com/<owner>/nodelint`, without a `/` at the end.

None until there is one: nobody may take a name that this package sends people to. RELEASE.md says when it is set. No
other file states the address; `tests/project/test_project_address.py` holds that."""


def page(path: str) -> str | None:
    """Return the address at which people read a file of the repository; None if the project has no address."""
    return None if HOME is None else f"{HOME}/blob/main/{path}"


def raw_file(path: str) -> str | None:
    """Return the address of a file's bytes, as GitHub serves them; None if the project has no address there."""
    if HOME is None or not HOME.startswith("https://github.com/"):
        return None
    return f"{HOME.replace('https://github.com', 'https://raw.githubusercontent.com', 1)}/main/{path}"
