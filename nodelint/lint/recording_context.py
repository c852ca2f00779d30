"""A context that records which other objects rules ask about, so that unchanged answers need no new run of the rule.

Facts about the rule's own object are not recorded. For an answer that is computed from other objects, such as a
resolution, the underlying answers are recorded instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from nodelint.base.types import TYPE_CHECKING
from nodelint.model.manifest import EC2NodeClass, NodePool, Object
from nodelint.rule.context import Context

if TYPE_CHECKING:
    from typing import Any, TypeVar

    from nodelint.ec2.facts import AwsFacts
    from nodelint.fit.tree import Tree
    from nodelint.karpenter.resolve import Resolution
    from nodelint.karpenter.userdata import UserData
    from nodelint.model.cluster_objects import Workload
    from nodelint.rule.target import Target

    _T = TypeVar("_T")
    _Asked = TypeVar("_Asked", bound=Object)

Question = tuple[str, int, str | None]
"""A question to a context: its name, the `id` of the object that it concerns, and more arguments."""

Answers = dict[Question, tuple[Object | None, object]]
"""The answers to questions, each with the object that it concerns. The object is None for the whole run."""


class Beginning(list[Object | None]):
    """The objects of an answer that a rule has iterated over; a final None says that it reached the end."""

    def follow(self, answer: Iterator[_Asked]) -> Iterator[_Asked]:
        """Yield the objects of the answer and record each."""
        count = 0
        for obj in answer:
            count += 1
            if count > len(self):
                self.append(obj)
            yield obj
        if count == len(self):
            self.append(None)

    def begins(self, answer: Iterator[Object]) -> bool:
        """Return whether another answer begins with the same objects."""
        return all(obj is next(answer, None) for obj in self)


class RecordingContext(Context):
    """A context that records questions about other objects and their answers."""

    def __init__(self, objects: Sequence[Object], target: Target, **options: Any) -> None:
        super().__init__(objects, target, **options)
        self.noted: Answers | None = None
        self._grounds: dict[Question, tuple[Object, Answers]] = {}
        self._run_answers: dict[str, Any] = {}
        self._methods: dict[str, Callable[..., Any]] = {}

    def ask(self, name: str, about: Object | None, detail: str | None) -> Any:
        """Return the current answer to a question, without recording it."""
        if about is None:
            return self._answer_for_run(name)
        method = self._methods.get(name)
        if method is None:
            method = self._methods[name] = getattr(super(), name)
        return method(about) if name != "interchangeable_pools" else method(about, detail)

    def _answer_for_run(self, name: str) -> Any:
        """Return a value of the context that concerns the run as a whole, cached."""
        if name not in self._run_answers:
            self._run_answers[name] = getattr(super(), name)
        return self._run_answers[name]

    def _note(self, name: str, about: _Asked, method: Callable[[Context, _Asked], _T]) -> _T:
        """Return and record the answer of a `Context` method about an object; questions on the way are not
        recorded.
        """
        noted, self.noted = self.noted, None
        try:
            answer = method(self, about)
        finally:
            self.noted = noted
        if noted is not None:
            noted[name, id(about), None] = about, answer
        return answer

    def _note_for_run(self, name: str) -> Any:
        """Return and record a value of the context that concerns the run as a whole."""
        noted, self.noted = self.noted, None
        try:
            answer = self._answer_for_run(name)
        finally:
            self.noted = noted
        if noted is not None:
            noted[name, id(None), None] = None, answer
        return answer

    def _note_grounds(self, name: str, about: _Asked, method: Callable[[Context, _Asked], _T]) -> _T:
        """Return the answer of a `Context` method about an object; record the questions on the way instead of the
        answer.
        """
        question = name, id(about), None
        noted, known = self.noted, self._grounds.get(question)
        self.noted = grounds = {} if known is None else known[1]
        try:
            answer = method(self, about)
        finally:
            self.noted = noted
            if noted is not None:
                noted.update(grounds)
        self._grounds[question] = about, grounds
        return answer

    def _facts_of(self, about: EC2NodeClass | NodePool) -> AwsFacts:
        # Without facts of a region there are none that could be about another one.
        return self._note("_facts_of", about, Context._facts_of) if self.facts else self.facts

    def interchangeable_pools(self, pool: NodePool, launching: str | None = None) -> Iterator[NodePool]:
        """Yield the NodePools and record those that are iterated over: most rules only ask whether there is one."""
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

    def resolution_with_overlays(self, pool: NodePool) -> Resolution:
        if self._overlaid:
            self._note_for_run("objects")  # what the controller accepts of all overlays is worked out once
        return super().resolution_with_overlays(pool)

    def _workloads_of(self, workload: Workload) -> Tree:
        self._note_for_run("objects")  # one tree holds what all pools take
        return super()._workloads_of(workload)

    def user_data(self, node_class: EC2NodeClass) -> UserData | None:
        # What is read of user data knows its places, and is read anew; it hangs on nothing but the images.
        self.images(node_class)
        return super().user_data(node_class)


_NOTED_FOR_RUN = (
    "objects",
    "classes",
    "templates",  # of texts: they are others in each run, so that what asks for them looks once more
    "defined_classes",
    "pools_elsewhere",
    "_overlaid",
)
"""Attributes of a context about the whole run."""

_NOTED = (
    "may_be_named_so",
    "node_class",
    "_why_no_class",
    "pools",
    "foreign_group",
    "cluster_pools",
    "definition_elsewhere",
    "duplicates",
    "conversion",
    "settings",
    "_completing",
)
"""Methods of a context about an object whose results are recorded."""

_GROUNDS_NOTED = ("resolution", "problems", "images")
"""Methods of a context about an object whose results are not recorded.

Instead, the questions that they ask are recorded.
"""


def _note_attribute(name: str) -> property:
    return property(lambda self: self._note_for_run(name))


def _note_method(name: str, note: Callable[..., Any]) -> Callable[[RecordingContext, Any], Any]:
    inherited = getattr(Context, name)
    return lambda self, about: note(self, name, about, inherited)


for _name in _NOTED_FOR_RUN:
    setattr(RecordingContext, _name, _note_attribute(_name))
for _name in _NOTED:
    setattr(RecordingContext, _name, _note_method(_name, RecordingContext._note))
for _name in _GROUNDS_NOTED:
    setattr(RecordingContext, _name, _note_method(_name, RecordingContext._note_grounds))
