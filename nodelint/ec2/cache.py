"""Snapshots on disk: the one that is named, and the one that is kept for a repository in the user's cache folder.

Nothing here reads a clock; the time of the run is handed in.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping

from nodelint.base.types import TYPE_CHECKING
from nodelint.ec2.facts import AwsFacts, moment
from nodelint.ec2.snapshot import (
    Answer,
    Origin,
    Question,
    Region,
    Reply,
    Snapshot,
    SnapshotError,
    parse_snapshot,
    snapshot_text,
    with_region_alone,
)
from nodelint.files import safe_read
from nodelint.files.gate import read_bounded
from nodelint.files.safe_read import error_reason, repository
from nodelint.model.fact_kinds import FACT_KINDS, PRICE_KINDS, FactKind

if TYPE_CHECKING:
    from datetime import datetime, timedelta


def time_to_live() -> dict[FactKind, timedelta]:
    """Return how long a cached fact of each kind is used and not asked again: about as long as the controller keeps
    it.
    """
    from datetime import timedelta

    half_a_day = dict.fromkeys(("instance-types", "offerings", *PRICE_KINDS), 12)
    hours: dict[FactKind, int] = {**half_a_day, "parameters": 1}
    return {kind: timedelta(hours=hours[kind]) if kind in hours else timedelta(minutes=5) for kind in FACT_KINDS}


_ELSEWHERE = "; NODELINT_CACHE_DIR names another folder"


class UnusableSnapshot(Exception):
    """A snapshot that cannot be read or written, a message for each fault. Each names the file."""

    def __init__(self, *messages: str) -> None:
        super().__init__(messages[0])
        self.messages = messages


def place(folder: str) -> str:
    """Return the file that keeps the facts for the repository of a folder (for the folder itself where there is
    none).

    NODELINT_CACHE_DIR stands for the user's cache folder.
    """
    root = os.path.realpath(repository(os.path.abspath(folder)) or folder)
    from hashlib import sha256

    name = os.path.basename(root)[:60] or "root"
    return os.path.join(_home(), f"{name}-{sha256(os.fsencode(root)).hexdigest()[:12]}.json")


def find_cached(folder: str) -> str | None:
    """Return the file of `place` where there is one."""
    # Whoever has never asked AWS does not pay for the hash.
    if not os.path.isdir(_home()):
        return None
    path = place(folder)
    return path if os.path.lexists(path) else None


def _home() -> str:
    given = os.environ.get("NODELINT_CACHE_DIR")
    if given:
        return given
    if sys.platform == "linux" and "ANDROID_ROOT" not in os.environ:
        # What platformdirs says then; to load it would be a tenth of a short run.
        given = os.environ.get("XDG_CACHE_HOME", "")
        return os.path.join(given if given.strip() else os.path.expanduser("~/.cache"), "nodelint")
    from platformdirs import user_cache_path

    return str(user_cache_path("nodelint", appauthor=False))


def list_kept() -> tuple[str, list[str]]:
    """Return the folder of the cache and the snapshots in it; no file of another kind, and no link is among them."""
    folder = _home()
    try:
        paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".json")]
    except OSError:
        return folder, []
    return folder, [path for path in paths if os.path.isfile(path) and not os.path.islink(path) and _is_ours(path)]


def _is_ours(path: str) -> bool:
    try:
        check_ours(path)
    except UnusableSnapshot:
        return False
    return True


def remove_empty_folder(folder: str) -> None:
    """Remove the folder of the cache where nothing is left in it."""
    try:
        os.rmdir(folder)
    except OSError:
        return  # other files are in it, or it is not ours to remove


def read(path: str, hint: str = "", region: str | None = None, within: str | None = None) -> Snapshot:
    """Return the snapshot of a file. Raise UnusableSnapshot, whose last message ends in the hint.

    Where a `region` is named that the file holds, the others may be left out, unread. `within` means the same as in
    `read_bounded`.
    """
    try:
        text = read_bounded(path, within)
        return parse_snapshot(text if region is None else with_region_alone(text, region))
    except OSError as error:
        raise UnusableSnapshot(f"{path}: {error_reason(error)}{hint}") from error
    except SnapshotError as error:
        found: list[str] = []
        if error.misshapen:
            from nodelint.model.validity import in_json

            found = in_json("snapshot", path)
        *first, last = found or [f"{path}: {error}"]
        raise UnusableSnapshot(*first, f"{last}{hint}") from error


def read_kept(path: str, region: str | None = None) -> Snapshot:
    """Return the cached snapshot of a file, as `read` reads it. Raise Unusable, which says how to make it again."""
    return read(path, "; `nodelint refresh --fresh` replaces it", region)


def check_ours(path: str) -> None:
    """Make sure that a file that will be written over is a snapshot, if a broken one, or empty. Raise Unusable."""
    try:
        start = safe_read.read(path)[:200]
    except OSError as error:
        raise UnusableSnapshot(f"{path}: {error_reason(error)}") from error
    if start and b'"nodelint-snapshot"' not in start:
        raise UnusableSnapshot(f"{path}: not a snapshot, so it is not written over")


def check_place(path: str) -> None:
    """Make sure that a path leads out of its repository by no link. Raise Unusable."""
    from nodelint.files.atomic_write import place

    try:
        place(path)
    except OSError as error:
        raise UnusableSnapshot(f"{path}: not written: {error_reason(error)}") from error


def write(path: str, snapshot: Snapshot) -> None:
    """Write a snapshot whole or not at all. Raise Unusable; an old file is then as it was."""
    from nodelint.files.atomic_write import replace

    try:
        replace(path, snapshot_text(snapshot).encode())
    except (OSError, ValueError) as error:
        raise UnusableSnapshot(f"{path}: not written: {error_reason(error)}") from error


def stamp_of(path: str) -> object:
    """Return a value that changes when a file is written again. None if the file does not exist."""
    try:
        about = os.stat(path)
    except OSError:
        return None
    return about.st_dev, about.st_ino, about.st_mtime_ns, about.st_size


def keep(path: str, replies: Iterable[Reply], now: datetime, nodelint: str, unwanted: object = None) -> Snapshot:
    """Put what regions replied into a file of the cache, and give back all that it holds then. Raise Unusable.

    Another run may have written the file while this one asked AWS: what it holds is read again, under a lock. It is
    passed over where it is still the file of the mark `unwanted`.
    """
    try:
        check_place(path)
        # Names of images and ids of subnets are nobody else's business.
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with _Locked(os.path.dirname(path)):
            there = stamp_of(path)
            snapshot = None if there is None or there == unwanted else read_kept(path)
            for reply in replies:
                snapshot = with_reply(snapshot, reply, now, nodelint)
            if snapshot is None:
                raise ValueError("no reply to keep")
            write(path, snapshot)
    except OSError as error:
        raise UnusableSnapshot(f"{path}: not written: {error_reason(error)}{_ELSEWHERE}") from error
    except UnusableSnapshot as error:
        raise UnusableSnapshot(f"{error}{_ELSEWHERE}") from error
    return snapshot


class _Locked:
    """Let one run at a time read and write a folder; each needs milliseconds. Without effect on Windows."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._handle: int | None = None

    def __enter__(self) -> None:
        try:
            import fcntl
        except ImportError:
            return
        self._handle = os.open(self._folder, os.O_RDONLY)
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX)
        except OSError:
            return  # a file system that knows no locks

    def __exit__(self, *_: object) -> None:
        if self._handle is not None:
            os.close(self._handle)


