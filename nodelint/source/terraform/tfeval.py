"""Expressions of Terraform worked out: each value is a node that knows where it is written.

What is not known is a scalar whose value is `UNKNOWN`, and nothing else: a name without a value, a function that is
not read, anything that only an apply brings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from nodelint.source.nodes import UNKNOWN, MappingEntry, Node, Scalar, SourceText
from nodelint.source.terraform.hclexpr import ForLoop, HclExpression

if TYPE_CHECKING:
    from typing import Self

    from nodelint.source.templates.sprig_values import Piece as TextPiece

MOST_STEPS = 200_000
"""Steps that one file may take, loops and calls counted each time."""
MOST_CHARACTERS = 2_000_000
"""Characters that the values of one file may come to."""
_DEEPEST = 80


class EvaluationLimit(Exception):
    """A file takes more steps, or comes to more text, than any that people write."""


class EvaluationFailure(Exception):
    """Terraform stops here: no such key, no such item, a value of the wrong type."""


class TextNode(Node):
    """A text that was put together. `pieces` has its parts, each with the node that it is from."""

    __slots__ = ("pieces",)

    pieces: tuple[TextPiece, ...]


class NameScope:
    """What names mean at a place: loops, `each`, `count`, and what the module around has.

    `lookup` gives `var.x` and `local.x` by the word in front and the name, `call` works out a function. `root` is the
    folder of the root module.
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
        """The same with more names."""
        return NameScope(self.source, {**self.names, **names}, self.lookup, self.call, self.root)


class EvaluationBudget:
    """What is left of the steps and characters of a file."""

    def __init__(self, steps: int = MOST_STEPS, characters: int = MOST_CHARACTERS) -> None:
        self.steps = steps
        self.characters = characters
        self.depth = 0
        self.attempts = 0

    def spend(self, steps: int = 1, characters: int = 0) -> None:
        """Raises `EvaluationLimit`."""
        self.steps -= steps
        self.characters -= characters
        if self.steps < 0:
            raise EvaluationLimit("its expressions take more steps than nodelint goes")
        if self.characters < 0:
            raise EvaluationLimit("its expressions come to more text than nodelint reads")


def is_known(node: Node) -> bool:
    """Whether nothing in a value is unknown."""
    return all(descendant.value is not UNKNOWN for descendant in node.walk())


def is_unknown(node: Node) -> bool:
    """Whether nothing of a value is known."""
    return node.kind == "scalar" and node.value is UNKNOWN and not isinstance(node, TextNode)


def is_empty(node: Node) -> bool:
    """Whether a value is null, an empty text, or has no items."""
    return node.value in (None, "") if node.kind == "scalar" else not (node.items or node.entries)


def scalar(at: Node, value: Scalar) -> Node:
    """A scalar that is written, or worked out, at the place of another node."""
    style = at.style if at.value == value and at.kind == "scalar" else "plain"
    return Node(at.source, at.start, at.end, "scalar", style, value)


def unknown(at: Node) -> Node:
    """What stands at a place, and is not known."""
    return Node(at.source, at.start, at.end, "scalar", "plain", UNKNOWN)


def sequence(at: Node, items: Iterable[Node]) -> Node:
    """A list of some values."""
    made = Node(at.source, at.start, at.end, "sequence", "hcl")
    made.items = list(items)
    return made


def mapping(at: Node, members: Iterable[tuple[str, Node, Node]]) -> Node:
    """An object of names, each with the node of its key and its value; the last of a name counts."""
    made = Node(at.source, at.start, at.end, "mapping", "hcl")
    made.entries = [
        MappingEntry(key, value, name)
        for name, (key, value) in {name: (key, value) for name, key, value in members}.items()
    ]
    return made


