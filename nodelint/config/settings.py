"""nodelint.yaml or `[tool.nodelint]` of pyproject.toml, and the command's flags, become one frozen Settings."""

from __future__ import annotations

import os

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.config.file import ConfigError, ConfigFile, read_config, table_of
from nodelint.config.options import read_options
from nodelint.config.values import (
    read_fail_on,
    read_jobs,
    read_kubernetes,
    read_names,
    read_per_path,
    read_profile,
    read_region,
    read_releases,
    read_switch,
    require_text,
)
from nodelint.files.gate import Gate, gate
from nodelint.files.globs import Excluded, Globs
from nodelint.files.safe_read import repository
from nodelint.model.messages import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from nodelint.config.values import FailOn
    from nodelint.lint.engine import Selection
    from nodelint.model.ranges import Releases
    from nodelint.model.releases import KubernetesVersion, Version
    from nodelint.rule.definition import Rule
    from nodelint.rule.policies import Policy


FILES = ("nodelint.yaml", "nodelint.yml")

NOTHING: Mapping[str, Any] = {}
"""What a setting of names is that nobody has set; nobody may write into it."""

BUNDLED = "bundled"
"""What stands for a snapshot where only the facts that come with nodelint are wanted."""

_KEYS = (
    "karpenter-version",
    "kubernetes-version",
    "profile",
    "select",
    "extend-select",
    "ignore",
    "per-path-ignores",
    "per-path-versions",
    "rules",
    "policies",
    "exclude",
    "include",
    "respect-gitignore",
    "fail-on",
    "baseline",
    "crds",
    "snapshot",
    "region",
    "preview",
)


class Versions(NamedTuple):
    """The releases that a configuration names for paths; None if it leaves one open."""

    karpenter: tuple[Releases, ...] | None = None
    kubernetes: KubernetesVersion | None = None


class Settings(NamedTuple):
    """The settings of a run. `karpenter_named` is False where no release of Karpenter is named.

    Of a range `release` is the newest one, and `karpenter_range` all, parted where something changes.
    `per_path_versions` maps globs to what they are judged for; the first that matches counts.

    `snapshot` is a path, BUNDLED, or None for the one that is cached, if any. `bounds` are the
    folders that `baseline`, `crds` and `snapshot` have to lie in, where no flag names them.

    `rules` are folders of rules, each policy comes with what tells the place of one of its keys. `preview` says
    that preview rules report.

    `values` are the values files with which a chart is judged, as --values names them.

    `jobs` is the number of processes that judge, None for as many as suit.

    Globs of a file are about paths from its folder, `root`; those of a flag about paths as they are printed.
    Globs match what is at the first path of `seen_as` as if it were at the second one (`Globs`).
    `places` tells where in the file each name of a rule or option stands, as `path:line:column`.
    """

    release: Version | None = None
    karpenter_named: bool = False
    karpenter_range: tuple[Releases, ...] = ()
    per_path_versions: Mapping[str, Versions] = NOTHING
    kubernetes: KubernetesVersion | None = None
    profile: str = "default"
    select: frozenset[str] | None = None
    extend_select: frozenset[str] = frozenset()
    ignore: frozenset[str] = frozenset()
    per_path: Mapping[str, frozenset[str]] = NOTHING
    exclude: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    respect_gitignore: bool = True
    fail_on: FailOn = "error"
    baseline: str | None = None
    crds: str | None = None
    bounds: Mapping[str, str] = NOTHING
    snapshot: str | None = None
    rules: tuple[str, ...] = ()
    policies: tuple[tuple[Policy, Callable[..., str]], ...] = ()
    options: Mapping[str, Mapping[str, object]] = NOTHING
    region: str | None = None
    preview: bool = False
    jobs: int | None = None
    root: str = ""
    exclude_root: str = ""
    include_root: str = ""
    seen_as: tuple[str, str] | None = None
    places: Mapping[str, str] = NOTHING

    @property
    def karpenter(self) -> Version:
        """Return the release of Karpenter that objects are judged for; the newest that is known where there is no
        other.
        """
        from nodelint.model.releases import NEWEST  # here: a run that meets nothing of Karpenter's needs no release

        return self.release or NEWEST

    @property
    def paths_left_out(self) -> Excluded:
        """Return the paths that are not read."""
        return Excluded(self.exclude, self.exclude_root, self.seen_as, gitignore=self.respect_gitignore)

    @property
    def paths_read_too(self) -> Globs:
        """Return the scripts and Markdown files that are read too."""
        return Globs(self.include, self.include_root, self.seen_as)

    def placed(self, word: str, message: str) -> str:
        """Return a message about a name, with its place where a file holds it."""
        return f"{self.places[word]}: {message}" if word in self.places else message


