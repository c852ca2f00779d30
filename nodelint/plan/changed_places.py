"""Move reasons for drift to the input that changes, if the text around the value itself is the same on both sides."""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING
from nodelint.forms.input_text import list_changed_inputs
from nodelint.model.finding import Span, span_of
from nodelint.model.folders import path_below
from nodelint.plan.changed_inputs import SideInputs
from nodelint.text import UNKNOWN, Node

if TYPE_CHECKING:
    from nodelint.forms.input_text import InputText
    from nodelint.plan import Plan
    from nodelint.plan.outcome import PoolPlan
    from nodelint.plan.read_side import Read
    from nodelint.plan.reasons import Reason

_MOST = 50
"""The most places whose inputs are compared in one plan."""


def move_reasons(was: Read, new: Read, plan: Plan) -> Plan:
    """Return a plan whose reasons point at the changed input, such as a line of a `.tfvars` file.

    A reason keeps its place if the file of the value itself changes, or if no single input explains the change.
    """
    places = _ChangedPlaces(was, new)
    return plan._replace(pools=tuple(places.move(pool) for pool in plan.pools))


class _ChangedPlaces:
    """Finds the inputs that change values of the new side."""

    def __init__(self, was: Read, new: Read) -> None:
        self._was, self._new = was, new
        self._finders: list[SideInputs] = []
        self._old, self._shown = (
            {path_below(file.path, side.root): file for file in side.found.sources} for side in (was, new)
        )
        self._found: dict[tuple[str, int, int], list[InputText]] = {}

    def move(self, pool: PoolPlan) -> PoolPlan:
        """Return the plan of a pool with its reasons at the changed inputs."""
        reasons = pool.verdict.reasons
        if pool.pair.new is None or not any(_is_of_a_value(reason) for reason in reasons):
            return pool
        built = pool.pair.new.source.built
        label = str(built.label) if built is not None else ""
        moved = tuple(
            reason._replace(at=self._find(reason.at, label) or reason.at) if _is_of_a_value(reason) else reason
            for reason in reasons
        )
        return pool._replace(verdict=pool.verdict._replace(reasons=moved))

    def _find(self, at: Node | Span, label: str) -> Span | None:
        """Return the place of the one input that changes a value. None if it is not certain."""
        span = span_of(at)
        key = (span.source.path, span.start, span.end)
        if key not in self._found:
            self._found[key] = self._compare(span) if len(self._found) < _MOST else []
        changed = [given for given in self._found[key] if not given.is_call]
        named = tuple(part for part in label.split(", ") if part)
        of_label = [given for given in changed if given.at.source.path.endswith(named)]
        places = {(given.at.source.path, given.at.start): given.at for given in of_label or changed}
        if len(places) != 1:
            return None
        [place] = places.values()
        shown = self._shown.get(path_below(place.source.path, self._new.root))
        return place if shown is None else Span(shown, place.start, place.end)

    def _compare(self, at: Span) -> list[InputText]:
        """Return the inputs of the new side that change, if the file of the value does not."""
        old = self._old.get(path_below(at.source.path, self._new.root))
        if old is None or old.text != at.source.text:
            return []
        self._finders = self._finders or [SideInputs(self._was), SideInputs(self._new)]
        before = self._finders[0].list_value_inputs(Node(old, at.start, at.end, "scalar", "plain", UNKNOWN))
        after = self._finders[1].list_value_inputs(Node(at.source, at.start, at.end, "scalar", "plain", UNKNOWN))
        own = {id(given) for given in after}
        return [given for given in list_changed_inputs(before, after) if id(given) in own]


def _is_of_a_value(reason: Reason) -> bool:
    return reason.change is not None and not reason.of_cluster
