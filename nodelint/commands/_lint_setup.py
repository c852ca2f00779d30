"""Read manifests, references and facts for the commands that judge manifests."""

from __future__ import annotations

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.commands import exclude, include, session_of, values
from nodelint.commands._console import unusable, watch_progress

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from typing import Any, TypeVar

    from nodelint.commands._flags import FactFlags
    from nodelint.config.session import Session
    from nodelint.config.settings import Settings
    from nodelint.files.folders import Discovery
    from nodelint.inventory import Inventory
    from nodelint.lint.autofix import Judge
    from nodelint.lint.baseline import KnownFinding
    from nodelint.lint.engine import LintRequest, Report, Target
    from nodelint.lint.fix_trials import Name
    from nodelint.lint.incremental import ResultCaches
    from nodelint.lint.proven_fixes import Prover
    from nodelint.model.gap import Gap
    from nodelint.rule.definition import Rule
    from nodelint.text import Source

    _F = TypeVar("_F", bound=Callable[..., Any])


def judging_options(command: _F) -> _F:
    """Add the options for rules and for reading manifests to a command."""
    for option in (*_what_is_judged(), *_which_rules()):
        command = option(command)
    return command


def _what_is_judged() -> tuple[Callable[[Any], Any], ...]:
    import click

    from nodelint.commands._shell_completion import files

    return (
        click.option(
            "--crds",
            metavar="PATH",
            shell_complete=files,
            help="CRDs of your cluster (file or folder), instead of the bundled schemas.",
        ),
        exclude,
        include,
        values,
        click.option(
            "--jobs",
            metavar="N",
            help="Number of processes. Default: auto, by the number of objects and processors. Also NODELINT_JOBS.",
        ),
    )


def _preview_option() -> Callable[[Any], Any]:
    import click

    text = "Also run preview rules: new ones, which may still change."
    return click.option("--preview", is_flag=True, default=None, help=text)


def _which_rules() -> tuple[Callable[[Any], Any], ...]:
    import click

    from nodelint.commands._help import WordChoice
    from nodelint.commands._shell_completion import files, rule_names

    return (
        click.option(
            "--ignore",
            multiple=True,
            metavar="RULE,...",
            shell_complete=rule_names,
            help="Do not run these rules, groups or subjects.",
        ),
        click.option(
            "--select",
            multiple=True,
            metavar="RULE,...",
            shell_complete=rule_names,
            help="Run only these rules, groups or subjects; `all` runs every rule.",
        ),
        click.option(
            "--extend-select",
            multiple=True,
            metavar="RULE,...",
            shell_complete=rule_names,
            help="Also run these rules, groups or subjects, in addition to the profile or --select.",
        ),
        _preview_option(),
        click.option(
            "--rules",
            multiple=True,
            metavar="FOLDER",
            shell_complete=files,
            help="A folder of your own rules. Rules are code: nodelint runs them.",
        ),
        click.option(
            "--repository-rules/--no-repository-rules",
            default=None,
            help="Run rules of the repository under test that its configuration or --rules names. Default: only those"
            " of --rules.",
        ),
        click.option(
            "--profile",
            type=WordChoice(["minimal", "default", "strict"]),
            help="The groups of rules that run: minimal is correctness, default adds hazard, strict adds practice.",
        ),
    )


class Judging(NamedTuple):
    """All input to judge an inventory; `context_sources` are read for context, `file` is the file of the facts.

    `is_part`: the files are a part of their repository.
    """

    session: Session
    target: Target
    context_sources: list[Source]
    file: str | None
    inventory: Inventory
    is_part: bool = False

    @property
    def request(self) -> LintRequest:
        """Return the lint request for the inventory."""
        from nodelint.lint.engine import LintRequest

        return LintRequest(
            self.target, self.session.rules, self.session.selection, self.context_sources, None, self.is_part
        )

    @property
    def reported(self) -> list[str]:
        """Return the rules whose findings are reported, with their former names."""
        return self._list_names(self.session.selection.enables)

    def list_comparing(self, names: Collection[str]) -> list[str]:
        """Return the rules among `names` whose findings depend on other files, with their former names.

        These rules compare objects or files, or report a release that another file states.
        """
        from nodelint.lint.rule_reach import depends_on_other_files

        def compares_files(rule: Rule) -> bool:
            return any(name in names for name in rule.names) and (
                not {"workloads", "stated-release"}.isdisjoint(rule.tags) or depends_on_other_files(rule)
            )

        return self._list_names(compares_files)

    def _list_names(self, is_meant: Callable[[Rule], bool]) -> list[str]:
        from nodelint.rule.definition import all_names

        rules = self.session.rules
        return sorted(all_names(rules, (name for name, rule in rules.items() if is_meant(rule))))


