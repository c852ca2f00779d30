"""Render the texts of Terraform, and map changes of them to the literals in the files."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

from nodelint.edits import NotEditable, apply
from nodelint.forms.lib.text_map import Back, make_built
from nodelint.forms.map_edits import find_changes
from nodelint.forms.rendered import Built, LedEdits, ValueOrigin
from nodelint.forms.terraform.filled_texts import FilledText, RefilledTexts, filled_texts
from nodelint.forms.terraform.modules import ModuleFiles
from nodelint.forms.terraform.writer import change_literal, is_literal
from nodelint.model.finding import Edit, Span, Withheld
from nodelint.text import Node, Source, SourceText, reread, reread_document

_WRITTEN = (".tf", ".tofu", ".tfvars", ".hcl")
"""Files whose literals are edited. Values in YAML and JSON files are not."""
_MOST_KEPT = 100
"""The most changes of files whose rendered results are cached."""
_MOST_READ_ANEW = 2_000_000
"""The most characters of files that may be parsed again to compute the results of changes."""
_FOR_WAY = 50
"""The number of characters that each call of a module counts, because it is also evaluated again."""


def filled_by_terraform(sources: Sequence[Source], each_release: bool = False) -> Iterator[Built]:
    """Yield the rendered texts of the sources that Terraform renders.

    With `each_release`, a text that gets no values is rendered once for each call of its module.
    """
    run = _TerraformRun(sources)
    filled = list(filled_texts(sources, run.files))
    if each_release and filled:
        from nodelint.forms.terraform.plain_texts import list_plain_texts

        filled += list_plain_texts(sources, run.files, filled)
    unchanged = {path for text in filled for path in text.files.unchanged}
    for text in filled:
        path = os.path.abspath(text.template.path)
        printed = tuple(sorted(text.files.changed - unchanged))
        if all(path not in other.files.changed - unchanged for other in filled):
            built = run.build(text)._replace(settle=run.settle(path))
            yield built._replace(replaces=(*built.replaces, *printed), printed=printed)


class _TerraformRun:
    """The sources of a run, and the manifests rendered without replaceable defaults."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self.sources = sources
        self.files = ModuleFiles(sources)
        self._left = _MOST_READ_ANEW
        self._refilled: dict[tuple[bool, tuple[Edit, ...]], tuple[dict[str, Source], RefilledTexts]] = {}

    def build(self, text: FilledText, settled: bool = False) -> Built:
        back = _TerraformBack(text, self, settled)
        built = make_built((back,), text.template, fixing=True)
        own = text.own
        cluster = os.path.abspath(text.root if own is None else own.path)
        given = [
            os.path.abspath(segment.node.source.path) for segment in text.filled.segments if segment.node is not None
        ]
        files = [
            *(text.unit.files if text.unit is not None else ()),
            *([os.path.abspath(own.path)] if own is not None else []),
        ]
        parts = tuple(dict.fromkeys((*built.parts, *given, *map(os.path.abspath, files))))
        return built._replace(
            cluster=cluster,
            label=text.caller,
            given=() if own is None else (own,),
            parts=parts,
            applied_by=(cluster, text.caller),
            needs_values=text.needs_values,
            written_in=back.list_texts,
        )

    def fill_again(self, text: FilledText, edits: Sequence[Edit], settled: bool) -> list[Source] | None:
        """Return how a text renders after edits of files; several results if it is rendered more than once.

        None if the run has already parsed too many characters for such trials. With `settled`, defaults that a caller
        may replace are unknown. Texts with the same edits share the parsed files.
        """
        key = settled, tuple(edits)
        self._left -= len(text.result.text)
        if self._left < 0:
            return None
        if key not in self._refilled:
            while len(self._refilled) >= _MOST_KEPT:
                del self._refilled[next(iter(self._refilled))]
            self._left -= sum(len(source.text) for source in {id(e.source): e.source for e in edits}.values())
            self._left -= _FOR_WAY * text.way[1]
            self._refilled[key] = self._refill(edits, settled)
        own, refilled = self._refilled[key]
        template = own[os.path.abspath(text.template.path)]
        return [found.result for found in refilled.find(template, text.caller, text.way)]

    @property
    def is_spent(self) -> bool:
        """Return whether the limit is reached, so that no more edits are tried."""
        return self._left < 0

    def _refill(self, edits: Sequence[Edit], settled: bool) -> tuple[dict[str, Source], RefilledTexts]:
        changed: dict[str, list[Edit]] = {}
        for edit in edits:
            changed.setdefault(edit.source.path, []).append(edit)
        made = {
            os.path.abspath(path): Source.from_text(path, apply(edits[0].source.text, edits))
            for path, edits in changed.items()
        }
        own = {os.path.abspath(source.path): source for source in self.sources} | made
        return own, RefilledTexts(list(own.values()), self.files.replace(made), settled)

    def settle(self, path: str) -> Callable[[], Sequence[Built]]:
        """Return a function that returns a file's rendered manifests without defaults that a caller can replace."""
        return lambda: self.settled.get(path, ())

    @cached_property
    def settled(self) -> Mapping[str, Sequence[Built]]:
        """Return the manifests rendered without replaceable defaults, by the absolute path of their file."""
        found: dict[str, list[Built]] = {}
        for text in filled_texts(self.sources, self.files, settled=True):
            built = self.build(text, settled=True)
            found.setdefault(os.path.abspath(text.template.path), []).append(built._replace(settle=tuple))
        return found


