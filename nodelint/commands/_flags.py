"""Options of the commands by group, as click passes them: `**flags: Unpack[...]`.

Each group of options has its keys here; a test holds every command's options to them. A flag that was not given is
None, False or empty, and what is None is left to the configuration (`commands.settings_of`).
"""

from __future__ import annotations

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.commands._console import stop

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta
    from typing import TypedDict

    from nodelint.commands._output import Output

    class ConfigFlags(TypedDict):
        """Of `commands.config_options`."""

        config: str | None
        isolated: bool

    class VersionFlags(ConfigFlags):
        """Of `commands.versions`."""

        kubernetes_version: str | None
        karpenter_version: str | None

    class ExcludeFlags(TypedDict):
        """Of `commands.exclude`."""

        exclude: tuple[str, ...]
        respect_gitignore: bool | None

    class PathFlags(ExcludeFlags):
        """Of `commands.exclude` and `commands.include`."""

        include: tuple[str, ...]

    class ValuesFlags(TypedDict):
        """Of `commands.values`."""

        values: tuple[str, ...]

    class RenderingFlags(TypedDict):
        """Of `commands._lint_setup.rendering_options`."""

    class JudgingFlags(PathFlags, ValuesFlags, RenderingFlags):
        """Of `commands._lint_setup.judging_options`."""

        crds: str | None
        jobs: str | None
        ignore: tuple[str, ...]
        select: tuple[str, ...]
        extend_select: tuple[str, ...]
        preview: bool | None
        rules: tuple[str, ...]
        repository_rules: bool | None
        profile: str | None

    class SnapshotFlags(TypedDict):
        """Which facts are used, where AWS is not asked."""

        region: str | None
        snapshot: str | None

    class AwsFlags(SnapshotFlags):
        """Of `commands._facts.facts_options`."""

        live: bool
        aws_profile: str | None
        max_age: timedelta | None

    class CheckSettingFlags(JudgingFlags, AwsFlags, VersionFlags):
        """Of `nodelint check`: what a configuration may say too, and which facts are used."""

        fail_on: str | None
        baseline: str | None

    class CheckFlags(CheckSettingFlags):
        """All of `nodelint check`."""

        paths: Sequence[str]
        fixing: bool
        unsafe_fixes: bool
        diff: bool
        outputs: Sequence[Output]
        output: str | None
        quiet: bool
        verbose: bool
        statistics: bool
        show_fixes: bool
        stdin_filename: str | None
        require_facts: bool
        fail_on_unjudged: bool
        show: str | None

    class BaselineFlags(JudgingFlags, AwsFlags, VersionFlags):
        """Of `nodelint baseline`."""

        baseline: str | None

    class ExplainFlags(PathFlags, ValuesFlags, AwsFlags, VersionFlags):
        """Of `nodelint explain` and `nodelint fit`."""

    class HashFlags(PathFlags, ValuesFlags, VersionFlags):
        """The flags of `nodelint hash`."""

        crds: str | None

    class PlanSettingFlags(JudgingFlags, SnapshotFlags, VersionFlags):
        """Of `nodelint plan`."""

    class RefreshFlags(ExcludeFlags, VersionFlags):
        """Of `nodelint refresh`."""

    class PolicyFlags(ConfigFlags):
        """Of `nodelint policy`."""

        select: tuple[str, ...]
        ignore: tuple[str, ...]
        profile: str | None
        karpenter_version: str | None

    class RuleFlags(ConfigFlags):
        """Of `nodelint rule`."""

        rules: tuple[str, ...]
        repository_rules: bool | None

    class DiffFlags(PathFlags, VersionFlags):
        """Of `nodelint snapshot diff`."""

    class TriageFlags(ExcludeFlags, AwsFlags, VersionFlags):
        """Of `nodelint triage`."""

    class WhyFlags(ExcludeFlags, AwsFlags, VersionFlags):
        """Of `nodelint why`."""

    class UpgradeFlags(PathFlags, ValuesFlags, RenderingFlags, AwsFlags, ConfigFlags):
        """Of `nodelint upgrade`."""

        kubernetes_version: str | None
        fail_on: str | None


class FactFlags(NamedTuple):
    """The flags about facts from AWS: ask it, with which profile, and how old an answer may be."""

    live: bool
    profile: str | None
    max_age: timedelta | None

    @classmethod
    def read(cls, flags: AwsFlags) -> FactFlags:
        """Return the flags about facts of a command; its other flags are settings. End the run where they contradict
        each other.
        """
        if flags["live"] and flags["snapshot"]:
            stop("--live and --snapshot cannot be used together: one asks AWS, the other does not")
        return cls(flags["live"], flags["aws_profile"], flags["max_age"])
