"""`nodelint rule`: the rules, and the page of one."""

from __future__ import annotations

from typing import Any

import click

from nodelint.commands import echo, say, session_of, settings_of, stop
from nodelint.commands._shell_completion import files, rule_names

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nodelint.lint.rule import Rule


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
@click.option(
    "--subject",
    metavar="SUBJECT",
    help="List only rules about this: images, disks, spot, user data, ...; `nodelint rule` names all subjects.",
)
def command(name: str | None, subject: str | None, **flags: Any) -> None:
    """List the rules by subject, with your own and policies, or print one rule's page.

    \b
    Groups, and the profiles in which they run:
      correctness  minimal, default, strict  refused, never ready, cannot launch, or silently dropped
      hazard       default, strict           works, and will hurt: cost, outage, security, surprise
      practice     strict                    what a careful team decides once
    """
    from nodelint.lint import rule
    from nodelint.report.page import former_list, header, options_table, page_with_fixes, sources_list

    rules = rule.load(rule.bundled())
    if name is None or name not in rules:
        rules = session_of(settings_of(flags)).rules
    if name is not None and name not in rules:
        today = rule.former_names(rules).get(name)
        if today is not None:
            say(f"the rule `{name}` is named `{today}` today")
            name = today
    if name is None:
        _list_rules(rules.values(), subject)
        return
    if name not in rules:
        from nodelint.lint.config import no_rule

        stop(no_rule(name, rules))
    page = rules[name]
    more = "".join(f"\n\n{part}" for part in (options_table(page), sources_list(page), former_list(page)) if part)
    echo(f"{click.style(page.name, bold=True)}\n{header(page)}\n\n{page_with_fixes(page, rules)}{more}")


def _list_rules(rules: Iterable[Rule], subject: str | None) -> None:
    """Print a line for each rule, by subject; those of one subject alone where it is named."""
    from nodelint.lint.rule import SUBJECTS
    from nodelint.model.messages import did_you_mean

    known = {name.lower(): name for name in SUBJECTS}
    if subject is not None and subject.lower() not in known:
        stop(f"there is no subject `{subject}`{did_you_mean(subject, SUBJECTS)}; subjects are {', '.join(SUBJECTS)}")
    chosen = sorted(rules, key=lambda rule: rule.name)
    width = max(len(rule.name) for rule in chosen)
    subjects = [known[subject.lower()]] if subject is not None else [*SUBJECTS, ""]
    for title in subjects:
        of_subject = [rule for rule in chosen if rule.subject == title]
        if not of_subject:
            continue
        echo(f"{click.style(title or 'more', bold=True)}: {SUBJECTS.get(title, 'Rules of your own, and policies.')}")
        for rule in of_subject:
            fix = f"{rule.fix} fix" if rule.fix else ""
            needs = " (needs facts from AWS)" if rule.needs else ""
            echo(f"  {rule.name:<{width}}  {rule.group:<11}  {rule.severity:<7}  {fix:<10}  {rule.summary}{needs}")
