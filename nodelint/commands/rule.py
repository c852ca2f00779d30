"""`nodelint rule`: the rules, and the page of one."""

from __future__ import annotations

import click

from nodelint.commands import echo, stop
from nodelint.commands._completing import rule_names


@click.command()
@click.argument("name", required=False, shell_complete=rule_names)
def command(name: str | None) -> None:
    """List the rules, or print one rule's page."""
    from nodelint.lint import rule
    from nodelint.report.page import header

    rules = rule.load(rule.bundled())
    if name is None:
        width = max(map(len, rules))
        for each in rules.values():
            fix = f"{each.fix} fix" if each.fix else ""
            on = "" if each.default else " (off by default)"
            on += " (needs facts from AWS)" if each.needs else ""
            echo(f"{each.name:<{width}}  {each.severity:<7}  {fix:<10}  {each.summary}{on}")
        return
    if name not in rules:
        from nodelint.lint.config import no_rule

        stop(no_rule(name, rules))
    page = rules[name]
    echo(f"{click.style(page.name, bold=True)}\n{header(page)}\n\n{page.page.strip()}")
