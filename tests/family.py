"""The children of this process."""

from __future__ import annotations

import os
from pathlib import Path


def children() -> set[int]:
    """Return the ids of all children, those that other tests keep among them."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = stat.read_text().rpartition(")")[2].split()[1]
        except (FileNotFoundError, ProcessLookupError):  # it ended meanwhile
            continue
        if int(parent) == os.getpid():
            found.add(int(stat.parent.name))
    return found