def judging(
    found: Discovery, fact_flags: FactFlags, settings: Settings, paths: Sequence[str], only_requested: bool = False
) -> Judging:
    """Return the input to judge the discovered files; end the run if rules, CRDs or a snapshot cannot be used.

    With `only_requested`, objects of other clusters that are rendered from the same files are left out.
    """
    from nodelint.inventory import read_inventory

    session = session_of(settings)
    from nodelint.lint.workloads import add_workloads

    inventory = read_inventory(found, lambda objects: add_workloads(found, session.rules, session.selection, objects))
    if only_requested:
        inventory = session.keep_requested(inventory, found)
    return judging_of(inventory, found, fact_flags, session, paths)


def judging_of(
    inventory: Inventory, found: Discovery, fact_flags: FactFlags, session: Session, paths: Sequence[str]
) -> Judging:
    """Return the input to judge an inventory; end the run if rules, CRDs or a snapshot cannot be used."""
    from nodelint.commands._facts import facts_for
    from nodelint.files.release_files import list_roots_around
    from nodelint.model.documents import objects
    from nodelint.model.manifest import EC2NodeClass

    judged = list(inventory.objects())
    sources = session.beside(judged, found)
    judged += [obj for source in sources for obj in objects(source)]
    classes = [obj for obj in judged if isinstance(obj, EC2NodeClass)]
    choose = session.choose(found)
    facts, file = facts_for(fact_flags, session, paths, classes, choose)
    is_part = bool(list_roots_around(found))
    return Judging(session, session.target(facts, choose), sources, file, inventory, is_part)


def judge_of(jobs: int | None, inventory: Inventory | None = None, memory: ResultCaches | None = None) -> Judge:
    """Return a function that judges sources with `jobs` processes, including their rendered manifests.

    `inventory` is used instead of rendering again if the sources are the same. `memory` is passed to `lint`.
    """

    def judge(sources: Sequence[Source], request: LintRequest) -> Report:
        from nodelint.inventory import build
        from nodelint.lint.engine import lint

        if inventory is not None and [*map(id, inventory.files)] == [*map(id, sources)]:
            made = inventory
        else:
            made = build(sources, inventory.folder_files if inventory is not None else ())
        line = watch_progress()
        if line is None:
            report = lint(sources, request, jobs=jobs, memory=memory, built=made.built)
        else:
            report = lint(sources, request, jobs=jobs, memory=memory, built=made.built, pause=line.count_object)
            line.clear()
        return report._replace(skipped=(*report.skipped, *map(_as_reported, made.gaps)))

    return judge


def prover_of(ready: Judging) -> Prover:
    """Return a prover of fixes: it judges the edited files with the rules and `plan`."""
    from nodelint.lint.proven_fixes import Prover

    def find_moved(*arguments: Any) -> set[Name]:
        from nodelint.plan import fix_drift

        return fix_drift.find_moved(*arguments)

    def build_again(sources: Sequence[Source]) -> Inventory:
        from nodelint.inventory import build

        return build(sources, ready.inventory.folder_files)

    return Prover(ready.request, build_again, find_moved).begin(ready.inventory)


def _as_reported(gap: Gap) -> Gap:
    """Return a gap of the inventory with its sentence and the command that judges the skipped part."""
    from nodelint.inventory.unread_forms import PIPED

    way = f"; to judge it: {PIPED['overlay']}" if gap.what == "overlay" and not gap.fails else ""
    return gap._replace(place=gap.file_place, reason=f"{gap.sentence}{way}")


def known(session: Session) -> Sequence[KnownFinding] | None:
    """Return the findings of the baseline; None without one. End the run if the file cannot be read."""
    from nodelint.config.file import ConfigError

    try:
        return session.known
    except ConfigError as error:
        unusable(error)
