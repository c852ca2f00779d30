"""The parts of a run that follow from a configuration: rules, schemas, AWS facts, baseline, and the releases to judge
for.

Commands and the language server use the same session, so that both judge alike. Nothing here prints, or ends the run:
an unusable setting raises ConfigError.
"""

from __future__ import annotations

import os
from functools import cache, cached_property, partial

from nodelint.base.types import TYPE_CHECKING
from nodelint.config.file import ConfigError, PackageMissing
from nodelint.config.options import option_values
from nodelint.config.rule_selection import no_rule, selection
from nodelint.config.settings import BUNDLED, Settings
from nodelint.files.gate import read_bounded
from nodelint.files.safe_read import error_reason, find_top

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime, timedelta
    from typing import Any

    from nodelint.apiserver import Schemas
    from nodelint.config.release_selection import Choose
    from nodelint.ec2.facts import AwsFacts
    from nodelint.ec2.questions import ClassesAt
    from nodelint.files.folders import Discovery
    from nodelint.forms.requests import FolderUse
    from nodelint.inventory import Inventory
    from nodelint.lint.baseline import KnownFinding
    from nodelint.lint.engine import Selection, Target
    from nodelint.model.controller_settings import ControllerInstall
    from nodelint.model.fact_kinds import FactKind
    from nodelint.model.manifest import EC2NodeClass
    from nodelint.releases.deployers import Deployers
    from nodelint.releases.release_choice import Chosen
    from nodelint.releases.settings import StatedSettings
    from nodelint.rule.definition import Rule
    from nodelint.text import Source

    Reader = Callable[[str, Callable[[str], Any]], Any]
    """A function that reads a path with another function. The one of the language server caches unchanged files."""


_NO_SNAPSHOT = "; `nodelint refresh --output {}` writes a snapshot of what AWS says"


