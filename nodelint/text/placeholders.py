"""Find placeholders for values that are filled in later, and the template code around them.

Forms of tools: `${X}`, `${X:-y}`, `$(X)`, `$X` in capitals (envsubst, Flux), `{{ x }}` (Helm, Argo, Go), `{% x %}`
(Jinja), `%{ x }` (Terraform), `<% x %>`, and `<x>` or `<<X>>` in documentation.

Forms that a script or a person replaces: `__X__`, `XXX`, words in capitals such as `ARM_AMI_ID_TO_REPLACE`,
`PLACEHOLDER`, `YOUR_ROLE`, a word in capitals after other words (`pool-POOL_NAME`), and `my-cluster-name-here`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from nodelint.base.tuples import NamedTuple

# The patterns are strings: `re` compiles each at its first use, and most files need none.
MASK = "\ue000"
"""A private-use character. It replaces each character of a template expression."""

_VARIABLE_FORMS = r"\$\{[^{}\n]*\}|\$\([A-Za-z_][\w.]*\)|\$[A-Z_][A-Z0-9_]*(?!\w)"
_INLINE = rf"{_VARIABLE_FORMS}|\$\{{|\{{\{{|<%|\{{%|%\{{|{MASK}"
_ANGLE = r"<{1,2}[A-Za-z0-9][A-Za-z0-9_.:/-]*>{1,2}"
_ANGLE_WHOLE = r"<{1,2}[A-Za-z0-9][^<>\n]*>{1,2}"
_WHOLE = rf"(?:{_VARIABLE_FORMS}|\{{\{{[^\n]*\}}\}}|<%[^\n]*%>|{_ANGLE_WHOLE}|{MASK}+)"

_HERE = (
    r"(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{0,60}(?i:account|ami|arn|cluster|id|image|key|name|profile|region|role|value)"
    r"[-_](?:here|HERE)(?![A-Za-z0-9])"
)
"""A noun and `here`: `my-cluster-name-here`, `ROLE_NAME_HERE`."""

_JOINED = r"(?<=[a-z0-9]-)[A-Z]{2}[A-Z0-9]*+(?:_[0-9]*+[A-Z][A-Z0-9]*+)++(?![\w-])"
"""A word in capitals after lowercase words: `workflow-WORKFLOW_NAME`. A text in capitals alone may be a value."""

_BY_HAND = (
    r"(?i:(?<![a-z0-9])your[-_][a-z0-9][\w-]*|(?<![a-z0-9])(?:replace|insert)[-_](?:me|with|your|this)[\w-]*)"
    rf"|(?<![A-Za-z0-9])(?:x{{4,}}|X{{3,}})(?![A-Za-z0-9])|{_HERE}"
)

_REPLACED = (
    r"(?<![A-Za-z0-9])(?:__[A-Za-z][\w.-]{0,80}?__|X{3,}|YOUR_[A-Z0-9_]+"
    rf"|[A-Z0-9_]{{0,60}}(?:PLACEHOLDER|REPLACE|CHANGE_?ME)[A-Z0-9_]*)(?![A-Za-z0-9])|(?P<joined>{_JOINED})|{_HERE}"
)
_PARTS = ("__", "XXX", "PLACE", "CHANGE", "YOUR_", "-here", "_here", "-HERE", "_HERE")
_HAND_PARTS = ("your", "xxx", "replace", "insert", "-here", "_here")
_STORED = (
    r"(?:\n[ ]*|[{,][ \n]*)(?:\"?uid\"?:[ ]*\"?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    r"|\"?resourceVersion\"?:[ ]*[\"']?[0-9])"
)
_CAPITALS = "[A-Z][A-Z]{3}"
"""Four capitals. `re` finds the first one by its set, which it does not do for `[A-Z]{4}`."""
_BLOCK = r"(?:\{\{|\{%|%\{|<%)[-~+=]?\s*(if|unless|with|range|for|define|block|end\w*)\b"
CODE = ("{{", "{%", "%{", "<%")
"""The opening brackets of template code, of every kind that can occur between values."""
_CLOSES = {"{{": "}}", "{%": "%}", "<%": "%>", "%{": "}"}
_OPENS = r"\{\{|\{%|<%|%\{"
_BRACES = r"\{(?:[^{}\n]|\{(?:[^{}\n]|\{(?:[^{}\n]|\{[^{}\n]*\})*\})*\})*\}"
_BRACED = rf"\$\{{(?:[^{{}}\n]|{_BRACES})*\}}"
_VARIABLE = rf"{_BRACED}|<<[A-Za-z0-9_.-]+>>"


def holds_any(text: str, parts: Iterable[str]) -> bool:
    """Return whether a text contains one of `parts`. This is a loop because a generator is slower."""
    for part in parts:  # noqa: SIM110
        if part in text:
            return True
    return False


def may_be_replaced(text: str) -> bool:
    """Return whether a text may contain a value that a script or a person replaces.

    If not, `replaced` is not needed.
    """
    if holds_any(text, _PARTS):
        return True
    return "_" in text and re.search("-[A-Z]{2}[A-Z0-9]*_", text) is not None


def replaced(text: str) -> bool:
    """Return whether a one-line value contains text that a script or a person replaces."""
    return may_be_replaced(text) and re.search(_REPLACED, text) is not None


def may_hold_placeholder(text: str) -> bool:
    """Return whether a text may contain a placeholder. It is a quick check before `holds_placeholder`."""
    return "$" in text or "<" in text or MASK in text or holds_any(text, CODE)


def holds_placeholder(text: str) -> bool:
    """Return whether a one-line value contains a placeholder in the form of a tool or of documentation."""
    if ("$" in text or "{" in text or "<%" in text or MASK in text) and re.search(_INLINE, text):
        return True
    return "<" in text and (_in_angles(_ANGLE, text) is not None or re.fullmatch(_ANGLE_WHOLE, text) is not None)


def _in_angles(form: str, text: str) -> re.Match[str] | None:
    """Return the first `<x>` of a text that is not a tag. `<powershell>` is a tag if the text has `</powershell>`."""
    closed = set(re.findall(r"</([A-Za-z0-9][^<>\s]*)", text)) if "</" in text else ()
    found = (match for match in re.finditer(form, text) if match[0].strip("<>").partition(" ")[0] not in closed)
    return next(found, None)


def is_live(text: str) -> bool:
    """Return whether a document comes from an API server: it has the `uid` or `resourceVersion` of a stored object.

    Such a document has no placeholders: a text that looks like one is the value.
    """
    return ("uid" in text or "resourceVersion" in text) and re.search(_STORED, text) is not None


def is_placeholder(text: str) -> bool:
    """Return whether a text consists of one placeholder only."""
    return re.fullmatch(_WHOLE, text) is not None


def left_by_hand(text: str, stand_ins: Iterable[str] = ()) -> str | None:
    """Return the text in a value that a person must replace, as documentation writes it. None if there is none.

    It is `<x>` and `<<X>>`, `your-...`, three or more X (`ami-xxxxxxxx`), `replace-with-...`, words in capitals such
    as `AMI_ID_TO_REPLACE`, `...-name-here`, and the words of `stand_ins`. `__X__` and `pool-POOL_NAME` do not count:
    scripts replace them.
    """
    text = re.sub(_VARIABLE_FORMS, "", text) if "$" in text else text
    found = _in_angles(_ANGLE_WHOLE, text) if "<" in text else None
    if found is None:
        folded = text.casefold()
        if holds_any(folded, _HAND_PARTS):
            found = re.search(_BY_HAND, text)
    if found is not None:
        return found[0].strip("-_./:")
    words = re.findall(r"[A-Z][A-Z0-9_]*[A-Z0-9]", text) if re.search(_CAPITALS, text) else []
    word = next((word for word in words if word in stand_ins), None)
    if word is None and may_be_replaced(text) and (capitals := re.search(_REPLACED, text)) is not None:
        by_script = capitals["joined"] or capitals[0].startswith("__")
        return None if by_script else capitals[0]
    return word


def holds_code(text: str) -> bool:
    """Return whether a text has template code that may make it invalid YAML."""
    return "${" in text or holds_any(text, CODE)


def mask(text: str, whole_lines: bool = False, hcl: bool = False) -> tuple[str, list[int]]:
    """Return a text of equal length that YAML can parse, and the offsets of the lines that were all template code.

    These lines become blank, also a condition or loop in a comment. An expression within a line becomes `MASK`
    characters. With `whole_lines`, a `${x}` alone on its line counts as lines to insert, not as a value. With `hcl`
    the code is Terraform's: it may contain braces and strings, and may span several lines.
    """
    lines: list[int] = []
    out: list[str] = []
    at = 0
    expressions = _expressions(text)
    if hcl:
        code = _hcl_code(text)
        expressions = _apart(sorted([*expressions, *code], key=lambda span: (span[0], -span[1])))
    if whole_lines:
        alone = [match.span(1) for match in re.finditer(rf"(?m)^[ \t]*({_BRACED})[ \t]*\r?$", text)]
        expressions = _apart(sorted([*expressions, *alone]))
    for begin, end in _lines_of(text, expressions):
        start = text.rfind("\n", 0, begin) + 1
        start += text.startswith("\ufeff", start)
        before = text[start:begin].strip(" \t")
        blank = not before and (whole_lines or not text.startswith("${", begin))
        blank = blank or (before == "#" and re.compile(_BRANCHING).match(text, begin) is not None)
        if blank and re.compile(r"[ \t]*(?:#|\r?$)", re.M).match(text, end):
            lines.append(start)
            # line breaks without spaces: a blank line with spaces would set the indent of a block scalar
            out += [text[at:start], "\n" * (end - start)]
        else:
            out += [text[at:begin], MASK * (end - begin)]
        at = end
    out.append(text[at:])
    return re.sub(_VARIABLE, lambda found: MASK * len(found[0]), "".join(out)), lines


_BRANCHING = r"(?:\{\{|\{%|%\{|<%)[-~+=]?\s*(if|unless|with|range|for|define|block|else|elif|elsif|end)"
_COMMENTED = r"#[ \t]*(?:\{\{|\{%|%\{|<%)"


def holds_commented_code(text: str) -> bool:
    """Return whether a condition or loop of a template in a comment of YAML is about lines that are no comments.

    A template engine does not know comments of YAML.
    """
    if not holds_any(text, CODE) or re.search(_COMMENTED, text) is None:
        return False
    is_open, condition = False, re.compile(_BRANCHING)
    for line in text.splitlines():
        shown = line.lstrip(" \t")
        if not shown.startswith("#"):
            if shown and is_open:
                return True
        elif (code := condition.match(shown[1:].lstrip(" \t"))) is not None:
            is_open = code[1] != "end"
    return False


def _expressions(text: str) -> list[tuple[int, int]]:
    """Return start and end of each template expression."""
    found: list[tuple[int, int]] = []
    unclosed: set[str] = set()
    at = 0
    opens = re.compile(_OPENS)
    while (match := opens.search(text, at)) is not None:
        kind, at = match.group(), match.end()
        close = -1 if kind in unclosed else text.find(_CLOSES[kind], at)
        if close < 0:
            unclosed.add(kind)  # searched once only, so that a file of opening brackets costs no more than its length
            continue
        line = text.find("\n", at, close) if kind == "{{" else -1
        code = text[at:line].rstrip(" \t\r") if line >= 0 else ""
        if code.endswith("}") and not holds_any(code[:-1], _BRACES_AND_QUOTES):
            at += len(code)  # the second brace is missing: the code does not go on in the next line
        else:
            at = close + len(_CLOSES[kind])
        found.append((match.start(), at))
    return found


_BRACES_AND_QUOTES = tuple("{}\"`'")


def template_end(text: str, at: int, end: int) -> int:
    """Return the offset after the brace that closes the `${` or `%{` at `at`.

    Nested strings and templates are skipped.
    """
    code, quoted = re.compile(r'[^{}"]*'), re.compile(r'[^"\\\n$%]*')
    opened: list[int | None] = [0]  # the number of open braces in each template; None for each string
    while at < end:
        depth = opened[-1]
        match = (quoted if depth is None else code).match(text, at, end)
        at = match.end() if match is not None else at
        if at >= end:
            break
        sign = text[at]
        if depth is None:
            if sign in '"\n':
                opened.pop()
            elif text.startswith(("${", "%{"), at):
                opened.append(0)
            at += 3 if text.startswith(("$${", "%%{"), at) else 2 if sign == "\\" else sign != "\n"
        elif sign == '"':
            opened.append(None)
            at += 1
        else:
            depth += 1 if sign == "{" else -1
            opened[-1] = depth
            at += 1
            if depth <= 0:
                opened.pop()
            if not opened:
                return at
    return end


def _hcl_code(text: str) -> list[tuple[int, int]]:
    """Return start and end of each Terraform `%{}`, and of each `${}` that spans several lines."""
    found: list[tuple[int, int]] = []
    at = 0
    opens = re.compile(r"(?<!\$)\$\{|(?<!%)%\{")
    while (match := opens.search(text, at)) is not None:
        end = template_end(text, match.start(), len(text))
        at = match.end()
        if text[end - 1] != "}":
            break
        if match[0] == "%{" or "\n" in text[match.start() : end]:
            found.append((match.start(), end))
            at = end
    return found


def _apart(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return sorted spans without those that overlap an earlier span of the result."""
    separate: list[tuple[int, int]] = []
    for span in spans:
        if not separate or span[0] >= separate[-1][1]:
            separate.append(span)
    return separate


