"""The label keys and values that a release knows, and the probable meaning of misspelled ones.

Properties of instance types come from the catalogue, all other values from `data/vocabulary.json`. A correction is
suggested only if it is the only near one. Names of families and numbers are too similar to guess (`c7id` is one
letter from six families); words such as `on_demand` are not.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache, lru_cache

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import Any
from nodelint.data import table
from nodelint.ec2.catalog import Catalog
from nodelint.ec2.place_names import list_zones, state_of_place
from nodelint.ec2.type_set import TypeSet
from nodelint.karpenter.pool_requirements import PoolRequirement, requirements_of
from nodelint.karpenter.spelling import LEAST_FOR_A_GUESS, Words, distance, squash
from nodelint.karpenter.value_spelling import Slip, ValueSpelling
from nodelint.model.close_names import CloseNames
from nodelint.model.keys import FAMILY, FLEX, ZONE, ZONE_ID
from nodelint.model.manifest import NodePool
from nodelint.model.releases import NEWEST, Version
from nodelint.model.requirement import well_known, well_known_since

EVERYTHING = ("*", "**", ".*")
"""Patterns that people write to mean every value."""


def name_of(key: str) -> str:
    """Return a label key without its domain, for messages."""
    return key.rpartition("/")[2]


def is_pattern(value: str) -> bool:
    """Return whether a value is written as a pattern. Karpenter reads it as plain text, which is no valid label
    value.
    """
    return "*" in value or "?" in value or ("[" in value and "]" in value)


def patterns_among(values: Sequence[str]) -> list[str]:
    """Return the values that are written as patterns."""
    letters = "".join(values)  # test all values at once: few lists contain a pattern
    return [value for value in values if is_pattern(value)] if any(map(letters.__contains__, "*?[")) else []


def standing_for(pattern: str, values: Iterable[str]) -> list[str]:
    """Return the values that the author of a pattern probably meant; `m5.2xlarge` comes before `m5.12xlarge`.

    The pattern is read as a shell pattern. If it matches nothing, `.*` or `.+` at its end is read as in a regular
    expression.
    """
    from fnmatch import translate

    known = list(values)
    matches = re.compile(translate(pattern)).match
    found = [value for value in known if matches(value)]
    if not found and pattern.endswith((".*", ".+")):
        matches = re.compile(translate(pattern.lstrip("^")[:-2] + "*")).match
        found = [value for value in known if matches(value)]
    return sorted(found, key=natural)


def natural(value: str) -> tuple[tuple[int, int, str], ...]:
    """Return a sort key that orders numbers within a text by their value."""
    parts = re.split(r"(\d+)", value)
    return tuple((1, int(part), "") if part.isdigit() else (0, 0, part) for part in parts)


def since(key: str, value: str) -> Version | None:
    """Return the release that introduced a value that is not a property of instance types. None for all other
    values.
    """
    text = _facts()["values"].get(key, {}).get(value)
    return None if text is None else Version.parse(text)


def words_of(name: object) -> tuple[str, ...]:
    """Return the words of an object's name, separated at hyphens and dots. Empty for a placeholder."""
    return tuple(name.lower().replace(".", "-").split("-")) if isinstance(name, str) else ()


def fallback_words() -> frozenset[str]:
    """Return the words that people put into the name of a NodePool that is a fallback for another."""
    return frozenset(_facts()["fallbacks"])


def known_values(key: str, catalog: Catalog) -> Collection[str] | None:
    """Return every value that a key can have in the catalogue's release. None if the values are not known offline."""
    return catalog.remembered(("known values", key), lambda: _known_values(key, catalog))


def _known_values(key: str, catalog: Catalog) -> Collection[str] | None:
    if key not in well_known(catalog.version):
        return None
    if key in _facts()["values"]:
        return _of_release(key, catalog.version)
    if key not in catalog.keys:
        return None
    return catalog.values(key).keys() or None


def can_have(key: str, value: str, catalog: Catalog) -> bool | None:
    """Return whether a key can have a value. None if the answer is not known offline. The name of a region or zone is
    judged by its form only.
    """
    return _spelling(key, catalog).can_have(value)


def nearest_value(key: str, value: str, catalog: Catalog) -> str | None:
    """Return the correct value that was probably meant by a misspelled value of a key. None if the value is correct,
    or if no value or several are near.
    """
    return _spelling(key, catalog).nearest(value)


def slips_of(pool: NodePool, catalog: Catalog) -> tuple[tuple[PoolRequirement, dict[str, Slip]], ...]:
    """Return the `In` and `NotIn` requirements of a NodePool with values that their key cannot have, each with these
    values.
    """

    def find() -> Iterator[tuple[PoolRequirement, dict[str, Slip]]]:
        for item in requirements_of(pool):
            if item.operator in ("In", "NotIn") and (slips := slips_among(item.key, item.texts, catalog)):
                yield item, slips

    return pool.once("slips", (catalog,), lambda: tuple(find()))


