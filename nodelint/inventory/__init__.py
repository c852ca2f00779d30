"""Render the files of a repository to the objects that clusters get, with the position of each value.

Every command gets its objects from `read_inventory`, or from `build` if it has the sources: so all commands agree
about a chart, an overlay or a module. No other module calls the forms to render.
"""

from __future__ import annotations

import os

from nodelint.base.budget import RUN, BudgetSpent
from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.files.gate import gate
from nodelint.forms.registry import TABLE
from nodelint.model.gap import NOT_AS_VALUES, FilePlace, Gap
from nodelint.text.limits import LeftOutNotes, note_left_out, note_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from nodelint.files.folders import Discovery
    from nodelint.forms.registry import FormRow
    from nodelint.forms.rendered import Built
    from nodelint.model.manifest import Object
    from nodelint.text import Source, SourceText


_LARGEST = 1 << 20
"""The most bytes of a kustomization that is searched for paths to the outside."""


class Inventory(NamedTuple):
    """The files of a run, and the manifests rendered from them.

    - `files`: the sources that were read.
    - `built`: the rendered manifests.
    - `gaps`: inputs that could not be read or rendered: overlays, values of charts and modules that are elsewhere,
      and inputs skipped because of limits.
    - `folder_files`: the paths of kustomizations and other files that represent a folder.
    - `broken`: values files with a syntax error that are needed, whatever they mention.
    """

    files: Sequence[Source]
    built: Sequence[Built] = ()
    gaps: Sequence[Gap] = ()
    folder_files: Sequence[str] = ()
    broken: Sequence[SourceText] = ()

    @property
    def sources(self) -> list[Source]:
        """Return the texts that clusters get: the rendered manifests, and the files that were not replaced by one."""
        replaced = {path for built in self.built for path in built.replaces}
        left = [source for source in self.files if not replaced or os.path.abspath(source.path) not in replaced]
        return [*left, *(built.source for built in self.built)]

    @property
    def rendered_inputs(self) -> frozenset[str]:
        """Return the paths of the files from which manifests are rendered.

        An object in such a file, such as a pool in a chart's values, is judged as it is rendered.
        """
        return frozenset(path for built in self.built for path in built.parts)

    @property
    def unbuilt(self) -> list[Gap]:
        """Return the gaps of overlays that could not be rendered, and of modules that their tool cannot read."""
        return [gap for gap in self.gaps if gap.what == "overlay" or (gap.what == "module" and gap.fails)]

    def auto_mode_objects(self) -> Iterator[Object]:
        """Yield the NodePools and classes of EKS Auto Mode."""
        return (obj for obj in self.objects(foreign=True) if obj.provider == "auto-mode")

    def objects(self, foreign: bool = False) -> Iterator[Object]:
        """Yield Karpenter's objects.

        With `foreign`, also objects of other providers (see `model.documents.objects`).
        """
        from nodelint.model.documents import objects

        for source in self.sources:
            yield from objects(source, foreign)


def build(
    files: Sequence[Source],
    folder_files: Sequence[str] = (),
    each_release: bool = False,
) -> Inventory:
    """Render files to the objects that clusters get, form by form, in the order of `forms.registry`.

    `folder_files` are the paths of overlays. Charts are rendered with their default values and with each of their
    other values files. Texts with variables are rendered with the values of the variables. `each_release` is as in
    `FormRun`.
    """
    RUN.refill()
    with LeftOutNotes(_left_out) as notes:
        inventory = _render(files, folder_files, each_release)
    return _with_gaps(inventory, notes)


def _left_out(path: str, line: int, reason: str, fault: str) -> Gap:
    return Gap(FilePlace(path, line), "file", reason, fault=fault)


def _render(files: Sequence[Source], folder_files: Sequence[str], each_release: bool) -> Inventory:
    rows = [
        row
        for row in TABLE.rows
        if _may_render(row, files, folder_files) or (each_release and _holds_plain_files(row, files))
    ]
    built: Sequence[Built] = ()
    unbuilt: Sequence[Gap] = ()
    if rows:
        from nodelint.forms.interface import FormRun

        run = FormRun(list(files), folder_files, each_release)
        for row in rows:
            with _noted(files, row):
                row.load().render(run)
        built, unbuilt = run.built, run.unbuilt
    node_groups = next((source.node_groups for source in files if source.node_groups), ())
    unread_keys = next((source.unread_keys for source in files if source.unread_keys is not None), None)
    for built_text in built:
        for text in built_text.texts:
            text.cluster, text.built, text.node_groups = built_text.cluster, built_text, node_groups
            text.unread_keys = unread_keys
    _note_uses(files, built)
    return Inventory(files, tuple(built), (*unbuilt, *_list_remote_values(files, built)), tuple(folder_files))


