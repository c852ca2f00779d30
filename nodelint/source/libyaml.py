"""libyaml's parser, without the package around it.

The parser is an extension module of ruamel.yaml. When it is loaded, it imports twelve modules of the package, most
of them for the name of one error that its loader and its emitter raise, and these import the rest: as long as all
other work on a small file.
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
    """The extension with stand-ins for the package and for the modules of errors; they are gone when it is loaded."""
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
        sys.modules.update(stands_in)
        return import_module("_ruamel_yaml")
    finally:
        for name in stands_in:
            sys.modules.pop(name, None)
