"""Define requests from one form to another, so that no form imports another."""

from __future__ import annotations

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from nodelint.forms.lib.chart_values import ValuesLayer
    from nodelint.model.finding import Span
    from nodelint.text import Node


class ApplyFolder(NamedTuple):
    """A request to render a folder of manifests as a controller changes it.

    - `by`: the object that applies the folder.
    - `folder`: its absolute path.
    - `fields`: the fields of an equivalent kustomization, with the nodes of their values. `labels` has the pairs,
      `components` has paths relative to the folder.
    """

    by: Node
    folder: str
    fields: Mapping[str, Node]


class FolderUse(NamedTuple):
    """A folder that an object applies.

    - `name`: the name of the object.
    - `folder`: the absolute path of the folder. A placeholder in it is known only in the cluster.
    - `at`: the place.
    - `terms`: fields that decide what is applied and where, and that no rendered manifest shows: the revision, the
      cluster.
    - `release_terms`: fields that matter for objects with the name or namespace of their release.
    - `deletes`: what deletes the applied objects after the object is removed, in words. Empty if nothing does.
    - `is_suspended`: changes of the folder are not applied for now.
    - `keeps`: the applied objects stay after the object is removed, or applies another folder.
    - `skips`: returns whether a file, by its path below the folder, is left out. None if no file is.
    """

    name: str
    folder: str
    at: Span
    terms: tuple[tuple[str, str], ...] = ()
    release_terms: tuple[tuple[str, str], ...] = ()
    deletes: str = ""
    is_suspended: bool = False
    keeps: bool = False
    skips: Callable[[str], bool] | None = None

    @property
    def clusters(self) -> frozenset[str]:
        """Return the names or addresses of the clusters to which it goes. Empty for the cluster of the object."""
        texts = (text for field, text in self.terms if field in _OF_CLUSTER and text not in OWN_CLUSTER)
        return frozenset(text for text in texts if "{{" not in text)


OWN_CLUSTER = ("", "in-cluster", "https://kubernetes.default.svc")
"""Destinations of an Application that lead to the cluster in which Argo CD runs."""
_OF_CLUSTER = ("destination.name", "destination.server", "kubeConfig")

_DEFAULT_BRANCHES = ("HEAD", "main", "master", "refs/heads/main", "refs/heads/master")


def name_revision(text: str) -> str:
    """Return a revision. All names of a default branch become `HEAD`."""
    return "HEAD" if not text or text in _DEFAULT_BRANCHES else text


def name_repository(address: str) -> str:
    """Return host and path of a repository's address, without the protocol."""
    found = address.lower().partition("://")[2] or address.lower()
    return found.rpartition("@")[2].replace(":", "/", 1).removesuffix("/").removesuffix(".git")


class InstallChart(NamedTuple):
    """A request to render a chart of the repository for a release.

    - `folder`: the absolute path of the chart.
    - `layers`: its values, the weakest first.
    - `unread`: the place of further values that cannot be read.
    - `by`: the absolute path of the file of what installs it, and the name of that, such as `HelmRelease fleet`.
    """

    folder: str
    layers: Sequence[ValuesLayer]
    unread: Node | Span | None = None
    by: tuple[str, str] = ("", "")


IS_ALWAYS = "is always"
"""In the reason why a block has no instance: no value outside of the files can give it one."""


class BlockAddress(NamedTuple):
    """The origin of objects: the absolute path of a file, and the type and name of a block (empty for a file)."""

    path: str
    type: str = ""
    name: str = ""


class ObjectOwner(NamedTuple):
    """A block that creates an object and records it in a state: the object is destroyed if its address is removed.

    - `address`: the address of the block.
    - `state`: further fields that identify the object, such as the name of a release.
    - `at`: its place.
    - `folders`: its folder, and the folders of its callers.
    - `ignores`: it does not apply a change of the object after it has created it.
    """

    address: str
    state: str
    at: Span
    folders: tuple[str, ...]
    ignores: bool = False


class AddressMove(NamedTuple):
    """A change of an address from `old` to `new`. If `new` is None, the object is only removed from the state."""

    old: str
    new: str | None


class JudgedPlaces(NamedTuple):
    """The places whose values a run judges in rendered objects.

    - `spans`: start and end of each place through which such a value comes, by the path of the file.
    - `parts`: the absolute paths of the files that were read to render the objects.
    """

    spans: Mapping[str, Collection[tuple[int, int]]]
    parts: frozenset[str]

    def holds(self, path: str, start: int, end: int) -> bool:
        """Return whether a range of a file is such a place, or touches one."""
        return any(start < last and first < end for first, last in self.spans.get(path, ()))

    @property
    def charts(self) -> frozenset[str]:
        """Return the absolute paths of the charts with judged objects, and of the charts around these."""
        parts = [part.replace("\\", "/") for part in self.parts]
        found = {part.rpartition("/templates/")[0] for part in parts if "/templates/" in part}
        found |= {part.rpartition("/")[0] for part in parts if part.endswith("/values.yaml")}
        return frozenset(found | {part.partition("/charts/")[0] for part in found if "/charts/" in part})
