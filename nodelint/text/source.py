"""Read a file: its text and the documents in it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

from nodelint.base.budget import RUN, BudgetSpent
from nodelint.base.types import TYPE_CHECKING
from nodelint.forms.registry import TABLE
from nodelint.text.keywords import bytes_hold_keyword, holds_keyword
from nodelint.text.nodes import Document, Node, SourceText
from nodelint.text.placeholders import CODE, holds_code, holds_commented_code, mask
from nodelint.text.syntax_errors import NotInTime, SyntaxProblem, Unreadable
from nodelint.text.yaml.compose import compose

if TYPE_CHECKING:
    from nodelint.text.embedded_regions import Reading

WHOLE_FILE = "(?:)"
"""The pattern `also` of a file that is read whatever it mentions, because an object needs its values."""

LARGEST_DOCUMENT = 5_000_000
"""The most characters of a document that is parsed. etcd stores no object above 1.5 MB."""

_OPENS_ANOTHER = ("|", ">", "\\n", '\\"', "'{", "'[", "'a", "'k", "'-", "'#")
"""What a document contains if one of its texts may hold a manifest."""


class Source(SourceText):
    """A file that was read from a text or from bytes."""

    __slots__ = ("_masked",)

    def __init__(self, path: str, text: str, also: str | None = None) -> None:
        super().__init__(path, text)
        self._masked: tuple[str, list[int]] | None = None
        self.also = also

    @classmethod
    def from_text(cls, path: str, text: str, also: str | None = None) -> Source:
        """Return the source of a text. Its syntax errors are in `problems`; nothing is raised.

        Documents without a keyword are not parsed, except if they match the pattern `also`.
        """
        source = cls(path, text, also)
        if not source._is_read(0, len(text)):
            if text:
                source.documents.append(Document(None, 0, len(text), 0))
        elif RUN.is_over():
            source._pass_over(0, RUN.late_reason)
        else:
            try:
                source._read()
            except BudgetSpent as late:
                source._pass_over(source.documents[-1].end if source.documents else 0, str(late))
        return source

    @classmethod
    def from_bytes(cls, path: str, data: bytes, also: str | None = None) -> Source:
        """Return the source of a file's bytes: UTF-8, or UTF-16 with a byte order mark.

        The mark stays as character 0.
        """
        encoding = _UTF_16.get(data[:2])
        if encoding is not None and data[2:4] != b"\0\0":
            try:
                source = cls.from_text(path, data.decode(encoding), also)
            except UnicodeDecodeError as error:
                source = cls(path, data.decode(encoding, "replace"))
                if holds_keyword(source.text):
                    source.problems.append(SyntaxProblem(error.start // 2, f"no UTF-16: {error.reason}"))
            source.encoding = encoding
            return source
        if b"\0" in data:
            for encoding in ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"):
                if "karpenter".encode(encoding) in data:
                    source = cls(path, data.decode("latin-1"))
                    name = encoding[:6].upper()
                    lacking = "" if data.startswith(_UTF_32) else " without a byte order mark"
                    source.problems.append(SyntaxProblem(0, f"the file is {name}{lacking}; write UTF-8"))
                    return source
        try:
            return cls.from_text(path, data.decode(), also)
        except UnicodeDecodeError as error:
            source = cls(path, data.decode("utf-8", "replace"))
            if bytes_hold_keyword(data):
                offset = len(data[: error.start].decode())
                message = f"the byte 0x{data[error.start]:02x} is not UTF-8"
                if path.endswith(YAML_NAMES) or not source._is_script():
                    source.problems.append(SyntaxProblem(offset, message))
                else:
                    source.set_aside.append(SyntaxProblem(offset, message))
            return source

    @property
    def code_masked(self) -> bool:
        """Return whether template code was masked in a document, not counting the texts embedded in documents."""
        return self._masked is not None

    def _is_read(self, begin: int, end: int) -> bool:
        if holds_keyword(self.text, begin, end) or self._lacks_version(begin, end):
            return True
        return self.also is not None and re.compile(self.also).search(self.text, begin, end) is not None

    def _lacks_version(self, begin: int, end: int) -> bool:
        """Return whether a document has a Karpenter kind but no apiVersion, in a file that mentions Karpenter."""
        return (
            re.compile(_OUR_KIND).search(self.text, begin, end) is not None
            and self.text.find("apiVersion", begin, end) < 0
            and holds_keyword(self.text)
        )

    def _is_script(self) -> bool:
        """Return whether the file is a script or Markdown, where the author may choose the encoding."""
        from nodelint.text.embedded import host_of

        return host_of(self.path) in ("shell", "markdown")

    def _pass_over(self, begin: int, reason: str) -> None:
        """Skip the rest of the text and record the reason."""
        self.documents.append(Document(None, begin, len(self.text), len(self.documents)))
        self.set_aside.append(SyntaxProblem(begin, reason))

    def _read(self) -> None:
        if not self.path.endswith(YAML_NAMES):
            from nodelint.text.embedded import host_of, read

            host = host_of(self.path)
            if host is not None and len(self.text) > LARGEST_DOCUMENT:
                self.documents.append(Document(None, 0, len(self.text), 0))
                self.set_aside.append(
                    SyntaxProblem(0, f"a file of more than {LARGEST_DOCUMENT // 1_000_000} MB is not read")
                )
                return
            if host is not None:
                self._take(read(self, host))
                return
        start = 1 if self.text.startswith("\ufeff") else 0
        for begin, end in chunks(self.text, start):
            if not self.read_part(begin, end):
                return

    def read_part(self, begin: int, end: int) -> bool:
        """Add the documents and problems of a part of the text, as returned by `chunks`.

        Return False if the text was a script and was read as a whole, or if the deadline has passed.
        """
        if not self._is_read(begin, end):
            self.documents.append(Document(None, begin, end, len(self.documents)))
            return True
        before = len(self.documents)
        try:
            self._read_chunk(begin, end)
        except NotInTime as late:
            self._pass_over(begin, late.message)
            return False
        except Unreadable as error:
            if self._read_as_script():
                return False
            self.documents.append(Document(None, begin, end, len(self.documents)))
            if self.path.endswith(TABLE.no_yaml):  # values may be any text, so a syntax error is not reported
                return True
            self.problems.append(SyntaxProblem(error.offset, error.message, error.length, error.first, error.opened))
        for document in self.documents[before:]:
            if document.root is not None and document.root.style == "flow":
                from nodelint.text.program_output import hide_repeated_objects

                hide_repeated_objects(document.root)
            if document.root is not None and self._may_hold_another(document):
                from nodelint.text.embedded import blocks

                self._take(blocks(self, document.root))
        return True

    def _read_as_script(self) -> bool:
        """Read the manifests in heredocs if a file with a YAML name is a shell script. Return whether it is."""
        if "<<" not in self.text:
            return False
        from nodelint.text.embedded import is_script, read

        if not is_script(self):
            return False
        del self.documents[:], self.problems[:], self.set_aside[:]
        self._take(read(self, "shell"))
        return True

    def concerns_karpenter(self, offset: int) -> bool:
        """Return whether the document at an offset holds Karpenter objects, or would if it could be parsed.

        Many other documents mention Karpenter, in an affinity or a comment. Their syntax errors are not reported.
        Those of a values file that is needed for an object are.
        """
        if self.also == WHOLE_FILE:
            return True
        pattern = re.compile(_OURS)
        for document in self.documents:
            if document.start <= offset <= document.end and pattern.search(self.text, document.start, document.end):
                return True
        return not self.documents and pattern.search(self.text.replace("\0", "")) is not None

    def _may_hold_another(self, document: Document) -> bool:
        """Return whether a block scalar of a document may contain another manifest."""
        root = document.root
        assert root is not None
        if all(self.text.find(mark, document.start, document.end) < 0 for mark in _OPENS_ANOTHER):
            return False
        own = root.get("apiVersion") is not None
        if self.text.count("apiVersion", document.start, document.end) <= own and not re.compile(_OPERATION).search(
            self.text, document.start, document.end
        ):
            return self._may_hold_values(document)
        return re.compile(_OTHER_TEXT).search(self.text, document.start, document.end) is not None

    def _may_hold_values(self, document: Document) -> bool:
        """Return whether a block scalar of a document may contain values of a chart that renders pools or classes."""
        version = document.root.get("apiVersion") if document.root is not None else None
        if version is None or "karpenter" in str(version.value):
            return False
        from nodelint.text.embedded_regions import may_hold_chart_values

        return may_hold_chart_values(self.text, document.start, document.end)

    def _take(self, readings: Iterable[Reading], depth: int = 1) -> None:
        """Add documents for the manifests that were found in a text. `depth` is the number of nested texts."""
        for reading in readings:
            document = Document(reading.root, reading.start, reading.end, len(self.documents), reading.templated)
            document.host, document.part = reading.region.host, reading.region.part
            document.prefix, document.target = reading.prefix, reading.region.target
            self.documents.append(document)
            self.masked = True
            if "\t" in reading.prefix:
                self.tabbed = True
            if reading.problem is not None and reading.aside:
                self.set_aside.append(SyntaxProblem(reading.at, reading.problem))
            elif reading.problem is not None:
                self.problems.append(SyntaxProblem(reading.at, reading.problem))
            if reading.root is None or reading.region.host == "hcl" or depth >= _MOST_TEXTS:
                continue
            if self._may_hold_another(document):
                from nodelint.text.embedded import blocks

                self._take(blocks(self, reading.root, reading.region), depth + 1)

    def _read_chunk(self, begin: int, end: int) -> None:
        if end - begin > LARGEST_DOCUMENT:
            reason = f"a document of more than {LARGEST_DOCUMENT // 1_000_000} MB is not read"
            if re.compile(_TOP).search(self.text, begin, end) is not None:
                raise Unreadable(begin, reason)
            self.documents.append(Document(None, begin, end, len(self.documents)))  # these are values, not an object
            self.set_aside.append(SyntaxProblem(begin, reason))
            return
        text = self.text[begin:end]
        if text.startswith("\ufeff"):  # libyaml skips it without counting it
            raise Unreadable(begin, "the character U+FEFF is not allowed in YAML")
        self._hold_to_kubectl(text, begin)
        if "#@" in text and (code := re.search(_YTT, text)) is not None:
            self.documents.append(Document(None, begin, end, len(self.documents)))
            self.set_aside.append(
                SyntaxProblem(begin + code.start(1), "a template of ytt, whose values are comments")
            )
            return
        templated = False
        try:
            roots = compose(self, text, begin, masked=False)
            if holds_commented_code(text):
                roots, templated = self._read_commented(begin, end) or (roots, templated)
        except Unreadable as error:
            if not holds_code(text):
                raise
            read = self._read_masked(begin, end, error)
            if read is None:
                return
            roots, templated = read
        if len(roots) <= 1:
            root = roots[0] if roots else None
            self.documents.append(Document(root, begin, end, len(self.documents), templated))
            return
        # a line break that only YAML knows (a lone \r) hid a `---` from `chunks`
        for root in roots:
            self.documents.append(Document(root, begin, end, len(self.documents), templated))

    def _read_commented(self, begin: int, end: int) -> tuple[list[Node | None], bool] | None:
        """Return what `_read_masked` returns, for a document that YAML can read because its template code stands in
        comments. None if it cannot be read with its template code masked.
        """
        masked, lines = mask(self.text, hcl="{{" not in self.text)
        try:
            roots = compose(self, masked[begin:end], begin, masked=True)
        except Unreadable:
            return None
        self._masked = self._masked or (masked, lines)
        self.masked = True
        return roots, any(begin <= line < end for line in lines)

    def _read_masked(self, begin: int, end: int, error: Unreadable) -> tuple[list[Node | None], bool] | None:
        """Return the roots of a document with its template code masked, and whether whole lines were masked.

        If the template code makes it unreadable, record that and return None. For another syntax error, raise
        `error`.
        """
        if self._masked is None:
            self._masked = mask(self.text, hcl="{{" not in self.text)
            self.masked = True
        masked, lines = self._masked
        try:
            try:
                roots = compose(self, masked[begin:end], begin, masked=True)
            except Unreadable:
                masked, lines = mask(self.text, whole_lines=True, hcl="{{" not in self.text)
                if masked == self._masked[0]:
                    raise
                roots = compose(self, masked[begin:end], begin, masked=True)
        except Unreadable as again:
            if not self._template_to_blame(begin, end, error, again):
                raise error from None
            self.documents.append(Document(None, begin, end, len(self.documents)))
            reason = f"a template that is not YAML before it is rendered: {again.message}"
            self.set_aside.append(SyntaxProblem(again.offset, reason))
            return None
        return roots, any(begin <= line < end for line in lines)

    def _hold_to_kubectl(self, text: str, begin: int) -> None:
        """Raise `Unreadable` for valid YAML that kubectl refuses: kubectl splits a file at its `---` lines."""
        if "--- " in text or "---\t" in text:
            marked = re.search(_BEHIND_MARKER, text)
            if marked is not None:
                raise Unreadable(begin + marked.end(), "kubectl takes nothing but a comment behind `---`")
        if "%" in text:
            directive = re.match(_DIRECTIVE, text)
            if directive is not None and not self._line_above(begin).startswith("..."):
                raise Unreadable(begin + directive.start(1), "kubectl does not support directives; remove the line")

    def _line_above(self, begin: int) -> str:
        """Return the last non-empty line before an offset."""
        return self.text[:begin].rstrip("\r\n").rpartition("\n")[2]

    def _template_to_blame(self, begin: int, end: int, plainly: Unreadable, masked: Unreadable) -> bool:
        assert self._masked is not None
        if any(begin <= line < end for line in self._masked[1]):
            return True
        if not any(mark in self.text[begin:end] for mark in CODE):
            return False
        return (plainly.offset, plainly.message) != (masked.offset, masked.message)


def is_yaml_alone(path: str) -> bool:
    """Return whether a file, by its name, is plain YAML: its documents are divided by `---` lines."""
    if path.endswith(YAML_NAMES):
        return True
    from nodelint.text.embedded import host_of

    return host_of(path) is None


_UTF_16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_UTF_32 = (b"\xff\xfe\0\0", b"\0\0\xfe\xff")
_MOST_TEXTS = 5
"""The most nested texts. A heredoc with a chart's values with a manifest is three."""
_BEHIND_MARKER = r"(?m)^---[ \t]+(?![ \t#\r]|$|\{\{|\{%|%\{|<%|\$\{)"
_DIRECTIVE = r"(?:[ \t]*+(?:#[^\n]*+|\r?)\n)*+(%[A-Za-z])"

