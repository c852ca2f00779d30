"""What the clusters get of a repository's files: built objects, and where each of their values is written.

Every command takes its objects from `read_inventory`, or from `build` where it has the sources: what one is told of a
chart, an overlay or a module is what the others are told.
"""

from __future__ import annotations

import os

from nodelint.base.budget import RUN
from nodelint.base.tuples import NamedTuple
from nodelint.files.gate import gate
from nodelint.forms.kustomize.kustomizations import KUSTOMIZATIONS
from nodelint.model.gap import FilePlace, Gap
from nodelint.text.limits import LeftOutNotes

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from nodelint.files.discover import Discovery
    from nodelint.forms.external.render import Rendering
    from nodelint.forms.rendered import Built
    from nodelint.model.manifest import Object
    from nodelint.text import Source


_LARGEST = 1 << 20
"""Bytes of a kustomization that is looked into where nothing else is to be read."""


_VALUES_OF_OTHERS = ("argoproj.io/", "helm.toolkit", "helmCharts")
"""Words of objects that give values to charts; a file without a `kind` may hold nothing but values."""


_GIVES_VALUES = r"(?m)^[ \t]*(?:module[ \t]|resource[ \t]+\"?helm_release\b)"
"""The head of a block of Terraform that gives values to what may be elsewhere."""


_FLUX = "kustomize.toolkit.fluxcd.io"
"""The group of Flux's Kustomizations, which fill in variables."""


_ARGO = "argoproj.io/"
"""The group of Argo CD's Applications, which may patch what they apply."""


class Inventory(NamedTuple):
    """The files that were read, and what is built of some of them.

    `gaps` is what could not be read or built: overlays, values of charts and modules that are elsewhere, and what
    limits leave out.
    """

    files: Sequence[Source]
    built: Sequence[Built] = ()
    gaps: Sequence[Gap] = ()
    kustomizations: Sequence[str] = ()

    @property
    def sources(self) -> list[Source]:
        """The texts that the clusters get: what is built, and the files that nothing is built of."""
        replaced = {path for built in self.built for path in built.replaces}
        left = [source for source in self.files if not replaced or os.path.abspath(source.path) not in replaced]
        return [*left, *(built.source for built in self.built)]

    @property
    def unbuilt(self) -> list[Gap]:
        """The overlays that could not be built."""
        return [gap for gap in self.gaps if gap.what == "overlay"]

    def auto_mode_objects(self) -> Iterator[Object]:
        """The NodePools and classes of EKS Auto Mode."""
        return (obj for obj in self.objects(foreign=True) if obj.provider == "auto-mode")

    def objects(self, foreign: bool = False) -> Iterator[Object]:
        """Karpenter's objects, as `model.documents.objects` gives those of one text."""
        from nodelint.model.documents import objects

        for source in self.sources:
            yield from objects(source, foreign)


def build(
    files: Sequence[Source],
    rendering: Rendering | None = None,
    kustomizations: Sequence[str] = (),
    each_release: bool = False,
) -> Inventory:
    """Build what the clusters get of files.

    Overlays are those of `kustomizations`, the paths of their own files. Charts get their default values and, one by
    one, their other files of values; texts of Terraform get what variables have. `rendering` is what kustomize and
    helm have come to, where they were run. `each_release` is that of `filled_charts`.
    """
    RUN.refill()
    with LeftOutNotes() as notes:
        inventory = _build(files, rendering, kustomizations, each_release)
    return _with_gaps(inventory, notes)


def _list_gaps(notes: LeftOutNotes) -> tuple[Gap, ...]:
    return tuple(Gap(FilePlace(left.path, left.line), "file", left.reason, fault=left.fault) for left in notes.found)


