"""A problem that the controller finds in an object that the API server accepts."""

from __future__ import annotations

from nodelint.base.tuples import NamedTuple
from nodelint.model.finding import Severity
from nodelint.text import Node

NO_LAUNCH = "EC2 refuses every launch with this class"


class Choice(NamedTuple):
    """A value that the author may have meant, with a description.

    `node` is the node to replace with the value; None for the node of the problem.
    """

    name: str
    value: str | int
    node: Node | None = None


class ControllerProblem(NamedTuple):
    """A fault in an object that the API server accepts.

    `node` is the smallest node with the fault. `kind` is a slug for the kind of problem: a more specific rule for
    this kind replaces the finding. `consequence` is what happens at run time, in words that do not depend on the
    value. `suggestion` is the text that replaces the node, if only one is possible. `choices` are values between
    which only the author can choose. `wanted` is the JSON type that the value should have, if it has another.
    """

    node: Node
    message: str
    kind: str
    severity: Severity
    consequence: str
    suggestion: str | None = None
    choices: tuple[Choice, ...] = ()
    wanted: str = ""
