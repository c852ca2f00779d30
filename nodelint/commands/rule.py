"""`nodelint rule`: the rules, and the page of one."""

from __future__ import annotations

from typing import Any

import click

from nodelint.commands import echo, say, session_of, settings_of, stop
from nodelint.commands._completing import files, rule_names


@click.command()
@click.argument("name", required=False, shell_complete=rule_names)
@click.option(
    "--config",
    metavar="FILE",
    shell_complete=files,
    help="Default: the nearest nodelint.yaml or pyproject.toml.",
)
@click.option(
    "--rules",
    multiple=True,
    metavar="FOLDER",
    shell_complete=files,
    help="A folder of rules of your own. Rules are code: they run.",
)
def command(name: str | None, **flags: Any) -> None:
    """List the rules by group, with your own and policies, or print one rule's page.

    \b
    Groups, and the profiles in which they run:
      correctness  minimal, default, strict  refused, never ready, cannot launch, or silently dropped
      hazard       default, strict           works, and will hurt: cost, outage, security, surprise
      practice     strict                    what a careful team decides once
    """
    from nodelint.lint import rule
    from nodelint.report.page import header

    rules = rule.load(rule.bundled())
    if name is None or name not in rules:
        rules = session_of(settings_of(flags)).rules
    if name is not None and name not in rules:
        today = rule.former_names(rules).get(name)
        if today is not None:
            say(f"the rule `{name}` is named `{today}` today")
            name = today
    if name is None:
        width = max(map(len, rules))
        for group in rule.GROUPS:
            off = "" if group in rule.PROFILES["default"] else " (off by default; --profile strict turns it on)"
            echo(f"{click.style(group, bold=True)}{off}")
            for each in (each for each in rules.values() if each.group == group):
                fix = f"{each.fix} fix" if each.fix else ""
                needs = " (needs facts from AWS)" if each.needs else ""
                echo(f"  {each.name:<{width}}  {each.severity:<7}  {fix:<10}  {each.summary}{needs}")
        return
    if name not in rules:
        from nodelint.lint.config import no_rule

        stop(no_rule(name, rules))
    page = rules[name]
    echo(f"{click.style(page.name, bold=True)}\n{header(page)}\n\n{page.page.strip()}")
