"""What is left out of an adoption, and why: all of it said, the crowds in one line."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from .. import limits
from ..errors import InvalidInput
from ..results import Notice

SHOWN = 50
"""Notices of one folder with one code that are given one by one."""


_SHORTLY = {
    "bad_name": "the name is not UTF-8",
    "bad_char": "a control or invisible character in the name",
    "bad_path": "a name that not every system can have",
    "reserved_name": "a name that belongs to version control",
    "name_too_long": f"a name of more than {limits.MAX_NAME_BYTES} bytes",
    "link_outside": "the link leads out of the brain",
}


def why_not(error: InvalidInput) -> str:
    """Return what an error says, without the path, which is told beside it."""
    return _SHORTLY.get(error.code, error.message)


class _Crowd(NamedTuple):
    folder: str
    code: str


class Left:
    """Collects notices; `rows` is complete after `close`, `named` has those of crowds too."""

    def __init__(self, rows: list[Notice]) -> None:
        self.rows = rows
        self.named: list[tuple[str, str]] = []
        self._seen: Counter[_Crowd] = Counter()
        self._unread: set[str] = set()

    def add(self, code: str, path: str, why: str, unread: str | None = None) -> None:
        """Note that what lies at `path` of the source was left out.

        `unread` is the file or folder of the brain that it would have become, if it should
        have been taken: what the brain has of it from before then stays.
        """
        self.named.append((code, path))
        crowd = _Crowd(path.rpartition("/")[0], code)
        self._seen[crowd] += 1
        if self._seen[crowd] <= SHOWN:
            self.rows.append(Notice(code, path, why))
        if unread is not None:
            self._unread.add(unread)

    def stays(self, path: str) -> bool:
        """Tell whether a file of the brain, or a folder above it, could not be read anew."""
        while path and path not in self._unread:
            path = path.rpartition("/")[0]
        return bool(path)

    def close(self) -> None:
        """Say how many more there were."""
        for (folder, code), count in self._seen.items():
            if count > SHOWN:
                self.rows.append(Notice(code, folder, f"{count - SHOWN} more"))
        self._seen.clear()