def _note_uses(files: Sequence[Source], built: Sequence[Built]) -> None:
    """Record for each file the manifests that are rendered from it."""
    using: dict[str, list[Built]] = {}
    for built_text in built:
        for part in built_text.parts:
            using.setdefault(part, []).append(built_text)
    for source in files:
        source.built_in = tuple(using.get(os.path.abspath(source.path), ())) if using else ()


class _noted:
    """A context manager: records that a form skipped inputs because the budget or the time of the run is spent."""

    def __init__(self, files: Sequence[Source], row: FormRow) -> None:
        self._files = files
        self._row = row

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        if not isinstance(error, BudgetSpent):
            return False
        ours = [file.path for file in self._files if self._row.endings and file.path.endswith(self._row.endings)]
        note_left_out([*ours, *(file.path for file in self._files), os.curdir][0], str(error))
        return True


def _may_render(row: FormRow, files: Sequence[Source], folder_files: Sequence[str] = ()) -> bool:
    """Return whether a form may render some of the files. The form is not loaded."""
    if row.names and folder_files:
        return True
    for source in files:
        if row.folders and source.may_be_template:
            return True
        if row.endings and source.path.endswith(row.endings):
            return True
        for word in row.words:
            if word in source.text:
                return True
    return False


def _holds_plain_files(row: FormRow, files: Sequence[Source]) -> bool:
    """Return whether some of the files are in a folder of templates of a form: an outer chart may disable them."""
    inside = [f"/{folder}/" for folder in row.folders]
    return any(folder in f"/{source.path}" for folder in inside for source in files)


def _list_remote_values(files: Sequence[Source], built: Sequence[Built]) -> tuple[Gap, ...]:
    """Return a gap for each values file of a chart that is not among the files.

    The code for this is loaded only if there may be such a file.
    """
    found: list[Gap] = []
    if any(
        "kind:" not in file.text or any(row.may_install(file.path, file.text) for row in TABLE.rows) for file in files
    ):
        from nodelint.inventory.remote_values import find_remote_values

        found += find_remote_values(files, {part for text in built for part in text.parts})
    for row in TABLE.rows:
        if row.endings and any(file.path.endswith((*row.endings, *row.read_too)) for file in files):
            with _noted(files, row):
                found += row.load().find_remote_values(files)
    if any(map(_may_name_paths, files)):
        from nodelint.inventory.missing_sources import find_missing_sources

        # Where the values hold the objects, a gap names them already.
        named = {gap.path for gap in found}
        found += [gap for gap in find_missing_sources(files) if gap.path not in named]
    return tuple(found)


def _may_name_paths(file: Source) -> bool:
    """Return whether a file may have objects that name charts and folders of the repository."""
    if file.path.endswith((*TABLE.endings, *TABLE.heads, *TABLE.names)):
        return True
    for row in TABLE.rows:
        if row.may_install(file.path, file.text) or (row.kinds and any(word in file.text for word in row.words)):
            return True
    return False


def may_fill(files: Sequence[Source]) -> bool:
    """Return whether an input form may render one of the files as a template.

    A form is loaded only if its files are among them.
    """
    return any(row.fills and _may_render(row, files) and row.load().may_fill(files) for row in TABLE.rows)


def read_inventory(
    found: Discovery,
    add_more: Callable[[Iterable[Object]], bool] | None = None,
    each_release: bool = False,
) -> Inventory:
    """Render the files that were found. Every command gets its objects from this function.

    Requested values files of charts become sources of `found`, because a finding may be in them. `add_more` gets the
    objects, adds sources that are needed for them, and returns whether there are any. `each_release` is as in
    `FormRun`.
    """
    inventory = build_found(found, each_release)
    if add_more is not None and add_more(inventory.objects()):
        inventory = build_found(found, each_release)
    return note_unread(found, inventory)


