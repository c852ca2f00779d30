"""Sources: values as kubectl reads them, spans, documents, templates, and what cannot be read."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest

from nodelint.forms.terraform.hcl import Text
from nodelint.model.documents import objects
from nodelint.text import UNKNOWN, Node, Source, reread, reread_document
from nodelint.text.nodes import SourceText
from nodelint.text.syntax_errors import Unreadable
from nodelint.text.yaml import compose as compose_module
from nodelint.text.yaml.compose import _compose_again, compose
from tests.conftest import ROOT

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any


def root(text: str, mark: str = "# karpenter\n") -> Node:
    source = Source.from_text("x.yaml", mark + text)
    assert not source.problems
    assert not source.set_aside
    found = source.documents[0].root
    assert found is not None
    return found


def problem(text: str) -> tuple[str, str]:
    """The one problem's message, and the rest of the text from its place on."""
    source = Source.from_text("x.yaml", text)
    (found,) = source.problems
    assert found.message[0].islower() or not found.message[0].isalpha()
    assert not found.message.endswith(".")
    assert len(found.message) <= 100
    return found.message, source.text[found.offset :]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True), ("On", True), ("n", False), ("oN", "oN"), ("~", None), ("", None), ("NULL", None),
        ("0o17", 15), ("017", 15), ("089", 89.0), ("0x1F", 31), ("0b101", 5), ("-0b101", -5), ("1_000", 1000),
        ("+5", 5), ("1e3", 1000.0), (".5", 0.5), ("5.", 5.0), ("._", "._"), ("0x_", "0x_"), ("1e400", "1e400"),
        ("2020-01-01", "2020-01-01"), ("1:30", "1:30"), ("18446744073709551616", 18446744073709551616.0),
        ("'5'", "5"), ('"yes"', "yes"), ("!!str 5", "5"), ("! 5", "5"), ('!!int "5"', 5), ("!!float 5", 5.0),
        ("!!binary aGk=", "hi"), ("!!foo 1", "1"), ("!Sub x", UNKNOWN), ("a b", "a b"), ('"a\\\\/b"', "a\\/b"),
        ('"it\\\'s \\\\\'"', "it's \\'"), ("!!binary |\n  aGVs\n  bG8=\n", "hello"),
    ],
)  # fmt: skip
def test_scalars_are_those_of_kubectl(text: str, value: object) -> None:
    found = root(f"a: {text}").get("a")
    assert found is not None
    assert (found.value, type(found.value)) == (value, type(value))


