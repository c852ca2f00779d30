"""User data that is written for another AMI family, or that cloud-init cannot run."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nodelint.data import table
from nodelint.karpenter.userdata.parts import Part, UserDataProblem, is_mime
from nodelint.karpenter.userdata.reading import UserData

WORDS = {
    "toml": "TOML settings",
    "powershell": "PowerShell",
    "shell": "a shell script",
    "cloud-config": "a cloud-config",
    "nodeconfig": "a NodeConfig",
}
_LOST = "set kubelet settings in spec.kubelet, labels and taints in the NodePool's template"
_NO_LAUNCH = "Karpenter cannot read the userData and launches nothing with this class"


def misfits(data: UserData) -> Iterator[UserDataProblem]:
    """Yield the problems of user data that does not fit its AMI family."""
    if data.encoded:
        yield _encoded(data)
        return
    if data.is_windows or data.family == "Bottlerocket":
        yield from _as_a_whole(data)
        return
    if data.looks in ("toml", "powershell", "cloud-config") or (data.family, data.looks) == ("AL2", "nodeconfig"):
        yield _bare(data)
        return
    for part in data.parts:
        if part.kind == "shell":
            yield from unrunnable(data, part)
        elif part.kind == "nodeconfig" and data.family == "AL2":
            yield UserDataProblem(*first_line(data, part), "AL2 has no nodeadm: a NodeConfig has no effect there")
    for part in (part for part in data.parts if part.kind == "shell"):
        yield from _unread_files(data, part)
        yield from _absent_programs(data, part)
    for call in data.calls():
        if call.program == "bootstrap.sh" and data.family == "AL2023":
            message = "AL2023 has no bootstrap.sh: the call fails, and what it sets is lost"
            yield UserDataProblem(call.start, end_of_line(data.text, call.start), message, help=_LOST)
        elif call.program == "nodeadm" and data.family == "AL2":
            yield UserDataProblem(
                call.start, end_of_line(data.text, call.start), "AL2 has no nodeadm: the call fails"
            )


def _encoded(data: UserData) -> UserDataProblem:
    """Return the problem of user data that is base64: Karpenter encodes it again, so that nothing on the node reads
    it.
    """
    hint = (
        _NO_LAUNCH if data.family == "Bottlerocket" else "Karpenter encodes it again, so nothing on the node runs it"
    )
    return UserDataProblem(
        *first_line(data, data.parts[0]),
        "the userData is base64: it must be plain text",
        hint,
        help="write the decoded text, in Terraform without `base64encode`",
    )


def _unread_files(data: UserData, part: Part) -> Iterator[UserDataProblem]:
    """Yield the settings files that a script writes but that the kubelet of the image does not read."""
    if "EnvironmentFile" in data.text:  # a systemd unit in the script may read them
        return
    for name in table("nodeconfig")["unread"].get(data.family, ()):
        found = re.compile(rf"(?m)^(?![ \t]*#).*?(?<![\w/]){re.escape(name)}(?![\w./-])").search(
            data.text, part.start, part.end
        )
        if found is not None:
            start = found.end() - len(name)
            yield UserDataProblem(
                start, found.end(), f"the kubelet of {data.family} does not read {name}", help=_LOST
            )


def _absent_programs(data: UserData, part: Part) -> Iterator[UserDataProblem]:
    """Yield the programs and files of AL2 that a script uses but that the image of the AMI family does not have."""
    for row in table("nodeconfig")["absent"].get(data.family, ()):
        if "unless" in row and re.search(row["unless"], data.text):
            continue
        for found in re.compile(row["pattern"]).finditer(data.text, part.start, part.end):
            line = data.text[data.text.rfind("\n", 0, found.start()) + 1 : end_of_line(data.text, found.end())]
            before = line.partition(found[0])[0]
            # A script that tests for the program, or handles its failure, continues.
            if not re.search(r"#|\[\[?[ \t]|\btest\b|\bcommand -v\b|\bwhich\b|\bif\b", before) and "||" not in line:
                message = f"{data.family} has no {row['what']}: what the script does with it fails"
                stops = re.search(r"\bset[ \t]+-[a-z]*e", data.text) is not None
                note = (
                    "the rest of the script does not run (`set -e`)" if stops else "the script continues without it"
                )
                yield UserDataProblem(found.start(), found.end(), message, note, help=row["help"], joins=True)
                break


def _as_a_whole(data: UserData) -> Iterator[UserDataProblem]:
    """Yield user data in a format that the AMI family does not accept: Bottlerocket accepts only TOML, Windows only
    PowerShell without the tags that Karpenter writes.
    """
    first = first_line(data, data.parts[0])
    takes = "PowerShell" if data.is_windows else "TOML settings"
    wanted = "powershell" if data.is_windows else "toml"
    hint = "it is run as PowerShell, and fails" if data.is_windows else _NO_LAUNCH
    if is_mime(data.text):
        yield UserDataProblem(*first, f"{data.family} does not take a MIME archive, but {takes}", hint)
    elif data.looks not in (None, wanted):
        yield UserDataProblem(*first, f"{data.family} does not take {WORDS[str(data.looks)]}, but {takes}", hint)
    elif data.is_windows:
        for tag in re.finditer(r"(?im)^[ \t]*</?powershell>[ \t]*(?:\n|\Z)", data.text):
            word = tag[0].strip()
            message = f"remove `{word}`: Karpenter adds the tags around the script itself"
            yield UserDataProblem(
                tag.start(), tag.end(), message, "it becomes part of the script, which fails there", ""
            )


def _bare(data: UserData) -> UserDataProblem:
    """Return the problem of a text without a MIME header that Karpenter takes for a script or a NodeConfig although
    it is neither.
    """
    part = data.parts[0]
    what = WORDS[str(data.looks)]
    taken = "a NodeConfig" if part.kind == "nodeconfig" else "a script"
    comes = "nodeadm cannot read it, and the node never joins" if part.kind == "nodeconfig" else "it cannot run"
    if data.looks == "cloud-config":
        message = f"{what} without a MIME header is read as {taken}"
        way = "put it into a MIME archive as a part of `text/cloud-config`"
        return UserDataProblem(*first_line(data, part), message, comes, help=way)
    owner = {"toml": "Bottlerocket", "powershell": "Windows", "nodeconfig": "AL2023"}[str(data.looks)]
    at = re.search(r"(?m)^[ \t]*\[\[?settings.*$", data.text) if data.looks == "toml" else None
    start, end = at.span() if at is not None else first_line(data, part)
    verb = "are" if data.looks == "toml" else "is"
    return UserDataProblem(start, end, f"{what} {verb} for {owner}: {data.family} reads this as {taken}", comes)


def unrunnable(data: UserData, part: Part) -> Iterator[UserDataProblem]:
    """Yield the reason why cloud-init cannot run a script. Nothing if it begins with `#!`."""
    body = data.text[part.start : part.end]
    begin = body.lstrip()
    if not begin or body.startswith("#!"):
        return
    hint = "cloud-init starts it as a program, and the kernel refuses it"
    if begin.startswith("#!"):
        blank = part.start + len(body) - len(begin)
        message = "a script must begin with `#!` in its first line"
        yield UserDataProblem(part.start, blank, message, hint, "", joins=True)
    elif begin.startswith("#cloud-config"):
        yield UserDataProblem(
            *first_line(data, part), "the part is declared as a script, but is a cloud-config", hint, joins=True
        )
    else:
        start, end = first_line(data, part)
        new = "#!/bin/bash\n" + data.text[start:end]
        message = "the script has no `#!` in its first line: cloud-init cannot run it"
        yield UserDataProblem(start, end, message, hint, new, joins=True)


def first_line(data: UserData, part: Part) -> tuple[int, int]:
    """Return start and end of the first line of a part that is not blank."""
    body = data.text[part.start : part.end]
    start = part.start + len(body) - len(body.lstrip())
    return start, min(end_of_line(data.text, start), part.end)


def end_of_line(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end
