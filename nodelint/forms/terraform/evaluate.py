"""Evaluate Terraform expressions. Each value is a node with the place where it is written.

Unknown are names without a value, results of functions that are not supported, and everything that only an apply
provides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from nodelint.base.budget import WorkBudget
from nodelint.base.types import TYPE_CHECKING
from nodelint.forms.lib.made_nodes import mapping, scalar, sequence
from nodelint.forms.terraform.arithmetic import calculated
from nodelint.forms.terraform.hcltree import ForLoop, HclExpression
from nodelint.forms.terraform.nodes import (
    EmptyDefault,
    EvaluationFailure,
    assume_default,
    collection_of,
    empty_default,
    is_empty,
    is_known,
    is_null,
    is_unknown,
    items_of,
    number_of,
    same_form,
    text_of,
    unfolded_size,
)
from nodelint.forms.terraform.types import BOOL, NUMBER, convert, type_of, unify
from nodelint.text.nodes import MappingEntry, Node, SourceText
from nodelint.text.unknown_value import UNKNOWN

if TYPE_CHECKING:
    from typing import Self

_DEEPEST = 80
_PER_STEP = 64
"""The characters of values that are processed in one step."""


class NameScope:
    """The meaning of names at a place: variables of loops, `each`, `count`, and names of the module.

    - `lookup`: returns `var.x` and `local.x` for the prefix and the name.
    - `call`: evaluates a function.
    - `root`: the folder of the root module.
    """

    def __init__(
        self,
        source: SourceText,
        names: Mapping[str, Node],
        lookup: Callable[[str, str], Node | None],
        call: Callable[[ExpressionEvaluator, str, list[Node], Node], Node],
        root: str,
    ) -> None:
        self.source = source
        self.names = dict(names)
        self.lookup = lookup
        self.call = call
        self.root = root

    def within(self, names: Mapping[str, Node]) -> NameScope:
        """Return the scope with additional names."""
        return NameScope(self.source, {**self.names, **names}, self.lookup, self.call, self.root)


class DefaultFailure(EvaluationFailure):
    """Raised if Terraform would stop unless an empty default is replaced."""


class EvaluationBudget(WorkBudget):
    """The budget for a file, the depth of the current expression, and the number of `try` calls around it."""

    __slots__ = ("attempts", "depth")

    def __init__(self) -> None:
        super().__init__()
        self.depth = 0
        self.attempts = 0

    def spend_on(self, *values: Node) -> None:
        """Use up the steps to process values. Shared parts count each time. Raise `BudgetSpent`."""
        size = sum(map(unfolded_size, values))
        if size > _PER_STEP:
            self.spend(size // _PER_STEP)


class ExpressionEvaluator:
    """Evaluates expressions of HCL. Its subclass `template.Evaluator` also evaluates templates."""

    def __init__(self, scope: NameScope, budget: EvaluationBudget) -> None:
        self.scope = scope
        self.budget = budget

    def value(self, expression: HclExpression) -> Node:
        """Return the value of an expression. Unknown if Terraform would stop. Raise `BudgetSpent`."""
        try:
            return self.strict(expression)
        except EvaluationFailure:
            return self.place(expression)

    def place(self, expression: HclExpression) -> Node:
        """Return an unknown value with the source place of an expression."""
        return Node(self.scope.source, expression.start, expression.end, "scalar", "plain", UNKNOWN)

    def part(self, expression: HclExpression) -> Node:
        """Return the value of a part of a list or an object. If it fails, the other parts are still known."""
        return self.strict(expression) if self.budget.attempts else self.value(expression)

    def strict(self, expression: HclExpression) -> Node:
        """Return the value of an expression. Raise `EvaluationFailure` if Terraform would stop."""
        self.budget.spend()
        if self.budget.depth > _DEEPEST:
            return self.place(expression)
        self.budget.depth += 1
        try:
            method: Callable[[HclExpression], Node] = getattr(self, f"_eval_{expression.kind}")
            return method(expression)
        finally:
            self.budget.depth -= 1

    def _eval_literal(self, expression: HclExpression) -> Node:
        source, value = self.scope.source, expression.value
        assert value is None or isinstance(value, str | int | float | bool)
        quoted = isinstance(value, str) and source.text[expression.start : expression.start + 1] == '"'
        return Node(source, expression.start, expression.end, "scalar", "double" if quoted else "plain", value)

    def _eval_template(self, expression: HclExpression) -> Node:
        return self.place(expression)

    def _eval_name(self, expression: HclExpression) -> Node:
        found = self.scope.names.get(str(expression.value))
        return self.place(expression) if found is None else found

    def _eval_attribute(self, expression: HclExpression) -> Node:
        of, name = expression.parts[0], str(expression.value)
        if of.kind == "name" and of.value not in self.scope.names:
            found = self.scope.lookup(str(of.value), name)
            return self.place(expression) if found is None else found
        if of.kind == "attribute" and of.parts[0].kind == "name" and of.parts[0].value == "module":
            found = self.scope.lookup("module", f"{of.value}.{name}")
            return self.place(expression) if found is None else found
        value = self.strict(of)
        if name.isdecimal() and value.kind == "sequence":
            return self._item(value, int(name), expression)
        return self.member(value, name, expression)

    def member(self, value: Node, name: str, at: HclExpression) -> Node:
        """Return an attribute of a value. Raise `EvaluationFailure` if it has none."""
        value = self._take_tried(value)
        if value.kind == "mapping":
            found = value.get(name)
            if found is not None:
                return found
            if all(entry.name is not None for entry in value.entries):
                raise EvaluationFailure
        elif value.value is not UNKNOWN:
            raise EvaluationFailure
        return self.place(at)

    def _take_tried(self, value: Node) -> Node:
        """Return a value for a lookup. For an empty default inside of `try`, raise `DefaultFailure`."""
        if not isinstance(value, EmptyDefault) or not self.budget.attempts:
            return value
        raise DefaultFailure

    def _item(self, value: Node, index: int, at: HclExpression) -> Node:
        value = self._take_tried(value)
        if value.kind == "sequence":
            if 0 <= index < len(value.items):
                return value.items[index]
            raise EvaluationFailure
        return self.place(at)

    def _eval_index(self, expression: HclExpression) -> Node:
        value, index = map(self.strict, expression.parts)
        if collection_of(value) == "set":
            raise EvaluationFailure
        if index.value is UNKNOWN:
            return self.place(expression)
        if value.kind == "sequence" and isinstance(index.value, int):
            return self._item(value, index.value, expression)
        return self.member(value, text_of(index.value), expression)

    def _eval_splat(self, expression: HclExpression) -> Node:
        of, asked_of_item = expression.parts
        value = self.strict(of)
        if is_unknown(value):
            return self.place(expression)
        items = [value]
        if value.kind == "sequence":
            items = value.items
        elif value.kind == "scalar" and value.value is None:
            items = []
        found = [self.inside({"*": item}).part(asked_of_item) for item in items]
        return sequence(self.place(expression), found)

    def inside(self, names: Mapping[str, Node]) -> Self:
        """Return an evaluator with additional names."""
        return type(self)(self.scope.within(names), self.budget)

    def _eval_call(self, expression: HclExpression) -> Node:
        name, at = str(expression.value), self.place(expression)
        if name in ("try", "can"):
            return self._attempt(name, expression)
        args: list[Node] = []
        for part in expression.parts:
            if part.kind == "spread":
                items = self.strict(part.parts[0])
                if items.kind != "sequence":
                    return at
                args += items.items
            else:
                args.append(self.strict(part))
        self.budget.spend(sum(1 + len(arg.items) + len(arg.entries) for arg in args))
        self.budget.spend_on(*args)
        self.budget.require(size_made(name, args))
        if name in _HAVE_A_WAY_OUT and any(isinstance(arg, EmptyDefault) for arg in args):
            found = self.scope.call(self, name, list(map(assume_default, args)), at)
            return empty_default(found) if is_empty(found) or name == "length" else found
        found = self.scope.call(self, name, args, at)
        if isinstance(found.value, str):
            self.budget.spend(0, len(found.value))
        return found

    def _attempt(self, name: str, expression: HclExpression) -> Node:
        at, by_default = self.place(expression), False
        for part in expression.parts:
            self.budget.attempts += 1
            try:
                found = self.strict(part)
            except EvaluationFailure as failure:
                by_default = by_default or isinstance(failure, DefaultFailure)
                continue
            finally:
                self.budget.attempts -= 1
            if by_default and is_empty(found):
                return at
            return found if name == "try" or is_unknown(found) else scalar(at, True)
        if name == "can":
            return empty_default(scalar(at, False)) if by_default else scalar(at, False)
        return at

    def _eval_spread(self, expression: HclExpression) -> Node:
        return self.place(expression)

    def _eval_list(self, expression: HclExpression) -> Node:
        made = sequence(self.place(expression), map(self.part, expression.parts))
        for item in made.items:
            if item.parent is None:
                item.parent = made
        return made

    def _eval_object(self, expression: HclExpression) -> Node:
        made = Node(self.scope.source, expression.start, expression.end, "mapping", "hcl")
        found: dict[str, MappingEntry] = {}
        loose: list[MappingEntry] = []
        for key, of in zip(expression.parts[::2], expression.parts[1::2], strict=True):
            name, value = self._key(key), self.part(of)
            name.parent = made
            if value.parent is None:
                value.parent = made
            if name.value is UNKNOWN:
                loose.append(MappingEntry(name, value, None))
            elif name.value is None:
                raise EvaluationFailure
            else:
                text = text_of(name.value)
                found[text] = MappingEntry(name, value, text)
        made.entries = [*found.values(), *loose]
        return made

    def _key(self, key: HclExpression) -> Node:
        """Return the value of a key. A name means itself, unless it is in brackets."""
        if key.kind == "name" and self.scope.source.text[key.start - 1 : key.start] != "(":
            return scalar(self.place(key), str(key.value))
        return self.strict(key)

    def _eval_for(self, expression: HclExpression) -> Node:
        loop, at = expression.value, self.place(expression)
        assert isinstance(loop, ForLoop)
        over = self.strict(loop.over)
        pairs = items_of(over)
        if pairs is None:
            return at
        items: list[Node] = []
        members: dict[str, tuple[Node, list[Node]]] = {}
        for key, item in pairs:
            inside = self.inside(dict(zip(loop.names, (key, item) if len(loop.names) > 1 else (item,), strict=False)))
            test = True if loop.test is None else inside.strict(loop.test).value
            if not isinstance(test, bool):
                return at
            if not test:
                continue
            if loop.key is None:
                items.append(inside.part(loop.item))
                continue
            name = inside.strict(loop.key)
            if name.value is UNKNOWN or name.kind != "scalar":
                return at
            if name.value is None or (not loop.grouped and text_of(name.value) in members):
                raise EvaluationFailure
            members.setdefault(text_of(name.value), (name, []))[1].append(inside.part(loop.item))
        if loop.key is None:
            return sequence(at, items)
        made = ((n, k, sequence(at, v) if loop.grouped else v[0]) for n, (k, v) in sorted(members.items()))
        return mapping(at, made)

    def _eval_condition(self, expression: HclExpression) -> Node:
        test, then, other = expression.parts
        tested = self.strict(test)
        if isinstance(tested, EmptyDefault):
            value = self._choose(assume_default(tested).value, then, other, expression)
            return empty_default(value) if is_empty(value) else value
        return self._choose(tested.value, then, other, expression)

    def _choose(self, found: object, then: HclExpression, other: HclExpression, expression: HclExpression) -> Node:
        if found in ("true", "false"):
            found = found == "true"
        if found is None:
            raise EvaluationFailure
        if not isinstance(found, bool):
            return self.place(expression)
        chosen, left = (then, other) if found else (other, then)
        value = self.strict(chosen)
        if left.kind == "literal" and left.value is None:
            return value
        if value.kind == "scalar" and (isinstance(value.value, str) or is_unknown(value)):
            return value  # it has the same type as the other value
        try:
            other_value = self.strict(left)
        except EvaluationFailure:
            return value
        self.budget.spend_on(value, other_value)
        wanted = unify([type_of(value), type_of(other_value)])
        if wanted is None:
            raise EvaluationFailure
        return convert(value, wanted)

    def _eval_operation(self, expression: HclExpression) -> Node:
        at, sign = self.place(expression), str(expression.value)
        operands = [self.strict(part) for part in expression.parts]
        self.budget.spend_on(*operands)
        if any(isinstance(operand, EmptyDefault) for operand in operands):
            try:
                found = _operate(at, sign, list(map(assume_default, operands)))
            except EvaluationFailure:
                return at
            return at if is_unknown(found) else empty_default(found)
        return _operate(at, sign, operands)


_HAVE_A_WAY_OUT = ("coalesce", "coalescelist", "length", "lookup")
"""Functions that detect an empty value, or replace it."""


def size_made(name: str, args: list[Node]) -> int:
    """Return an upper bound for the characters of a function's result.

    0 if the function does not repeat its arguments.
    """
    texts = [len(arg.value) if isinstance(arg.value, str) else 0 for arg in args]
    if name in ("jsonencode", "yamlencode"):
        return sum(map(unfolded_size, args))
    if name == "join":
        return texts[0] * sum(len(arg.items) for arg in args[1:]) if args else 0
    if name == "formatlist":
        return sum(texts) * max((len(arg.items) for arg in args), default=0)
    if name == "replace" and len(args) == 3:
        return texts[0] + (texts[0] // max(texts[1], 1) + 1) * texts[2]
    return texts[-1] * 200 if name == "indent" and len(args) == 2 and isinstance(args[0].value, int) else 0


def _operate(at: Node, sign: str, operands: list[Node]) -> Node:
    """Return the result of an operator. Raise `EvaluationFailure`."""
    if sign in ("==", "!="):
        if not all(map(is_known, operands)):
            return at
        return scalar(at, (same_form(operands[0]) == same_form(operands[1])) == (sign == "=="))
    if any(map(is_null, operands)) or any(operand.kind != "scalar" for operand in operands):
        raise EvaluationFailure
    if sign in ("&&", "||", "!"):
        values = [convert(operand, BOOL).value for operand in operands]
        if sign == "!":
            return scalar(at, not values[0]) if isinstance(values[0], bool) else at
        if (sign == "||") in [value for value in values if isinstance(value, bool)]:
            return scalar(at, sign == "||")
        return scalar(at, sign == "&&") if all(isinstance(value, bool) for value in values) else at
    numbers = [number_of(convert(operand, NUMBER).value) for operand in operands]
    known = [number for number in numbers if number is not None]
    return scalar(at, calculated(sign, known)) if len(known) == len(numbers) else at
