"""Fill Helm templates with values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from nodelint.base.budget import RUN, BudgetSpent
from nodelint.edits import apply
from nodelint.forms.given_up import give_up, is_given_up
from nodelint.forms.helm.charts import ChartFiles
from nodelint.forms.lib.edited_values import with_edits
from nodelint.forms.lib.gotemplate.evaluate import Filled, Holes, fill
from nodelint.forms.lib.gotemplate.sprig_values import CopiedText
from nodelint.forms.lib.gotemplate.syntax import BadTemplate, parse
from nodelint.forms.lib.text_map import Back, Uses
from nodelint.forms.lib.values import own_roots
from nodelint.model.finding import Edit
from nodelint.text import Node, Source, SourceText, reread


def fill_template(
    template: Source,
    values: Source,
    uses: Uses,
    files: ChartFiles,
    root: Node | None = None,
    plain: Holes | None = None,
    is_complete: bool = False,
) -> tuple[Back, ...]:
    """Return a rendered template.

    If fields have no value, return variants: with all of them, with some, and with none.

    Empty if the template uses none of the values, or if its result cannot be read. `root` are the values if they are
    not those of the file `values`. With `plain`, a template that uses no values is returned as well; `plain` is the
    text for a block that prints nothing. `is_complete` is as in `fill`.
    """
    if values.problems or values.code_masked or len(own_roots(values)) > 1:
        return ()
    if is_given_up(template):
        return ()  # with other values it would take as long
    try:
        parts = parse(template.text)
    except BadTemplate:
        return ()
    whole = root or next(iter(own_roots(values)), None)
    chart = files.data_for(template)

    def attempt(holes: Holes) -> Back | None:
        defaults = values if root is not None else None
        filled = fill(template.text, parts, whole, holes, chart, defaults, is_complete)
        is_used = bool(filled.values or filled.refusals) or plain is not None
        back = _read(template, values, filled, uses, files.sources) if is_used else None
        if back is not None:
            back.root, back.is_complete = root, is_complete
        return back

    return _variants(template, attempt, plain or "keys")


def _variants(template: Source, attempt: Callable[[Holes], Back | None], first: Holes) -> tuple[Back, ...]:
    try:
        RUN.check_time()
        back = attempt(first) or attempt("code")
        if back is None or not back.holes:
            return () if back is None else (back,)
        attempted = attempt("some keys") or back
        none = attempt("nothing")
    except BudgetSpent as limit:
        give_up(template, limit)
        return ()
    return () if none is None else (back, attempted, none)


def _read(
    template: Source,
    values: SourceText,
    filled: Filled,
    uses: Uses,
    sources: Mapping[str, Source],
) -> _ChartBack | None:
    """Return the rendered template. None if its text cannot be read."""
    result = Source.from_text(template.path, filled.text, template.also)
    result.part = template.part
    if result.problems or result.set_aside:
        return None
    for segment in filled.segments:
        if segment.node is not None and segment.code is not None and not isinstance(segment.node, CopiedText):
            uses.setdefault(id(segment.node), set()).add((id(template), segment.code.start))
    return _ChartBack(template, result, values, filled, uses, sources)


class _ChartBack(Back):
    """The source map of a rendered chart template."""

    def __init__(
        self,
        template: Source,
        result: Source,
        values: SourceText,
        filled: Filled,
        uses: Uses,
        sources: Mapping[str, Source],
    ) -> None:
        super().__init__(template, result, values, filled, uses)
        self._sources = sources
        self.root: Node | None = None
        """All values, if they are not those of the chart's own file."""
        self.is_complete = False

    def _comes_to(self, edits: Sequence[Edit], after: Source) -> bool:
        if self.root is not None:
            return self._comes_to_with_values(self.root, edits, after)
        own = [edit for edit in edits if edit.source is self.template]
        others = [edit for edit in edits if edit.source is self.defaults]
        template = reread(self.template, apply(self.template.text, own)) if own else self.template
        values = reread(self.defaults, apply(self.defaults.text, others)) if others else self.defaults
        files = ChartFiles(self._sources)
        made = (
            fill_template(template, values, {}, files, is_complete=self.is_complete)
            if isinstance(values, Source)
            else ()
        )
        if not made or len(own) + len(others) < len(edits):
            return False
        return _plain_roots(made[0].result) == _plain_roots(after)

    def _comes_to_with_values(self, root: Node, edits: Sequence[Edit], after: Source) -> bool:
        root_after, defaults = with_edits(root, edits), self.defaults
        if root_after is None or not isinstance(defaults, Source):
            return False
        files = ChartFiles(self._sources)
        made = fill_template(self.template, defaults, {}, files, root_after, is_complete=self.is_complete)
        return bool(made) and _plain_roots(made[0].result) == _plain_roots(after)


def _plain_roots(source: Source) -> list[object]:
    return [document.root.plain() for document in source.documents if document.root is not None]
