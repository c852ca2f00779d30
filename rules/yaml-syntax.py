r"""A document is not valid YAML, so kubectl, or kustomize and Flux, cannot read it.

nodelint reads YAML as kubectl does: tabs do not indent, and one error makes the whole document unreadable. If a key
appears twice in one mapping, kubectl silently keeps the last value, and kustomize refuses the file (Flux accepts it).
nodelint reports the key and does not judge the rest of the document. It still checks the other documents of the file.
If the keys `apiVersion` and `kind` appear twice, the line `---` between two objects is missing. Merge conflicts that
git left in a file are one finding, with each side as a suggestion.

nodelint skips a file that does not parse because it is a template (Helm, Terraform, Jinja). It also skips documents
that mention Karpenter but contain none of its objects.

```yaml bad
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: KarpenterNodeRole
  amiSelectorTerms: [{alias: al2023@v20250403}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  role: KarpenterNodeRole-main
```

```yaml good frame=class
```

```yaml bad
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  limits: {cpu: 100}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: [{key: kubernetes.io/arch, operator: In, values: [amd64]}]
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: KarpenterNodeRole-main
  amiSelectorTerms: [{alias: al2023@v20250403}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
```
"""

import re
from collections.abc import Iterator
from itertools import islice

from nodelint.api import Also, Context, Edit, Finding, Findings, Source, Span, Suggestion, edits, rule

OBJECT = ("apiVersion", "kind")


@rule(
    on=Source,
    group="correctness",
    fix="safe",
    subject="objects",
    source="https://yaml.org/spec/1.2.2/",
    tags=["syntax"],
)
def check(source: Source, context: Context) -> Findings:
    conflicts = _conflicts(source.text) if source.problems else []
    for problem in source.problems:
        if not source.concerns_karpenter(problem.offset):
            continue
        if conflicts and conflicts[0][0] <= problem.offset:
            yield _unresolved(source, conflicts)
            return
        first, opened = problem.first, problem.opened
        at = Span(source, problem.offset, min(len(source.text), problem.offset + problem.length))
        if first is not None and _begins_object(source.text, first, problem.offset):
            yield Finding(
                at=at,
                message="another object begins at this line: the line `---` before it is missing",
                edits=[Edit(source, problem.offset, problem.offset, f"---{_line_break(source.text)}")],
                also=[Also(Span(source, first, first + problem.length), "the first object starts here")],
                note="kubectl silently drops the first object; kustomize and Flux refuse the file",
            )
            continue
        also = [] if first is None else [Also(Span(source, first, first + problem.length), "the key is here first")]
        also += [] if opened is None else [Also(Span(source, opened, opened + 1), "it is still open at this line")]
        yield Finding(
            at=at,
            message=problem.message,
            also=also,
            note=None if first is None else "kubectl silently drops the first; kustomize and Flux refuse the file",
            help=None if first is None else "keep one of them",
            suggestions=_ways(source, problem.offset, problem.opened)
            if first is None
            else _keep_one(source, first, problem.offset),
        )


def _conflicts(text: str) -> list[tuple[int, ...]]:
    """Return the merge conflicts of a text, in order.

    Each is five offsets: the start of the conflict, the end of the lines above `=======`, the start of `=======`, the
    end of the lines below, and the end of the conflict. The lines of a common ancestor belong to neither side.
    """
    found: list[tuple[int, ...]] = []
    marks: dict[str, int] = {}
    for line in re.compile(r"(?m)^(?:<{7}|\|{7}|={7}|>{7})(?=[ \r\n]|\Z)[^\n]*(?:\n|\Z)").finditer(text):
        marker = line[0][0]
        if marker == "<":
            marks = {"<": line.start()}
        elif marks:
            marks[marker] = line.start()
        if marker == ">" and "=" in marks:
            middle = marks["="]
            found.append((marks["<"], marks.get("|", middle), middle, line.start(), line.end()))
            marks = {}
    return found


def _unresolved(source: Source, conflicts: list[tuple[int, ...]]) -> Finding:
    """Return one finding for all merge conflicts of a file. Each side that nodelint can read is a suggestion."""
    first = conflicts[0][0]
    lines = ", ".join(str(source.position(conflict[0]).line) for conflict in conflicts[1:4])
    ways = []
    for name, side in (("above", 0), ("below", 2)):
        changes = []
        for conflict in conflicts:
            begin = source.text.index("\n", conflict[side]) + 1
            changes += [Edit(source, conflict[0], begin, ""), Edit(source, conflict[side + 1], conflict[4], "")]
        ways.append(Suggestion(f"keep the lines {name} `=======`", changes))
    return Finding(
        at=Span(source, first, _end_of_line(source.text, first)),
        message="a merge conflict is not resolved",
        help=f"further conflicts begin in line {lines}" if lines else None,
        suggestions=[way for way in ways if _mends(source, list(way.edits))],
    )


def _ways(source: Source, at: int, opened: int | None) -> list[Suggestion]:
    """Return suggestions that make more of the file readable: another indent, spaces for tabs, quotes, or a closing
    bracket.
    """
    if len(source.text) > _LONGEST:
        return []
    kinds = [_indents(source, at), _spaces(source), _quotes(source, at)]
    if opened is not None:
        kinds.append(_closed(source, opened))
    tried = [islice(ways, _MOST_TRIED) for ways in kinds]
    found = [next((Suggestion(*way) for way in ways if _mends(source, way[1])), None) for ways in tried]
    return [suggestion for suggestion in found if suggestion is not None]


_MOST_TRIED = 8
_LONGEST = 200_000
"""The length, in characters, up to which suggestions are made, because the text is read again for each."""