def test_plain_is_what_json_would_carry() -> None:
    assert root("on: 1.0\n5: [~, 1.5]\n'null': {a: x}").plain() == {"true": 1, "5": [None, 1.5], "null": {"a": "x"}}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("1e3", "1000"), ("1.0", "1"), ("0x10", "16"), ("0.1", "0.1"), ("-0.07", "-0.07"), ("1e6", "1e+06"),
        ("16777217.0", "1.6777216e+07"), ("0.00001", "1e-05"), ("1e300", ".inf"), ("-1e300", "-.inf"),
        ("!!str 1e3", "1e3"), ("'1e3'", "1e3"), ("99999999999999999999", "1e+20"),
        (".inf", ".inf"), ("-.Inf", "-.inf"), (".NaN", ".nan"), ("!!float .inf", ".inf"), ("? .inf\n", ".inf"),
        ("!x foo", "foo"), ("!x 'foo'", "foo"), ("!x 1.50", "1.50"), ("!x ~", "~"), ("!!foo a", "a"),
        ("? !x |\n  a\n", "a\n"),
    ],
)  # fmt: skip
def test_a_key_is_written_as_the_api_server_gets_it(text: str, name: str) -> None:
    found = root(f"{text}: x")
    assert [entry.name for entry in found.entries] == [name]
    assert found.plain() == {name: "x"}


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("a: &x !!str  b # c", "b"),
        ("a: 'it''s' # c", "'it''s'"),
        ("a: |\n  x\n  y\n\n\nb: 1", "|\n  x\n  y"),
        ("a: >-  # c\n  x\n# d\nb: 1", ">-  # c\n  x"),
        ("a: |+\n  x\n\n", "|+\n  x"),
        ("a: &x\n  # c\n  b: 1 # d\n  # e\nc: 2", "b: 1"),
        ("a:\n- x # c\n-  y\n# d\nb: 1", "- x # c\n-  y"),
        ("a: [x, # c\n  y]  # d", "[x, # c\n  y]"),
        ("a: # c\nb: 1", ""),
        ("a: é\U0001f600", "é\U0001f600"),
    ],
)
@pytest.mark.parametrize("disguise", ["", "crlf", "bom"])
def test_spans_are_tight(text: str, span: str, disguise: str) -> None:
    mark = "# karpenter\n"
    if disguise == "crlf":
        text, span, mark = (t.replace("\n", "\r\n") for t in (text, span, mark))
    node = root(text, "\ufeff" + mark if disguise == "bom" else mark).get("a")
    assert node is not None
    assert node.text == span


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("{b: arn:aws:kms:us-east-1:1:key/x , c: 1}", ["b", "arn:aws:kms:us-east-1:1:key/x", "c", "1"]),
        ("[http://x/,fd00::1, 12:30 # c\n , b]", ["http://x/", "fd00::1", "12:30", "b"]),
        ("{http://x: 1, a:b, 'c':d}", ["http://x", "1", "a:b", "", "'c'", "d"]),
        ("[system:, {x:}, a: [b:]]", ["system:", "x:", "", "a", "b:"]),
        ("[a\n  b:c]", ["a\n  b:c"]),
    ],
)
def test_a_text_between_brackets_holds_colons(text: str, spans: list[str]) -> None:
    value = root(f"k: {text}").get("k")
    assert value is not None
    scalars = [node for node in value.walk() if node.kind == "scalar"]
    assert [node.text for node in scalars] == spans
    assert [node.value for node in scalars] == [
        {"": None, "1": 1, "'c'": "c", "a\n  b:c": "a b:c"}.get(span, span) for span in spans
    ]


def test_an_empty_value_stands_behind_its_mark() -> None:
    top = root("a: # c\nb:\n  -\n  - x")
    assert [top.source.text[: n.start][-2:] for n in (top.find("a"), top.find("b", 0)) if n] == ["a:", " -"]


def test_a_key_with_a_placeholder_has_no_name() -> None:
    top = root('"x/${A}": 1\n"x/${B}": 2')
    assert [entry.name for entry in top.entries] == [None, None]
    assert top.plain() == {"x/${A}": 1, "x/${B}": 2}


def test_paths_name_what_they_lead_to() -> None:
    top = root("spec:\n  - labels: {x/y: 1}")
    node = top.find("spec", 0, "labels", "x/y")
    assert node is not None
    assert node.path == 'spec[0].labels["x/y"]'
    assert top.path == ""
    assert [n.path for n in top.walk() if n.kind == "scalar"][-1] == node.path
    assert top.find("spec", 1) is None
    assert top.find("spec", 0, "labels", "x/y", "z") is None


def test_an_alias_is_written_where_it_stands() -> None:
    top = root("a: &x {k: [1]}\nb: *x")
    alias, inner = top.get("b"), top.find("b", "k", 0)
    assert alias is not None
    assert inner is not None
    assert (alias.text, alias.alias, alias.shared) == ("*x", True, False)
    assert (inner.text, inner.shared, inner.path) == ("1", True, "b.k[0]")
    assert top.find("a").aliased  # type: ignore[union-attr]
    assert top.plain() == {"a": {"k": [1]}, "b": {"k": [1]}}


def test_merged_keys_give_way_to_those_written_below() -> None:
    top = root("a: &a {x: 1, w: 2}\nb: &b {x: 3, z: 4}\nc:\n  <<: [*a, *b]\n  w: 0")
    c = top.get("c")
    assert c is not None
    assert c.plain() == {"w": 0, "x": 1, "z": 4}
    assert [(e.name, e.merged, e.value.shared) for e in c.entries] == [
        ("w", False, False),
        ("x", True, True),
        ("z", True, True),
    ]


