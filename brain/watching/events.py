"""What the system sees change in a folder."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from ..worktree.ignore import IgnoreRules

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Protocol
else:
    Protocol = object


class Seen(NamedTuple):
    """What changed: files and folders by their paths, or possibly anything.

    `writing` are files that were written to, now or earlier, and are still open.
    """

    paths: frozenset[str] = frozenset()
    everything: bool = False
    writing: frozenset[str] = frozenset()


class Events(Protocol):
    """A folder under watch, but for what the brain in it leaves out.

    Whatever changes after it was opened is told once. What lies behind links is not watched.
    """

    def wait(self, seconds: float | None) -> Seen:
        """Return what changed, as soon as something does; nothing after `seconds` or `wake`.

        Raises `NoBrain` if the folder is gone, and `BrainError` (`cannot_watch`).
        """

    def wake(self) -> None:
        """Let `wait` return; from a thread or the handler of a signal."""

    def close(self) -> None:
        """Stop watching."""


def opened(root: Path) -> Events:
    """Watch the folder of a brain by the means of this system.

    Raises `BrainError` (`cannot_watch`) or `InvalidInput` (`bad_ignore`).
    """
    rules = IgnoreRules.load(root)
    if sys.platform == "linux":
        from .inotify import Inotify

        return Inotify(root, rules)
    else:
        from .notified import Notified

        return Notified(root, rules)
