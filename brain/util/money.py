"""Amounts of money as text, in millionths."""

from __future__ import annotations

MILLION = 1_000_000


def parse_money(text: str) -> int:
    """Return the millionths of an amount, with up to six decimals, as in 2.50; -1 for none."""
    whole, dot, part = text.partition(".")
    digits = whole + part
    is_amount = text.isascii() and whole.isdigit() and digits.isdigit() and bool(part) == bool(dot)
    if not is_amount or len(whole) > 9 or len(part) > 6:
        return -1
    return int(whole) * MILLION + int(part.ljust(6, "0"))
