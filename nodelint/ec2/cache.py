"""Snapshots on disk: the one that the user names, and the one of a repository in the user's cache folder.

No function here reads the clock: the caller passes the time of the run.
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
    """Return how long a cached fact of each kind is used before AWS is asked again: about as long as the controller
    caches it.
    """
    from datetime import timedelta

    half_a_day = dict.fromkeys(("instance-types", "offerings", *PRICE_KINDS), 12)
    hours: dict[FactKind, int] = {**half_a_day, "parameters": 1}
    return {kind: timedelta(hours=hours[kind]) if kind in hours else timedelta(minutes=5) for kind in FACT_KINDS}


_ELSEWHERE = "; NODELINT_CACHE_DIR names another folder"


class UnusableSnapshot(Exception):
    """Raised if a snapshot cannot be read or written, with a message for each fault. Each message names the file."""

    def __init__(self, *messages: str) -> None:
        super().__init__(messages[0])
        self.messages = messages


def place(folder: str) -> str:
    """Return the path of the cached snapshot for the repository of a folder, or for the folder itself outside of a
    repository.

    NODELINT_CACHE_DIR overrides the user's cache folder.
    """
    root = os.path.realpath(repository(os.path.abspath(folder)) or folder)
    from hashlib import sha256

    name = os.path.basename(root)[:60] or "root"
    return os.path.join(_home(), f"{name}-{sha256(os.fsencode(root)).hexdigest()[:12]}.json")


def find_cached(folder: str) -> str | None:
    """Return the path of `place` if the file exists. None otherwise."""
    # Without any cache, the hash of the path is not computed.
    if not os.path.isdir(_home()):
        return None
    path = place(folder)
    return path if os.path.lexists(path) else None


def _home() -> str:
    given = os.environ.get("NODELINT_CACHE_DIR")
    if given:
        return given
    if sys.platform == "linux" and "ANDROID_ROOT" not in os.environ:
        # The folder is the one that platformdirs returns. Loading platformdirs takes a tenth of a short run.
        given = os.environ.get("XDG_CACHE_HOME", "")
        return os.path.join(given if given.strip() else os.path.expanduser("~/.cache"), "nodelint")
    from platformdirs import user_cache_path

    return str(user_cache_path("nodelint", appauthor=False))


def list_kept() -> tuple[str, list[str]]:
    """Return the cache folder and the paths of the snapshots in it, without other files and links."""
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
    """Remove the cache folder if it is empty."""
    try:
        os.rmdir(folder)
    except OSError:
        return  # other files are in it, or it is not ours to remove


def read(path: str, hint: str = "", region: str | None = None, within: str | None = None) -> Snapshot:
    """Return the snapshot of a file. Raise UnusableSnapshot, whose last message ends with `hint`.

    If the file holds `region`, other regions may be skipped. `within` has the meaning that it has in `read_bounded`.
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
    """Return the cached snapshot of a file, as `read` reads it. Raise UnusableSnapshot with a hint how to replace the
    file.
    """
    return read(path, "; `nodelint refresh --fresh` replaces it", region)


def check_ours(path: str) -> None:
    """Raise UnusableSnapshot unless a file that will be overwritten is empty or begins like a snapshot."""
    try:
        start = safe_read.read(path)[:200]
    except OSError as error:
        raise UnusableSnapshot(f"{path}: {error_reason(error)}") from error
    if start and b'"nodelint-snapshot"' not in start:
        raise UnusableSnapshot(f"{path}: not a snapshot, so it is not written over")


def check_place(path: str) -> None:
    """Raise UnusableSnapshot if a link in a path leaves its repository."""
    from nodelint.files.atomic_write import place

    try:
        place(path)
    except OSError as error:
        raise UnusableSnapshot(f"{path}: not written: {error_reason(error)}") from error


def write(path: str, snapshot: Snapshot) -> None:
    """Write a snapshot as a whole, or leave the old file unchanged and raise UnusableSnapshot."""
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
    """Add the replies of regions to a cached snapshot, and return its whole content. Raise UnusableSnapshot if
    the file cannot be read or written.

    Another run may have written the file in the meantime, so it is read again, under a lock. If its stamp is
    `unwanted`, its content is replaced.
    """
    try:
        check_place(path)
        # Names of images and ids of subnets are private, so only the user can read the folder.
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
    """A lock with which only one run at a time reads and writes a folder. No effect on Windows."""

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
            return  # a file system without locks

    def __exit__(self, *_: object) -> None:
        if self._handle is not None:
            os.close(self._handle)


def still_good(region: Region, now: datetime, limits: Mapping[FactKind, timedelta]) -> Region:
    """Return a region with only the answers that can still be used: they succeeded and are not older than the limit
    of their kind.
    """
    return region._replace(answers={q: a for q, a in region.answers.items() if is_good(q, a, now, limits)})


def is_good(question: Question, answer: Answer, now: datetime, limits: Mapping[FactKind, timedelta]) -> bool:
    """Return whether the answer succeeded and is not older than the limit for its kind."""
    limit = limits.get(question.kind)
    return answer.failed is None and (limit is None or now - moment(answer.at) <= limit)


def same_columns(snapshot: Snapshot) -> bool:
    """Return whether a snapshot has the columns of instance types that this release writes."""
    from nodelint.ec2.instance_types import LABELS, PRICED, RESOURCES

    return (snapshot.labels, snapshot.resources, snapshot.priced) == (LABELS, RESOURCES, PRICED)


def with_reply(old: Snapshot | None, reply: Reply, now: datetime, nodelint: str) -> Snapshot:
    """Return a snapshot to which the reply of a region is added. `nodelint` is the version of nodelint that adds it.

    Old answers of the region stay if the reply has no newer ones, and if both are of one account or the account of
    the reply is not known. Other regions do not change.
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
    """Return the facts of a run: those of the requested region, else those of the only region of the snapshot.

    If there is no such region, the facts are empty and say why. `where` names the snapshot in this reason.
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
