"""Parse and validate the values of settings."""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING
from nodelint.config.file import ConfigError

if TYPE_CHECKING:
    from typing import Literal

    from nodelint.model.ranges import Releases
    from nodelint.model.releases import KubernetesVersion

    FailOn = Literal["error", "warning", "never"]


def require_text(value: object, where: str) -> str:
    """Return a value of a configuration if it is a text. Raise ConfigError, with its place, for any other value."""
    # 1.10 without quotes is the number 1.1 to YAML and TOML alike: another release, so it is refused.
    if not isinstance(value, str):
        raise ConfigError(f"{where}: write the version, path or region as a text, in quotes, not `{value}`")
    return value


def read_releases(value: object, where: str) -> tuple[Releases, ...]:
    """Return one release, or a range of releases split into parts in which all releases behave alike. Empty for None.

    Raise ConfigError if the value is no known release or range.
    """
    if value is None:
        return ()
    text = require_text(value, where)
    from nodelint.model.ranges import is_range, only, releases_in, runs
    from nodelint.model.releases import target

    try:
        return runs(releases_in(text)) if is_range(text.strip()) else (only(target(text)),)
    except ValueError as error:
        raise ConfigError(f"{where}: {error}") from error


def read_region(value: object, where: str) -> str | None:
    if value is None:
        return None
    from nodelint.ec2.region_names import refuse_region

    text = require_text(value, where)
    refusal = refuse_region(text)
    if refusal is not None:
        raise ConfigError(f"{where}: {refusal}")
    return text


def read_kubernetes(value: object, where: str) -> KubernetesVersion | None:
    if value is None:
        return None
    from nodelint.model.releases import KubernetesVersion

    try:
        return KubernetesVersion.parse(require_text(value, where))
    except ValueError as error:
        raise ConfigError(f"{where}: {error}") from error


def read_names(value: object, where: str) -> frozenset[str]:
    if value is None:
        return frozenset()
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list | tuple):
        raise ConfigError(f"{where}: a list of names is wanted, not `{value}`")
    names = []
    for item in items:
        if not isinstance(item, str):
            raise ConfigError(f"{where}: a list of names is wanted, not `{item}`")
        names += [name.strip() for name in item.split(",") if name.strip()]
    return frozenset(names)


def read_per_path(value: object, where: str) -> dict[str, frozenset[str]]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ConfigError(f"{where}: a mapping of globs to rule names is wanted, not `{value}`")
    return {str(glob): read_names(rules, where) for glob, rules in value.items()}


def read_jobs(text: object) -> int | None:
    if text is None or text == "auto":
        return None
    if str(text).isascii() and str(text).isdigit() and int(str(text)) > 0:
        return int(str(text))
    raise ConfigError(f"--jobs: `{text}` is neither a number of processes, from 1 on, nor auto")


def read_switch(value: object, where: str, *, default: bool = False) -> bool:
    if value is None or isinstance(value, bool):
        return default if value is None else value
    raise ConfigError(f"{where}: `{value}` is neither true nor false")


def read_profile(value: object, where: str) -> str:
    if value is None:
        return "default"
    if value in ("minimal", "default", "strict"):
        return str(value)
    raise ConfigError(f"{where}: `{value}` is not a profile: write minimal, default or strict")


def read_fail_on(value: object, where: str) -> FailOn:
    if value is None:
        return "error"
    if value == "error" or value == "warning" or value == "never":
        return value
    raise ConfigError(f"{where}: `{value}` is not one of error, warning, never")
