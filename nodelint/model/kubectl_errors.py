"""Explain what kubectl prints in place of objects, and what to do about it."""

from __future__ import annotations

import re

from nodelint.model.messages import short

_ERROR = re.compile(
    r"(?m)^((?:error: |Error from server|Unable to connect to the server|The connection to the server ).*)$"
)

_REMEDIES = (
    (
        r"doesn't have a resource type|no matches for kind|could not find the requested resource",
        "the cluster has no CRDs of Karpenter: see `kubectl config current-context`, then `kubectl get crds`",
    ),
    (
        r"\(Forbidden\).* cannot (?:get|list|watch) resource",
        "your user needs get and list on nodepools.karpenter.sh and ec2nodeclasses.karpenter.k8s.aws",
    ),
    (
        r"Unauthorized|must be logged in|credentials|token\b.{0,80}\bexpired",
        "log in to the cluster again, such as by `aws sso login` or `aws eks update-kubeconfig`",
    ),
    (
        r"Unable to connect|connection to the server|refused|timed? ?out|no such host|TLS handshake",
        "kubectl does not reach the cluster: see `kubectl config current-context` and whether its network is open",
    ),
    (r"\(NotFound\)", "see whether the name and the namespace (`-n`) are right"),
)
_TABLE = re.compile(r"(?:NAMESPACE +)?NAME +[A-Z][A-Z -]{0,500}\bAGE\b")
_FAILED_READ = re.compile(
    r"(?:Unable to connect to the server|The connection to the server )"
    r"|Error from server (?:\(NotFound\)"
    r"|\(Forbidden\): .*User \"(?!system:serviceaccount:).*cannot (?:get|list|watch))"
)
_OTHERWISE = "run the command in front of the pipe alone to see what it prints"


def explain_missing_objects(text: str) -> str:
    """Return why a text from kubectl contains no object, and what to do about it."""
    failure = explain_failure(text)
    if failure is not None:
        return failure
    if _TABLE.match(text.lstrip()):
        return "it is a table: add `-o yaml` to `kubectl get`"
    if text.startswith("No resources found"):
        if " in " in text.partition("\n")[0]:
            return "the namespace has none: add `-A` or another `-n`, and `-o yaml`"
        return "the cluster has none: see whether `kubectl config current-context` is the cluster that you mean"
    return _OTHERWISE


def explain_failure(text: str) -> str | None:
    """Return the error that kubectl printed, and what to do about it. None if there is no such error."""
    found = _ERROR.search(text)
    if found is None:
        return None
    error = found[1].strip()
    for pattern, remedy in _REMEDIES:
        if re.search(pattern, error, re.IGNORECASE):
            return f"kubectl failed with `{short(error, 120)}`: {remedy}"
    return f"kubectl failed with `{short(error, 120)}`: {_OTHERWISE}"


def explain_status(text: str) -> str | None:
    """Return the error in a `Status` that the API server returned in place of objects. None if there is none."""
    if "Status" not in text or "Failure" not in text:
        return None
    for piece in re.split(r"(?m)^---.*$", text):
        status = _read_status(piece)
        if status is not None:
            return explain_failure(f"Error from server ({status[0]}): {status[1]}")
    return None


def _read_status(text: str) -> tuple[str, str] | None:
    """Return the reason and the message of a `Status` that reports a failure. None if it is another document."""
    if len(text) > _LONGEST_STATUS:
        return None
    import yaml

    from nodelint.text.yaml.held_yaml import hold

    try:
        hold(text)
        found = yaml.load(text, yaml.CBaseLoader)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or (found.get("kind"), found.get("status")) != ("Status", "Failure"):
        return None
    reason, message = found.get("reason"), found.get("message")
    return str(reason or found.get("code") or "Unknown"), " ".join(str(message or "no message").split())


_LONGEST_STATUS = 1 << 16


def is_failed_read(text: str) -> bool:
    """Return whether kubectl printed only that it may not read an object, finds none, or reaches no cluster."""
    lines = [line for line in text.splitlines() if line.strip()]
    return bool(lines) and all(_FAILED_READ.match(line) for line in lines)