def slips_among(key: str, values: Iterable[str], catalog: Catalog) -> dict[str, Slip]:
    """Return the values that a key cannot have, each with what was probably meant."""
    return _spelling(key, catalog).slips(values)


def _spelling(key: str, catalog: Catalog) -> ValueSpelling:
    def make() -> ValueSpelling:
        return ValueSpelling(
            key, catalog, known_values(key, catalog), lambda: catalog.remembered("homes", lambda: _homes(catalog))
        )

    spelling: ValueSpelling = catalog.remembered(("spelling", key), make)
    return spelling


def _homes(catalog: Catalog) -> dict[str, list[str]]:
    """Return the keys of each label value. Only keys whose values identify the key are included, such as
    `karpenter.k8s.aws/instance-family`.
    """
    facts, served = _facts(), well_known(catalog.version)
    homes: dict[str, list[str]] = {}
    for key in facts["telling"]:
        if key in served:
            for value in {*(known_values(key, catalog) or ()), *facts["synonyms"].get(key, ())} - {""}:
                homes.setdefault(value, []).append(key)
    return homes


def form_of(key: str, value: str = "") -> str | None:
    """Return in words the form of the values of a region or zone key, or the zones of the region that a value names.

    None for other keys.
    """
    found = table("vocabulary")["examples"].get(key)
    return None if found is None else list_zones(key, value) or str(found)


def is_newer_zone(key: str, value: str) -> bool:
    """Return whether a value is a zone that nodelint does not know and that AWS may have added."""
    return key in (ZONE, ZONE_ID) and state_of_place(key, value) == "newer"


def unit_of(key: str) -> str | None:
    """Return the unit of a key's numbers if it is not obvious: `MiB`, `Mbit/s`. None otherwise."""
    unit = _facts()["units"].get(key)
    return None if unit is None else str(unit["name"])


class NearKey(NamedTuple):
    """The well-known key that was probably meant. `sure` is true if the fault is small enough to correct the key."""

    key: str
    sure: bool


def nearest_key(item: PoolRequirement, catalog: Catalog) -> NearKey | None:
    """Return the well-known key that was probably meant by a key that Karpenter does not know.

    None for keys that are well known in any release, and for custom keys: those of another domain than Kubernetes' or
    AWS's. A key without a domain is custom too, unless its values are those of the well-known key.
    """
    written = item.written
    if well_known_since(item.key) is not None:
        return None
    return _find_near_key(item, catalog) if "/" not in written else _near_key(written, catalog.version)


@lru_cache(maxsize=1 << 15)
def _near_key(written: str, release: Version) -> NearKey | None:
    """Return the well-known key that was probably meant by a key with a domain. None if it is a custom key, or if
    none is near.
    """
    served = _served(release)
    domain, _, name = written.rpartition("/")
    same = _same_key(written, release)
    kin = _kin(domain, release)
    if kin is None:
        # a key such as `karpenter.aws/instance-family` is not a label of the user
        own = "karpenter" not in domain or not name.startswith("instance-") or len(same) != 1
        return None if own else NearKey(same[0], True)
    if domain.endswith("amazonaws.com") and not name.startswith("instance-"):
        return None  # node groups have labels of this domain: eks.amazonaws.com/capacityType
    if same:
        return NearKey(same[0], True)
    near = _names(domain, release).nearest(name, abbreviated=kin and len(name) > LEAST_FOR_A_GUESS)
    if near is not None:
        meant = [key for key in served if name_of(key) == near]
        return NearKey(meant[0], True) if len(meant) == 1 else None
    if not kin:
        return None
    loose = _close_names(release).closest(name, cutoff=0.8)
    return None if loose is None else NearKey(next(key for key in served if name_of(key) == loose), False)


@cache
def _served(release: Version) -> tuple[str, ...]:
    """Return the well-known keys of a release, except the one that only Karpenter sets."""
    return tuple(sorted(well_known(release) - {"karpenter.sh/nodepool"}))


@cache
def _close_names(release: Version) -> CloseNames:
    return CloseNames(map(name_of, _served(release)))


@cache
def _by_spelling(release: Version) -> dict[str, list[str]]:
    """Return the well-known keys of a release by their name, and by their whole key without separators and
    capitals.
    """
    found: dict[str, list[str]] = {}
    for key in _served(release):
        for spelling in {name_of(key), f"/{squash(key)}"}:
            found.setdefault(spelling, []).append(key)
    return found


def _same_key(written: str, release: Version) -> list[str]:
    """Return the well-known keys with the name of a written key. If there are several, return those that differ only
    in case and separators.
    """
    spelt = _by_spelling(release)
    alike = spelt.get(f"/{squash(written)}", [])
    same = sorted({*spelt.get(name_of(written), ()), *alike})
    return same if len(same) <= 1 else alike


