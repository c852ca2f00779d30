"""A problem that the controller reports for an object that the API server accepts."""

from __future__ import annotations

from nodelint.base.tuples import NamedTuple
from nodelint.model.finding import Severity
from nodelint.text import Node

NO_LAUNCH = "EC2 refuses every launch with this class"


class Choice(NamedTuple):
    """A value that may have been meant, and what it is in words.

    `node` is where it goes; None for the place of the problem.
    """

    name: str
    value: str | int
    node: Node | None = None


class ControllerProblem(NamedTuple):
    """One thing that admission lets through and that does not work.

    `node` is the tightest place. `kind` is a slug that identifies the problem, so that a rule which
    explains one of them better can win. `consequence` is what happens at run time, in words that do
    not depend on the value. `suggestion` is the text that should stand at the place, where it is plain;
    `choices` are values of which only the author knows which. `wanted` is the JSON type that the value should have
    and has not.
    """

    node: Node
    message: str
    kind: str
    severity: Severity
    consequence: str
    suggestion: str | None = None
    choices: tuple[Choice, ...] = ()
    wanted: str = ""
