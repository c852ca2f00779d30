"""Thresholds of rules in a configuration: `rules: {small-volume: {gib: 30}}`."""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING
from nodelint.config.file import ConfigError, ConfigFile
from nodelint.model.messages import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from nodelint.rule.definition import Rule


def read_options(given: ConfigFile) -> dict[str, dict[str, object]]:
    """Return the thresholds by rule: all keys of `rules` except `folders`. Whether the options exist is checked when
    the rules are loaded. Raise ConfigError if a rule's value is not a mapping.
    """
    value = given.values.get("rules")
    if not isinstance(value, dict):
        return {}
    found = {}
    for name, options in value.items():
        if name == "folders":
            continue
        if not isinstance(options, dict):
            wanted = "a mapping of the rule's options to values is wanted"
            raise ConfigError(f"{given.place('rules')}: `{name}`: {wanted}, not `{options}`")
        found[str(name)] = {str(option): setting for option, setting in options.items()}
    return found


def option_values(
    rule: Rule, values: Mapping[str, object], placed: Callable[[str, str], str] = lambda _, message: message
) -> dict[str, object]:
    """Return the values of a rule's options.

    Raise ConfigError for an option that the rule does not have, or a value of another type. `placed` adds the place
    of a name to a message.
    """
    known = {option.name: option for option in rule.options}
    for name, value in values.items():
        if name not in known:
            has = f"; its options: {', '.join(known)}" if known else "; it has none"
            message = f"rules: `{rule.name}` has no option `{name}`{did_you_mean(name, known) or has}"
            raise ConfigError(placed(name, message))
        wanted = type(known[name].default)
        fits = isinstance(value, (int, float) if wanted is float else wanted) and not isinstance(value, bool)
        if not fits or (isinstance(value, int | float) and value < 0):
            words = {int: "a whole number of 0 or more", float: "a number of 0 or more", str: "a text"}[wanted]
            raise ConfigError(placed(name, f"rules: `{rule.name}`: `{name}` must be {words}, not `{value}`"))
    return dict(values)