YAML_NAMES = (".yaml", ".yml", ".json", "-")
"""Endings of files that are plain YAML or JSON."""

_OUR_KIND = r"(?m)^kind[ \t]*:[ \t]*[\"']?(?:NodePool|EC2NodeClass|NodeOverlay|Provisioner|AWSNodeTemplate)\b"
_OURS = (
    r"karpenter\.(?:sh|k8s\.aws)/v[0-9]"
    r"|\bkind[\"']?[ \t]*:[ \t]*[\"']?(?:NodePool|NodeOverlay|(?:EC2)?NodeClass|Provisioner|AWSNodeTemplate)\b"
)
_OTHER_TEXT = r"[|>][-+1-9]*+[ \t]*+(?:#[^\n]*+|\r?)(?:\n|\Z)|\\[n\"]|'[{\[ak#-]"
_OPERATION = r"\bop[\"']?[ \t]*:[ \t]*[\"']?(?:add|replace)\b"
_YTT = (
    r"(?m)(?:^|[\s:])(#@(?:[ \t]*(?:load\(|data\.|if[ /]|for[ /]|def[ /]|end\b)|(?:overlay|data|schema|ytt|yaml)/))"
)
"""Template code of ytt. For YAML it is a comment."""
_TOP = r"(?m)^(?:\{[ \t\r\n]*)?[\"']?apiVersion[\"']?[ \t]*:"


