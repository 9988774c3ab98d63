"""What is left out of an adoption, and why: all of it said, the crowds in one line."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from ..results import Notice

SHOWN = 50
"""Notices of one folder with one code that are given one by one."""


class _Crowd(NamedTuple):
    folder: str
    code: str


class Left:
    """Collects notices; `rows` is complete after `close`."""

    def __init__(self, rows: list[Notice]) -> None:
        self.rows = rows
        self._seen: Counter[_Crowd] = Counter()

    def add(self, code: str, path: str, why: str) -> None:
        """Note that what lies at `path` of the source was left out."""
        crowd = _Crowd(path.rpartition("/")[0], code)
        self._seen[crowd] += 1
        if self._seen[crowd] <= SHOWN:
            self.rows.append(Notice(code, path, why))

    def close(self) -> None:
        """Say how many more there were."""
        for (folder, code), count in self._seen.items():
            if count > SHOWN:
                self.rows.append(Notice(code, folder, f"{count - SHOWN} more"))
        self._seen.clear()
