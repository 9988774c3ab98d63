"""Check the code of a program before it runs: advice with early, plain errors.

The process sandbox is the boundary; this only says sooner what would fail there, or what no
generated skill needs.
"""

from __future__ import annotations

import ast


def check_code(code: bytes, profile: str) -> list[str]:
    """Return what a profile has against a program, each with its line; empty if nothing."""
    del profile
    try:
        ast.parse(code)
    except (SyntaxError, ValueError) as error:
        return [f"it is not Python: {error}"]
    return []
