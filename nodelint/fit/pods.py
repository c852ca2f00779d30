"""The scheduling constraints of a pod: requests, tolerations, node selectors, volumes and host ports.

A pod is read as the API server stores it: limits replace missing requests, TCP a missing protocol. A placeholder is
read as the value that is easiest to schedule, and recorded in `unknown`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.fit.pod_terms import (
    AFFINITY,
    ANTI_AFFINITY,
    SPREAD,
    TOLERATES_ALL,
    HostPort,
    LabelExpression,
    Term,
    Toleration,
    TopologyKey,
)
from nodelint.karpenter.images import unknown_fact
from nodelint.model import quantities
from nodelint.model.cluster_objects import Workload
from nodelint.model.gap import Gap
from nodelint.model.manifest_terms import text
from nodelint.model.quantities import ONE
from nodelint.text import UNKNOWN, Node
from nodelint.text.missing import items_of

if TYPE_CHECKING:
    from nodelint.karpenter.resolve.node_size import Resources

POD_LEVEL = ("cpu", "memory")
"""Resources, besides huge pages, that a pod can state for all of its containers together."""


class Pod(NamedTuple):
    """The scheduling constraints of a pod template.

    `requests` are in billionths (1e-9) of the unit and count the pod itself as 1 of `pods`. `terms` are the required
    terms of node affinity: one must match. `preferred` are the preferred terms, the heaviest first. `claims` are
    names of persistent volume claims, `own_claims` the claim templates of ephemeral volumes. `runtime_class` is the
    node of `runtimeClassName`. `placement_known`: tolerations, selectors and terms contain no placeholder.
    """

    node: Node
    requests: Resources
    tolerations: tuple[Toleration, ...]
    selector: tuple[LabelExpression, ...]
    terms: tuple[Term, ...]
    preferred: tuple[Term, ...]
    ports: tuple[HostPort, ...]
    topologies: tuple[TopologyKey, ...]
    claims: tuple[tuple[str, Node], ...]
    own_claims: tuple[Node, ...]
    runtime_class: Node | None
    dynamic_resources: bool
    node_name: Node | None
    placement_known: bool
    unknown: tuple[Gap, ...]


class Daemon(NamedTuple):
    """A DaemonSet and the scheduling constraints of its pods."""

    workload: Workload
    pod: Pod


def pod_of(workload: Workload) -> Pod | None:
    """Return the scheduling constraints of a workload's pods; None if the pod spec is missing or a placeholder."""
    spec = workload.pod_spec
    return None if spec is None else workload.once("pod", (), lambda: read_pod(spec, _is_filled_by_script(workload)))


def requests_of(workload: Workload) -> Resources:
    """Return the requests of one pod of a workload in billionths (1e-9) of the unit; empty if they are not known."""
    pod = pod_of(workload)
    return pod.requests if pod is not None else {}


def _is_filled_by_script(workload: Workload) -> bool:
    """Return whether the name has capital letters, which no object name may have: a script replaces them."""
    return not isinstance(workload.name, str) or workload.name != workload.name.lower()


def unknown_of(workload: Workload) -> tuple[Gap, ...]:
    """Return a gap for each fact about a workload's pods that the file does not state."""
    pod = pod_of(workload)
    if pod is None:
        return (unknown_fact(workload.name_node, "the template of its pods is not in this object"),)
    if not workload.partial:
        return pod.unknown
    return (*pod.unknown, unknown_fact(workload.name_node, "the object is a part, or template code may add to it"))


def amounts_of(node: Node | None) -> dict[str, int]:
    """Return the known amounts of a mapping of resources in billionths (1e-9) of the unit."""
    return _Reader(node, False).amounts(node) if node is not None else {}


def selector_of(node: Node | None) -> tuple[LabelExpression, ...]:
    """Return the known labels of a node selector."""
    return tuple(_Reader(node, False).selector(node)) if node is not None else ()


