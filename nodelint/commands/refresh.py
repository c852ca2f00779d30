"""`nodelint refresh`: ask AWS for the facts that the manifests need, and store the answers."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from nodelint import __version__
from nodelint.base.printable import printable
from nodelint.base.types import TYPE_CHECKING
from nodelint.commands import discovered, exclude, now, read_settings_for, unread, unreadable, versions
from nodelint.commands._console import CLEAN, LACKING, TRY_AGAIN, UNUSABLE, echo, echo_json, say, stop
from nodelint.commands._help import GroupedCommand
from nodelint.commands._shell_completion import files
from nodelint.config.session import Session
from nodelint.model.fact_kinds import PRICE_KINDS
from nodelint.model.messages import counted, list_first

if TYPE_CHECKING:
    from typing import Unpack

    from nodelint.commands._flags import RefreshFlags
    from nodelint.config.settings import Settings
    from nodelint.ec2.questions import ClassesAt
    from nodelint.ec2.snapshot import Region, Reply, Snapshot
    from nodelint.files.folders import Discovery
    from nodelint.report.snapshot import Asking

_LISTED = 20
"""The most names of instance types in one line."""

_EXIT = """
\b
Exit codes:
  0  AWS answered everything (prices may be missing)
  2  wrong usage or configuration, or a file that could not be read or written
  3  an error in nodelint itself
  4  something was not answered; a retry may help
  5  something was refused, and trying again will not help