def find(folder: str, passed_over: list[str] | None = None) -> str | None:
    """Return the nearest nodelint.yaml, or pyproject.toml with a `[tool.nodelint]` table, up to the repository's
    root.

    `passed_over` collects, in words, each pyproject.toml that is not opened, for it leads out of the repository.
    Raise ConfigError for a file that cannot be read, or that is a link out of the repository.
    """
    while True:
        for name in FILES:
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                return _own(path)
        path = os.path.join(folder, "pyproject.toml")
        if os.path.isfile(path):
            # One that leads out of the repository is not opened to see whether it holds settings.
            reason = _refusal(path)
            if reason is None and table_of(path) is not None:
                return path
            if reason is not None and passed_over is not None:
                passed_over.append(f"{path}: not read: a link to what is {reason}; to use it, name it by --config")
        parent = os.path.dirname(folder)
        if parent == folder or os.path.exists(os.path.join(folder, ".git")):
            return None
        folder = parent


def _own(path: str) -> str:
    """Return the path of a configuration that was found.

    Raise ConfigError for a link out of the repository, or into `.git`.
    """
    reason = _refusal(path)
    if reason is not None:
        raise ConfigError(f"{path}: a link to what is {reason}; to use it, name it by --config")
    return path


def _refusal(path: str) -> str | None:
    return Gate(_top(os.path.dirname(path))).refusal(path)


def _top(folder: str) -> str:
    """Return the folder that what a configuration names has to lie in: the repository, else the configuration's
    folder.
    """
    return repository(os.path.abspath(folder)) or os.path.abspath(folder)


def load(path: str | None, flags: Mapping[str, object], trusted: bool = False) -> Settings:
    """Return settings of a file (None for no file) with flags over them; a flag that is None was not given.

    `trusted` says that the user named a file of their own, so that what it names may run as code.

    Raise ConfigError for a file or a value that cannot be used. A path that the file names has to lie in its
    repository, one of a flag may lie anywhere.
    """
    given = read_config(path) if path else ConfigFile({}, "", None)
    try:
        return _settings(given, flags, trusted)
    except ConfigError as error:
        from nodelint.model.validity import faults

        # The reader stops at the first fault. The schema knows all of them.
        found = faults("config", given.plain(), given.root, given.path) if path else []
        raise ConfigError(*(found or error.messages)) from error


def _settings(given: ConfigFile, flags: Mapping[str, object], trusted: bool) -> Settings:
    _hold_to_known(given)
    folder = os.path.dirname(given.path)

    def value(key: str) -> tuple[object, str]:
        flag = flags.get(key)
        if flag is not None and flag != ():
            return flag, f"--{key}"
        return given.values.get(key), given.place(key)

    def path_of(key: str) -> str | None:
        flag, value = flags.get(key), given.values.get(key)
        if flag is not None:
            return str(flag)
        return None if value is None else _path(key, require_text(value, given.place(key)), folder, given.place(key))

    bundled = flags.get("snapshot") is None and given.values.get("snapshot") == BUNDLED
    named = read_releases(*value("karpenter-version"))
    return Settings(
        release=named[-1].last if named else None,
        karpenter_named=bool(named),
        karpenter_range=named if len(named) > 1 else (),
        per_path_versions=_per_path_versions(given, flags),
        kubernetes=read_kubernetes(*value("kubernetes-version")),
        profile=read_profile(*value("profile")),
        select=None if value("select")[0] is None else read_names(*value("select")),
        extend_select=_extended_names(given, flags),
        ignore=read_names(*value("ignore")),
        per_path=read_per_path(*value("per-path-ignores")),
        exclude=tuple(sorted(read_names(*value("exclude")))),
        include=tuple(sorted(read_names(*value("include")))),
        values=_list_texts(flags.get("values")),
        respect_gitignore=read_switch(*value("respect-gitignore"), default=True),
        fail_on=read_fail_on(*value("fail-on")),
        baseline=path_of("baseline"),
        crds=path_of("crds"),
        bounds={key: _top(folder) for key in _PATHS if flags.get(key) is None and key in given.values},
        snapshot=BUNDLED if bundled else path_of("snapshot"),
        rules=_rules(given, flags, folder, trusted),
        policies=_policies(given),
        options=read_options(given),
        region=read_region(*value("region")),
        preview=read_switch(*value("preview")),
        jobs=read_jobs(flags.get("jobs")),
        root=folder,
        exclude_root=folder if not flags.get("exclude") else "",
        include_root=folder if not flags.get("include") else "",
        places=_places(given, flags),
    )


