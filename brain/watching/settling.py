"""When a change is over: nothing moved for a while, and no file is being written."""

from __future__ import annotations

from .events import Seen


class Settling:
    """Collects what changed until it may be recorded. Times are seconds of one clock.

    A change is over after `quiet` seconds without another, if no file is still open that
    was written to; at the latest `longest` seconds after it began.
    """

    def __init__(self, quiet: float, longest: float) -> None:
        self._quiet = quiet
        self._longest = longest
        self._paths: set[str] = set()
        self._everything = False
        self._writing = False
        self._first = self._last = 0.0

    def __bool__(self) -> bool:
        return bool(self._paths) or self._everything

    def note(self, seen: Seen, now: float) -> None:
        """Take what was seen to change."""
        if seen.paths or seen.everything:
            self._first = self._first if self else now
            self._last = now
            self._paths |= seen.paths
            self._everything |= seen.everything
        self._writing = not self._paths.isdisjoint(seen.writing)

    def left(self, now: float) -> float | None:
        """Return the seconds until it may be recorded, None if nothing waits."""
        if not self:
            return None
        latest = self._first + self._longest
        due = latest if self._writing else min(self._last + self._quiet, latest)
        return max(due - now, 0.0)

    def take(self) -> list[str] | None:
        """Return what may have changed, and begin anew; None for anything at all.

        Of paths inside each other the outer one is returned.
        """
        paths, everything = self._paths, self._everything
        self._paths, self._everything = set(), False
        if everything:
            return None
        return sorted(path for path in paths if not _inside(path, paths))


def _inside(path: str, others: set[str]) -> bool:
    above = path.rpartition("/")[0]
    while above:
        if above in others:
            return True
        above = above.rpartition("/")[0]
    return False
