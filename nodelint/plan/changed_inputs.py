"""Find unknown values with a changed input: they may differ between the two sides of a plan."""

from __future__ import annotations

import os
from collections import Counter
from functools import cached_property

from nodelint.base.types import TYPE_CHECKING
from nodelint.drift.stored_form import list_open_parts
from nodelint.files.gate import gate
from nodelint.forms.input_text import INSTANCE, InputText, list_changed_inputs
from nodelint.forms.lib.script_variables import list_setting_lines
from nodelint.forms.lib.variable_inputs import VariableInputs, list_variables
from nodelint.forms.registry import TABLE
from nodelint.model.finding import Span, span_of, written_place
from nodelint.model.folders import path_below
from nodelint.model.gap import Gap
from nodelint.model.manifest import EC2NodeClass, NodePool
from nodelint.model.open_parts import NO_OPEN_PARTS
from nodelint.plan.gone_appliers import show_place
from nodelint.plan.sides import place_below
from nodelint.plan.uncompared import list_unknown, uncompared
from nodelint.text import UNKNOWN, Node

_MOST_OF_MODULES = 16 << 20
"""The most characters of modules that are searched for the names of files."""

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from nodelint.forms.interface import InputFinder
    from nodelint.model.manifest import Object
    from nodelint.plan import Plan
    from nodelint.plan.matching import Pair
    from nodelint.plan.read_side import Read


def find_changed_inputs(was: Read, new: Read, plan: Plan, stopped: Collection[str] = ()) -> Iterator[Gap]:
    """Yield a gap for each pool or class with an unknown value that counts for drift, if an input of the value
    changes.

    Objects whose nodes are certainly replaced, those whose update is refused, and those that the plan reports as not
    compared, are skipped. A gap of the kind `module` is about an instance of the module that is gone. `stopped` are
    the paths of root modules that Terraform refuses on one side.
    """
    named = {place.subject for place in plan.uncompared if place.decides}
    settled = find_replaced(plan) | _find_refused(plan)
    shared = _list_instances(new, plan)
    made = Counter(map(_find_place, was.inventory.objects()))
    finders: list[SideInputs] = []
    modules = _Readers(was)
    for pair in (*(pool.pair for pool in plan.pools), *plan.classes):
        if pair.old is None or pair.new is None or id(pair.new) in settled:
            continue
        both = [plan.written.get(id(obj), obj) for obj in (pair.old, pair.new)]
        is_shared = id(pair.new) in shared
        unknown = [_list_unknown(obj) for obj in both]
        if not any(unknown) and not any(map(_may_depend, both)) and not any(map(modules.may_read, both)):
            continue
        finders = finders or [SideInputs(was), SideInputs(new)]
        found = _find_change(both, unknown, finders, is_shared)
        # Several instances of a module make one object, if they make it alike: each of them deletes its own.
        is_alike = made[_find_place(pair.old)] == 1
        found = [changed for changed in found if not changed.is_call or (changed.text == INSTANCE) == is_alike]
        found = [changed for changed in found if not (changed.is_call and _is_call_of(changed, was.root, stopped))]
        label = f"{pair.new.kind} {pair.new.name if isinstance(pair.new.name, str) else pair.new.name_node.unquoted}"
        for changed in found if label not in named else ():
            value = None if changed.is_call else _find_value(changed, finders[1], both[1], unknown[1])
            gap = uncompared(changed.at, label, _explain(changed, value), True)
            at = show_place(new, span_of(written_place(value))) if value is not None else None
            yield gap._replace(object=pair.new, what="module" if changed.is_call else gap.what, value=at)


def _is_call_of(call: InputText, root: str, folders: Collection[str]) -> bool:
    return path_below(os.path.dirname(os.path.abspath(call.at.source.path)), root) in folders


