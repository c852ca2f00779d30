"""The names of regions and zones, and the ids of zones: which AWS has, may have added since, or cannot have."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from nodelint.base.types import TYPE_CHECKING
from nodelint.data import table
from nodelint.ec2.region_names import FORM
from nodelint.model.keys import REGION, ZONE, ZONE_ID

if TYPE_CHECKING:
    from typing import Literal

    State = Literal["known", "newer", "impossible"]

_MORE = 2
"""How many zones AWS may have added to a region since the table was made."""
_CODE = r"([a-z]{2,4})(?:[ns][ew]?|[ewc])[0-9]+"
"""The part of a zone's id that names its region: a geography, the first letters of a direction, and a number."""


@lru_cache(maxsize=4096)
def state_of_place(key: str, text: str) -> State:
    """Return whether a region, a zone or a zone id exists. `newer` is one that AWS may have added since the table.

    Zones of a region that is not in the table, Local Zones and Wavelength Zones count as known if their region can
    exist: the table does not list them.
    """
    if re.fullmatch(table("vocabulary")["forms"][key], text) is None:
        return "impossible"
    if key == ZONE_ID:
        code, _, rest = text.partition("-")
        if code not in _codes():
            return "known" if _is_code(code) else "impossible"
        if not re.fullmatch("az[0-9]+", rest):
            return "known"
        number = re.fullmatch("az([1-9][0-9]?)", rest)
        return _judge_number(_codes()[code], int(number[1])) if number is not None else "impossible"
    found = re.match(table("vocabulary")["forms"][REGION], text)
    region = found[0] if found is not None else ""
    if not _is_region(region):
        return "impossible"
    letter = text[len(region) :] if key == ZONE else ""
    return _judge_number(region, ord(letter) - ord("a") + 1) if len(letter) == 1 else "known"


def list_zones(key: str, text: str) -> str | None:
    """Return in words which zones the region of a zone has. None if the table does not have the region."""
    head, _, _ = text.partition("-")
    region = _codes().get(head) if key == ZONE_ID else text[:-1]
    code, most = table("regions")["zones"].get(region, (None, 0))
    if code is None or key == REGION:
        return None
    first, last = (f"{code}-az1", f"az{most}") if key == ZONE_ID else (f"{region}a", f"{region}{chr(96 + most)}")
    return f"the zones of {region} are {first} to {last}, as of {table('regions')['date']}"


def _judge_number(region: str, number: int) -> State:
    row = table("regions")["zones"].get(region)
    return "known" if row is None or number <= row[1] else "newer" if number <= row[1] + _MORE else "impossible"


def _is_region(name: str) -> bool:
    if name in table("regions")["offsets"]:
        return True
    return re.fullmatch(FORM, name) is not None and not _is_turned(name.partition("-")[0])


def _is_code(code: str) -> bool:
    found = re.fullmatch(_CODE, code)
    return found is not None and not _is_turned(found[1][:2])


def _is_turned(geography: str) -> bool:
    """Return whether a geography has the letters of a known one in another order: `su` for `us`."""
    known = {name.partition("-")[0] for name in table("regions")["offsets"]}
    return geography not in known and sorted(geography) in [sorted(name) for name in known]


@cache
def _codes() -> dict[str, str]:
    """Return the regions by the code that the ids of their zones begin with."""
    return {row[0]: region for region, row in table("regions")["zones"].items()}
