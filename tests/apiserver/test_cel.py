"""CEL as an API server evaluates it."""

import json
import re

import pytest

from nodelint.apiserver import cel
from nodelint.apiserver.cel import text as cel_text
from nodelint.apiserver.rules import _parts, _plainly_holds
from tests.conftest import ROOT


def run(expression, value=None):
    return cel.compile(expression).run(value)


def test_functions_of_kubernetes():
    assert run("self.find('^[^@]+')", "al2@latest") == "al2"
    assert run("self.find('[0-9]+')", "none") == ""
    assert run("self.split('@')", "a@b@") == ["a", "b", ""]
    assert run("self.split('')", "ab") == ["a", "b"]
    assert run("self.findAll('[0-9]')", "a1b2c3") == ["1", "2", "3"]
    assert run("self.findAll('[0-9]', 2)", "a1b2c3") == ["1", "2"]
    assert run("self.findAll('[0-9]', 0)", "a1b2c3") == []
    assert run("self.findAll('[0-9]', -1)", "a1b2c3") == ["1", "2", "3"]
    assert run("self.lowerAscii()", "AL2é") == "al2é"
    assert run("self.indexOf('b')", "abc") == 1
    assert run("self.indexOf('b')", ["a", "b", "b"]) == 1
    assert run("self.lastIndexOf('b')", ["a", "b", "b"]) == 2
    assert run("self.indexOf('c')", ["a"]) == -1
    assert run("self.indexOf('b', 2)", "abcb") == 3
    assert run("self.lastIndexOf('b')", "abcb") == 3
    assert run("self == '.indexOf(' && self.?a.hasValue() == false || self.indexOf('i') == 1", ".indexOf(") is True
    assert run("self.isSorted()", [1, 1, 2]) is True
    assert run("self.isSorted()", ["b", "a"]) is False
    assert run("self.sum()", [1, 2, 3]) == 6
    assert run("self.max() - self.min()", [4, 9, 2]) == 7
    assert run("self.?a.orValue('none')", {}) == "none"


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("quantity('1000m') == quantity('1')", True),
        ("quantity('1Gi').isGreaterThan(quantity('1G'))", True),
        ("quantity('1k').compareTo(quantity('1000'))", 0),
        ("quantity('1').add(quantity('500m')).sub(1).asApproximateFloat()", 0.5),
        ("quantity('2k').asInteger()", 2000),
        ("quantity('100m').isInteger()", False),
        ("isQuantity('1.5Gi') && !isQuantity('1.5 Gi')", True),
        ("quantity('-1').sign()", -1),
        ("url('https://example.com:80/a?b=c').getHost()", "example.com:80"),
        ("url('https://example.com:80/a?b=c').getHostname()", "example.com"),
        ("url('https://example.com/a?b=c').getQuery()['b'][0]", "c"),
        ("isURL('/path') && !isURL('no url')", True),
        ("ip('10.0.0.1').family()", 4),
        ("isIP('fe80::1') && !isIP('10.0.0')", True),
        ("cidr('10.0.0.0/8').containsIP('10.1.2.3')", True),
        ("cidr('10.0.0.0/8').containsCIDR('11.0.0.0/24')", False),
        ("cidr('10.0.0.0/8').prefixLength()", 8),
        ("duration('90s') > duration('1m')", True),
    ],
)
def test_values_of_kubernetes(expression, value):
    assert run(expression) == value


def test_integers_are_read_as_go_reads_them():
    assert run("int(self)", "+7") == 7
    for text in (" 1", "1.0", "", "99999999999999999999", "1_0"):
        with pytest.raises(cel.EvaluationError):
            run("int(self)", text)
    assert run("self == 'int(7)'", "int(7)") is True


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("^a$", "a\n", False),
        ("^a$", "a", True),
        (r"^\d$", "٣", False),
        ("b", "abc", True),
        ("(?i)^AB$", "ab", True),
    ],
)
def test_patterns_are_those_of_re2(pattern, text, found):
    assert cel.matches(text, pattern) is found
    assert (cel_text.find(text, pattern) != "") is found


def test_find_knows_named_classes_and_literal_brackets():
    assert cel_text.find("x]9", "[[:digit:]]") == "9"
    assert cel_text.find("x]9", "[]a]") == "]"


def test_a_pattern_that_does_not_compile_is_unsupported():
    with pytest.raises(cel.Unsupported):
        cel.matches("a", "(?<=x)a")
    with pytest.raises(cel.Unsupported, match="not supported"):
        run(r"self.find('\\pL')", "a")