class Session:
    """A configuration, and the parts of a run that follow from it, computed on first use."""

    def __init__(self, settings: Settings, read: Reader | None = None) -> None:
        self.settings = settings
        self._read: Reader = read or (lambda path, by: by(path))
        # A caching reader serves configurations of several regions, so it reads the snapshot of every region.
        self._region = settings.region if read is None else None
        self._found: Discovery | None = None
        self._deployers: tuple[Discovery, Deployers] | None = None
        self.today: int | None = None

    def for_old_side(self, settings: Settings) -> Session:
        """Return the session of the old side of a change: the same rules and schemas, with its own settings."""
        session = Session(settings, self._read)
        session._region, session.today = self._region, self.today
        session.rules, session.schemas = self.rules, self.schemas
        return session

    @cached_property
    def rules(self) -> dict[str, Rule]:
        """Return the bundled rules, those of the configured folders, and the policies, by name."""
        from nodelint.rule import definition as rule

        rules = {**_bundled(), **self._own_rules(rule.load), **self._policies()}
        return self._with_options(rules) if self.settings.options else rules

    def _with_options(self, rules: dict[str, Rule]) -> dict[str, Rule]:
        from nodelint.rule.definition import former_names, with_options

        former = former_names(rules)
        for name, values in self.settings.options.items():
            today = former.get(name, name)
            if today not in rules:
                raise ConfigError(self.settings.placed(name, no_rule(name, rules)))
            rules[today] = with_options(rules[today], option_values(rules[today], values, self.settings.placed))
        return rules

    def _own_rules(self, load: Callable[[str], dict[str, Rule]]) -> dict[str, Rule]:
        found: dict[str, Rule] = {}
        for folder in self.settings.rules:
            try:
                loaded = load(folder)
            except OSError as error:
                raise ConfigError(f"rules: {folder}: {error_reason(error)}; name a folder of rules") from error
            except Exception as error:  # a rule is code that may raise any error while it is loaded
                raise ConfigError(f"rules: {folder}: {type(error).__name__}: {error}") from error
            if not loaded:
                raise ConfigError(f"rules: {folder}: there is no rule: each is a file that ends with `.py`")
            taken = sorted(loaded.keys() & (_bundled().keys() | found.keys()))
            if taken:
                raise ConfigError(f"rules: {folder}: there is a rule `{taken[0]}` already; rename the file")
            found.update(loaded)
        return found

    def _policies(self) -> dict[str, Rule]:
        if not self.settings.policies:
            return {}
        from nodelint.rule import policies

        found: dict[str, Rule] = {}
        for policy, place in self.settings.policies:
            try:
                found[policy.name] = policies.rule_of(policy)
            except policies.PolicyError as error:
                kind = PackageMissing if isinstance(error, policies.RuntimeMissing) else ConfigError
                raise kind(
                    f"{place(error.key, error.line, error.column)}: policy `{policy.name}`: {error}"
                ) from error
        return found

    @cached_property
    def selection(self) -> Selection:
        """Return the selection of the rules that report findings."""
        return selection(self.settings, self.rules)

    @cached_property
    def schemas(self) -> Schemas | None:
        """Return the schemas of the user's CRDs. None for the bundled schemas. Raise ConfigError if
        they cannot be read.
        """
        path = self.settings.crds
        if path is None:
            return None
        from nodelint.apiserver import Schemas

        try:
            within = self.settings.bounds.get("crds")
            schemas: Schemas = self._read(path, lambda path: Schemas.from_crds(path, within))
        except (OSError, ValueError) as error:
            raise ConfigError(f"{path}: {error_reason(error)}") from error
        return schemas

    @cached_property
    def known(self) -> tuple[KnownFinding, ...] | None:
        """Return the findings of the baseline, which are not reported. None without a baseline."""
        return None if self.settings.baseline is None else self.baseline(self.settings.baseline)

    def baseline(self, path: str) -> tuple[KnownFinding, ...]:
        """Return the findings in a baseline file. Raise ConfigError if it cannot be read."""
        from nodelint.lint import baseline

        try:
            entries: tuple[KnownFinding, ...] = self._read(
                path, lambda file: baseline.read(read_bounded(file, self.settings.bounds.get("baseline")), file)
            )
        except FileNotFoundError as error:
            raise ConfigError(f"{path}: {error_reason(error)}; `nodelint baseline` writes it") from error
        except OSError as error:
            raise ConfigError(f"{path}: {error_reason(error)}") from error
        except baseline.BaselineError as error:
            from nodelint.model.validity import in_json

            raise ConfigError(*(in_json("baseline", path) or [str(error)])) from error
        return entries

    def facts(
        self, folder: str, now: Callable[[], datetime], max_age: timedelta | None = None
    ) -> tuple[AwsFacts, str | None]:
        """Return the AWS facts and the file that has them: the configured snapshot, else the cached one. Empty facts
        and None if there is none.

        `folder` is a folder of the repository whose facts are cached. Raise UnusableSnapshot for a file that is not a
        snapshot.
        """
        from nodelint.ec2 import cache
        from nodelint.ec2.facts import NOTHING

        named = self.settings.snapshot
        path = None if named == BUNDLED else named or cache.find_cached(folder)
        if path is None:
            return NOTHING, None
        if named:
            within = self.settings.bounds.get("snapshot")
            hint = "" if os.path.lexists(path) else _NO_SNAPSHOT.format(path)
            snapshot = self._read(path, lambda path: cache.read(path, hint, self._region, within))
        else:
            snapshot = self._read(path, lambda path: cache.read_kept(path, region=self._region))
        return cache.facts_of(snapshot, path, self.settings.region, now(), self.limits(max_age)), path

    def limits(self, max_age: timedelta | None = None, *, live: bool = False) -> Mapping[FactKind, timedelta]:
        """Return the largest age of a fact of each kind.

        A snapshot that the user names has no limit, unless `max_age` is set.
        """
        from nodelint.ec2 import cache
        from nodelint.model.fact_kinds import FACT_KINDS

        if max_age is not None:
            return dict.fromkeys(FACT_KINDS, max_age)
        return {} if self.settings.snapshot and not live else cache.time_to_live()

    def beside(self, objects: Sequence[Any], read: Discovery) -> list[Source]:
        """Return the other manifests of the repository, if a pool names a class that is not in the run. Empty
        otherwise.

        They are also read if the run has a Provisioner or AWSNodeTemplate: the objects that it names, or that name
        it, must be converted together.
        """
        from nodelint.model.manifest import EC2NodeClass, NodePool, Retired

        classes = {o.name for o in objects if isinstance(o, EC2NodeClass)}
        wanted = {o.class_ref.name for o in objects if isinstance(o, NodePool) and o.class_ref}
        if wanted <= classes and not any(isinstance(o, Retired) for o in objects):
            return []
        return self.read_rest(read)

    def read_rest(self, read: Discovery) -> list[Source]:
        """Return the manifests of the repository that are not among the files of a run."""
        from nodelint.files.discover import context

        return context(read, self.settings.paths_left_out, self.settings.paths_read_too)

    def choose(self, found: Discovery) -> Choose | None:
        """Return the function that chooses the releases for which an object is judged. None if all have the release
        of the settings.
        """
        settings = self.settings
        self._found = found
        stating: Sequence[Source] = ()
        if (found.sources or found.folders) and not (settings.karpenter_named and settings.kubernetes is not None):
            from nodelint.files.release_files import read_stating_files

            stating = read_stating_files(found, self.settings.paths_left_out)
        if not stating and not settings.per_path_versions and not settings.karpenter_range:
            return None
        from nodelint.config.release_selection import chooser

        return chooser(settings, stating, self._find_deployers(found))

    def _find_deployers(self, found: Discovery) -> Deployers:
        if self._deployers is None or self._deployers[0] is not found:
            from nodelint.releases.deployers import Deployers

            self._deployers = found, Deployers(lambda: _list_deployed_folders(found))
        return self._deployers[1]

    def keep_requested(self, inventory: Inventory, found: Discovery) -> Inventory:
        """Return an inventory without the objects of other clusters than the requested files."""
        from nodelint.releases.requested import keep_requested

        return keep_requested(inventory, found, self._find_deployers(found))

    def classes_at(self, classes: Iterable[EC2NodeClass], choose: Choose | None) -> list[ClassesAt]:
        """Return classes in groups by the releases for which they are judged: the questions to AWS depend on
        these.
        """
        from nodelint.ec2.questions import ClassesAt

        target = self.target(choose=choose)
        found: dict[tuple[Any, Any], list[EC2NodeClass]] = {}
        for node_class in classes:
            for object_target in target.for_object(node_class):
                found.setdefault((object_target.karpenter, object_target.kubernetes), []).append(node_class)
        if not found:
            found[target.karpenter, target.kubernetes] = []
        return [ClassesAt(node_classes, *releases) for releases, node_classes in found.items()]

    def target(self, facts: AwsFacts | None = None, choose: Choose | None = None) -> Target:
        """Return the target for which objects are judged."""
        from nodelint.ec2.facts import NOTHING
        from nodelint.lint.engine import Target

        settings, found = self.settings, self._found
        stated = None if found is None else cache(lambda: self._stated(found))
        known = NOTHING if facts is None else facts
        # With releases in an option, the end of their support is not checked.
        today = None if choose is None else self.today
        target = Target(settings.karpenter, settings.kubernetes, self.schemas, known, choose, stated, today)
        alone = None if choose is None or found is None or settings.karpenter_named else partial(_list_alone, found)
        return target._replace(assumed=not settings.karpenter_named, day=self.today, list_alone=alone)

    def _stated(self, found: Discovery) -> StatedSettings:
        from nodelint.releases.settings import INSTALLING, StatedSettings

        @cache
        def read_stating() -> Sequence[Source]:
            from nodelint.files.release_files import read_stating_files

            return read_stating_files(found, self.settings.paths_left_out)

        def find() -> Sequence[ControllerInstall]:
            # A kustomization that generates a ConfigMap of values states no release itself.
            sources = {source.path: source for source in (*found.sources, *read_stating())}
            if not any(word in source.text for source in sources.values() for word in INSTALLING):
                return ()
            from nodelint.inventory.controller_installs import find_installs

            return find_installs([source for path, source in sources.items() if path != "-"])

        judged = {source.path for source in found.sources}
        others = [source for source in found.stating if source.path not in judged]
        return StatedSettings(find, others, (*found.sources, *others), read_stating)


