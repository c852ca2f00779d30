"""Calculate as Terraform does: in decimal, with numbers of 512 binary digits."""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING
from nodelint.text.unknown_value import UNKNOWN

if TYPE_CHECKING:
    from fractions import Fraction

    from nodelint.text.nodes import Scalar


def calculated(sign: str, numbers: list[int | float]) -> Scalar:
    """Return the result of an operator such as `+` or `<` for one or two numbers.

    UNKNOWN if it cannot be represented.
    """
    if len(numbers) == 1:
        return -numbers[0]
    left, right = numbers
    if sign in ("<", ">", "<=", ">="):
        return {"<": left < right, ">": left > right, "<=": left <= right, ">=": left >= right}[sign]
    if sign in ("/", "%") and not right:
        return UNKNOWN
    try:
        made = _combined(sign, left, right)
    except (OverflowError, ValueError):  # too large for a float, or undefined
        return UNKNOWN
    if isinstance(made, float) and (made - made != 0 or abs(made) > 1e300):
        return UNKNOWN
    if isinstance(made, int) and made.bit_length() > 512:
        return UNKNOWN
    return int(made) if isinstance(made, float) and made.is_integer() else made


def _combined(sign: str, left: int | float, right: int | float) -> Scalar:
    """Return the exact decimal result of a calculation.

    It is unknown if it has infinitely many digits, or more than a float holds.
    """
    if isinstance(left, int) and isinstance(right, int) and sign in ("+", "-", "*"):
        return {"+": left + right, "-": left - right, "*": left * right}[sign]
    from fractions import Fraction

    first, second = Fraction(str(left)), Fraction(str(right))

    def combine(first: Fraction, second: Fraction) -> Fraction:
        if sign == "%":
            return first - second * int(first / second)
        if sign == "/":
            return first / second
        return {"+": first + second, "-": first - second, "*": first * second}[sign]

    result = combine(first, second)
    if _rounded(combine(_rounded(first), _rounded(second))) != _rounded(result):
        return UNKNOWN  # its text has all the digits of the binary number
    if result.denominator == 1:
        return result.numerator
    return float(result) if Fraction(str(float(result))) == result else UNKNOWN


def _rounded(number: Fraction) -> Fraction:
    """Return a number as Terraform stores it: with 512 binary digits."""
    if not number:
        return number
    digits = 512 - (abs(number.numerator).bit_length() - number.denominator.bit_length())
    scale = type(number)(2) ** digits
    if abs(number * scale) >= 1 << 512:
        scale /= 2
    return round(number * scale) / scale