def find_replaced(plan: Plan) -> set[int]:
    """Return the ids of the new pools whose nodes are all replaced, and of the new classes that do so by themselves:
    an unknown value of these adds nothing.
    """
    found = {id(pool.pair.new) for pool in plan.pools if pool.replaced == "all"}
    for pool in plan.pools:
        if any(reason.reason == "NodeClassDrift" and reason.covered == "all" for reason in pool.verdict.reasons):
            found.update(pool.parts[1:])
    return found


def _find_refused(plan: Plan) -> set[int]:
    """Return the ids of the new pools and classes whose update is refused: the cluster keeps the old ones."""
    refused = [pool for pool in plan.pools if pool.refused]
    held_ids = {id(pool.pair.old) for pool in refused if any(reason.kind == "NodePool" for reason in pool.refused)}
    held_ids |= {id(pool.after.node_class) for pool in refused if pool.after is not None}
    held_ids |= {id(changed.pair.old) for changed in plan.class_plans if changed.refused}
    pairs = (*(pool.pair for pool in refused), *(pair for pair in plan.classes if pair.change == "changed"))
    return {id(pair.new) for pair in pairs if id(pair.old) in held_ids}


def _list_instances(new: Read, plan: Plan) -> set[int]:
    """Return the ids of new objects with the path and name of others, if all of these are unchanged.

    They are compared by their content. If the instances of a module change their order, none of them looks changed.
    """
    groups: dict[tuple[str, str, str], list[Pair]] = {}
    for pair in (*(pool.pair for pool in plan.pools), *plan.classes):
        obj = pair.new or pair.old
        if obj is not None and obj.source.path.endswith(TABLE.endings + TABLE.templates):
            key = (obj.kind, obj.name_node.unquoted, place_below(obj, new.root) if pair.new is not None else "")
            groups.setdefault(key, []).append(pair)
    same = (pairs for pairs in groups.values() if len(pairs) > 1 and all(p.change == "unchanged" for p in pairs))
    return {id(pair.new) for pairs in same for pair in pairs}


def _find_value(changed: InputText, finder: SideInputs, obj: Object, unknown: Sequence[Node]) -> Node | None:
    """Return the first unknown value of an object that may change with an input. None if no value is certain to
    depend on it.
    """
    for node in unknown:
        inputs = [*finder.list_value_inputs(node), *finder.list_variables(obj, [node])]
        if any((given.name, given.text) == (changed.name, changed.text) for given in inputs):
            return node
    return None


def _explain(found: InputText, value: Node | None) -> str:
    """Return why the outcome for an object is not known. `value` is the value that an input may change."""
    if found.is_call:
        return f"`{found.name}`, which makes it, is gone: what it has made is deleted with all nodes"
    what = "the template code there" if found.name == "template code" else f"`{found.name}`"
    what = "the text there" if found.name == "the value" else what
    name = value.path if value is not None else ""
    value_text = f"`{name}`" if name else "a value of this object"
    return f"{value_text} is not known, and may change with {what}"


class _Readers:
    """The files of modules on one side, which may read a file with objects only under a condition."""

    def __init__(self, side: Read) -> None:
        self._paths = [path for path in side.found.seen if path.endswith(TABLE.module)]
        self._named: dict[str, bool] = {}

    @cached_property
    def _text(self) -> str:
        """Return the texts of all modules, up to a limit."""
        found, left = [], _MOST_OF_MODULES
        for path in self._paths:
            text = gate.load_text(path, left) or ""
            found.append(text)
            left -= len(text)
        return "\n".join(found)

    def may_read(self, obj: Object) -> bool:
        """Return whether a module may name the file of an object."""
        name = os.path.basename(span_of(written_place(obj.node)).source.path)
        if name not in self._named:
            self._named[name] = bool(self._paths) and name in self._text
        return self._named[name]


def _may_depend(obj: Object) -> bool:
    """Return whether an object without an unknown value may depend on more than its own text."""
    return bool(obj.source.masked) or obj.source.path.endswith(TABLE.endings)


