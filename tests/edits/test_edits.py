"""Edits look like what stands around them: text before, text after, byte for byte."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from nodelint.edits import (
    NotEditable,
    add_document,
    add_item,
    add_key,
    add_object,
    apply,
    copy_document,
    insert_item,
    remove,
    replace,
    reread_edited,
    set_key,
    set_value,
    set_values,
)
from nodelint.model.finding import Edit
from nodelint.text import Node, Source
from tests.manifests import nodepool

POOL = """\
# karpenter
spec:
  requirements: # first
    # only flex
    - key: instance-family   # fam
      operator: In
      values: ["c7i-flex", "*"] # v
    - key: "capacity-type"
      operator: In
      values:
        - spot   # cheap
        - on-demand
  limits: {cpu: 100}
"""

Do = Callable[[Node], list[Edit]]


def edited(text: str, do: Do) -> str:
    """The text after edits; the same edits under CRLF and behind a byte order mark have to agree."""
    results = []
    for disguise in (text, text.replace("\n", "\r\n"), "\ufeff" + text):
        source = Source.from_text("x.yaml", disguise)
        root = source.documents[0].root
        assert root is not None
        results.append(apply(source.text, do(root)))
    plain, crlf, marked = results
    assert crlf == plain.replace("\n", "\r\n")
    assert marked == "\ufeff" + plain
    return plain


def node_at(*path: str | int) -> Callable[[Node], Node]:
    def find(root: Node) -> Node:
        node = root.find(*path)
        assert node is not None
        return node

    return find


ARCH = {"key": "arch", "operator": "In", "values": ["amd64"]}
LINES = node_at("spec", "requirements")


def swap(old: str, new: str) -> str:
    assert POOL.count(old) == 1
    return POOL.replace(old, new)


@pytest.mark.parametrize(
    ("do", "after"),
    [
        (
            lambda r: add_item(LINES(r), ARCH),
            swap(
                "  limits",
                '    - key: "arch"\n      operator: In\n      values:\n        - amd64\n  limits',
            ),
        ),
        (
            lambda r: insert_item(LINES(r), 1, ARCH),
            swap(
                '    - key: "capacity',
                '    - key: arch\n      operator: In\n      values: ["amd64"]\n    - key: "capacity',
            ),
        ),
        (lambda r: set_values(node_at("spec", "requirements", 0, "values")(r), ["a", "c7i-flex"]),
         swap('["c7i-flex", "*"]', '["a", "c7i-flex"]')),
        (lambda r: set_values(node_at("spec", "requirements", 1, "values")(r), ["5", "spot", "x"]),
         swap("    - spot   # cheap\n        - on-demand",
              '    - "5"\n        - spot   # cheap\n        - x')),
        (lambda r: set_values(node_at("spec", "requirements", 1, "values")(r), []),
         swap("values:\n        - spot   # cheap\n        - on-demand", "values: []")),
        (lambda r: remove(node_at("spec", "requirements", 0)(r)),
         swap("    # only flex\n    - key: instance-family   # fam\n      operator: In\n"
              '      values: ["c7i-flex", "*"] # v\n', "")),
        (lambda r: remove(node_at("spec", "requirements", 0, "key")(r)),
         swap("- key: instance-family   # fam\n      operator", "- operator")),
        (lambda r: remove(node_at("spec", "limits", "cpu")(r)), swap("{cpu: 100}", "{}")),
        (lambda r: add_key(node_at("spec")(r), "weight", 10, after="requirements"),
         swap("  limits", "  weight: 10\n  limits")),
        (lambda r: add_key(node_at("spec", "limits")(r), "memory", "1Gi"), swap("100}", "100, memory: 1Gi}")),
        (lambda r: add_key(r, "metadata", {"labels": {"a": "true"}}),
         POOL + 'metadata:\n  labels:\n    a: "true"\n'),
        (lambda r: replace(node_at("spec", "limits", "cpu")(r), ["a"]), swap("cpu: 100", "cpu: [a]")),
        (lambda r: replace(node_at("spec", "limits")(r), "none"), swap("{cpu: 100}", "none")),
        (lambda r: set_value(node_at("spec", "limits", "cpu")(r), "100"), swap("100", '"100"')),
        (lambda r: set_value(node_at("spec", "requirements", 1, "key")(r), "it's"), swap("capacity-type", "it's")),
    ],
)  # fmt: skip
def test_edits_follow_the_style_around_them(do: Do, after: str) -> None:
    assert edited(POOL, do) == after


IN_YAML = """\
apiVersion: karpenter.sh/v1
kind: NodePool
spec:
  limits: {cpu: 100}
  requirements:
    # of one family
    - key: family
      operator: In
      values: ["c7i", "m7i"] # both
    - key: zone
      operator: Exists