def _list_texts(value: object) -> tuple[str, ...]:
    """Return the texts of a flag that may be repeated; none if it was not given."""
    return tuple(map(str, value)) if isinstance(value, tuple | list) else ()


def _extended_names(given: ConfigFile, flags: Mapping[str, object]) -> frozenset[str]:
    """Return the rules that report too: those of the file, and those of the flag."""
    key = "extend-select"
    return read_names(given.values.get(key), given.place(key)) | read_names(flags.get(key), f"--{key}")


def _places(given: ConfigFile, flags: Mapping[str, object]) -> dict[str, str]:
    """Return where names of rules and options stand in a file, as far as no flag stands for the setting."""
    named = [key for key in _NAMING if key == "rules" or not flags.get(key)]
    return {word: place for key in named for word, place in given.words(key).items()}


_NAMING = ("select", "extend-select", "ignore", "per-path-ignores", "rules")
"""The settings that name rules."""


def _hold_to_known(given: ConfigFile) -> None:
    for key in given.values:
        if key not in _KEYS:
            meant = did_you_mean(key, _KEYS) or f"; known are {', '.join(_KEYS)}"
            raise ConfigError(f"{given.place(key)}: unknown setting `{key}`{meant}")


def selection(settings: Settings, rules: Mapping[str, Rule]) -> Selection:
    """Return which rules report, the name of a group or subject standing for its rules and `all` for every one.

    Raise ConfigError for a name that is none of these; in names, capitals do not count.
    """
    from nodelint.lint.engine import Selection
    from nodelint.rule.classification import GROUPS, PROFILES, SUBJECTS
    from nodelint.rule.definition import former_names

    former = former_names(rules)
    several = {*GROUPS, *map(_plain_word, SUBJECTS), "all"}
    for name in named_rules(settings):
        word = _plain_word(name)
        if not {name, word} & (rules.keys() | former.keys()) and (word not in several or name in settings.options):
            raise ConfigError(settings.placed(name, no_rule(name, [*rules, *several])))

    for name in (*(settings.select or ()), *settings.extend_select):
        exact_rule = rules.get(former.get(name, name))
        if exact_rule is not None and exact_rule.preview and not settings.preview:
            raise ConfigError(settings.placed(name, f"the rule `{name}` is a preview: {_PREVIEW_HINT}"))

    def names_of(names: frozenset[str]) -> frozenset[str]:
        if not names:
            return names
        exact = {former.get(name, name) for name in names}
        words = {former.get(word, word) for word in map(_plain_word, names)}
        return frozenset(
            name
            for name, rule in rules.items()
            if name in exact or words & {name, rule.group, _plain_word(rule.subject), "all"}
        )

    select = None if settings.select is None else names_of(settings.select)
    by_glob = {glob: names_of(names) for glob, names in settings.per_path.items()}
    ignore, groups = names_of(settings.ignore), PROFILES[settings.profile]
    extra = names_of(settings.extend_select)
    if select is not None and not select | extra:
        raise ConfigError("select names no rule: nothing would be judged; `nodelint rule` lists the rules")
    return Selection(select, ignore, by_glob, settings.root, groups, extra, settings.preview, settings.seen_as)


_PREVIEW_HINT = "it reports only with --preview, or with `preview: true` in nodelint.yaml"


def _plain_word(name: str) -> str:
    """Return a name in small letters, with hyphens for spaces: `user-data`."""
    return name.lower().replace(" ", "-")


def named_rules(settings: Settings) -> list[str]:
    """Return the rules, groups and subjects that a configuration and its flags name, in no order."""
    per_path = [name for names in settings.per_path.values() for name in names]
    select = (*(settings.select or ()), *settings.extend_select)
    return [*select, *settings.ignore, *per_path, *settings.options]


