"""Shell completion of values that click does not know: paths, rule names, and names in files."""

from __future__ import annotations

import os

from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    import click
    from click.shell_completion import CompletionItem

    from nodelint.model.manifest import Object


def files(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return a marker that lets the shell complete files and folders."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


def rule_names(_: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return names of rules; for an option with several values also groups, and names after a comma."""
    from click.shell_completion import CompletionItem

    from nodelint.rule.classification import GROUPS, SUBJECTS
    from nodelint.rule.definition import bundled

    names = [name.removesuffix(".py") for name in os.listdir(bundled()) if name.endswith(".py")]
    subjects = [name.lower().replace(" ", "-") for name in SUBJECTS]
    known = sorted([*names, *GROUPS, *subjects, "all"] if parameter.multiple else names)
    before, comma, last = incomplete.rpartition(",") if parameter.multiple else ("", "", incomplete)
    return [CompletionItem(before + comma + name) for name in known if name.startswith(last)]


def nodepools(context: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names of the NodePools in the typed paths, or below the working folder."""
    from nodelint.model.manifest import NodePool

    pools = [obj for obj in _list_objects(context, None) if isinstance(obj, NodePool)]
    return _items({pool.name for pool in pools if isinstance(pool.name, str)}, incomplete)


def workloads(context: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the workloads in the typed paths, or below the working folder, as `deployment/web`."""
    from nodelint.model.cluster_objects import PATTERN, Workload

    found = [obj for obj in _list_objects(context, PATTERN) if isinstance(obj, Workload)]
    return _items({f"{obj.kind.lower()}/{obj.name}" for obj in found if isinstance(obj.name, str)}, incomplete)


def revisions(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the branches and tags of the repository around the working folder."""
    from nodelint.files.git.repository import GitError, ask, repository

    try:
        names = ask(repository(os.curdir), "for-each-ref", "--format=%(refname:short)", *_REFS).split()
    except GitError:
        return []
    return _items(set(names), incomplete)


_REFS = ("refs/heads", "refs/remotes", "refs/tags")


def _list_objects(context: click.Context, also: str | None) -> list[Object]:
    """Return the objects of the typed paths, without files that cannot be read."""
    from nodelint.config.settings import Settings
    from nodelint.files.discover import discover
    from nodelint.inventory import read_inventory
    from nodelint.model.documents import objects

    paths = [path for path in context.params.get("paths") or (os.curdir,) if path != "-"]
    found = discover(paths, Settings().paths_left_out, also=also)
    inventory = read_inventory(found)
    return [obj for source in inventory.sources for obj in objects(source, more=also is not None)]


def _items(names: set[str], incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    known = sorted(name for name in names if name.isprintable())
    return [CompletionItem(name) for name in known if name.startswith(incomplete)]
