"""Statements of releases in lines of any text: scripts, Makefiles, workflows, environment files, TOML, and commands
in a README.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nodelint.forms.lib import chart_commands
from nodelint.model.evidence import DEFAULT, FOR_READERS, STATED, Evidence, not_known, stated

_RELEASE = r"v?(\d+\.\d+(?:\.\d+)?)(?![\w.*])"
_VARIABLE = (
    r"\b(?:KARPENTER_(?:CHART_|HELM_|HELM_CHART_)?VERSION|karpenter_(?:chart_|helm_|helm_chart_)?version"
    rf"|karpenter(?:Chart)?Version)[\"']?\s*(?:\?=|::?=|:-|=|:)\s*[\"']?{_RELEASE}"
)
_DEFAULTED = rf"\$\{{(?:KARPENTER|karpenter):-{_RELEASE}"
_IMAGE = rf"\bkarpenter/controller:{_RELEASE}"
_BUILD = rf"\bimage[\"']?\s*[:=]\s*[\"']?(?:[\w.:@-]{{1,100}}/){{1,8}}karpenter:{_RELEASE}"
_KUBERNETES = (
    r"\b(?:(?:K8S|KUBERNETES|EKS|EKS_CLUSTER|CLUSTER)_VERSION|[Kk]8[Ss]_?[Vv]ersion)[\"']?"
    r"\s*(?:\?=|::?=|:-|=|:)\s*[\"']?v?(1\.\d\d)(?![\w.])"
)
_CLUSTER_COMMAND = (
    r"\b(?:aws[ \t]+(?:--[\w-]+[ \t=][^\s;|&]+[ \t]+){0,4}eks[ \t]+(?:update-cluster-version|create-cluster)\b"
    r"[^\n;|&]{0,1000}?--kubernetes-version|eksctl[ \t]+(?:upgrade|create)[ \t]+cluster\b[^\n;|&]{0,1000}?--version)"
    r"[ \t=]+[\"']?(v?1\.\d\d(?:\.\d+)?(?![\w.])|\$\{\{[^}\n]{0,200}\}\}|\$[^\s\"';|&]+|\{\{[^}\n]{0,200}\}\})"
)
_TABLE = r"(?m)^[ \t]*+\[{1,2}([^\[\]\n]++)\]"
_PIN = (
    rf"(?m)^[ \t]*[\"']?([\w.-]+)[\"']?[ \t]*[=:][ \t]*(?:\{{[^}}\n]*\bversion[\"']?[ \t]*=[ \t]*)?[\"']?{_RELEASE}"
)
_PINS = ("version", "chart_version", "chart-version", "chartVersion", "tag")


def evidence(path: str, text: str) -> Iterator[Evidence]:
    """Yield the statements of releases in the lines of a text, without comments."""
    joined = chart_commands.join_lines(text)
    commands = list(chart_commands.find_commands(joined))
    installs_newest = bool(commands) and not any(
        chart_commands.find_written_version(joined, command) or chart_commands.find_version(joined, command, _RELEASE)
        for command in commands
    )
    for pattern, by, weight, of_image in (
        (_VARIABLE, "a variable", DEFAULT, False),
        (_DEFAULTED, "a variable", DEFAULT, False),
        (_IMAGE, "the controller's image", STATED, True),
        (_BUILD, "an image of the controller", DEFAULT, True),
    ):
        for match in re.finditer(pattern, text):
            if pattern is _VARIABLE and installs_newest and _is_unused(match, text):
                continue
            if found := _make_evidence("karpenter", path, text, match, by, weight):
                yield found._replace(of_image=of_image)
    for command in commands:
        version = chart_commands.find_version(joined, command, _RELEASE)
        if version is not None:
            if found := _make_evidence("karpenter", path, text, version, "a helm command", DEFAULT):
                yield found
        else:
            yield from _find_variable(path, text, joined, command)
    if path.endswith((".toml", ".conf", ".ini", ".cfg")):
        yield from _tables(path, text)
    yield from _read_cluster_commands(path, text)
    # A script may contain versions of other clusters and of tools. Only a version near text about Karpenter is
    # certain.
    if "karpenter" in text or "KARPENTER" in text or "eksctl" in text:
        for match in re.finditer(_KUBERNETES, text):
            if found := _make_evidence("kubernetes", path, text, match, "a variable", DEFAULT):
                yield found


def _read_cluster_commands(path: str, text: str) -> Iterator[Evidence]:
    """Yield the Kubernetes versions that commands of `aws eks` and `eksctl` give to a cluster.

    A variable without a value in the same text is not known.
    """
    by = "a command"
    joined = re.sub(r"\\\r?\n", lambda broken: " " * len(broken[0]), text) if "eks" in text else ""
    for match in re.finditer(_CLUSTER_COMMAND, joined):
        if _is_comment(text, match.start()):
            continue
        found = match if match[1].startswith(("1", "v")) else None
        if found is None and (name := re.fullmatch(r"\$[{(]?([A-Za-z_]\w*)[})]?", match[1])):
            found = re.search(rf"\b{name[1]}[\"']?\s*(?:\?=|::?=|:-|=|:)\s*[\"']?v?(1\.\d\d)(?![\w.])", text)
        evidence = _make_evidence("kubernetes", path, text, found, by, DEFAULT) if found is not None else None
        if evidence is not None:
            yield evidence
        if found is not match:
            line = text.count("\n", 0, match.start(1)) + 1
            yield not_known(path, line, by, match[1])._replace(about="kubernetes")


def _is_unused(assignment: re.Match[str], text: str) -> bool:
    """Return whether a text only prints the variable that an assignment sets."""
    name = re.split(r"\W", assignment[0], maxsplit=1)[0]
    uses = re.finditer(rf"\$[({{]?{re.escape(name)}\b", text)
    lines = (text[text.rfind("\n", 0, use.start()) + 1 : use.start()] for use in uses)
    return all(re.match(r"\s*(?:echo|printf|log|info)\b", line) is not None for line in lines)


def _find_variable(path: str, text: str, joined: str, command: re.Match[str]) -> Iterator[Evidence]:
    """Yield the statement of a command whose version is a variable, with the variable's value in the same text. If
    there is none, the release is not known.
    """
    written = chart_commands.find_written_version(joined, command)
    if written is None or _is_comment(text, command.start()):
        return
    name = re.search(r"([A-Za-z_]\w*)(?:\b|\})[^\w]*$", written[1].split(":-")[0])
    own = re.escape(name[1]) if name is not None else None
    value = re.search(rf"\b{own}[\"']?\s*(?:\?=|::?=|:-|=|:)\s*[\"']?{_RELEASE}", text) if own else None
    found = None
    if value is not None and not written[1].startswith("$("):
        found = _make_evidence("karpenter", path, text, value, "a helm command", DEFAULT)
    if found is not None:
        yield found
        return
    line = text.count("\n", 0, written.start(1)) + 1
    yield not_known(path, line, "a helm command", written[1])


def readme_evidence(path: str, text: str) -> Iterator[Evidence]:
    """Yield the releases that the helm commands of a README install, by a version or by a variable. Such statements
    have the lowest weight.
    """
    joined = chart_commands.join_lines(text)
    for command in chart_commands.find_commands(joined):
        version = chart_commands.find_version(joined, command, _RELEASE)
        variable = chart_commands.find_variable(joined, command)
        if version is None and variable is not None:
            version = re.search(rf"\b{variable[1]}=[\"']?{_RELEASE}", text)
        if version is None:
            continue
        if found := _make_evidence("karpenter", path, text, version, "what a README installs", FOR_READERS):
            yield found


def _tables(path: str, text: str) -> Iterator[Evidence]:
    """Yield the releases in tables of settings: `version` in a table named after Karpenter, and `karpenter` in a
    table of versions.
    """
    tables = [(match.start(), match[1].strip()) for match in re.finditer(_TABLE, text)]
    for match in re.finditer(_PIN, text):
        table = next((name for at, name in reversed(tables) if at < match.start()), "")
        *around, key = [word.strip(" \"'") for word in (*table.split("."), *match[1].split(".")) if word]
        of = around[-1].lower() if around else ""
        named = re.fullmatch(r"karpenter(?:[_-](?:chart|helm|addon|controller))?", of) is not None and key in _PINS
        inline = key == "karpenter" and "{" in match[0]
        if not (named or inline or (key == "karpenter" and "version" in of)):
            continue
        if found := _make_evidence("karpenter", path, text, match, f"[{table}]" if table else key, DEFAULT, 2):
            yield found


def _make_evidence(
    about: str, path: str, text: str, match: re.Match[str], by: str, weight: int, group: int = 1
) -> Evidence | None:
    if _is_comment(text, match.start()):
        return None
    line = text.count("\n", 0, match.start(group)) + 1
    return stated("karpenter" if about == "karpenter" else "kubernetes", match[group], path, line, by, weight)


def _is_comment(text: str, at: int) -> bool:
    """Return whether the character at an index of a script is in a comment."""
    before = text[text.rfind("\n", 0, at) + 1 : at]
    return "#" in before or before.lstrip().startswith("//")
