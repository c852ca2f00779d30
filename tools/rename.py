"""Rename by a table: words of the field in place of words that mean several things.

    python tools/rename.py          go through the table; what is done already changes nothing

A row names files, and what a word in them becomes. A tool for the length of one change: it serves branches that were
begun before it, and goes when the last of them is merged.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

MODULES = {
    "nodelint/text/marks.py": "nodelint/text/keywords.py",
    "nodelint/files/file_marks.py": "nodelint/files/file_keywords.py",
    "nodelint/karpenter/overlays.py": "nodelint/karpenter/node_overlays.py",
}
"""Modules that have another name."""

EVERYWHERE = {
    r"nodelint\.text\.marks import MARKS": "nodelint.text.keywords import KEYWORDS",
    r"nodelint\.files\.file_marks": "nodelint.files.file_keywords",
    r"from nodelint\.files import file_marks": "from nodelint.files import file_keywords",
    r"files/file_marks\.py": "files/file_keywords.py",
    r"nodelint\.karpenter\.overlays": "nodelint.karpenter.node_overlays",
    r"karpenter/overlays\.py": "karpenter/node_overlays.py",
    r"(?<!Node)OverlayVerdict": "NodeOverlayVerdict",
    r"(?<!\w)apply_overlays(?=[(,\n])": "apply_node_overlays",
    r"report\.snippet import Mark\b": "report.snippet import Underline",
}

KEYWORDS = {
    r"\bMARKS\b": "KEYWORDS",
    r"\b_MARK, _OTHER_MARK\b": "_KEYWORD, _OTHER_KEYWORD",
    r"\b_MARK\b": "_KEYWORD",
    r"\b_OTHER_MARK\b": "_OTHER_KEYWORD",
    r"\b_is_marked\b": "_holds_keyword",
    r"\b_marked\b": "_has_keyword",
    r"\bmarked = _holds_keyword": "has_keyword = _holds_keyword",
    r"\breturn marked and\b": "return has_keyword and",
    r"\bMarks\b": "FileKeywords",
    r"\bfind_marks\b": "find_keywords",
    r"\bmark\.encode\(\)": "keyword.encode()",
    r"\bmarks\b(?=[.:,)\s])": "keywords",
    r"\bfor mark in (?=KEYWORDS|keywords)": "for keyword in ",
    r"\bmark in (?=data|source\.text|text for)": "keyword in ",
    r"\(mark\)": "(keyword)",
    r"\(mark for keyword": "(keyword for keyword",
    r"\[mark for keyword": "[keyword for keyword",
    r"\bfind\(mark\b": "find(keyword",
    r"the letters of the mark\b": "the letters of the keyword",
    r"beside the mark\.": "beside the keyword.",
    r"holds a mark\.": "holds a keyword.",
    r"\"\"\"Bytes that a mark or": '"""Bytes that a keyword or',
    r"file_marks": "file_keywords",
    r"for mark in file_keywords": "for keyword in file_keywords",
    r"any\(part in mark for": "any(part in keyword for",
}

UNDERLINES = {
    r"\b_MarkOnLine\b": "_PlacedUnderline",
    r"\bMark\b": "Underline",
    r"\b_marked\b": "_underline_rows",
    r"\bmarks\b": "underlines",
    r"\bfurther_marks\b": "further_underlines",
    r"\bmark\b": "underline",
}

ROWS: list[tuple[tuple[str, ...], dict[str, str]]] = [
    (
        (
            "nodelint/files/discover.py",
            "nodelint/files/file_keywords.py",
            "nodelint/text/yaml/yaml_stream.py",
            "nodelint/forms/kustomize/overlays.py",
            "nodelint/forms/kustomize/files.py",
            "nodelint/forms/lib/values.py",
            "tests/files/test_discover.py",
        ),
        KEYWORDS,
    ),
    (
        ("nodelint/text/source.py",),
        {
            r"\bMARKS\b": "KEYWORDS",
            r"\b_is_marked\b": "_holds_keyword",
            r"\bmark\.encode\(\) in data for mark in KEYWORDS": "keyword.encode() in data for keyword in KEYWORDS",
            r"\(mark, begin, end\) >= 0 for mark in": "(keyword, begin, end) >= 0 for keyword in",
        },
    ),
    (("nodelint/text/keywords.py",), {r"\bMARKS\b": "KEYWORDS"}),
    (("nodelint/report/snippet.py",), UNDERLINES),
    (
        ("nodelint/report/text.py", "nodelint/report/html.py", "tests/report/test_text.py"),
        {
            r"\bMark\b": "Underline",
            r"\bmarks\b": "underlines",
            r"\bfurther_marks\b": "further_underlines",
        },
    ),
    (
        ("nodelint/text/yaml/compose.py",),
        {
            r"\b_MARK\b": "_BYTE_ORDER_MARK",
            r"\bself\.marks\b": "self.byte_order_marks",
            r"\brefuse_marks\b": "refuse_byte_order_marks",
        },
    ),
    (
        ("nodelint/karpenter/images/terms.py",),
        {r"\basked: Image\b": "image: Image", r"\bread\.asked\b": "read.image"},
    ),
    (
        ("nodelint/karpenter/resolve/allocatable.py", "rules/small-kube-reserved.py"),
        {r"\bfound\.kept\b": "found.reserved", r"    kept: int\b": "    reserved: int"},
    ),
    (
        ("nodelint/text/yaml/yaml_stream.py",),
        {
            r"\bparts\.kept\b": "parts.karpenter_documents",
            r"\bself\.kept\b": "self.karpenter_documents",
        },
    ),
]


def main() -> None:
    """Rename modules, then what stands in files."""
    for old, new in MODULES.items():
        if (ROOT / old).exists():
            subprocess.run(["git", "mv", old, new], cwd=ROOT, check=True)
    folders = ("nodelint", "tests", "tools", "rules", "docs", "benchmarks")
    for folder in folders:
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".py", ".md") and path != Path(__file__).resolve():
                _rewrite(path, EVERYWHERE)
    for names, table in ROWS:
        for name in names:
            _rewrite(ROOT / name, table)


def _rewrite(path: Path, table: dict[str, str]) -> None:
    """Write a file with each word of the table in place of the old one."""
    old = text = path.read_text(encoding="utf-8")
    for pattern, name in table.items():
        text = re.sub(pattern, name, text)
    if text != old:
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
