"""Every regular expression of the code, and texts made of its own parts on which it could take long.

`collect` reads the calls of `re` in the sources and works out their patterns in the module that holds them. Run as
a program it measures the patterns of one file that is named, each text at n and 2n, and prints what grows too much.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import re
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
USES = ("compile", "match", "search", "fullmatch", "sub", "subn", "split", "findall", "finditer")
MOST = 2.5
"""By how much CPU may grow where a text is twice as long."""

_LONG = 1 << 10
"""Characters. Quadratic work on them takes a multiple of a sixteenth of `_LEAST`."""
_LEAST = 0.006
"""Seconds of CPU below which nothing is the matter of twice as many."""
_ENOUGH = 0.2


class Use(NamedTuple):
    """A call of `re`: where it is, how the pattern is applied, and the pattern."""

    file: str
    line: int
    use: str
    pattern: str
    flags: int


def sources() -> list[Path]:
    return sorted([*(ROOT / "nodelint").rglob("*.py"), *(ROOT / "rules").glob("*.py")])


def collect(path: Path) -> list[Use]:
    """The calls of `re` in a file. A name of a function's own stands for a word."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    namespace: dict[str, Any] | None = None
    found: list[Use] = []
    nodes = list(ast.walk(tree))
    for node in nodes:
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
            continue
        if not (isinstance(node.func.value, ast.Name) and node.func.value.id == "re" and node.func.attr in USES):
            continue
        namespace = namespace if namespace is not None else loaded(path)
        patterns = [value for value in values(node.args[0], namespace) if isinstance(value, str)]
        place = {"compile": 1, "sub": 4, "subn": 4, "split": 3}.get(node.func.attr, 2)
        given = [key.value for key in node.keywords if key.arg == "flags"] + node.args[place : place + 1]
        flags = int(values(given[0], namespace)[0]) if given else 0
        uses = applications(nodes, node) if node.func.attr == "compile" else [node.func.attr]
        file = str(path.relative_to(ROOT))
        found += [Use(file, node.lineno, use, pattern, flags) for pattern in patterns for use in uses]
    contents = list(constants(path, tree))
    called = {use.pattern for use in found}
    whole = called | {use.pattern for use in contents}
    # A part of another pattern is measured there, and what is called where it is called.
    parts = {use.pattern for use in contents if any(use.pattern in value for value in whole - {use.pattern})}
    return found + [use for use in contents if use.pattern not in called | parts]


def constants(path: Path, tree: ast.Module) -> Iterator[Use]:
    """Patterns that a module holds by name, which get to `re` by way of a function's parameters."""
    text = path.read_text(encoding="utf-8")
    if not re.search(r"(?m)^\s*(import re$|from nodelint\.\S* import)", text):
        return
    lines = text.split("\n")
    for node in tree.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        written = "\n".join(lines[node.value.lineno - 1 : node.value.end_lineno])
        if not re.search(r"(?<![\w\"'])(?:rf?|fr)[\"']", written):
            continue
        for found in values(node.value, loaded(path)):
            for pattern in strings(found):
                yield Use(str(path.relative_to(ROOT)), node.lineno, "finditer", pattern, 0)


