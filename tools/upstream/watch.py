"""List what a person must read between two revisions: changed files that decide behaviour, commits, new messages."""

from __future__ import annotations

import re
from collections.abc import Iterator

from upstream.git import Repository

PROVIDER = {
    "images": ("pkg/providers/amifamily", "pkg/providers/ssm", "pkg/providers/launchtemplate"),
    "scheduling": (
        "pkg/providers/instance",
        "pkg/providers/instancetype",
        "pkg/providers/subnet",
        "pkg/providers/securitygroup",
        "pkg/providers/capacityreservation",
        "pkg/providers/placementgroup",
        "pkg/providers/version",
        "pkg/cloudprovider",
    ),
    "validation": (
        "pkg/apis",
        "pkg/cel",
        "pkg/controllers/nodeclass",
        "pkg/operator/options",
        "charts/karpenter/values.yaml",
    ),
    "disruption": ("pkg/controllers/interruption", "pkg/controllers/nodeclaim"),
}
CORE = {
    "scheduling": (
        "pkg/scheduling",
        "pkg/cloudprovider",
        "pkg/controllers/provisioning",
        "pkg/controllers/nodeoverlay",
    ),
    "validation": ("pkg/apis", "pkg/controllers/nodepool", "pkg/operator/options"),
    "disruption": ("pkg/controllers/disruption", "pkg/controllers/nodeclaim/disruption"),
}
"""The folders whose changes can change an answer of nodelint, by subject."""

_UNREAD = re.compile(r"_test\.go$|suite_|/crds/|zz_generated|/fake/|/testdata/|(^|/)doc\.go$")
_PICKED = re.compile(r"^\(?(?:cherry-?pick|backport)\b[^:)]*\)?\)?:?\s*", re.IGNORECASE)
"""What stands before the title of a commit that a release branch takes from main."""

_QUIET = re.compile(r"^(?:docs?|chore|ci|tests?|build|style|refactor|release)\b(?!(?:\([^)]*\))?!)", re.IGNORECASE)
"""How the titles of commits begin that neither bring nor mend something; a `!` behind the word marks a break."""

_SAYS = re.compile(
    r'(?:Errorf|errors\.New|SetFalse|SetUnknownWithReason|NewNodeClassNotReadyError)\(.*?"([^"]{12,})"'
)


def files(
    repository: Repository, old: str, new: str, watched: dict[str, tuple[str, ...]]
) -> Iterator[tuple[str, str]]:
    """Yield (subject, file with its added and removed lines) for each changed file, without tests, generated code
    and CRDs.
    """
    for subject, folders in watched.items():
        for line in repository.git("diff", "--numstat", "--no-renames", old, new, "--", *folders).splitlines():
            added, removed, path = line.split("\t")
            if not _UNREAD.search(path):
                yield subject, f"{path}  +{added} -{removed}"


def commits(repository: Repository, old: str, new: str) -> Iterator[str]:
    """Yield the commits that may change behaviour: those whose title does not begin with a word such as `docs` or
    `test`, and those that name a breaking change.
    """
    log = repository.git("log", "--format=%h %cs %s%x1f%b%x1e", f"{old}..{new}")
    for entry in log.split("\x1e"):
        head, _, body = entry.strip().partition("\x1f")
        title = head.split(" ", 2)[-1]
        if title and (not _QUIET.match(_PICKED.sub("", title)) or "BREAKING" in title.upper() + body):
            yield head


def messages(repository: Repository, old: str, new: str, watched: dict[str, tuple[str, ...]]) -> Iterator[str]:
    """Yield the new texts of errors and conditions in the watched folders: candidates for `triage.json`."""
    folders = [folder for watched_folders in watched.values() for folder in watched_folders]
    gone: set[str] = set()
    came: dict[str, None] = {}
    for line in repository.git("diff", "-U0", old, new, "--", *folders).splitlines():
        path = re.match(r"\+\+\+ (?:b/)?(\S+)", line)
        if path:
            read = path[1].endswith(".go") and not _UNREAD.search(path[1])
        elif line.startswith("-"):
            gone.update(_SAYS.findall(line))
        elif line.startswith("+") and read:
            came.update(dict.fromkeys(_SAYS.findall(line)))
    yield from (text for text in came if text not in gone)
