"""Apply the patches of a kustomization to their targets."""

from __future__ import annotations

from collections.abc import Iterator

from nodelint.base.tuples import NamedTuple
from nodelint.forms.kustomize.configuration import Kustomization
from nodelint.forms.kustomize.errors import BuildError
from nodelint.forms.kustomize.files import PatchText, read_inline
from nodelint.forms.kustomize.json6902 import apply_operations, read_operations
from nodelint.forms.kustomize.merge import DIRECTIVE, Merge, ReplacedList
from nodelint.forms.kustomize.resources import Resource, Selector, find_same, is_native, read_id, read_selector
from nodelint.forms.kustomize.run import OverlayRun
from nodelint.forms.kustomize.values import TreeField, YamlTree, check_name, new_text
from nodelint.forms.rendered import LostItems, UnmatchedPatch
from nodelint.text import Node

_COMPARED = 10
"""The number of items of two lists that are compared in one budget step."""
_SAFE_TO_MERGE = ("ConfigMap", "Secret", "Namespace")


class Patch(NamedTuple):
    """A patch of a kustomization.

    - `at`: its place.
    - `text`: its text.
    - `target`: the selector of the objects to change. None if the patch itself names its object.
    - `target_at`: the place of the selector.
    - `renames`, `changes_kind`: the patch may change the name or the kind of an object.
    """

    at: Node
    text: PatchText
    target: Selector | None
    target_at: Node | None
    renames: bool = False
    changes_kind: bool = False


def read_patches(run: OverlayRun, kustomization: Kustomization) -> Iterator[Patch]:
    """Yield the entries of `patches`. Raise `BuildError`, OSError."""
    for item in kustomization.items("patches"):
        yield _read_entry(run, kustomization, item)


def _read_entry(run: OverlayRun, kustomization: Kustomization, item: YamlTree) -> Patch:
    at = item.at or kustomization.start
    inline, path, target = item.get("patch"), item.text("path"), item.get("target")
    given = inline is not None and isinstance(inline.value, str) and bool(inline.value.strip())
    if given == bool(path):
        raise BuildError(at, "a patch has one of `patch` and `path`")
    options = item.get("options")
    if target is not None and target.is_null:
        target = None
    return Patch(
        at,
        read_inline(inline.at or at)
        if given and inline is not None
        else read_patch_file(run, kustomization, path, at),
        read_selector(target) if target is not None else None,
        target.at if target is not None else None,
        renames=_is_true(options, "allowNameChange"),
        changes_kind=_is_true(options, "allowKindChange"),
    )


def _is_true(options: YamlTree | None, name: str) -> bool:
    found = options.get(name) if options is not None else None
    return found is not None and found.value is True


def read_patch_file(run: OverlayRun, kustomization: Kustomization, path: str, at: Node) -> PatchText:
    """Return the text of a patch file. Raise `BuildError`, OSError."""
    full = run.resolve(kustomization, path, at)
    if not run.files.is_file(full):
        raise BuildError(at, f"there is no file `{path}`")
    source = run.files.read(full)
    roots = run.files.read_roots(full)
    run.take(full, [root for root, _ in roots])
    return PatchText(source, roots, None, None)


def apply_patch(run: OverlayRun, resources: list[Resource], patch: Patch) -> None:
    """Apply an entry of `patches`: a strategic merge patch or JSON6902 operations. Raise `BuildError`."""
    run.budget.spend(patch.text.steps)
    if _is_json(patch.text):
        if patch.target is None:
            raise BuildError(patch.at, "a JSON6902 patch needs a `target`")
        apply_json(run, resources, patch, keeps_id=True)
        return
    patches = patch.text.read_objects()
    if patch.target is None:
        for value in patches:
            apply_by_name(run, resources, value, patch, as_texts=False)
        return
    if len(patches) > 1:
        raise BuildError(patch.at, "a patch with a `target` holds one object")
    selected = _select(run, resources, patch)
    for resource in selected:
        for value in patches:
            _merge(run, resources, resource, value.copy(), patch, as_texts=True)
    check_unique(resources)


def apply_by_name(run: OverlayRun, resources: list[Resource], value: YamlTree, patch: Patch, as_texts: bool) -> None:
    """Apply a strategic merge patch to the object that it names. Raise `BuildError` unless there is exactly one."""
    run.budget.spend(len(resources))
    wanted = read_id(value)
    found = find_same(resources, wanted)
    if len(found) == 1:
        _merge(run, resources, found[0], value, patch, as_texts)
        return
    name = value.get("metadata", "name")
    at = (name.at if name is not None else None) or patch.at
    if found:
        raise BuildError(at, f"there is more than one {wanted.kind} `{wanted.name}` that the patch may be for")
    shown = f"{value.text('apiVersion')} {wanted.kind} `{wanted.name}`"
    if wanted.namespace not in ("default", "_cluster"):
        shown += f" in namespace `{wanted.namespace}`"
    if run.is_incomplete:
        if is_native(wanted.group):
            return
        raise BuildError(at, f"{shown}, which the patch is for, may be among what is not built", fails=False)
    run.unmatched.append(UnmatchedPatch(at, shown, True))
    raise BuildError(at, f"the patch is for {shown}, and the overlay has none")


