"""Find the values that a template uses, as paths from `.Values` on, through its loops, conditions and variables."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator

from nodelint.base.tuples import NamedTuple
from nodelint.forms.lib.gotemplate.syntax import Action, BadTemplate, Block, Branch, Code, Part, Pipeline, parse
from nodelint.text.nodes import Node

Path = tuple[str, ...]
"""A path from the top of helm's data: `("Values", "pools", EACH, "taints")`."""

EACH = "*"
"""The step to every item of a list, or every value of a mapping."""

_NAMING = ("get", "hasKey", "index")
"""Functions that name a field by a string."""

_TESTS = frozenset(("and", "empty", "eq", "ge", "gt", "hasKey", "kindIs", "le", "len", "lt", "ne", "not", "or"))


class FieldUse(NamedTuple):
    """A use of a value by template code.

    - `path`: the value.
    - `code`: the code.
    - `whole`: all of the value is printed or passed to a function.
    - `steps`: the number of nested fields that the code names.
    - `fallback`: `default` replaces the value if it is empty.
    """

    path: Path
    code: Code
    whole: bool
    steps: int
    fallback: bool


class Branched(NamedTuple):
    """A branch of a template block: its body is the characters `start` to `end`.

    - `word`: `if`, `range` and so on.
    - `head`: the range of the code before the body.
    - `around`: the range of the whole block with its code.
    - `expression`: the condition, None for `else`.
    - `items`: the path of a loop's items.
    - `asked`: the values that the code tests.
    - `only`: the block has no other branch.
    """

    word: str
    start: int
    end: int
    head: tuple[int, int]
    around: tuple[int, int]
    expression: Pipeline | None
    items: Path | None
    asked: tuple[Path, ...]
    only: bool

    def asks_for(self, path: Path) -> bool:
        """Return whether the branch is rendered for each non-empty value of a field, and depends on nothing else."""
        return self.asked == (path,) and self.expression is not None and self.expression.kind == "field"


class _Nested:
    """An index of regions that contain each other or do not overlap. It finds the regions around an offset."""

    def __init__(self, regions: Iterable[Branched]) -> None:
        self._regions = sorted(regions, key=lambda region: (region.start, -region.end))
        self._starts = [region.start for region in self._regions]
        self._above: list[int] = []
        open_: list[int] = []
        for number, region in enumerate(self._regions):
            while open_ and self._regions[open_[-1]].end < region.end:
                open_.pop()
            self._above.append(open_[-1] if open_ else -1)
            open_.append(number)

    def around(self, start: int, end: int) -> list[Branched]:
        """Return the branches that contain a range of characters, outermost first."""
        found = []
        number = bisect_right(self._starts, start) - 1
        while number >= 0:
            if end <= self._regions[number].end:
                found.append(self._regions[number])
            number = self._above[number]
        return found[::-1]


