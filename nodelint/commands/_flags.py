"""Types for the options of the commands, as click passes them: `**flags: Unpack[...]`.

A test compares each command's options with these keys. A flag that was not given is None, False or empty; None means
that the configuration decides (`commands.settings_of`).
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
        """The options about the configuration: `--config` and `--isolated`."""

        config: str | None
        isolated: bool

    class VersionFlags(ConfigFlags):
        """The options about the target and the configuration, such as `--karpenter-version` and `--config`."""

        kubernetes_version: str | None
        karpenter_version: str | None

    class ExcludeFlags(TypedDict):
        """The options about files that are not read: `--exclude` and `--no-ignore`."""

        exclude: tuple[str, ...]
        respect_gitignore: bool | None

    class PathFlags(ExcludeFlags):
        """The options about files that are read: `--include`, `--exclude` and `--no-ignore`."""

        include: tuple[str, ...]

    class ValuesFlags(TypedDict):
        """The option `--values`."""

        values: tuple[str, ...]

    class JudgingFlags(PathFlags, ValuesFlags):
        """The options that decide which rules judge which files, and with which schemas."""

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
        """The options for facts of a command that does not ask AWS."""

        region: str | None
        snapshot: str | None

    class AwsFlags(SnapshotFlags):
        """The options about facts from AWS: `--live`, `--aws-profile` and `--max-age`."""

        live: bool
        aws_profile: str | None
        max_age: timedelta | None

    class CheckSettingFlags(JudgingFlags, AwsFlags, VersionFlags):
        """The options of `nodelint check` that decide what is judged: files, rules, facts and releases."""

        fail_on: str | None
        baseline: str | None

    class CheckFlags(CheckSettingFlags):
        """All options of `nodelint check`."""

        paths: Sequence[str]
        fixing: bool
        unsafe_fixes: bool
        chosen: tuple[str, ...]
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
        """The options of `nodelint baseline`."""

        baseline: str | None

    class ExplainFlags(PathFlags, ValuesFlags, AwsFlags, VersionFlags):
        """The options of `nodelint explain` and `nodelint fit`."""

    class HashFlags(PathFlags, ValuesFlags, VersionFlags):
        """The options of `nodelint hash`."""

        crds: str | None

    class PlanSettingFlags(JudgingFlags, SnapshotFlags, VersionFlags):
        """The options of `nodelint plan` that decide what is judged: files, rules, facts and releases."""

    class RefreshFlags(ExcludeFlags, VersionFlags):
        """The options of `nodelint refresh` that choose files and releases."""

    class PolicyFlags(ConfigFlags):
        """The options of `nodelint policy`."""

        select: tuple[str, ...]
        ignore: tuple[str, ...]
        profile: str | None
        karpenter_version: str | None

    class RuleFlags(ConfigFlags):
        """The options of `nodelint rule`."""

        rules: tuple[str, ...]
        repository_rules: bool | None

    class DiffFlags(PathFlags, VersionFlags):
        """The options of `nodelint snapshot diff`."""

    class TriageFlags(ExcludeFlags, AwsFlags, VersionFlags):
        """The options of `nodelint triage`."""

    class WhyFlags(ExcludeFlags, AwsFlags, VersionFlags):
        """The options of `nodelint why`."""

    class UpgradeFlags(PathFlags, ValuesFlags, AwsFlags, ConfigFlags):
        """The options of `nodelint upgrade`."""

        kubernetes_version: str | None
        fail_on: str | None


class FactFlags(NamedTuple):
    """The flags about facts from AWS: whether to ask AWS, the profile, and the maximum age of an answer."""

    live: bool
    profile: str | None
    max_age: timedelta | None

    @classmethod
    def read(cls, flags: AwsFlags) -> FactFlags:
        """Return the flags about facts of a command. End the run if they contradict each other."""
        if flags["live"] and flags["snapshot"]:
            stop("--live and --snapshot cannot be used together: one asks AWS, the other does not")
        return cls(flags["live"], flags["aws_profile"], flags["max_age"])
