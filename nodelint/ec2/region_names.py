"""The names of AWS regions."""

from __future__ import annotations

from nodelint.data import table
from nodelint.model.messages import did_you_mean

FORM = (
    r"[a-z]{2,4}(-(gov|iso[a-z]?|[a-z]{2}))?"
    r"-((north|south)(east|west)?|east|west|central)-[1-9][0-9]?"
)
"""The form of a region's name: a geography, in some cases a part of it, a direction and a number."""


def refuse_region(name: str) -> str | None:
    """Return why a name cannot be that of a region, with the nearest known name. None if it can be one.

    A name of the right form may be that of a region that is newer than nodelint.
    """
    import re

    if name in table("regions")["offsets"] or re.fullmatch(FORM, name):
        return None
    near = did_you_mean(name, table("regions")["offsets"])
    return f"`{name}` is not a region such as us-east-1{near}"


def find_unknown_region_note(name: str) -> str | None:
    """Return a note about a region that nodelint does not know. None for a known one."""
    regions = table("regions")["offsets"]
    if name in regions:
        return None
    near = did_you_mean(name, regions)
    return f"the region `{name}` is not known here{near or ', and nothing of it comes with nodelint'}"
