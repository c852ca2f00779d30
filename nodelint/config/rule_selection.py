"""Select the rules that report findings, by the names of a configuration and its options."""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING
from nodelint.config.file import ConfigError
from nodelint.model.messages import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from nodelint.config.settings import Settings
    from nodelint.lint.engine import Selection
    from nodelint.rule.definition import Rule


def selection(settings: Settings, rules: Mapping[str, Rule]) -> Selection:
    """Return the selection of rules that report findings. A group or subject selects its rules, `all` selects every
    rule.

    Raise ConfigError for an unknown name, and if no rule is selected. Names are compared without case.
    """
    from nodelint.lint.engine import Selection
    from nodelint.rule.classification import GROUPS, PROFILES, SUBJECTS
    from nodelint.rule.definition import former_names

    former = former_names(rules)
    several = {*GROUPS, *map(_plain_word, SUBJECTS), "all"}
    for name in named_rules(settings):
        word = _plain_word(name)
        if not {name, word} & (rules.keys() | former.keys()) and (word not in several or name in settings.options):
            raise ConfigError(settings.placed(name, no_rule(name, [*rules, *several])))

    for name in (*(settings.select or ()), *settings.extend_select):
        exact_rule = rules.get(former.get(name, name))
        if exact_rule is not None and exact_rule.preview and not settings.preview:
            raise ConfigError(settings.placed(name, f"the rule `{name}` is a preview: {_PREVIEW_HINT}"))

    def names_of(names: frozenset[str]) -> frozenset[str]:
        if not names:
            return names
        exact = {former.get(name, name) for name in names}
        words = {former.get(word, word) for word in map(_plain_word, names)}
        return frozenset(
            name
            for name, rule in rules.items()
            if name in exact or words & {name, rule.group, _plain_word(rule.subject), "all"}
        )

    select = None if settings.select is None else names_of(settings.select)
    by_glob = {glob: names_of(names) for glob, names in settings.per_path.items()}
    ignore, groups = names_of(settings.ignore), PROFILES[settings.profile]
    extra = names_of(settings.extend_select)
    if select is not None and not select | extra:
        raise ConfigError("select names no rule: nothing would be judged; `nodelint rule` lists the rules")
    found = Selection(select, ignore, by_glob, settings.root, groups, extra, settings.preview, settings.seen_as)
    if ignore and not any(map(found.enables, rules.values())):
        raise ConfigError("`ignore` leaves out every rule: nothing would be judged; name the rules to leave out")
    return found


_PREVIEW_HINT = "it reports only with --preview, or with `preview: true` in nodelint.yaml"


def _plain_word(name: str) -> str:
    """Return a name in lower case with hyphens instead of spaces: `user-data`."""
    return name.lower().replace(" ", "-")


def named_rules(settings: Settings) -> list[str]:
    """Return the rules, groups and subjects that a configuration and its options name, in no particular order."""
    per_path = [name for names in settings.per_path.values() for name in names]
    select = (*(settings.select or ()), *settings.extend_select)
    return [*select, *settings.ignore, *per_path, *settings.options]


def no_rule(name: str, rules: Iterable[str]) -> str:
    """Return the error message for a name that no rule has."""
    return f"there is no rule `{name}`{did_you_mean(name.lower(), rules)}; `nodelint rule` lists the rules"
