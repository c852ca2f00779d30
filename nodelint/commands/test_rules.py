"""`nodelint test-rules`: test a team's own rules and policies with the tests of nodelint's rules."""

from __future__ import annotations

import sys

import click

from nodelint.base.types import TYPE_CHECKING
from nodelint.commands import session_of, settings_of
from nodelint.commands._console import CLEAN, FOUND, echo, stop
from nodelint.commands._help import GroupedCommand
from nodelint.commands._shell_completion import files
from nodelint.model.messages import counted
from nodelint.report.all_clear import say_all_clear

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nodelint.laws.rule_laws import BrokenLaw
    from nodelint.rule.definition import Rule

_EXIT = """
\b
Exit codes:
  0  every rule passes
  1  a rule fails a test
  2  wrong usage, a folder or rule that cannot be loaded, or nothing to try
  3  an error in nodelint itself
"""


@click.command(cls=GroupedCommand, epilog=_EXIT)
@click.argument("folders", nargs=-1, metavar="[FOLDER]...", shell_complete=files)
@click.option(
    "--config",
    metavar="FILE",
    shell_complete=files,
    help="The configuration. Default: the nearest nodelint.yaml or pyproject.toml.",
)
def command(folders: Sequence[str], config: str | None) -> None:
    """Test your own rules, and policies of the configuration, with their examples.

    Each FOLDER holds rules in Python. They are code: nodelint runs them. The tests are those that nodelint's
    own rules pass. Examples: a rule finds something in each bad example and nothing in the good one; its fix
    turns the bad example into the good one in every layout of the file; its messages are short. A policy is
    tested if it has `bad` and `good`.

    \b
    Examples:
      nodelint test-rules team-rules
      nodelint test-rules --config nodelint.yaml
    """
    settings = settings_of({"rules": folders, "config": config})
    session = session_of(settings)
    from nodelint.laws.rule_laws import Trial, cases
    from nodelint.rule.definition import load_bundled

    policies = {policy.name for policy, _ in settings.policies}
    rules = [rule for name, rule in session.rules.items() if name in policies or name not in load_bundled()]
    tried = [rule for rule in rules if rule.name not in policies or cases(rule)]
    for rule in rules:
        if rule not in tried:
            echo(f"{rule.name}: not tried: the policy has no `bad` and `good`")
    if not tried:
        stop("nothing to try: name a folder of rules, or give policies of the configuration `bad` and `good`")
    trial = Trial(session.rules, own={rule.name for rule in rules})
    broken = [difference for rule in tried for difference in trial.broken_laws(rule)]
    for difference in broken:
        echo(_broken_text(difference))
    echo(_verdict(tried, sum(len(cases(rule)) for rule in tried), broken))
    sys.exit(FOUND if broken else CLEAN)


def _broken_text(broken: BrokenLaw) -> str:
    """Return a failed test: the rule and its example, the contract, and the difference below."""
    place = "page" if broken.example is None else f"example {broken.example}"
    lines = [f"  {line}".rstrip() for line in broken.difference.splitlines()]
    return "\n".join([f"{broken.rule}: {place}: {broken.law}", *lines, ""])


def _verdict(tried: Sequence[Rule], pairs: int, broken: Sequence[BrokenLaw]) -> str:
    """Return the last line: the number of rules and pairs of examples, and how many rules fail."""
    extent = f"{counted(len(tried), 'rule')}, {pairs:,} {'pair' if pairs == 1 else 'pairs'} of examples"
    breaking = len({difference.rule for difference in broken})
    return f"{breaking} of {extent}: tests fail." if breaking else f"{say_all_clear('check', ())}: {extent}."