def _lines_of(text: str, expressions: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join expressions that are separated only by blanks on a line."""
    joined: list[tuple[int, int]] = []
    for begin, end in expressions:
        if joined and not text[joined[-1][1] : begin].strip(" \t"):
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((begin, end))
    return joined


def depth(text: str, start: int, end: int) -> int:
    """Return how many template conditions and loops that begin after `start` are still open at `end`."""
    open_ = 0
    for match in re.compile(_BLOCK).finditer(text, start, end):
        open_ += -1 if match[1].startswith("end") else 1
    return max(open_, 0)


def alternatives(text: str, starts: list[int]) -> list[int]:
    """Return the indices of list items in an `else` branch, if an earlier branch also has an item.

    `starts` are the offsets of the items. Such an item replaces the earlier ones: it never occurs together with them.
    """
    found: list[int] = []
    tokens = re.compile(_BRANCHING).finditer(text, starts[0], starts[-1])
    events = [(match.start(), match[1]) for match in tokens]
    if not any(word.startswith("el") for _, word in events):
        return found
    # For each open condition: does this branch have an item, and does an earlier one? The first is always open.
    open_ = [[False, False]]
    for _, word in sorted([*events, *((start, str(n)) for n, start in enumerate(starts))], key=lambda span: span[0]):
        if word.isdigit():
            if any(before for _, before in open_):
                found.append(int(word))
            for frame in open_:
                frame[0] = True
        elif word.startswith("el"):
            open_[-1] = [False, open_[-1][1] or open_[-1][0]]
        elif word == "end":
            open_[-1:] = [] if len(open_) > 1 else [[False, False]]
        else:
            open_.append([False, False])
    return found


class BranchSpan(NamedTuple):
    """A branch of a template condition: the characters `start` to `end`.

    - `block`: the offset of the condition.
    - `number`: the number of the branch, counted from 0.
    """

    block: int
    number: int
    start: int
    end: int

    def holds(self, at: int) -> bool:
        """Return whether the character at an offset is in the branch."""
        return self.start <= at < self.end


def branches(text: str, start: int, end: int) -> list[BranchSpan]:
    """Return the branches of the conditions with an `else` between two offsets of a template."""
    found: list[BranchSpan] = []
    open_: list[list[int]] = []
    for match in re.compile(_BRANCHING).finditer(text, start, end):
        word = match[1]
        if word.startswith("el") and open_:
            open_[-1].append(match.start())
        elif word == "end" and open_:
            marks = [*open_.pop(), match.start()]
            if len(marks) > 2:
                found += [BranchSpan(marks[0], n, marks[n], marks[n + 1]) for n in range(len(marks) - 1)]
        elif word != "end" and not word.startswith("el"):
            open_.append([match.start()])
    return sorted(found, key=lambda branch_span: branch_span.start)


_PAIRED = (
    r"(?:\{\{|\{%|%\{|<%)[-~+=]?\s*(?P<word>if|unless|with|range|for|end(?!s\w)\w*)\b"
    r"|\{%[-+]?\s*(?P<other>macro|raw|call|filter|block)\b|\{\{[-~]?\s*(?P<go>define|block)\b"
    r"|<%-?[^%\n]*\b(?P<each>do)\b|\{\{(?P<section>[#^])|\{\{(?P<end>/)(?!\*)"
)
_LOOPS = frozenset({"range", "for", "do", "#"})


class TemplateBlock(NamedTuple):
    """A condition (`is_loop` is False) or a loop of a template: the offsets of its first tag and of its end tag."""

    start: int
    end: int
    is_loop: bool


def list_blocks(text: str, start: int, end: int) -> list[TemplateBlock]:
    """Return the conditions and loops between two offsets of a template, in order."""
    found: list[TemplateBlock] = []
    open_: list[tuple[int, str]] = []
    for match in re.compile(_PAIRED).finditer(text, start, end):
        word = match[match.lastgroup or 0]
        if not word.startswith(("end", "/")):
            open_.append((match.start(), "" if match.lastgroup in ("other", "go") else word))
        elif open_:
            begin, opened = open_.pop()
            if opened:
                found.append(TemplateBlock(begin, match.start(), opened in _LOOPS))
    return sorted(found)


def unmask(value: str, masked: str, original: str) -> str:
    """Return a block scalar's value with each `MASK` replaced by the original character.

    `masked` and `original` are the text of the scalar with and without masks. If some masks are not part of the
    value, return the value unchanged.
    """
    hidden = iter([was for is_, was in zip(masked, original, strict=True) if is_ == MASK])
    if value.count(MASK) != masked.count(MASK):
        return value
    return re.sub(MASK, lambda _: next(hidden), value)