@lru_cache(maxsize=256)
def _names(domain: str, release: Version) -> Words:
    """Return the names that a misspelled name of a domain may mean. Short names count only in their own domain."""
    keys = ((key, name_of(key)) for key in _served(release))
    return Words(name for key, name in keys if len(name) > LEAST_FOR_A_GUESS or key.startswith(f"{domain}/"))


def installs_driver(script: str, variant: str) -> bool:
    """Return whether a script names a package or an installer of a driver for `nvidia` or `neuron` devices."""
    lines = [line for line in script.lower().split("\n") if not line.lstrip().startswith("#")]
    return any(word in line for line in lines for word in _facts()["drivers"].get(variant, ()))


def is_shared_tag(key: str) -> bool:
    """Return whether resources of all kinds have a tag with this key: `Environment`, `team`, `ManagedBy`."""
    return re.sub(r"[-_: ]", "", key).lower() in _facts()["shared_tags"]


def means_ready(tag: str) -> bool:
    """Return whether a tag key contains a word that people use for images that are ready: `ImageStatus`,
    `image-verified`.
    """
    return any(word.lower() in _facts()["ready"] for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", tag))


def find_sibling_families(families: Iterable[str], types: TypeSet, catalog: Catalog) -> list[str]:
    """Return for each family the most similar one of `types`: `m7g` for `m7i`, if `types` are arm64.

    A sibling has the same category, such as `m`, and no letters after its generation except the processor's. The
    sibling of the next generation that is at least as new comes first, else the newest. Families without a sibling
    are omitted.
    """
    known = [
        match for name, of in catalog.values(FAMILY).items() if of & types and (match := re.fullmatch(_FAMILY, name))
    ]
    found = []
    for family in families:
        own = re.match(_CATEGORY, family)
        if own is None:
            continue
        category, generation = own[1], int(own[2])
        siblings = sorted((int(m[2]), _PROCESSORS.index(m[3]), m[0]) for m in known if m[1] == category)
        newer = [sibling for sibling in siblings if sibling[0] >= generation]
        if siblings:
            found.append((newer or siblings[-1:])[0][2])
    return list(dict.fromkeys(found))


_CATEGORY = r"([a-z]+)(\d+)"
_PROCESSORS = ("i", "g", "a", "")
_FAMILY = rf"{_CATEGORY}([iga]?)"


def flex_families(catalog: Catalog) -> frozenset[str]:
    """Return the families of flex types in the catalogue. They are the same for every release, although older
    releases have no label for them.
    """
    return catalog.distinct(FAMILY, flex_types(catalog))


def flex_types(catalog: Catalog) -> TypeSet:
    """Return the flex types of the catalogue. They are the same for every release."""
    return catalog.for_release(NEWEST).having_value(FLEX, "true")


def _find_near_key(item: PoolRequirement, catalog: Catalog) -> NearKey | None:
    """Return the well-known key that was probably meant by a key without a domain.

    None if it is a custom label, which is valid: the values must be those of the well-known key.
    """
    if item.is_label:
        return None
    served = _served(catalog.version)
    same = _same_key(item.written, catalog.version)
    if not same:
        near = None
        if item.written.startswith("instance-"):
            near = _names("", catalog.version).nearest(item.written, abbreviated=False)
        same = [key for key in served if name_of(key) == near]
    if len(same) != 1:
        return None
    key = same[0]
    values = known_values(key, catalog)
    form = _facts()["forms"].get(key)
    if values is None and form is None:
        return None
    if not item.texts or not all(
        value in values if values is not None else re.fullmatch(form, value) for value in item.texts
    ):
        bounded = item.operator in ("Gt", "Lt", "Gte", "Lte") and item.written.startswith("instance-")
        return NearKey(key, True) if bounded else None
    return NearKey(key, True)


@lru_cache(maxsize=256)
def _kin(domain: str, release: Version) -> bool | None:
    """Return True for Karpenter's own domains, False for another domain of Kubernetes or AWS or a misspelled one,
    None for all others.
    """
    if domain in ("karpenter.k8s.aws", "karpenter.sh"):
        return True
    if any(domain == kin or domain.endswith("." + kin) for kin in _facts()["kin_domains"]):
        return False
    domains = {key.rpartition("/")[0] for key in _served(release)}
    return False if any(distance(domain, known, 2) <= 2 for known in domains) else None


@cache
def _of_release(key: str, release: Version) -> frozenset[str]:
    values = _facts()["values"][key]
    return frozenset(value for value, first in values.items() if Version.parse(first) <= release)


def _facts() -> dict[str, Any]:
    return table("vocabulary")