@pytest.mark.parametrize(
    "text",
    ["${X}", "a-${X:-y}-b", "$(X)", "$CLUSTER_NAME", "'{{ x }}'", "{{ .Values.x }}", "pre-{{ x }}", "<cluster>",
     "<<CLUSTER>>", "<cluster>-node", "<your role>", "arn:aws:iam::<account-id>:role/x", "|\n  ${X}"],
)  # fmt: skip
def test_placeholders_are_unknown(text: str) -> None:
    value = root(f"a: {text}").get("a")
    assert value is not None
    assert value.value is UNKNOWN


@pytest.mark.parametrize(
    "text",
    ["a < b and c > d", "'<'", "5 > 3", "cost: $5"[6:], "a$b", "^x$", "J <j@x.com>",
     "'<powershell>ls</powershell>'", '"<powershell>\\nls\\n</powershell>\\n<persist>true</persist>"'],
)  # fmt: skip
def test_what_only_looks_like_a_placeholder_is_text(text: str) -> None:
    assert isinstance(root(f"a: {text}").get("a").value, str)  # type: ignore[union-attr]


STORED = ("uid: f5ebd01d-6971-4809-9777-325a3ba08be0", "resourceVersion: '7859105'", 'resourceVersion: "1"')


@pytest.mark.parametrize("given", STORED)
@pytest.mark.parametrize("style", ["block", "flow", "json", "list"])
def test_what_an_api_server_has_stored_holds_no_placeholders(given: str, style: str) -> None:
    key, _, value = given.partition(": ")
    metadata = {key: value.strip("\"'"), "name": "a"}
    values = ["$(echo ${X})", "${X}", "$X", "<cluster>", "{{ ds.meta }}", "__X__", "XXX", "x-POOL_NAME"]
    tree = {"metadata": metadata, "spec": values}
    if style == "block":
        lines = "".join(f"- {json.dumps(value)}\n" for value in values)
        text = f"metadata:\n  name: a\n  {given}\nspec:\n{lines}script: |\n  ${{X}}\n"
    elif style == "flow":
        text = f"metadata: {{name: a, {given}}}\nspec: {json.dumps(values)}\n"
    else:
        text = json.dumps({"items": [tree]} if style == "list" else tree)
    top = root(text)
    found = top.find("items", 0, "spec") if style == "list" else top.get("spec")
    assert found is not None
    assert found.plain() == values
    assert style != "block" or top.get("script").value == "${X}\n"  # type: ignore[union-attr]


@pytest.mark.parametrize("given", ["uid: ${UID}", "uid: 1000", "resourceVersion: ''", "# uid of it", "generation: 1"])
def test_other_objects_hold_placeholders(given: str) -> None:
    assert root(f"metadata:\n  name: a\n  {given}\nspec: <cluster>\n").get("spec").value is UNKNOWN  # type: ignore[union-attr]


def test_placeholders_in_a_flow_list_are_unknown() -> None:
    assert root("a: [${X}, {{ y }}, z]").plain() == {"a": [UNKNOWN, UNKNOWN, "z"]}


def test_a_script_keeps_its_variables() -> None:
    assert root("a: |\n  echo ${X}\n  <b>\n").plain() == {"a": "echo ${X}\n<b>\n"}


