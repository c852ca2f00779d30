"""Amounts of USD in words."""

from __future__ import annotations

HOURS_A_MONTH = 730
"""As AWS reckons a month."""


def dollars(amount: float) -> str:
    """Return an amount of USD: `$0.0042`, `$1.20`, `$3,364`."""
    if 0 < amount < 0.1:
        return f"${amount:,.4f}"
    return f"${amount:,.2f}" if amount < 1000 else f"${amount:,.0f}"


def dollars_range(least: float, most: float) -> str:
    """Return two amounts as a range, or as one where they are printed alike."""
    low, high = dollars(min(least, most)), dollars(max(least, most))
    return low if low == high else f"{low} to {high}"
