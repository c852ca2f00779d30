"""Provide default functions for an input form that does not need the full interface."""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any


def _nothing(*_: Any, **__: Any) -> Iterator[Any]:
    """Return an empty iterator for any arguments."""
    return iter(())


read_embedded = find_objects = install_charts = install_known_charts = find_given_values = find_hidden_values = (
    _nothing
)
find_unread_callers = _nothing
find_remote_values = list_inputs = find_lost_inputs = state_releases = resolve_releases = _nothing
list_generated_specs = find_installs = find_plain_values = list_unread_values = find_including_templates = (
    find_kindless_templates
) = read_roots = _nothing
find_addresses = list_owners = list_moves = list_applied_folders = list_remote_uses = list_related_folders = (
    list_read_with
) = list_missing = list_value_readers = list_program_values = list_program_charts = list_roots = (
    list_missing_below
) = _nothing


def _false(*_: Any) -> bool:
    """Return False for any arguments."""
    return False


def find_given_texts(*_: Any) -> Callable[[str], str]:
    """Return a function that returns an empty text for any path: nothing gives values to the files of the form."""
    return lambda _: ""


may_embed = is_part = may_fill = owns = builds_on = _false


def is_required(path: str) -> bool:
    """Return True: the tool of the form reads every such file."""
    return True


def _none(*_: Any) -> None:
    """Return None for any arguments."""


apply_folder = find_fault = find_root_fault = find_missing_path = _none
read_needed_files = render = note_gaps = forget = find_patched_folder = _none
make_input_finder = make_value_readers = find_variables_elsewhere = read_files_taken = _none


def list_unread_releases(charts: Any, top: str, sources: Any) -> dict[str, Any]:
    """Return an empty mapping."""
    return {}


def writer_of(style: str) -> Any:
    """Raise `NotEditable`, because nodelint does not edit nodes of the form."""
    from nodelint.edits.collections import NotEditable

    raise NotEditable("it is edited by hand")
