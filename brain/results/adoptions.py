"""What became of what other programs keep."""

from __future__ import annotations

from typing import NamedTuple


class Imported(NamedTuple):
    """States of a source, recorded: where its branch stands now, and how many were new."""

    snapshot: str
    branch: str
    steps: int