def no_rule(name: str, rules: Iterable[str]) -> str:
    """Return the error for a name that no rule has."""
    hint = did_you_mean(name.lower(), rules)
    return f"there is no rule `{name}`{f'{hint} ' if hint else '; '}`nodelint rule` lists the rules"


def _path(key: str, text: str, folder: str, where: str) -> str:
    """Return a path of a configuration, seen from the working folder."""
    path = os.path.join(folder, text)
    if not text:
        raise ConfigError(f"{where}: `{key}` is an empty text, where a path is wanted")
    if "\0" in text:
        raise ConfigError(f"{where}: `{key}` is not a path: {text!r}")
    reason = Gate(_top(folder)).refusal(path)
    if reason is None:
        return path
    raise ConfigError(f"{where}: `{key}: {text}` is {reason}; to use it, name it by --{key}")


_PATHS = ("baseline", "crds", "snapshot")


def _rules(given: ConfigFile, flags: Mapping[str, object], folder: str, trusted: bool) -> tuple[str, ...]:
    """Return folders of rules. Rules are code: those that a file of the repository under test names are refused.

    The flag `--no-repository-rules` refuses those in that repository whoever names them, `--repository-rules` none.
    """
    folders: Any = flags.get("rules") or ()
    named = tuple(str(path) for path in folders)
    from_repository = flags.get("repository-rules")
    for path in named if from_repository is False else ():
        if gate.surrounds(path):
            raise ConfigError(f"--rules {path}: --no-repository-rules refuses rules of the repository under test")
    value, where = given.values.get("rules"), given.place("rules")
    if isinstance(value, dict):
        value = value.get("folders")
    if value is None:
        return named
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not all(isinstance(path, str) for path in listed):
        raise ConfigError(f"{where}: a list of folders is wanted, not `{value}`")
    paths = [_path("rules", path, folder, where) for path in listed]
    allowed = {os.path.realpath(path) for path in named}
    refused = [path for path in paths if os.path.realpath(path) not in allowed]
    is_own = trusted and not (from_repository is False and any(map(gate.surrounds, refused)))
    if refused and not is_own and not from_repository:
        allowing = f"--rules {os.path.relpath(refused[0])}"
        refusing = f", and --no-repository-rules refuses them: if you trust the repository, write {allowing} instead"
        hint = refusing if from_repository is False else f"; run with {allowing} to allow it"
        raise ConfigError(f"{where}: rules are code, and do not run because this file names them{hint}")
    return tuple(dict.fromkeys([*named, *refused]))


def _policies(given: ConfigFile) -> tuple[tuple[Policy, Callable[..., str]], ...]:
    value = given.values.get("policies")
    if value is None:
        return ()
    from functools import partial

    from nodelint.rule.policies import PolicyError, policy_of

    if not isinstance(value, list):
        raise ConfigError(f"{given.place('policies')}: a list of policies is wanted")
    found: list[tuple[Policy, Callable[..., str]]] = []
    for number, entry in enumerate(value):
        place = partial(given.place_in, "policies", number)
        try:
            policy = policy_of(entry)
        except PolicyError as error:
            raise ConfigError(f"{place(error.key)}: {error}") from error
        if any(policy.name == other.name for other, _ in found):
            raise ConfigError(f"{place('name')}: there is a policy `{policy.name}` already")
        found.append((policy, place))
    return tuple(found)


def _per_path_versions(given: ConfigFile, flags: Mapping[str, object]) -> dict[str, Versions]:
    """Return what the file names for paths, less what a flag names for all."""
    value, where = given.values.get("per-path-versions"), given.place("per-path-versions")
    if value is None:
        return {}
    keys = ("karpenter-version", "kubernetes-version")
    wanted = f"{where}: a mapping of globs to `karpenter-version` and `kubernetes-version` is wanted"
    if not isinstance(value, dict):
        raise ConfigError(f"{wanted}, not `{value}`")
    found = {}
    for glob, versions in value.items():
        if not isinstance(versions, dict) or not versions or any(key not in keys for key in versions):
            raise ConfigError(f"{wanted}, not `{versions}` for `{glob}`")
        version_flags = [None if flags.get(key) is not None else versions.get(key) for key in keys]
        found[str(glob)] = Versions(
            None if version_flags[0] is None else read_releases(version_flags[0], where),
            read_kubernetes(version_flags[1], where),
        )
    return found