HELM = """{{- if .Values.on }}
apiVersion: karpenter.sh/v1
metadata: {name: {{ .x }}}
spec:
  role: {{ .Values.role | default "a: b" }} # c
  {{/* a comment
       of two lines */}}
  zones:
    {{- range .z }}
    - {{ . }}
    {{- end }}
  list:
    {{- toYaml .r | nindent 4 }}
  none: []
  script: |
    {{ .s }}
    echo ${Y}
{{- end }}
"""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_templates_are_read_around_their_code(newline: str) -> None:
    source = Source.from_text("x.yaml", HELM.replace("\n", newline))
    assert (source.problems, source.set_aside) == ([], [])
    (document,) = source.documents
    assert document.templated
    assert document.root is not None
    assert document.root.plain() == {
        "apiVersion": "karpenter.sh/v1",
        "metadata": {"name": UNKNOWN},
        "spec": {
            "role": UNKNOWN,
            "zones": [UNKNOWN],
            "list": UNKNOWN,
            "none": [],
            "script": UNKNOWN,
        },
    }
    role = document.root.find("spec", "role")
    assert role is not None
    assert role.text == '{{ .Values.role | default "a: b" }}'


def test_a_template_that_is_no_yaml_is_set_aside() -> None:
    source = Source.from_text("x.yaml", "k: karpenter\n{{ if a }}\nb: 1\nb: 2\n{{ end }}\n---\nkarpenter: 1\n")
    assert source.problems == []
    assert "twice" in source.set_aside[0].message
    assert [d.root is None for d in source.documents] == [True, False]


def test_variables_alone_excuse_no_fault() -> None:
    assert problem("karpenter: ${X}\na: 'b")[1] == "'b"


def test_documents_are_split_as_yaml_does() -> None:
    text = "# head\n---\na: karpenter\n--- # c\n{b: karpenter}\n...\n%YAML 1.1\n"
    text += "---\n# karpenter\nc: |\n  ---\n  x\n---\nother: [\n"
    source = Source.from_text("x.yaml", text)
    assert source.problems == []
    assert [d.root and d.root.plain() for d in source.documents] == [
        {"a": "karpenter"}, {"b": "karpenter"}, {"c": "---\nx\n"}, None,
    ]  # fmt: skip
    assert "".join(text[d.start : d.end] for d in source.documents) == text
    assert [d.index for d in source.documents] == [0, 1, 2, 3]


def test_one_broken_document_leaves_the_others() -> None:
    source = Source.from_text("x.yaml", "a: karpenter\n---\nb: [karpenter\n---\nc: karpenter\n")
    assert [d.root is None for d in source.documents] == [False, True, False]
    assert len(source.problems) == 1


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ("a: karpenter\nb: 'x\nc: 1\n", "could not find the end of the quoted text that starts here", "'x"),
        ("a: karpenter\nb: 1\na: 2\n", "the key `a` is set twice", "a: 2"),
        ("on: karpenter\n'true': 2\n", "the key `true` is set twice", "'true'"),
        ("a: karpenter\n\tb: 1\n", "a tab cannot indent YAML; use spaces", "\tb"),
        ("a: karpenter\nb: @x\n", "`@` cannot begin a value; put it in quotes", "@x"),
        ("a: karpenter: b\n", "a `:` cannot follow here; quote the text", ": b"),
        ("a: karpenter\nb: *x\n", "`*x` has no anchor `&x` above it", "*x"),
        ("a: &x [karpenter, *x]\n", "`*x` refers to a value that contains it", "*x"),
        ("karpenter: 1\n? [a]\n: 1\n", "a key must be a string, but this one is a list", "[a]"),
        ('karpenter: 1\na: "\\\\\\/"\n', "`\\/` is an escape in JSON alone; write `/`", '\\/"'),
        ('karpenter: "\\ud83d\\ude00"\n', "a `\\u` of half a character; write the character itself", "\\ud83d"),
        ('{karpenter: "\\ud83d\\ude00"}\n', "a `\\u` of half a character; write the character itself", "\\ud83d"),
        ('karpenter: !!binary "aGVs\n  bG8="\n', "the text tagged `!!binary` is not base64", '"aG'),
        ("--- {karpenter: 1}\n", "kubectl takes nothing but a comment behind `---`", "{"),
        (
            "a: 1\n---  !!map\nk: karpenter\n",
            "kubectl takes nothing but a comment behind `---`",
            "!!map",
        ),
        ("# c\n\n%YAML 1.1\n---\na: karpenter\n", "kubectl does not support directives; remove the line", "%YAML"),
        ("karpenter: 1\n~: 2\n", "a key must be a string, but this one is null", "~"),
        ("karpenter: {? }\n", "a key must be a string, but this one is null", "}"),
        (
            "karpenter: 1\n18446744073709551615: 2\n",
            "a key must be a string, but this one is too large a number",
            "18",
        ),
        ("karpenter: 1\n<<: 5\n", "`<<` needs a mapping, or a list of mappings", "5"),
        ("karpenter: .inf\n", "`.inf` is not a number in JSON, and Kubernetes takes no other", ".inf"),
        ("karpenter: [http://x?a=b]\n", "a `?` cannot stand in a text between brackets; put it in quotes", "http"),
        ("karpenter: [" + "a:, " * 120 + "]", "a `:` or `\\'` cannot stand here", ":, "),
        ("karpenter: !!int x\n", "`x` is not a value for the tag `!!int`", "x"),
        ("karpenter: a\0b\n", "the character U+0000 is not allowed in YAML", "\0b"),
        ("karpenter: \ud800\n", "the character U+D800 is not allowed in YAML", "\ud800"),
        ("karpenter: " + "[" * 101, "nested more than 100 levels deep", "["),
    ],
)
def test_what_cannot_be_read_is_said_with_its_place(text: str, message: str, place: str) -> None:
    found, rest = problem(text)
    assert found == message
    assert rest.startswith(place)


