"""Find inputs that differ between two sides, may contain pools or classes, and are not read: programs, remote bases,
remote modules.
"""

from __future__ import annotations

import os
import re
from collections import Counter

from nodelint.base.types import TYPE_CHECKING
from nodelint.files.gate import gate
from nodelint.forms.input_text import InputText, list_changed_inputs
from nodelint.forms.lib.variable_inputs import list_variables
from nodelint.forms.registry import TABLE
from nodelint.inventory.unread_forms import unread
from nodelint.model.documents import objects
from nodelint.model.finding import Span, span_of
from nodelint.model.folders import path_below
from nodelint.model.gap import CHART_ELSEWHERE, Gap
from nodelint.plan.alias_images import has_alias
from nodelint.plan.changed_archives import find_changed_archives
from nodelint.plan.changed_overlays import find_changed_overlays
from nodelint.plan.changed_programs import find_changed_programs
from nodelint.plan.imported_files import find_changed_data, has_changed_import
from nodelint.plan.uncompared import uncompared
from nodelint.text import Source
from nodelint.text.missing import text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nodelint.forms.input_text import RemoteUse
    from nodelint.plan import Plan, UnreadFiles
    from nodelint.plan.read_side import Read

_LARGEST = 4 << 20
_RENDERED = ("overlay", "chart", "Markdown file")
"""Kinds of unread files that contain no objects of their own, or only examples for readers."""
_OF_TESTS = re.compile(
    r"(?:^|/)(?:tests?|testdata|__tests__|docs|examples?)/|_test\.go$|(?:^|/)test_[^/]*$|\.(?:test|spec)\.\w+$"
)
_REMOTE = re.compile(r"(?m)^[ \t]*-[ \t]*[\"']?((?:\S+://|git@|github\.com/)[^\s\"'#]+)")
_OF_KARPENTER = re.compile(r"(?:aws|kubernetes-sigs)/karpenter(?:-provider-aws)?(?:\.git)?(?:/|$|\?)")
"""Karpenter's own repositories: their bases contain the controller and its CRDs, and no pools."""
_SOURCED = re.compile(r"(?m)(?:^|[;&|])[ \t]*(?:source|\.)[ \t]+[\"']?([^\s\"';|&]+(?:[\"'][^\s\"';|&]+)?)")
"""A file that a shell script reads into itself."""
_SETTINGS = re.compile(r"Pulumi(?:\.[\w.-]+)?\.ya?ml|cdk(?:\.context)?\.json|cdktf\.json")
_SCRIPTS = (".sh", ".bash", "Makefile", ".md")
_FOLDER_OF_SCRIPT = re.compile(r"^(?:\$\{?\w+\}?|\$\([^)]*\))[\"']?/")
_SETS = re.compile(r"[ \t]*(?:export[ \t]+|declare[ \t]+(?:-\w+[ \t]+)?)?([A-Za-z_]\w*)=")
_CONCERNS = re.compile(r"(?i)karpenter|node[_-]?pool|node[_-]?class")


def find_changed_gaps(was: Read, new: Read, plan: Plan, unread_files: UnreadFiles) -> Iterator[Gap]:
    """Yield each input that was not read and that differs between the sides. If neither side has an object, yield
    unchanged ones also.

    `unread_files` are files that the plan reports already.
    """
    reported = {gap.subject for gap in unread_files.files}
    unread_texts = set()
    for place, gap in _find_changed_texts(was, new, bool(plan.pools or plan.classes)):
        unread_texts.add(place)
        if place not in reported:
            yield gap
    yield from _find_changed_bases(was, new)
    yield from find_changed_overlays(was, new)
    yield from find_changed_programs(was, new, has_alias(plan.classes))
    yield from find_changed_archives(was, new)
    if was.inventory.built and new.inventory.built:
        from nodelint.plan.overlay_files import find_changed_generators

        yield from find_changed_generators(was, new)
    if was.found.hidden or new.found.hidden:
        from nodelint.plan.changed_hidden import find_changed_hidden

        yield from (gap for gap in find_changed_hidden(was, new) if gap.subject not in unread_texts)
    uses = list(_find_changed_uses(was, new))
    yield from uses
    named = {use.path for use in uses}
    yield from (gap for gap in _find_changed_releases(was, new) if gap.path not in named)


