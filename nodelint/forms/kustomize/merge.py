"""Apply strategic merge patches as kustomize does to objects without a known schema.

Lists are replaced as a whole, a null removes its key, and `$patch` gives other instructions for a mapping.
"""

from __future__ import annotations

from nodelint.base.tuples import NamedTuple
from nodelint.forms.kustomize.errors import BuildError
from nodelint.forms.kustomize.values import TreeField, YamlTree
from nodelint.text.yaml.scalars import reads_as_text

DIRECTIVE = "$patch"
_IN_WORDS = {"mapping": "a mapping", "sequence": "a list", "scalar": "a scalar"}


class ReplacedList(NamedTuple):
    """A list that a patch replaces: the path of keys, the new list and the old one."""

    path: tuple[str, ...]
    new: YamlTree
    old: YamlTree


class Merge:
    """One application of a patch to an object.

    `replaced` are the lists that it replaces. With `keyed`, list items with names are merged by name, as for
    Kubernetes' own kinds.
    """

    def __init__(self, keyed: bool = False) -> None:
        self.keyed = keyed
        self.replaced: list[ReplacedList] = []

    def apply(self, target: YamlTree, patch: YamlTree) -> YamlTree | None:
        """Return the patched object. None if it is deleted. Both arguments are changed. Raise `BuildError`."""
        return self._merge(target, patch, ())

    def _merge(self, old: YamlTree | None, new: YamlTree | None, path: tuple[str, ...]) -> YamlTree | None:
        """Return the merged value of a key. None if the key is removed.

        kustomize visits keys that the patch lacks as well.
        """
        there = old if old is not None and not old.is_null else None
        given = new if new is not None and not new.is_null else None
        if there is None and given is None:
            keeps = old is not None and new is None and not old.blank
            return old if keeps else None
        if there is not None and new is not None and given is None:
            return None
        if there is not None and given is not None and there.kind != given.kind:
            what = f"{_IN_WORDS[given.kind]} cannot be merged into {_IN_WORDS[there.kind]}"
            raise BuildError(given.at, f"`{'.'.join(path)}`: {what}")
        kind = (there or given).kind  # type: ignore[union-attr]
        if kind == "mapping":
            return self._merge_mappings(there, given, path)
        if kind == "sequence":
            return self._merge_lists(there, given, path)
        return _merge_scalars(old if given is not None else there, given)

    def _merge_mappings(self, old: YamlTree | None, new: YamlTree | None, path: tuple[str, ...]) -> YamlTree | None:
        directive = _take_directive(new)
        if directive == "delete":
            return None
        if old is None or (new is not None and directive == "replace"):
            assert new is not None
            old, new = new, None
            return self._clean(old, path)
        for name in list(dict.fromkeys([*old.fields, *(new.fields if new is not None else ())])):
            before = old.fields.get(name)
            after = new.fields.get(name) if new is not None else None
            value = self._merge(before and before.value, after and after.value, (*path, name))
            if value is None:
                old.fields.pop(name, None)
            elif before is None or before.value is not value:
                key = after.key if after is not None else None
                old.fields[name] = TreeField(before.key if key is None and before is not None else key, value)
        return old

    def _clean(self, added: YamlTree, path: tuple[str, ...]) -> YamlTree:
        """Return a mapping that a patch adds as a whole, without its nulls, and with its directives applied."""
        for name, field in list(added.fields.items()):
            value: YamlTree | None = field.value
            if value is not None and value.kind == "mapping":
                value = self._merge_mappings(None, value, (*path, name))
            if value is None or value.is_null:
                del added.fields[name]
            elif value.kind == "scalar":
                _merge_scalars(value, None)
        return added

    def _merge_lists(self, old: YamlTree | None, new: YamlTree | None, path: tuple[str, ...]) -> YamlTree | None:
        if new is None or old is None:
            return new if old is None else old
        if self.keyed and _have_names(old) and _have_names(new):
            return self._merge_named(old, new, path)
        new.in_flow = old.in_flow if old.items else new.in_flow
        self.replaced.append(ReplacedList(path, new, old))
        return new

    def _merge_named(self, old: YamlTree, new: YamlTree, path: tuple[str, ...]) -> YamlTree:
        """Return the old list with items merged by name. New items come first, the others keep their order."""
        by_name = {item.text("name"): n for n, item in enumerate(old.items)}
        added, gone = [], set()
        for item in new.items:
            if (n := by_name.get(item.text("name"))) is None:
                added.append(item)
            elif (merged := self._merge(old.items[n], item, path)) is None:
                gone.add(n)
            else:
                old.items[n] = merged
        old.items = added + [item for n, item in enumerate(old.items) if n not in gone]
        return old


def _merge_scalars(old: YamlTree | None, new: YamlTree | None) -> YamlTree | None:
    """Return the merged scalar.

    A new value gets the quotes of the old one, and so becomes a string if that was one.
    """
    merged = new if new is not None else old
    if merged is not None and merged.loose:
        merged.become_text()
    if merged is not None and (old is None or new is None) and isinstance(merged.value, str) and merged.raw is None:
        merged.quoted = merged.quoted or not reads_as_text(merged.value)
    if old is not None and new is not None:
        if old.quoted and not (isinstance(new.value, str) and new.raw is None):
            new.become_text()
            new.exact = False
        new.quoted = old.quoted
        old.become(new)
        return old
    return merged


def _take_directive(patch: YamlTree | None) -> str:
    found = patch.fields.pop(DIRECTIVE, None) if patch is not None else None
    if found is None:
        return "merge"
    directive = found.value.value
    if directive not in ("delete", "replace", "merge"):
        raise BuildError(
            found.value.at, f"`{directive}` is not a directive of a patch: delete, merge and replace are"
        )
    return str(directive)


def _have_names(sequence: YamlTree) -> bool:
    return bool(sequence.items) and all(item.text("name") for item in sequence.items)