def strings(value: Any) -> Iterator[str]:
    """The patterns in a value: itself, or in a table of them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, tuple | list | set | frozenset):
        for item in value:
            yield from strings(item)


def applications(nodes: Sequence[ast.AST], expected: ast.expr) -> list[str]:
    """How a compiled pattern, or the text of one, is applied; in the way that costs most where that is not seen."""
    names = {
        target.id
        for node in nodes
        if isinstance(node, ast.Assign) and node.value is expected
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    found = set()
    for node in nodes:
        if not (isinstance(node, ast.Attribute) and node.attr in USES):
            continue
        if node.value is expected or (isinstance(node.value, ast.Name) and node.value.id in names):
            found.add(node.attr)
    return sorted(found - {"compile"}) or ["finditer"]


def loaded(path: Path) -> dict[str, Any]:
    if path.parent.name == "rules":
        spec = importlib.util.spec_from_file_location(path.stem.replace("-", "_"), path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    else:
        module = importlib.import_module(
            ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        )
    return {**vars(module), "re": re}


class _Words(dict[str, Any]):
    def __missing__(self, key: str) -> Any:
        import builtins

        return getattr(builtins, key, "name")


def values(node: ast.expr, namespace: dict[str, Any]) -> list[Any]:
    """What an expression comes to; each way of a choice."""
    if isinstance(node, ast.IfExp):
        return values(node.body, namespace) + values(node.orelse, namespace)
    code = compile(ast.Expression(node), "pattern", "eval")
    try:
        return [eval(code, _Words({**namespace, "__builtins__": {}}))]
    except (AttributeError, TypeError, KeyError, IndexError, ValueError):
        return ["name"]


# -- texts of a pattern's parts


def texts(pattern: str, flags: int) -> Iterator[tuple[str, str, str]]:
    """A beginning, what is repeated and an end, for each part of a pattern that can be long."""
    parsed = _parser.parse(pattern, flags)
    seen = set()
    pumps: list[tuple[str, str]] = list(_pumps(parsed, ""))
    if not pumps:
        return  # at each place it looks at so many characters at most
    words = [sample(parsed, n) for n in (0, 1, 2)]
    # A search begins anew at each place: the beginning of a match, and all of one, over and over.
    pumps += [("", word) for word in words] + [("", word[: len(word) // 2 + 1]) for word in words]
    pumps += [("", word[:-1]) for word in words] + [("", before + pump) for before, pump in list(pumps)]
    for before, pump in pumps:
        for start in (before, ""):
            for end in ("", "\x00", "\n", " \x00", "!\n", "\ue001"):
                key = (start, pump, end)
                if pump and key not in seen:
                    seen.add(key)
                    yield key


def _pumps(parsed: Any, before: str) -> Iterator[tuple[str, str]]:
    for operation, about in parsed:
        if operation in (sre.MAX_REPEAT, sre.MIN_REPEAT, getattr(sre, "POSSESSIVE_REPEAT", None)):
            _, most, body = about
            if most == sre.MAXREPEAT or most > 50:
                for n in range(4):
                    yield before, sample(body, n)
            yield from _pumps(body, before)
        elif operation is sre.SUBPATTERN:
            yield from _pumps(about[3], before)
        elif operation is getattr(sre, "ATOMIC_GROUP", None):
            yield from _pumps(about, before)
        elif operation is sre.BRANCH:
            for value in about[1]:
                yield from _pumps(value, before)
        elif operation in (sre.ASSERT, sre.ASSERT_NOT):
            yield from _pumps(about[1], before)
        before += sample([(operation, about)], 0)


def sample(parsed: Any, choice: int) -> str:
    """A text that a part of a pattern matches, leaving look-arounds aside; `choice` tells several apart."""
    out = []
    for operation, about in parsed:
        if operation is sre.LITERAL:
            out.append(chr(about))
        elif operation is sre.NOT_LITERAL:
            out.append(next(c for c in "a- x"[choice % 2 :] + "b" if ord(c) != about))
        elif operation is sre.ANY:
            out.append("a .-"[choice % 4])
        elif operation is sre.IN:
            out.append(_choose(about, choice))
        elif operation in (sre.MAX_REPEAT, sre.MIN_REPEAT, getattr(sre, "POSSESSIVE_REPEAT", None)):
            least, most, body = about
            times = max(least, min(most, 1)) if choice != 2 else least
            out.append(sample(body, choice) * min(times, 40))
        elif operation is sre.SUBPATTERN:
            out.append(sample(about[3], choice))
        elif operation is getattr(sre, "ATOMIC_GROUP", None):
            out.append(sample(about, choice))
        elif operation is sre.BRANCH:
            out.append(sample(about[1][choice % len(about[1])], choice))
    return "".join(out)


_TRIED = "aA0 _-.\n\t\"'{}[]()<>$%:/,=*?\\#`|~+!@&;^x\xa0é\ue000" + "".join(map(chr, range(33, 127)))


def _choose(items: Any, choice: int) -> str:
    negated = bool(items) and items[0][0] is sre.NEGATE
    found = [c for c in _TRIED if _within(items[negated:], c) != negated]
    return found[choice % len(found)] if found else ""


def _within(items: Any, character: str) -> bool:
    code = ord(character)
    for operation, about in items:
        if operation is sre.LITERAL and about == code:
            return True
        if operation is sre.RANGE and about[0] <= code <= about[1]:
            return True
        if operation is sre.CATEGORY:
            name = str(about).lower()
            kind = r"\d" if "digit" in name else r"\s" if "space" in name else r"\w"
            if (character in _of_kind(kind)) != ("not" in name):
                return True
    return False


@cache
def _of_kind(kind: str) -> frozenset[str]:
    return frozenset(re.findall(kind, _TRIED))


# -- times


def applied(use: Use) -> Callable[[str], object]:
    compiled = re.compile(use.pattern, use.flags)
    if use.use in ("match", "search", "fullmatch"):
        return getattr(compiled, use.use)  # type: ignore[no-any-return]
    return lambda text: deque(compiled.finditer(text), maxlen=0)


class TooLong(Exception):
    """A text took more than `_ENOUGH`."""


def _stop(number: int, frame: object) -> None:
    raise TooLong


def seconds(do: Callable[[str], object], text: str) -> float:
    """CPU that a text takes. `re` looks for signals now and then, so that one without end is ended."""
    signal.setitimer(signal.ITIMER_VIRTUAL, _ENOUGH)
    before = time.process_time()
    try:
        do(text)
        return time.process_time() - before
    except TooLong:
        return float("inf")
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def growth(do: Callable[[str], object], start: str, pump: str, end: str) -> tuple[float, int] | None:
    """By how much CPU grows where a text is twice as long, with its length; None where that is little."""

    def cost(size: int, least: float = 0.0) -> float:
        text = start + pump * (size // len(pump) + 1) + end
        total, rounds = seconds(do, text), 1
        while total < least:
            total, rounds = total + seconds(do, text), rounds + 1
        return total / rounds

    if cost(_LONG) < _LEAST / 16:
        return None
    for size in (16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192):
        if (many := cost(size)) < _LEAST:
            continue
        # Both for long enough that the clock's own steps do not count. The least of each stands: another process,
        # or a change of the processor's pace, adds to CPU and takes none away.
        few = many = float("inf")
        for _ in range(6):
            few, many = min(few, cost(size // 2, _LEAST * 4)), min(many, cost(size, _LEAST * 4))
            if many <= MOST * few:
                return None
            if many < float("inf") and cost(size * 2, _LEAST * 4) <= MOST * many:
                return None  # what takes more than in proportion does so from either length to the next
        return many / few, size
    return None


def measured(path: Path) -> Iterator[tuple[Use, float, int, tuple[str, str, str]]]:
    for use in dict.fromkeys(collect(path)):
        do = applied(use)
        for start, pump, end in texts(use.pattern, use.flags):
            if (grown := growth(do, start, pump, end)) is not None:
                yield use, *grown, (start, pump, end)
                break


if __name__ == "__main__":
    import resource

    resource.setrlimit(resource.RLIMIT_CPU, (300, 300))
    signal.signal(signal.SIGVTALRM, _stop)
    sys.path.insert(0, str(ROOT))
    for name in sys.argv[1:]:
        for use, grown, length, parts in measured(Path(name).resolve()):
            print(json.dumps([use.file, use.line, use.use, use.pattern, round(grown, 1), length, parts]), flush=True)
