"""Code actions for findings: each fix, all safe fixes, and a comment that suppresses the rule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from lsprotocol import types

from nodelint.edits import apply
from nodelint.edits.line_diff import opcodes
from nodelint.lint.broken_fixes import why_broken
from nodelint.lint.engine import Result
from nodelint.lint.fix_effects import describe_unsafe_fix
from nodelint.lsp.buffers import Buffer
from nodelint.lsp.diagnostics import placed, uri_of
from nodelint.lsp.positions import LineIndex
from nodelint.lsp.titles import describe_edits
from nodelint.lsp.view import View
from nodelint.model.finding import Edit, by_source
from nodelint.rule.suppressions import suppressions
from nodelint.text import Source, SourceText, reread

FIX_ALL = "source.fixAll.nodelint"

_VAGUE = 24
"""The length of a suggestion's name below which the title also names the value."""


def actions(
    view: View, buffer: Buffer, start: int, end: int, only: Sequence[str] | None, versioned: bool
) -> Iterator[types.CodeAction]:
    """Yield the code actions between two offsets, of the requested kinds (None: all kinds).

    `versioned`: the client accepts edits for a version of a text.
    """
    if _is_requested_kind(types.CodeActionKind.QuickFix, only):
        found = list(placed(view, buffer, start, end))
        met = [(view.offered(result), diagnostic) for result, diagnostic in found]
        fixes: dict[tuple[Edit, ...], list[tuple[Result, types.Diagnostic]]] = {}
        for result, diagnostic in met:
            if result.fixable:
                fixes.setdefault(tuple(result.finding.edits), []).append((result, diagnostic))
        for group in fixes.values():
            yield from _fix(view, buffer, group[0][0], [diagnostic for _, diagnostic in group], versioned)
        for result, diagnostic in met:
            yield from _suggested(view, buffer, result, diagnostic, versioned)
        for (judged, _), (result, diagnostic) in zip(found, met, strict=True):
            if judged.finding.withheld is None:  # else the diagnostic says it
                yield from _withheld(result, diagnostic)
        for result, diagnostic in met:
            ignore = _ignored(buffer.source, result)
            if ignore is not None:
                yield types.CodeAction(
                    title=f"Ignore {result.rule.name} here",
                    kind=types.CodeActionKind.QuickFix,
                    diagnostics=[diagnostic],
                    edit=workspace_edit(view, buffer.encoding, [ignore], versioned),
                )
    if _is_requested_kind(FIX_ALL, only):
        edits = fix_all(view, buffer)
        if edits:
            yield types.CodeAction(
                title="Fix all that is safe to fix (nodelint)",
                kind=FIX_ALL,
                edit=workspace_edit(view, buffer.encoding, edits, versioned),
            )


def _is_requested_kind(kind: str, only: Sequence[str] | None) -> bool:
    """Return whether a kind is one of the requested kinds, or a subkind of one."""
    return only is None or any(
        kind == requested or kind.startswith(f"{requested}.") or not requested for requested in only
    )


def fix_all(view: View, buffer: Buffer) -> list[Edit]:
    """Return the edits of a text that `nodelint check --fix` would make."""
    if not any(result.fixable and result.safety == "safe" for result in view.results(buffer)):
        return []
    (fixed,) = view.fixed(buffer).sources
    return list(_difference(buffer.source, fixed.text))


def _difference(source: Source, text: str) -> Iterator[Edit]:
    """Yield edits of whole lines that change a source to another text."""
    old, new = source.text.splitlines(keepends=True), text.splitlines(keepends=True)
    starts = [0]
    for line in old:
        starts.append(starts[-1] + len(line))
    for kind, a, b, c, d in opcodes(old, new):
        if kind != "equal":
            yield Edit(source, starts[a], starts[b], "".join(new[c:d]))


def _fix(
    view: View, buffer: Buffer, result: Result, diagnostics: list[types.Diagnostic], versioned: bool
) -> Iterator[types.CodeAction]:
    """Yield the fix of a finding; nothing if `--fix` would refuse the fix."""
    edits = result.finding.edits
    before, after = _read_edited(edits)
    if why_broken(before, after, view.target) is None:
        effect = "safe: running nodes stay" if result.safety == "safe" else f"unsafe: {describe_unsafe_fix(result)}"
        yield types.CodeAction(
            title=f"{describe_edits(edits, before, after)} ({effect})",
            kind=types.CodeActionKind.QuickFix,
            diagnostics=diagnostics,
            is_preferred=result.safety == "safe",
            edit=workspace_edit(view, buffer.encoding, edits, versioned),
        )


