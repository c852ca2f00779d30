"""`nodelint check PATHS`, as hooks and pipelines call it: its arguments are taken without click.

Loading click takes longer than reading ten files that hold nothing. What is not plain here goes by way of click.
"""

from __future__ import annotations

import os

from nodelint.commands._output import FORMATS, Output

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from nodelint.commands._flags import CheckFlags


_SWITCHES = {
    "--fix": "fixing",
    "--unsafe-fixes": "unsafe_fixes",
    "--diff": "diff",
    "--quiet": "quiet",
    "--statistics": "statistics",
    "--verbose": "verbose",
    "-q": "quiet",
    "-v": "verbose",
}

_VALUES = {
    f"--{name.replace('_', '-')}": name
    for name in (
        *("aws_profile", "baseline", "config", "crds", "fail_on", "jobs", "output", "profile", "region", "snapshot"),
        *("karpenter_version", "kubernetes_version"),
    )
}
_LISTS = {f"--{name}": name for name in ("exclude", "ignore", "include", "rules", "select")}
_CHOICES = {
    "--fail-on": ("error", "warning", "never"),
    "--profile": ("minimal", "default", "strict"),
}

_DEFAULTS: dict[str, Any] = {
    **dict.fromkeys(("fixing", "unsafe_fixes", "diff", "quiet", "live", "require_facts", "fail_on_unjudged"), False),
    **dict.fromkeys(("statistics", "verbose"), False),
    "show": None,
    **dict.fromkeys(("outputs", "rules", "select", "ignore", "include", "exclude"), ()),
    **dict.fromkeys(("output", "profile", "crds", "fail_on", "baseline", "snapshot", "region", "aws_profile")),
    **dict.fromkeys(("kustomize", "helm", "respect_gitignore")),
    **dict.fromkeys(("max_age", "config", "jobs", "karpenter_version", "kubernetes_version")),
}


def plain(arguments: Sequence[str]) -> CheckFlags | None:
    """What click would make of the arguments of a program; None where click has to read them."""
    # On Windows, click expands the patterns of paths; with the variable, it completes a command line.
    if arguments[:1] != ["check"] or os.name == "nt" or "_NODELINT_COMPLETE" in os.environ:
        return None
    options = dict(_DEFAULTS)
    paths: list[str] = []
    left = list(reversed(arguments[1:]))
    while left:
        argument = left.pop()
        if argument == "--":
            paths += reversed(left)
            break
        if argument in _SWITCHES:
            options[_SWITCHES[argument]] = True
        elif argument == "-" or not argument.startswith("-"):
            paths.append(argument)
        elif not _takes(argument, left, options):
            return None
    return {"paths": tuple(paths), **options}  # type: ignore[return-value]


def _takes(argument: str, left: list[str], options: dict[str, Any]) -> bool:
    """Take an option with its value, which may be the next of the arguments left; False where click has to."""
    name, equals, value = argument.partition("=")
    if not equals:
        if not left or left[-1].startswith("-"):
            return False
        value = left.pop()
    if name in _CHOICES and value not in _CHOICES[name]:
        return False
    if name in _VALUES:
        options[_VALUES[name]] = value
    elif name in _LISTS:
        options[_LISTS[name]] += (value,)
    else:
        form, to_file, path = value.partition("=")
        if name != "--format" or form not in FORMATS or (to_file and not path):
            return False
        options["outputs"] = [*options["outputs"], Output(form, path or None)]
    return True
