"""Requests from one form to another, so that no form imports another."""

from __future__ import annotations

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nodelint.forms.lib.chart_values import ValuesLayer
    from nodelint.model.finding import Span
    from nodelint.text import Node, Source


class ApplyFolder(NamedTuple):
    """What a controller makes of a folder of manifests: an object that applies it, and what that changes.

    `fields` are those of a kustomization of the same effect, by name, each with its value as it is written; of
    `labels` the pairs. `components` are paths from the folder.
    """

    by: Node
    folder: str
    fields: Mapping[str, Node]


class FolderUse(NamedTuple):
    """A folder that an object applies: the name of the object, the absolute path of the folder, and its place.

    A placeholder in the path stands for what the cluster alone knows. `terms` are fields of the object, and of what
    it refers to, that decide what is applied and where, and that no rendered manifest shows: the revision, the
    cluster. `release_terms` count for objects that take the name or the namespace of their release.
    """

    name: str
    folder: str
    at: Span
    terms: tuple[tuple[str, str], ...] = ()
    release_terms: tuple[tuple[str, str], ...] = ()


_DEFAULT_BRANCHES = ("HEAD", "main", "master", "refs/heads/main", "refs/heads/master")


def name_revision(text: str) -> str:
    """Return a revision; one name for all that may be the default branch."""
    return "HEAD" if not text or text in _DEFAULT_BRANCHES else text


def name_repository(address: str) -> str:
    """Return the host and path of a repository's address, whatever the protocol is."""
    found = address.lower().partition("://")[2] or address.lower()
    return found.rpartition("@")[2].replace(":", "/", 1).removesuffix("/").removesuffix(".git")


class InstallChart(NamedTuple):
    """A release of a chart of the repository: the absolute path of its folder, and its values, the weakest first.

    `unread` is the place of further values that cannot be read. `by` is the absolute path of the file of what
    installs it, and the name of that, such as `HelmRelease fleet`.
    """

    folder: str
    layers: Sequence[ValuesLayer]
    unread: Node | Span | None = None
    by: tuple[str, str] = ("", "")


class FillTemplate(NamedTuple):
    """A text that is filled in: the template, and the value of each of its variables."""

    template: Source
    variables: Mapping[str, Node]


class BlockAddress(NamedTuple):
    """What makes objects: the absolute path of its file, and the type and name of a block in it, empty for a file."""

    path: str
    type: str = ""
    name: str = ""


Request = ApplyFolder | InstallChart | FillTemplate
