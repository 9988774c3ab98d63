"""Comments at the end of a piece of a settings file, which belong to what follows."""

from __future__ import annotations


def remarks_after(block: str) -> str:
    """Return the blank lines and those of comments at the end of `block`."""
    lines = block.splitlines(keepends=True)
    first = len(lines)
    while first and (not lines[first - 1].strip() or lines[first - 1].lstrip().startswith("#")):
        first -= 1
    return "".join(lines[first:])
