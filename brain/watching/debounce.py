"""Debounce: decide when a change is over."""

from __future__ import annotations

from .change_events import ObservedChanges


class Debouncer:
    """Collects changes until they are recorded. Times are seconds of one clock.

    A change is over after `quiet` seconds without another one, if no written file is still
    open, and at most `longest` seconds after it began.
    """

    def __init__(self, quiet: float, longest: float) -> None:
        self._quiet = quiet
        self._longest = longest
        self._paths: set[str] = set()
        self._rescan_needed = False
        self._has_open_files = False
        self._first_time = self._last_time = 0.0

    def __bool__(self) -> bool:
        return bool(self._paths) or self._rescan_needed

    def add_changes(self, changes: ObservedChanges, now: float) -> None:
        """Add observed changes."""
        if changes.paths or changes.rescan_needed:
            self._first_time = self._first_time if self else now
            self._last_time = now
            self._paths |= changes.paths
            self._rescan_needed |= changes.rescan_needed
        self._has_open_files = not self._paths.isdisjoint(changes.open_files)

    def seconds_left(self, now: float) -> float | None:
        """Return the seconds until the changes can be recorded, None without changes."""
        if not self:
            return None
        latest = self._first_time + self._longest
        due = latest if self._has_open_files else min(self._last_time + self._quiet, latest)
        return max(due - now, 0.0)

    def take_changes(self) -> list[str] | None:
        """Return the changed paths and forget them; None if anything may have changed.

        Paths inside of other changed paths are left out.
        """
        paths, everything = self._paths, self._rescan_needed
        self._paths, self._rescan_needed = set(), False
        if everything:
            return None
        return sorted(path for path in paths if not _is_inside(path, paths))


def _is_inside(path: str, folders: set[str]) -> bool:
    folder = path.rpartition("/")[0]
    while folder:
        if folder in folders:
            return True
        folder = folder.rpartition("/")[0]
    return False
