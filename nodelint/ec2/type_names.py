"""Names of instance types and families that the catalogue lacks: offered in other regions, newer, or retired by
AWS.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import cache

from nodelint.data import DATA, table
from nodelint.ec2.catalog import Catalog
from nodelint.ec2.type_set import NONE
from nodelint.model.keys import CATEGORY, FAMILY, GENERATION, INSTANCE_TYPE, SIZE
from nodelint.model.requirement import Requirement

MAC = ("mac1", "mac2", "mac-")
"""Prefixes of mac types. Karpenter requests only the architectures x86_64 and arm64, and mac types have others."""


@cache
def tables_alone() -> Catalog:
    """Return the types that the controller's tables have but the catalogue lacks: no region of the catalogue's source
    offers them.

    Other regions offer them, or did. Bandwidth is their only label.
    """
    return Catalog.load(f"{DATA}/tables.json")


def named_elsewhere(key: str, values: Iterable[str], catalog: Catalog) -> list[str]:
    """Return the types or families among some values that the catalogue lacks but Karpenter's tables or EC2's API
    know.
    """
    unknown = _unknown_names(key, values, catalog)
    return [value for value in unknown if value in names_elsewhere(key)] if unknown else []


def _unknown_names(key: str, values: Iterable[str], catalog: Catalog) -> list[str]:
    """Return the values of a key that the catalogue lacks. Empty unless the key is that of instance types or
    families.
    """
    if key not in (INSTANCE_TYPE, FAMILY):
        return []
    known = catalog.values(key)
    return [value for value in values if value not in known]


@cache
def names_elsewhere(key: str) -> frozenset[str]:
    """Return the types or families that Karpenter's tables or the EC2 API contain. Empty unless the key is that of
    the type or the family.
    """
    if key not in (INSTANCE_TYPE, FAMILY):
        return frozenset()
    from nodelint.ec2.api_names import api_types

    names: Iterable[str] = (*tables_alone(), *api_types())
    names = [name for name in names if not name.startswith(MAC)]
    return frozenset(names if key == INSTANCE_TYPE else [name.partition(".")[0] for name in names])


_SIZE_OF_NUMBER = r"(?:metal-)?[0-9]{1,3}(?:xlarge|xl)"
_NAME = r"([a-z]{1,30})(?:-[0-9]{1,9}tb)?([0-9]{1,9}).{0,100}\.(.{1,100})"
"""Karpenter's regular expression for the category and the generation in a type's name."""
NAME_KEYS = (CATEGORY, GENERATION, FAMILY, SIZE, INSTANCE_TYPE)
"""The labels that follow from a type's name."""


def newer_type(requirements: Iterable[Requirement], catalog: Catalog, not_sizes: Collection[str] = ()) -> str | None:
    """Return a type that is newer than the catalogue and whose name meets the requirements. None if there is none.

    EC2's API knows such a type by name. Types of `not_sizes` do not count: EKS Auto Mode launches no small ones. Only
    labels that follow from the name are compared. If the other requirements exclude all types of the catalogue, the
    result is None.
    """
    every = tuple(requirements)
    if not catalog.fitting(requirement for requirement in every if requirement.key not in NAME_KEYS):
        return None
    by_name = [requirement for requirement in every if requirement.key in NAME_KEYS]
    if not by_name:
        return None
    from nodelint.ec2.api_names import api_types

    known = api_types()
    return next(
        (
            name
            for name, labels in catalog.remembered(("newer", known), lambda: _newer_types(catalog, known)).items()
            if labels[SIZE] not in not_sizes
            and all(requirement.admits(labels[requirement.key]) for requirement in by_name)
        ),
        None,
    )


def is_newer_name(name: str, catalog: Catalog) -> bool:
    """Return whether a type or family may be newer than the catalogue: its category has no later generation.

    A family of the previous generation may still get new sizes.
    """
    found = re.fullmatch(_NAME, name if "." in name else f"{name}.large")
    if found is None:
        return False
    known = catalog.values(CATEGORY).get(found[1], NONE)
    newest = max((int(value) for value in catalog.distinct(GENERATION, known)), default=None)
    if newest is None:
        return False
    family = name.partition(".")[0]
    gets_sizes = re.fullmatch(_SIZE_OF_NUMBER, found[3]) is not None and family in catalog.values(FAMILY)
    return int(found[2]) >= newest - int("." in name and gets_sizes)


_SHAPE_OF_FAMILY = r"[a-z]{1,3}[0-9]{1,2}[a-z]{0,5}(?:-[a-z0-9]{1,12})?"
_SHAPE_OF_SIZE = r"(?:metal-)?[0-9]{1,3}(?:xlarge|xl)"


def may_be_new(key: str, value: str, catalog: Catalog) -> bool:
    """Return whether a size, family or type has the form of one that AWS may add, of a category that the catalogue
    lacks. False for mac types: Karpenter never launches them.

    `is_newer_name` judges categories that the catalogue has.
    """
    if key == SIZE:
        return re.fullmatch(_SHAPE_OF_SIZE, value) is not None
    family, dot, size = value.partition(".")
    if (
        value.startswith(MAC)
        or re.fullmatch(_SHAPE_OF_FAMILY, family) is None
        or (dot and re.fullmatch(_SHAPE_OF_SIZE, size) is None)
    ):
        return False
    category = re.fullmatch(_NAME, f"{family}.large")
    return category is not None and not catalog.values(CATEGORY).get(category[1], NONE)


def _newer_types(catalog: Catalog, known: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return the types that EC2's API knows and that are newer than the catalogue, with the labels that follow from
    their names.
    """
    found = {}
    for name in sorted(name for name in known if name not in catalog):
        parts = re.fullmatch(_NAME, name)
        if parts is not None and is_newer_name(name, catalog):
            family = name.partition(".")[0]
            values = (parts[1], parts[2], family, parts[3], name)
            found[name] = dict(zip(NAME_KEYS, values, strict=True))
    return found


def retired(key: str, values: Iterable[str], catalog: Catalog) -> dict[str, str]:
    """Return the types or families among some values that AWS is retiring, each with its replacement."""
    unknown = _unknown_names(key, values, catalog)
    if not unknown:
        return {}
    ended, of_types = table("retired"), key == INSTANCE_TYPE
    types, families = (ended["types"] if of_types else {}), ended["families"]
    found: dict[str, str] = {}
    for value in unknown:
        family, _, size = value.partition(".")
        if value in types:
            found[value] = types[value]
        elif family in families and bool(size) == of_types:
            found[value] = families[family]
    return found


def accelerated_once(value: str) -> bool:
    """Return whether a type or family that AWS is retiring has GPUs or other devices."""
    return value.partition(".")[0] in table("retired")["accelerated"]
