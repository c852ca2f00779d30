"""Evaluate the CEL rules of a value, and report each failure at the most exact place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import combinations, count, repeat

from nodelint.apiserver import cel
from nodelint.apiserver import problems as schema_words
from nodelint.apiserver.problems import SchemaProblem
from nodelint.apiserver.schema_node import SchemaNode, Validation
from nodelint.apiserver.walk_state import Job, WalkState
from nodelint.base.types import Any
from nodelint.model.messages import LONGEST_MESSAGE
from nodelint.text import Node, UnknownValue
from nodelint.text.placeholders import depth

_held: dict[tuple[str, str, type], bool] = {}
_CACHED = 50_000
_LONGEST = 400
"""The most characters of a value whose verdict is cached."""

_MIXED = 400
_BRANCHES = 6
_LOOP = r"(?m)^[ \t]*(?:\{\{|\{%|%\{|<%)[-~+=]?\s*(?:range|for)\b"
"""The first line of a loop in template code."""

_BLANK = None
"""Represents an unknown value: it exists, equals no other value, and every function fails on it."""


def matches(text: str, pattern: str, shape: SchemaNode) -> bool:
    """Return whether the pattern of a schema matches somewhere in a text. True for a pattern that does not
    compile.
    """
    try:
        return cel.matches(text, pattern, foreign=shape.foreign)
    except cel.Unsupported:
        return True


def broken(job: Job, state: WalkState) -> Iterator[SchemaProblem]:
    """Yield a problem for each CEL rule that the value at a place violates."""
    failed = []
    for rule in job.shape.rules:
        if _plainly_holds(rule.rule, job.value):
            continue
        try:
            program = cel.compile(rule.rule)
            if _holds(program, job.value):
                continue
            if not _excused(program, job, state):
                failed.append((rule, program))
            elif _reads_unsound(program, job.value):
                message = f"a field that it needs is missing or has the wrong type: {' '.join(rule.message.split())}"
                yield SchemaProblem("unjudged", state.head(job.node), job.path, message)
        except cel.NotInstalled as error:
            yield SchemaProblem("unjudged", state.obj.name_node, "", str(error))
        except cel.Unsupported:
            continue
    lasting = [pair for pair in failed if pair[0].until is None]
    for rule, program in lasting or failed[:1]:
        problem = _problem(rule, program, job, state)
        if problem is not None:
            yield problem


def _plainly_holds(rule: str, value: Any) -> bool:
    """Return whether an operand of a rule `a || b` is obviously true. Most rules have such an operand and need
    not be compiled.
    """
    for form, name, texts in _parts(rule):
        if isinstance(value, dict):
            given = value.get(name)
            holds = (form == "has" and name in value) or (form == "lacks" and name not in value)
            if holds or (form == "field is not" and isinstance(given, str) and given not in texts):
                return True
        elif isinstance(value, str):
            if (form == "is" and value in texts) or (form == "is not" and value not in texts):
                return True
            if form == "starts not with" and not value.startswith(texts):
                return True
            if form == "is of no domain" and not value.partition("/")[0].endswith(texts):
                return True
        elif form == "is shorter" and isinstance(value, list) and len(value) < int(texts[0]):
            return True
    return False


@cache
def _parts(rule: str) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    """Return the operands of a rule that have one of the common forms.

    The first and the last operand count, and those between them before which all brackets are closed.
    """
    if "?" in rule:
        return ()
    parts = rule.split(" || ")
    before = ""
    found = []
    for number, part in enumerate(parts):
        if number in (0, len(parts) - 1) or _is_closed(before):
            found.append(_form(part))
        before += part
    return tuple(form for form in found if form is not None)


def _is_closed(text: str) -> bool:
    """Return whether all brackets of a text are balanced outside of single quotes.

    Also False if it has double quotes, backslashes or an odd single quote, because those are not parsed here.
    """
    bare = "".join(text.split("'")[::2])
    if "\\" in text or '"' in text or text.count("'") % 2:
        return False
    return all(bare.count(first) == bare.count(last) for first, last in ("()", "[]", "{}"))


def _form(part: str) -> tuple[str, str, tuple[str, ...]] | None:
    """Return the name of an operand's form, the field and the texts in it. None if it has no known form."""
    for sign, form in (("has(self.", "has"), ("!has(self.", "lacks")):
        if part.startswith(sign) and part.endswith(")") and _is_name(part[len(sign) : -1]):
            return form, part[len(sign) : -1], ()
    for sign, end, form in (("self != ", "", "is not"), ("self == ", "", "is"), ("self in [", "]", "is")):
        if part.startswith(sign) and part.endswith(end):
            texts = _texts(part[len(sign) :].removesuffix(end))
            return None if texts is None or (len(texts) > 1 and not end) else (form, "", texts)
    if part.startswith("!self.startsWith(") and part.endswith(")"):
        texts = _texts(part.removeprefix("!self.startsWith(").removesuffix(")"))
        return None if texts is None or len(texts) > 1 else ("starts not with", "", texts)
    name, among, text = part.removeprefix("!(self.").removesuffix("])").partition(" in [")
    if part == f"!(self.{name} in [{text}])" and among and _is_name(name):
        texts = _texts(text)
        return None if texts is None else ("field is not", name, texts)
    if part.startswith(_OF_NO_DOMAIN) and part.endswith(_DOMAIN_ENDS):
        names = part.removeprefix(_OF_NO_DOMAIN).removesuffix(_DOMAIN_ENDS).split("[.]")
        return ("is of no domain", "", (".".join(names),)) if all(map(_is_name, names)) else None
    if part.startswith("self.size() < ") and part.removeprefix("self.size() < ").isdigit():
        return "is shorter", "", (part.removeprefix("self.size() < "),)
    name, unequal, text = part.removeprefix("self.").partition(" != ")
    texts = _texts(text)
    if not part.startswith("self.") or not unequal or not _is_name(name) or texts is None or len(texts) > 1:
        return None
    return "field is not", name, texts


