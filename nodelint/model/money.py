"""Write amounts of USD."""

from __future__ import annotations

HOURS_A_MONTH = 730
"""The hours of a month in AWS's price calculations."""


def dollars(amount: float) -> str:
    """Return an amount of USD: `$0.0042`, `$1.20`, `$3,364`."""
    if 0 < amount < 0.1:
        return f"${amount:,.4f}"
    return f"${amount:,.2f}" if amount < 1000 else f"${amount:,.0f}"


def dollars_range(least: float, most: float) -> str:
    """Return two amounts as a range, or one amount if both are printed the same."""
    low, high = dollars(min(least, most)), dollars(max(least, most))
    return low if low == high else f"{low} to {high}"