def _build(
    files: Sequence[Source], rendering: Rendering | None, kustomizations: Sequence[str], each_release: bool
) -> Inventory:
    built, unbuilt, overlays = _build_overlays(files, rendering, kustomizations)
    if may_fill(files):
        from nodelint.forms.helm.filled_charts import filled_charts
        from nodelint.forms.terraform.rendered import filled_by_terraform

        if rendering is None or all(build.root.tool != "helm" for build in rendering.builds):
            built += filled_charts(files, overlays, each_release)
        made = list(filled_by_terraform(files))
        for source in files:
            path = os.path.abspath(source.path)
            source.roots = tuple(dict.fromkeys(built.cluster for built in made if path in built.replaces))
        built += made
    node_groups = next((source.node_groups for source in files if source.node_groups), ())
    unread_keys = next((source.unread_keys for source in files if source.unread_keys is not None), None)
    for built_text in built:
        for text in built_text.texts:
            text.cluster, text.built, text.node_groups = built_text.cluster, built_text, node_groups
            text.unread_keys = unread_keys
    return Inventory(files, tuple(built), (*unbuilt, *_list_remote_values(files, built)), tuple(kustomizations))


def _build_overlays(
    files: Sequence[Source], rendering: Rendering | None, kustomizations: Sequence[str]
) -> tuple[list[Built], list[Gap], list[Built]]:
    """What overlays come to, which cannot be built, and those that a chart's releases may stand in."""
    built: list[Built] = []
    unbuilt: list[Gap] = []
    overlays: list[Built] = []
    if rendering is not None and rendering.builds:
        from nodelint.forms.external.render import build_rendered

        built += build_rendered(rendering, files)
    if kustomizations:
        from nodelint.forms.kustomize.overlays import build_native

        done = {os.path.abspath(build.root.folder) for build in rendering.builds} if rendering is not None else set()
        overlays, unbuilt = build_native(files, kustomizations, done)
        built += overlays
    if any(_FLUX in source.text for source in files):
        from nodelint.forms.flux.kustomizations import build_flux

        built, more = build_flux(files, built)
        unbuilt += more
    if kustomizations and any(_ARGO in source.text for source in files):
        from nodelint.forms.argocd.kustomizations import build_argo

        built, more = build_argo(files, built)
        unbuilt += more
    if rendering is None or not rendering.builds:
        overlays = list(built)  # with what Flux and Argo CD make of them
    return built, unbuilt, overlays


def _list_remote_values(files: Sequence[Source], built: Sequence[Built]) -> tuple[Gap, ...]:
    """The values of charts that are not among the files; nothing is loaded where no file may hold any."""
    import re  # a run over plain files needs none of it

    terraform = [f for f in files if f.path.endswith((".tf", ".tofu")) and re.search(_GIVES_VALUES, f.text)]
    manifests = [f for f in files if "kind:" in f.text and not any(word in f.text for word in _VALUES_OF_OTHERS)]
    if not terraform and len(manifests) == len(files):
        return ()
    from nodelint.forms.helm.remote_values import find_remote_values

    found = list(find_remote_values(files, {part for text in built for part in text.parts}))
    if terraform:
        from nodelint.forms.terraform.remote_modules import find_remote_inputs

        found += find_remote_inputs(terraform)
    return tuple(found)


def may_fill(files: Sequence[Source]) -> bool:
    """Whether a template of a chart or of Terraform may be among files; where none is, nothing is loaded."""
    if any(source.may_be_template for source in files):
        return True
    if not any("${" in source.text or source.path.endswith((".tf", ".tofu")) for source in files):
        return False
    from nodelint.forms.terraform.filled_texts import any_filled

    return any_filled(files)


def read_inventory(
    found: Discovery,
    rendering: Rendering | None = None,
    add_more: Callable[[Iterable[Object]], bool] | None = None,
    each_release: bool = False,
) -> Inventory:
    """Build what the clusters get of the files that were found: the one call by which a command has its objects.

    Files of values of charts become sources of `found`, as far as they were asked for: a finding may be theirs.
    `add_more` adds sources for which the objects have to be known, and says whether there are any. `each_release` is
    that of `filled_charts`.
    """
    inventory = _build_found(found, rendering, each_release)
    if add_more is not None and add_more(inventory.objects()):
        inventory = _build_found(found, rendering, each_release)
    with LeftOutNotes() as notes:
        _note_unread(found, inventory)
    return _with_gaps(inventory, notes)


