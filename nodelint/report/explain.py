"""The text of `nodelint explain`: how all instance types are narrowed to those that a NodePool can launch."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from nodelint.base.printable import printable_lines
from nodelint.ec2.facts import NOTHING, AwsFacts
from nodelint.ec2.type_set import NONE, union
from nodelint.karpenter.images import Image
from nodelint.karpenter.images import provenance as image_provenance
from nodelint.karpenter.resolve.readiness import launch_steps
from nodelint.karpenter.resolve.resolution import Resolution
from nodelint.model.keys import ARCH
from nodelint.model.messages import counted, list_first, short
from nodelint.model.releases import fixed_for, judged_as
from nodelint.report.environments import group_by_environment
from nodelint.report.explain_facts import age, described, passed_over, why_passed, zones
from nodelint.report.explain_types import min_value_lines, overlay_lines, type_table
from nodelint.report.explain_verdict import line_words, short_words, verdict
from nodelint.report.layout import aside, families, type_count
from nodelint.report.locations import object_place, place_line
from nodelint.report.style import WIDTH, Style, plain, wrap

_PASSED = 10
"""The most skipped images that are shown."""


def explain_text(
    resolutions: Sequence[Resolution],
    facts: AwsFacts = NOTHING,
    *,
    width: int = WIDTH,
    cheapest: int | None = 5,
    style: Style = plain,
) -> str:
    """Return the text of `nodelint explain`. No line is longer than `width`.

    `facts` are those of the resolutions. `cheapest` is the number of cheapest instance types that are shown for each
    pool; None shows all of them with their allocatable resources. `style` adds colours.
    """
    blocks = ["\n".join(_pool(resolution, facts, width, cheapest)) for resolution in resolutions]
    if len(resolutions) > 1:
        blocks.append("\n".join(_order(resolutions, width)))
    text = printable_lines("\n\n\n".join(block for block in blocks if block))
    origins = list(_facts(resolutions[0], facts, width)) if resolutions else []
    if style is not plain:
        text = "\n".join(_coloured(line, style) for line in text.split("\n"))
        origins = [style(line, dim=True) for line in origins]
    return "\n".join([text, "", "", *origins] if origins else [text])


def _coloured(line: str, style: Style) -> str:
    """Return a line of the text with colours for bars, verdicts and titles."""
    bar = re.match(rf"( *[\d,]+  )({_FULL}*)({_EMPTY}*)(  .*)$", line)
    if bar is not None:
        full, empty = bar[2] and style(bar[2], fg="green"), bar[3] and style(bar[3], dim=True)
        return f"{bar[1]}{full}{empty}{bar[4]}"
    if line.startswith("=>"):
        return style(line, bold=True, fg="red" if line.startswith("=> no") else "green")
    return style(line, bold=True) if line[:1].isalpha() else line


def _pool(resolution: Resolution, facts: AwsFacts, width: int, cheapest: int | None) -> Iterator[str]:
    yield from _heading(resolution, width)
    yield ""
    yield from _funnel(resolution, width)
    yield ""
    yield from verdict(resolution, width)
    found = any(image.found is not None for image in resolution.images.images)
    for title, part in (
        ("Images, in the order in which they are tried" if found else "Images", _images(resolution, facts, width)),
        ("Passed over", _passed(resolution, facts, width)),
        ("No image", _gaps(resolution, width)),
        ("Zones", _zones(resolution, width)),
        ("minValues", min_value_lines(resolution, width)),
        ("NodeOverlays", overlay_lines(resolution, width)),
        (_title(cheapest), type_table(resolution, cheapest, width)),
        ("Not known", _unknown(resolution, width)),
        ("Note", _notes(resolution, width)),
    ):
        lines = list(part)
        if lines:
            yield ""
            yield title
            yield from lines


def _title(cheapest: int | None) -> str:
    return "Cheapest on demand" if cheapest is not None else "Instance types, by price on demand"


def _heading(resolution: Resolution, width: int) -> Iterator[str]:
    pool, node_class = resolution.pool, resolution.node_class
    title = f"NodePool {pool.name if isinstance(pool.name, str) else '(name not known)'}"
    if pool.weight is not None:
        title += f"  weight {pool.weight}"
    yield from aside(title, object_place(pool), width)
    yield "=" * width
    if node_class is not None:
        name = node_class.name if isinstance(node_class.name, str) else "(name not known)"
        labels = dict.fromkeys(image.label for image in resolution.images.images)
        alias = resolution.images.alias
        shown = list(labels) or ([f"{alias.family}@{alias.version}"] if alias is not None else [])
        title = f"EC2NodeClass {name}"
        if shown:
            title += f"  {list_first(shown, 1)}"
        yield from aside(title, object_place(node_class), width)
    else:
        kind = "NodeClass" if pool.provider == "auto-mode" else "EC2NodeClass"
        name = f" {pool.class_ref.name}" if pool.foreign and pool.class_ref and pool.class_ref.name else ""
        yield f"{kind}{name}: {resolution.images.unknown[0].reason}"
    kubernetes = f"Kubernetes {resolution.kubernetes}" if resolution.kubernetes else "Kubernetes version not given"
    yield f"{'EKS Auto Mode' if pool.provider == 'auto-mode' else f'Karpenter {resolution.version}'}, {kubernetes}"


def _funnel(resolution: Resolution, width: int) -> Iterator[str]:
    catalog = resolution.catalog
    left = len(catalog)
    labels = any(line.is_label for line in resolution.lines)
    total = left
    yield from _row(left, total, None, "all instance types", width)
    of_places = [reason for _, reason in resolution.places.removed] if resolution.places is not None else []
    for types, reason in resolution.class_removed:
        left -= len(types)
        words = reason if reason in of_places or resolution.pool.foreign else f"the class: {reason}"
        yield from _row(left, total, len(types), words, width)
    for line in resolution.lines:
        judged = line.requirement is not None
        notes = [f"({line.note})"] if line.note is not None else []
        if judged and line.removed_alone:
            what = "label" if line.is_label else "line"
            notes.insert(0, f"drop this {what}: +{counted(line.removed_alone, 'type')}")
        removed = line.removed if judged else None
        yield from _row(
            len(line.after),
            total,
            removed,
            line_words(line, resolution, labels),
            width,
            notes,
        )
    for step in launch_steps(resolution):
        yield from _row(len(step.left), total, len(step.removed), step.words, width)


_FULL, _EMPTY = "█", "·"
_BAR = 10
_LEAST_WITH_BARS = 72
_MOST_LINES = 4


def _row(
    left: int, total: int, removed: int | None, words: str, width: int, notes: Sequence[str] = ()
) -> Iterator[str]:
    """Yield the remaining number with a bar, the number that a line removed, and the line."""
    full = -(-left * _BAR // total) if total else 0
    bar = _FULL * full + _EMPTY * (_BAR - full)
    bar = f"{bar}  " if width >= _LEAST_WITH_BARS else ""
    columns = f"{left:>7,}  {bar}{_change(removed):>6}  "
    below = " " * (len(columns) + 2)
    lines = list(wrap(words, width, columns, below))
    yield from lines[:_MOST_LINES]
    if len(lines) > _MOST_LINES:
        yield f"{below}… and {sum(len(line.split()) for line in lines[_MOST_LINES:]):,} more"
    for note in notes:
        yield from wrap(note, width, below)


def _change(removed: int | None) -> str:
    return f"{-removed:+,}" if removed else ""


def _images(resolution: Resolution, facts: AwsFacts, width: int) -> Iterator[str]:
    images = resolution.images
    if images.images and resolution.candidates and not resolution.pool.foreign:
        several = len({image.label for image in images.known}) > 1
        titles = [_image(image, several or not images.complete) for image in images.images]
        room = max(map(len, titles))
        for image, title, types in zip(images.images, titles, resolution.types_by_image, strict=True):
            if image.known:
                columns = f"  {title:<{room}}  {type_count(types):>11}"
                if types:
                    yield from families(resolution.catalog, types, f"{columns}  ", width)
                else:
                    below = " " * (len(columns) + 2)
                    yield from wrap(_why_unused(image, resolution), width, f"{columns}  ", below)
            else:
                words = f"{type_count(types)} may take it" if types else "known to AWS only"
                yield f"  {title:<{room}}  {words}"
            if image.found is not None:
                yield from wrap(described(image.found, facts.now), width, "    ")
    reasons = {gap.reason for gap in resolution.unlaunchable}
    for problem in images.problems:
        if problem.message not in reasons:
            yield from wrap(problem.message if problem.active else f"later: {problem.message}", width, "  ")


def _why_unused(image: Image, resolution: Resolution) -> str:
    """Return `none`, with the requirement that removed the last types for an image, if there is one."""
    catalog = resolution.catalog
    types = catalog.values(ARCH).get(image.arch or "", NONE)
    devices = {variant: catalog.resources.having(resource) for variant, resource in _DEVICES.items()}
    own = [devices[variant] for variant in image.variants if variant in devices]
    types = types & union(own) if own else types - union(devices.values())
    for line in resolution.lines:
        if types & line.before and not types & line.after:
            return f"none: {short_words(line, resolution)} removed the last of them"
    return "none"


_DEVICES = {"nvidia": "nvidia.com/gpu", "neuron": "aws.amazon.com/neuron"}
"""The resource that instance types have for a variant of an image."""


def _passed(resolution: Resolution, facts: AwsFacts, width: int) -> Iterator[str]:
    passed = passed_over(resolution.images)
    for image in passed[:_PASSED]:
        yield from wrap(f"{image.image.id}  {described(image.image, facts.now)}", width, "  ")
        yield from wrap(why_passed(image, resolution.version), width, "    ")
    if len(passed) > _PASSED:
        yield f"  … and {len(passed) - _PASSED:,} more"


def _zones(resolution: Resolution, width: int) -> Iterator[str]:
    found = zones(resolution)
    if found and resolution.zones is None:
        yield from wrap("the class's subnets are not known: every zone of the region counts", width, "  ")
    rows = [
        (
            zone.name,
            zone.id or "",
            "" if zone.subnets is None else f"{zone.subnets:,} subnet{'' if zone.subnets == 1 else 's'}",
            "" if zone.free is None else f"{zone.free:,} addresses free",
            "" if zone.offered is None else f"offers {zone.offered:,} type{'' if zone.offered == 1 else 's'}",
            f"{zone.left:,} can be launched",
        )
        for zone in found
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            f"{cell:<{room}}" if i < 2 else f"{cell:>{room}}"
            for i, (cell, room) in enumerate(zip(row, widths, strict=True))
        ]
        yield from wrap("  ".join(cell for cell, room in zip(cells, widths, strict=True) if room), width, "  ")


def _image(image: Image, several: bool) -> str:
    what = f"{image.arch} {'/'.join(image.variants)}".rstrip() if image.known else "?"
    if image.found is not None:
        return f"{image.found.id} {what}"
    return f"{what}  {short(image.label, 28)}" if several else what


def _gaps(resolution: Resolution, width: int) -> Iterator[str]:
    for gap in resolution.unlaunchable:
        yield from wrap(f"{type_count(gap.types)}: {gap.reason}", width, "  ")
        if gap.kind != "none":
            yield from families(resolution.catalog, gap.types, "    ", width)
        if gap.since is not None:
            yield from wrap(f"there is one from Karpenter {gap.since} on", width, "    ")
        if gap.aliases and gap.kind == "variant":
            yield from wrap(f"aliases that have one: {', '.join(gap.aliases)}", width, "    ")


def _unknown(resolution: Resolution, width: int) -> Iterator[str]:
    for gap in resolution.unknown:
        yield from wrap(f"{place_line(gap.at)}  {gap.reason}", width, "  ")


def _notes(resolution: Resolution, width: int) -> Iterator[str]:
    for node, note in resolution.notes:
        yield from wrap(f"{place_line(node)}  {note}", width, "  ")
    if resolution.image_mixups.types:
        others = " or ".join(
            _image(resolution.images.images[index], False) for index in resolution.image_mixups.possible
        )
        words = (
            f"Karpenter {resolution.version} can take a node of this pool for one with another image"
            f" ({others}) and then never learns its real memory;"
            f" fixed in {fixed_for('undiscovered-memory', resolution.version)}"
        )
        yield from wrap(words, width, "  ")
    instead = judged_as(resolution.version)
    if instead is not None:
        yield from wrap(
            f"Karpenter {resolution.version} is not known to nodelint: it is judged as {instead}", width, "  "
        )


def _order(resolutions: Sequence[Resolution], width: int) -> Iterator[str]:
    """Yield the pools of each environment in the order in which Karpenter tries them, if their weights differ."""
    orders = []
    for environment, members in group_by_environment(resolutions).items():
        named = [(r.pool.weight or 0, r.pool.name) for r in members if isinstance(r.pool.name, str)]
        if len(named) > 1 and len({weight for weight, _ in named}) > 1:
            names = " > ".join(f"{name} ({weight})" for weight, name in sorted(named, reverse=True))
            orders.append(f"{environment}: {names}" if environment else names)
    if orders:
        yield "Order of trial, by weight"
    for words in orders:
        yield from wrap(words, width, "  ")


def _facts(resolution: Resolution, facts: AwsFacts, width: int) -> Iterator[str]:
    catalog = resolution.catalog
    of_region = age(facts)
    if of_region is not None:
        yield from wrap(f"Facts: {of_region}.", width, "")
    yield from wrap(f"Instance types: {catalog.origin}, {catalog.date}.", width, "")
    region = resolution.prices.region
    used, day = catalog.prices.region_for(region), catalog.prices.date(region)
    if day is not None:
        lacking = f"; none are known of {region}: `nodelint refresh` asks" if used != region else ""
        yield from wrap(f"Prices: on demand in {used}, USD, {day}; yours may differ{lacking}.", width, "")
    origin, date = image_provenance()
    yield from wrap(f"Images: {origin}, {date}.", width, "")
