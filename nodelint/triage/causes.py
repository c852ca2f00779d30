"""The causes of the messages in a controller's log, from `data/triage.json` (source: Karpenter's code).

A cause is recognized by words in message and error; the file lists specific causes before general ones, and the first
match counts. The meaning may depend on the release and on the time since the controller's start: the first matching
case counts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any, Literal

from nodelint.base.tuples import NamedTuple
from nodelint.data import table
from nodelint.model.quantities import ONE, billionths_or_zero
from nodelint.model.releases import RELEASES, Version, releases_match

Verdict = Literal["stays", "unclear", "passes"]

VERDICTS: tuple[Verdict, ...] = ("stays", "unclear", "passes")
"""Whether the user must act, in the order in which groups are shown."""

Start = Literal["within", "after", "unknown"]
"""Whether a line was written shortly after the controller's start."""


class Case(NamedTuple):
    """The meaning of a cause in some releases and at some time after the start; `start` is None for any time."""

    releases: str
    start: Start | None
    verdict: Verdict
    means: str
    do: str


class Beyond(NamedTuple):
    """The size of the largest EC2 instance type: larger requests have another cause, given by its id."""

    cpu: float
    memory_gib: float
    cause: str


class Cause(NamedTuple):
    """A known reason of failure.

    `says` are alternatives, each a set of words that all occur in message or error. `info`: the controller also logs
    the cause below level warning. `quiet` is the number of seconds without a line after which the cause may still go
    on. `lasts` is the number of seconds after which a passing cause counts as lasting; 0 for never. `apart`: each AWS
    call is a group of its own, because each must be corrected. `rules` find the mistake in manifests. `beyond`
    selects another cause if the requested amounts are too large.
    """

    id: str
    title: str
    says: tuple[tuple[str, ...], ...]
    info: bool
    quiet: float
    lasts: float
    apart: bool
    cases: tuple[Case, ...]
    rules: tuple[str, ...]
    beyond: Beyond | None = None

    def case(self, release: Version, start: Start) -> Case:
        """Return the first case that fits a Karpenter release and the time since the controller started.

        There is always one: the last case fits all.
        """
        return next(c for c in self.cases if c.start in (None, start) and releases_match(c.releases, release))

    def case_of_any_release(self, start: Start) -> Case:
        """Return the case for an unknown release: the common case of all releases, or one that lists the
        differences.
        """
        releases_of: dict[Case, list[Version]] = {}
        for release in RELEASES:
            releases_of.setdefault(self.case(release, start), []).append(release)
        if len(releases_of) == 1:
            return next(iter(releases_of))
        verdicts = {case.verdict for case in releases_of}
        means = " ".join(_of_releases(releases, case.means) for case, releases in releases_of.items())
        return Case(
            "",
            start if any(case.start == "within" for case in releases_of) else None,
            verdicts.pop() if len(verdicts) == 1 else "unclear",
            f"It depends on the release, which is not known here. {means}",
            "Name the release with --karpenter-version.",
        )


def _of_releases(releases: Sequence[Version], means: str) -> str:
    """Return the meaning with the range of releases to which it applies."""
    if releases[0] == RELEASES[0]:
        span = f"Up to {releases[-1]}"
    else:
        span = f"From {releases[0]} on" if releases[-1] == RELEASES[-1] else f"{releases[0]} to {releases[-1]}"
    return means if means.startswith(span) else f"{span}: {means}"


@cache
def causes() -> tuple[Cause, ...]:
    """Return all known causes, specific ones first."""
    return tuple(_cause(entry) for entry in table("triage")["causes"])


@cache
def cause_named(name: str) -> Cause:
    """Return the cause with this id. Raise StopIteration if there is none."""
    return next(cause for cause in causes() if cause.id == name)


@cache
def words_below_warning() -> tuple[str, ...]:
    """Return words of lines below level warning that matter: failures, starts, launches and the release."""
    first_words = [words[0] for cause in causes() if cause.info for words in cause.says]
    return (*first_words, *table("triage")["starts"], *table("triage")["launches"].values(), RELEASE_MESSAGE)


RELEASE_MESSAGE = "discovered karpenter version"
"""The message, at debug level, that has the release as `version`."""


def recognise(text: str, below_warning: bool = False) -> Cause | None:
    """Return the cause of the message and error of a line; None if it is unknown. Refusals of NodePools that the pod
    does not select are ignored.
    """
    text = _without_other_pools(text)
    for first, rest, cause in _alternatives(below_warning):
        if first in text and all(word in text for word in rest):
            return cause_named(cause.beyond.cause) if cause.beyond and _exceeds(text, cause.beyond) else cause
    return None


_POOL = "incompatible with nodepool"
_OTHER_POOL = "key karpenter.sh/nodepool, karpenter.sh/nodepool In ["