def text_of(value: Scalar) -> str:
    """A scalar as a template of Terraform prints it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    return str(value)


def joined(at: Node, pieces: Iterable[TextPiece], whole: bool) -> TextNode:
    """A text of pieces; `whole` says whether all of it is known."""
    made = TextNode(at.source, at.start, at.end, "scalar", "plain")
    made.pieces = tuple(pieces)
    made.value = "".join(text for text, _ in made.pieces) if whole else UNKNOWN
    return made


class ExpressionEvaluator:
    """Works out the expressions of one place; what templates come to, `tftemplate.Evaluator` knows."""

    def __init__(self, scope: NameScope, budget: EvaluationBudget) -> None:
        self.scope = scope
        self.budget = budget

    def value(self, expression: HclExpression) -> Node:
        """What an expression comes to. Raises `EvaluationLimit`."""
        try:
            return self.strict(expression)
        except EvaluationFailure:
            return self.place(expression)

    def place(self, expression: HclExpression) -> Node:
        """The place of an expression, as a value that is not known."""
        return Node(self.scope.source, expression.start, expression.end, "scalar", "plain", UNKNOWN)

    def part(self, expression: HclExpression) -> Node:
        """What a part of a list or object comes to: where it fails, the rest is known all the same."""
        return self.strict(expression) if self.budget.attempts else self.value(expression)

    def strict(self, expression: HclExpression) -> Node:
        """The same. Raises `EvaluationFailure` where Terraform would stop."""
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
        value = self.strict(of)
        if name.isdecimal() and value.kind == "sequence":
            return self._item(value, int(name), expression)
        return self.member(value, name, expression)

    def member(self, value: Node, name: str, at: HclExpression) -> Node:
        """An attribute of a value. Raises `EvaluationFailure` where it has none."""
        if value.kind == "mapping":
            found = value.get(name)
            if found is not None:
                return found
            if all(entry.name is not None for entry in value.entries):
                raise EvaluationFailure
        elif value.value is not UNKNOWN:
            raise EvaluationFailure
        return self.place(at)

    def _item(self, value: Node, index: int, at: HclExpression) -> Node:
        if value.kind == "sequence":
            if 0 <= index < len(value.items):
                return value.items[index]
            raise EvaluationFailure
        return self.place(at)

    def _eval_index(self, expression: HclExpression) -> Node:
        value, index = map(self.strict, expression.parts)
        if index.value is UNKNOWN:
            return self.place(expression)
        if value.kind == "sequence" and isinstance(index.value, int):
            return self._item(value, index.value, expression)
        return self.member(value, text_of(index.value), expression)

    def _eval_splat(self, expression: HclExpression) -> Node:
        of, part = expression.parts
        value = self.strict(of)
        if is_unknown(value):
            return self.place(expression)
        items = [value]
        if value.kind == "sequence":
            items = value.items
        elif value.kind == "scalar" and value.value is None:
            items = []
        return sequence(self.place(expression), [self.inside({"*": item}).part(part) for item in items])

    def inside(self, names: Mapping[str, Node]) -> Self:
        """The same with more names."""
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
        found = self.scope.call(self, name, args, at)
        if isinstance(found.value, str):
            self.budget.spend(0, len(found.value))
        return found

    def _attempt(self, name: str, expression: HclExpression) -> Node:
        at = self.place(expression)
        for part in expression.parts:
            self.budget.attempts += 1
            try:
                found = self.strict(part)
            except EvaluationFailure:
                continue
            finally:
                self.budget.attempts -= 1
            return found if name == "try" or is_unknown(found) else scalar(at, True)
        return scalar(at, False) if name == "can" else at

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
            else:
                text = text_of(name.value)
                found[text] = MappingEntry(name, value, text)
        made.entries = [*found.values(), *loose]
        return made

    def _key(self, key: HclExpression) -> Node:
        """A key: a name stands for itself, unless it is in brackets."""
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
            members.setdefault(text_of(name.value), (name, []))[1].append(inside.part(loop.item))
        if loop.key is None:
            return sequence(at, items)
        made = ((n, k, sequence(at, v) if loop.grouped else v[-1]) for n, (k, v) in sorted(members.items()))
        return mapping(at, made)

    def _eval_condition(self, expression: HclExpression) -> Node:
        test, then, other = expression.parts
        found = self.strict(test).value
        if not isinstance(found, bool):
            return self.place(expression)
        return self.strict(then if found else other)

    def _eval_operation(self, expression: HclExpression) -> Node:
        at, sign = self.place(expression), str(expression.value)
        operands = [self.strict(part) for part in expression.parts]
        if sign in ("==", "!="):
            if not all(map(is_known, operands)):
                return at
            return scalar(at, (same_form(operands[0]) == same_form(operands[1])) == (sign == "=="))
        values = [operand.value if operand.kind == "scalar" else UNKNOWN for operand in operands]
        if sign in ("&&", "||"):
            if (sign == "||") in [value for value in values if isinstance(value, bool)]:
                return scalar(at, sign == "||")
            return scalar(at, sign == "&&") if all(isinstance(value, bool) for value in values) else at
        if sign == "!":
            return scalar(at, not values[0]) if isinstance(values[0], bool) else at
        numbers = [value for value in map(number_of, values) if value is not None]
        return scalar(at, calculated(sign, numbers)) if len(numbers) == len(values) else at


def items_of(over: Node) -> list[tuple[Node, Node]] | None:
    """The keys and items that a loop runs over; None where they are not known."""
    if over.kind == "sequence":
        return [(scalar(item, n), item) for n, item in enumerate(over.items)]
    if over.kind != "mapping" or any(entry.name is None for entry in over.entries):
        return None
    return [(key_node(entry), entry.value) for entry in sorted(over.entries, key=lambda entry: entry.name or "")]


def key_node(entry: MappingEntry) -> Node:
    """The key of an entry as a text."""
    return entry.key if entry.key.value == entry.name else scalar(entry.key, entry.name)


def same_form(node: Node) -> object:
    """A value as one that compares as Terraform's do: a bool is no number."""
    if node.kind == "mapping":
        return {entry.name: same_form(entry.value) for entry in node.entries}
    if node.kind == "sequence":
        return [same_form(item) for item in node.items]
    return (isinstance(node.value, bool), node.value)


def number_of(value: Scalar) -> int | float | None:
    """A number, also one that is written as a text; None for anything else."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and len(value) < 40:
        try:
            found = float(value)
        except ValueError:
            return None
        if found - found != 0:  # inf, nan
            return None
        return int(found) if found.is_integer() else found
    return None


def calculated(sign: str, numbers: list[int | float]) -> Scalar:
    """What an operation of numbers comes to."""
    if len(numbers) == 1:
        return -numbers[0]
    left, other = numbers
    if sign in ("<", ">", "<=", ">="):
        return {"<": left < other, ">": left > other, "<=": left <= other, ">=": left >= other}[sign]
    if sign in ("/", "%") and not other:
        raise EvaluationFailure
    try:
        if sign == "%":
            made: int | float = left - other * int(left / other)
        else:
            made = {"+": left + other, "-": left - other, "*": left * other, "/": left / other if other else 0}[sign]
    except (OverflowError, ValueError):  # beyond a float, or nothing at all
        return UNKNOWN
    if isinstance(made, float) and (made - made != 0 or abs(made) > 1e300):
        return UNKNOWN
    if isinstance(made, int) and made.bit_length() > 512:
        return UNKNOWN
    return int(made) if isinstance(made, float) and made.is_integer() else made
