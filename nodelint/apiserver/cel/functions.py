"""All functions that Kubernetes adds to CEL for validation rules.

Signatures and meaning are those of Kubernetes' documentation of CEL (the list, regex, URL, quantity, IP and CIDR
libraries). Quantities, URLs, addresses and ranges are represented as small maps, because the runtime cannot have
types of nodelint.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

from nodelint.apiserver.cel.text import bounded, find, strict_int

_SUFFIXES = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 10**3),
    "": Fraction(1),
    **{s: Fraction(1000**i) for i, s in enumerate(("k", "M", "G", "T", "P", "E"), 1)},
    **{s + "i": Fraction(1024**i) for i, s in enumerate(("K", "M", "G", "T", "P", "E"), 1)},
}
_QUANTITY = re.compile(r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))(?:([eE][+-]?[0-9]{1,3})|([KMGTPE]i|[numkMGTPE]?))")

_Overload = tuple[Any, list[Any], Callable[..., Any]]
"""The result type of a function, its parameter types, and the Python function."""
RENAMED = {"indexOf": "first_index", "lastIndexOf": "last_index"}
"""Methods that the runtime has only for texts, and that cannot be extended to lists, with the names that replace
them.
"""


def environment(variables: tuple[str, ...] = ("self",)) -> tuple[Any, Any]:
    """Return a CEL environment with all functions and some variables, and the type of its errors."""
    from cel_expr_python import cel
    from cel_expr_python.ext import ext_bindings, ext_math, ext_optional, ext_strings

    types = _Types(cel)
    extensions = [
        ext_strings.ExtStrings(),
        ext_optional.ExtOptional(),
        ext_bindings.ExtBindings(),
        ext_math.ExtMath(),
    ]
    return cel.NewEnv(
        variables=dict.fromkeys(variables, cel.Type.DYN),
        extensions=extensions,
        functions=[*_of_texts_and_lists(types), *_of_quantities(types), *_of_urls(types), *_of_addresses(types)],
    ), cel.Type.ERROR


class _Types:
    """The types of the CEL runtime, and declarations of functions with them. An overload has a result, parameters and
    a Python function.
    """

    def __init__(self, cel: Any) -> None:
        kind = cel.Type
        self._cel = cel
        self.text, self.number, self.decimal, self.flag = kind.STRING, kind.INT, kind.DOUBLE, kind.BOOL
        self.any = kind.DYN
        self.texts, self.list = kind.List(kind.STRING), kind.List(kind.DYN)
        self.thing = kind.Map(kind.STRING, kind.DYN)
        self.texts_by_name = kind.Map(kind.STRING, self.texts)

    def free(self, name: str, *overloads: _Overload) -> Any:
        """Return the declaration of a function, `name(x)`."""
        return self._declared(name, name, False, overloads)

    def member(self, name: str, *overloads: _Overload) -> Any:
        """Return the declaration of a method, `x.name()`."""
        return self._declared(name, f"of_{name}", True, overloads)

    def _declared(self, name: str, prefix: str, is_member: bool, overloads: tuple[_Overload, ...]) -> Any:
        overload = self._cel.Overload
        return self._cel.FunctionDecl(
            name,
            [
                overload(f"{prefix}_{i}", result, of, is_member, call)
                for i, (result, of, call) in enumerate(overloads)
            ],
        )


def _of_texts_and_lists(types: _Types) -> list[Any]:
    free, member = types.free, types.member
    text, texts, number, decimal, flag = types.text, types.texts, types.number, types.decimal, types.flag
    any_list = types.list
    scalars = (text, number, flag, decimal)  # at run time, a parameter of type `any` accepts no value
    return [
        free("strict_int", (number, [text], strict_int), (number, [number], int), (number, [decimal], int)),
        member("find", (text, [text, text], find)),
        member("findAll", (texts, [text, text], find_all), (texts, [text, text, number], find_all)),
        member(
            "first_index",
            *((number, [any_list, scalar], index_of) for scalar in scalars),
            (number, [text, text], str.find),
            (number, [text, text, number], str.find),
        ),
        member(
            "last_index",
            *((number, [any_list, scalar], last_index_of) for scalar in scalars),
            (number, [text, text], str.rfind),
            (number, [text, text, number], lambda s, part, at: s.rfind(part, 0, at + len(part))),
        ),
        member("isSorted", (flag, [any_list], is_sorted)),
        member("sum", (types.any, [any_list], sum)),
        member("min", (types.any, [any_list], min)),
        member("max", (types.any, [any_list], max)),
    ]


def _of_quantities(types: _Types) -> list[Any]:
    free, member = types.free, types.member
    text, number, flag, thing = types.text, types.number, types.flag, types.thing
    return [
        free("quantity", (thing, [text], quantity)),
        free("isQuantity", (flag, [text], _accepts(quantity))),
        member("isInteger", (flag, [thing], lambda q: _number(q).denominator == 1)),
        member("asInteger", (number, [thing], _as_integer)),
        member("asApproximateFloat", (types.decimal, [thing], lambda q: float(_number(q)))),
        member("sign", (number, [thing], lambda q: (_number(q) > 0) - (_number(q) < 0))),
        member("isGreaterThan", (flag, [thing, thing], lambda a, b: _number(a) > _number(b))),
        member("isLessThan", (flag, [thing, thing], lambda a, b: _number(a) < _number(b))),
        member(
            "compareTo",
            (number, [thing, thing], lambda a, b: (_number(a) > _number(b)) - (_number(a) < _number(b))),
        ),
        member(
            "add",
            (thing, [thing, thing], lambda a, b: _quantity(_number(a) + _number(b))),
            (thing, [thing, number], lambda a, b: _quantity(_number(a) + b)),
        ),
        member(
            "sub",
            (thing, [thing, thing], lambda a, b: _quantity(_number(a) - _number(b))),
            (thing, [thing, number], lambda a, b: _quantity(_number(a) - b)),
        ),
    ]


def _of_urls(types: _Types) -> list[Any]:
    free, member = types.free, types.member
    text, thing = types.text, types.thing
    return [
        free("url", (thing, [text], url)),
        free("isURL", (types.flag, [text], _accepts(url))),
        member("getScheme", (text, [thing], lambda u: u["scheme"])),
        member("getHost", (text, [thing], lambda u: u["host"])),
        member("getHostname", (text, [thing], lambda u: u["hostname"])),
        member("getPort", (text, [thing], lambda u: u["port"])),
        member("getEscapedPath", (text, [thing], lambda u: u["path"])),
        member("getQuery", (types.texts_by_name, [thing], lambda u: u["query"])),
    ]


def _of_addresses(types: _Types) -> list[Any]:
    free, member = types.free, types.member
    text, number, flag, thing = types.text, types.number, types.flag, types.thing
    return [
        free("ip", (thing, [text], ip)),
        free("isIP", (flag, [text], _accepts(ip))),
        free("cidr", (thing, [text], cidr)),
        free("isCIDR", (flag, [text], _accepts(cidr))),
        member("family", (number, [thing], lambda a: a["family"])),
        member("isLoopback", (flag, [thing], lambda a: _address(a).is_loopback)),
        member("isUnspecified", (flag, [thing], lambda a: _address(a).is_unspecified)),
        member("isLinkLocalUnicast", (flag, [thing], lambda a: _address(a).is_link_local)),
        member("prefixLength", (number, [thing], lambda c: int(c["cidr"].rpartition("/")[2]))),
        member(
            "containsIP",
            (flag, [thing, thing], lambda c, a: _address(a) in _network(c)),
            (flag, [thing, text], lambda c, a: _address(ip(a)) in _network(c)),
        ),
        member(
            "containsCIDR",
            (flag, [thing, thing], lambda c, d: _network(d).subnet_of(_network(c))),
            (flag, [thing, text], lambda c, d: _network(cidr(d)).subnet_of(_network(c))),
        ),
    ]


def find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    """Return the matches of an RE2 pattern from left to right: at most `limit`, all if it is negative."""
    found = [match[0] for match in bounded(pattern, text).finditer(text)]
    return found if limit < 0 else found[:limit]


def index_of(values: list[Any], value: Any) -> int:
    """Return the first index of a value in a list. -1 if the list does not have it."""
    return values.index(value) if value in values else -1


def last_index_of(values: list[Any], value: Any) -> int:
    """Return the last index of a value in a list. -1 if the list does not have it."""
    return len(values) - 1 - values[::-1].index(value) if value in values else -1


def is_sorted(values: list[Any]) -> bool:
    """Return whether no value is larger than the next one."""
    return all(a <= b for a, b in pairwise(values))


def quantity(text: str) -> dict[str, str]:
    """Return a Kubernetes resource quantity such as `1.5Gi`. Raise ValueError for any other text."""
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(f"`{text}` is not a quantity")
    factor = Fraction(10) ** int(match[2][1:]) if match[2] else _SUFFIXES[match[3]]
    return _quantity(Fraction(match[1]) * factor)


def url(text: str) -> dict[str, Any]:
    """Return the parts of an absolute URL or a path. Raise ValueError for any other text."""
    from urllib.parse import parse_qs, urlsplit

    parts = urlsplit(text)
    if any(c.isspace() for c in text) or not (
        (parts.scheme and (parts.netloc or parts.path)) or text.startswith("/")
    ):
        raise ValueError(f"`{text}` is not a URL")
    port = "" if parts.port is None else str(parts.port)
    return {
        "scheme": parts.scheme,
        "host": parts.netloc.rpartition("@")[2],
        "hostname": parts.hostname or "",
        "port": port,
        "path": parts.path,
        "query": parse_qs(parts.query, keep_blank_values=True),
    }


def ip(text: str) -> dict[str, Any]:
    """Return an IPv4 or IPv6 address without a zone. Raise ValueError for any other text."""
    import ipaddress

    address = ipaddress.ip_address(text)
    if "%" in text or (address.version == 6 and "." in text):
        raise ValueError(f"`{text}` is not a plain address")
    return {"ip": str(address), "family": address.version}


def cidr(text: str) -> dict[str, Any]:
    """Return a range of addresses such as `10.0.0.0/8`. Raise ValueError for any other text."""
    import ipaddress

    if "/" not in text:
        raise ValueError(f"`{text}` is not a range of addresses")
    network = ipaddress.ip_network(text, strict=False)
    return {"cidr": str(network), "family": network.version}


def _accepts(read: Callable[[str], Any]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            read(text)
        except ValueError:
            return False
        return True

    return check


def _quantity(number: Fraction) -> dict[str, str]:
    return {"quantity": str(number)}


def _number(value: dict[str, Any]) -> Fraction:
    if "quantity" not in value:
        raise ValueError("this is not a quantity")
    return Fraction(value["quantity"])


def _as_integer(value: dict[str, Any]) -> int:
    number = _number(value)
    if number.denominator != 1:
        raise ValueError("the quantity is not an integer")
    return number.numerator


def _address(value: dict[str, Any]) -> Any:
    import ipaddress

    return ipaddress.ip_address(value["ip"])


def _network(value: dict[str, Any]) -> Any:
    import ipaddress

    return ipaddress.ip_network(value["cidr"])
