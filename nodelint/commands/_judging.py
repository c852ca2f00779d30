"""What the commands that judge manifests begin with: read them, with what they refer to and what is known of AWS."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from nodelint.commands import context_of, exclude, include, stop, target_of, why
from nodelint.commands._completing import files, rule_names
from nodelint.tuples import NamedTuple

if TYPE_CHECKING:
    from nodelint.commands._facts import Asked
    from nodelint.ec2.facts import Facts
    from nodelint.lint.baseline import Entry
    from nodelint.lint.config import Settings
    from nodelint.lint.engine import Judge, Selection, Target
    from nodelint.lint.rule import Rule
    from nodelint.lint.targets import Choose
    from nodelint.render import Rendering
    from nodelint.source import Source
    from nodelint.source.discover import Discovery


_F = TypeVar("_F", bound=Callable[..., Any])


def judging_options(command: _F) -> _F:
    """The options that say what is judged, by which rules, and as what."""
    for option in (
        click.option(
            "--helm",
            is_flag=True,
            help="Judge charts as helm renders them with each of their values files. Nothing is fetched.",
        ),
        click.option(
            "--kustomize",
            is_flag=True,
            help="Judge overlays as kustomize, or kubectl, builds them. Nothing is fetched.",
        ),
        click.option(
            "--crds",
            metavar="PATH",
            shell_complete=files,
            help="CRDs of your own cluster (file or folder), for the bundled schemas.",
        ),
        exclude,
        include,
        click.option(
            "--ignore",
            multiple=True,
            metavar="RULE,...",
            shell_complete=rule_names,
            help="All but these rules or groups.",
        ),
        click.option(
            "--select",
            multiple=True,
            metavar="RULE,...",
            shell_complete=rule_names,
            help="Only these rules, or groups of rules; `all` for every one.",
        ),
        click.option(
            "--profile",
            type=click.Choice(["minimal", "default", "strict"]),
            help="The groups of rules that run: minimal is correctness, default adds hazard, strict adds practice.",
        ),
    ):
        command = option(command)
    return command


class Judging(NamedTuple):
    """All that is needed to judge: `beside` are sources read for context, `file` is where `facts` are from."""

    target: Target
    rules: dict[str, Rule]
    selection: Selection
    beside: list[Source]
    facts: Facts
    file: str | None

    @property
    def how(self) -> tuple[Target, dict[str, Rule], Selection, list[Source]]:
        """What `engine.lint` and `engine.fix` take behind the sources."""
        return self.target, self.rules, self.selection, self.beside

    @property
    def reported(self) -> list[str]:
        """The rules whose findings are told."""
        return [name for name, rule in self.rules.items() if self.selection.has(rule)]


def judging(found: Discovery, asked: Asked, settings: Settings, paths: Sequence[str]) -> Judging:
    """Get ready to judge; ends the run where rules, CRDs or a snapshot that it names cannot be used."""
    from nodelint.commands._facts import facts_for
    from nodelint.lint import config, rule
    from nodelint.model.manifest import EC2NodeClass, objects

    rules = rule.load(rule.bundled())
    try:
        selection = config.selection(settings, rules)
    except config.ConfigError as error:
        stop(str(error))
    target = target_of(settings)
    held = [obj for source in found.sources for obj in objects(source)]
    beside = context_of(held, found.sources, settings)
    classes = [o for s in (*found.sources, *beside) for o in objects(s) if isinstance(o, EC2NodeClass)]
    facts, file = facts_for(asked, settings, paths, classes)
    target = target._replace(facts=facts, choose=chooser_of(found, settings))
    return Judging(target, rules, selection, beside, facts, file)


def chooser_of(found: Discovery, settings: Settings) -> Choose | None:
    """What gives each object the releases that it is judged for; None where they are those of the settings."""
    stating: Sequence[Source] = ()
    if found.sources and not (settings.karpenter_named and settings.kubernetes is not None):
        from nodelint.source.discover import stating as files_stating
        from nodelint.source.globs import Globs

        stating = files_stating(found, Globs(settings.exclude, settings.exclude_root))
    if not stating and not settings.per_path_versions and not settings.karpenter_range:
        return None
    from nodelint.lint.targets import chooser

    return chooser(settings, stating)


def rendered(
    paths: Sequence[str], kustomize: bool, helm: bool, found: Discovery, settings: Settings
) -> Rendering | None:
    """Overlays and charts as their tools render them; None where that is not asked for.

    `found` takes what could not be rendered, and the files of what could that a fix may be written to.
    """
    if not (kustomize or helm):
        return None
    from nodelint.render import parts, render
    from nodelint.source.globs import Globs

    passed_over = Globs(settings.exclude, settings.exclude_root)
    built = render(paths or (".",), kustomize, helm, passed_over, settings.kubernetes)
    found.unreadable += [problem for problem in built.problems if problem not in found.unreadable]
    found.sources += parts(built, found.sources)
    return built


def judge_of(built: Rendering | None) -> Judge:
    """What judges: the engine, over what was rendered where there is any."""
    if built is None:
        from nodelint.lint.engine import lint

        return lint
    from functools import partial

    from nodelint.render import lint as judge

    return partial(judge, built)


def known(settings: Settings) -> Sequence[Entry] | None:
    """The findings of the baseline; None without one. Ends the run where the file cannot be read."""
    if settings.baseline is None:
        return None
    try:
        return entries(settings.baseline)
    except OSError as error:
        stop(f"{settings.baseline}: {why(error)}; `nodelint baseline` writes it")


def entries(path: str) -> Sequence[Entry]:
    """What a baseline file holds. Raises OSError; ends the run where the file is no baseline."""
    from nodelint.lint import baseline
    from nodelint.source.reading import read

    data = read(path)
    try:
        return baseline.read(data, path)
    except baseline.BaselineError as error:
        stop(str(error))
