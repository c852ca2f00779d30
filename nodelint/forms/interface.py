"""Define the interface of an input form: the functions of its package, and the state of a run.

A form is a module with these functions; `forms.defaults` has those that it does not need. A form reads and edits its
own language, and renders objects with the position of each value. It imports no other form: it asks
other forms by requests (`forms.requests`).
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
    from nodelint.forms.lib.missing_sources import MissingSource
    from nodelint.forms.lib.unread_inputs import UnreadInputs
    from nodelint.forms.requests import (
        AddressMove,
        ApplyFolder,
        BlockAddress,
        FolderUse,
        InstallChart,
        JudgedPlaces,
        ObjectOwner,
    )
    from nodelint.model.controller_settings import ControllerInstall
    from nodelint.model.evidence import Evidence
    from nodelint.model.finding import Edit, Span
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
    """The state of a run for forms.

    - `sources`: the files that were read.
    - `folder_files`: paths of kustomizations and other files that represent a folder (`FormRow.names`).
    - `each_release`: render a text without values once for each installation of its chart, or for each way
      of applying its module.
    - `seen`: paths of all requested files; `named`: those requested by path.
    - `values`: the files of `--values`.
    - `installing`, `applying`, `also`: as in `files.discover.Discovery`.
    - `built`: the rendered manifests so far; `unbuilt`: gaps for inputs that cannot be rendered.
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
        """Return the files that were read, by absolute path."""
        return {os.path.abspath(source.path): source for source in self.sources}

    def keep(self, name: str, make: Callable[[], _Kept]) -> _Kept:
        """Return the result of `make`, which is called once in a run for each name."""
        if name not in self._kept:
            self._kept[name] = make()
        return self._kept[name]  # type: ignore[return-value]

    def read(self, path: str) -> Source | None:
        """Return a file of the repository by its absolute path. None if it does not exist or cannot be read."""
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
        """Return the rendered manifest of a request's folder, or the gap if it could not be rendered.

        None if no form can render the folder, or if it has no Karpenter object.
        """
        for row in TABLE.rows:
            if row.applies_folders:
                form: Form = row.load()
                return form.apply_folder(request, self)
        return None

    def put_in_place(self, made: Iterable[Built | Gap]) -> None:
        """Replace rendered folders with the same folders as a controller changes them.

        Gaps are added to `unbuilt`.
        """
        results = list(made)
        self.unbuilt += [result for result in results if isinstance(result, Gap)]
        self.built = put_in_place(self.built, [result for result in results if isinstance(result, Built)])


class InputFinder(Protocol):
    """Finds the inputs of unknown values in the files of one side of a plan."""

    def list_inputs(self, node: Node) -> list[InputText]:
        """Return the inputs of an unknown value. Empty if the form does not render it."""

    def list_existence_inputs(self, node: Node, is_shared: bool = False) -> list[InputText]:
        """Return the inputs that decide whether the object with a value exists.

        `is_shared`: several objects of one place have its name, so that it is not known which of them it is.
        """


class ValueReaders(Protocol):
    """Finds the places that read a value and lead to no judged object."""

    def list_places(self, edit: Edit) -> Iterator[Span]:
        """Yield such places for the value that an edit changes."""


class ValuesElsewhere(Protocol):
    """The files of one side of a plan that may give values, and with which nothing is rendered."""

    def list_values(self, obj: Object) -> Iterator[InputText]:
        """Yield what these files may give to an object. `caller` is the path of the file below the side's folder."""


