"""Bottlerocket's TOML as Karpenter reads it: `settings.kubernetes` into fields of its own, all other tables
unchanged.

A setting without such a field is lost when Karpenter writes the settings again, and a value of another type makes the
launch fail (`bottlerocketsettings.go` in `pkg/providers/amifamily/bootstrap`).
"""

from __future__ import annotations

from collections.abc import Iterator

from nodelint.base.types import Any
from nodelint.data import table
from nodelint.karpenter.userdata.parts import UserDataProblem
from nodelint.karpenter.userdata.settings import find_key
from nodelint.model.messages import nearest_name, short
from nodelint.model.releases import Version

_NO_LAUNCH = "Karpenter cannot read the userData and launches nothing with this class"
_NO_BOOT = "Bottlerocket refuses all settings when the node starts, so the node does not join the cluster"
_SCALARS = {"string": str, "integer": int, "boolean": bool}


def faults(settings: dict[str, Any], text: str, release: Version) -> Iterator[UserDataProblem]:
    """Yield the settings of `settings.kubernetes` that a Karpenter release drops or cannot read, and values of
    `settings.kernel.sysctl` that Bottlerocket refuses.
    """
    kubernetes = settings.get("kubernetes")
    known = table("nodeconfig")["bottlerocketKubernetes"]
    for key, value in kubernetes.items() if isinstance(kubernetes, dict) else ():
        fact = known.get(key)
        since = fact.get("since") if fact is not None else None
        if fact is None or (since is not None and release < Version.parse(since)):
            yield _dropped(key, since, text, release, list(known))
            continue
        for path, kind in _mismatches(value, fact["type"]):
            start, end = find_key(text, ("settings", "kubernetes", key, *path))
            name = short(".".join((key, *path)), 50)
            yield UserDataProblem(start, end, f"settings.kubernetes.{name} must be {kind}", _NO_LAUNCH)
    yield from _sysctl_faults(settings, text)


def _sysctl_faults(settings: dict[str, Any], text: str) -> Iterator[UserDataProblem]:
    """Yield the values of `settings.kernel.sysctl` that are not strings: Bottlerocket accepts only strings."""
    kernel = settings.get("kernel")
    sysctl = kernel.get("sysctl") if isinstance(kernel, dict) else None
    for path, kind in _mismatches(sysctl, "strings") if isinstance(sysctl, dict) else ():
        start, end = find_key(text, ("settings", "kernel", "sysctl", *path))
        name = short(".".join(path), 40)
        yield UserDataProblem(start, end, f"settings.kernel.sysctl.{name} must be {kind}", _NO_BOOT)


def _dropped(key: str, since: str | None, text: str, release: Version, known: list[str]) -> UserDataProblem:
    start, end = find_key(text, ("settings", "kubernetes", key))
    meant = nearest_name(key, known, 0.85) if since is None else None
    hint = f" (did you mean `{meant}`?)" if meant is not None else ""
    message = f"Karpenter {release} drops settings.kubernetes.{short(key, 45)}{hint}"
    if text[start:end] in (f'"{key}"', f"'{key}'"):
        start, end = start + 1, end - 1  # keep the quotes
    new = meant if text[start:end] == key else None  # not a key of several parts
    note = "Karpenter rewrites `settings.kubernetes` with only the settings that it knows"
    return UserDataProblem(start, end, message, note, new, f"upgrade to Karpenter {since}" if since else None)


def _mismatches(value: Any, wanted: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the path of each value, in a setting, that has the wrong type, and the type that it must have."""
    if wanted in _SCALARS:
        if type(value) is not _SCALARS[wanted]:
            yield (), f"{'an' if wanted == 'integer' else 'a'} {wanted}{_unquoted_text(value, wanted)}"
    elif wanted == "list":
        if not isinstance(value, list) or any(not isinstance(item, str) for item in value):
            yield (), "a list of strings"
    elif not isinstance(value, dict):
        yield (), "a table"
    else:
        below = {"strings": "string", "lists": "list"}.get(wanted, "")
        for key, item in value.items() if below else ():
            yield from (((key, *path), kind) for path, kind in _mismatches(item, below))


def _unquoted_text(value: Any, wanted: str) -> str:
    """Return the value in the wanted type, for the message, if only the quotes are wrong. Else an empty string."""
    if wanted == "string" and type(value) in (int, bool):
        return f': `"{str(value).lower()}"`'
    if wanted == "integer" and isinstance(value, str) and value.isdigit():
        return f": `{value}`"
    if wanted == "boolean" and value in ("true", "false"):
        return f": `{value}`"
    return ""