class Scopes:
    """The uses of values and the regions of one template.

    `loose` are names and texts in code whose path is not known.
    """

    def __init__(self, parts: Iterable[Part]) -> None:
        self.uses: list[FieldUse] = []
        self.regions: list[Branched] = []
        self._nested: _Nested | None = None
        self._starts: list[int] | None = None
        self.loose: set[str] = set()
        self._named: dict[
            Path, bool
        ] = {}  # fields that a function names by a string: whether all of the value is used
        self._variables: list[dict[str, Path | None]] = [{"$": ()}]
        self._dot: Path | None = ()
        self._walk_parts(parts)

    def within(self, start: int, end: int) -> list[Branched]:
        """Return the branches that contain a range of characters, outermost first."""
        if self._nested is None:
            self._nested = _Nested(self.regions)
        return self._nested.around(start, end)

    def used_within(self, start: int, end: int) -> list[FieldUse]:
        """Return the uses whose code begins between two offsets."""
        if self._starts is None:
            self.uses.sort(key=lambda use: use.code.start)
            self._starts = [use.code.start for use in self.uses]
        return self.uses[bisect_left(self._starts, start) : bisect_left(self._starts, end)]

    def below(self, path: Path) -> set[str]:
        """Return the names of the fields that are used of the value at a path."""
        depth = len(path)
        paths = (*(use.path for use in self.uses), *self._named)
        return {longer[depth] for longer in paths if len(longer) > depth and longer[:depth] == path}

    def prints_whole(self, path: Path) -> bool:
        """Return whether the value at a path may be printed as a whole, alone or as part of a larger value."""
        whole = (*(use.path for use in self.uses if use.whole), *(path for path, all in self._named.items() if all))
        return any(whole_path == path[: len(whole_path)] for whole_path in whole)

    def loops_over(self, path: Path) -> bool:
        """Return whether a loop iterates over all fields of the value at a path."""
        return EACH in self.below(path)

    def paths_to(self, name: str) -> list[str]:
        """Return the paths at which the template reads a field of a name, as people write them: `pools.*.weight`."""
        paths = (*(use.path for use in self.uses), *self._named)
        return list(dict.fromkeys(".".join(path[1:]) for path in paths if len(path) > 1 and path[-1] == name))

    def unguarded(self, path: Path) -> list[FieldUse]:
        """Return the uses of fields of the value at a path without a condition around that tests the value."""
        return [
            use
            for use in self.uses
            if use.path[:-1] == path
            and not any(
                guard[: len(path)] == path
                for region in self.within(use.code.start, use.code.end)
                for guard in region.asked
            )
        ]

    def follow(self, values: Node | None, path: Path) -> list[Node]:
        """Return the nodes at a path in the values of a chart."""
        return [] if values is None or path[:1] != ("Values",) else list(_follow(values, path[1:]))

    def gap(self, places: list[int], begin: int) -> tuple[Branched, Branched] | None:
        """Return the condition on one field around one of some offsets, and the `or` condition around it.

        None unless there are two such conditions, the `or` begins at `begin` or later and asks only for fields, and
        the other offsets are behind it in the block around it.
        """
        for at in places:
            around = self.within(at, at)[-2:]
            if len(around) < 2 or around[0].expression is None or around[1].expression is None:
                continue
            outer, inner = around
            either, pipeline = around[0].expression, around[1].expression
            fields = either.value == "or" and all(pipeline.kind == "field" for pipeline in either.args)
            first = outer.word == "if" and outer.head[0] == outer.around[0] >= begin
            alone = inner.only and inner.word in ("if", "with") and pipeline.kind == "field"
            elsewhere = all(outer.end <= other < outer.around[1] for other in places if other != at)
            if fields and first and alone and elsewhere and set(inner.asked) < set(outer.asked):
                return inner, outer
        return None

    # -- reading

    def _walk_parts(self, parts: Iterable[Part]) -> None:
        for part in parts:
            if isinstance(part, Action):
                self._action(part)
            elif isinstance(part, Block):
                self._block(part)

    def _action(self, action: Action) -> None:
        if action.expression is None:
            self.loose.update(action.code.text.replace('"', ".").split("."))
            return
        alias = self._path(action.expression) if action.variable is not None else None
        self._use(action.expression, action.code, whole=alias is None)
        if action.variable is None:
            return
        if action.declares:
            self._variables[-1][action.variable] = alias
            return
        for scope in reversed(self._variables):
            if action.variable in scope:
                scope[action.variable] = alias if scope[action.variable] == alias else None

    def _block(self, block: Block) -> None:
        ends = [*(branch.code.start for branch in block.branches[1:]), block.end.start]
        around = block.branches[0].code.start, block.end.end
        for branch, end in zip(block.branches, ends, strict=True):
            of = self._path(branch.expression) if branch.expression is not None else None
            guards = self._head(branch, of)
            items = (*of, EACH) if branch.word == "range" and of is not None else None
            only = len(block.branches) == 1
            start = branch.code.end
            head = branch.code.start, start
            self.regions.append(
                Branched(branch.word, start, end, head, around, branch.expression, items, guards, only)
            )
            self._body(branch, of, items)

    def _head(self, branch: Branch, of: Path | None) -> tuple[Path, ...]:
        if branch.expression is None:
            if branch.word != "else":
                self.loose.update(branch.code.text.replace('"', ".").split("."))
            return ()
        before = len(self.uses)
        self._use(branch.expression, branch.code, whole=branch.word != "if" and of is None)
        return tuple(use.path for use in self.uses[before:])

    def _body(self, branch: Branch, of: Path | None, items: Path | None) -> None:
        dot = self._dot
        names = branch.variables
        value = items if branch.word == "range" else of
        self._variables.append(dict.fromkeys(names[:-1]) | dict.fromkeys(names[-1:], value))
        if branch.word in ("range", "with"):
            self._dot = value
        self._walk_parts(branch.body)
        self._dot = dot
        self._variables.pop()

    def _use(self, expression: Pipeline, code: Code, whole: bool, fallback: bool = False) -> None:
        if expression.kind == "value":
            if isinstance(expression.value, str):
                self.loose.add(expression.value)
            return
        path = self._path(expression)
        if path is not None:
            if path:
                assert isinstance(expression.value, tuple)
                self.uses.append(FieldUse(path, code, whole, len(expression.value), fallback))
            return
        if expression.kind == "field":
            assert isinstance(expression.value, tuple)
            self.loose.update(map(str, expression.value))
            if isinstance(expression.of, Pipeline):
                self._use(expression.of, code, whole)
            return
        inner = whole or expression.value not in _TESTS
        named = self._by_name(expression)
        if named is not None:
            self._named[named] = self._named.get(named, False) or (whole and expression.value != "hasKey")
            self._use(expression.args[0], code, False)
            return
        for arg in expression.args:
            self._use(arg, code, inner, expression.value == "default" and arg is expression.args[-1])

    def _by_name(self, expression: Pipeline) -> Path | None:
        """Return the path of a field that strings name, as in `hasKey .Values.pool "weight"`.

        None for anything else.
        """
        if expression.value not in _NAMING or len(expression.args) < 2:
            return None
        base, *texts = expression.args
        path = self._path(base)
        names = tuple(
            pipeline.value for pipeline in texts if pipeline.kind == "value" and isinstance(pipeline.value, str)
        )
        return None if path is None or len(names) < len(texts) else (*path, *names)

    def _path(self, expression: Pipeline) -> Path | None:
        """Return the path of a field. None for any other expression, and for a field of an unknown value."""
        if expression.kind != "field":
            return None
        assert isinstance(expression.value, tuple)
        of = expression.of
        base: Path | None
        if isinstance(of, Pipeline):
            base = self._path(of)
        elif of == ".":
            base = self._dot
        else:
            base = next((scope[str(of)] for scope in reversed(self._variables) if of in scope), None)
        return None if base is None else (*base, *expression.value)


def scopes(text: str) -> Scopes | None:
    """Return the scopes of a template. None if a text is not a Helm template, or cannot be parsed."""
    if "{{" not in text or "{%" in text:
        return None
    try:
        return Scopes(parse(text))
    except BadTemplate:
        return None


def alternative(text: str, kind: str, other: str) -> str | None:
    """Return the condition with which a template creates an object of one kind instead of another.

    None without one.
    """
    if f"kind: {kind}" not in text or f"kind: {other}" not in text or (found := scopes(text)) is None:
        return None
    for match in re.finditer(rf"(?m)^kind:[ ]*{kind}\s*?$", text):
        for region in found.within(*match.span()):
            start, end = region.around
            rest = text[start : region.start] + text[region.end : end]
            if not region.only and re.search(rf"(?m)^kind:[ ]*{other}\s*?$", rest):
                return text[start : text.index("}}", start)].strip("{- ")
    return None


def _follow(values: Node, path: Path) -> Iterator[Node]:
    if not path:
        yield values
    elif path[0] == EACH:
        for below in (*values.items, *(entry.value for entry in values.entries)):
            yield from _follow(below, path[1:])
    elif values.kind == "mapping" and (found := values.get(path[0])) is not None:
        yield from _follow(found, path[1:])