class Form(Protocol):
    """The functions of a form's package. Each has a default that does nothing, in `forms.defaults`."""

    # -- from text to nodes, if the language is not YAML

    def may_embed(self, source: SourceText) -> bool:
        """Return whether a text of the form may contain an object that cannot be recognized by an `apiVersion`."""

    def read_embedded(self, source: SourceText, start: int, end: int, lenient: bool = False) -> Iterator[Reading]:
        """Yield the manifests in a range of a text of the form, in order. Nothing is raised."""

    def read_roots(self, source: Source) -> Sequence[Node]:
        """Return the roots in a text of the form that install Karpenter's controller."""

    def writer_of(self, style: str) -> Dialect:
        """Return the editor for nodes of one of the form's styles. Raise `NotEditable` for any other style."""

    def is_part(self, path: str) -> bool | None:
        """Return whether the objects of a file are parts of other objects. None if the form cannot tell."""

    def find_patched_folder(self, path: str) -> str | None:
        """Return the folder whose own file names a file as a patch. None if there is none."""

    def builds_on(self, patch: str, base: str) -> bool:
        """Return whether a folder that names a patch includes the file of another object."""

    def forget(self) -> None:
        """Clear the form's caches of files. A server calls it when a file changes."""

    def find_objects(self, values: Node, document: Document) -> Iterator[Object]:
        """Yield the pools and classes that charts create from values in a document."""

    # -- files

    def owns(self, path: str) -> bool:
        """Return whether a file in one of the form's folders belongs to the form."""

    def read_needed_files(self, run: FormRun) -> None:
        """Add files to `run.sources` that are needed although they do not name Karpenter."""

    def find_including_templates(self, sources: Sequence[Source], seen: Collection[str]) -> Iterable[Source]:
        """Yield the templates that include a named template of a source, but do not name Karpenter themselves."""

    def find_given_texts(self, seen: Collection[str], installing: Collection[str]) -> Callable[[str], str | None]:
        """Return a function that returns the texts which may contain values of a template, and None if it cannot.

        `seen` are the requested files, and those of `installing` may install a chart.
        """

    def list_related_folders(self, path: str, text: str, top: str | None) -> Iterator[str]:
        """Yield the folders whose files may be rendered together with a file of the form. `top` is the repository."""

    def list_read_with(self, path: str) -> Iterator[str]:
        """Yield the files that are needed together with a file that the user names."""

    # -- what is installed, applied and rendered

    def install_charts(self, root: Node, tree: RepositoryTree) -> Iterator[InstallChart]:
        """Yield the charts of the repository that an object of the form installs."""

    def install_known_charts(self, charts: Mapping[str, Source], sources: Sequence[Source]) -> Iterator[InstallChart]:
        """Yield the installations of charts that are not in YAML objects.

        `charts` are the default values of charts by absolute path.
        """

    def apply_folder(self, request: ApplyFolder, run: FormRun) -> Built | Gap | None:
        """Return the rendered manifest of a folder that a controller applies, or the gap if it could not be rendered.

        None if it has no Karpenter object.
        """

    def may_fill(self, sources: Sequence[Source]) -> bool:
        """Return whether the form may render one of the texts as a template."""

    def render(self, run: FormRun) -> None:
        """Add the rendered manifests of the files to `run.built`, and gaps for the others to `run.unbuilt`."""

    # -- unknown inputs

    def note_gaps(self, sources: Sequence[Source]) -> None:
        """Record the inputs that the form skips (`text.limits`), in addition to those recorded while rendering."""

    def find_given_values(self, root: Node, charts: Collection[str]) -> Iterator[tuple[str, Node]]:
        """Yield (name, values) for the values that an object passes to charts that are not in `charts`."""

    def find_hidden_values(self, root: Node, charts: Collection[str], sources: Mapping[str, Source]) -> Iterator[Gap]:
        """Yield a gap for each place that passes unreadable values to one of the charts."""

    def list_missing(
        self, source: Source, sources: Sequence[Source], of_any: bool = False
    ) -> Iterator[MissingSource]:
        """Yield the paths in a file's objects that the repository does not have. `sources` are files like it.

        Only those that concern Karpenter are yielded, or all with `of_any`.
        """

    def find_remote_values(self, sources: Sequence[Source]) -> Iterator[Gap]:
        """Yield a gap for values with pools and classes for remote modules or charts, in the form's own files."""

    def find_unread_callers(self, paths: Sequence[str], sources: Sequence[Source]) -> Iterator[Gap]:
        """Yield a gap for each file among `paths` that is not read and passes values to a module with objects."""

    def list_unread_values(self, chart: str, files: UnreadInputs) -> Iterator[InputText]:
        """Yield texts that may set values of a chart in ways that nodelint does not compute."""

    def list_applied_folders(self, files: UnreadInputs) -> Iterator[FolderUse]:
        """Yield the folders of the repository that objects such as Argo CD Applications apply."""

    def list_inputs(
        self, sources: Sequence[Source], builds: Sequence[Built], folder_files: Sequence[str], paths: Collection[str]
    ) -> Iterator[str]:
        """Yield absolute paths of files that hold objects or are inputs of rendered manifests.

        They must be readable.
        """

    def is_required(self, path: str) -> bool:
        """Return whether the form's tool always reads a file that `list_inputs` yields."""

    def find_lost_inputs(self, sources: Sequence[Source]) -> Iterator[tuple[str, str]]:
        """Yield (place, reason) for files that cannot be rendered because another file is missing."""

    def find_fault(self, source: Source, known: dict[str, object]) -> SyntaxProblem | None:
        """Return the syntax error of a file of the form. None if it is valid.

        `known` is a cache shared between files.
        """

    def find_root_fault(self, roots: Sequence[Node | None]) -> SyntaxProblem | None:
        """Return the error for which the form's tool refuses a file that describes its folder.

        None if it is accepted.
        """

    def find_missing_path(self, source: Source) -> SyntaxProblem | None:
        """Return a syntax error for the first path that does not exist in a file that describes its folder.

        None if all exist.
        """

    # -- for the comparison of two sides

    def find_addresses(
        self, objects: Sequence[Object], sources: Sequence[Source]
    ) -> Iterator[tuple[Object, BlockAddress, str]]:
        """Yield the objects of code blocks: the object, the address of its block, and a reason.

        The reason says why the block creates no instance. It is empty if it creates one.
        """

    def list_owners(
        self, objects: Sequence[Object], sources: Sequence[Source]
    ) -> Iterator[tuple[Object, ObjectOwner]]:
        """Yield (object, owner) for each block with a state (as of Terraform) that creates the object."""

    def list_roots(self, objects: Sequence[Object], sources: Sequence[Source]) -> Iterator[tuple[Object, str]]:
        """Yield (object, folder) for each root, applied as a whole, that creates an object of code blocks."""

    def list_missing_below(
        self, roots: Sequence[str], sources: Sequence[Source]
    ) -> Iterator[tuple[str, MissingSource]]:
        """Yield (root, missing) for each path that a root, or a module that it calls, names and that
        does not exist.
        """

    def list_moves(self, folders: Iterable[str], sources: Sequence[Source]) -> Iterator[AddressMove]:
        """Yield the changes of addresses that files of some folders declare."""

    def make_value_readers(self, judged: JudgedPlaces, sources: Sequence[Source]) -> ValueReaders | None:
        """Return what finds the places that read an edited value and lead to no judged object. None if nothing
        else can read the values of the form.
        """

    def make_input_finder(self, sources: Sequence[Source]) -> InputFinder | None:
        """Return a finder of the inputs of unknown values. None if the form renders nothing."""

    def find_variables_elsewhere(self, sources: Sequence[Source], top: str) -> ValuesElsewhere | None:
        """Return a finder of values in files with which nothing is rendered. None if the form has no such files."""

    def list_remote_uses(self, sources: Sequence[Source]) -> Iterator[RemoteUse]:
        """Yield the uses of remote modules or charts that may create pools."""

    def list_program_values(self, source: Source, charts: Sequence[str]) -> Iterator[tuple[str, InputText]]:
        """Yield (chart, input) for each call in a program that may install one of some charts.

        `charts` are absolute paths.
        """

    def list_program_charts(self, source: Source) -> Iterator[RemoteUse]:
        """Yield the remote charts that a program installs and that may create pools."""

    def list_unread_releases(
        self, charts: Collection[str], top: str, sources: Sequence[Source]
    ) -> Mapping[str, Sequence[InputText]]:
        """Return by chart the texts of blocks that may install it with values that are not read.

        `charts` and `top`, the folder in which files count, are absolute paths.
        """

    def read_files_taken(self, path: str, codes: Sequence[str]) -> tuple[str, Mapping[str, bytes]] | None:
        """Return the folder of a template and those of its files (content by path) that the code `codes` may
        include. None if the code includes no files.
        """

    # -- releases, and settings of the controller

    def state_releases(self, source: Source, references: list[object]) -> Iterator[Evidence]:
        """Yield the releases that a file states. References to look up later are appended to `references`."""

    def resolve_releases(
        self, sources: Sequence[Source], references: Sequence[object], known: Sequence[Evidence]
    ) -> Iterator[Evidence]:
        """Yield the releases that only all files together state. `references` come from `state_releases`."""

    def list_generated_specs(self, root: Node) -> Iterator[Node]:
        """Yield the spec of each object that a controller makes of an object with generators."""

    def find_installs(self, source: Source, files: ControllerFiles) -> Iterator[ControllerInstall]:
        """Yield the installations of Karpenter's controller in a file."""

    def find_plain_values(self, source: Source, files: ControllerFiles) -> Iterator[ControllerInstall]:
        """Yield the values of Karpenter's chart in a file that no installation names."""