def _with_gaps(inventory: Inventory, notes: LeftOutNotes) -> Inventory:
    return inventory._replace(gaps=tuple(dict.fromkeys((*inventory.gaps, *_list_gaps(notes)))))


def _build_found(found: Discovery, rendering: Rendering | None, each_release: bool) -> Inventory:
    with LeftOutNotes() as notes:
        inventory = _read_and_build(found, rendering, each_release)
    return _with_gaps(inventory, notes)


def _read_and_build(found: Discovery, rendering: Rendering | None, each_release: bool) -> Inventory:
    helm = rendering is not None and any(build.root.tool == "helm" for build in rendering.builds)
    if not helm and may_fill(found.sources):
        from nodelint.forms.helm.filled_charts import read_releases, values_beside, values_elsewhere
        from nodelint.forms.helm.including_templates import find_including_templates

        found.sources += find_including_templates(found.sources, found.seen)
        found.sources += read_releases(found.sources, found.releases, found.also)
        found.sources += values_beside(found.sources, found.seen)
        found.sources += values_elsewhere(found.sources, found.seen)
    if found.kustomizing and found.sources:
        from nodelint.forms.flux.kustomizations import read_kustomizations

        found.sources += read_kustomizations(found.sources, found.kustomizing, found.seen)
    inventory = build(found.sources, rendering, kustomizations_of(found), each_release)
    if found.also is None:  # whoever asks for workloads hears of those that are not known
        inventory = inventory._replace(gaps=tuple(gap for gap in inventory.gaps if gap.decides))
    if inventory.built:
        from nodelint.forms.rendered import find_parts

        found.sources += find_parts(inventory.built, found)
    return inventory


def _note_unread(found: Discovery, inventory: Inventory) -> None:
    """Name the files that were asked for and of which nothing can be built."""
    has_terraform = any(source.path.endswith((".tf", ".tofu", ".tf.json")) for source in found.sources)
    if has_terraform:
        from nodelint.forms.terraform.outside_files import note_outside_files

        note_outside_files(found.sources)
    if inventory.kustomizations or inventory.built or has_terraform or may_fill(found.sources):
        from nodelint.inventory.unread_inputs import find_unread_inputs

        named = {place for o in inventory.unbuilt for place in (o.subject, os.path.dirname(os.path.abspath(o.path)))}
        found.unreadable += find_unread_inputs(found, inventory.built, inventory.kustomizations, named)
    for overlay in inventory.unbuilt:
        place = str(overlay.file_place)
        if overlay.fails and all(path != place for path, _ in found.unreadable):
            found.unreadable.append((place, f"not built: {overlay.reason}"))


def _leads_out(path: str) -> bool:
    """Whether a kustomization takes something from beside or above its folder."""
    try:
        return b"../" in gate.read(path, _LARGEST)
    except (OSError, ValueError):
        return False


def kustomizations_of(found: Discovery) -> list[str]:
    """The paths of the kustomizations that were asked for, and those beside files that were named."""
    # Asked of each file of the run, and most end in another way.
    ending = [path for path in found.seen if path.endswith(KUSTOMIZATIONS)]
    paths = [path for path in ending if os.path.basename(path) in KUSTOMIZATIONS]
    if not found.sources:
        return sorted(filter(_leads_out, paths))
    for path in found.seen if not found.folders else ():
        folder = os.path.dirname(path)
        candidates = (os.path.join(folder, name) for name in KUSTOMIZATIONS)
        paths += [path for path in candidates if path not in found.seen and gate.is_file(path)]
    return sorted(dict.fromkeys(paths))