def _read_edited(edits: Iterable[Edit]) -> tuple[list[SourceText], list[SourceText]]:
    """Return the texts that edits change, before and after the edits."""
    groups = by_source(edits)
    before = [group[0].source for group in groups]
    return before, [reread(group[0].source, apply(group[0].source.text, group)) for group in groups]


def _suggested(
    view: View, buffer: Buffer, result: Result, diagnostic: types.Diagnostic, versioned: bool
) -> Iterator[types.CodeAction]:
    """Yield a code action for each suggestion of a finding, titled with its name."""
    for suggestion in result.finding.suggestions:
        title = f"{suggestion.name[:1].upper()}{suggestion.name[1:]}"
        if "`" not in title and len(title) <= _VAGUE:  # "Drop it", in a menu far from the message
            did = describe_edits(suggestion.edits, *_read_edited(suggestion.edits))
            title += f": {did[:1].lower()}{did[1:]}"
        yield types.CodeAction(
            title=title,
            kind=types.CodeActionKind.QuickFix,
            diagnostics=[diagnostic],
            edit=workspace_edit(view, buffer.encoding, suggestion.edits, versioned),
        )


def _withheld(result: Result, diagnostic: types.Diagnostic) -> Iterator[types.CodeAction]:
    """Yield a disabled action that says why the fix of a finding is withheld."""
    withheld = result.finding.withheld
    if withheld is not None:
        yield types.CodeAction(
            title=f"No fix for {result.rule.name}: {withheld.text}",
            kind=types.CodeActionKind.QuickFix,
            diagnostics=[diagnostic],
            disabled=types.CodeActionDisabled(withheld.text),
        )


def _ignored(source: Source, result: Result) -> Edit | None:
    """Return the edit that adds a suppression comment: at the end of the line if possible, else above the line.

    None if no comment is possible: JSON has no comments, and kubectl refuses a file with one.
    """
    if source.path.endswith(".json"):
        return None
    at = result.span.start
    lines = LineIndex(source.text, "utf-32")
    line = lines.position(at).line
    end = lines.line_end(line)
    start = end - lines.position(end).character
    text = source.text[start:end]
    indent = text[: len(text) - len(text.lstrip(" \t"))]
    comment = f"# nodelint: ignore[{result.rule.name}]"
    behind = Edit(source, start + len(text.rstrip()), end, f"  {comment}")
    above = Edit(source, start, start, f"{indent}{comment}{source.newline}")
    for edit in (behind, above):
        moved = at + (len(edit.text) if edit is above else 0)
        edited = apply(source.text, [edit])
        new = reread(source, edited)
        if not any(document.root for document in new.documents):  # a values file names no kind of object
            new = Source.from_text(source.path, edited, ".")
        if len(new.problems) <= len(source.problems) and any(
            result.rule.name in suppression.rules
            and suppression.scope is not None
            and suppression.scope.start <= moved < suppression.scope.end
            for suppression in suppressions(new)
        ):
            return edit
    return None


def workspace_edit(view: View, encoding: str, edits: Iterable[Edit], versioned: bool) -> types.WorkspaceEdit:
    """Return edits of texts in the form of the protocol, each for the judged version of its text."""
    changes: list[types.TextDocumentEdit] = []
    for group in by_source(edits):
        source = group[0].source
        opened = view.buffer_of(source)
        lines = view.lines_of(source, encoding)
        uri = opened.uri if opened is not None else uri_of(source.path)
        named = types.OptionalVersionedTextDocumentIdentifier(uri, opened.version if opened is not None else None)
        changes.append(
            types.TextDocumentEdit(named, [types.TextEdit(lines.range(e.start, e.end), e.text) for e in group])
        )
    if versioned:
        return types.WorkspaceEdit(document_changes=list(changes))
    return types.WorkspaceEdit(
        changes={
            change.text_document.uri: [e for e in change.edits if isinstance(e, types.TextEdit)] for change in changes
        }
    )