def still_good(region: Region, now: datetime, limits: Mapping[FactKind, timedelta]) -> Region:
    """Return what need not be asked again: answers that are no failures and within the limit of their kind."""
    return region._replace(answers={q: a for q, a in region.answers.items() if is_good(q, a, now, limits)})


def is_good(question: Question, answer: Answer, now: datetime, limits: Mapping[FactKind, timedelta]) -> bool:
    """Whether the answer succeeded and is not older than the limit for its kind."""
    limit = limits.get(question.kind)
    return answer.failed is None and (limit is None or now - moment(answer.at) <= limit)


def same_columns(snapshot: Snapshot) -> bool:
    """Whether its instance types stand in the columns in which this release writes them."""
    from nodelint.ec2.instance_types import LABELS, PRICED, RESOURCES

    return (snapshot.labels, snapshot.resources, snapshot.priced) == (LABELS, RESOURCES, PRICED)


def with_reply(old: Snapshot | None, reply: Reply, now: datetime, nodelint: str) -> Snapshot:
    """Return a snapshot with what a region replied put into it. `nodelint` is the release that does so.

    Old answers of the region stay where nothing newer is known, if they are of the same account, or AWS did not tell
    which one it is; other regions stay as they are.
    """
    from nodelint.ec2.catalog import Catalog
    from nodelint.ec2.instance_types import LABELS, PRICED, RESOURCES, changes

    region = reply.region
    before = old.region(region.name) if old is not None else None
    if before is not None and region.account in (None, before.account):
        region = before.merged(region)
    others = [r for r in old.regions if r.name != region.name] if old is not None else []
    rows = {row[0]: row for row in old.rows} if old is not None and same_columns(old) else {}
    rows.update((row[0], row) for row in reply.rows)
    day = now.date().isoformat()
    return Snapshot(
        origin="EC2",
        date=day if reply.rows or old is None else old.date,
        sources=(Origin("everything", "AWS, asked by `nodelint refresh`", day),),
        labels=LABELS if rows else (),
        resources=RESOURCES if rows else (),
        priced=PRICED if rows else (),
        changes=changes(rows, Catalog.bundled()) if rows else (),
        rows=[rows[name] for name in sorted(rows)],
        regions=tuple(sorted([*others, region], key=lambda r: r.name)),
        nodelint=nodelint,
    )


def facts_of(
    snapshot: Snapshot, where: str, region: str | None, now: datetime, limits: Mapping[FactKind, timedelta]
) -> AwsFacts:
    """Return the facts of a run: of the region that was named, else of the only one that the snapshot (`where`)
    holds.
    """
    names = [region.name for region in snapshot.regions]
    chosen = snapshot.region(region) if region else snapshot.regions[0] if len(names) == 1 else None
    if chosen is not None:
        return AwsFacts(snapshot, chosen, now, limits)
    if not names:
        why = f"{where} holds no answers of AWS; `nodelint refresh` asks"
    elif region:
        why = f"{where} knows {', '.join(names)}, not `{region}`; `nodelint refresh --region {region}` asks"
    else:
        why = f"{where} knows {', '.join(names)}; --region says which one the manifests are for"
    return AwsFacts(snapshot, None, now, limits, why)
