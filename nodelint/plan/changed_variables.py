"""Find objects whose values may come from a changed file of variables that no rendering uses."""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING
from nodelint.forms.registry import TABLE
from nodelint.plan.changed_inputs import find_replaced
from nodelint.plan.uncompared import uncompared

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from nodelint.forms.input_text import InputText
    from nodelint.forms.interface import ValuesElsewhere
    from nodelint.model.gap import Gap
    from nodelint.model.manifest import Object
    from nodelint.plan import Plan, UnreadFiles
    from nodelint.plan.read_side import Read


def find_changed_variables(was: Read, new: Read, plan: Plan, unread: UnreadFiles) -> Iterator[Gap]:
    """Yield a gap for each pool or class that may depend on a changed value of such a file.

    Objects whose nodes are all replaced, and those that the plan reports as not compared, are skipped. If a side
    cannot read a file that differs, the plan reports that file, and the variables of an object are not known: nothing
    is yielded.
    """
    if unread.files:
        return
    named = {place.subject for place in plan.uncompared if place.decides}
    replaced = find_replaced(plan)
    sides: list[list[ValuesElsewhere]] = []
    for pair in (*(pool.pair for pool in plan.pools), *plan.classes):
        if pair.old is None or pair.new is None or id(pair.new) in replaced:
            continue
        sides = sides or [_load_finders(was), _load_finders(new)]
        if not any(sides):
            return
        both = [plan.written.get(id(obj), obj) for obj in (pair.old, pair.new)]
        before, after = (_list_values(finders, obj) for finders, obj in zip(sides, both, strict=True))
        changed = _find_change(before, after)
        label = f"{pair.new.kind} {pair.new.name if isinstance(pair.new.name, str) else pair.new.name_node.unquoted}"
        if changed is not None and label not in named:
            reason = (
                f"`{changed.name}` changes in `{changed.caller}`; it is not known whether the file is applied with it"
            )
            yield uncompared(changed.at, label, reason, True)._replace(object=pair.new)


def _load_finders(side: Read) -> list[ValuesElsewhere]:
    found = (
        row.load().find_variables_elsewhere(side.found.sources, side.root)
        for row in TABLE.of_languages(side.found.seen)
    )
    return [finder for finder in found if finder is not None]


_Values = dict[str, dict[str, "InputText"]]


def _list_values(finders: Sequence[ValuesElsewhere], obj: Object) -> _Values:
    """Return the values of an object by name, for each file of variables."""
    found: _Values = {}
    for finder in finders:
        for given in finder.list_values(obj):
            found.setdefault(given.caller, {})[given.name] = given
    return found


def _find_change(before: _Values, after: _Values) -> InputText | None:
    """Return a value that only one side has. None if there is none.

    A file that moves with the same values is no change.
    """
    gone = [_texts_of(values) for place, values in before.items() if place not in after]
    come = [_texts_of(values) for place, values in after.items() if place not in before]
    for mine, others, moved in ((after, before, gone), (before, after, come)):
        for place, values in mine.items():
            theirs = others.get(place, {})
            if place not in others and _texts_of(values) in moved:
                continue
            for name, given in values.items():
                if name not in theirs or theirs[name].text != given.text:
                    return given
    return None


def _texts_of(values: Mapping[str, InputText]) -> dict[str, str]:
    return {name: given.text for name, given in values.items()}
