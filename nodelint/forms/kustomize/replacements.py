"""Apply replacements: copy a value of one object into fields of other objects."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.forms.kustomize.errors import BuildError
from nodelint.forms.kustomize.resources import Id, Resource, fits_labels, has_match, is_cluster_wide
from nodelint.forms.kustomize.values import YamlTree, new_text, read_json, resolve_scalar
from nodelint.text import Node

if TYPE_CHECKING:
    from nodelint.base.budget import WorkBudget
    from nodelint.forms.kustomize.configuration import Kustomization
    from nodelint.forms.kustomize.run import OverlayRun

_DEEPEST = 100
"""The most parts of a path: more than any object has levels."""
_ANNOTATIONS = "metadata.annotations."
_BESIDE_ID = ("spec.", _ANNOTATIONS)
"""The beginning of paths that do not change the id of an object."""
_DIGITS = 10
"""A number of digits that no index of an item has."""
_ELEMENT = re.compile(r"\[([^=\]]*)=(.*)\]")


def apply_replacements(run: OverlayRun, resources: list[Resource], kustomization: Kustomization) -> None:
    """Apply all replacements of a kustomization, also those in files. Raise `BuildError`, OSError."""
    for resource in (*resources, *run.generated.values()):
        resource.forget_ids()
    for item in kustomization.items("replacements"):
        for replacement in _unfold(run, kustomization, item):
            _apply(run, resources, replacement)


def _unfold(run: OverlayRun, kustomization: Kustomization, item: YamlTree) -> Iterator[YamlTree]:
    path = item.text("path")
    if not path:
        yield item
        return
    full = run.resolve(kustomization, path, item.at)
    if not run.files.is_file(full):
        raise BuildError(item.at, f"there is no file `{path}`")
    roots = [root for root, _ in run.files.read_roots(full)]
    run.take(full, roots)
    for root in roots:
        value = read_json(root)
        yield from value.items if value.kind == "sequence" else [value]


def _apply(run: OverlayRun, resources: list[Resource], replacement: YamlTree) -> None:
    source, literal, targets = replacement.get("source"), replacement.get("sourceValue"), replacement.get("targets")
    at = replacement.at
    if targets is None or targets.kind != "sequence" or (source is None) == (literal is None):
        raise BuildError(at, "a replacement has `targets`, and one of `source` and `sourceValue`")
    if literal is not None:
        value, origin = new_text(literal.as_text(), literal.at), None
        value.raw = literal.as_text()
        value.value = resolve_scalar(value.raw)
    else:
        assert source is not None
        origin = _find_source(run, resources, source)
        value = _read_source(origin, source)
    for target in targets.items:
        _apply_to(run, resources, target, value, origin)


def _find_source(run: OverlayRun, resources: list[Resource], source: YamlTree) -> Resource:
    there = (*resources, *run.generated.values())
    run.budget.spend(len(there))
    found = [
        resource for resource in there if any(_is_selected(identity, source) for identity in resource.known_ids())
    ]
    if len(found) == 1:
        if found[0].doubtful:
            raise BuildError(source.at, "what a patch made of the object is not known", fails=False)
        return found[0]
    what = "more than one object is" if found else "no object is"
    raise BuildError(source.at, f"{what} the source of the replacement", fails=not run.is_incomplete)


def _is_selected(identity: Id, selector: YamlTree) -> bool:
    """Return whether a selector selects an object, field by field."""
    for field in ("group", "version", "kind", "name"):
        wanted = selector.text(field)
        if wanted and wanted != getattr(identity, field):
            return False
    namespace = selector.text("namespace")
    if namespace and is_cluster_wide(selector.text("group"), selector.text("kind")):
        namespace = "_cluster"
    return not namespace or namespace == identity.namespace


def _read_source(resource: Resource, source: YamlTree) -> YamlTree:
    path = split_path(source.text("fieldPath") or "metadata.name")
    found = look_up(resource.value, path)
    if found is None or found.is_null or (found.kind != "scalar" and not (found.items or found.fields)):
        raise BuildError(source.at, f"`{'.'.join(path)}` is missing in the source of the replacement")
    value = found.copy()
    for tree in value.walk():
        tree.exact = False
    options = source.get("options")
    delimiter = options.text("delimiter") if options is not None else ""
    if delimiter and options is not None:
        parts = value.as_text().split(delimiter)
        index = _index(options)
        if value.kind != "scalar" or not 0 <= index < len(parts):
            raise BuildError(options.at, f"the value has no part {index}")
        value.value = parts[index]
        value.raw = None
    return value


def _index(options: YamlTree) -> int:
    found = options.get("index")
    return found.value if found is not None and isinstance(found.value, int) else 0


def _apply_to(
    run: OverlayRun, resources: list[Resource], target: YamlTree, value: YamlTree, origin: Resource | None
) -> None:
    selector = target.get("select")
    if selector is None:
        raise BuildError(target.at, "the target of a replacement needs `select`")
    paths = target.get("fieldPaths")
    listed = [path.as_text() for path in paths.items] if paths is not None else []
    rejected = target.get("reject")
    rejects = rejected.items if rejected is not None else []
    run.budget.spend(len(resources) * (1 + len(rejects)))
    for resource in resources:
        ids = resource.known_ids()
        if not any(_is_selected(resource_id, selector) for resource_id in ids) or not _fits_labels(
            resource, selector
        ):
            continue
        if any(_rejects(resource, ids, reject) for reject in rejects):
            continue
        resource.is_of_karpenter = resource.is_of_karpenter or (origin is not None and origin.is_of_karpenter)
        for path in listed or ["metadata.name"]:
            _copy_to(run, resource, path, value, target)
            if not path.startswith(_BESIDE_ID):
                resource.forget_ids()


def _fits_labels(resource: Resource, selector: YamlTree) -> bool:
    labels, annotations = selector.text("labelSelector"), selector.text("annotationSelector")
    return (not labels or fits_labels(labels, resource.value.get("metadata", "labels"), selector.at)) and (
        not annotations or fits_labels(annotations, resource.value.get("metadata", "annotations"), selector.at)
    )


def _rejects(resource: Resource, ids: list[Id], reject: YamlTree) -> bool:
    by_label = bool(reject.text("labelSelector") or reject.text("annotationSelector"))
    if by_label and _fits_labels(resource, reject):
        return True
    named = any(reject.text(field) for field in ("group", "version", "kind", "name", "namespace"))
    return named and any(_is_selected(resource_id, reject) for resource_id in ids)


def _copy_to(run: OverlayRun, resource: Resource, path: str, value: YamlTree, target: YamlTree) -> None:
    options, at = target.get("options"), target.at
    size = sum(1 for _ in value.walk())
    create = options is not None and (made := options.get("create")) is not None and made.value is True
    how = _Search(value.kind if create else "", at, run.budget)
    slots = list(_find_slots(resource.value, split_path(path), how))
    if not slots:
        raise BuildError(at, f"the target of the replacement has no field `{path}`")
    for there, put in slots:
        run.budget.spend(size)
        new = _new_value(there, value, options, at, path.startswith(_ANNOTATIONS))
        if new.kind == "scalar":
            run.budget.spend(0, len(new.as_text()))
        if there is not None and there.kind == "scalar" == new.kind:
            there.become(new)
        else:
            put(new)


Put = Callable[[YamlTree], None]


def _new_value(
    there: YamlTree | None,
    value: YamlTree,
    options: YamlTree | None,
    at: Node | None,
    is_annotation: bool,
) -> YamlTree:
    """Return the new value of a field. A scalar keeps its old type."""
    delimiter = options.text("delimiter") if options is not None else ""
    made = value.copy()
    if delimiter and options is not None:
        if there is not None and there.kind != "scalar":
            raise BuildError(at, "only a scalar can be put together from parts")
        if value.kind != "scalar":
            raise BuildError(at, "a mapping or a list is put together with a text", fails=False)
        parts = there.as_text().split(delimiter) if there is not None else [""]
        index = _index(options)
        if index < 0:
            parts.insert(0, value.as_text())
        elif index >= len(parts):
            parts.append(value.as_text())
        else:
            parts[index] = value.as_text()
        made = new_text(delimiter.join(parts), value.at)
        made.raw = made.as_text()
        made.value = resolve_scalar(made.raw)
    if there is not None and there.kind != "scalar":
        return made
    if made.kind != "scalar":
        raise BuildError(at, "a mapping or a list takes the place of a scalar", fails=False)
    text = made.as_text()
    if there is None:
        made.value, made.raw = resolve_scalar(text), text
        made.loose, made.quoted = not isinstance(made.value, str), False
        return made
    made.quoted = there.quoted
    if isinstance(there.value, str) and there.raw is None:
        made.value, made.raw = text, None
        return made
    made.value, made.raw = resolve_scalar(text), text
    if there.is_null:
        raise BuildError(at, "a field that is null is replaced", fails=False)
    if type(made.value) is not type(there.value):
        wanted = "true or false" if isinstance(there.value, bool) else "a number"
        fails = not isinstance(there.value, float) and not is_annotation
        raise BuildError(at, f"`{text[:60]}` is put in the place of {wanted}", fails)
    return made


def split_path(path: str) -> list[str]:
    """Return the steps of a path, whose parts are separated by dots or in brackets."""
    joined: list[str] = []
    parts = path.split(".")
    for part in parts[1:] if len(parts) > 1 and not parts[0] else parts:
        if joined and joined[-1].endswith("\\"):
            joined[-1] = joined[-1][:-1] + "." + part
        else:
            joined.append(part)
    steps: list[str] = []
    pending: list[str] = []
    for part in joined:
        if pending or (part.startswith("[") and not part.endswith("]")):
            pending.append(part)
            if part.endswith("]"):
                steps.append(_bracketed(".".join(pending)))
                pending = []
        else:
            steps.append(part)
    return [*steps, *([_bracketed(".".join(pending))] if pending else [])]


def _bracketed(text: str) -> str:
    return text if "=" in text else text.strip("[]")


def look_up(value: YamlTree, path: list[str]) -> YamlTree | None:
    """Return the value at the end of a path. None if there is none."""
    for step in (step.strip() for step in path if step.strip()):
        found: YamlTree | None = None
        if value.kind == "sequence":
            if step == "-":
                found = value.items[-1] if value.items else None
            elif _is_index(step):
                found = value.items[int(step)] if int(step) < len(value.items) else None
            elif (element := _ELEMENT.fullmatch(step)) is not None:
                found = next((item for item in value.items if _field_equals(item, element[1], element[2])), None)
        elif value.kind == "mapping":
            found = value.get(step)
        if found is None:
            return None
        value = found
    return value


def _field_equals(item: YamlTree, field: str, text: str) -> bool:
    found = item.get(field) if field else item
    return found is not None and found.kind == "scalar" and found.as_text() == text


class _Search(NamedTuple):
    """The options of a search for fields.

    - `create`: the kind of value to create if a field is missing; empty to create nothing.
    - `at`: the place to report.
    - `budget`: the budget for its steps.
    """

    create: str
    at: Node | None
    budget: WorkBudget


def _is_index(step: str) -> bool:
    return step.isascii() and step.isdigit() and len(step) < _DIGITS


def _find_slots(value: YamlTree, path: list[str], how: _Search) -> Iterator[tuple[YamlTree | None, Put]]:
    """Yield the fields to which a path leads: the current value, and a function that sets another one."""
    if len(path) > _DEEPEST:
        raise BuildError(how.at, f"the path has more than {_DEEPEST} parts")
    step, rest = path[0], path[1:]
    if _is_index(step) or _ELEMENT.fullmatch(step) is not None or step == "*":
        yield from _find_items(value, step, rest, how)
        return
    if value.kind != "mapping":
        raise BuildError(how.at, f"`{step}` is asked of what is no mapping")
    there = value.get(step)
    if there is None and not how.create:
        return
    if not rest:
        yield there, lambda new: value.put(step, new)
        return
    if there is None or (there.is_null and how.create):
        there = _new_holder(rest[0])
        value.put(step, there)
    yield from _find_slots(there, rest, how)


def _new_holder(step: str) -> YamlTree:
    return YamlTree("sequence" if _is_index(step) or _ELEMENT.fullmatch(step) else "mapping")


def _find_items(value: YamlTree, step: str, rest: list[str], how: _Search) -> Iterator[tuple[YamlTree | None, Put]]:
    if value.kind == "mapping" and step == "*":
        raise BuildError(how.at, "`*` is asked of what is no list")
    if value.kind != "sequence":
        raise BuildError(how.at, f"`{step}` is asked of what is no list")
    if _is_index(step):
        index = int(step)
        if index == len(value.items) and how.create:
            value.items.append(_new_holder(rest[0]) if rest else YamlTree("scalar"))
            yield from _enter(value, index, rest, how, is_new=not rest)
            return
        if index >= len(value.items):
            raise BuildError(how.at, f"the list has no item {index}")
        chosen = [index]
    elif step == "*":
        chosen = list(range(len(value.items)))
    else:
        chosen = list(_find_elements(value, step, how))
        if not chosen and how.create:
            element = _ELEMENT.fullmatch(step)
            assert element is not None
            value.items.append(_new_element(element[1], element[2], how.at))
            chosen = [len(value.items) - 1]
    for index in chosen:
        yield from _enter(value, index, rest, how)


def _find_elements(value: YamlTree, step: str, how: _Search) -> Iterator[int]:
    """Yield the indices of the items that a step such as `[name=web]` selects."""
    element = _ELEMENT.fullmatch(step)
    assert element is not None
    for n, item in enumerate(value.items):
        found = item.get(element[1]) if element[1] else item
        if (
            found is not None
            and found.kind == "scalar"
            and has_match(element[2], found.as_text(), how.at, how.budget)
        ):
            yield n


def _new_element(field: str, text: str, at: Node | None) -> YamlTree:
    scalar = new_text(text, at)
    if not field:
        return scalar
    made = YamlTree("mapping", at)
    made.put(field, scalar)
    return made


def _enter(
    value: YamlTree, index: int, rest: list[str], how: _Search, is_new: bool = False
) -> Iterator[tuple[YamlTree | None, Put]]:
    def put(new: YamlTree) -> None:
        value.items[index] = new

    if rest:
        yield from _find_slots(value.items[index], rest, how)
    else:
        yield None if is_new else value.items[index], put