_OF_NO_DOMAIN, _DOMAIN_ENDS = "!self.matches('^[^/]*", "(/|$)')"
"""The text before and after the domain in rules about the keys of labels."""


def _is_name(text: str) -> bool:
    return text.replace("_", "a").isalnum()


def _texts(listed: str) -> tuple[str, ...] | None:
    """Return the texts of a list of plain literals. None for any other text."""
    if "\\" in listed or not (listed[:1] == listed[-1:] == "'" and len(listed) > 1):
        return None
    texts = tuple(listed[1:-1].split("', '"))
    return None if any("'" in text for text in texts) else texts


def _holds(program: cel.Program, value: Any) -> bool:
    shown = value if isinstance(value, str) else repr(value)
    key = (program.text, shown, type(value))
    if len(shown) > _LONGEST:
        return program.holds(value)
    known = _held.get(key)
    if known is None:
        known = program.holds(value)
        if len(_held) >= _CACHED:
            _held.clear()
        _held[key] = known
    return known


# -- what a rule cannot know


def _excused(program: cel.Program, job: Job, state: WalkState) -> bool:
    """Return whether the rule could be met if a placeholder, or the missing part of a partial object, were known."""
    value = job.value
    if state.unknowns and schema_words.holds_unknown(value):
        if _could_hold(program, _fill_unknowns(value, repeat(_BLANK)), True):
            return True
        for probes in _guesses(program, value):
            if _could_hold(program, _fill_unknowns(value, probes), False):
                return True
        if _holds_loop(job):
            longer = _fill_unknowns(_lengthen(value), count())
            if _could_hold(program, longer, False):
                return True
        if not state.partial:
            return False
        value = _fill_unknowns(value, repeat(_BLANK))
    if state.partial:
        forms = (*_completed(value, job.shape), *_branches(value, job, state))
        return any(_could_hold(program, form, True) for form in forms)
    return False


def _reads_unsound(program: cel.Program, value: Any) -> bool:
    """Return whether the result of a rule depends on a value of the wrong type."""
    return schema_words.holds_unsound(value) and not _could_hold(
        program, _fill_unknowns(value, repeat(_BLANK)), False
    )


def _guesses(program: cel.Program, value: Any) -> Iterator[Iterator[Any]]:
    """Yield possible values for the unknowns of a value: all equal, all different, then mixed. The mix is the same in
    each run.
    """
    guess = ("", "x" * 40, 0, 1, 10**6, True, *program.texts(), *_scalars(value))
    yield from map(repeat, guess)
    yield count()
    yield count(10**6, -1)
    if sum(1 for _ in _unknowns(value)) > 1:
        from random import Random

        chance = Random(0)
        for _ in range(_MIXED):
            yield iter(lambda: chance.choice(guess), object())


