"""`cache` and `cached_property` of functools, without functools.

Loading functools, and collections with it, takes a quarter of a run that meets nothing of Karpenter's. To a type
checker these are functools' own.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from functools import cache, cached_property
else:
    try:
        from _functools import _lru_cache_wrapper
    except ImportError:  # an interpreter other than CPython
        from functools import cache
    else:

        def cache(function):
            """Keep what a function gives for each of its arguments."""
            made = _lru_cache_wrapper(function, None, False, tuple)
            for name in ("__module__", "__name__", "__qualname__", "__doc__"):
                setattr(made, name, getattr(function, name))
            made.__wrapped__ = function
            return made

    class cached_property:
        """A value that is worked out when it is first asked for; no lock, as in functools since Python 3.12."""

        def __init__(self, function):
            self.function = function
            self.__doc__ = function.__doc__

        def __set_name__(self, _, name):
            self.name = name

        def __get__(self, instance, _=None):
            if instance is None:
                return self
            value = instance.__dict__[self.name] = self.function(instance)
            return value


__all__ = [
    "cache",
    "cached_property",
]
