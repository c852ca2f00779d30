"""The pre-commit hook that `nodelint init` writes.

It installs nodelint from the repository of this installation, or runs the `nodelint` on the PATH.
"""

from __future__ import annotations

import json
import os
import re
from importlib.metadata import distributions
from urllib.parse import urlsplit, urlunsplit

from nodelint import __version__
from nodelint.base import project
from nodelint.base.types import TYPE_CHECKING
from nodelint.edits.formatting import scalar
from nodelint.files.file_kinds import GENERATOR_INPUTS, TEMPLATES, YAML_ENDINGS
from nodelint.forms.registry import TABLE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nodelint.edits.formatting import Plain

_ADDRESS = r"(?:https|ssh)://[\w.@:-]+/[\w./~+-]+"
_COMMIT = r"[0-9a-f]{40}(?:[0-9a-f]{24})?"


def files_pattern() -> str:
    """Return the regular expression for the paths that pre-commit passes to the hook.

    These are all files that a check of a folder reads for objects or for their values. Scripts and Markdown are
    missing: whoever wants them adds them.
    """
    kinds = "|".join(ending[1:] for ending in YAML_ENDINGS)
    after = dict.fromkeys(ending.rpartition(".")[2] for ending in TEMPLATES if ending.count(".") > 1)
    single = (*TABLE.module_files, *TABLE.glanced, *TABLE.templates, *TEMPLATES, *GENERATOR_INPUTS)
    others = dict.fromkeys(ending[1:] for ending in single if ending.startswith(".") and ending.count(".") == 1)
    names = [name for name in TABLE.names if not name.endswith(YAML_ENDINGS)]
    return rf"(\.({kinds})(\.({'|'.join(after)}))?|\.({'|'.join(others)})|(^|/)({'|'.join(names)}|\.env\.[\w-]+))$"


LOCAL: Mapping[str, Plain] = {
    "repo": "local",
    "hooks": [
        {
            "id": "nodelint",
            "name": "nodelint",
            "entry": "nodelint check --timeout 5m --no-repository-rules --",
            "language": "system",
            "types": ["text"],
            "files": files_pattern(),
            "require_serial": True,
        }
    ],
}
"""A pre-commit hook that runs the installed nodelint, for the same files as the hook of `.pre-commit-hooks.yaml`."""


def hook() -> Mapping[str, Plain]:
    """Return an item of `repos` for `.pre-commit-config.yaml`.

    For an installation from git it names that repository and commit. For a package from an index it names the
    project's address and version, if there is an address. Otherwise (a checkout, an archive) it is `LOCAL`.
    """
    folder = os.path.dirname(os.path.dirname(os.path.abspath(project.__file__)))
    texts = [
        distribution.read_text("direct_url.json") for distribution in distributions(name="nodelint", path=[folder])
    ]
    if not texts:
        return LOCAL  # an editable installation, or no installation at all
    if texts[0] is not None:
        place = installed_from(texts[0])
    else:
        place = None if project.HOME is None else (project.HOME, f"v{__version__}")
    if place is None:
        return LOCAL
    return {"repo": place[0], "rev": place[1], "hooks": [{"id": "nodelint"}]}


def installed_from(direct_url: str) -> tuple[str, str] | None:
    """Return the git address and commit in a `direct_url.json` (PEP 610); None if others cannot clone the address.

    A user name and password are removed, except the user name of ssh.
    """
    try:
        origin = json.loads(direct_url)
        vcs, address = origin.get("vcs_info") or {}, origin["url"]
        parts = urlsplit(address)
        if vcs.get("vcs") != "git" or origin.get("subdirectory") or parts.query or parts.fragment:
            return None
        commit = vcs["commit_id"]
        if parts.scheme != "ssh":
            address = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    if not re.fullmatch(_ADDRESS, address) or not re.fullmatch(_COMMIT, str(commit)):
        return None
    return address, commit


def hook_lines(item: Mapping[str, Plain]) -> list[str]:
    """Return an item of `repos` as lines of YAML, its hooks in block style."""
    lines = []
    for key, value in item.items():
        if key != "hooks":
            lines.append(f"  {key}: {_render_plain(value)}")
            continue
        lines.append("  hooks:")
        for hook in value:  # type: ignore[union-attr]
            fields = [f"      {name}: {_render_plain(field)}" for name, field in hook.items()]  # type: ignore[union-attr]
            lines += [f"    - {fields[0].lstrip()}", *fields[1:]]
    return [f"- {lines[0].lstrip()}", *lines[1:]]


def _render_plain(value: Plain) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_render_plain, value))}]"
    return scalar(value, "plain", flow=False, fallback="single")  # type: ignore[arg-type]