def _holds_loop(job: Job) -> bool:
    """Return whether the value contains template code of a loop, so that the number of entries is not known."""
    node = job.node
    return node.source.masked and re.search(_LOOP, node.source.text[node.start : node.end]) is not None


def _lengthen(value: Any) -> Any:
    """Return a value in which lists with unknown entries have fifty more of them."""
    if isinstance(value, dict):
        return {key: _lengthen(inner) for key, inner in value.items()}
    if not isinstance(value, list):
        return value
    more = [entry for entry in value if isinstance(entry, UnknownValue)][:1] * 50
    return [*map(_lengthen, value), *more]


def _unknowns(value: Any) -> Iterator[UnknownValue]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for unknown in inner:
        yield from _unknowns(unknown)
    if isinstance(value, UnknownValue):
        yield value


def _could_hold(program: cel.Program, value: Any, error_counts: bool) -> bool:
    try:
        return program.run(value) is True
    except cel.EvaluationError:
        return error_counts


def _fill_unknowns(value: Any, probes: Iterator[Any]) -> Any:
    """Return a value in which each unknown is replaced by the next of the probes."""
    if isinstance(value, dict):
        return {key: _fill_unknowns(filled, probes) for key, filled in value.items()}
    if isinstance(value, list):
        return [_fill_unknowns(item, probes) for item in value]
    return next(probes) if isinstance(value, UnknownValue) else value


def _scalars(value: Any) -> Iterator[Any]:
    """Yield about twenty scalars of a value at most: an unknown may be equal to one of them."""
    found: dict[Any, None] = {}
    pending = [value]
    while pending and len(found) < 20:
        scalar = pending.pop()
        if isinstance(scalar, dict):
            pending.extend(scalar.values())
        elif isinstance(scalar, list):
            pending.extend(scalar)
        elif isinstance(scalar, (str, int)):
            found[scalar] = None
    yield from found


def _completed(value: Any, shape: SchemaNode, siblings: frozenset[str] = frozenset()) -> Iterator[Any]:
    """Yield a partial value with one more field, or with more entries, that another file may add.

    `siblings` are the keys of the maps around it, which a map may have to match.
    """
    if isinstance(value, dict):
        yield from _completed_map(value, shape, siblings)
    elif isinstance(value, list) and shape.items is not None:
        yield from _completed_list(value, shape.items, siblings)


def _completed_map(value: dict[str, Any], shape: SchemaNode, siblings: frozenset[str]) -> Iterator[Any]:
    keys = frozenset(key for item in value.values() if isinstance(item, dict) for key in item)
    for name in shape.fields:
        child = shape.field(name)
        if name not in value:
            for blank in _blanks(child, keys):
                yield {**value, name: blank}
        elif child is not None:
            for more in _completed(value[name], child, keys):
                yield {**value, name: more}
    if shape.extra is not None:
        yield {**dict.fromkeys(siblings, _BLANK), **value, "\0": _BLANK}
        yield {**dict.fromkeys(siblings, _BLANK), **value}


def _completed_list(value: list[Any], items: SchemaNode, siblings: frozenset[str]) -> Iterator[Any]:
    for index, item in enumerate(value):
        for more in _completed(item, items):
            yield [*value[:index], more, *value[index + 1 :]]
    for name in items.fields:
        for blank in _blanks(items.field(name), siblings):
            yield [{name: blank, **item} if isinstance(item, dict) else item for item in value]
    for blank in _blanks(items, siblings):
        yield [*value, blank]
        yield [*value, *[blank] * 50]


def _branches(value: Any, job: Job, state: WalkState) -> Iterator[Any]:
    """Yield the value without some parts that a template writes under a condition: not every branch is rendered."""
    document, node = state.obj.document, job.node
    if not document.templated or not isinstance(value, (dict, list)):
        return

    def conditional(at: Node) -> bool:
        return depth(node.source.text, document.start, at.start) > outside

    outside = depth(node.source.text, document.start, state.head(node).start)
    if isinstance(value, dict):
        names: list[Any] = [e.name for e in node.entries if e.name in value and conditional(e.key)]
    else:
        names = [i for i, item in enumerate(node.items) if i < len(value) and conditional(item)]
    names = names[:_BRANCHES]
    for size in range(1, len(names) + 1):
        for gone in combinations(names, size):
            if isinstance(value, dict):
                yield {key: branch for key, branch in value.items() if key not in gone}
            else:
                yield [branch for i, branch in enumerate(value) if i not in gone]