def _find_changed_texts(was: Read, new: Read, has_objects: bool) -> Iterator[tuple[str, Gap]]:
    """Yield the unread texts and programs that contain objects, each with its path below the side's root."""
    before, after = (_list_texts(side) for side in (was, new))
    for place in dict.fromkeys((*after, *before)):
        kind, path = after.get(place) or before[place]
        texts = [read_text(side, place) for side in (was, new)]
        changed = texts[0] != texts[1] or _list_sourced(was, place) != _list_sourced(new, place)
        changed = changed or _read_settings(was, place) != _read_settings(new, place)
        changed = changed or (not place.endswith(_SCRIPTS) and has_changed_import(was, new, place))
        data = None if changed or place.endswith(_SCRIPTS) else find_changed_data(was, new, place)
        if changed or data is not None or not has_objects:
            source = Source(path, texts[1] or texts[0] or "")
            reason = f"the {kind} holds NodePools or EC2NodeClasses, which are not read"
            reason += f"; it may read {data}, which changes" if data is not None else ""
            yield place, uncompared(Span(source, 0, 0), place, reason, changed or data is not None)


def _list_sourced(side: Read, place: str) -> list[str]:
    """Return the lines of files that a script sources (`source`, `.`) and that set a variable which the
    script uses.
    """
    text = read_text(side, place) or ""
    names = [name for name in _SOURCED.findall(text) if name]
    if not names:
        return []
    used = list_variables(text, 0, len(text))
    found = []
    for name in names:
        below = _FOLDER_OF_SCRIPT.sub("", name)
        for folder in dict.fromkeys((os.path.dirname(place), "")):
            lines = (read_text(side, os.path.normpath(os.path.join(folder, below))) or "").splitlines()
            found += [line.strip() for line in lines if (sets := _SETS.match(line)) and sets[1] in used]
    return found


def _read_settings(side: Read, place: str) -> dict[str, str | None]:
    """Return the settings of a program (of Pulumi or the CDK) in its folder and the folders above, by their path."""
    found: dict[str, str | None] = {}
    folder = place if not place.endswith(_SCRIPTS) else ""
    while folder:
        folder = os.path.dirname(folder)
        names = gate.names(os.path.join(side.root, folder))
        paths = [os.path.join(folder, name) for name in names if _SETTINGS.fullmatch(name)]
        found |= {path: read_text(side, path) for path in paths}
    return found


def _list_texts(side: Read) -> dict[str, tuple[str, str]]:
    """Return the kind and path of each unread text or program that contains objects, by its path below the side's
    root.
    """
    found = {}
    for group in unread(side.found, built=side.inventory.built):
        for path in group.files if group.kind not in _RENDERED else ():
            place = path_below(path, side.root).replace(os.sep, "/")
            if not _OF_TESTS.search(place):
                found[place] = group.kind, path
    return found


def read_text(side: Read, place: str) -> str | None:
    """Return the text of a file by its place below the side's root; None if it cannot be read."""
    try:
        return gate.read(os.path.join(side.root, place), _LARGEST, within=side.root).decode(errors="replace")
    except OSError:
        return None


def _find_changed_bases(was: Read, new: Read) -> Iterator[Gap]:
    """Yield the overlays whose remote bases differ between the two sides."""
    before, after = (_list_bases(side) for side in (was, new))
    for place in sorted(before.keys() & after.keys()):
        old, now = before[place], after[place]
        changed = [address for address in now if address not in old] or [a for a in old if a not in now]
        if changed:
            bases = now if changed[0] in now else old
            reason = f"the base {changed[0]} is not here: what it makes of pools and classes is not known"
            yield uncompared(bases[changed[0]], os.path.basename(os.path.dirname(place)) or place, reason, True)


def _list_bases(side: Read) -> dict[str, dict[str, Span]]:
    """Return the URLs of the remote bases of each overlay that concerns Karpenter, by the path of its
    kustomization.
    """
    found = {}
    for path in side.found.seen:
        if os.path.basename(path) not in TABLE.names:
            continue
        text = read_text(side, path_below(path, side.root))
        if text is not None and _CONCERNS.search(text):
            source = Source(path, text)
            bases = {at[1]: Span(source, at.start(1), at.end(1)) for at in _REMOTE.finditer(text)}
            found[path_below(path, side.root)] = {a: at for a, at in bases.items() if not _OF_KARPENTER.search(a)}
    return found


