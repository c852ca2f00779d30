"""The messages about named paths that do not exist."""

from __future__ import annotations

import os
import re

from nodelint.base.printable import printable


def describe_missing_path(path: str) -> str:
    """Return the message about a path that does not exist, with the path that was probably meant."""
    if not path.strip():
        return "an empty path: name a file or a folder"
    if os.path.islink(path):
        return f"{path}: a link to a file that is not there"
    address = re.match(r"(https?):/+", path)
    if address is not None:
        url = f"{address[1]}://{path[address.end() :]}"
        return f"{url}: nodelint reads no addresses: `curl -sL {url} | nodelint check -`"
    if re.match(r"(oci|s3|git|ssh):/|git@", path):
        hint = "; nodelint reads files and folders of this machine: download it first"
    elif "*" in path or "?" in path:
        folder = os.path.dirname(re.split(r"[*?]", path, maxsplit=1)[0]) or "."
        hint = f"; it is a pattern that the shell matched with no file: name a folder, such as `{folder}`"
    elif re.fullmatch(r"v?\d+\.\d+(\.\d+)?", path):
        hint = "; a release is named by an option: --karpenter-version, or --from and --to of `nodelint upgrade`"
    elif re.fullmatch(r"(pod|deployment|job|statefulset|daemonset|cronjob)s?/[\w.-]+", path, re.IGNORECASE):
        hint = f"; an object is named by an option: `nodelint fit --workload {path}`"
    else:
        hint = _find_near_path(path) or _explain_nodepool_option(path)
    return f"{path}: no such file or directory{hint}"


def _explain_nodepool_option(path: str) -> str:
    """Return that the path may be the name of a NodePool, as the end of a message. Empty if it may not."""
    import click

    context = click.get_current_context(silent=True)
    options = [name for param in context.command.params for name in param.opts] if context is not None else []
    is_name = re.fullmatch(r"(nodepools?/)?[a-z0-9]([a-z0-9-]*[a-z0-9])?", path) is not None
    if "--nodepool" not in options or not is_name:
        return ""
    return f"; a NodePool is named by an option: `--nodepool {path.rpartition('/')[2]}`"


def _find_near_path(path: str) -> str:
    """Return the most similar existing path, or flag, as the end of a message; empty if there is none."""
    from nodelint.model.messages import nearest_name

    if path == "help":
        return " (did you mean `--help`?)"
    folder, rest = os.path.split(os.path.normpath(path))
    while folder and not os.path.isdir(folder):
        folder, name = os.path.split(folder)
        rest = os.path.join(name, rest)
    first, _, more = rest.partition(os.sep)
    try:
        near = nearest_name(first, os.listdir(folder or os.curdir), 0.75)
    except OSError:
        return ""
    meant = os.path.join(folder, near or first, more) if more else os.path.join(folder, near or first)
    return f" (did you mean `{printable(meant)}`?)" if near is not None and os.path.exists(meant) else ""
