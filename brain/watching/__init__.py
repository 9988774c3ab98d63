"""Watch the folder of a brain and record changes by any program.

`watch` is the loop. A backend (`inotify` on Linux, `watchfiles_backend` elsewhere) reports
changes as `change_events`, and `debounce` decides when a change is over.
"""

from .watch import Watch, WatchFailure

__all__ = ["Watch", "WatchFailure"]
