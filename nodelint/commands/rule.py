"""`nodelint rule`: the rules, and the page of one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import click

from nodelint.base.types import TYPE_CHECKING
from nodelint.commands import config_options, output_format, session_of, settings_of
from nodelint.commands._console import echo, echo_json, say, stop
from nodelint.commands._help import GroupedCommand
from nodelint.commands._shell_completion import files, rule_names
from nodelint.commands._terminal import colour_option, look

if TYPE_CHECKING:
    from typing import Unpack

    from nodelint.commands._flags import RuleFlags
    from nodelint.rule.definition import Rule


@click.command(cls=GroupedCommand)
@click.argument("name", required=False, shell_complete=rule_names)
@config_options
@click.option(
    "--rules",
    multiple=True,
    metavar="FOLDER",
    shell_complete=files,
    help="A folder of your own rules. Rules are code: nodelint runs them.",
)
@click.option(
    "--repository-rules/--no-repository-rules",
    default=None,
    help="Run rules of the repository under test that its configuration or --rules names."
    " Default: those that --rules names.",
)
@click.option(
    "--subject",
    metavar="SUBJECT",
    help="List only rules about a subject: images, disks, spot, user data, ...; `nodelint rule` lists them.",
)
@output_format
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@colour_option
def command(name: str | None, subject: str | None, form: str, as_json: bool, **flags: Unpack[RuleFlags]) -> None:
    """List the rules by subject, your own rules and policies included, or print one rule's page.

    A word that is not the name of a rule lists the rules about it: `nodelint rule gpu`.

    \b
    Groups, and the profiles in which they run:
      correctness  refused, never ready, cannot launch, or silently dropped
                   (minimal, default, strict)
      hazard       works, but costs too much, causes an outage or is unsafe
                   (default, strict)
      practice     advice that a team decides on once (strict)
    """
    from nodelint.report.rule_text import list_lines, rule_data
    from nodelint.rule import definition as rule

    form = "json" if as_json else form

    rules = bundled = rule.load(rule.bundled())
    if name is None or name not in rules:
        rules = session_of(settings_of(flags)).rules
    if name is not None and name not in rules:
        name = name.lower() if name.lower() in rules else name
        today = rule.former_names(rules).get(name)
        if today is not None:
            say(f"the rule `{name}` has the new name `{today}`")
            name = today
    found, mentioned = ([], []) if name is None or name in rules else _rules_about(name, rules.values())
    found, mentioned = (found, mentioned) if found else (mentioned, [])
    if name is None or found:
        named = None if subject is None else _subject_named(subject)
        chosen = sorted(found or rules.values(), key=lambda rule: rule.name)
        if form == "json":
            echo_json([rule_data(chosen_rule) for chosen_rule in chosen if named in (None, chosen_rule.subject)])
            return
        echo("\n".join([*list_lines(chosen, look(page=True), named), *_say_mentioned(name, mentioned)]).rstrip())
        return
    if name == "preview":
        echo("No rule is a preview: all rules are stable.")
        return
    if name not in rules:
        from nodelint.config.rule_selection import no_rule

        stop(no_rule(name, rules))
    _print_page(rules[name], rules, name in bundled, form)


def _print_page(page: Rule, rules: Mapping[str, Rule], shipped: bool, form: str) -> None:
    """Print the page of a rule; `shipped`: the rule comes with nodelint."""
    from nodelint.report.page import header, page_with_fixes, sections
    from nodelint.report.rule_text import page_lines, rule_data
    from nodelint.report.style import fitted

    whole = "\n\n".join([page_with_fixes(page, rules), *sections(page, shipped)])
    if form == "json":
        echo_json(rule_data(page, whole))
        return
    style = look(page=True)
    head = fitted(header(page, rules), style)
    echo("\n".join([style.style(page.name, bold=True), *head, "", *page_lines(whole, style)]))


def _say_mentioned(word: str | None, rules: Sequence[Rule]) -> Iterator[str]:
    """Yield the line about rules that name a word in the text of their pages, but not in their row of the list."""
    if rules:
        from nodelint.report.style import wrap

        names = ", ".join(sorted(rule.name for rule in rules))
        yield from wrap(f"Pages of other rules that name `{word}`: {names}", look(page=True).width, "")


def _rules_about(word: str, rules: Iterable[Rule]) -> tuple[list[Rule], list[Rule]]:
    """Return the rules about a word or words, and the rules that name it only in the text of their pages.

    A rule is about a word if its row of the list has the word: name, subject, sentence, kind of fix, needs.
    """
    from nodelint.report.rule_text import remarks

    whole_word = re.compile(rf"\b{re.escape(word)}s?\b", re.IGNORECASE)
    about: list[Rule] = []
    mentioning: list[Rule] = []
    for rule in rules:
        listed = " ".join((rule.name, rule.subject, rule.summary, rule.group, rule.severity, remarks(rule)))
        if whole_word.search(listed):
            about.append(rule)
        elif whole_word.search(rule.page.partition("```")[0]):
            mentioning.append(rule)
    return about, mentioning


def _subject_named(subject: str) -> str:
    """Return the subject with this name, ignoring case; end the run if there is none."""
    from nodelint.model.messages import did_you_mean
    from nodelint.rule.classification import SUBJECTS

    known = {name.lower(): name for name in SUBJECTS}
    if subject.lower() not in known:
        stop(f"there is no subject `{subject}`{did_you_mean(subject, SUBJECTS)}; subjects are {', '.join(SUBJECTS)}")
    return known[subject.lower()]