def read_pod(spec: Node, filled_by_script: bool = False, defaults: Resources | None = None) -> Pod:
    """Return the scheduling constraints of a pod spec.

    `filled_by_script`: values in capitals are placeholders. `defaults`: the requests of a container that states
    neither a request nor a limit of the resource.
    """
    reader = _Reader(spec, filled_by_script, defaults)
    if any(entry.name is None for entry in spec.entries):
        reader.note(spec, "a placeholder stands for fields of the pod")
    around = reader.mapping(spec.get("affinity"), "the affinity")
    affinity = reader.mapping(around.get("nodeAffinity") if around is not None else None, "the node affinity")
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") if affinity is not None else None
    required = reader.mapping(required, "the required node affinity")
    weighted = affinity.get("preferredDuringSchedulingIgnoredDuringExecution") if affinity is not None else None
    resource_claims, name, runtime = spec.get("resourceClaims"), spec.get("nodeName"), spec.get("runtimeClassName")
    tolerations = tuple(reader.tolerations(spec.get("tolerations")))
    selector = tuple(reader.selector(spec.get("nodeSelector")))
    terms = tuple(reader.terms(required.get("nodeSelectorTerms") if required is not None else None))
    placement_known = not reader.unknown
    return Pod(
        node=spec,
        requests=reader.requests(),
        tolerations=tolerations,
        selector=selector,
        terms=terms,
        preferred=tuple(reader.preferred(weighted)),
        ports=tuple(reader.ports()),
        topologies=tuple(_topologies(spec)),
        claims=tuple(reader.claims(spec.get("volumes"))),
        own_claims=tuple(_own_claims(spec)),
        runtime_class=runtime if runtime is not None and runtime.value else None,
        dynamic_resources=resource_claims is not None and bool(resource_claims.items),
        node_name=name if name is not None and name.value else None,
        placement_known=placement_known,
        unknown=tuple(reader.unknown),
    )


