"""What a backend reports of changes in a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Protocol
else:  # see `store.rows`
    Protocol = object


class ObservedChanges(NamedTuple):
    """Paths of changed files and folders.

    With `rescan_needed` anything may have changed. `open_files` were written to, now or
    earlier, and are still open.
    """

    paths: frozenset[str] = frozenset()
    rescan_needed: bool = False
    open_files: frozenset[str] = frozenset()


class WatchBackend(Protocol):
    """Watches the folder of a brain, without its ignored files and without following links.

    Each change after the backend was opened is reported once.
    """

    def wait(self, seconds: float | None) -> ObservedChanges:
        """Return the next changes; none after so many seconds, or after `wake`.

        Raises `NoBrain` if the folder is gone, and `BrainError` (`cannot_watch`).
        """

    def wake(self) -> None:
        """Make `wait` return. A thread or a signal handler may call this."""

    def close(self) -> None:
        """Stop watching."""
