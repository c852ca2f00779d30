"""The interface of an input form: the functions of its package, and what a run gives it.

A form is a module with these functions; `forms.defaults` has those that it does not need. A form reads and edits its
own language. It renders objects that know where each value is written. It imports no other form: it sends requests.
"""

from __future__ import annotations

import os
from functools import cached_property

from nodelint.base.types import TYPE_CHECKING
from nodelint.files.gate import gate
from nodelint.forms.registry import TABLE
from nodelint.forms.rendered import Built, put_in_place
from nodelint.model.gap import Gap
from nodelint.text import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Protocol, TypeVar

    from nodelint.edits.writer import Dialect
    from nodelint.forms.input_text import InputText, RemoteUse
    from nodelint.forms.lib.chart_values import RepositoryTree
    from nodelint.forms.lib.controller_install import ControllerFiles
    from nodelint.forms.lib.unread_inputs import UnreadInputs
    from nodelint.forms.requests import ApplyFolder, BlockAddress, FolderUse, InstallChart
    from nodelint.model.controller_settings import ControllerInstall
    from nodelint.model.evidence import Evidence
    from nodelint.model.gap import Gap
    from nodelint.model.manifest import Object
    from nodelint.text import Document, Node, SourceText
    from nodelint.text.embedded_regions import Reading
    from nodelint.text.syntax_errors import SyntaxProblem

    _Kept = TypeVar("_Kept")
else:
    Protocol = object

_LARGEST = 16 << 20


class FormRun:
    """What a form sees of a run: its files, and what other forms have made of them.

    `sources` are the files that were read, `seen` the paths of all that were asked for, `named` of those
    that were asked for by their paths, `values` the values files of --values; `folder_files` those of files
    that stand for their folder (`FormRow.names`). With `each_release`
    a text without values is there once for each way in which its chart is installed, or its module is applied.
    """

    def __init__(
        self,
        sources: list[Source],
        folder_files: Sequence[str] = (),
        each_release: bool = False,
    ) -> None:
        self.sources = sources
        self.folder_files = folder_files
        self.each_release = each_release
        self.seen: set[str] = set()
        self.named: Collection[str] = ()
        self.values: Sequence[str] = ()
        self.installing: Sequence[str] = ()
        self.applying: Sequence[str] = ()
        self.also: str | None = None
        self.built: list[Built] = []
        self.unbuilt: list[Gap] = []
        self._kept: dict[str, object] = {}

    @cached_property
    def by_path(self) -> dict[str, Source]:
        """The files that were read, by their absolute path."""
        return {os.path.abspath(source.path): source for source in self.sources}

    def keep(self, name: str, make: Callable[[], _Kept]) -> _Kept:
        """Return what a form makes once for a run, by a name of its own."""
        if name not in self._kept:
            self._kept[name] = make()
        return self._kept[name]  # type: ignore[return-value]

    def read(self, path: str) -> Source | None:
        """Return a file of the repository by its absolute path; None if it is not there, or cannot be read."""
        found = self.by_path.get(path)
        if found is None and gate.is_file(path):
            shown = os.path.relpath(path)
            try:
                data = gate.read(path, _LARGEST)
            except OSError:
                return None
            found = Source.from_bytes((path if shown.startswith("..") else shown).replace(os.sep, "/"), data)
            self.by_path[path] = found
        return found

    def apply(self, request: ApplyFolder) -> Built | Gap | None:
        """Return what the form that answers makes of a folder; None if no object is Karpenter's, or none answers."""
        for row in TABLE.rows:
            if type(request).__name__ in row.answers:
                form: Form = row.load()
                return form.apply_folder(request, self)
        return None

    def put_in_place(self, made: Iterable[Built | Gap]) -> None:
        """Take what a controller makes of folders in the place of what stands for them as they are."""
        results = list(made)
        self.unbuilt += [result for result in results if isinstance(result, Gap)]
        self.built = put_in_place(self.built, [result for result in results if isinstance(result, Built)])


class InputFinder(Protocol):
    """Finds the inputs of unknown values among the files of one side."""

    def list_inputs(self, node: Node) -> list[InputText]:
        """Return the inputs of an unknown value; none of one that the form does not fill in."""

    def list_existence_inputs(self, node: Node) -> list[InputText]:
        """Return the inputs of whether the object with a value is there at all."""


