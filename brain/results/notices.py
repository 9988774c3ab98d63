"""What a snapshot has to say beside its result."""

from __future__ import annotations

from typing import NamedTuple


class Notice(NamedTuple):
    """Something left out or odd that does not stop the work."""

    code: str
    path: str
    message: str