@pytest.mark.parametrize(
    "text",
    [
        "a:\n\ufeff  b: 2\n",
        "a: 1\n\ufeff# c\nb: 2\n",
        "a: 1\r\n\ufeff\r\nb: 2\r\n",
        "a: [1,\n\ufeff2]\n",
        "a: 'x\n  y'\n\ufeff# c\n",
        "a: |\n  x\n\ufeff  y\n",
    ],
)
def test_a_byte_order_mark_before_text_is_refused(text: str) -> None:
    """libyaml passes over one that begins a line; for Go's reader it is a part of the key, or an error."""
    message, rest = problem("karpenter: 1\n" + text)
    assert (message, rest[0]) == ("the character U+FEFF is not allowed in YAML", "\ufeff")


def test_a_byte_order_mark_within_a_text_stays() -> None:
    """As kubectl prints it."""
    assert root("a: 'x\n\ufeff  y'\nb: x\ufeffy\n").plain() == {"a": "x \ufeff  y", "b": "x\ufeffy"}


def test_aliases_cannot_grow_without_end() -> None:
    lines = [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)]
    assert "100,000" in problem("\n".join(["karpenter: 1", "a0: &a0 [x]", *lines]))[0]


def test_a_document_of_more_than_five_megabytes_is_not_read() -> None:
    filler = "# x\n" * 1_300_000
    assert "5 MB" in problem("apiVersion: karpenter.sh/v1\n" + filler)[0]
    values = Source.from_text("x", "karpenter: 1\n" + filler)
    assert values.problems == [] and "5 MB" in values.set_aside[0].message


def test_bytes_that_are_no_utf8() -> None:
    source = Source.from_bytes("x", "é: karpenter\nb: ".encode() + b"\xff\n")
    (found,) = source.problems
    assert (found.message, source.position(found.offset)[:2]) == ("the byte 0xff is not UTF-8", (2, 4))
    assert Source.from_bytes("x", b"\xff\x00 other").problems == []
    assert "UTF-16" in Source.from_bytes("x", "karpenter".encode("utf-16-le")).problems[0].message
    assert "UTF-32" in Source.from_bytes("x", "karpenter".encode("utf-32")).problems[0].message
    (found,) = Source.from_bytes("x", "karpenter: é".encode("utf-16") + b"\x00").problems
    assert (found.message, found.offset) == ("no UTF-16: truncated data", 13)