class _Reader:
    """Reads a pod spec and records unknown values."""

    def __init__(self, spec: Node, filled_by_script: bool, defaults: Resources | None = None) -> None:
        self.spec = spec
        self.defaults = defaults or {}
        self.filled_by_script = filled_by_script
        self.unknown: list[Gap] = []

    def note(self, node: Node, what: str) -> None:
        self.unknown.append(unknown_fact(node, what))

    def is_replaced(self, value: str) -> bool:
        """Return whether a script replaces the value."""
        return self.filled_by_script and value.isupper()

    def mapping(self, node: Node | None, what: str) -> Node | None:
        """Return the node if it is a mapping, else None. A placeholder is recorded."""
        if node is None or node.kind == "mapping":
            return node
        if node.value is not None:
            self.note(node, f"a placeholder stands for {what}")
        return None

    def items(self, node: Node | None, what: str) -> Iterator[Node]:
        """Yield the mappings of a list. Placeholders among the items, or instead of the list, are recorded."""
        if node is None:
            return
        if node.kind != "sequence":
            if node.value is UNKNOWN:
                self.note(node, f"a placeholder stands for {what}")
            return
        for item in node.items:
            if item.kind == "mapping":
                yield item
            elif item.value is UNKNOWN:
                self.note(item, f"a placeholder stands for {what}")

    def tolerations(self, node: Node | None) -> Iterator[Toleration]:
        before = len(self.unknown)
        for item in self.items(node, "tolerations"):
            fields = {name: item.get(name) for name in ("key", "operator", "value", "effect")}
            if any(field is not None and field.value is UNKNOWN for field in fields.values()):
                self.note(item, "a toleration holds a placeholder")
                continue
            key, operator, value, effect = (_plain(field) for field in fields.values())
            yield Toleration(key, operator or "", value or "", effect)
        if len(self.unknown) > before:
            yield TOLERATES_ALL

    def selector(self, node: Node | None) -> Iterator[LabelExpression]:
        mapping = self.mapping(node, "the node selector")
        for entry in mapping.entries if mapping is not None else ():
            value = _plain(entry.value)
            replaced = value is not None and self.is_replaced(value)
            if entry.name is None or value is None or replaced:
                if entry.value.value is UNKNOWN or entry.name is None or replaced:
                    self.note(entry.value, f"the node selector holds a placeholder{_for_key(entry.name)}")
                continue
            yield LabelExpression(entry.value, entry.name, "In", (value,))

    def terms(self, node: Node | None) -> Iterator[Term]:
        for item in self.items(node, "terms of node affinity"):
            yield self._term(item)
        if node is not None and node.kind == "sequence" and any(item.value is UNKNOWN for item in node.items):
            yield Term(node, ())

    def preferred(self, node: Node | None) -> list[Term]:
        weighted = []
        for item in self.items(node, "preferred terms"):
            weight, term = item.get("weight"), item.get("preference")
            if term is not None and term.kind == "mapping":
                weighted.append((weight.value if weight is not None and isinstance(weight.value, int) else 0, term))
        weighted.sort(key=lambda pair: -pair[0])
        return [self._term(term) for _, term in weighted]

    def _term(self, node: Node) -> Term:
        found = []
        for item in self.items(node.get("matchExpressions"), "expressions of node affinity"):
            key, operator, values = (item.get(name) for name in ("key", "operator", "values"))
            listed = [] if values is None else values.items
            texts = tuple(value for node in listed if (value := _plain(node)) is not None)
            unknown = any(n is not None and n.value is UNKNOWN for n in (key, operator, values, *listed))
            if unknown or any(map(self.is_replaced, texts)):
                self.note(item, f"an expression of node affinity holds a placeholder{_for_key(_plain(key))}")
                continue
            if _plain(key) is not None and _plain(operator) is not None:
                found.append(LabelExpression(item, _plain(key) or "", _plain(operator) or "", texts))
        fields = node.get("matchFields")
        return Term(node, tuple(found), fields is not None and bool(fields.items))

    def claims(self, node: Node | None) -> Iterator[tuple[str, Node]]:
        for item in self.items(node, "volumes"):
            name = item.find("persistentVolumeClaim", "claimName")
            written = _plain(name)
            if name is not None and written is not None:
                yield written, name

    def ports(self) -> Iterator[HostPort]:
        network = self.spec.get("hostNetwork")
        of_node = network is not None and network.value is True
        for container in self.items(self.spec.get("containers"), "containers"):
            for item in self.items(container.get("ports"), "ports"):
                port = item.get("hostPort") or (item.get("containerPort") if of_node else None)
                if port is not None and isinstance(port.value, int) and port.value:
                    ip, protocol = _plain(item.get("hostIP")), _plain(item.get("protocol"))
                    yield HostPort(ip or "0.0.0.0", port.value, protocol or "TCP")

    def requests(self) -> dict[str, int]:
        """Return the requests of one pod, as `PodRequests` of k8s.io/component-helpers, and 1 of `pods`."""
        total = sum_containers(
            map(self._of_container, self.items(self.spec.get("containers"), "containers")),
            (
                (self._of_container(container), _plain(container.get("restartPolicy")) == "Always")
                for container in self.items(self.spec.get("initContainers"), "init containers")
            ),
        )
        self._of_pod(total)
        add_to(total, self.amounts(self.spec.get("overhead")))
        total["pods"] = ONE
        return total

    def _of_pod(self, total: dict[str, int]) -> None:
        """Replace amounts in `total` with the amounts that the pod states for all its containers together."""
        stated = self.mapping(self.spec.get("resources"), "the resources of the pod")
        if stated is None:
            return
        most, requests = self.amounts(stated.get("limits")), self.amounts(stated.get("requests"))
        for resource, amount in most.items():
            requests.setdefault(resource, total.get(resource, amount))
        whole = (resource for resource in requests if resource in POD_LEVEL or resource.startswith("hugepages-"))
        total.update({resource: requests[resource] for resource in whole})

    def _of_container(self, container: Node) -> dict[str, int]:
        stated = self.mapping(container.get("resources"), "the resources of a container")
        if stated is None:
            return {**self.defaults}
        return {**self.defaults, **self.amounts(stated.get("limits")), **self.amounts(stated.get("requests"))}

    def amounts(self, node: Node | None) -> dict[str, int]:
        mapping = self.mapping(node, "amounts of resources")
        found = {}
        for entry in mapping.entries if mapping is not None else ():
            amount = quantities.quantity_of(entry.value)
            if isinstance(entry.value.value, float):
                amount = quantities.billionths(entry.value.unquoted)
            if entry.name is None or amount is None:
                self.note(entry.value, f"the amount of {entry.name or 'a resource'} is not known")
            if entry.name is not None:
                found[entry.name] = max(amount or 0, 0)
        return found