def test_what_does_not_compile_is_unsupported_each_time():
    for _ in range(2):
        with pytest.raises(cel.Unsupported, match="authorizer"):
            cel.compile("authorizer.path('/x').check('get').allowed()")


def test_an_error_breaks_a_rule():
    program = cel.compile("self.values.size() > 0")
    assert not program.holds({})
    assert program.holds({"values": ["a"]})
    with pytest.raises(cel.EvaluationError):
        program.run({})


def test_an_error_is_absorbed_where_the_other_side_decides():
    assert cel.compile("self.a == 'x' || true").holds({})


def test_the_literals_of_an_expression():
    assert cel.compile("self == 'a' || self == \"b\" || self == 'a'").texts() == ("a", "b")


MISLEADING = (
    "!(self == 'a' || has(self.b))",
    "self == 'a' && self != 'b'",
    "self.b != 'a' && self.c != 'b'",
    "self in ['a', 'b'] && self in ['b']",
    "self.b == 'a' ? self.c == 'a' : self.c == 'b' || has(self.b)",
    "self.all(k, k != 'b' || self[k] in ['a'])",
    "!(self != 'a' || self in ['b'])",
    "self == 'a\\\\' || self == 'b'",
    "(has(self.a) || has(self.b) || has(self.c)) && self.a == 'a'",
    "!(has(self.a) || has(self.b) || has(self.c))",
    "(self.a == ')' || has(self.b) || has(self.c)) && self.a == 'b'",
    "{'a': self.a == 'b' || has(self.b) || has(self.c)}['a'] && has(self.a)",
    "(self.a == '(' || has(self.b) || self.a == ')') && has(self.c)",
    "(self.a == 'it' || has(self.b) || self.a == \"'\") && has(self.c)",
    "!(self.a in ['a', 'b']) && has(self.b)",
    "!(self.a in ['a', 'b'] || self.b in ['a'])",
    "self.size() < 2 && self[0] == 'a'",
    "!(self.size() < 2 || self[0] == 'b')",
    "!self.matches('^[^/]*a.c(/|$)')",
    "!self.matches('^[^/]*a[.]c(/|$)') && self.startsWith('a')",
)


DOMAINS = (
    *("a.c", "abc", "x.a.c", "xa.c/y", "a.c.d/y", "y/a.c", "karpenter.sh", "x.karpenter.sh/y", "y/karpenter.sh"),
    *("kubernetes.io/x", "x/kubernetes.io/y", "\nkubernetes.io", "kubernetes.io\n/x", "karpenter.k8s.aws/x"),
    *("/k8s.io", "a.k8s.io"),
)


def bundled_rules() -> list[str]:
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "schemas").glob("*-v1*.json")]
    found: list[str] = []
    for text in texts:
        json.loads(text, object_hook=lambda value: found.append(value["rule"]) if "message" in value else value)
    return [rule for rule in dict.fromkeys(found) if isinstance(rule, str)]


def test_what_plainly_holds_holds() -> None:
    """A rule that is met at a glance is met in CEL, whatever the value; and most rules have parts that can be."""
    rules = [*bundled_rules(), *MISLEADING]
    read = [rule for rule in rules if _parts(rule)]
    assert len(read) > len(rules) / 3
    for rule in rules:
        names = re.findall(r"self\.(\w+)", rule)
        literals = [*cel.compile(rule).texts(), "a", "b", "", "windows2025@latest", *DOMAINS]
        values = [*literals, *({name: text} for name in [*names, "a", "b"] for text in literals), {}, 3, True]
        values += [["a"], ["b"], ["a", "b"], []]
        values += [{first: text, "c": "b"} for first in [*names, "b"] for text in literals]
        for value in values:
            assert not _plainly_holds(rule, value) or cel.compile(rule).holds(value), (rule, value)


@pytest.mark.parametrize(
    ("less", "same"),
    [
        *(("1000n", "1u"), ("1000u", "1m"), ("1000m", "1"), ("1000", "1k"), ("1000k", "1M"), ("1000M", "1G")),
        *(("1000G", "1T"), ("1000T", "1P"), ("1000P", "1E"), ("1024", "1Ki"), ("1024Ki", "1Mi"), ("1024Mi", "1Gi")),
        *(("1024Gi", "1Ti"), ("1024Ti", "1Pi"), ("1024Pi", "1Ei")),
    ],
)
def test_each_suffix_of_a_quantity_counts_what_it_says(less: str, same: str) -> None:
    assert run(f"quantity('{less}').compareTo(quantity('{same}'))") == 0
    assert run(f"quantity('{less}').isLessThan(quantity('1{same}'))") is True
