"""Load libyaml's parser without the package around it, with events as tuples.

The parser is an extension module of ruamel.yaml. When it is loaded, it imports twelve modules of the package, most of
them for one error class: this takes as long as all other work on a small file. The extension looks up the class of
each event by name in a module. Here these names are functions that return tuples, because creating objects took most
of the time of parsing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from types import ModuleType

from nodelint.base.budget import RUN
from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    Event = tuple[int, str | None, str | None, str, int, int, Any]
    """A parser event: kind, anchor, tag, value of a scalar, offsets of start and end, and style."""

SCALAR, MAPPING, SEQUENCE, END_OF_COLLECTION, ALIAS, DOCUMENT, END_OF_DOCUMENT, STREAM, END_OF_STREAM = range(9)
"""Kinds of events. The anchor of an alias is its name. The style of a collection says whether it has brackets."""

_FOR_ERRORS = ("composer", "constructor", "emitter", "parser", "reader", "representer", "scanner", "serializer")
"""Modules from which the extension needs one error class only."""


def _scalar(anchor: str | None, tag: str | None, _: Any, value: str, start: Any, end: Any, style: str) -> Event:
    return SCALAR, anchor, tag, value, start.index, end.index, style


def _mapping(anchor: str | None, tag: str | None, _: Any, start: Any, end: Any, flow: bool) -> Event:
    return MAPPING, anchor, tag, "", start.index, end.index, flow


def _sequence(anchor: str | None, tag: str | None, _: Any, start: Any, end: Any, flow: bool) -> Event:
    return SEQUENCE, anchor, tag, "", start.index, end.index, flow


def _alias(anchor: str, start: Any, end: Any) -> Event:
    return ALIAS, anchor, None, "", start.index, end.index, None


def _end_of_collection(start: Any, end: Any) -> Event:
    return END_OF_COLLECTION, None, None, "", start.index, end.index, None


def _document(start: Any, end: Any, *_: Any) -> Event:
    return DOCUMENT, None, None, "", start.index, end.index, None


def _end_of_document(start: Any, end: Any, *_: Any) -> Event:
    return END_OF_DOCUMENT, None, None, "", start.index, end.index, None


def _stream(start: Any, end: Any, *_: Any) -> Event:
    return STREAM, None, None, "", start.index, end.index, None


def _end_of_stream(start: Any, end: Any) -> Event:
    return END_OF_STREAM, None, None, "", start.index, end.index, None


_EVENTS: dict[str, Callable[..., Event]] = {
    "ScalarEvent": _scalar,
    "MappingStartEvent": _mapping,
    "SequenceStartEvent": _sequence,
    "AliasEvent": _alias,
    "MappingEndEvent": _end_of_collection,
    "SequenceEndEvent": _end_of_collection,
    "DocumentStartEvent": _document,
    "DocumentEndEvent": _end_of_document,
    "StreamStartEvent": _stream,
    "StreamEndEvent": _end_of_stream,
}
"""The function that creates the tuple of an event, by the class name of the event."""
_KINDS = {
    "ScalarEvent": SCALAR,
    "MappingStartEvent": MAPPING,
    "SequenceStartEvent": SEQUENCE,
    "AliasEvent": ALIAS,
    "MappingEndEvent": END_OF_COLLECTION,
    "SequenceEndEvent": END_OF_COLLECTION,
    "DocumentStartEvent": DOCUMENT,
    "DocumentEndEvent": END_OF_DOCUMENT,
    "StreamStartEvent": STREAM,
    "StreamEndEvent": END_OF_STREAM,
}


class Parser:
    """A libyaml parser: its error class, and the events of a text."""

    def __init__(self, module: Any, parser: Any) -> None:
        self.error: type[Exception] = module.YAMLError
        self._parser = parser
        self._gives_tuples = getattr(module, "ScalarEvent", None) is _scalar

    def read_events(self, text: str) -> Callable[[], Event]:
        """Return a function that returns the next event at each call. It raises `error` and `BudgetSpent`."""
        next_event: Callable[[], Any] = RUN.timed(self._parser(text).get_event)
        return next_event if self._gives_tuples else lambda: _as_tuple(next_event())


def _as_tuple(event: Any) -> Event:
    """Return an event object of PyYAML or ruamel.yaml as a tuple."""
    kind = _KINDS[type(event).__name__]
    anchor, tag, value = getattr(event, "anchor", None), getattr(event, "tag", None), getattr(event, "value", "")
    style = event.style if kind == SCALAR else getattr(event, "flow_style", None)
    return kind, anchor, tag, value, event.start_mark.index, event.end_mark.index, style


@cache
def libyaml() -> Parser:
    """Return the parser of ruamel.yaml's extension."""
    if "ruamel.yaml" in sys.modules or "_ruamel_yaml" in sys.modules:
        module: Any = import_module("_ruamel_yaml")
    else:
        try:
            module = _alone()
        except ImportError:  # another release of the extension, which needs more of the package
            module = import_module("_ruamel_yaml")
    return Parser(module, module.CParser)


def _alone() -> ModuleType:
    """Return the extension. The replacements for the package and its modules are removed again after the import."""
    package = ModuleType("ruamel.yaml")
    package.__path__ = [f"{folder}/yaml" for folder in import_module("ruamel").__path__]
    stands_in = {"ruamel.yaml": package}
    sys.modules["ruamel.yaml"] = package
    try:
        base = import_module("ruamel.yaml.error").MarkedYAMLError
        for name in _FOR_ERRORS:
            error = f"{name.capitalize()}Error"
            stand_in = stands_in[f"ruamel.yaml.{name}"] = ModuleType(f"ruamel.yaml.{name}")
            vars(stand_in)[error] = type(error, (base,), {})
        tokens = stands_in["ruamel.yaml.tokens"] = ModuleType("ruamel.yaml.tokens")
        vars(tokens)["__getattr__"] = _token_class
        events = stands_in["ruamel.yaml.events"] = ModuleType("ruamel.yaml.events")
        vars(events).update(_EVENTS)
        sys.modules.update(stands_in)
        return import_module("_ruamel_yaml")
    finally:
        for name in stands_in:
            sys.modules.pop(name, None)


def _token_class(name: str) -> type:
    """Return an empty class in place of a token class: the parser uses only events."""
    if not name.endswith("Token"):
        raise AttributeError(name)
    return type(name, (), {})
