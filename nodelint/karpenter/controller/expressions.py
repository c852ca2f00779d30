"""CEL expressions in spec.kubelet: `maxPods`, and the values of `kubeReserved` and `systemReserved`.

The facts are those of the AWS provider 1.15.0: pkg/cel/environment.go, and `buildCELVars`, `pods` and
`ENILimitedPods` of pkg/providers/instancetype/types.go. An expression yields an int or a double, whose fraction is
dropped. The result must not be negative for any instance type of the region.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache

from nodelint.apiserver.cel import NOT_INSTALLED, Unsupported, hold_to_growth
from nodelint.apiserver.cel import evaluate as run_expression
from nodelint.base.tuples import NamedTuple
from nodelint.base.types import Any
from nodelint.ec2.catalog import Catalog
from nodelint.karpenter.controller.kubelet import family_of
from nodelint.karpenter.controller.problem import NO_LAUNCH, ControllerProblem
from nodelint.model.keys import CPU, MEMORY
from nodelint.model.manifest import EC2NodeClass
from nodelint.text import UNKNOWN, Node
from nodelint.text.missing import items_of

_QUANTITY = r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][-+]?[0-9]+)?"
_OF_NETWORK = r"\b(default_enis|ips_per_eni|max_pods)\b"
_MOST_PODS = 2**31 - 1
_WITHOUT_LIMIT = 110
"""Pods on a Windows node: their number does not depend on its network interfaces."""

VARIABLES = ("vcpus", "memory_mib", "default_enis", "ips_per_eni", "max_pods", "instance_type")


class NotCompiled(ValueError):
    """Raised if the controller does not compile an expression. The message gives the reason, without a full stop."""


class NoRuntime(NotCompiled):
    """Raised if nodelint cannot evaluate an expression: CEL is not installed, or a budget of its own excludes the
    expression.
    """


class NoNumber(ArithmeticError):
    """Raised if an expression yields no usable number for an instance type. The message begins with a verb: `is
    -3`.
    """


class Expression(NamedTuple):
    """A CEL expression in an EC2NodeClass: its field, such as `kubeReserved.cpu`, its text and its node."""

    field: str
    text: str
    node: Node


class ExpressionFailure(NamedTuple):
    """An expression that fails for `number` instance types. `instance_type` is the first of them, `what` the result
    for it.
    """

    expression: Expression
    instance_type: str
    what: str
    number: int


def expressions(node_class: EC2NodeClass) -> list[Expression]:
    """Return the CEL expressions of an EC2NodeClass in the order of the file, without those that hold a
    placeholder.
    """
    kubelet = node_class.node.find("spec", "kubelet")
    found = []
    for entry in kubelet.entries if kubelet is not None else ():
        if entry.name == "maxPods" and isinstance(entry.value.value, str):
            found.append(Expression("maxPods", entry.value.value, entry.value))
        elif entry.name in ("kubeReserved", "systemReserved"):
            for value in entry.value.entries:
                text = value.value.value
                if isinstance(text, str) and not re.fullmatch(_QUANTITY, text):
                    found.append(Expression(f"{entry.name}.{value.name}", text, value.value))
    return found


def find_expression_fault(node_class: EC2NodeClass) -> ControllerProblem | None:
    """Return the problem of the first expression in a class that the controller does not compile.

    None if it compiles all of them, or if nodelint cannot evaluate one.
    """
    for expression in expressions(node_class):
        try:
            compiled(expression.text)
        except NoRuntime:
            return None
        except NotCompiled as error:
            message = f"`{expression.field}` does not compile: {error}"
            return ControllerProblem(expression.node, message, "expression", "error", NO_LAUNCH)
    return None


@cache
def compiled(text: str) -> Callable[[dict[str, object]], int]:
    """Return a function that evaluates an expression for the variables of an instance type. That function raises
    NoNumber.

    Raise NotCompiled if the controller does not compile the expression. Raise NoRuntime if nodelint cannot evaluate
    it, for example because the extra `cel` is not installed.
    """
    try:
        environment, ints, doubles, errors = _environment()
    except ImportError:
        raise NoRuntime(NOT_INSTALLED) from None
    try:
        hold_to_growth(text)
    except Unsupported as error:
        raise NoRuntime(str(error)) from None
    try:
        program = environment.compile(text)
    except Exception as error:  # the runtime raises bare RuntimeErrors
        raise NotCompiled(_shorten_message(str(error))) from None
    if program.return_type() not in (ints, doubles):
        raise NotCompiled(f"it yields a {str(program.return_type()).lower()}, not an int or a double")

    def evaluate(variables: dict[str, object]) -> int:
        result = run_expression(program, variables)
        if result.type() == errors:
            raise NoNumber(f"ends in an error ({_error(str(result.plain_value()))})")
        return _whole(result.plain_value())

    return evaluate


def failures(node_class: EC2NodeClass, names: Iterable[str], catalog: Catalog) -> Iterator[ExpressionFailure]:
    """Yield the expressions that fail for some of the instance types `names`.

    An expression is skipped for types whose network limits it needs and nodelint does not know. All expressions of
    the class must compile. The first failing type is the first in the order of `names`.
    """
    checked = sorted(expressions(node_class), key=lambda expression: expression.field != "maxPods")
    failed: dict[int, list[tuple[str, str]]] = {}
    for name in names:
        variables = _variables(node_class, name, catalog)
        for index, expression in enumerate(checked):
            try:
                value = _value(expression, variables)
            except NoNumber as error:
                failed.setdefault(index, []).append((name, str(error)))
                break  # the controller stops at the first failure
            if expression.field == "maxPods":  # the reservations use this value as `max_pods`
                variables["max_pods"] = None if value is None else _per_core(node_class, value, variables["vcpus"])
    for index, found in sorted(failed.items()):
        yield ExpressionFailure(checked[index], *found[0], len(found))


def _value(expression: Expression, variables: dict[str, Any]) -> int | None:
    """Return the integer that an expression yields. None if it uses a variable that is not known. Raise NoNumber if
    the controller refuses the number.
    """
    if any(variables[name] is None for name in re.findall(_OF_NETWORK, expression.text)):
        return None
    value = compiled(expression.text)(variables)
    if value < 0 or (expression.field == "maxPods" and value > _MOST_PODS):
        raise NoNumber(f"is {value}")
    return value


def _variables(node_class: EC2NodeClass, name: str, catalog: Catalog) -> dict[str, Any]:
    """Return the CEL variables of an instance type. A variable that depends on unknown network limits is None."""
    limits = catalog.resources.network(name)
    cards = limits.cards if limits is not None else ()
    vcpus = int(catalog.label(name, CPU) or 0)
    stated = node_class.node.find("spec", "kubelet", "maxPods")
    written = stated.value if stated is not None else None
    pods: int | None
    if isinstance(written, int) or written is UNKNOWN:
        pods = written if isinstance(written, int) else None
    elif str(family_of(node_class)).startswith("Windows"):
        pods = _WITHOUT_LIMIT
    elif limits is None or not cards or family_of(node_class) is None:
        pods = None
    else:
        usable = max(cards[0] - _without_addresses(node_class), 0)
        pods = usable * (limits.ipv4_per_interface - 1) + 2 if usable else 0
    return {
        "instance_type": name,
        "vcpus": vcpus,
        "memory_mib": int(catalog.label(name, MEMORY) or 0),
        "default_enis": cards[0] if cards else None,
        "ips_per_eni": limits.ipv4_per_interface if limits is not None else None,
        "max_pods": None if pods is None else _per_core(node_class, pods, vcpus),
    }


def _per_core(node_class: EC2NodeClass, pods: int, vcpus: int) -> int:
    node = node_class.node.find("spec", "kubelet", "podsPerCore")
    per_core = node.value if node is not None else None
    if isinstance(per_core, int) and per_core > 0 and family_of(node_class) != "Bottlerocket":
        return min(per_core * vcpus, pods)
    return pods


def _without_addresses(node_class: EC2NodeClass) -> int:
    """Return the number of interfaces of network card 0 that have no addresses for pods (efa-only)."""
    interfaces = node_class.node.find("spec", "networkInterfaces")
    kinds = [(node.get("networkCardIndex"), node.get("interfaceType")) for node in items_of(interfaces)]
    return sum(
        1
        for card, kind in kinds
        if card is not None and kind is not None and (card.value, kind.value) == (0, "efa-only")
    )


def _whole(value: float) -> int:
    if isinstance(value, int):
        return value
    if not abs(value) < float("inf"):  # also for NaN
        raise NoNumber("is not a finite number")
    if abs(value) >= 2.0**63:
        raise NoNumber("is beyond 64 bits")
    return int(value)


@cache
def _environment() -> tuple[Any, Any, Any, Any]:
    """Return a CEL environment and its types int, double and error.

    The environment has CEL's standard library, the variables of the controller, and its `min` and `max` of two
    numbers.
    """
    from cel_expr_python import cel

    kind = cel.Type
    numbers = [(kind.INT, kind.INT), (kind.DOUBLE, kind.DOUBLE), (kind.INT, kind.DOUBLE), (kind.DOUBLE, kind.INT)]

    def of_two(name: str, choose: Callable[..., Any]) -> Any:
        def whole(a: int, b: int) -> int:
            return int(choose(a, b))

        def broken(a: float, b: float) -> float:
            return float(choose(a, b))

        overloads = [
            cel.Overload(
                f"{name}_{i}", kind.INT if i == 0 else kind.DOUBLE, list(pair), False, broken if i else whole
            )
            for i, pair in enumerate(numbers)
        ]
        return cel.FunctionDecl(name, overloads)

    variables = {name: kind.STRING if name == "instance_type" else kind.INT for name in VARIABLES}
    made = cel.NewEnv(variables=variables, functions=[of_two("max", max), of_two("min", min)])
    return made, kind.INT, kind.DOUBLE, kind.ERROR


def _shorten_message(message: str) -> str:
    """Return the message of the CEL compiler in a few words."""
    overload = re.search(r"no matching overload for '_?([^'_]{1,80})_?' applied to '\(([^)]{0,300})\)'", message)
    if overload:
        hint = ": convert with double()" if {"int", "double"} <= set(overload[2].split(", ")) else ""
        return f"`{overload[1]}` does not take ({overload[2]}){hint}"
    name = re.search(r"undeclared reference to '([\w.]+)'", message)
    if name and name[1] in ("min", "max"):
        return f"`{name[1]}` takes two arguments"
    if name:
        return f"there is no `{name[1]}`"
    return "it is not a CEL expression"


def _error(message: str) -> str:
    return message.partition(": ")[2].strip() or message