def test_json_has_its_own_escapes() -> None:
    text = '{"karpenter": "\\ud83d\\ude00\\/\\\\ud83d", "a": "\\ud83d", "b": 1e3}'
    source = Source.from_text("x.yaml", text)
    assert source.problems == []
    (document,) = source.documents
    assert document.root is not None
    assert document.root.plain() == {"karpenter": "😀/\\ud83d", "a": "\ufffd", "b": 1000}
    a = document.root.get("a")
    assert a is not None
    assert a.text == '"\\ud83d"'


@pytest.mark.parametrize("marker", ["--- {{ .x }}", "---", "--- # c", "---\t# c"])
def test_what_kubectl_takes_behind_a_marker(marker: str) -> None:
    source = Source.from_text("x.yaml", f"a: 1\n{marker}\nb: karpenter\n")
    assert source.problems == []


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_behind_a_byte_order_mark_is_read_and_written(encoding: str) -> None:
    data = "\ufeff# é\r\nkarpenter: 1\r\n".encode(encoding)
    source = Source.from_bytes("x.yaml", data)
    assert source.problems == []
    assert source.documents[0].root is not None
    assert source.documents[0].root.plain() == {"karpenter": 1}
    assert source.data == data
    assert reread(source, source.text.replace("1", "2")).data == data.replace(b"1", b"2")


@pytest.mark.parametrize("text", ["", "\n", "# karpenter\n", "---\n# karpenter", "karpenter", "...\n# karpenter"])
def test_next_to_nothing_is_no_problem(text: str) -> None:
    assert Source.from_text("x", text).problems == []


def test_positions_count_characters() -> None:
    source = Source.from_text("x", "\ufeffa: 1\r\né: 😀x\r\n")
    assert source.position(1)[:2] == (1, 1)
    assert source.position(source.text.index("x"))[:2] == (2, 5)
    assert [source.line(n) for n in (0, 1, 2, 3, 4)] == ["", "a: 1", "é: 😀x", "", ""]
    assert source.newline == "\r\n"


@pytest.mark.parametrize("path", sorted((ROOT / "examples").rglob("*.yaml")), ids=lambda path: path.name)
def test_both_libraries_read_a_file_alike(path: Path) -> None:
    """ruamel.yaml's parser reads first, PyYAML's where it refuses: what both take means the same in both."""
    text = path.read_text(encoding="utf-8")
    source = Source.from_text(str(path), text)

    def shape(nodes: list[Node | None]) -> list[object]:
        return [
            [(n.start, n.end, n.kind, n.style, n.value) for n in root.walk()] for root in nodes if root is not None
        ]

    first = compose(source, text, 0, masked=False)
    assert shape(first) == shape(_compose_again(source, text, 0, False, False, False)) != []


PAIR = """\
# the pool
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: a}
---
# the class
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: b}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: c}
"""


@pytest.mark.parametrize(
    "written",
    ["longer-name", "", "[", "${name}", '"x\\ny"', "{{ name }}", "1}\n---\nkind: {karpenter: x"],
)
@pytest.mark.parametrize(("index", "name"), [*enumerate("abc")])
def test_a_document_read_anew_is_what_it_is_in_the_whole_text(index: int, name: str, written: str) -> None:
    before = Source.from_text("a.yaml", PAIR)
    text = PAIR.replace(f"name: {name}", f"name: {written}")
    left, whole = reread_document(before, index, text), reread(before, text)
    assert left.text == whole.text
    assert [d.index for d in left.documents] == [d.index for d in whole.documents]
    assert [repr(o) for o in objects(left)] == [repr(o) for o in objects(whole)]
    assert [o.name for o in objects(left)] == [o.name for o in objects(whole)]
    assert [(p.offset, p.message) for p in left.problems] == [(p.offset, p.message) for p in whole.problems]
    assert [(a.offset, a.message) for a in left.set_aside] == [(a.offset, a.message) for a in whole.set_aside]
    new, expected = left.documents[index], whole.documents[index]
    assert (new.start, new.end) == (expected.start, expected.end)
    if new.root is not None and expected.root is not None:
        assert new.root.unquoted == expected.root.unquoted


