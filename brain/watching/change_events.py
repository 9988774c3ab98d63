"""Change events of a folder, whatever the system reports them with."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from ..worktree.ignore_rules import IgnoreRules

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Protocol
else:
    Protocol = object


class ObservedChanges(NamedTuple):
    """What changed: files and folders by their paths, or possibly anything.

    `writing` are files that were written to, now or earlier, and are still open.
    """

    paths: frozenset[str] = frozenset()
    rescan_needed: bool = False
    open_files: frozenset[str] = frozenset()


class WatchBackend(Protocol):
    """A folder under watch, but for what the brain in it leaves out.

    Whatever changes after it was opened is told once. What lies behind links is not watched.
    """

    def wait(self, seconds: float | None) -> ObservedChanges:
        """Return what changed, as soon as something does; nothing after `seconds` or `wake`.

        Raises `NoBrain` if the folder is gone, and `BrainError` (`cannot_watch`).
        """

    def wake(self) -> None:
        """Let `wait` return; from a thread or the handler of a signal."""

    def close(self) -> None:
        """Stop watching."""


def open_backend(root: Path) -> WatchBackend:
    """Watch the folder of a brain by the means of this system.

    Raises `BrainError` (`cannot_watch`) or `InvalidInput` (`bad_ignore`).
    """
    rules = IgnoreRules.load(root)
    if sys.platform == "linux":
        from .inotify import InotifyBackend

        return InotifyBackend(root, rules)
    else:
        from .watchfiles_backend import WatchfilesBackend

        return WatchfilesBackend(root, rules)