def _mends(source: Source, changes: list[Edit]) -> bool:
    """Return whether nodelint can read more of a file after these edits."""
    text = edits.apply(source.text, changes)
    return len(Source.from_text(source.path, text, source.also).problems) < len(source.problems)


def _lines(text: str) -> Iterator[re.Match[str]]:
    return re.compile(r"(?m)^([ \t]*)(\S[^\r\n]*)").finditer(text)


def _end_of_line(text: str, at: int) -> int:
    newline = text.find("\n", at)
    end = newline if newline >= 0 else len(text)
    return end - 1 if text.endswith("\r", 0, end) else end


def _indents(source: Source, at: int) -> Iterator[tuple[str, list[Edit]]]:
    """Yield edits that move a key, with the lines below it, to the indentation of a key above it."""
    text = source.text
    start = text.rfind("\n", 0, at) + 1
    own = len(text[start:at]) - len(text[start:at].lstrip(" "))
    before = [line for line in _lines(text[:start]) if not line[2].startswith("#")]
    above = [len(line[1]) + len(line[2]) - len(re.sub(r"\A(?:-[ ]+)+", "", line[2])) for line in before]
    if not above or text[start:at].strip() or "\t" in text[start:at]:
        return
    lines = [start]
    for line in _lines(text[start:]):
        if line.start() and len(line[1]) <= own:
            break
        lines.append(start + line.start())
    for column in dict.fromkeys([above[-1], *(indent for indent in reversed(above) if indent < above[-1])]):
        if column != own:
            more, pad = max(column - own, 0), max(own - column, 0)
            yield (
                f"begin it in column {column + 1}",
                [Edit(source, line_number, line_number + pad, " " * more) for line_number in dict.fromkeys(lines)],
            )


def _spaces(source: Source) -> Iterator[tuple[str, list[Edit]]]:
    """Yield edits that replace the tabs at the start of lines by 2, 4 or 8 spaces."""
    tabs = [(line.start(1), line.end(1)) for line in _lines(source.text) if "\t" in line[1]]
    for width in (2, 4, 8) if tabs else ():
        changes = [Edit(source, a, b, source.text[a:b].replace("\t", " " * width)) for a, b in tabs]
        if _ends_block(source.text, changes):
            continue
        yield f"write {width} spaces for each tab", changes


def _ends_block(text: str, indents: list[Edit]) -> bool:
    """Return whether a line, with its new indent, is outside the block that the key above it begins."""
    for indent in indents:
        above = text[text.rfind("\n", 0, max(indent.start - 1, 0)) + 1 : indent.start]
        opens = re.fullmatch(r"( *)[\w./-]+:\s*", above)
        if opens and len(indent.text) <= len(opens[1]) and not text.startswith("-", indent.end):
            return True
    return False


def _quotes(source: Source, at: int) -> Iterator[tuple[str, list[Edit]]]:
    """Yield edits that put the value of the line in quotes."""
    text = source.text
    start, end = text.rfind("\n", 0, at) + 1, _end_of_line(text, at)
    end = start + len(text[start:end].rstrip(" "))
    value = re.compile(r"[ ]*(?:-[ ]+)*(?:[\w./-]+:[ ]+)?([^\s\"'#|>&*!{\[][^\r\n]*)").match(text, start, end)
    if value is not None and value.start(1) <= at and '"' not in value[1] and "\\" not in value[1]:
        changes = [Edit(source, value.start(1), value.start(1), '"'), Edit(source, value.end(1), value.end(1), '"')]
        yield "put the value in quotes", changes


def _closed(source: Source, opened: int) -> Iterator[tuple[str, list[Edit]]]:
    """Yield an edit that closes an open bracket at the end of its line."""
    end = opened + len(source.text[opened : _end_of_line(source.text, opened)].partition(" #")[0].rstrip())
    close = "}" if source.text[opened] == "{" else "]"
    yield f"close it with `{close}`", [Edit(source, end, end, close)]


def _begins_object(text: str, first: int, again: int) -> bool:
    """Return whether the keys of an object are at the start of a line, and a second time below."""
    key = text[again : again + 10].partition(":")[0].strip()
    if key not in OBJECT or any(text[max(at - 1, 0) : at] not in ("", "\n", "\ufeff") for at in (first, again)):
        return False
    end = re.compile(r"(?m)^(---|\.\.\.)(?=\s|$)").search(text, again)
    parts = (text[first:again], text[again : end.start() if end is not None else len(text)])
    return all(re.search(rf"(?m)^{name}:\s", part) is not None for part in parts for name in OBJECT)


def _line_break(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _keep_one(source: Source, first: int, again: int) -> list[Suggestion]:
    """Return suggestions that each remove one of two entries of a mapping, with its lines.

    Empty if one is not alone on its lines.
    """
    spans = [_entry(source.text, at) for at in (first, again)]
    if None in spans:
        return []
    lines = [source.position(at).line for at in (first, again)]
    choices = ((lines[1], spans[0]), (lines[0], spans[1]))
    return [
        Suggestion(f"keep the one of line {line}", [Edit(source, span[0], span[1], "")])
        for line, span in choices
        if span is not None
    ]


def _entry(text: str, at: int) -> tuple[int, int] | None:
    """Return the start and the end of the lines of the entry whose key begins at a place.

    None if the key is not the first text on its line.
    """
    start = text.rfind("\n", 0, at) + 1
    indent = text[start:at]
    if indent.strip(" "):
        return None
    end = text.find("\n", at) + 1 or len(text)
    below = re.compile(rf"(?:{indent}[ ]+\S[^\n]*|{indent}-(?:[ ][^\n]*)?|[ \t\r]*)(?:\n|\Z)")
    while end < len(text) and (line := below.match(text, end)) is not None and line.end() > end:
        end = line.end()
    return start, end
