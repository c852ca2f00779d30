"""The part of CEL that is compiled to Python says what CEL's own runtime says, an error for an error."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodelint.apiserver import cel
from nodelint.apiserver.cel.subset import OutsideSubset, compile_subset
from nodelint.text import UNKNOWN
from tests.conftest import ROOT


def entries(node: Any, *names: str) -> Iterator[str]:
    """The texts that stand under some keys, however deep."""
    for key, value in node.items() if isinstance(node, dict) else enumerate(node if isinstance(node, list) else ()):
        if key in names and isinstance(value, str):
            yield value
        yield from entries(value, *names)


SCHEMAS = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(ROOT.glob("schemas/*.json"))]
RULES = sorted({text for schema in SCHEMAS for text in entries(schema, "rule", "messageExpression")})
PATTERNS = sorted({text for schema in SCHEMAS for text in entries(schema, "pattern")})
MORE = [
    "self.all(x, x > 1) || self.exists(x, x == 1)",
    "self.exists_one(x, x.size() == 1) && !(self.filter(x, x in ['a', 1]).size() > 0)",
    "self in {'a': 1} ? self : string(size(self)) + 'x'",
    "(self.a == self.b) != (self.b <= 1)",
    "self[0].a[1] == self['a'] || true",
    "int(self) >= 1 && self.matches('^[0-9]+$')",
]
NAMES = sorted({name for text in RULES for name in re.findall(r"\.([a-zA-Z]\w*)(?!\w*\()", text)} | {"a", "b"})
TEXTS = sorted({text for rule in RULES for text in re.findall(r"'([^'\\]{0,60})'", rule)})
TEXTS += [
    "",
    "1",
    "-1",
    "+1",
    " 1",
    "01",
    "9" * 25,
    "a",
    "é𝄞",
    "karpenter.sh/own",
    "al2@latest",
    "windows2022@v1",
    "a\n",
]
scalars = (
    st.sampled_from(TEXTS)
    | st.integers(-3, 3)
    | st.sampled_from([2**63 - 1, 2**63, 2**64, -(2**63), 1.0, 1.5, True, False, None, UNKNOWN])
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES + TEXTS), inner, max_size=4),
    max_leaves=8,
)


def outcome(program: cel.Program, value: Any) -> str:
    try:
        return repr(program.run(value))
    except cel.EvaluationError:
        return "an error"


def test_every_expression_of_a_schema_is_compiled() -> None:
    assert len(RULES) > 60 and all(compile_subset(text) for text in RULES)


@pytest.mark.parametrize("text", [*RULES, *MORE])
def test_subset_and_runtime_agree(text: str) -> None:
    """Values have the fields that the expression asks for, or are anything."""
    own, runtime = cel.SubsetProgram(text, compile_subset(text)), cel._compile(text, ("self",))
    fields = sorted(set(re.findall(r"\bself\.([a-zA-Z]\w*)(?!\w*\()", text)))
    inner = sorted(set(re.findall(r"\b[xy]\.([a-zA-Z]\w*)(?!\w*\()", text)))
    terms = st.lists(st.fixed_dictionaries({}, optional=dict.fromkeys(inner, scalars)), max_size=3)
    contents = st.fixed_dictionaries({}, optional=dict.fromkeys(fields, values | terms))

    @given(contents | terms | values)
    def agree(value: Any) -> None:
        assert outcome(own, value) == outcome(runtime, value)

    agree()


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_of_schemas_find_what_re2_finds(pattern: str) -> None:
    runtime = cel._compile("self.text.matches(self.pattern)", ("self",))

    @given(st.sampled_from(TEXTS) | st.text("ag0159.-_/@:\nsmhKGi%*éA ", max_size=12) | st.from_regex(pattern))
    def agree(text: str) -> None:
        assert cel.matches(text, pattern, foreign=False) is runtime.run({"text": text, "pattern": pattern})

    agree()


@pytest.mark.parametrize(
    "text", ["1.5 < self", "self.map(x, x)", "b'a' == self", "self ==", "other == 1", "1 - self"]
)
def test_all_else_is_left_to_the_runtime(text: str) -> None:
    with pytest.raises(OutsideSubset):
        compile_subset(text)


def test_patterns_of_others_are_read_in_proportion() -> None:
    """Python's expressions would take hours over this one."""
    assert cel.matches("a" * 200 + "!", "^(a+)+$") is False
