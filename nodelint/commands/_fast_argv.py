"""Parse the arguments of `nodelint check`, `plan` and `fit` without click.

Loading click takes longer than reading ten files without objects. Arguments that this module cannot parse are left to
click.
"""

from __future__ import annotations

import os

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.commands._output import FIT_FORMATS, FORMATS, PLAN_FORMATS, Output

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any


class Syntax(NamedTuple):
    """The options of a command: option names with the names of their parameters.

    `lists` may be given several times. `defaults` are the parameters of a run without options.
    """

    switches: Mapping[str, str]
    values: Mapping[str, str]
    lists: Mapping[str, str]
    choices: Mapping[str, Sequence[str]]
    formats: Sequence[str]
    defaults: Mapping[str, Any]


_PROFILES = ("minimal", "default", "strict")
_FACTS = {
    "--config": "config",
    "--region": "region",
    "--snapshot": "snapshot",
    "--karpenter-version": "karpenter_version",
    "--kubernetes-version": "kubernetes_version",
}
_JUDGING = {"--crds": "crds", "--jobs": "jobs", "--output": "output", "--profile": "profile"}
_PATHS = {"--exclude": "exclude", "--include": "include", "--values": "values", "-f": "values"}
_RULES = {"--extend-select": "extend_select", "--ignore": "ignore", "--rules": "rules", "--select": "select"}
_ISOLATED = {"--isolated": "isolated"}
_UNSAID = ("respect_gitignore", "preview", "repository_rules")

_CHECK_SWITCHES = {
    **_ISOLATED,
    "--fix": "fixing",
    "--unsafe-fixes": "unsafe_fixes",
    "--diff": "diff",
    "--quiet": "quiet",
    "--show-fixes": "show_fixes",
    "--statistics": "statistics",
    "--verbose": "verbose",
    "-q": "quiet",
    "-v": "verbose",
}
_CHECK_VALUES = {
    **_FACTS,
    **_JUDGING,
    "--aws-profile": "aws_profile",
    "--baseline": "baseline",
    "--fail-on": "fail_on",
    "--stdin-filename": "stdin_filename",
}
_PLAN_VALUES = {**_FACTS, **_JUDGING, "--against": "against", "--live": "live", "--old": "old", "--fail-on": "gate"}
_FIT_VALUES = {**_FACTS, "--aws-profile": "aws_profile", "--workload": "workload", "--output": "output"}


def _find_syntax(command: str) -> Syntax | None:
    """Return the options of `check`, `plan` or `fit`. None for any other command: click parses its arguments."""
    if command == "check":
        return Syntax(
            _CHECK_SWITCHES,
            _CHECK_VALUES,
            {**_PATHS, **_RULES, "--apply": "chosen"},
            {"--fail-on": ("error", "warning", "never"), "--profile": _PROFILES},
            FORMATS,
            {
                **dict.fromkeys(
                    (*_CHECK_SWITCHES.values(), "live", "require_facts", "fail_on_unjudged", "watch"), False
                ),
                **dict.fromkeys((*_CHECK_VALUES.values(), *_UNSAID, "max_age", "show")),
            },
        )
    if command == "plan":
        return Syntax(
            _ISOLATED,
            _PLAN_VALUES,
            {**_PATHS, **_RULES},
            {"--fail-on": ("drift", "launch", "error", "never"), "--profile": _PROFILES},
            PLAN_FORMATS,
            {**dict.fromkeys((*_PLAN_VALUES.values(), *_UNSAID)), "gate": "drift", "isolated": False},
        )
    if command == "fit":
        defaults = dict.fromkeys((*_FIT_VALUES.values(), "respect_gitignore", "max_age"))
        return Syntax(
            {**_ISOLATED, "--cost": "cost"},
            _FIT_VALUES,
            _PATHS,
            {},
            FIT_FORMATS,
            {**defaults, "live": False, "isolated": False, "cost": False},
        )
    return None


def plain(arguments: Sequence[str]) -> dict[str, Any] | None:
    """Return the parameters that click would return; None if click has to parse the arguments."""
    syntax = _find_syntax(arguments[0]) if arguments else None
    # On Windows, click expands the patterns of paths; with the variable, it completes a command line.
    if syntax is None or os.name == "nt" or "_NODELINT_COMPLETE" in os.environ:
        return None
    options = {**syntax.defaults, **dict.fromkeys(syntax.lists.values(), ())}
    if syntax.formats:
        options["outputs"] = ()
    paths: list[str] = []
    left = list(reversed(arguments[1:]))
    while left:
        argument = left.pop()
        if argument == "--":
            paths += reversed(left)
            break
        if argument in syntax.switches:
            options[syntax.switches[argument]] = True
        elif argument == "-" or not argument.startswith("-"):
            paths.append(argument)
        elif not _takes(argument, left, options, syntax):
            return None
    return {"paths": tuple(paths), **options}


def _takes(argument: str, left: list[str], options: dict[str, Any], syntax: Syntax) -> bool:
    """Add an option with its value, which may be the next argument, and return True; False if click has to
    parse it.
    """
    name, equals, value = argument.partition("=")
    if not equals:
        if not left or left[-1].startswith("-"):
            return False
        value = left.pop()
    if name in syntax.choices and value not in syntax.choices[name]:
        return False
    if name in syntax.values:
        options[syntax.values[name]] = value
    elif name in syntax.lists:
        options[syntax.lists[name]] += (value,)
    else:
        form, to_file, path = value.partition("=")
        if name != "--format" or form not in syntax.formats or (to_file and not path):
            return False
        options["outputs"] = [*options["outputs"], Output(form, path or None)]
    return True