def test_documents_that_no_edit_touches_are_not_read_again() -> None:
    before = Source.from_text("a.yaml", PAIR)
    contents = list(objects(before))
    after = reread_document(before, 1, PAIR.replace("name: b", "name: other"))
    assert [old is new for old, new in zip(contents, objects(after), strict=True)] == [True, False, True]


def _heredocs(count: int) -> str:
    """Return a file of Terraform with so many pairs, each pair in a heredoc, in one with quotes around it."""
    pairs = (PAIR.replace("name: ", f"name: p{n}") for n in range(count))
    return "".join(f'resource "k" "p{n}" {{\n  yaml_body = <<EOF\n{text}EOF\n}}\n' for n, text in enumerate(pairs))


@pytest.mark.parametrize(
    "written", ["longer-name", "", "[", "${name}", '"', "EOF", "x}\nEOF\n#", "1}\n---\nkind: {karpenter: x"]
)
@pytest.mark.parametrize("name", ["p0a", "p4b", "p7c"])
def test_a_document_of_a_heredoc_read_anew_is_what_it_is_in_the_whole_text(name: str, written: str) -> None:
    before = Source.from_text("a.tf", _heredocs(8))
    index = next(n for n, d in enumerate(before.documents) if name in before.text[d.start : d.end])
    text = before.text.replace(f"name: {name}", f"name: {written}")
    left, whole = reread_document(before, index, text), reread(before, text)
    assert len(left.documents) == len(whole.documents)
    assert [repr(o) for o in objects(left)] == [repr(o) for o in objects(whole)]
    assert [o.name for o in objects(left)] == [o.name for o in objects(whole)]
    assert [(p.offset, p.message) for p in left.problems] == [(p.offset, p.message) for p in whole.problems]
    new, expected = left.documents[index], whole.documents[index]
    assert (new.start, new.end) == (expected.start, expected.end)


def test_a_heredoc_read_anew_costs_no_more_in_a_file_of_many(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    begin = Text.__init__

    def count(words: Text, text: str, start: int, end: int, *more: Any, **others: Any) -> None:
        read.append(end - start)
        begin(words, text, start, end, *more, **others)

    def measure(pairs: int) -> int:
        before = Source.from_text("a.tf", _heredocs(pairs))
        read.clear()
        for index in (12, 13, 14):
            document = before.documents[index]
            body = before.text[document.start : document.end].replace("name: p", "name: other")
            reread_document(before, index, before.text[: document.start] + body + before.text[document.end :])
        return sum(read)

    monkeypatch.setattr(Text, "__init__", count)
    assert 0 < measure(40) == measure(10)


_SCALARS = (
    *("a", "1.5", ".inf", "~", "", "on", "${X}", "<x>", "{{ x }}", "{% x %}", "YOUR_ROLE", "'a'", '"${X}"', "&x a"),
    *("!!str 1", "a?", '"\\/"', "|\n  a", "*x", "<<", "0o17", '"\\u0061"', "\ufeffa"),
)


@pytest.mark.parametrize("form", ["a: {}\nb: {}\n", "a: [{}, {}]\n", "{}: a\n{}: b\n"])
def test_a_document_of_scalars_is_read_as_each_of_them_is(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing in a document can be a placeholder its scalars are not looked into: they read the same."""

    def read(text: str) -> object:
        try:
            [found] = compose(SourceText("x.yaml", text), text, 0, masked=False)
        except Unreadable as error:
            return error.offset, error.message
        assert found is not None
        return [(node.value, node.tag, node.style, node.start, node.end, node.raw) for node in found.walk()]

    texts = [form.format(*pair) for pair in product(_SCALARS, repeat=2)]
    quickly = [read(text) for text in texts]
    monkeypatch.setattr(compose_module, "may_hold_placeholder", lambda _: True)
    assert [read(text) for text in texts] == quickly
    assert sum(isinstance(value, list) for value in quickly) > 100
