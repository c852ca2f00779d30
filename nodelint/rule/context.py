"""The context of a rule: everything that a rule can use in addition to its object, computed on first use."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType

from nodelint.base.types import TYPE_CHECKING
from nodelint.forms.registry import TABLE
from nodelint.model.manifest import EC2NodeClass, NodeOverlay, NodePool, Object, served
from nodelint.model.partial_objects import adds, supplies
from nodelint.model.releases import NEWEST
from nodelint.rule.object_relations import ObjectRelations

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, TypeVar

    from nodelint.apiserver import SchemaProblem, Schemas
    from nodelint.apiserver.schema_node import SchemaNode
    from nodelint.convert import Conversion
    from nodelint.convert.relations import Relations
    from nodelint.ec2.catalog import Catalog
    from nodelint.ec2.facts import AwsFacts
    from nodelint.fit.pools import Policies
    from nodelint.fit.tree import Tree, WorkloadFit
    from nodelint.forms.helm.templates import Templates
    from nodelint.karpenter.controller.problem import ControllerProblem
    from nodelint.karpenter.images import ImageSet
    from nodelint.karpenter.resolve import Resolution
    from nodelint.karpenter.userdata import Script, UserData
    from nodelint.model.cluster_objects import Workload
    from nodelint.model.gap import Gap
    from nodelint.model.releases import Version
    from nodelint.releases.release_choice import Chosen
    from nodelint.releases.settings import ControllerFacts
    from nodelint.rule.node_overlays import RunOverlays
    from nodelint.rule.run_files import RunFiles
    from nodelint.rule.target import Target
    from nodelint.text import Node

    AnyObject = TypeVar("AnyObject", bound=Object)


_OLD_TYPES = 60
"""The age in days of the instance type facts from which on an unknown family or size may be new."""


class Context(ObjectRelations):
    """Everything that a rule can use in addition to its object: releases, facts, and the other objects.

    `facts` are the AWS facts: a fact that is not known raises `Missing`, and the rule is skipped with its reason.
    `objects` are all objects that the run has read; the last `context_count` of them are not judged. `foreign` are
    the objects of other providers, which only each other use. `files` are all files that the run judges, for a rule
    about a whole file; empty for other rules. `rule_names` are the names of all rules, `former_names` has today's
    name for each former name of a rule. If `strict` is false, the run shows no findings of the strict profile, and a
    rule may omit them.
    """

    def __init__(
        self,
        objects: Sequence[Object],
        target: Target,
        *,
        foreign: Sequence[Object] = (),
        context_count: int = 0,
        rule_names: Collection[str] = (),
        former_names: Mapping[str, str] = MappingProxyType({}),
        strict: bool = True,
    ) -> None:
        super().__init__(objects, target, foreign, context_count)
        self.kubernetes = target.kubernetes
        self.facts = target.facts
        self.rule_names: Collection[str] = dict.fromkeys(rule_names)
        self.former_names = former_names
        self.strict = strict
        self._facts_about: dict[int, AwsFacts] = {}
        self._images: dict[int, ImageSet] = {}
        self._resolutions: dict[int, Resolution] = {}
        self._user_data: dict[int, UserData | None] = {}
        self._conversions: dict[int, Conversion] = {}
        self._problems: dict[int, list[SchemaProblem]] = {}
        self._controller: dict[int, list[ControllerProblem]] = {}
        self._stated_releases: dict[int, tuple[Version, ...]] = {}
        self._tree: Tree | None = None

    @property
    def today(self) -> int | None:
        """Return the date of the run, in days since 1970, if files state the releases. None otherwise."""
        return self._target.today

    @property
    def has_old_types(self) -> bool:
        """Return whether the instance type facts are so old that an unknown type may be new."""
        from nodelint.model.support import day_number

        day = self._target.day
        return day is not None and day - day_number(self.catalog.date) > _OLD_TYPES

    @property
    def chosen(self) -> Chosen | None:
        """Return the releases that files state for the object, and where. None if no file does."""
        return self._target.chosen

    @property
    def is_assumed(self) -> bool:
        """Return whether the release is assumed: it is the newest known, because no option and no file states one."""
        return self._target.assumed

    def stated_releases(self, obj: Object) -> tuple[Version, ...]:
        """Return the Karpenter releases that an option or files state for an object.

        Empty if the newest release is assumed.
        """
        found = self._stated_releases.get(id(obj))
        if found is None:
            found = self._stated_releases[id(obj)] = tuple(
                target.karpenter
                for target in self._target.for_object(obj)
                if (target.karpenter != NEWEST if target.chosen is None else target.chosen.is_stated)
            )
        return found

    @cached_property
    def catalog(self) -> Catalog:
        """Return the instance types with the labels of the target release, including those of the snapshot."""
        return self.facts.catalog.for_release(self.karpenter)

    def _facts_of(self, about: EC2NodeClass | NodePool) -> AwsFacts:
        """Return the AWS facts about a class or a NodePool without class. Empty facts with a reason if the object is
        for another region.
        """
        if not self.facts:
            return self.facts
        found = self._facts_about.get(id(about))
        if found is None:
            from nodelint.ec2.facts import AwsFacts
            from nodelint.karpenter.selectors import elsewhere

            why = elsewhere([about] if isinstance(about, NodePool) else self.pools(about), self.facts)
            found = self.facts if why is None else AwsFacts(now=self.facts.now, why=why)
            self._facts_about[id(about)] = found
        return found

    def images(self, node_class: EC2NodeClass) -> ImageSet:
        """Return the images that the terms of a class find, in the order in which the controller tries them."""
        found = self._images.get(id(node_class))
        if found is None:
            from nodelint.karpenter.images import images_of

            facts = self._facts_of(node_class)
            found = node_class.once(
                ("images", self.karpenter, self.kubernetes),
                (facts,),
                lambda: images_of(node_class, self.karpenter, self.kubernetes, facts),
            )
            self._images[id(node_class)] = found
        return found

    def user_data(self, node_class: EC2NodeClass) -> UserData | None:
        """Return the user data of a class, read for its AMI family. None without user data, for `Custom`, and for a
        placeholder.
        """
        if node_class.node.find("spec", "userData") is None:
            return None
        if id(node_class) not in self._user_data:
            from nodelint.karpenter.userdata import read

            images = self.images(node_class)
            # Without a family, or with a placeholder for one, the images tell which user data they read.
            self._user_data[id(node_class)] = read(node_class, images.ami_family or images.boots)
        return self._user_data[id(node_class)]

    def script(self, node_class: EC2NodeClass) -> Script | None:
        """Return the scripts in the user data of a class of any AMI family. None without user data, and for a
        placeholder.
        """
        if node_class.node.find("spec", "userData") is None:
            return None
        from nodelint.karpenter.userdata import script_of

        return script_of(node_class)

    def walk_schema(self, obj: Object) -> Iterator[tuple[str, Node, SchemaNode]]:
        """Yield the nodes of an object that its schema knows, each with its path, such as
        `spec.disruption.budgets[].nodes`, and its schema.
        """
        shape = self.schemas.shape(obj.kind, obj.version, self.karpenter)
        pending = [] if shape is None else [("", obj.node, shape)]
        while pending:
            path, node, shape = pending.pop()
            yield path, node, shape
            for entry in reversed(node.entries):
                name = entry.name
                below = shape.extra if name is None else shape.field(name) or shape.extra
                if below is not None:
                    pending.append((f"{path}.{name or '*'}".lstrip("."), entry.value, below))
            if shape.items is not None:
                pending += [(f"{path}[]", item, shape.items) for item in reversed(node.items)]

    @cached_property
    def templates(self) -> Templates:
        """Return the text of templates of charts, and the values of these charts."""
        from nodelint.forms.helm.templates import Templates

        return Templates()

    @cached_property
    def schemas(self) -> Schemas:
        """Return the schemas by which the API server validates: the user's CRDs, else those of the target release."""
        if self._target.schemas is not None:
            return self._target.schemas
        from nodelint.apiserver import Schemas

        return Schemas.bundled()

    def settings(self, obj: Object) -> ControllerFacts:
        """Return the controller settings and feature gates that files near an object state."""
        from nodelint.releases.settings import ControllerFacts

        found = self._target.stated() if self._target.stated is not None and obj.source.path != "-" else None
        return (
            ControllerFacts((), self.karpenter) if found is None else found.for_path(obj.source.path, self.karpenter)
        )

    @cached_property
    def run_files(self) -> RunFiles:
        """Return the other files of the run and the files next to them, for rules about a file."""
        from nodelint.rule.run_files import RunFiles

        return RunFiles(self, self._target.stated)

    def resolution(self, pool: NodePool) -> Resolution:
        """Return the instance types that a NodePool can launch, with their images, and the reasons why other types
        are excluded.
        """
        found = self._resolutions.get(id(pool))
        if found is None:
            from nodelint.karpenter.resolve import resolve

            node_class = self.node_class(pool)
            why = self._why_no_class(pool) if node_class is None else None
            images = self.images(node_class) if node_class is not None else None
            facts = self._facts_of(node_class or pool)
            found = pool.once(
                ("resolution", self.karpenter, self.kubernetes, why),
                (node_class, facts, images, self.facts),
                lambda: resolve(pool, node_class, self.catalog, self.karpenter, self.kubernetes, why, facts, images),
            )
            if not found.candidates and self.has_old_types:
                from nodelint.karpenter.newer_types import list_perhaps_new

                found = found.with_unknown(list_perhaps_new(pool, self.catalog))
            self._resolutions[id(pool)] = found
        return found

    def _can_launch(self, pool: NodePool, value: str) -> bool:
        resolution = self.resolution(pool)
        return value in resolution.capacity_types or value in resolution.arches

    @cached_property
    def overlays(self) -> RunOverlays:
        """Return the NodeOverlays of the run: which ones the controller accepts, and to which types each applies."""
        from nodelint.rule.node_overlays import RunOverlays

        return RunOverlays(self.objects, self.catalog, self.resolution, self._is_refused)

    def resolution_with_overlays(self, pool: NodePool) -> Resolution:
        """Return the instance types that a NodePool can launch, with the NodeOverlays of its cluster unless files
        disable their feature gate.
        """
        if not self._overlaid or self.settings(pool).gate("NodeOverlay") is False:
            return self.resolution(pool)
        return self.overlays.apply(pool)

    @cached_property
    def _overlaid(self) -> bool:
        return any(isinstance(o, NodeOverlay) for o in self.objects)

    def policies(self, pool: NodePool) -> Policies:
        """Return the policies in the controller's settings for a pool's pods, as far as files state them."""
        from nodelint.fit.pools import read_policies

        return read_policies(self.settings(pool))

    def _is_refused(self, obj: Object) -> bool:
        """Return whether the API server or the controller refuses an object. An unknown field alone is not
        refused.
        """
        layers = {problem.layer for problem in self.problems(obj)}
        return bool(layers - {"unknown"}) or any(
            problem.severity == "error" for problem in self.controller_problems(obj)
        )

    @cached_property
    def pools_elsewhere(self) -> bool:
        """Return whether the run has NodePools that are known in part, Provisioners or NodePools of other providers,
        or may have a NodePool in a text that cannot be read.

        A pod may then fit a NodePool that is not known.
        """
        pools = [obj for obj in self.objects if isinstance(obj, NodePool)]
        of_others = any(isinstance(obj, NodePool) for obj in self._foreign)
        others = of_others or any(obj.kind == "Provisioner" for obj in self.objects)
        whole = {pool.name for pool in pools if not pool.partial}  # a part of the same name is a patch of it
        return (
            others or any(pool.partial and pool.name not in whole for pool in pools) or self.run_files.has_unread_text
        )

    def has_pool(self, workload: Workload) -> bool:
        """Return whether some NodePool of the run, or a node that Karpenter does not manage, can take a workload's
        pods. Faster than `fit`.
        """
        return self._workloads_of(workload).is_possible(workload)

    def find_doubt(self, workload: Workload) -> Gap | None:
        """Return why it is not known whether the NodePool that can take a workload's pods has room for them. None if
        it is known.
        """
        return self._workloads_of(workload).find_doubt(workload)

    def fit(self, workload: Workload) -> WorkloadFit:
        """Return on which NodePools of the run the pods of a workload can run, and why not on others."""
        return self._workloads_of(workload).fit(workload)

    def _workloads_of(self, workload: Workload) -> Tree:
        from nodelint.fit.other_capacity import OtherCapacity
        from nodelint.fit.tree import Tree

        if self._tree is None:
            pools = [o for o in self.objects if isinstance(o, NodePool) and served(o, self.karpenter)]
            others: Any = [o for o in self.objects if o.of_cluster]
            overlays = [o for o in self.objects if isinstance(o, NodeOverlay)]
            groups = OtherCapacity(workload.source.node_groups)
            resolutions = [self.resolution_with_overlays(pool) for pool in pools]
            self._tree = Tree(resolutions, others, overlays, self.policies, groups)
        return self._tree

    def is_dropped(self, obj: Object, value: Node) -> bool:
        """Return whether the API server does not know the field of a value: it refuses the object, or drops the
        field.
        """
        unknown = (problem.node for problem in self.problems(obj) if problem.layer == "unknown")
        return any(
            key.parent is value.parent and key.parent.get(str(key.value)) is value for key in unknown if key.parent
        )

    def problems(self, obj: Object) -> list[SchemaProblem]:
        """Return the reasons why the API server refuses an object, and the fields that it drops."""
        found = self._problems.get(id(obj))
        if found is None:
            from nodelint.apiserver import check

            found = check(obj, self.karpenter, self.schemas)
            lacking = any(problem.missing or problem.layer == "validation" for problem in found)
            patches = self._completing(obj) if lacking and not obj.partial else []
            if patches:
                # A field that no patch adds is missing in every overlay. It is reported once, for the base.
                left = [p for p in found if p.missing and not any(supplies(patch.node, p.path) for patch in patches)]
                found = [*check(obj, self.karpenter, self.schemas, partial=True), *left]
            self._problems[id(obj)] = found
        return found

    def conversion(self, obj: Object) -> Conversion:
        """Return the v1 objects to which an object of an old API is converted, and the edits of the conversion."""
        found = self._conversions.get(id(obj))
        if found is None:
            from nodelint.convert import conversions

            self._conversions.update(conversions(obj, self._relations))
            found = self._conversions[id(obj)]
        return found

    @cached_property
    def _relations(self) -> Relations:
        from nodelint.convert.relations import Relations

        return Relations(self.objects)

    def _completing(self, obj: Object) -> list[Object]:
        """Return the patches of the run's overlays that add fields to an object."""
        return [
            other
            for other in self._partial
            if other.kind == obj.kind
            and other.name in (obj.name, None)
            and other.source is not obj.source
            and adds(other.node, obj.node)
            and TABLE.builds_on(other.source.path, obj.source.path)
        ]

    @cached_property
    def _partial(self) -> list[Object]:
        return [obj for obj in self.objects if obj.partial]

    def controller_problems(self, obj: Object) -> list[ControllerProblem]:
        """Return the problems of the controller with an object that the API server accepts."""
        found = self._controller.get(id(obj))
        if found is None:
            from nodelint.karpenter.controller import check

            found = check(obj, self.karpenter)
            self._controller[id(obj)] = found
        return found
