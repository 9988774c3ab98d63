"""Watching: what any program changes in the folder of a brain is recorded as it changes.

`Watch` is the loop; `events` tells it what the system saw change (`inotify` on Linux,
`notified` elsewhere), `settling` when a change is over.
"""

from .watch import Watch, WatchFailure

__all__ = ["Watch", "WatchFailure"]