def _blanks(shape: SchemaNode | None, siblings: frozenset[str]) -> Iterator[Any]:
    """Yield values for a missing field: for lists and maps an empty one and a full one."""
    if shape is not None and shape.type == "object":
        yield {}
        if shape.extra is not None:
            yield dict.fromkeys(siblings, _BLANK)
    elif shape is not None and shape.type == "array":
        yield []
        yield [_BLANK]
        yield [_BLANK] * 50
    else:
        yield _BLANK


# -- places and messages


def _problem(rule: Validation, program: cel.Program, job: Job, state: WalkState) -> SchemaProblem | None:
    node, path, value = job.node, job.path, job.value
    if _shape_is_to_blame(program, job, state):
        return None
    for step in rule.field_path:
        inner = node.get(step)
        if inner is None:
            break
        node, path, value = inner, f"{path}.{step}", None
    if not rule.field_path and node.kind != "scalar":
        node, path, value = _pinned(program, job)
        if node is job.node and node.kind == "mapping":
            # The whole mapping is reported at its key: its span would contain the problems of its parts.
            node = state.head(node)
    # A node with a structural problem is not reported again, unless the rule is violated whatever the value is.
    known = any(problem.node is node for problem in state.structural)
    if known and not (value is None and schema_words.holds_unsound(job.value)):
        return None
    if node.kind == "mapping" and any(p.layer == "unknown" and p.node.parent is node for p in state.structural):
        return None  # the missing field may be the unknown one, misspelt
    if rule.until is not None:
        what = schema_words.quote_value(value, 45) if isinstance(value, str) else f"`{schema_words.last(path)}`"
        message = schema_words.needs(what, rule.until, state.release)
        return SchemaProblem("release", node, path, schema_words.fit(message), since=rule.until)
    return SchemaProblem("validation", node, path, _message(rule, job.value, value))


def _shape_is_to_blame(program: cel.Program, job: Job, state: WalkState) -> bool:
    """Return whether the rule fails with an error because of a problem that is already reported."""
    value = job.value
    if schema_words.holds_unsound(value):
        value = _fill_unknowns(value, repeat(_BLANK))
    try:
        program.run(value)
    except cel.EvaluationError:
        inside = (job.path + ".", job.path + "[")
        return any(p.path == job.path or p.path.startswith(inside) for p in state.structural)
    return False


def _message(rule: Validation, value: Any, offender: Any) -> str:
    if rule.message_expression is not None:
        try:
            words = cel.compile(rule.message_expression).run(value)
            if isinstance(words, str) and words and len(words) <= LONGEST_MESSAGE:
                return words
        except (cel.EvaluationError, cel.Unsupported):
            pass  # an API server uses the plain message as well
    message = " ".join(rule.message.split())
    if isinstance(offender, str) and offender not in message:
        longer = f"{message}: {schema_words.quote_value(offender, 40)}"
        if len(longer) <= LONGEST_MESSAGE:
            return longer
    return schema_words.fit(message)


def _pinned(program: cel.Program, job: Job) -> tuple[Node, str, Any]:
    """Return node, path and value of the list entry, map key or last field without which the rule is met. The whole
    value if there is none.
    """
    node, path, value = job.node, job.path, job.value
    if isinstance(value, list) and len(value) > 1:
        guilty = [i for i, known_value in enumerate(value) if not program.holds([known_value])]
        if len(guilty) != 1 or not program.holds(value[: guilty[0]] + value[guilty[0] + 1 :]):
            guilty = [i for i in range(len(value)) if program.holds(value[:i] + value[i + 1 :])]
        if len(guilty) == 1:
            i = guilty[0]
            return node.items[i], f"{path}[{i}]", value[i]
    elif isinstance(value, list) and value:
        return node.items[0], f"{path}[0]", value[0]
    elif isinstance(value, dict) and job.shape.extra is not None:
        for name, known_value in value.items():
            key = node.key(name)
            if key is not None and not program.holds({name: known_value}):
                return key, f'{path}["{name}"]', name
    elif isinstance(value, dict):
        for entry in reversed(node.entries):
            name = entry.name
            if name in value and program.holds(
                {key: known_value for key, known_value in value.items() if key != name}
            ):
                return entry.key, path, None
    return node, path, None
