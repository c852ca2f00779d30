"""libyaml's parser, without the package around it.

The parser is an extension module of ruamel.yaml. When it is loaded, it imports twelve modules of the package, most
of them for the name of one error that its loader and its emitter raise, and these import the rest: as long as all
other work on a small file. Its events are classes of their own here: those of the package take three calls for each
event to make, and one for each look at a tag.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from types import ModuleType

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any


_FOR_ERRORS = ("composer", "constructor", "emitter", "parser", "reader", "representer", "scanner", "serializer")
"""Modules of which the extension takes an error class and nothing else."""


class _Event:
    """What the parser tells of a text, in the fields of the package's events that are looked at."""

    __slots__ = ("anchor", "end_mark", "flow_style", "start_mark", "style", "tag", "value")


class _Scalar(_Event):
    __slots__ = ()

    def __init__(
        self, anchor: str | None, tag: str | None, _: Any, value: str, start_mark: Any, end_mark: Any, style: str
    ) -> None:
        self.anchor = anchor
        self.tag = tag
        self.value = value
        self.start_mark = start_mark
        self.end_mark = end_mark
        self.style = style


class _CollectionStart(_Event):
    __slots__ = ()

    def __init__(
        self, anchor: str | None, tag: str | None, _: Any, start_mark: Any, end_mark: Any, flow_style: bool
    ) -> None:
        self.anchor = anchor
        self.tag = tag
        self.start_mark = start_mark
        self.end_mark = end_mark
        self.flow_style = flow_style


class _Alias(_Event):
    __slots__ = ()

    def __init__(self, anchor: str, start_mark: Any, end_mark: Any) -> None:
        self.anchor = anchor
        self.start_mark = start_mark
        self.end_mark = end_mark


class _Border(_Event):
    __slots__ = ()

    def __init__(self, start_mark: Any, end_mark: Any, *_: Any) -> None:
        self.start_mark = start_mark
        self.end_mark = end_mark


_EVENTS = {
    "ScalarEvent": _Scalar,
    "AliasEvent": _Alias,
    "MappingStartEvent": _CollectionStart,
    "SequenceStartEvent": _CollectionStart,
    **dict.fromkeys(("MappingEndEvent", "SequenceEndEvent", "DocumentStartEvent", "DocumentEndEvent"), _Border),
    **dict.fromkeys(("StreamStartEvent", "StreamEndEvent"), _Border),
}
"""The events by their names, each a class of its own with the fields of another."""


@cache
def libyaml() -> Any:
    """The module that holds `CParser`, `YAMLError`, and the classes of events."""
    if "ruamel.yaml" in sys.modules or "_ruamel_yaml" in sys.modules:
        return import_module("_ruamel_yaml")
    try:
        return _alone()
    except ImportError:  # another release of the extension, which takes more
        return import_module("_ruamel_yaml")


def _alone() -> ModuleType:
    """The extension; what stands in for the package and its modules of errors, events and tokens is gone then."""
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
        vars(events).update((name, type(name, (kind,), {"__slots__": ()})) for name, kind in _EVENTS.items())
        sys.modules.update(stands_in)
        return import_module("_ruamel_yaml")
    finally:
        for name in stands_in:
            sys.modules.pop(name, None)


def _token_class(name: str) -> type:
    """A class in place of a token's: of the parser, only what makes events is used."""
    if not name.endswith("Token"):
        raise AttributeError(name)
    return type(name, (), {})
