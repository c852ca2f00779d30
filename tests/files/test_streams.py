"""Streams that are too long to be read whole: what is found in them, and where, is what a whole reading finds."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodelint.files import contents, discover
from nodelint.files.folders import Discovery
from nodelint.text import Source
from nodelint.text.yaml import yaml_stream

Run = Callable[..., subprocess.CompletedProcess[str]]

POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: é}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: [{key: kubernetes.io/arch, operator: In, values: [x86_64]}]
"""
OTHER = "kind: ConfigMap\ndata:\n  a: ---\n  b: |\n    --- not a border\n  c: é\n"

documents = st.sampled_from([POOL, OTHER, "", "# a comment\n", "a: 1\n...\n", "kind: List\r\n"])
borders = st.sampled_from(["---\n", "--- # why\n", "---\r\n", "---\t\n"])
texts = st.lists(st.tuples(borders, documents), max_size=12).map(lambda parts: "".join(map("".join, parts)))


def read(path: Path, block: int) -> yaml_stream.Excerpt | None:
    old, yaml_stream._BLOCK = yaml_stream._BLOCK, block
    handle = os.open(path, os.O_RDONLY)
    try:
        return yaml_stream.read("stream.yaml", handle)
    finally:
        os.close(handle)
        yaml_stream._BLOCK = old


def places(source: Source) -> list[tuple[object, ...]]:
    roots = [document.root for document in source.documents if document.root is not None]
    found = [(source.position(node.start), node.text) for root in roots for node in root.walk()]
    return [(*place, source.line(place.line), text) for place, text in found]


@given(st.sampled_from(["", "# first\n", POOL]), texts, st.integers(1, 300))
def test_places_are_those_of_the_whole_stream(tmp_path: Path, first: str, text: str, block: int) -> None:
    path = tmp_path / "stream.yaml"
    path.write_bytes((first + text).encode())
    excerpt, whole = read(path, block), Source.from_bytes("stream.yaml", path.read_bytes())
    assert (places(excerpt) if excerpt else []) == places(whole)
    assert excerpt is None or not excerpt.whole


def test_a_line_that_is_left_out_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "stream.yaml"
    path.write_text(f"---\n{POOL}---\n{OTHER}---\n{POOL}", encoding="utf-8")
    excerpt = read(path, 50)
    assert excerpt is not None
    shown = [excerpt.line(number) for number in range(1, 27)]
    lines = path.read_text(encoding="utf-8").split("\n")
    assert shown == [line if n < 9 or n > 15 else "" for n, line in enumerate(lines)]


def test_a_document_that_is_too_long_is_refused_where_it_is_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(yaml_stream, "_LONGEST_DOCUMENT", 1000)
    path = tmp_path / "stream.yaml"
    path.write_text(f"---\n{OTHER * 100}---\n{POOL}", encoding="utf-8")
    excerpt = read(path, 100)
    assert excerpt is not None and len(excerpt.documents) == 1
    for ours in (f"{OTHER * 100}# karpenter\n", f"# karpenter\n{OTHER * 100}"):
        path.write_text(f"---\n{ours}---\n{POOL}", encoding="utf-8")
        with pytest.raises(OSError, match="mentions Karpenter"):
            read(path, 100)
    monkeypatch.setattr(yaml_stream, "LONGEST", 1000)
    with pytest.raises(OSError, match="larger than"):
        read(path, 100)


def test_the_end_of_a_long_document_is_looked_for_in_each_block_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched = 0
    last_border = yaml_stream._last_border

    def counted(data: bytes) -> int:
        nonlocal searched
        searched += len(data)
        return last_border(data)

    monkeypatch.setattr(yaml_stream, "_last_border", counted)
    path = tmp_path / "stream.yaml"
    path.write_text(f"---\n{OTHER * 1000}---\n{POOL}", encoding="utf-8")
    assert read(path, 500) is not None
    assert searched < 1.1 * path.stat().st_size


def test_what_is_about_others_is_searched_once_and_not_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched = copied = 0
    is_marked, go_on = yaml_stream.bytes_hold_keyword, yaml_stream._Parts._go_on

    def search(data: bytes) -> bool:
        nonlocal searched
        searched += len(data)
        return is_marked(data)

    def copy(parts: yaml_stream._Parts, left: int, take: Callable[[bytes], None]) -> None:
        nonlocal copied
        copied += parts._size
        go_on(parts, left, take)

    monkeypatch.setattr(yaml_stream, "bytes_hold_keyword", search)
    monkeypatch.setattr(yaml_stream._Parts, "_go_on", copy)
    path = tmp_path / "stream.yaml"
    others = f"---\n{OTHER.replace('é', 'e')}" * 1000
    path.write_text(f"{others}---\n{POOL}", encoding="utf-8")
    excerpt = read(path, 5000)
    assert excerpt is not None and len(excerpt.documents) == 1
    assert searched < 1.1 * path.stat().st_size
    assert copied < 5000


def test_a_long_stream_is_judged_and_not_written(nodelint: Run, tmp_path: Path) -> None:
    """The file is sparse: what would be other objects is a comment of zeros that takes no room on the disk."""
    path = tmp_path / "stream.yaml"
    with path.open("wb") as file:
        file.write(f"---\n{POOL}---\n# ".encode())
        file.seek(contents._LARGEST)
        file.write(f"\n---\n{POOL}".encode())
    before = path.stat()
    select = ("--select", "unknown-value")
    found = json.loads(nodelint("check", "stream.yaml", *select, "--format", "json").stdout)["findings"]
    assert [(entry["start"]["line"], entry["start"]["column"]) for entry in found] == [(9, 71), (20, 71)]
    done = nodelint("check", "stream.yaml", *select, "--fix", "--unsafe-fixes")
    assert "the file is too long to rewrite" in done.stdout
    assert path.stat().st_mtime_ns == before.st_mtime_ns


def test_other_long_files_are_refused_where_they_are_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "_LARGEST", 1 << 20)
    (tmp_path / "ours.json").write_bytes(b"karpenter" + b" " * (1 << 20))
    (tmp_path / "other.json").write_bytes(b" " * (1 << 21))
    (tmp_path / "other.yaml").write_bytes(b"a: 1\n---\n" * (1 << 17))
    monkeypatch.chdir(tmp_path)
    found: Discovery = discover.discover(["."])
    assert found.unreadable == [
        ("ours.json", "larger than 1 MiB: only files named `.yaml` or `.yml` are read at this size")
    ]
    assert found.sources == [] and found.files == 3
