"""The facts that come with nodelint, with their sources and their ages."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from nodelint import __version__
from nodelint.base.tuples import NamedTuple
from nodelint.data import table
from nodelint.ec2.catalog import Catalog
from nodelint.ec2.facts import moment
from nodelint.model.messages import counted
from nodelint.model.releases import NEWEST, OLDEST, ahead

_TABLES = {
    "images": "AMI families and aliases",
    "image_names": "names of published images",
    "settings": "controller settings",
    "support": "support of releases",
    "upgrade": "changes between releases",
    "triage": "messages of the controller",
}
"""The files of `nodelint/data` that state their own date, each with a description."""


class BundledFact(NamedTuple):
    """A group of facts: their subject, their source, and their date (ISO 8601)."""

    what: str
    origin: str
    date: str


def bundled_facts() -> Iterator[BundledFact]:
    """Yield all facts that come with nodelint."""
    for source in Catalog.bundled().snapshot.sources:
        yield BundledFact(source.facts, source.origin, source.date)
    versions = table("versions")
    yield BundledFact(f"releases {OLDEST} to {NEWEST}", versions["origin"], versions["date"])
    following = ahead()
    if following is not None:
        origin = f"main branch of the Karpenter AWS provider, commit {following.commit}"
        yield BundledFact(f"next, the coming {following.version}", origin, following.date)
    for name, what in _TABLES.items():
        facts = table(name)
        yield BundledFact(what, facts["origin"], facts["date"])


def bundled_text(now: datetime) -> str:
    """Return two lines for each group of facts: subject, date and age, then the source."""
    lines = [f"Comes with nodelint {__version__}:"]
    for fact in bundled_facts():
        lines.append(f"  {fact.what}: of {fact.date}, {counted(_age(fact, now).days, 'day')} old")
        lines.append(f"      {fact.origin}")
    return "\n".join(lines)


def bundled_json(now: datetime) -> list[dict[str, Any]]:
    """Return the bundled facts as plain values for JSON; ages are in seconds."""
    return [{**fact._asdict(), "age": int(_age(fact, now).total_seconds())} for fact in bundled_facts()]


def _age(fact: BundledFact, now: datetime) -> timedelta:
    return max(now - moment(f"{fact.date}T00:00:00Z"), timedelta(0))