def note_unread(found: Discovery, inventory: Inventory) -> Inventory:
    """Record inputs from which nothing can be rendered in `found`, and inputs beyond a limit in the inventory."""
    with LeftOutNotes(_left_out) as notes:
        _note_unread(found, inventory)
    return _with_gaps(inventory._replace(gaps=(*inventory.gaps, *_find_unread_callers(found))), notes)


def _find_unread_callers(found: Discovery) -> Iterator[Gap]:
    paths = [path for path in (*found.glanced, *found.seen) if path.endswith(TABLE.above)]
    for row in TABLE.of_languages(found.seen) if paths else ():
        yield from row.load().find_unread_callers(paths, found.sources)


def _with_gaps(inventory: Inventory, notes: LeftOutNotes) -> Inventory:
    gaps = tuple(dict.fromkeys((*inventory.gaps, *notes.found)))
    if any(gap.reason.startswith(NOT_AS_VALUES) for gap in gaps):
        used = inventory.rendered_inputs  # what installs the chart may name the file by a pattern
        gaps = tuple(g for g in gaps if not g.reason.startswith(NOT_AS_VALUES) or os.path.abspath(g.path) not in used)
    return inventory._replace(gaps=gaps, broken=(*inventory.broken, *notes.broken.values()))


def build_found(found: Discovery, each_release: bool = False) -> Inventory:
    """Render the files as `read_inventory` does, without reporting files that cannot be read."""
    with LeftOutNotes(_left_out) as notes:
        inventory = _read_and_build(found, each_release)
    return _with_gaps(inventory, notes)


def _read_and_build(found: Discovery, each_release: bool) -> Inventory:
    for source in found.sources if found.named else ():
        if source.problems and source.path in found.named and source.path.endswith((".yaml", ".yml")):
            from nodelint.forms.lib.values import read_broken

            read_broken(source)  # whoever names a file wants to know that it is not YAML
    read_needed_files(found, each_release)
    inventory = build(found.sources, list_folder_files(found), each_release)
    if found.also is None:  # only a caller that asks for workloads reports workloads that are not known
        inventory = inventory._replace(gaps=tuple(gap for gap in inventory.gaps if gap.decides))
    if inventory.built:
        from nodelint.forms.rendered import find_parts

        parts = list(find_parts(inventory.built, found))
        _note_uses(parts, inventory.built)
        found.sources += parts
    if inventory.broken:
        _add_broken(found, inventory.broken)
    if found.read_with:
        read_with = {*map(os.path.abspath, found.read_with)}.difference(map(os.path.abspath, found.values))
        for source in found.sources:
            source.is_editable = os.path.abspath(source.path) not in read_with
    return inventory


def _add_broken(found: Discovery, broken: Sequence[SourceText]) -> None:
    """Add values files with a syntax error to the sources, so that findings report it."""
    from nodelint.text import Source

    paths = {os.path.abspath(source.path) for source in broken}
    found.sources[:] = [source for source in found.sources if os.path.abspath(source.path) not in paths]
    found.sources += [source for source in broken if isinstance(source, Source)]


def _add_failing(found: Discovery, failing: Iterable[str]) -> None:
    """Add the files that stand for a folder and that their tool refuses to the sources, so that findings report why,
    and the files of a language with a syntax error.

    `failing` are paths of files that stand for a folder.
    """
    have = {os.path.abspath(source.path) for source in found.sources}
    unread = (path.partition(":")[0] for path, _ in found.unreadable)
    for path in (*failing, *unread):
        may_be_reported = os.path.basename(path) in TABLE.names or TABLE.of_language(path) is not None
        if may_be_reported and os.path.abspath(path) not in have:
            from nodelint.forms.lib.values import read

            have.add(os.path.abspath(path))
            found.sources += [source for source in [read(path)] if source is not None]


