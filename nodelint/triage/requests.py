"""Compare the requests of a pod in a message with instance types: which are large enough, and which are allowed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from nodelint.base.tuples import NamedTuple
from nodelint.ec2.catalog import Catalog
from nodelint.ec2.type_set import TypeSet
from nodelint.karpenter.resolve.accelerators import cheapest
from nodelint.model.messages import counted
from nodelint.model.quantities import ONE, billionths, format_quantity
from nodelint.model.requirement import Requirement

_REQUESTS = re.compile(r"resources[ =](\{[^{}]{0,2000}\})")
_REQUIREMENT = re.compile(
    r"(?<![\w./-])([a-z][\w./-]++) (In|NotIn|Gt|Lt|Gte|Lte|Exists|DoesNotExist)\b(?: \[([^\[\]]{0,2000}+)\])?"
)
_MIB = 2**20
_DEVICES = {
    "nvidia.com/gpu": ("karpenter.k8s.aws/instance-gpu-manufacturer", "nvidia"),
    "amd.com/gpu": ("karpenter.k8s.aws/instance-gpu-manufacturer", "amd"),
    "aws.amazon.com/neuron": ("karpenter.k8s.aws/instance-accelerator-manufacturer", "aws"),
    "aws.amazon.com/neuroncore": ("karpenter.k8s.aws/instance-accelerator-manufacturer", "aws"),
}


class RequestAdvice(NamedTuple):
    """The meaning of the amounts in a message, and the advice; `do` is None if the amounts give no advice."""

    means: str
    do: str | None


def explain_requests(text: str) -> RequestAdvice | None:
    """Return which instance types are large enough for the pod of a message. None if it has no amounts."""
    found = _REQUESTS.findall(text)
    amounts = _read_amounts(found[-1]) if found else {}
    if not amounts:
        return None
    catalog = Catalog.bundled()
    amount_text = ", ".join(f"{resource} {format_quantity(resource, amount)}" for resource, amount in amounts.items())
    large = catalog.all_types
    for requirement in _list_sizes(amounts):
        large &= catalog.select(requirement)
    who = f"The pod and the DaemonSets of its node ask for {amount_text}"
    if not large:
        return RequestAdvice(f"{who}: no instance type has as much.", "Ask for less in each pod.")
    allowed = catalog.all_types
    for requirement in _list_requirements(text, catalog):
        allowed &= catalog.select(requirement)
    example = _name_example(catalog, large)
    if large & allowed:
        number = counted(len(large & allowed), "instance type")
        example = _name_example(catalog, large & allowed)
        means = f"{who}: {number} that the requirements in the message allow are that large, such as {example}."
        return RequestAdvice(f"{means} A limit, or a requirement that the message shortens, excludes them.", None)
    means = f"{who}: no instance type that the requirements in the message allow is that large."
    return RequestAdvice(
        means, f"Allow a larger type in the NodePool, such as {example}, or ask for less in each pod."
    )


def _name_example(catalog: Catalog, types: TypeSet) -> str:
    found = cheapest(catalog, types)
    return found[1] if found is not None else catalog.names_in(types)[0]


def _read_amounts(text: str) -> dict[str, int]:
    """Return the resources of a message that distinguish instance types, in billionths (1e-9) of the unit."""
    try:
        read = json.loads(text.replace('\\"', '"'))
    except ValueError:
        return {}
    found = {}
    for resource, amount in read.items() if isinstance(read, dict) else ():
        if resource in ("cpu", "memory", *_DEVICES) and isinstance(amount, str | int):
            try:
                found[resource] = billionths(str(amount))
            except ValueError:
                return {}
    return found


def _list_sizes(amounts: dict[str, int]) -> Iterator[Requirement]:
    """Yield the requirements of a type that is large enough; system reservations are ignored."""
    for resource, amount in amounts.items():
        if resource in _DEVICES:
            key, value = _DEVICES[resource]
            yield Requirement.parse(key, "In", (value,))
        else:
            key, unit = ("instance-cpu", ONE) if resource == "cpu" else ("instance-memory", _MIB * ONE)
            yield Requirement.parse(f"karpenter.k8s.aws/{key}", "Gt", (str(-(-amount // unit) - 1),))


def _list_requirements(text: str, catalog: Catalog) -> Iterator[Requirement]:
    """Yield the requirements on instance types that a message quotes completely."""
    for key, operator, values in _REQUIREMENT.findall(text.rpartition("requirements ")[2]):
        listed = tuple(values.replace(",", " ").split())
        if key in catalog.keys and "others" not in listed:
            try:
                yield Requirement.parse(key, operator, listed)
            except ValueError:
                continue
