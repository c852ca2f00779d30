"""How a run reads and judges files: the form of each file, the release and the line that states it, and the
settings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from nodelint.base.printable import printable
from nodelint.base.types import TYPE_CHECKING
from nodelint.config.settings import Settings
from nodelint.lint.engine import Target
from nodelint.model.finding import find_object_place, shown_label
from nodelint.model.manifest import Object
from nodelint.model.releases import OLDEST
from nodelint.report.style import TextStyle, wrap
from nodelint.text import SourceText

if TYPE_CHECKING:
    from nodelint.releases.release_choice import Chosen

_NAMED, _NEWEST = "as a flag or the configuration says", "the newest known: no file states one"
_HOSTS = {
    "terraform": "a heredoc of Terraform",
    "hcl": "an object of Terraform",
    "shell": "a heredoc of a script",
    "markdown": "a code block",
    "block": "a text inside another object",
}


def file_lines(
    objects: Sequence[Object],
    target: Target,
    named: bool,
    context: Sequence[SourceText],
    left: Sequence[str],
    look: TextStyle,
) -> Iterator[str]:
    """Yield each file with its form, its objects, and the release for which each object is judged.

    `named` says that a flag or the configuration sets the release. `context` are files that are read only for facts
    about others. `left` are lines about files that are not read.
    """
    of_file: dict[str, list[Object]] = {}
    for obj in objects:
        of_file.setdefault(obj.source.path, []).append(obj)
    for path in sorted(of_file):
        found = of_file[path]
        yield look.style(printable(path), bold=True) + f": {_describe_form(found[0])}"
        targets = dict.fromkeys(_describe_target(target, obj, named) for obj in found)
        if len(targets) == 1:
            yield from wrap(next(iter(targets)), look.width, "  ", "    ")
        lines: dict[str, None] = {}
        for obj in found:
            name = f"{obj.kind}/{obj.name}" if isinstance(obj.name, str) else obj.kind
            target_text = f", {_describe_target(target, obj, named)}" if len(targets) > 1 else ""
            lines[f"{_describe_place(obj)}: {name}{_describe_values(obj)}{target_text}"] = None
        for line in lines:
            yield from wrap(line, look.width, "  ", "      ")
    context_paths = sorted({source.path for source in context} - set(of_file))
    if context_paths:
        yield ""
        yield look.style("Read for what they say of the files above:", bold=True)
        yield from (f"  {printable(path)}" for path in context_paths)
    if left:
        yield ""
        yield look.style("Not read:", bold=True)
        for line in left:
            yield from wrap(line.removeprefix("Not read: "), look.width, "  ", "    ")


def _describe_place(obj: Object) -> str:
    """Return the line of an object; for a rendered object the line of its template or base."""
    if obj.source.built is None:
        return f"line {obj.source.position(obj.node.start).line}"
    path, line = find_object_place(obj)
    return f"line {line}" if path == obj.source.path else f"{printable(path)}:{line}"


def _describe_values(obj: Object) -> str:
    """Return the values files of an object, such as ` with values-prod.yaml`; empty if there are none."""
    label = shown_label(obj.source)
    return f" with {printable(label)}" if label and label != obj.source.path else ""


def _describe_form(obj: Object) -> str:
    """Return the form in which a file is read, from one of its objects."""
    source, host = obj.source, obj.document.host
    if source.built is not None:
        return "rendered"
    if host is not None:
        return _HOSTS.get(host, host)
    if obj.of_values:
        return "values of a chart that makes NodePools and classes of them"
    if source.masked:
        return "a template, read with the code in it masked"
    if obj.partial:
        return "a patch: fields that it lacks are not missed"
    return "JSON" if source.path.endswith(".json") else "YAML"


def _describe_target(target: Target, obj: Object, named: bool) -> str:
    chosen = target.choose(obj) if target.choose is not None else None
    if chosen is None:
        kubernetes = f", Kubernetes {target.kubernetes}" if target.kubernetes is not None else ""
        return f"for Karpenter {target.karpenter}, {_NAMED if named else _NEWEST}{kubernetes}"
    if isinstance(chosen, str):
        return f"not judged: {chosen}"
    return "; ".join(map(_describe_choice, chosen))


def _describe_choice(chosen: Chosen) -> str:
    text = f"for Karpenter {chosen.karpenter}, {_describe_evidence(chosen)}"
    if chosen.kubernetes is None:
        return text
    line = chosen.kubernetes_from
    return f"{text}; Kubernetes {chosen.kubernetes}" + (f", by {line.place} ({line.by})" if line is not None else "")


def _describe_evidence(chosen: Chosen) -> str:
    evidence = chosen.karpenter_from
    if chosen.not_known is not None:
        return f"for {chosen.not_known.place} ({chosen.not_known.by}) states a release that nodelint cannot resolve"
    if evidence is not None and evidence.karpenter < OLDEST:
        return f"for {evidence.place} ({evidence.by}) states {evidence.version}, which is older than nodelint knows"
    if evidence is not None:
        return f"by {evidence.place} ({evidence.by})"
    return _NEWEST if chosen.assumed else _NAMED


def setting_lines(settings: Settings, path: str | None, flags: Sequence[str], look: TextStyle) -> Iterator[str]:
    """Yield each setting with its value, and mark those with their default value."""
    yield f"Configuration: {printable(path) if path else 'none; nodelint.yaml or [tool.nodelint] of pyproject.toml'}"
    if flags:
        yield f"Flags: {', '.join(f'--{flag}' for flag in flags)}"
    yield ""
    defaults = Settings()
    for name in Settings._fields:
        value = getattr(settings, name)
        if name in _INTERNAL:
            continue
        changed = value != getattr(defaults, name)
        shown = _describe_value(name, value, settings)
        line = f"{_KEYS.get(name, name.replace('_', '-'))}: {shown}"
        yield look.style(line, bold=True) if changed else f"{line} (default)"


_KEYS = {
    "release": "karpenter-version",
    "kubernetes": "kubernetes-version",
    "per_path": "per-path-ignores",
    "options": "rules, their thresholds",
    "rules": "rules, folders of them",
}
"""Settings whose name in the configuration is another one."""

_INTERNAL = (
    "places",
    "karpenter_named",
    "karpenter_range",
    "bounds",
    "root",
    "exclude_root",
    "include_root",
    "seen_as",
)


def _describe_value(name: str, value: object, settings: Settings) -> str:
    if name == "release":
        if settings.karpenter_range:
            return ", ".join(map(str, settings.karpenter_range))
        return str(value) if settings.karpenter_named else "what files state, else the newest known"
    if name == "kubernetes" and value is None:
        return "what files state"
    if name == "policies":
        return ", ".join(str(policy.name) for policy, _ in settings.policies) or "none"
    if name == "per_path_versions":
        return ", ".join(settings.per_path_versions) or "none"
    if isinstance(value, (frozenset, tuple)):
        return printable(", ".join(map(str, sorted(value)))) or "none"
    if isinstance(value, Mapping):
        pairs = [f"{key}: {', '.join(map(str, sorted(item)))}" for key, item in value.items()]
        return printable("; ".join(pairs)) or "none"
    if value is None or isinstance(value, bool):
        return "none" if value is None else "yes" if value else "no"
    return printable(str(value))