def _find_changed_uses(was: Read, new: Read) -> Iterator[Gap]:
    """Yield the uses of remote modules and charts that may contain pools, if an input differs."""
    before, after = (_list_uses(side) for side in (was, new))
    # A gap in a file that was read counts as changed if its file differs.
    reported = {gap.path for side in (was, new) for gap in side.inventory.gaps if gap.what in ("values", "module")}
    reported &= {source.path for side in (was, new) for source in side.found.sources}
    for key in dict.fromkeys((*after, *before)):
        old, now = before.get(key), after.get(key)
        use = now or old
        assert use is not None
        changed = list_changed_inputs(old.inputs if old else (), now.inputs if now else ())
        for found in [given for given in changed if given.at.source.path not in reported][:1]:
            yield uncompared(found.at, use.name, use.reason.format(found.name), True)


def _list_uses(side: Read) -> dict[tuple[str, str, int], RemoteUse]:
    """Return the uses of remote modules and charts that may contain pools, by path, name and number."""
    found: dict[tuple[str, str, int], RemoteUse] = {}
    counts: Counter[tuple[str, str]] = Counter()
    units = _read_units(side)
    installing = _read_installing(side)
    has_components = any('component "' in unit.text for unit in units)  # they are searched for the modules they call
    for row in reversed(TABLE.rows):
        is_every = has_components and row.heads
        sources = [s for s in (*side.found.sources, *installing) if is_every or row.may_use_elsewhere(s.text)]
        sources += units if row.heads and row.uses else []
        for use in row.load().list_remote_uses(sources) if sources else ():
            key = path_below(use.place or os.curdir, side.root), use.name
            found[(*key, counts[key])] = use
            counts[key] += 1
    return found


def _read_installing(side: Read) -> list[Source]:
    """Return the files that may install charts and do not name Karpenter."""
    from nodelint.forms.lib.values import read

    have = {os.path.abspath(source.path) for source in side.found.sources}
    paths = (path for path in side.found.installing if os.path.abspath(path) not in have)
    return [source for path in paths if (source := read(path)) is not None]


def _read_units(side: Read) -> list[Source]:
    """Return the Terragrunt files (`.hcl`) of a side whose `terraform` block concerns Karpenter, the `.hcl` files
    that name one of them, and the files with components of Terraform Stacks.

    Runs do not read these files for objects.
    """
    have = {source.path for source in side.found.sources}
    paths = [p for p in (*side.found.glanced, *side.found.seen) if p.endswith(".hcl") and p not in have]
    texts: dict[str, str] = {}
    for path in paths:
        try:
            texts[path] = gate.read_listed(path).decode(errors="replace")
        except OSError:
            continue
    found = [path for path, text in texts.items() if "terraform {" in text and _CONCERNS.search(text)]
    found += [path for path, text in texts.items() if path not in found and 'component "' in text]
    names = [os.path.basename(path) for path in found]
    found += [p for p, text in texts.items() if p not in found and any(name in text for name in names)]
    return [Source(path, texts[path]) for path in found]


def _find_changed_releases(was: Read, new: Read) -> Iterator[Gap]:
    """Yield the objects that pass values with pools or classes to a remote chart, if these values differ."""
    before, after = (_list_releases(side) for side in (was, new))
    for place in dict.fromkeys((*after, *before)):
        old, now = before.get(place), after.get(place)
        if (old and old.text) != (now and now.text):
            found = now or old
            assert found is not None
            yield uncompared(found.at, found.name, CHART_ELSEWHERE, True)


def _list_releases(side: Read) -> dict[tuple[str, str], InputText]:
    """Return the objects that pass values with pools or classes to a remote chart, each with its values as an input.

    The keys are the path of the file below the side's root, and the kind and name of the object.
    """
    taken = {part for built in side.inventory.built for part in built.parts}
    found: dict[tuple[str, str], InputText] = {}
    for source in side.found.sources:
        if os.path.abspath(source.path) in taken:
            continue
        for obj in objects(source, more=True):
            root = obj.document.root
            if obj.of_values and root is not None and root.get("apiVersion") is not None:
                from nodelint.forms.lib.unread_inputs import list_what_is_applied

                name = f"{text_of(root.get('kind'))} {text_of(root.find('metadata', 'name'))}"
                text = list_what_is_applied(root.get("spec") or root)
                found[path_below(source.path, side.root), name] = InputText(name, text, span_of(obj.name_node))
    return found
