"""Collect what an adoption skipped and why, with a limit on notices for each folder."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from .. import limits
from ..errors import InvalidInput
from ..results import Notice

MAX_NOTICES_PER_FOLDER = 50
"""Notices of one folder with one code that are given one by one."""


_SHORT_REASONS = {
    "bad_name": "the name is not UTF-8",
    "bad_char": "a control or invisible character in the name",
    "bad_path": "a name that not every system can have",
    "reserved_name": "a name that belongs to version control",
    "name_too_long": f"a name of more than {limits.MAX_FILE_NAME_BYTES} bytes",
    "link_outside": "the link leads out of the brain",
}


def reason_without_path(error: InvalidInput) -> str:
    """Return what an error says, without the path, which is told beside it."""
    return _SHORT_REASONS.get(error.code, error.message)


class _NoticeGroup(NamedTuple):
    folder: str
    code: str


class SkippedFiles:
    """Collects notices; `rows` is complete after `close`, `named` has those of crowds too."""

    def __init__(self, rows: list[Notice]) -> None:
        self.notices = rows
        self.skipped_paths: list[tuple[str, str]] = []
        self._counts: Counter[_NoticeGroup] = Counter()
        self._unread: set[str] = set()

    def add(self, code: str, path: str, why: str, unread: str | None = None) -> None:
        """Note that what lies at `path` of the source was left out.

        `unread` is the file or folder of the brain that it would have become, if it should
        have been taken: what the brain has of it from before then stays.
        """
        self.skipped_paths.append((code, path))
        group = _NoticeGroup(path.rpartition("/")[0], code)
        self._counts[group] += 1
        if self._counts[group] <= MAX_NOTICES_PER_FOLDER:
            self.notices.append(Notice(code, path, why))
        if unread is not None:
            self._unread.add(unread)

    def is_unread(self, path: str) -> bool:
        """Tell whether a file of the brain, or a folder above it, could not be read anew."""
        while path and path not in self._unread:
            path = path.rpartition("/")[0]
        return bool(path)

    def finish(self) -> None:
        """Say how many more there were."""
        for (folder, code), count in self._counts.items():
            if count > MAX_NOTICES_PER_FOLDER:
                self.notices.append(Notice(code, folder, f"{count - MAX_NOTICES_PER_FOLDER} more"))
        self._counts.clear()