"""
IN_HCL = """\
m = {
  apiVersion = "karpenter.sh/v1"
  kind       = "NodePool"
  spec = {
    limits = { cpu = 100 }
    requirements = [
      # of one family
      {
        key      = "family"
        operator = "In"
        values   = ["c7i", "m7i"] # both
      },
      {
        key      = "zone"
        operator = "Exists"
      },
    ]
  }
}
"""


@pytest.mark.parametrize(
    ("do", "yaml", "hcl"),
    [
        pytest.param(
            lambda r: set_value(node_at("spec", "requirements", 0, "key")(r), "size"),
            ("key: family", "key: size"), ('"family"', '"size"'), id="set_value",
        ),
        pytest.param(
            lambda r: set_key(node_at("spec", "limits")(r).entries[0].key, "memory"),
            ("{cpu:", "{memory:"), ("{ cpu =", "{ memory ="), id="set_key",
        ),
        pytest.param(
            lambda r: replace(node_at("spec", "limits", "cpu")(r), "1k"),
            ("100", "1k"),
            ("100", '"1k"'),
            id="replace",
        ),
        pytest.param(
            lambda r: set_values(node_at("spec", "requirements", 0, "values")(r), ["c7i", "r7i", "x8g"]),
            ('"m7i"]', '"r7i", "x8g"]'), ('"m7i"]', '"r7i", "x8g"]'), id="set_values",
        ),
        pytest.param(
            lambda r: add_key(node_at("spec", "limits")(r), "memory", "1Gi"),
            ("100}", "100, memory: 1Gi}"), ("100 }", '100, memory = "1Gi" }'), id="add_key",
        ),
        pytest.param(
            lambda r: add_key(node_at("spec")(r), "weight", 10, after="limits"),
            ("  requirements:", "  weight: 10\n  requirements:"),
            ("    requirements =", "    weight = 10\n    requirements ="), id="add_key-after",
        ),
        pytest.param(
            lambda r: insert_item(LINES(r), 1, ARCH),
            ("    - key: zone", '    - key: arch\n      operator: In\n      values: ["amd64"]\n    - key: zone'),
            ('      {\n        key      = "zone"',
             '      {\n        key      = "arch"\n        operator = "In"\n        values   = ["amd64"]\n      },\n'
             '      {\n        key      = "zone"'), id="insert_item",
        ),
        pytest.param(
            lambda r: add_item(node_at("spec", "requirements", 0, "values")(r), "r7i"),
            ('"m7i"]', '"m7i", "r7i"]'), ('"m7i"]', '"m7i", "r7i"]'), id="add_item",
        ),
        pytest.param(
            lambda r: remove(node_at("spec", "requirements", 0)(r)),
            ('    # of one family\n    - key: family\n      operator: In\n      values: ["c7i", "m7i"] # both\n', ""),
            ('      # of one family\n      {\n        key      = "family"\n        operator = "In"\n'
             '        values   = ["c7i", "m7i"] # both\n      },\n', ""), id="remove-item",
        ),
        pytest.param(
            lambda r: remove(node_at("spec", "requirements", 1, "operator")(r)),
            ("zone\n      operator: Exists", "zone"), ('"zone"\n        operator = "Exists"', '"zone"'),
            id="remove-key",
        ),
    ],
)  # fmt: skip
def test_yaml_and_hcl_take_the_same_requests(do: Do, yaml: tuple[str, str], hcl: tuple[str, str]) -> None:
    results = []
    for path, text, (old, new) in (("pool.yaml", IN_YAML, yaml), ("pool.tf", IN_HCL, hcl)):
        root = Source.from_text(path, text).documents[0].root
        assert root is not None
        after = apply(text, do(root))
        assert text.count(old) == 1
        assert after == text.replace(old, new)
        again = Source.from_text(path, after).documents[0].root
        assert again is not None
        results.append(again.plain())
    assert results[0] == results[1]


JSON = """\
{
  "karpenter": [
    {"key": "a", "values": ["x", "y"]},
    {
      "key": "b",
      "values": [
        "p"
      ]
    }
  ],
  "empty": []
}
"""


@pytest.mark.parametrize(
    ("do", "old", "new"),
    [
        (lambda r: add_item(node_at("karpenter", 0, "values")(r), "z"), '"y"]', '"y", "z"]'),
        (lambda r: add_item(node_at("karpenter", 1, "values")(r), "q"), '"p"\n', '"p",\n        "q"\n'),
        (lambda r: add_item(node_at("empty")(r), "q"), "[]", '[\n    "q"\n  ]'),
        (lambda r: remove(node_at("karpenter", 0)(r)), '    {"key": "a", "values": ["x", "y"]},\n', ""),
        (lambda r: remove(node_at("karpenter", 1, "values")(r)),
         '"b",\n      "values": [\n        "p"\n      ]\n', '"b"\n'),
        (lambda r: add_key(node_at("karpenter", 0)(r), "n", True), '"y"]}', '"y"], "n": true}'),
    ],
)  # fmt: skip
def test_json_stays_json(do: Do, old: str, new: str) -> None:
    assert edited(JSON, do) == JSON.replace(old, new)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("karpenter: &x [a]\nb: *x\n", ("karpenter",)),
        ("karpenter: &x [a]\nb: *x\n", ("b",)),
        ("karpenter: &x {a: [b]}\nc:\n  <<: *x\n", ("c", "a")),
        ("karpenter: {{ x }}\na:\n  {{- range y }}\n  - b\n  {{- end }}\n", ("a",)),
    ],
)
def test_what_is_written_elsewhere_is_left_alone(text: str, path: tuple[str, ...]) -> None:
    root = Source.from_text("x", text).documents[0].root
    assert root is not None
    with pytest.raises(NotEditable):
        add_item(node_at(*path)(root), "z")


def test_an_alias_may_be_replaced_whole() -> None:
    text = "karpenter: &x [a]\nb: *x # c\n"
    assert edited(text, lambda r: set_value(node_at("b")(r), "z")) == text.replace("*x", "z")


def test_a_document_is_added_behind_its_own() -> None:
    text = "---\na: karpenter # x\n---\nb: karpenter\n"

    def do(root: Node) -> list[Edit]:
        return add_document(root.source.documents[0], copy_document(root))

    assert edited(text, do) == "---\na: karpenter # x\n" + text
    assert edited("# x\na: karpenter", do) == "# x\na: karpenter\n---\na: karpenter"


def test_an_object_in_a_list_gets_a_sibling() -> None:
    text = "kind: List # karpenter\nitems:\n  - kind: A # a\n    spec:\n      x: 1\n"

    def do(root: Node) -> list[Edit]:
        item = node_at("items", 0)(root)
        return add_object(item, copy_document(item).replace("A", "B"))

    assert edited(text, do) == text + "  - kind: B # a\n    spec:\n      x: 1\n"


def test_a_json_file_takes_no_second_document() -> None:
    source = Source.from_text("x.json", JSON)
    with pytest.raises(NotEditable):
        add_document(source.documents[0], "a: 1")


@pytest.mark.parametrize(("count", "expected"), [(5, True), (100, True), (101, False)])
def test_items_that_stay_keep_their_comments_unless_very_many_go(count: int, expected: bool) -> None:
    text = "karpenter:\n  - stays # here\n" + "".join(f"  - v{n}\n" for n in range(count))
    after = edited(text, lambda root: set_values(node_at("karpenter")(root), ["stays"]))
    assert (after == "karpenter:\n  - stays # here\n") == expected
    assert [str(part) for part in after.split()].count("stays") == 1


def test_only_the_documents_that_edits_change_are_read_again() -> None:
    texts = [nodepool(name=f"p{n}") for n in range(6)]
    source = Source.from_text("pools.yaml", "---\n".join(texts))
    changes = [
        edit
        for n in (1, 4)
        for edit in set_value(source.documents[n].root.find("metadata", "name"), f"a-longer-name-{n}")  # type: ignore[union-attr, arg-type]
    ]
    new = reread_edited(source, changes)
    whole = Source.from_text("pools.yaml", apply(source.text, changes))
    assert new.text == whole.text
    same = [document is other for document, other in zip(source.documents, new.documents, strict=True)]
    assert same == [True, False, True, True, False, True]
    for document, other in zip(new.documents, whole.documents, strict=True):
        assert document.index == other.index
        assert document.root.plain() == other.root.plain()  # type: ignore[union-attr]
    read = new.documents[4].root.find("metadata", "name")  # type: ignore[union-attr]
    assert (read.start, read.text) == (whole.text.index("a-longer-name-4"), "a-longer-name-4")  # type: ignore[union-attr]


def test_documents_that_no_longer_stand_alone_are_read_with_the_others() -> None:
    source = Source.from_text("pools.yaml", "---\n".join(nodepool(name=f"p{n}") for n in range(6)))
    first, second = (source.documents[n].root.find("metadata", "name") for n in (1, 4))  # type: ignore[union-attr]
    parting = Edit(source, first.end, first.end, "\n---\napiVersion: karpenter.sh/v1")  # type: ignore[union-attr]
    new = reread_edited(source, [parting, Edit(source, second.end, second.end, "x")])  # type: ignore[union-attr]
    assert len(new.documents) == 7
    assert not {id(document) for document in source.documents} & {id(document) for document in new.documents}
