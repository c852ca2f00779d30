"""The fewest changes to a NodePool with which it accepts a pod, or why no instance type can run the pod."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.ec2.type_set import TypeSet
from nodelint.fit.attempt import PoolVerdict
from nodelint.fit.ignored import requirements_of
from nodelint.fit.lacking import is_of_images, say_expression, say_system
from nodelint.fit.pod_terms import LabelExpression
from nodelint.fit.pods import Pod, add_requests
from nodelint.fit.pools import EmptyPool
from nodelint.fit.trial import change_pool, list_untolerated, most_of_daemons, takes, tolerate
from nodelint.fit.widening import WayOut, change_line, surroundings_of
from nodelint.karpenter.resolve import find_with_image
from nodelint.model.finding import span_of, written_place
from nodelint.model.messages import short
from nodelint.model.quantities import format_quantity
from nodelint.model.requirement import normalize

if TYPE_CHECKING:
    from nodelint.karpenter.resolve.effects import LineEffect
    from nodelint.karpenter.resolve.node_size import Resources
    from nodelint.model.manifest_terms import RequirementLine, Taint
    from nodelint.text import Node

_MOST_CHANGES = 5


def find_changes(pod: Pod, verdicts: Sequence[PoolVerdict]) -> WayOut | None:
    """Return the fewest changes to one of the pools that refuse a pod, or why no instance type can run the pod.

    None if no short list of changes is enough.
    """
    found: list[tuple[int, WayOut]] = []
    other_images: WayOut | None = None
    for verdict in verdicts:
        attempt = _Attempt(pod, verdict)
        if attempt.is_open:
            continue
        by_images = attempt.explain_images()
        if by_images is not None:
            other_images = other_images or by_images
            continue
        impossible = attempt.explain_no_type()
        if impossible is not None:
            return impossible
        changes = attempt.list_changes()
        if changes is not None:
            found.append((len(changes), attempt.say(changes)))
    return min(found, key=lambda way: way[0])[1] if found else other_images


class _Change(NamedTuple):
    """A change in a few words, the node of the file where it is made, and its new requirement, label or taint."""

    text: str
    at: Node
    line: RequirementLine | None = None
    is_of_line: bool = False
    label: LabelExpression | None = None
    taint: Taint | None = None


class _Attempt:
    """A pod and a pool that refuses it."""

    def __init__(self, pod: Pod, verdict: PoolVerdict) -> None:
        self.pod = pod
        self.pool: EmptyPool = verdict.pool
        self.expressions = [*pod.selector, *(pod.terms[0].expressions if pod.terms else ())]
        self.asks = requirements_of(self.expressions, self.pool.release)
        self._surroundings = surroundings = surroundings_of(verdict)
        self._has_volumes = bool(surroundings.volumes)
        self._requests: Resources = add_requests((pod.requests, most_of_daemons(surroundings)))
        self._all = self.pool.resolution.catalog.all_types

    @property
    def is_open(self) -> bool:
        """Return whether the necessary changes are not known, or cannot be made in the pool."""
        pool, reason = self.pool, self.pool.blocker
        lines_known = all(line.requirement is not None for line in pool.resolution.lines)
        return self._has_volumes or pool.pool.static or pool.labels.any_key or reason is not None or not lines_known

    def _meeting(self, expressions: Sequence[LabelExpression]) -> TypeSet:
        keys = self.pool.resolution.catalog.keys
        own = [r for r in requirements_of(expressions, self.pool.release) if r.key in keys]
        return self.pool.meeting(own, self._all)

    def explain_images(self) -> WayOut | None:
        """Return an explanation if the pod asks for another operating system than the images of the class run. None
        if it does not.
        """
        for expression in self.expressions:
            if is_of_images(normalize(expression.key), self.pool) and not self._meeting([expression]):
                name = short(str(self.pool.resolution.node_class.name)) if self.pool.resolution.node_class else ""
                text = (
                    f"nodes of class `{name}` {say_system(self.pool)}: add a NodePool with a class whose images have "
                    f"{say_expression(expression)}, or change it in the workload"
                )
                return WayOut(text, expression.node, self.pool)
        return None

    def explain_no_type(self) -> WayOut | None:
        """Return why no instance type at all can run the pod; None if one can, or if this is not known."""
        if not self._meeting(self.expressions):
            return self._explain_contradiction()
        types = self._meeting(self.expressions)
        if self.pool.sizes.holding(self._requests, types):
            return None
        for resource, amount in self._requests.items():
            largest = self.pool.sizes.largest(resource, types)
            if largest is None:
                return None  # how much there is, is not known
            if largest[0] < amount:
                amount_text = f"{short(resource, 30)} {format_quantity(resource, amount)}"
                most = f"{largest[1]} offers {format_quantity(resource, max(largest[0], 0))}, the most of all"
                which = " that meets its requirements" if self.expressions else ""
                most_pods = self._find_most_pods() if resource == "pods" else None
                if most_pods is not None:
                    return WayOut("raise `maxPods` in `kubelet` of its class, or remove it", most_pods, self.pool)
                text = f"no instance type{which} holds {amount_text}: {most}; ask for less in each pod"
                return WayOut(text, self.pod.node, self.pool)
        return None

    def _find_most_pods(self) -> Node | None:
        """Return the node of `maxPods` in the pool's class. None if it is not set."""
        node_class = self.pool.resolution.node_class
        return None if node_class is None else node_class.node.find("spec", "kubelet", "maxPods")

    def _explain_contradiction(self) -> WayOut | None:
        for number, first in enumerate(self.expressions):
            if not self._meeting([first]):
                text = f"no instance type has {say_expression(first)}: change it in the workload"
                return WayOut(text, first.node, self.pool)
            for second in self.expressions[number + 1 :]:
                if not self._meeting([first, second]):
                    both = f"both {say_expression(first)} and {say_expression(second)}"
                    text = f"no instance type has {both}: change one of them in the workload"
                    return WayOut(text, first.node, self.pool)
        return None

    def list_changes(self) -> list[_Change] | None:
        """Return the fewest changes; None if they are too many or not enough."""
        pool, catalog = self.pool, self.pool.resolution.catalog
        types = pool.sizes.holding(self._requests, self._meeting(self.expressions))
        most = {name: amount for name, amount in pool.limits.items() if name != "nodes"}
        types = find_with_image(pool.resolution, pool.sizes.within(most, types) if most else types)
        lines = [line for line in pool.resolution.lines if normalize(line.key) in catalog.keys]
        if not types:
            return None
        name, excluding = self._choose_type(types, lines)
        changes = [
            *self._list_labels(),
            *self._list_tolerations(),
            *(self._change_line(line, name) for line in (*excluding, *self._list_other_lines())),
        ]
        if not changes or len(changes) > _MOST_CHANGES or not self._is_enough(changes):
            return None
        return changes

    def _choose_type(self, types: TypeSet, lines: Sequence[LineEffect]) -> tuple[str, list[LineEffect]]:
        """Return the cheapest of the types that the fewest requirements exclude, and these requirements."""
        groups: list[tuple[list[LineEffect], TypeSet]] = [([], types)]
        for line in lines:
            parted = []
            for excluding, group in groups:
                parted += [(excluding, group & line.kept), ([*excluding, line], group - line.kept)]
            groups = [(excluding, group) for excluding, group in parted if group]
        excluding, group = min(groups, key=lambda pair: len(pair[0]))
        cheapest = self.pool.resolution.prices.cheapest_type(group)
        return (cheapest[1] if cheapest is not None else self.pool.resolution.catalog.names_in(group)[0]), excluding

    def _list_other_lines(self) -> Iterator[LineEffect]:
        """Yield the requirements that clash with the pod and are not about types, such as the capacity type."""
        keys = self.pool.resolution.catalog.keys
        for line in self.pool.resolution.lines:
            key = normalize(line.key)
            if key in keys or key not in self.asks or line.requirement is None:
                continue
            if not line.requirement.intersects(self.asks[key]):
                yield line

    def _list_labels(self) -> Iterator[_Change]:
        """Yield the labels that the pod selects and nodes of the pool lack."""
        for expression in self.expressions:
            if self.pool.labels.lacks(expression.key, self.pool.requirements) and expression.operator == "In":
                if not expression.values:
                    continue
                label = f"{short(expression.key)}: {short(expression.values[0])}"
                text = f"add `{label}` to the labels of its template, if the pool may take these pods"
                yield _Change(text, self.pool.pool.name_node, label=expression)

    def _list_tolerations(self) -> Iterator[_Change]:
        """Yield a toleration for each taint of the pool that the pod does not tolerate."""
        for taint in list_untolerated(self.pod, self.pool):
            value = f"={taint.value}" if isinstance(taint.value, str) and taint.value else ""
            text = f"tolerate `{taint.key}{value}:{taint.effect}` in the workload"
            yield _Change(text, self.pod.node, taint=taint)

    def _change_line(self, line: LineEffect, name: str) -> _Change:
        change = change_line(line, name, self.pool, self.expressions)
        return _Change(change.text, line.node, change.line, is_of_line=True)

    def _is_enough(self, changes: Sequence[_Change]) -> bool:
        """Return whether the pool accepts the pod after all changes."""
        lines = {id(change.at): change.line for change in changes if change.is_of_line}
        labels = [change.label for change in changes if change.label is not None]
        pod = tolerate(self.pod, [change.taint for change in changes if change.taint is not None])
        return takes(pod, change_pool(self.pool, lines, labels), self._surroundings)

    def say(self, changes: Sequence[_Change]) -> WayOut:
        """Return the changes as one suggestion.

        It is reported at the place of the last change and names the other places.
        """
        *first, last = changes
        name = short(self.pool.name)
        if not first:
            return WayOut(f"for pool `{name}`: {last.text}", last.at, self.pool)
        texts = ", ".join(f"{change.text} ({_say_place(change.at)})" for change in first)
        return WayOut(
            f"pool `{name}` takes it with {len(changes)} changes: {texts} and {last.text}", last.at, self.pool
        )


def _say_place(at: Node) -> str:
    span = span_of(written_place(at))
    return f"{span.source.path}:{span.source.position(span.start).line}"
