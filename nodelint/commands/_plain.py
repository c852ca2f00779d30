"""`nodelint check PATHS`, as hooks call it: its arguments are taken without click.

Loading click takes longer than reading ten files that hold nothing. What is not plain here goes by way of click.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


_SWITCHES = {
    "--fix": "fixing",
    "--unsafe-fixes": "unsafe_fixes",
    "--diff": "diff",
    "--quiet": "quiet",
    "-q": "quiet",
}

_DEFAULTS: dict[str, Any] = {
    **dict.fromkeys(("fixing", "unsafe_fixes", "diff", "quiet", "live", "require_facts"), False),
    **dict.fromkeys(("outputs", "rules", "select", "ignore", "include", "exclude"), ()),
    **dict.fromkeys(("output", "profile", "crds", "fail_on", "baseline", "snapshot", "region", "aws_profile")),
    **dict.fromkeys(("kustomize", "helm", "respect_gitignore")),
    **dict.fromkeys(("max_age", "config", "jobs", "karpenter_version", "kubernetes_version")),
}


def plain(arguments: Sequence[str]) -> dict[str, Any] | None:
    """What click would make of the arguments of a program; None where click has to read them."""
    # On Windows, click expands the patterns of paths; with the variable, it completes a command line.
    if arguments[:1] != ["check"] or os.name == "nt" or "_NODELINT_COMPLETE" in os.environ:
        return None
    told = dict(_DEFAULTS)
    paths: list[str] = []
    for at, argument in enumerate(arguments[1:], start=2):
        if argument == "--":
            paths += arguments[at:]
            break
        if argument in _SWITCHES:
            told[_SWITCHES[argument]] = True
        elif argument.startswith("-") and argument != "-":
            return None
        else:
            paths.append(argument)
    return {"paths": tuple(paths), **told}