def _own_claims(spec: Node) -> Iterator[Node]:
    """Yield the claim templates of ephemeral volumes."""
    for item in items_of(spec.get("volumes")):
        template = item.find("ephemeral", "volumeClaimTemplate")
        if template is not None:
            yield template


def _topologies(spec: Node) -> Iterator[TopologyKey]:
    """Yield the topology spreads, affinities and anti-affinities of a pod that contain no placeholder."""
    for item in items_of(spec.get("topologySpreadConstraints")):
        stated = item.get("whenUnsatisfiable")
        if stated is not None and stated.value in _SPREADS:
            policy = item.get("nodeTaintsPolicy")
            honors = policy is not None and policy.value == "Honor"
            yield from _topology(item, SPREAD, stated.value == "ScheduleAnyway", honors)
    for field, what in (("podAffinity", AFFINITY), ("podAntiAffinity", ANTI_AFFINITY)):
        stated = spec.find("affinity", field)
        required = stated.get("requiredDuringSchedulingIgnoredDuringExecution") if stated is not None else None
        weighted = stated.get("preferredDuringSchedulingIgnoredDuringExecution") if stated is not None else None
        for item in items_of(required):
            yield from _topology(item, what, False)
        for item in items_of(weighted):
            term = item.get("podAffinityTerm")
            if term is not None:
                yield from _topology(term, what, True)


_SPREADS = ("DoNotSchedule", "ScheduleAnyway")


def _topology(item: Node, what: str, preferred: bool, honors_taints: bool = True) -> Iterator[TopologyKey]:
    key = item.get("topologyKey")
    if key is not None and isinstance(key.value, str) and key.value:
        yield TopologyKey(key, key.value, what, preferred, honors_taints, item)


def _plain(node: Node | None) -> str | None:
    """Return the text of a scalar, also of a number or boolean in place of a text; None if it is missing or not
    known.
    """
    if node is None or node.kind != "scalar" or node.value is None:
        return None
    found = text(node)
    if isinstance(found, str):
        return found
    return None if node.value is UNKNOWN else node.unquoted


def _for_key(key: str | None) -> str:
    return f" for `{key}`" if key else ""


def sum_containers(
    containers: Iterable[Resources], init_containers: Iterable[tuple[dict[str, int], bool]]
) -> dict[str, int]:
    """Return the total requests of a pod's containers. `init_containers` are (requests, whether it is a sidecar).

    Init containers run one after another before the others, with the sidecars that started earlier.
    """
    total: dict[str, int] = {}
    for requests in containers:
        add_to(total, requests)
    sidecars: dict[str, int] = {}
    at_start: dict[str, int] = {}
    for requests, is_sidecar in init_containers:
        if is_sidecar:
            add_to(total, requests)
            add_to(sidecars, requests)
            _raise(at_start, sidecars)
        else:
            add_to(requests, sidecars)
            _raise(at_start, requests)
    _raise(total, at_start)
    return total


def add_to(total: dict[str, int], more: Resources) -> None:
    for resource, amount in more.items():
        total[resource] = total.get(resource, 0) + amount


def _raise(total: dict[str, int], least: Resources) -> None:
    for resource, amount in least.items():
        total[resource] = max(total.get(resource, amount), amount)


def add_requests(amounts: Iterable[Resources]) -> dict[str, int]:
    """Return the sum of several requests."""
    total: dict[str, int] = {}
    for requests in amounts:
        add_to(total, requests)
    return total