def _list_alone(found: Discovery) -> list[Chosen]:
    """Return the releases of Karpenter that requested files state, each with its statement."""
    read_with = {os.path.abspath(path) for path in found.read_with}
    return list_stated(source for source in found.stating if os.path.abspath(source.path) not in read_with)


def list_stated(sources: Iterable[Source]) -> list[Chosen]:
    """Return the releases of Karpenter that files state, each with its statement."""
    from nodelint.model.ranges import only
    from nodelint.model.releases import OLDEST
    from nodelint.releases import evidence_of
    from nodelint.releases.release_choice import Chosen

    return [
        Chosen(only(evidence.karpenter), None, evidence)
        for evidence in evidence_of(list(sources)).all
        if evidence.about == "karpenter" and evidence.installs and evidence.karpenter >= OLDEST
    ]


def _list_deployed_folders(found: Discovery) -> Iterator[FolderUse]:
    """Yield the folders that objects in the files of a run, and of the repositories around it, deploy."""
    paths = {os.path.abspath(path) for path in (*found.installing, *found.applying, *found.deploying)}
    if not paths:
        return
    from nodelint.forms.lib.unread_inputs import UnreadInputs
    from nodelint.forms.lib.values import read
    from nodelint.forms.registry import TABLE

    known = {os.path.abspath(source.path): source for source in (*found.stating, *found.sources)}
    sources = [source for path in sorted(paths) if (source := known.get(path) or read(path)) is not None]
    top = find_top(os.path.dirname(min(paths))) or os.getcwd()
    files = UnreadInputs(sources, (), top)
    for row in TABLE.rows:
        yield from row.load().list_applied_folders(files)


def _bundled() -> dict[str, Rule]:
    from nodelint.rule import definition as rule

    return rule.load_bundled()