"""


@click.command(cls=GroupedCommand, epilog=_EXIT)
@click.argument("paths", nargs=-1, metavar="[PATHS]...", shell_complete=files)
@click.option(
    "--region",
    "regions",
    multiple=True,
    metavar="NAME",
    help="The AWS region. Repeatable. Default: configuration, environment.",
)
@click.option("--aws-profile", "profile", metavar="NAME", help="The AWS profile whose credentials are used.")
@click.option(
    "--output",
    metavar="FILE",
    shell_complete=files,
    help="Write the facts to this file instead of the cache.",
)
@click.option(
    "--catalog",
    is_flag=True,
    help="Ask only for instance types and their zones; read no manifests.",
)
@click.option("--fresh", is_flag=True, help="Ask for all facts again, and replace the cache.")
@click.option(
    "--timeout",
    type=click.FloatRange(1, 3600),
    default=60.0,
    metavar="SECONDS",
    help="Time limit of the whole run. Default: 60.",
)
@click.option("--print-policy", is_flag=True, help="Print the minimal IAM policy that this command needs, and exit.")
@exclude
@versions
def command(
    paths: Sequence[str],
    regions: Sequence[str],
    profile: str | None,
    output: str | None,
    catalog: bool,
    fresh: bool,
    timeout: float,
    print_policy: bool,
    **flags: Unpack[RefreshFlags],
) -> None:
    """Ask AWS for the facts that the manifests need: for example images, subnets and prices.

    `nodelint check` and `nodelint explain` then use the answers offline. Answers in the cache expire; a file
    that --output writes does not. nodelint changes nothing in AWS.

    \b
    Examples:
      nodelint refresh --region eu-central-1 clusters/
      nodelint refresh --region eu-central-1 --catalog
      nodelint refresh --aws-profile prod --output nodelint.snapshot.json
    """
    if print_policy:
        from nodelint.ec2.client import policy

        echo_json(policy())
        return
    given = _repeat_flags(flags)
    settings = read_settings_for(flags, paths)
    _check_regions(regions)
    session = Session(settings)
    found, classes = (None, session.classes_at((), None)) if catalog else _manifests(paths, session)
    from nodelint.ec2 import cache

    file, unwanted, old = _place(paths, output, fresh)
    askings, snapshot, replies = _ask(classes, settings, regions, profile, timeout, old, catalog)
    if found is not None:
        unreadable(found)
    written = None if snapshot is None else file
    check = ["nodelint", "check", *(["--snapshot", output] if output else []), *given]
    if snapshot is not None:
        try:
            if output:
                cache.write(file, snapshot)
            else:
                snapshot = cache.keep(file, replies, now(), __version__, unwanted)
        except cache.UnusableSnapshot as error:
            stop(*error.messages)
        check += ["--region", askings[0].region.name] if len(snapshot.regions) > 1 else []
    _end(askings, written, [*check, *paths], _unnamed(classes), found is not None and bool(found.unreadable))


def _manifests(paths: Sequence[str], session: Session) -> tuple[Discovery, list[ClassesAt]]:
    """Return the discovery, and the classes to ask about: those of the paths and those of their NodePools.

    End the run if there are none.
    """
    from nodelint.inventory import read_inventory
    from nodelint.model.documents import objects
    from nodelint.model.manifest import EC2NodeClass

    found = discovered(paths or (".",), session.settings)
    found.unreadable += unread(found, "not asked for")
    inventory = read_inventory(found)
    judged = list(inventory.objects())
    if not judged:
        from nodelint.inventory.gaps import list_gaps
        from nodelint.report.all_clear import PAIR, say_nothing

        unreadable(found)
        where = f"in {counted(found.files, 'file')}"
        echo(f"{say_nothing('ask', PAIR, where, list_gaps(found, inventory))}.")
        sys.exit(UNUSABLE if found.unreadable else CLEAN)
    context_objects = [obj for source in session.beside(judged, found) for obj in objects(source)]
    classes = [obj for obj in (*judged, *context_objects) if isinstance(obj, EC2NodeClass)]
    wanted = session.classes_at(classes, session.choose(found))
    if any(place[1:] != (session.settings.karpenter, session.settings.kubernetes) for place in wanted):
        echo(f"Asked as {_releases(wanted)} would: the files near the classes state this release.")
    return found, wanted


def _repeat_flags(flags: RefreshFlags) -> list[str]:
    """Return the flags that a later check needs to look up the same facts."""
    named = (
        (f"--{name.replace('_', '-')}", flags[name]) for name in ("config", "karpenter_version", "kubernetes_version")
    )
    given = [part for name, value in named if value for part in (name, value)]
    given += ["--isolated"] if flags["isolated"] else []
    given += ["--no-ignore"] if flags["respect_gitignore"] is False else []
    return given + [part for globs in flags["exclude"] for part in ("--exclude", globs)]


def _releases(classes: Sequence[ClassesAt]) -> str:
    """Return the releases of the classes in words: `Karpenter 1.2.1 (Kubernetes 1.30) and Karpenter 1.8.1`."""
    return " and ".join(
        f"Karpenter {place.karpenter}" + (f" (Kubernetes {place.kubernetes})" if place.kubernetes else "")
        for place in classes
    )


def _unnamed(classes: Sequence[ClassesAt]) -> list[str]:
    """Return the aliases whose images were not asked for, because they need a Kubernetes version."""
    from nodelint.ec2.questions import alias_of

    without = [node_class for place in classes if place.kubernetes is None for node_class in place.classes]
    return sorted({alias.shown for alias in map(alias_of, without) if alias is not None and alias.known})


def _check_regions(names: Sequence[str]) -> None:
    from nodelint.ec2.region_names import refuse_region

    for name in names:
        refusal = refuse_region(name)  # the name becomes part of the host that is asked
        if refusal is not None:
            stop(f"--region: {refusal}")


def _place(paths: Sequence[str], output: str | None, fresh: bool) -> tuple[str, object, Snapshot | None]:
    """Return the snapshot file to write, the stamp of its content that `fresh` replaces (else None), and the old
    snapshot.

    The old snapshot is None if there is none to add to.
    """
    from nodelint.commands._facts import home
    from nodelint.ec2 import cache

    try:
        file = output or cache.place(home(paths))
        unwanted = cache.stamp_of(file) if fresh else None
        return file, unwanted, _old(file, output is not None, fresh)
    except cache.UnusableSnapshot as error:
        stop(*error.messages)


def _old(file: str, named: bool, fresh: bool) -> Snapshot | None:
    """Return the cached snapshot to add to, or None.

    Raise UnusableSnapshot if the file is not a snapshot, which must not be overwritten.
    """
    from nodelint.ec2 import cache

    if named and not os.path.isdir(os.path.dirname(file) or os.curdir):
        raise cache.UnusableSnapshot(f"{file}: not written: the folder {os.path.dirname(file)} does not exist")
    if named:
        cache.check_place(file)
    if not os.path.lexists(file):
        return None
    if named:
        cache.check_ours(file)
        return None
    return None if fresh else cache.read_kept(file)


def _ask(
    classes: Sequence[ClassesAt],
    settings: Settings,
    regions: Sequence[str],
    profile: str | None,
    timeout: float,
    old: Snapshot | None,
    catalog: bool,
) -> tuple[list[Asking], Snapshot | None, list[Reply]]:
    """Ask every region. Return the results, the snapshot (None if there is no new answer), and the replies.

    With `catalog`, instance types and offerings are asked for again, however new the answers are.
    """
    from datetime import timedelta
    from time import monotonic

    from nodelint.commands._aws import account, ask_region, region_of
    from nodelint.ec2 import cache
    from nodelint.ec2.client import CannotAsk
    from nodelint.report.snapshot import Asking

    askings: list[Asking] = []
    replies: list[Reply] = []
    snapshot, refusal = old, None
    limits = cache.time_to_live()
    if catalog:
        limits |= {kind: timedelta(seconds=-1) for kind in ("instance-types", "offerings")}
    with account(profile, timeout) as aws:
        try:
            for name in dict.fromkeys(regions or (region_of(aws, settings),)):
                begun, calls = monotonic(), sum(aws.calls.values())
                brought = ask_region(aws, name, classes, snapshot, limits, prices=not catalog)
                seconds, made = monotonic() - begun, sum(aws.calls.values()) - calls
                askings.append(Asking(brought.reply.region, brought.new, made, seconds))
                if not brought.fruitless:
                    replies.append(brought.reply)
                    snapshot = cache.with_reply(snapshot, brought.reply, now(), __version__)
        except CannotAsk as error:
            refusal = error
    if refusal is not None:
        say(f"AWS cannot be asked: {refusal.reason}")
        if not askings:
            sys.exit(TRY_AGAIN if refusal.transient else LACKING)
        askings[-1] = askings[-1]._replace(refusal=(refusal.reason, refusal.transient))
    return askings, None if snapshot is old else snapshot, replies


def _unbundled(region: Region) -> str | None:
    """Return a line with the families of instance types that are not bundled. None if there are none."""
    from nodelint.ec2.catalog import Catalog

    known = Catalog.bundled()
    new = sorted(name for name in region.offerings if name not in known)
    if not new:
        return None
    families = list(dict.fromkeys(name.partition(".")[0] for name in new))
    listed = list_first(families, _LISTED)
    return f"  {counted(len(new), 'instance type')} newer than the bundled list ({listed})"


def _end(
    askings: Sequence[Asking], file: str | None, check: Sequence[str], unnamed: Sequence[str], bad: bool
) -> NoReturn:
    """Print the answers and the next command, and end the run with the exit code of the result."""
    import shlex

    from nodelint.report.snapshot import refresh_text
    from nodelint.rule import definition as rule

    needs = {name: loaded.needs for name, loaded in rule.load_bundled().items() if loaded.needs}
    for asking in askings:
        echo(refresh_text(asking, needs))
        unbundled = _unbundled(asking.region)
        if unbundled is not None:
            echo(printable(unbundled))
    if unnamed:
        aliases = printable(", ".join(f"`{alias}`" for alias in unnamed))
        echo(f"Not asked: the images of {aliases}, which depend on the Kubernetes version; pass --kubernetes-version")
    if file is None:
        echo("Nothing was written: there are no new facts.")
    else:
        echo(printable(f"Written to {file}. Next: {shlex.join(check)}"))
    failures = [
        (a.failed, a.transient)
        for asking in askings
        for question, a in asking.new.items()
        if a.failed is not None and question.kind not in PRICE_KINDS
    ]
    failures += [asking.refusal for asking in askings if asking.refusal]
    if bad:
        sys.exit(UNUSABLE)
    if failures:
        sys.exit(TRY_AGAIN if all(transient for _, transient in failures) else LACKING)
    sys.exit(CLEAN)