def read_needed_files(found: Discovery, each_release: bool = False) -> None:
    """Add to the sources the files without Karpenter's name that forms need to render."""
    applying = found.applying if found.sources or holds_objects_as_inputs(found) else []
    for row in TABLE.rows:
        inside = [f"/{folder}/" for folder in row.folders] if found.sources else []
        if any(folder in f"/{path}" for folder in inside for path in found.seen):
            found.sources += row.load().find_kindless_templates(found.sources, found.seen)
    first = next(row for row in reversed(TABLE.rows) if row.applies and not row.endings)
    for row in reversed(TABLE.rows):  # first forms that install charts, then those that apply the result
        if row is first and applying:
            from nodelint.forms.lib.values import read

            have = {os.path.abspath(source.path) for source in found.sources}
            more = (read(path) for path in applying if os.path.abspath(path) not in have)
            found.sources += [source for source in more if source is not None]
        if _may_render(row, found.sources) or (each_release and _holds_plain_files(row, found.sources)):
            from nodelint.forms.interface import FormRun

            run = FormRun(found.sources, each_release=each_release)
            run.seen, run.installing, run.also = found.seen, found.installing, found.also
            run.named, run.values = found.named, found.values
            with _noted(found.sources, row):
                row.load().read_needed_files(run)


def holds_objects_as_inputs(found: Discovery) -> bool:
    """Return whether a file with inputs of modules may hold an object, which a requested module prints."""
    if not found.applying:
        return False
    from nodelint.forms.lib.values import read

    endings = (*TABLE.module_inputs, *TABLE.above)
    inputs = (read(path) for path in sorted(found.glanced) if path.endswith(endings))
    texts = (source.text for source in inputs if source is not None)
    return any("apiVersion" in text and "karpenter." in text for text in texts)


def read_named_templates(found: Discovery) -> None:
    """Add to the sources the templates that include a template with Karpenter's name but do not name Karpenter."""
    for row in TABLE.rows:
        if row.folders and any(source.may_be_template for source in found.sources):
            found.sources += row.load().find_including_templates(found.sources, found.seen)


def _note_unread(found: Discovery, inventory: Inventory) -> None:
    """Record the requested files from which nothing can be rendered."""
    if found.late:
        number = f"{found.late:,} file{'s' if found.late > 1 else ''}"
        note_left_out(os.path.relpath([*found.folders, os.curdir][0]), f"{number} not read: {RUN.late_reason}")
    if found.unsearched:
        note_limit(os.curdir, found.unsearched, "files below this folder, searched for paths of these files", 0)
    languages = [
        row for row in TABLE.rows if row.endings and any(s.path.endswith(row.endings) for s in found.sources)
    ]
    for row in languages:
        with _noted(found.sources, row):
            row.load().note_gaps(found.sources)
    if inventory.folder_files or inventory.built or languages or may_fill(found.sources):
        from nodelint.inventory.unread_inputs import find_unread_inputs

        named = {place for o in inventory.unbuilt for place in (o.subject, os.path.dirname(os.path.abspath(o.path)))}
        found.unreadable += find_unread_inputs(found, inventory.built, inventory.folder_files, named)
    if found.installing or found.applying:
        from nodelint.inventory.unread_inputs import find_broken_installs

        found.unreadable += find_broken_installs(found)
    failing = [overlay for overlay in inventory.unbuilt if overlay.fails and overlay.what == "overlay"]
    _add_failing(found, [overlay.path for overlay in failing])
    for overlay in failing:
        place = str(overlay.file_place)
        if all(path != place for path, _ in found.unreadable):
            found.unreadable.append((place, f"not built: {overlay.reason}"))


def _leads_out(path: str) -> bool:
    """Return whether a file that stands for its folder uses something outside of the folder, by a path or a link."""
    import re

    folder = os.path.dirname(path)
    try:
        text = gate.read(path, _LARGEST)
        if re.search(rb"""\.\.|[\s\["'-]/""", text) is not None:
            return True
        named = [name for name, _ in gate.entries(folder) if os.fsencode(name) in text]
        return any(gate.refusal(os.path.join(folder, name)) is not None for name in named)
    except (OSError, ValueError):
        return False


def list_folder_files(found: Discovery) -> list[str]:
    """Return the requested files that represent their folder, such as kustomizations.

    If only files were requested, kustomizations in the folders of these files are included.
    """
    names = TABLE.names
    # This runs for each file, and most have another ending.
    ending = [path for path in found.seen if path.endswith(names)]
    paths = [path for path in ending if os.path.basename(path) in names]
    if not found.sources:
        return sorted(filter(_leads_out, paths))
    for path in found.seen if not found.folders else ():
        folder = os.path.dirname(path)
        candidates = (os.path.join(folder, name) for name in names)
        paths += [path for path in candidates if path not in found.seen and gate.is_file(path)]
    return sorted(dict.fromkeys(paths))
