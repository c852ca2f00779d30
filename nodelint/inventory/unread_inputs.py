"""Files that objects are built of and that cannot be read: charts, Terraform's modules and overlays as they stand.

What builds objects passes over such a file, and helm, Terraform or kustomize stops at it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence

from nodelint.files import safe_read
from nodelint.files.discover import Discovery
from nodelint.files.links import CHART
from nodelint.forms.helm.charts import OTHER_VALUES, DefinedNames, chart_of, templates_around
from nodelint.forms.kustomize.kustomizations import KUSTOMIZATIONS
from nodelint.forms.lib.values import own_roots
from nodelint.forms.rendered import Built
from nodelint.forms.syntax_check import TERRAFORM, SyntaxFault, find_fault
from nodelint.text import Source

_LARGEST = 16 << 20
_MOST_FILES = 5000
"""Files of charts and modules that are looked at: a guard against a tree that holds everything."""


def list_inputs(sources: Sequence[Source], builds: Sequence[Built]) -> Iterator[str]:
    """The absolute paths of the files of charts and modules that objects stand in, or are built of."""
    charts: set[str] = set()
    modules: set[str] = set()
    paths = [s.path for s in sources if s.may_be_template or s.path.endswith((*TERRAFORM, ".tftpl"))]
    for built in builds:
        paths += built.parts
        if built.source.path.endswith(TERRAFORM) or any(part.endswith(TERRAFORM) for part in built.parts):
            modules.add(built.cluster)
    for path in map(os.path.abspath, paths):
        if path.endswith(TERRAFORM):
            modules.add(os.path.dirname(path))
        elif path.endswith(".tftpl"):
            modules |= {os.path.dirname(path), os.path.dirname(os.path.dirname(path))}
        elif (chart := chart_of(path)) is not None:
            charts.add(chart)
    for count, path in enumerate((*_list_charts(charts), *_list_modules(modules))):
        if count >= _MOST_FILES:
            return
        yield path


def _list_charts(charts: set[str]) -> Iterator[str]:
    for chart in sorted(charts):
        for folder, _, names in os.walk(chart):
            for name in sorted(names):
                if name.endswith((".yaml", ".yml", ".tpl")):
                    yield os.path.join(folder, name)


def _list_modules(modules: set[str]) -> Iterator[str]:
    for folder in sorted(filter(os.path.isdir, modules)):
        yield from (os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(TERRAFORM))


def find_unread_inputs(
    found: Discovery, builds: Sequence[Built], kustomizations: Sequence[str], named: Collection[str] = ()
) -> Iterator[tuple[str, str]]:
    """The files that were asked for and that nothing can be built of: `path:line`, and why.

    A file that holds an object is left out where a finding says that it cannot be read. `named` are the folders of
    overlays of which it is said already that they are not built.
    """
    shown = {os.path.abspath(path): path for path in (*found.seen, *found.glanced)}
    # What is set aside may be whole for helm or Terraform: a template that is no YAML yet, an object in another form.
    aside = {s.path for s in found.sources if s.set_aside and not _is_tool_input(s)}
    broken = {os.path.abspath(source.path) for source in found.sources if source.problems or source.path in aside}
    inputs = [path for path in list_inputs(found.sources, builds) if _is_always_read(path)]
    if found.sources:
        objects = {os.path.abspath(source.path) for source in found.sources}
        built = {part for built in builds for part in built.parts}
        inputs += [path for path in map(os.path.abspath, kustomizations) if path in built or _may_take(path, objects)]
    named_before = {os.path.abspath(path) for path in found.seen}
    folders = {os.path.dirname(path): os.path.dirname(name) for path, name in shown.items()}
    known: DefinedNames = {}
    for path in dict.fromkeys(inputs):
        if (
            path not in shown
            and os.path.islink(path)
            and not os.path.exists(path)
            and os.path.dirname(path) in folders
        ):
            shown[path] = os.path.join(folders[os.path.dirname(path)], os.path.basename(path))
        if path not in shown or path in broken:
            continue
        try:
            source, fault = find_fault(path, safe_read.read(path, _LARGEST), known)
        except OSError as error:
            if path not in named_before:  # what may hold objects and cannot be opened is named when it is looked for
                yield shown[path], safe_read.error_reason(error)
            continue
        if fault is None and os.path.basename(path) in KUSTOMIZATIONS and os.path.dirname(path) not in named:
            fault = _find_missing_path(source)
        is_template = "{{" in source.text and "}}" in source.text and chart_of(path) is None
        if fault is not None and (path.endswith(TERRAFORM) or not is_template):
            line = source.text.count("\n", 0, fault.offset) + 1
            yield f"{shown[path]}:{line}", f"cannot be read: {fault.message}"
    yield from _find_lost_charts(found.sources)


def _find_lost_charts(sources: Sequence[Source]) -> Iterator[tuple[str, str]]:
    """The first template of each vendored chart that has lost its Chart.yaml: helm stops there."""
    known: set[str] = set()
    for source in sources:
        path = os.path.abspath(source.path)
        chart = os.path.dirname(templates_around(path) or "") if source.may_be_template else ""
        outer, below = os.path.split(os.path.dirname(chart))
        if below != "charts" or chart in known or os.path.lexists(os.path.join(chart, CHART)):
            continue
        if os.path.basename(chart).startswith(("_", ".")):
            continue  # helm passes these over
        known.add(chart)
        if os.path.isfile(os.path.join(outer, CHART)):
            missing = os.path.relpath(os.path.join(chart, CHART))
            yield f"{source.path}:1", f"cannot be read: helm loads no chart without its `{missing}`"


def _is_tool_input(source: Source) -> bool:
    """Whether helm or Terraform reads a file that may hold objects in a form that is not read here."""
    return source.path.endswith(TERRAFORM) or (source.may_be_template and chart_of(source.path) is not None)


def _is_always_read(path: str) -> bool:
    """Whether the tool of a chart or module reads a file, or somebody installs the chart with it."""
    name = os.path.basename(path)
    if path.endswith(TERRAFORM) or name in (CHART, "values.yaml") or chart_of(path) is not None:
        return True
    return re.match(OTHER_VALUES, name) is not None


def _find_missing_path(source: Source) -> SyntaxFault | None:
    """The first path of a repository that a kustomization names and that is not there: kustomize stops at it."""
    folder = os.path.dirname(os.path.abspath(source.path))
    for root in own_roots(source):
        for field in ("resources", "bases", "components"):
            named = root.get(field)
            if named is not None and isinstance(named.value, str):
                return SyntaxFault(named.start, f"`{field}` has to be a list")
            for item in named.items if named is not None else ():
                path = item.value if isinstance(item.value, str) else ""
                if re.fullmatch(_LOCAL, path) and not os.path.exists(os.path.join(folder, path)):
                    return SyntaxFault(item.start, f"`{path}` is not there")
    return None


_PART = r"[^:?*\[\]{}$/]+"
_LOCAL = rf"(?:\.\.?/)+{_PART}(?:/{_PART})*/?|[\w-]+(?:/{_PART})*/?|[\w.-]+\.(?:ya?ml|json)"
"""A path of the same repository, and no address, pattern or placeholder."""


def _may_take(path: str, objects: set[str]) -> bool:
    """Whether a kustomization that cannot be read stands beside a file with objects, names one, or a folder above."""
    try:
        text = safe_read.read(path, _LARGEST).decode(errors="replace")
    except OSError:
        return False
    folder = os.path.dirname(path)
    if any(os.path.dirname(obj) == folder for obj in objects):
        return True
    words = (word for word in re.findall(r"[\w./-]+", text) if "/" in word or "." in word)
    named = {os.path.normpath(os.path.join(folder, word)) for word in words}
    return any(place in objects or any(obj.startswith(os.path.join(place, "")) for obj in objects) for place in named)
