"""Read nodelint.yaml or `[tool.nodelint]` of pyproject.toml, and the options of the command, into an immutable
Settings.
"""

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
    from collections.abc import Callable, Mapping
    from typing import Any

    from nodelint.config.values import FailOn
    from nodelint.model.ranges import Releases
    from nodelint.model.releases import KubernetesVersion, Version
    from nodelint.rule.policies import Policy


FILES = ("nodelint.yaml", "nodelint.yml")

NOTHING: Mapping[str, Any] = {}
"""The value of a setting with names that is not set. It must not be changed."""

BUNDLED = "bundled"
"""The value of the setting `snapshot` with which a run uses only bundled facts."""

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
    """The releases that a configuration names for paths. None for a release that it does not name."""

    karpenter: tuple[Releases, ...] | None = None
    kubernetes: KubernetesVersion | None = None


class Settings(NamedTuple):
    """The settings of a run. `karpenter_named` is False if no Karpenter release is named.

    Of a range, `release` is the newest one, and `karpenter_range` has all, split where something changes.
    `per_path_versions` maps globs to releases; the first glob that matches counts. `snapshot` is a path, BUNDLED, or
    None for the cached one, if there is one. `bounds` are the folders in which `baseline`, `crds` and `snapshot` must
    be, if no option names them. `rules` are folders of rules; each policy has a function that returns the place of a
    key. `preview` is true if preview rules report findings. `values` are the values files with which a chart is
    judged, as --values names them. `jobs` is the number of processes, None for an automatic number. Globs of the file
    match paths relative to its folder, `root`; those of an option match paths as they are printed. Globs match a file
    below the first path of `seen_as` as if it were below the second one (`Globs`). `places` has the place of each
    glob, rule or option name in the file, as `path:line:column`.
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
        """Return the Karpenter release for which objects are judged: the configured one, else the newest known."""
        from nodelint.model.releases import NEWEST  # imported here: a run without Karpenter objects needs no release

        return self.release or NEWEST

    @property
    def paths_left_out(self) -> Excluded:
        """Return the paths that are excluded."""
        return Excluded(self.exclude, self.exclude_root, self.seen_as, gitignore=self.respect_gitignore)

    @property
    def paths_read_too(self) -> Globs:
        """Return the globs of scripts and Markdown files that are also read."""
        return Globs(self.include, self.include_root, self.seen_as)

    def placed(self, word: str, message: str) -> str:
        """Return a message about a name, preceded by its place if a file has the name."""
        return f"{self.places[word]}: {message}" if word in self.places else message


def find(folder: str, passed_over: list[str] | None = None) -> str | None:
    """Return the nearest nodelint.yaml, or pyproject.toml with a `[tool.nodelint]` table, up to the repository's
    root. None if there is none.

    `passed_over` collects a message for each pyproject.toml that is a link out of the repository and is therefore not
    read. Raise ConfigError for a file that cannot be read, and for a nodelint.yaml that is such a link.
    """
    while True:
        for name in FILES:
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                return _own(path)
        path = os.path.join(folder, "pyproject.toml")
        if os.path.isfile(path):
            # A link to a file outside of the repository is not opened.
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
    """Return the folder in which all files named by a configuration must be: the repository, else the configuration's
    folder.
    """
    return repository(os.path.abspath(folder)) or os.path.abspath(folder)


def load(path: str | None, flags: Mapping[str, object], trusted: bool = False) -> Settings:
    """Return the settings of a file (None for no file), replaced by those of options. An option that is None was not
    given.

    `trusted` is true if the user named the file, so that rules named in it may run as code. Raise ConfigError for a
    file or a value that cannot be used. Paths in the file must be in its repository; paths of options may be
    anywhere.
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
    """Return the texts of an option that may be repeated. Empty if it was not given."""
    return tuple(map(str, value)) if isinstance(value, tuple | list) else ()


def _extended_names(given: ConfigFile, flags: Mapping[str, object]) -> frozenset[str]:
    """Return the additional rules that report findings: those of the file, and those of the option."""
    key = "extend-select"
    return read_names(given.values.get(key), given.place(key)) | read_names(flags.get(key), f"--{key}")


def _places(given: ConfigFile, flags: Mapping[str, object]) -> dict[str, str]:
    """Return the places of globs, and of rule and option names in the file, for settings that no option replaces."""
    named = [key for key in _NAMING if key == "rules" or not flags.get(key)]
    return {word: place for key in named for word, place in given.words(key).items()}


_NAMING = (
    "select",
    "extend-select",
    "ignore",
    "per-path-ignores",
    "rules",
    "per-path-versions",
    "exclude",
    "include",
)
"""The settings that contain names of rules, or globs."""


def _hold_to_known(given: ConfigFile) -> None:
    for key in given.values:
        if key not in _KEYS:
            meant = did_you_mean(key, _KEYS) or f"; known are {', '.join(_KEYS)}"
            raise ConfigError(f"{given.place(key)}: unknown setting `{key}`{meant}")


def _path(key: str, text: str, folder: str, where: str) -> str:
    """Return a path of a configuration relative to the working folder. Raise ConfigError if it leaves the
    repository.
    """
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
    """Return the folders of rules. Rules are code, so folders that a file of the checked repository names are refused
    with ConfigError.

    The option `--no-repository-rules` refuses every folder in that repository, `--repository-rules` allows them.
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
    """Return the releases that the file names for paths, without those that an option names for all paths."""
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