def _find_change(
    both: Sequence[Object], unknown: Sequence[Sequence[Node]], finders: Sequence[SideInputs], is_shared: bool
) -> list[InputText]:
    """Return the first input that changes, or the calls of the module that are gone, if nothing else changes."""
    sides = zip(finders, both, unknown, strict=True)
    before, after = (finder.list_inputs(obj, nodes, is_shared) for finder, obj, nodes in sides)
    found = list_changed_inputs(before, after)
    changed = [given for given in found if not given.is_call]
    # Calls and instances under other names are for `recreated_objects`.
    is_fewer = sum(given.text == INSTANCE for given in after) < sum(given.text == INSTANCE for given in before)
    return changed[:1] or (found if is_fewer else [])


def _find_place(obj: Object) -> tuple[str, int]:
    """Return the file and the offset at which an object is written."""
    at = span_of(written_place(obj.node))
    return at.source.path, at.start


def _list_unknown(obj: Object) -> list[Node]:
    """Return the unknown values of an object that count for drift, including its name."""
    part = None
    if isinstance(obj, NodePool):
        part = obj.node.find("spec", "template")
    elif isinstance(obj, EC2NodeClass):
        part = obj.node.get("spec")
    nodes = list_unknown(part) if part is not None else []
    parts = list_open_parts(obj) or NO_OPEN_PARTS
    code = [Node(at.source, at.start, at.end, "scalar", "plain", UNKNOWN) for at in parts.spans]
    return [*(node for node in (obj.name_node,) if node.value is UNKNOWN), *nodes, *code]


class SideInputs:
    """A finder of the inputs of unknown values on one side."""

    def __init__(self, side: Read) -> None:
        self._variables = VariableInputs(side.root)
        finders = (row.load().make_input_finder(side.found.sources) for row in reversed(TABLE.rows) if row.fills)
        self._finders: list[InputFinder] = [finder for finder in finders if finder is not None]

    def list_inputs(self, obj: Object, unknown: Sequence[Node], is_shared: bool) -> list[InputText]:
        """Return the inputs of some unknown values of an object, and those that decide whether the object exists."""
        found = [
            given for finder in self._finders for given in finder.list_existence_inputs(obj.name_node, is_shared)
        ]
        found += [given for node in unknown for given in self.list_value_inputs(node)]
        return found + self.list_variables(obj, unknown)

    def list_variables(self, obj: Object, unknown: Sequence[Node]) -> list[InputText]:
        """Return the variables of some unknown values of an object whose text another tool fills in."""
        if not is_of_other_tool(obj):
            return []
        names = _list_names(obj, unknown)
        return [*self._variables.list_inputs(names), *_list_parameters(obj, names)]

    def list_value_inputs(self, node: Node) -> list[InputText]:
        """Return the inputs of one value."""
        return [given for finder in self._finders for given in finder.list_inputs(node)]


def is_of_other_tool(obj: Object) -> bool:
    """Return whether a tool that nodelint does not know fills in the text of an object."""
    from nodelint.forms.lib.chart_places import chart_of

    return not obj.source.path.endswith((*TABLE.endings, *TABLE.templates)) and chart_of(obj.source.path) is None


def _list_parameters(obj: Object, names: set[str]) -> Iterator[InputText]:
    """Yield the parameters and mappings of a CloudFormation template that an object in it takes."""
    source = obj.source
    if "AWSTemplateFormatVersion" not in source.text and "\nResources:" not in source.text:
        return
    for name, start, end in list_setting_lines(source.text, names):
        if not obj.document.start <= start < obj.document.end or obj.document.host is not None:
            yield InputText(name, " ".join(source.text[start:end].split()), Span(source, start, end))


def _list_names(obj: Object, unknown: Sequence[Node]) -> set[str]:
    """Return the variables in the unknown values of an object."""
    part = obj.node.get("spec") or obj.node
    places = [span_of(written_place(node)) for node in unknown]
    if "{%" in obj.source.text or "<%" in obj.source.text:  # a code block may add or remove fields
        places.append(span_of(part))
    return {name for at in places for name in list_variables(at.source.text, at.start, at.end)}
