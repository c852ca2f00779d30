"""Choose, show and write the fixes of `nodelint check`."""

from __future__ import annotations

from nodelint.base.printable import has_codes, screened
from nodelint.base.types import TYPE_CHECKING
from nodelint.commands._console import echo, echo_file, say, stop
from nodelint.commands._terminal import look
from nodelint.files.safe_read import error_reason
from nodelint.model.messages import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nodelint.commands._lint_setup import Judging
    from nodelint.files.folders import Discovery
    from nodelint.lint.autofix import Fixed
    from nodelint.lint.chosen_edits import ChosenEdits
    from nodelint.lint.engine import Report, Result
    from nodelint.text import Source


def read_chosen(chosen: Sequence[str], ready: Judging) -> ChosenEdits | None:
    """Return the edits that `--apply` names; None without the option. End the run if a value is not valid."""
    if not chosen:
        return None
    from nodelint.lint.chosen_edits import ChoiceError, ChosenEdits, EditChoice

    try:
        return ChosenEdits([EditChoice.read(text, ready.session.rules) for text in chosen])
    except ChoiceError as error:
        stop(f"--apply: {error}")


def print_diff(sources: Sequence[Source], fixed: Fixed, report: Report, chosen: bool) -> None:
    """Print the diff of the fixes, and on standard error how many findings they fix."""
    from nodelint.report.unified_diff import coloured, effect_notes, unified

    style = look().style
    unsafe = [result for result in fixed.applied if result.safety == "unsafe"]
    for old, new in zip(sources, fixed.sources, strict=True):
        lines = "".join([*effect_notes(old, fixed.applied if chosen else unsafe, chosen), *unified(old, new)])
        echo(coloured(screened(lines, commands=True), style), nl=False, commands=True)
        if has_codes(lines):
            say(f"{new.path}: the diff shows control characters as escapes, so it does not apply; use --fix")
    if chosen:
        from nodelint.report.summary import not_fixed_lines

        for line in not_fixed_lines(fixed.refused):
            echo(line, err=True)
        echo(f"Would fix {counted(len(fixed.applied), 'finding')}.", err=True)
        return
    by_unsafe = f", {len(unsafe):,} of them by unsafe fixes" if unsafe else ""
    later = _count_later(fixed.applied, report)
    after_others = f", {later:,} of them once the others are fixed" if later else ""
    left = sum(bool(result.finding.suggestions) and not result.fixable for result in fixed.report.places)
    by_choice = f"; {counted(left, 'finding')} with suggestions: `--apply FILE:LINE` applies one" if left else ""
    echo(f"Would fix {counted(len(fixed.applied), 'finding')}{by_unsafe}{after_others}{by_choice}.", err=True)


def _count_later(applied: Sequence[Result], report: Report) -> int:
    """Return how many applied fixes became possible only after others: the report of a check does not count them."""
    first = {(result.rule.name, result.finding.message) for result in report.places if result.fixable}
    return sum((result.rule.name, result.finding.message) not in first for result in applied)


def write_fixed(found: Discovery, fixed: Fixed | None) -> set[str]:
    """Write the changed files. Return the paths that could not be written, whose files are unchanged."""
    from nodelint.files.atomic_write import replace

    stdin, left = found.stdin, set()
    for old, new in zip(list(found.sources), fixed.sources if fixed else (), strict=True):
        if old.text == new.text:
            continue
        if new.path == found.stdin_path:
            stdin = new.data
            continue
        try:
            replace(new.path, new.data, before=old.data)
        except OSError as error:
            left.add(new.path)
            found.unreadable.append((new.path, f"not written: {error_reason(error)}"))
    if stdin is not None:
        echo_file(stdin)
    return left