def chunks(text: str, start: int) -> list[tuple[int, int]]:
    """Return start and end of each document of a text, divided at `---` lines and after `...` lines."""
    borders = [start]
    marks = sorted([*_lines_with(text, "---", start), *_lines_with(text, "...", start)])
    for mark in marks:
        border = mark
        if text[mark] == ".":
            border = text.find("\n", mark) + 1 or len(text)
        if border > borders[-1] and not _prologue(text, borders[-1], border):
            borders.append(border)
    borders.append(len(text))
    return [(begin, end) for begin, end in pairwise(borders) if begin < end]


def _lines_with(text: str, marker: str, start: int) -> list[int]:
    """Return the offsets of lines that begin with a marker followed by white space or nothing."""
    found = [start] if text.startswith(marker, start) else []
    at = text.find("\n" + marker, start)
    while at >= 0:
        found.append(at + 1)
        at = text.find("\n" + marker, at + 1)
    return [offset for offset in found if text[offset + 3 : offset + 4] in _AFTER_MARKER]


_AFTER_MARKER = ("", " ", "\t", "\r", "\n")


def _prologue(text: str, begin: int, end: int) -> bool:
    """Return whether a range holds only comments and directives. They belong to the document that follows."""
    while begin < end:
        stop = text.find("\n", begin, end)
        line = text[begin : stop if stop >= 0 else end]
        if line and not (line.isspace() or line.startswith("%") or line.lstrip().startswith("#")):
            return False
        begin += len(line) + 1
    return True