def _without_other_pools(text: str) -> str:
    """Return a text without the refusals of NodePools that the pod does not select by name. If nothing else remains,
    return the whole text.
    """
    if _OTHER_POOL not in text:
        return text
    first, *parts = re.split(rf"(?:; )?(?={_POOL})", text)
    own = [part for part in parts if _OTHER_POOL not in part]
    return "; ".join([first, *own]) if own else text


@cache
def _alternatives(below_warning: bool) -> tuple[tuple[str, tuple[str, ...], Cause], ...]:
    """Return each alternative of each cause as a flat list, which is faster to search for every line."""
    searched = [cause for cause in causes() if cause.info or not below_warning]
    return tuple((words[0], words[1:], cause) for cause in searched for words in cause.says)


# What a pod asks for with the daemons: `resources {"cpu":"280m",…}` before 1.5, `resources={"cpu":…}` since.
_REQUESTS = re.compile(r"resources[ =](\{[^{}]{0,2000}\})")
_AMOUNT = re.compile(r'"(cpu|memory)\\?":\\?"(\d[^"\\]{0,30})')


def _exceeds(text: str, most: Beyond) -> bool:
    """Return whether a pod of the text requests more than the largest instance type has."""
    limits = {"cpu": most.cpu * ONE, "memory": most.memory_gib * 2**30 * ONE}
    return any(
        billionths_or_zero(amount) > limits[resource]
        for requests in _REQUESTS.findall(text)
        for resource, amount in _AMOUNT.findall(requests)
    )


# What IAM or EC2 says was refused, what the controller says it called, and the operation as the second SDK has it.
_CALL = (
    re.compile(r"to perform:? ([a-z0-9-]+):([A-Za-z]+)"),
    re.compile(r"(?:unauthorized|isn't authorized) to call ([a-z0-9-]+):([A-Za-z]+)"),
    re.compile(r"operation error ([A-Za-z0-9]+): ([A-Za-z]+)"),
)


def call_of(text: str) -> str:
    """Return the AWS call of a failure, as in IAM: `ec2:CreateFleet`; empty if the text names none."""
    found = next(filter(None, (pattern.search(text) for pattern in _CALL)), None)
    return f"{found[1].lower()}:{found[2]}" if found else ""


def starts(message: str) -> bool:
    """Return whether the controller logs this message only during its start."""
    return any(message.startswith(start) for start in table("triage")["starts"])


START_TAKES = float(table("triage")["start-takes"])
"""The seconds after a start of the controller in which errors that accompany a start are expected."""


@cache
def release_of(commit: str) -> Version | None:
    """Return the release that was built from a commit of the provider; None for a custom build.

    The commit is in every line of the log.
    """
    text = table("triage")["commits"].get(commit[:7])
    return Version.parse(text) if text else None


# Longer and more certain forms first: what one has masked the next does not see.
_MASKS = (
    (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "<id>"),
    (r"\barn:[\w:/.*@+=,-]+", "<arn>"),
    (r"\bhttps?://[^\s\"]+", "<url>"),
    (r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[\d.,]*(?:Z|[+-]\d\d:?\d\d)?", "<time>"),
    (r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b", "<address>"),
    (r'"[^"]*"', '"…"'),
    (r"\b[a-z]{1,6}-[0-9a-f]{8,17}\b", "<id>"),
    (r"\b[A-Za-z0-9+/_-]{40,}={0,2}", "<id>"),
    (r"\b(?=[a-z]*\d)[0-9a-f]{7,}\b", "<id>"),
    (r"\b0x[0-9a-f]+\b", "#"),
    (r"\d+(?:\.\d+)?", "#"),
)


@cache
def _masks() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(pattern), mask) for pattern, mask in _MASKS)


def shape(text: str, names: tuple[str, ...] = ()) -> str:
    """Return a message on one line, with ids, names, numbers and addresses replaced."""
    text = text[:2000]
    for name in sorted(names, key=len, reverse=True):
        # A name of few letters is part of many words; to look for a longer one without a pattern is much faster.
        if len(name) > 4:
            text = text.replace(name, "<name>")
        elif name:
            text = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", "<name>", text)
    for pattern, mask in _masks():
        text = pattern.sub(mask, text)
    return " ".join(text.split())[:300]


def _cause(entry: dict[str, Any]) -> Cause:
    beyond = entry.get("beyond")
    return Cause(
        id=entry["id"],
        title=entry["title"],
        says=tuple((texts,) if isinstance(texts, str) else tuple(texts) for texts in entry["says"]),
        info=entry.get("info", False),
        quiet=float(entry.get("quiet", 0)),
        lasts=float(entry.get("lasts", 0)),
        apart=entry.get("apart", False),
        cases=tuple(
            Case(c.get("releases", ""), c.get("start"), c["verdict"], c["means"], c["do"]) for c in entry["cases"]
        ),
        rules=tuple(dict.fromkeys(entry["rules"])),
        beyond=Beyond(beyond["cpu"], beyond["memoryGiB"], beyond["cause"]) if beyond else None,
    )
