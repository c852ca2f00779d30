"""What a rule reads besides its object's fields: other objects, and words in names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from types import CodeType, FunctionType

from nodelint.base.types import Any
from nodelint.rule.definition import Rule, is_loaded, load_check
from nodelint.rule.suppressions import Suppression
from nodelint.text import Source

_OTHERS = frozenset(
    {
        "auto_mode_classes",
        "chart_pair",
        "classes",
        "classes_of",
        "cluster_pools",
        "defined_classes",
        "definition_elsewhere",
        "duplicates",
        "files",
        "files_around",
        "files_of_run",
        "files_with",
        "fit",
        "foreign_group",
        "has_pool",
        "interchangeable_pools",
        "is_in_files",
        "objects",
        "objects_near",
        "overlays",
        "pools",
        "pools_elsewhere",
        "resolution_with_overlays",
        "run_files",
    }
)
"""Attributes of a context that depend on other objects or files than an object and its class."""


def reads_other_objects(rule: Rule) -> bool:
    """Return whether a rule may read other objects than its own and the class of this object, or reads
    whole files.
    """
    return rule.on in (Source, Suppression) or _names_any(load_check(rule), _OTHERS)


def depends_on_other_files(rule: Rule) -> bool:
    """Return whether other files than that of a finding may decide about it. Rules that only look through all objects
    for patches or conversions do not count.
    """
    return rule.on is Suppression or _names_any(load_check(rule), _OTHERS - {"objects"})


@cache
def _names_any(check: Callable[..., Any], names: frozenset[str]) -> bool:
    """Return whether a function, or another function of its file, uses one of some attributes of a context.

    True if the function has no Python code.
    """
    return not isinstance(check, FunctionType) or any(
        not names.isdisjoint(_list_names(code)) for code in _list_codes(check)
    )


def _list_codes(check: FunctionType) -> list[CodeType]:
    """Return the code objects of a function, and of the other functions of its file."""
    own = [value for value in check.__globals__.values() if isinstance(value, FunctionType)]
    return [check.__code__, *(value.__code__ for value in own if value.__globals__ is check.__globals__)]


def _list_names(code: CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _list_names(constant)
    return names


def keep_rules_of_other_objects(rules: Mapping[str, Rule], reporting: Iterable[str]) -> dict[str, Rule]:
    """Return the rules that read other objects, and the rules that supersede these."""
    asking = {name for name in reporting if reads_other_objects(rules[name])}
    asking |= {other for name in asking for other in rules[name].gives_way_to if other in rules}
    return {name: rule for name, rule in rules.items() if name in asking}


def name_words(rules: Iterable[Rule]) -> frozenset[str]:
    """Return the words for which the loaded rules may look in names."""
    checks = [load_check(rule) for rule in rules if is_loaded(rule)]
    return frozenset(word for check in checks for word in _words_of(check))


@cache
def _words_of(check: Callable[..., Any]) -> frozenset[str]:
    """Return each single word in a rule's file, if the file reads names. Texts with spaces are messages."""
    if not isinstance(check, FunctionType):
        return frozenset()
    codes = _list_codes(check)
    if not any(_NAMES & _list_names(code) for code in codes):
        return frozenset()
    constants = [value for name, value in check.__globals__.items() if not name.startswith("__")]
    found: set[str] = set()
    _add_words([*constants, *(code.co_consts for code in codes)], found)
    return frozenset(word.lower() for word in found if " " not in word)


_NAMES = {"name", "words_of"}


def _add_words(values: Iterable[object], found: set[str]) -> None:
    """Add the texts in constants, at any depth."""
    for value in values:
        if isinstance(value, str):
            found.add(value)
        elif isinstance(value, CodeType):
            _add_words(value.co_consts, found)
        elif isinstance(value, dict):
            _add_words([*value, *value.values()], found)
        elif isinstance(value, tuple | list | set | frozenset):
            _add_words(value, found)
