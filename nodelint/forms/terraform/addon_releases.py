"""Find the Karpenter release that a module of add-ons installs if its call names none."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nodelint.data import table
from nodelint.forms.terraform.terraform_blocks import newest_allowed
from nodelint.model.evidence import DEFAULT, LOOSE, Evidence, not_known, stated

_CALL = re.compile(r'(?m)^module[ \t]+"([\w-]+)"[ \t]*\{')
_SOURCE = re.compile(
    r'(?m)^[ \t]*source[ \t]*=[ \t]*"[^"\n]*aws-ia/(?:eks|terraform-aws-eks)-blueprints-addons[/".?]'
)
_ON = re.compile(r"(?m)^[ \t]*enable_karpenter[ \t]*+=[ \t]*+(?!false)")
_NAMED = re.compile(r"\bchart_version[ \t]*=")
_KARPENTER = re.compile(r"(?m)^([ \t]*)karpenter[ \t]*=[ \t]*(\{)?")
_VERSION = re.compile(
    r'(?m)^[ \t]*+(?:version[ \t]*+=[ \t]*+"[ \t]*+(=|~>)?[ \t]*+v?|source[ \t]*+=[ \t]*+"[^"\n]*\?ref=(?:tags/)?v?)'
    r'(\d+(?:\.\d+){0,2})[ \t]*"'
)


def addon_releases(path: str, text: str) -> Iterator[Evidence]:
    """Yield the release that each call of the add-ons module installs, if the call leaves the choice to the module.

    If the module's version is not exact, the newest one counts, as weaker evidence.
    """
    for call in _CALL.finditer(text):
        end = text.find("\n}", call.end())
        body = text[call.end() : end] if end >= 0 else ""
        source = _SOURCE.search(body)
        if source is None or _ON.search(body) is None:
            continue
        given = _KARPENTER.search(body)
        line = text.count("\n", 0, call.end() + source.start() + 1) + 1
        if given is not None and given[2] is None:
            yield not_known(path, line, f"module.{call[1]}", body[given.start() : body.find("\n", given.end())])
            continue
        if given is not None and _NAMED.search(_find_object(body, given)):
            continue
        version = _VERSION.search(body)
        chart, is_exact = _find_default(version)
        by = f"the default of module.{call[1]}" + (f", version {version[2]}" if version is not None else "")
        found = stated("karpenter", chart, path, line, by, DEFAULT if is_exact else LOOSE)
        if found is not None:
            yield found


def _find_object(body: str, given: re.Match[str]) -> str:
    """Return the text of the HCL object that is an argument's value: on its line, or to the brace at its indent."""
    line = body[given.end() : body.find("\n", given.end())]
    if "}" in line:
        return line
    close = body.find(f"\n{given[1]}}}", given.end())
    return body[given.end() : close if close >= 0 else len(body)]


def _find_default(version: re.Match[str] | None) -> tuple[str, bool]:
    """Return the chart version that a version of the module installs, and whether the module's version is exact."""
    rows = table("permissions")["addon_charts"]
    if version is None:
        return rows[-1]["chart"], False
    newest = newest_allowed(f"{version[1] or ''}{version[2]}") or ()
    is_exact = version[1] != "~>" and len(newest) == 3
    charts = [row["chart"] for row in rows if tuple(float(n) for n in row["from"].split(".")) <= newest]
    return (charts[-1] if charts else rows[0]["chart"]), is_exact
