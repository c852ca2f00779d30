"""Ask AWS for facts, region by region, with progress on a terminal."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import contextmanager

from nodelint import __version__
from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.commands import now
from nodelint.commands._console import say, stop, watch_progress
from nodelint.ec2 import cache
from nodelint.ec2 import client as aws
from nodelint.ec2.client.price_lists import price_questions
from nodelint.ec2.facts import WORDS
from nodelint.ec2.questions import gather_all
from nodelint.ec2.snapshot import Answer, Question, Region, Reply, Snapshot
from nodelint.model.fact_kinds import FactKind

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import timedelta

    from nodelint.commands._flags import FactFlags
    from nodelint.config.settings import Settings
    from nodelint.ec2.questions import Ask, ClassesAt

TIMEOUT = 60.0
"""The time limit, in seconds, for the queries to one region."""


class Brought(NamedTuple):
    """The result of asking a region: the whole reply, and the new answers."""

    reply: Reply
    new: Mapping[Question, Answer]

    @property
    def fruitless(self) -> bool:
        """Return whether AWS was asked and answered nothing."""
        return bool(self.new) and all(answer.failed is not None for answer in self.new.values())


@contextmanager
def account(profile: str | None, timeout: float) -> Iterator[aws.Account]:
    """Yield the AWS account to ask, with a line of progress on a terminal."""
    at = now().strftime("%Y-%m-%dT%H:%M:%SZ")
    line = watch_progress()

    def tell(done: int, of: int, what: str) -> None:
        if line is not None:
            line.tell(f"asked AWS {done:,} of {of:,}: {what} …")

    try:
        yield aws.Account(now=at, profile=profile, timeout=timeout, on_progress=tell if line is not None else None)
    finally:
        if line is not None:
            line.clear()


def ask_region(
    account: aws.Account,
    name: str,
    classes: Sequence[ClassesAt],
    old: Snapshot | None,
    limits: Mapping[FactKind, timedelta],
    prices: bool = False,
) -> Brought:
    """Return the answers of a region to the questions that `old` does not answer.

    Raise CannotAsk if no question can be asked. `prices` are asked for only if wanted.
    """
    new: dict[Question, Answer] = {}
    ask = account.region(name)
    at = now().strftime("%Y-%m-%dT%H:%M:%SZ")

    def remembered(these: Sequence[Question]) -> Reply:
        these = [*these, *wanted]  # side by side with the first that are asked
        wanted.clear()
        try:
            reply = ask(these)
        except aws.CannotAsk as error:
            if not new:
                raise
            # What was answered before the credentials ran out is not lost.
            failed = Answer(at, failed=error.reason, transient=error.transient)
            reply = Reply(Region(name, None, dict.fromkeys(these, failed)))
        new.update(reply.region.answers)
        return reply

    known = _known(ask, name, old, limits)
    answered = known.answers if known is not None else {}
    wanted = [question for question in price_questions(name) if question not in answered] if prices else []
    reply = gather_all(remembered, name, classes, known)
    if wanted:
        reply = reply._replace(region=reply.region.merged(remembered(()).region))
    return Brought(reply, new)


def _known(ask: Ask, name: str, old: Snapshot | None, limits: Mapping[FactKind, timedelta]) -> Region | None:
    before = old.region(name) if old is not None else None
    if old is None or before is None:
        return None
    # The same account must be asked: another one has other images and subnets.
    account = ask(()).region.account
    if account != before.account:
        return None
    known = cache.still_good(before, now(), limits)
    if not cache.same_columns(old):
        types = Question("instance-types")
        known = known._replace(answers={q: a for q, a in known.answers.items() if q != types})
    return known


def region_of(account: aws.Account, settings: Settings) -> str:
    """Return the region from the configuration, the environment or the AWS profile.

    End the run if there is none.
    """
    named = settings.region or os.environ.get("AWS_REGION") or account.default_region
    if not named:
        stop("no AWS region is known; set --region, `region` in nodelint.yaml, or AWS_REGION")
    return named


def live(
    flags: FactFlags,
    settings: Settings,
    path: str,
    classes: Sequence[ClassesAt],
    limits: Mapping[FactKind, timedelta],
) -> tuple[Snapshot, str | None, str]:
    """Refresh the cached snapshot at `path`.

    Return the snapshot, its file (None if nothing was cached) and the region.

    A question that AWS did not answer is stored with the reason. Raise UnusableSnapshot for a broken cached file.
    """
    old = cache.read_kept(path) if os.path.lexists(path) else None
    before = path if old is not None else None
    name = settings.region or ""
    try:
        with account(flags.profile, TIMEOUT) as account_reply:
            name = name or region_of(account_reply, settings)
            brought = ask_region(account_reply, name, classes, old, limits)
    except aws.CannotAsk as refusal:
        say(f"AWS cannot be asked: {refusal.reason}")
        return _unasked(refusal, name, classes, old), before, name
    snapshot = cache.with_reply(old, brought.reply, now(), __version__)
    for line in _in_vain(brought, snapshot.region(name)):
        say(line)
    if brought.fruitless:
        return snapshot, before, name
    try:
        snapshot = cache.keep(path, [brought.reply], now(), __version__)
    except cache.UnusableSnapshot as error:
        for message in error.messages:
            say(message)
        return snapshot, None, name
    return snapshot, path, name


def _in_vain(brought: Brought, known: Region | None) -> list[str]:
    """Return sentences about facts for which AWS was asked again without success, so that the older answers stay."""
    stays = known.answers if known is not None else {}
    reasons = (
        f"AWS was asked again about {WORDS[question.kind]}: {answer.failed}; the older answer stays"
        for question, answer in brought.new.items()
        if answer.failed is not None and question in stays and stays[question].failed is None
    )
    return list(dict.fromkeys(reasons))


def _unasked(refusal: aws.CannotAsk, name: str, classes: Sequence[ClassesAt], old: Snapshot | None) -> Snapshot:
    """Return the snapshot of a run that could not ask AWS: known facts, and the reason why the others are missing."""
    at = now().strftime("%Y-%m-%dT%H:%M:%SZ")
    failed = Answer(at, failed=refusal.reason, transient=refusal.transient)

    def refuse(these: Sequence[Question]) -> Reply:
        return Reply(Region(name, None, dict.fromkeys(these, failed)))

    before = old.region(name) if old is not None else None
    reply = gather_all(refuse, name, classes, before)
    return cache.with_reply(old, reply, now(), __version__)
