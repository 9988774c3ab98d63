"""Collect the files that an adoption skips, with a limit on notices for each folder."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from .. import limits
from ..errors import InvalidInput
from ..results import Notice

MAX_NOTICES_PER_FOLDER = 50
"""Single notices for one code in one folder; further ones are only counted."""

DOUBT_CODE = "doubtful_secret"
_SHORT_REASONS = {
    "bad_name": "the name is not UTF-8",
    "bad_char": "a control or invisible character in the name",
    "bad_path": "a name that some systems do not support",
    "reserved_name": "a name reserved for version control",
    "name_too_long": f"a name of more than {limits.MAX_FILE_NAME_BYTES} bytes",
    "link_outside": "the link points outside of the brain",
}


def reason_without_path(error: InvalidInput) -> str:
    """Return the reason of an error without the path, which the notice shows anyway."""
    return _SHORT_REASONS.get(error.code, error.message)


class _NoticeGroup(NamedTuple):
    folder: str
    code: str


class SkippedFiles:
    """Collects notices in `notices`, complete after `finish`; `skipped_paths` has every path.

    `doubts` has notices about files that were taken and may hold a secret.
    """

    def __init__(self) -> None:
        self.notices: list[Notice] = []
        self.doubts: list[Notice] = []
        self.skipped_paths: list[tuple[str, str]] = []
        self._counts: Counter[_NoticeGroup] = Counter()
        self._unread: set[str] = set()

    def add(self, code: str, path: str, reason: str, unread: str | None = None) -> None:
        """Add the skipped `path` of the source.

        `unread` is its path in the brain if it should have been adopted and could not be
        read: files that the brain has there stay.
        """
        self.skipped_paths.append((code, path))
        self._add_notice(self.notices, Notice(code, path, reason))
        if unread is not None:
            self._unread.add(unread)

    def add_doubt(self, path: str, reason: str) -> None:
        """Add the taken `path` of the source, which may hold a secret."""
        self._add_notice(self.doubts, Notice(DOUBT_CODE, path, reason))

    def _add_notice(self, notices: list[Notice], notice: Notice) -> None:
        group = _NoticeGroup(notice.path.rpartition("/")[0], notice.code)
        self._counts[group] += 1
        if self._counts[group] <= MAX_NOTICES_PER_FOLDER:
            notices.append(notice)

    def is_unread(self, path: str) -> bool:
        """Tell whether a file of the brain, or a folder above it, could not be read."""
        while path and path not in self._unread:
            path = path.rpartition("/")[0]
        return bool(path)

    def finish(self) -> None:
        """Add a notice with the number of further files, for each folder and code."""
        for (folder, code), count in self._counts.items():
            if count > MAX_NOTICES_PER_FOLDER:
                notices = self.doubts if code == DOUBT_CODE else self.notices
                notices.append(Notice(code, folder, f"{count - MAX_NOTICES_PER_FOLDER} more"))
        self._counts.clear()
