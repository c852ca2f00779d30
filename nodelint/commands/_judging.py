"""What the commands that judge manifests begin with: read them, with what they refer to and what is known of AWS."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nodelint.commands import context_of, no_rule, target_of
from nodelint.tuples import NamedTuple

if TYPE_CHECKING:
    from nodelint.commands._facts import Asked
    from nodelint.config import Settings
    from nodelint.discover import Discovery
    from nodelint.engine import Selection, Target
    from nodelint.facts import Facts
    from nodelint.rule import Rule
    from nodelint.source import Source


class Judging(NamedTuple):
    """All that is needed to judge: `beside` are sources read for context, `file` is where `facts` are from."""

    target: Target
    rules: dict[str, Rule]
    selection: Selection
    beside: list[Source]
    facts: Facts
    file: str | None

    @property
    def how(self) -> tuple[Target, dict[str, Rule], Selection, list[Source]]:
        """What `engine.lint` and `engine.fix` take behind the sources."""
        return self.target, self.rules, self.selection, self.beside


def judging(found: Discovery, asked: Asked, settings: Settings, paths: Sequence[str]) -> Judging:
    """Get ready to judge; ends the run where rules, CRDs or a snapshot that it names cannot be used."""
    from nodelint import rule
    from nodelint.commands._facts import facts_for
    from nodelint.manifest import EC2NodeClass, objects

    rules = rule.load(rule.bundled())
    selection, target = _selection(settings, rules), target_of(settings)
    held = [obj for source in found.sources for obj in objects(source)]
    beside = context_of(held, found.sources, settings)
    classes = [o for s in (*found.sources, *beside) for o in objects(s) if isinstance(o, EC2NodeClass)]
    facts, file = facts_for(asked, settings, paths, classes)
    return Judging(target._replace(facts=facts), rules, selection, beside, facts, file)


def _selection(settings: Settings, rules: dict[str, Rule]) -> Selection:
    from nodelint.engine import Selection

    per_path = [name for names in settings.per_path.values() for name in names]
    for name in [*(settings.select or ()), *settings.ignore, *per_path]:
        if name not in rules and name != "all":
            no_rule(name, rules)

    def named(names: frozenset[str]) -> frozenset[str]:
        return frozenset(rules) if "all" in names else names

    select = None if settings.select is None else named(settings.select)
    by_glob = {glob: named(names) for glob, names in settings.per_path.items()}
    return Selection(select, named(settings.ignore), by_glob, settings.root)