class _TerraformBack(Back):
    """The source map of a text that Terraform renders."""

    def __init__(self, text: FilledText, run: _TerraformRun, settled: bool) -> None:
        super().__init__(text.template, text.result, SourceText("", ""), text.filled, {})
        self.default = "the value is written here"
        self._text = text
        self._run = run
        self._settled = settled
        self._made: dict[tuple[Edit, ...], list[dict[int, tuple[Node, object]]]] = {}

    def find_origin(self, at: Node | Span) -> ValueOrigin:
        """Return the place where a part of the rendered text is written. It is exact only for a literal."""
        origin = super().find_origin(at)
        whole = isinstance(origin.at, Node) and is_editable_literal(origin.at)
        return origin._replace(exact=origin.exact and (whole or not isinstance(origin.at, Node)))

    def lead_edits(self, edits: Sequence[Edit]) -> LedEdits | Withheld:
        """Return the edits of files that make a change of the rendered text.

        Return a `Withheld` if anything except literals must change.
        """
        if not edits or any(edit.source is not self.result for edit in edits):
            return Withheld("other-result")
        if self._run.is_spent:
            return Withheld("not-tried")
        after = self._reread(edits)
        if len(after.documents) != len(self.result.documents):
            return Withheld("other-result")
        own = [self._own(edit) for edit in edits]
        if all(edit is not None for edit in own):
            made = [edit for edit in own if edit is not None]
            return self._check_edits(made, after, set())
        made, places = [], set()
        for node, new in find_changes(self.result, after):
            value = self.value(node)
            if value is None or value.kind != node.kind or not is_editable_literal(value):
                return Withheld("computed", self.find_origin(node).at)
            try:
                made += change_literal(value, new)
            except NotEditable as error:
                return Withheld("not-editable", value, str(error))
            places |= {id(part) for part in value.walk()}
        return self._check_edits(list(dict.fromkeys(made)), after, places)

    def _reread(self, edits: Sequence[Edit]) -> Source:
        """Return the rendered text after some edits. If they are in one document, only this document is parsed."""
        text = apply(self.result.text, edits)
        for document in self.result.documents:
            if all(document.start <= edit.start and edit.end <= document.end for edit in edits):
                return reread_document(self.result, document.index, text)
        return reread(self.result, text)

    def _own(self, edit: Edit) -> Edit | None:
        """Return the edit of the template from which an edit of the rendered text comes.

        It may span lines of a heredoc whose common indent Terraform removes. None if the characters were not copied
        unchanged.
        """
        found = super()._own(edit) if "\n" not in edit.text else None
        if found is not None:
            return found
        over = [segment for segment, _, _ in self._over(max(edit.start - 1, 0), edit.end + 1)]
        if not over or any(segment.code is not None for segment in over):
            return None
        text, result = self.template.text, self.result.text
        first = max((segment for segment in over if segment.at <= edit.start), key=lambda s: s.at, default=over[0])
        last = max((segment for segment in over if segment.at <= edit.end), key=lambda s: s.at, default=over[-1])
        start, end = (part.start + at - part.at for part, at in ((first, edit.start), (last, edit.end)))
        begin = text.rfind("\n", 0, first.start) + 1
        indent = text[begin : first.start] if result[first.at - 1 : first.at] == "\n" else ""
        if indent.strip() or start > end:
            return None
        added = re.sub(r"\n(?!\n|\Z)", "\n" + indent, edit.text)
        if edit.text.endswith("\n") or not edit.text:  # whole lines
            if result[edit.start - 1 : edit.start] == "\n":
                start, added = text.rfind("\n", 0, start) + 1, indent + added if added else ""
            if result[edit.end - 1 : edit.end] == "\n":
                end = text.rfind("\n", 0, end) + 1
        return Edit(self.template, start, end, added)

    def _check_edits(self, edits: Sequence[Edit], after: Source, places: set[int]) -> LedEdits | Withheld:
        """Return the edits of files if they change the rendered text to `after`, else a `Withheld`.

        Further changes of the text are allowed if they come from the same literals, whose ids are `places`.
        """
        wanted = {id(node): value for node, value in find_changes(self.result, after)}
        found = self._find_made(edits) if edits else ()
        if found is None:
            return Withheld("not-tried")
        further: Node | None = None
        for made in found:
            if any(key not in made or made[key][1] != value for key, value in wanted.items()):
                continue
            others = [node for key, (node, _) in made.items() if key not in wanted]
            unlike = next((node for node in others if id(self.value(node)) not in places), None)
            if unlike is None:
                return LedEdits(edits, bool(others))
            further = unlike
        if further is not None:
            field = _name_field(further)
            return Withheld("shared", further, f"the edit would also change `{field}`, which uses the same value")
        return Withheld("other-result")

    def _find_made(self, edits: Sequence[Edit]) -> list[dict[int, tuple[Node, object]]] | None:
        """Return the changes that edits of files make in the text, for each rendering. None if they were not tried.

        The result is cached: the same edits are checked for each instance of a block.
        """
        key = tuple(edits)
        if key not in self._made:
            texts = self._run.fill_again(self._text, edits, self._settled)
            if texts is None:
                return None
            self._made[key] = [
                {id(node): (node, value) for node, value in find_changes(self.result, new)}
                for new in texts
                if len(new.documents) == len(self.result.documents)
            ]
        return self._made[key]


def _name_field(node: Node) -> str:
    """Return the keys above a value of an object, joined by dots."""
    names: list[str] = []
    while node.parent is not None:
        names += [entry.name for entry in node.parent.entries if entry.value is node and entry.name is not None]
        node = node.parent
    return ".".join(reversed(names))


def is_editable_literal(value: Node) -> bool:
    """Return whether a value is a literal of a Terraform file."""
    return value.source.path.endswith(_WRITTEN) and is_literal(value)