class Form(Protocol):
    """The functions of a form's package. Each has a default that does nothing, in `forms.defaults`."""

    # -- from text to nodes, where the language is not YAML

    def may_embed(self, source: SourceText) -> bool:
        """Whether a text of the form may hold an object that its `apiVersion` does not tell."""

    def read_embedded(self, source: SourceText, start: int, end: int, lenient: bool = False) -> Iterator[Reading]:
        """Return the manifests in a part of a text of the form, in their order. Nothing is raised."""

    def read_roots(self, source: Source) -> Sequence[Node]:
        """Return the manifests in a text of the form that install Karpenter's controller."""

    def writer_of(self, style: str) -> Dialect:
        """Return what edits nodes of one of the form's styles. Raise `NotEditable` for any other style."""

    def is_part(self, path: str) -> bool | None:
        """Whether the objects of a file are parts of others, as the form says; None if they have to tell."""

    def find_patched_folder(self, path: str) -> str | None:
        """Return the folder whose own file names a file as a patch; None if none does."""

    def builds_on(self, patch: str, base: str) -> bool:
        """Whether a folder that names a patch takes the file of another object."""

    def forget(self) -> None:
        """Forget what was read of such files: for a process that outlives a change of one."""

    def find_objects(self, values: Node, document: Document) -> Iterator[Object]:
        """Return what charts make pools and classes of, in values that a document holds."""

    # -- files

    def owns(self, path: str) -> bool:
        """Whether a file in one of the form's folders is its own."""

    def read_beside(self, run: FormRun) -> None:
        """Add to `run.sources` files that have to be read too, and were not, for they do not name Karpenter."""

    def find_including_templates(self, sources: Sequence[Source], seen: Collection[str]) -> Iterable[Source]:
        """Templates that include what a named template among the sources makes, and do not name Karpenter."""

    def list_folders_around(self, path: str, text: str, top: str | None) -> Iterator[str]:
        """Return the folders whose files may be rendered together with a file of the form's own; `top` is the
        repository.
        """

    def list_read_with(self, path: str) -> Iterator[str]:
        """Return the files that have to be read with a file that the user names: what it has a part in."""

    # -- what is installed, applied and rendered

    def install_charts(self, root: Node, tree: RepositoryTree) -> Iterator[InstallChart]:
        """Return the charts of the repository that an object of the form installs."""

    def install_known_charts(self, charts: Mapping[str, Source], sources: Sequence[Source]) -> Iterator[InstallChart]:
        """Yield the installs of charts that no object of YAML states. `charts` are the default values of charts by
        their absolute path.
        """

    def apply_folder(self, request: ApplyFolder, run: FormRun) -> Built | Gap | None:
        """Return what comes of a folder that a controller applies; None if no object is Karpenter's."""

    def may_fill(self, sources: Sequence[Source]) -> bool:
        """Whether the form may fill in one of some texts."""

    def render(self, run: FormRun) -> None:
        """Add to `run.built` what comes of the files, and to `run.unbuilt` what cannot be built."""

    # -- what is not known

    def note_gaps(self, sources: Sequence[Source]) -> None:
        """Note what the form leaves out (`text.limits`), besides what it noted when it rendered."""

    def find_given_values(self, root: Node, charts: Collection[str]) -> Iterator[tuple[str, Node]]:
        """Values that an object gives to charts that are not among these, each with the name of the chart."""

    def find_hidden_values(self, root: Node, charts: Collection[str], sources: Mapping[str, Source]) -> Iterator[Gap]:
        """Yield a gap for each place that gives one of these charts values which cannot be read."""

    def find_remote_values(self, sources: Sequence[Source]) -> Iterator[Gap]:
        """Values with pools and classes for what is elsewhere, in files of the form's own language."""

    def list_unread_values(self, chart: str, files: UnreadInputs) -> Iterator[InputText]:
        """Texts that may give values to a chart in ways that are not computed."""

    def list_applied_folders(self, files: UnreadInputs) -> Iterator[FolderUse]:
        """Return the objects that apply a folder of the repository."""

    def list_inputs(
        self, sources: Sequence[Source], builds: Sequence[Built], folder_files: Sequence[str], paths: Collection[str]
    ) -> Iterator[str]:
        """Return the absolute paths of files that objects stand in, or are built of, and that have to be readable."""

    def is_required(self, path: str) -> bool:
        """Whether the form's tool reads one of these in any case."""

    def find_lost_inputs(self, sources: Sequence[Source]) -> Iterator[tuple[str, str]]:
        """Places of files for which another one is missing, and why nothing can be built of them."""

    def find_fault(self, source: Source, known: dict[str, object]) -> SyntaxProblem | None:
        """Return why a file of the form's own cannot be read; `known` is what is remembered from one to the next."""

    def find_root_fault(self, roots: Sequence[Node | None]) -> SyntaxProblem | None:
        """Return why the documents of a file that stands for its folder, or describes it, are refused."""

    def find_missing_path(self, source: Source) -> SyntaxProblem | None:
        """Return the first path that such a file names and that is not there."""

    # -- what a comparison of two sides asks of each

    def find_addresses(
        self, objects: Sequence[Object], sources: Sequence[Source]
    ) -> Iterator[tuple[Object, BlockAddress, str]]:
        """Return the objects that blocks of code make, and why a block makes none; empty if it makes one."""

    def make_input_finder(self, sources: Sequence[Source]) -> InputFinder | None:
        """Return what finds the inputs of unknown values that the form fills in; None if it fills in nothing."""

    def list_remote_uses(
        self, sources: Sequence[Source], reported: Collection[tuple[str, int]]
    ) -> Iterator[RemoteUse]:
        """Return what uses modules or charts elsewhere that may make pools.

        `reported` are paths and lines of inputs that are named already.
        """

    def list_unread_releases(
        self, charts: Collection[str], top: str, sources: Sequence[Source]
    ) -> Mapping[str, Sequence[InputText]]:
        """Return the texts of blocks that may install some charts with values that are not read, by chart.

        `charts` and `top`, the folder in which files count, are absolute paths.
        """

    def read_files_taken(self, path: str, codes: Sequence[str]) -> tuple[str, Mapping[str, bytes]] | None:
        """Return the absolute path of a folder of which the code of a text takes in files, and these; else None."""

    # -- what is said of releases and of the controller's settings

    def state_releases(self, source: Source, references: list[object]) -> Iterator[Evidence]:
        """Return what a file states; `references` takes what `resolve_releases` looks up when all are known."""

    def resolve_releases(
        self, sources: Sequence[Source], references: Sequence[object], known: Sequence[Evidence]
    ) -> Iterator[Evidence]:
        """Return what only all files together state."""

    def find_installs(self, source: Source, files: ControllerFiles) -> Iterator[ControllerInstall]:
        """Return the installations of Karpenter's controller in a file."""

    def find_plain_values(self, source: Source, files: ControllerFiles) -> Iterator[ControllerInstall]:
        """Return the values of Karpenter's chart in a file that no installation names."""