def apply_json(run: OverlayRun, resources: list[Resource], patch: Patch, keeps_id: bool) -> None:
    """Apply a JSON6902 patch to all objects that its target selects. Raise `BuildError`."""
    text = patch.text
    if (start := _first_character(text)) == "[" and not _is_json_text(text):
        raise BuildError(patch.at, f"what begins with `{start}` must be JSON")
    value = text.read_json()
    if value is None:
        raise BuildError(patch.at, "the patch is empty")
    operations = read_operations(value)
    for resource in _select(run, resources, patch):
        run.budget.spend(text.steps)
        if keeps_id:
            resource.keep_id()
        run.touch(resource, text)
        if not resource.is_json:
            resource.value = resource.value.copy()
            resource.value.become_json()
            resource.is_json = True
        apply_operations(resource.value, operations, run.budget)
        name = resource.value.get("metadata", "name")
        if not resource.value.text("kind") or name is None or not name.as_text():
            raise BuildError(patch.at, "the patch takes kind or name away")


def _select(run: OverlayRun, resources: list[Resource], patch: Patch) -> list[Resource]:
    assert patch.target is not None
    run.budget.spend(len(resources) * patch.target.steps)
    at = patch.target_at or patch.at
    selected = [resource for resource in resources if patch.target.selects(resource, at, run.budget)]
    if not selected and not run.is_incomplete:
        run.unmatched.append(UnmatchedPatch(at, describe_target(patch.target), False))
    return selected


def describe_target(target: Selector) -> str:
    """Return the selector of a patch in words, such as "kind `NodePool`, name `default`"."""
    return ", ".join(f"{name} `{text}`" for name, text in zip(Selector._fields, target, strict=True) if text)


def _merge(
    run: OverlayRun, resources: list[Resource], resource: Resource, value: YamlTree, patch: Patch, as_texts: bool
) -> None:
    run.budget.spend(patch.text.steps)
    run.touch(resource, patch.text)
    resource.is_json = False
    own = resource.value
    if patch.renames or patch.changes_kind:
        resource.keep_id()
    if as_texts:
        value.fields.pop("apiVersion", None)
        for name in ("labels", "annotations"):
            make_texts(value.get("metadata", name))
    if value.text(DIRECTIVE) == "replace":
        return  # kustomize copies the patch, and continues with the unchanged object
    if resource.is_native and own.text("kind") not in _SAFE_TO_MERGE:
        resource.doubtful = True
    named_fields = [
        (path, _field(own, path)) for path in (("kind",), ("metadata", "name"), ("metadata", "namespace"))
    ]
    merge = Merge(keyed=resource.is_native)
    name = resource.id.name
    merged = merge.apply(own, value)
    if merged is None:
        resources.remove(resource)
        return
    for path, field in named_fields:
        allowed = patch.changes_kind if path == ("kind",) else patch.renames if path[-1] == "name" else False
        if not allowed:
            _restore(merged, path, field)
    run.budget.spend(sum(len(new.items) * len(old.items) for _, new, old in merge.replaced) // _COMPARED)
    run.lost += _find_lost(merge.replaced, merged.text("kind"), name)


def make_texts(values: YamlTree | None) -> None:
    """Convert all values of a mapping to strings, as kustomize does with labels and annotations."""
    if values is None or values.kind != "mapping":
        return
    for name, field in values.fields.items():
        value = field.value
        if name != DIRECTIVE:
            check_name(name, field.key)
        if name != DIRECTIVE and value.kind == "scalar" and not (isinstance(value.value, str) and value.raw is None):
            values.fields[name] = TreeField(field.key, new_text(value.as_text(), value.at, False))


def _field(value: YamlTree, path: tuple[str, ...]) -> TreeField | None:
    holder = value.get(*path[:-1])
    found = holder.fields.get(path[-1]) if holder is not None else None
    return TreeField(found.key, found.value.copy()) if found is not None else None


def _restore(value: YamlTree, path: tuple[str, ...], field: TreeField | None) -> None:
    holder = value.get(*path[:-1])
    if holder is None and field is not None:
        holder = YamlTree("mapping")
        value.put(path[0], holder)
    if holder is None:
        return
    if field is None:
        holder.fields.pop(path[-1], None)
    else:
        holder.fields[path[-1]] = field


def _find_lost(replaced: list[ReplacedList], kind: str, name: str) -> Iterator[LostItems]:
    for path, new, old in replaced:
        items_left = [item.plain() for item in new.items]
        lost = tuple(item.at for item in old.items if item.at is not None and item.plain() not in items_left)
        if lost and new.at is not None and old.at is not None:
            yield LostItems(kind, name, path, new.at, old.at, lost)


def check_unique(resources: list[Resource]) -> None:
    """Raise `BuildError` if two objects have the same id now."""
    seen: dict[object, Resource] = {}
    for resource in resources:
        now = resource.id
        if now in seen:
            name = resource.value.get("metadata", "name")
            raise BuildError(name.at if name is not None else None, f"there are two of {now.kind} `{now.name}`")
        seen[now] = resource


def _is_json(text: PatchText) -> bool:
    return bool(text.roots) and text.roots[0][0].kind == "sequence"


def _first_character(text: PatchText) -> str:
    root = text.roots[0][0] if text.roots else None
    return "[" if root is not None and root.style == "flow" else ""


def _is_json_text(text: PatchText) -> bool:
    from json import loads

    try:
        loads(text.roots[0][0].text)
    except (ValueError, RecursionError):
        return False
    return True
