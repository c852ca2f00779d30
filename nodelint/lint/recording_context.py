"""A context that notes what rules ask of other objects, so that they need not look again where nothing else is said.

What is worked out of an object alone is not noted. In the place of an answer that is worked out of others (a
resolution, say) those are noted: most are read from a table of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from nodelint.base.types import TYPE_CHECKING
from nodelint.model.manifest import EC2NodeClass, NodePool, Object
from nodelint.model.manifest_terms import Text
from nodelint.rule.context import Context

if TYPE_CHECKING:
    from typing import Any, TypeVar

    from nodelint.apiserver import SchemaProblem
    from nodelint.convert import Conversion
    from nodelint.ec2.facts import AwsFacts
    from nodelint.fit.tree import Tree
    from nodelint.forms.helm.templates import Templates
    from nodelint.karpenter.images import ImageSet
    from nodelint.karpenter.resolve import Resolution
    from nodelint.karpenter.userdata import UserData
    from nodelint.model.cluster_objects import Workload
    from nodelint.releases.settings import ControllerFacts
    from nodelint.rule.target import Target

    _T = TypeVar("_T")
    _Asked = TypeVar("_Asked", bound=Object)

Question = tuple[str, int, str | None]
"""What a context is asked: a name, the `id` of the object that it is about, and more details."""

Answers = dict[Question, tuple[Object | None, object]]
"""The answers to questions, each with the object that it is about: None for the run as a whole."""


class Beginning(list[Object | None]):
    """The objects of an answer that were looked at; None is behind the last one of all."""

    def follow(self, answer: Iterator[_Asked]) -> Iterator[_Asked]:
        """The objects of the answer, each added when it is looked at."""
        count = 0
        for obj in answer:
            count += 1
            if count > len(self):
                self.append(obj)
            yield obj
        if count == len(self):
            self.append(None)

    def begins(self, answer: Iterator[Object]) -> bool:
        """Whether another answer begins with the very same ones."""
        return all(obj is next(answer, None) for obj in self)


class RecordingContext(Context):
    """A context that notes what it is asked about other objects, and what it says."""

    def __init__(self, objects: Sequence[Object], target: Target, **options: Any) -> None:
        super().__init__(objects, target, **options)
        self.noted: Answers | None = None
        self._grounds: dict[Question, tuple[Object, Answers]] = {}
        self._run_answers: dict[str, Any] = {}
        self._methods: dict[str, Callable[..., Any]] = {}

    def ask(self, name: str, about: Object | None, detail: str | None) -> Any:
        """What the context says now; nothing of that is noted."""
        if about is None:
            return self._answer_for_run(name)
        method = self._methods.get(name)
        if method is None:
            method = self._methods[name] = getattr(super(), name)
        return method(about) if name != "interchangeable_pools" else method(about, detail)

    def _answer_for_run(self, name: str) -> Any:
        """What is said of the run as a whole, worked out once."""
        if name not in self._run_answers:
            self._run_answers[name] = getattr(super(), name)
        return self._run_answers[name]

    def _note(self, name: str, about: _Asked, method: Callable[[_Asked], _T], detail: str | None = None) -> _T:
        """What a method says of an object, noted; what is asked on the way to it is part of that."""
        noted, self.noted = self.noted, None
        try:
            answer = method(about)
        finally:
            self.noted = noted
        if noted is not None:
            noted[name, id(about), detail] = about, answer
        return answer

    def _note_for_run(self, name: str) -> Any:
        """What is said of the run as a whole, noted."""
        noted, self.noted = self.noted, None
        try:
            answer = self._answer_for_run(name)
        finally:
            self.noted = noted
        if noted is not None:
            noted[name, id(None), None] = None, answer
        return answer

    def _note_grounds(self, name: str, about: _Asked, method: Callable[[_Asked], _T]) -> _T:
        """What a method says of an object; what is asked on the way to it is noted in its place."""
        question = name, id(about), None
        noted, known = self.noted, self._grounds.get(question)
        self.noted = grounds = {} if known is None else known[1]
        try:
            answer = method(about)
        finally:
            self.noted = noted
            if noted is not None:
                noted.update(grounds)
        self._grounds[question] = about, grounds
        return answer

    @property
    def objects(self) -> Sequence[Object]:
        found: Sequence[Object] = self._note_for_run("objects")
        return found

    @property
    def classes(self) -> list[EC2NodeClass]:
        found: list[EC2NodeClass] = self._note_for_run("classes")
        return found

    @property
    def templates(self) -> Templates:
        """Of texts, not of objects: it is another one in each run, so that what asks for it looks once more."""
        found: Templates = self._note_for_run("templates")
        return found

    @property
    def defined_classes(self) -> dict[Text | None, Object]:
        found: dict[Text | None, Object] = self._note_for_run("defined_classes")
        return found

    @property
    def pools_elsewhere(self) -> bool:
        return bool(self._note_for_run("pools_elsewhere"))

    @property
    def _overlaid(self) -> bool:
        return bool(self._note_for_run("_overlaid"))

    def may_be_named_so(self, pool: NodePool) -> bool:
        return self._note("may_be_named_so", pool, super().may_be_named_so)

    def node_class(self, pool: NodePool) -> EC2NodeClass | None:
        return self._note("node_class", pool, super().node_class)

    def _why_no_class(self, pool: NodePool) -> str | None:
        return self._note("_why_no_class", pool, super()._why_no_class)

    def _facts_of(self, about: EC2NodeClass | NodePool) -> AwsFacts:
        # Without facts of a region there are none that could be about another one.
        return self._note("_facts_of", about, super()._facts_of) if self.facts else self.facts

    def pools(self, node_class: EC2NodeClass) -> list[NodePool]:
        return self._note("pools", node_class, super().pools)

    def foreign_group(self, pool: NodePool) -> list[Object]:
        return self._note("foreign_group", pool, super().foreign_group)

    def interchangeable_pools(self, pool: NodePool, launching: str | None = None) -> Iterator[NodePool]:
        """What is noted are those that are looked at: most rules ask whether there is any."""
        noted, self.noted = self.noted, None
        try:
            pools = super().interchangeable_pools(pool, launching)
        finally:
            self.noted = noted
        if noted is None:
            return pools
        _, looked_at = noted.setdefault(("interchangeable_pools", id(pool), launching), (pool, Beginning()))
        assert isinstance(looked_at, Beginning)
        return looked_at.follow(pools)

    def cluster_pools(self, pool: NodePool) -> list[NodePool]:
        return self._note("cluster_pools", pool, super().cluster_pools)

    def definition_elsewhere(self, obj: Object) -> Object | None:
        return self._note("definition_elsewhere", obj, super().definition_elsewhere)

    def duplicates(self, obj: Object) -> list[Object]:
        return self._note("duplicates", obj, super().duplicates)

    def conversion(self, obj: Object) -> Conversion:
        return self._note("conversion", obj, super().conversion)

    def settings(self, obj: Object) -> ControllerFacts:
        return self._note("settings", obj, super().settings)

    def _completing(self, obj: Object) -> list[Object]:
        return self._note("_completing", obj, super()._completing)

    def resolution(self, pool: NodePool) -> Resolution:
        return self._note_grounds("resolution", pool, super().resolution)

    def resolution_with_overlays(self, pool: NodePool) -> Resolution:
        if self._overlaid:
            self._note_for_run("objects")  # what the controller accepts of all overlays is worked out once
        return super().resolution_with_overlays(pool)

    def _workloads_of(self, workload: Workload) -> Tree:
        self._note_for_run("objects")  # one tree holds what all pools take
        return super()._workloads_of(workload)

    def problems(self, obj: Object) -> list[SchemaProblem]:
        return self._note_grounds("problems", obj, super().problems)

    def images(self, node_class: EC2NodeClass) -> ImageSet:
        return self._note_grounds("images", node_class, super().images)

    def user_data(self, node_class: EC2NodeClass) -> UserData | None:
        # What is read of user data knows its places, and is read anew; it hangs on nothing but the images.
        self.images(node_class)
        return super().user_data(node_class)
