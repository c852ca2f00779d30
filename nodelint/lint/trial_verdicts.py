"""Judge what a trial of a fix shows: which edit causes which finding, and why an edit is withheld."""

from __future__ import annotations

from collections.abc import Sequence

from nodelint.lint.fix_offers import FixOffer
from nodelint.lint.fix_trials import FindingKey, Tried
from nodelint.model.finding import Withheld, written_place


def share_out(
    suspects: Sequence[FixOffer], bad: Sequence[FindingKey], tried: Tried
) -> list[tuple[FixOffer, list[FindingKey]]]:
    """Return the less severe findings that each suspect causes for its own object.

    Empty if a finding is severe, or about an object of no suspect or of two: then each offer is tried alone.
    """
    own = [(offer, [mark for mark in bad if mark[1] in offer.names]) for offer in suspects]
    if tried.unread or sum(len(marks) for _, marks in own) != len(bad):
        return []
    return own if all(marks and is_lesser(offer, marks, tried) for offer, marks in own) else []


def is_lesser(offer: FixOffer, bad: Sequence[FindingKey], tried: Tried) -> bool:
    """Return whether a fix of errors causes only less severe findings: infos, and warnings about the same object.

    The errors hid these findings. Such a fix is offered as unsafe, with these findings in its help.
    """
    if not offer.of_errors or offer.messages is not None:
        return False
    own = {wanted[1] for wanted in offer.wants}
    return all(
        finding_key not in offer.wants
        and finding_key not in tried.errors
        and (tried.first[finding_key].severity == "info" or finding_key[1] in own)
        for finding_key in bad
    )


def describe_finding(finding_key: FindingKey, tried: Tried) -> str:
    """Return the rule and the message of a finding after a trial."""
    return f"{finding_key[0]}: {tried.first[finding_key].finding.message}"


def explain_withheld(offer: FixOffer, bad: Sequence[FindingKey], tried: Tried) -> Withheld:
    """Return why edits are not offered, by the findings that they cause."""
    if tried.unread:
        return Withheld("not-editable", detail=tried.unread[0])
    finding_key = next((finding_key for finding_key in bad if finding_key not in offer.wants), bad[0])
    result = tried.first[finding_key]
    text = describe_finding(finding_key, tried)
    own = {wanted[1] for wanted in offer.wants}
    if finding_key in offer.wants:
        return Withheld("finding-stays")
    if finding_key[1] not in own and result.object is not None:
        label = f"{finding_key[1][0]} `{finding_key[1][1]}`"
        changed = {change.name for change in tried.changed if change.old is not None}
        verb = "reads the value too and would have" if finding_key[1] in changed else "would have"
        reader = next((change.old for change in tried.changed if change.name == finding_key[1]), None)
        place = written_place(reader.name_node) if reader is not None else None
        return Withheld("shared", place, f"{label} {verb} {text}")
    return Withheld("new-finding", detail=f"it would make {text}")
