"""The verdict of `nodelint explain`: how many instance types a NodePool can launch, or why none.

The text and the HTML page print it; JSON lists the instance types that it counts.
"""

from __future__ import annotations

from collections.abc import Iterator

from nodelint.karpenter.launch_faults import find_launch_fault
from nodelint.karpenter.resolve.effects import LineEffect
from nodelint.karpenter.resolve.readiness import (
    find_launched_types,
    launch_steps,
    unmet_by_cheapest,
)
from nodelint.karpenter.resolve.resolution import Resolution
from nodelint.model.messages import short
from nodelint.model.providers import providers_key
from nodelint.report.explain_types import rare_types
from nodelint.report.style import wrap


def line_words(line: LineEffect, resolution: Resolution, tell_labels: bool) -> str:
    """Return a requirement or a label of the template in words; `tell_labels` names labels as such."""
    key = providers_key(line.key, resolution.pool.provider)
    words = [key, line.operator]
    if line.values:
        words.append(", ".join(value if value else '""' for value in line.values))
    if line.min_values is not None:
        words.append(f"(minValues {line.min_values})")
    if tell_labels and line.is_label:
        return f"{key}={line.values[0]} (label of the template)"
    return " ".join(words)


def explain_not_launched(resolution: Resolution) -> str | None:
    """Return why the pool or its class launches nothing as written. None if there is no such reason."""
    found = find_launch_fault(resolution.pool, resolution.node_class, resolution.version)
    return None if found is None else f"{found[0].label}: {found[1].message}"


def _say_never(resolution: Resolution, total: str, width: int) -> Iterator[str]:
    """Yield why nothing is launched in any account. Empty if a type meets the requirements and has an image."""
    launchable, candidates = len(resolution.launchable), len(resolution.candidates)
    why, newer = explain_not_launched(resolution), resolution.perhaps_newer
    if why is not None:
        yield from wrap(f"=> nothing is launched with {why}", width, "")
        ready = len(find_launched_types(resolution))
        if ready:  # with no type, the fault itself may be the reason
            yield from wrap(f"without this, {ready:,} of {total} could be launched", width, "   ")
    elif not candidates and newer is not None:
        yield from wrap(f"=> not known: none of {total} meets the requirements; {newer.reason}", width, "")
    elif not candidates and (excluded := resolution.class_exclusion) is not None:
        words = f"{len(excluded.types):,} of {total} would fit, but the class excludes them"
        yield from wrap(f"=> none is launched: {words} ({excluded.reason})", width, "")
    elif not candidates:
        yield f"=> none of {total} meets the requirements"
        yield from _why_none(resolution, width)
    elif not launchable:
        words = f"=> none can be launched: {candidates:,} meet the requirements, but have no image"
        yield from wrap(words, width, "")


def verdict(resolution: Resolution, width: int) -> Iterator[str]:
    """Yield the lines that say how many instance types can be launched, or why none can."""
    most = "" if resolution.complete else "at most "
    total = f"{len(resolution.catalog):,} instance types"
    never = list(_say_never(resolution, total, width))
    if never:
        yield from never
        return
    ready = len(find_launched_types(resolution))
    yield from wrap(_say_launchable(resolution, ready, most, total), width, "")
    rare = _rare(resolution)
    if 0 < rare < ready:
        verb = "is" if rare == 1 else "are"
        words = f"{rare:,} of them (GPU, accelerator or bare metal) {verb} tried only when nothing else is available"
        yield from wrap(words, width, "   ")


def _say_launchable(resolution: Resolution, ready: int, most: str, total: str) -> str:
    """Return how many matching types can be launched, or why none can."""
    launchable = len(resolution.launchable)
    relaxed = resolution.min_values_relaxed
    unmet = [least for least in resolution.min_values if not least.met and not relaxed]
    most_tried = resolution.most_launched
    if resolution.zones is not None and not resolution.zones:
        return f"=> none is launched: the class finds no subnet ({launchable:,} of {total} would fit)"
    if unmet:
        return (
            f"=> none is launched: {launchable:,} of {total} would fit, but minValues requires more different values"
        )
    if unmet_by_cheapest(resolution) and not relaxed:
        why = f"minValues requires more different values than the cheapest {most_tried} have"
        return f"=> none is launched: {launchable:,} of {total} would fit, but {why}"
    steps = launch_steps(resolution)
    if not ready:
        why = steps[-1].words
        return f"=> none is launched: {launchable:,} of {total} would fit, but this excludes the last of them: {why}"
    removed: dict[str, int] = {}
    for step in steps:
        removed[step.why] = removed.get(step.why, 0) + len(step.removed)
    more = ", ".join(f"{count:,} more {why}" for why, count in removed.items())
    return f"=> {most}{ready:,} of {total} can be launched{f'; {more}' if more else ''}"


def _why_none(resolution: Resolution, width: int) -> Iterator[str]:
    for line in resolution.dead_lines:
        yield from wrap(f"no type meets {short_words(line, resolution)}", width, "   ")
    if resolution.clash is not None:
        first, second = resolution.clash
        both = " and ".join(short_words(line, resolution) for line in (first, second))
        yield from wrap(f"no type meets both {both}", width, "   ")
    for line in resolution.lines:
        if line.removed_alone > 0:
            yield from wrap(
                f"{line.removed_alone:,} would remain without {short_words(line, resolution)}", width, "   "
            )


def short_words(line: LineEffect, resolution: Resolution) -> str:
    """Return a requirement or a label in at most 70 characters, as code."""
    return f"`{short(line_words(line, resolution, True), 70)}`"


def _rare(resolution: Resolution) -> int:
    """Return how many launchable types Karpenter tries only if nothing else is available; 0 if minValues are set."""
    if any(requirement.min_values is not None for requirement in resolution.folded):
        return 0
    return len(find_launched_types(resolution) & rare_types(resolution.catalog))
