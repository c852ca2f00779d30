"""Provide NamedTuple in an eighth of the time of `typing.NamedTuple`.

For each class, typing compiles every annotation, and collections compiles a `__new__`: a tenth of the time of a check
of one file. Here, classes with the same number of fields share the code of one `__new__`. A type checker sees
typing's NamedTuple.
"""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, Generic, NamedTuple
else:
    try:
        from _collections import _tuplegetter as _field
    except ImportError:  # an interpreter other than CPython
        from operator import itemgetter

        def _field(index: int, _: str) -> property:
            return property(itemgetter(index))

    _FunctionType = type(lambda: None)
    new = tuple.__new__
    _GLOBALS = {"new": new, "__builtins__": {}, "__name__": __name__}

    # Those of most classes are compiled with this file: ten files that hold nothing would else be a tenth longer.
    _FEW = (
        lambda _cls: new(_cls, ()),
        lambda _cls, _0: new(_cls, (_0,)),
        lambda _cls, _0, _1: new(_cls, (_0, _1)),
        lambda _cls, _0, _1, _2: new(_cls, (_0, _1, _2)),
        lambda _cls, _0, _1, _2, _3: new(_cls, (_0, _1, _2, _3)),
        lambda _cls, _0, _1, _2, _3, _4: new(_cls, (_0, _1, _2, _3, _4)),
        lambda _cls, _0, _1, _2, _3, _4, _5: new(_cls, (_0, _1, _2, _3, _4, _5)),
        lambda _cls, _0, _1, _2, _3, _4, _5, _6: new(_cls, (_0, _1, _2, _3, _4, _5, _6)),
        lambda _cls, _0, _1, _2, _3, _4, _5, _6, _7: new(_cls, (_0, _1, _2, _3, _4, _5, _6, _7)),
    )

    _CODES = {count: made.__code__ for count, made in enumerate(_FEW)}

    def _new(count: int) -> Any:
        if count not in _CODES:
            names = [f"_{n}" for n in range(count)]
            text = f"lambda {', '.join(['_cls', *names])}: new(_cls, ({''.join(f'{name}, ' for name in names)}))"
            _CODES[count] = eval(text).__code__
        return _CODES[count]

    class _Tuple(tuple):
        """The common methods of all named tuples. Names and behaviour are those of `collections.namedtuple`."""

        __slots__ = ()
        _fields: tuple[str, ...] = ()

        @classmethod
        def _make(cls, values: Any) -> Any:
            made = tuple.__new__(cls, values)
            if len(made) != len(cls._fields):
                raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
            return made

        def _replace(self, **values: Any) -> Any:
            made = self._make(map(values.pop, self._fields, self))
            if values:
                raise TypeError(f"Got unexpected field names: {list(values)}")
            return made

        def _asdict(self) -> dict[str, Any]:
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self) -> str:
            values = ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
            return f"{type(self).__name__}({values})"

        def __getnewargs__(self) -> tuple[Any, ...]:
            return tuple(self)

    class _Maker(type):
        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
            if not bases:
                return super().__new__(cls, name, bases, body)
            fields = tuple(body["__annotations__"])
            defaults = {field: body[field] for field in fields if field in body}
            assert tuple(defaults) == fields[len(fields) - len(defaults) :], "fields without a default come first"
            code = _new(len(fields)).replace(co_varnames=("_cls", *fields), co_name="__new__")
            body.update((field, _field(index, "")) for index, field in enumerate(fields))
            body |= {
                "__slots__": (),
                "_fields": fields,
                "_field_defaults": defaults,
                "__match_args__": fields,
                "__new__": _FunctionType(code, _GLOBALS, "__new__", tuple(defaults.values())),
            }
            return type(name, (_Tuple,), body)

    class NamedTuple(metaclass=_Maker):
        """A replacement for `typing.NamedTuple`: the annotations of a class are the fields of the tuple."""

    class Generic:
        """A replacement for `typing.Generic` as a second base of a named tuple. It has no effect at runtime."""

        def __class_getitem__(cls, _: object) -> type:
            return cls


__all__ = [
    "Generic",
    "NamedTuple",
]
