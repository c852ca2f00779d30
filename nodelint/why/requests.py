"""The requests of a pod in a dump: `PodRequests` of k8s.io/component-helpers.

`fit` reads requests from the nodes of a manifest. This module reads plain objects, which is faster for many pods.
"""

from __future__ import annotations

from nodelint.drift.plain_values import Plain, mapping, mappings
from nodelint.fit.pods import POD_LEVEL, add_to, sum_containers
from nodelint.model.quantities import ONE, billionths


def read_requests(spec: Plain) -> tuple[dict[str, int], list[str]]:
    """Return the requests of a pod in billionths (1e-9) of the unit, with 1 of `pods`, and the unknown amounts."""
    unknown: list[str] = []
    total = sum_containers(
        (_of_container(container, unknown) for container in mappings(spec.get("containers"))),
        (
            (_of_container(container, unknown), container.get("restartPolicy") == "Always")
            for container in mappings(spec.get("initContainers"))
        ),
    )
    _state_for_pod(total, mapping(spec.get("resources")), unknown)
    add_to(total, _amounts(spec.get("overhead"), unknown))
    total["pods"] = ONE
    return total, unknown


def _state_for_pod(total: dict[str, int], stated: Plain, unknown: list[str]) -> None:
    """Replace amounts in `total` with the amounts that the pod states for all its containers together."""
    if not stated:
        return
    requests = _amounts(stated.get("requests"), unknown)
    for resource, amount in _amounts(stated.get("limits"), unknown).items():
        requests.setdefault(resource, total.get(resource, amount))
    whole = (resource for resource in requests if resource in POD_LEVEL or resource.startswith("hugepages-"))
    total.update({resource: requests[resource] for resource in whole})


def _of_container(container: Plain, unknown: list[str]) -> dict[str, int]:
    stated = mapping(container.get("resources"))
    return {**_amounts(stated.get("limits"), unknown), **_amounts(stated.get("requests"), unknown)}


def _amounts(value: object, unknown: list[str]) -> dict[str, int]:
    found = {}
    for name, amount in mapping(value).items():
        try:
            known = isinstance(amount, (int, float, str)) and not isinstance(amount, bool)
            found[str(name)] = max(billionths(str(amount)), 0) if known else 0
        except ValueError:
            known, found[str(name)] = False, 0
        if not known:
            unknown.append(f"the amount of {name} is not known")
    return found
