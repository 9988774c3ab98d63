"""All takers, the one list of what can be adopted."""

from __future__ import annotations

from .protocol import Taker


def takers() -> list[Taker]:
    """Return the takers, each made anew."""
    return []
