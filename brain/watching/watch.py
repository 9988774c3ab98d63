"""The watch loop: wait, debounce, record."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

from ..errors import BrainError, InvalidInput, Locked, NoBrain, StoreError, error_from_os
from ..folder.ignore import IgnoreRules
from ..repo.session import CONTROL_FOLDER
from ..results import Watched
from ..store.writer import LOCK_FILE_NAME, writer_lock
from ..util.files import is_locked
from .change_events import ObservedChanges, WatchBackend
from .debounce import Debouncer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from .. import results

WATCH_FOLDER_NAME = "watch"
"""In the folder of the store: holds the lock of the one watcher."""
_START_SECONDS = 0.5
"""How long a watcher waits for the lock, which a look at it shares for a moment."""
_MAX_SINGLE_PATHS = 100
"""Above so many paths, a failure does not make each path be recorded alone."""


class _History(Protocol):
    def log(self, rev: str = "@", limit: int | None = None) -> Iterator[results.SnapshotInfo]: ...


class WatchedBrain(Protocol):
    """The operations of `brain.Brain` that watching calls."""

    @property
    def root(self) -> Path:
        """The folder of the brain."""

    @property
    def history(self) -> _History:
        """See `brain.api.history.HistoryPart`."""

    def snapshot_changes(self, paths: Sequence[str] | None = None) -> results.Recorded:
        """Record changed files; see `Brain.snapshot_changes`."""


class WatchFailure(NamedTuple):
    """The changes of a failed recording, which is tried again with the next change."""

    error: BrainError


class Watch:
    """Records changes in the folder of a brain as they happen.

    `quiet` and `longest` are in seconds: see `Debouncer`. Raises `Locked` (`watched`) if the
    brain has another watcher, `BrainError` (`cannot_watch`), `InvalidInput` (`bad_ignore`).
    """

    def __init__(self, brain: WatchedBrain, quiet: float = 0.5, longest: float = 10.0) -> None:
        self._brain = brain
        self._debouncer = Debouncer(quiet, longest)
        self._failed_paths: set[str] = set()
        self._rescan_pending = False
        self._reported_messages: set[str] = set()
        self._is_stopped = False
        with ExitStack() as stack:
            stack.enter_context(_hold_watch_lock(brain))
            self._events = _open_backend(brain.root)
            stack.callback(self._events.close)
            self._resources = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._resources.close()

    def stop(self) -> None:
        """Make `run` record pending changes and end. A thread or a signal handler may call this."""
        self._is_stopped = True
        self._events.wake()

    def catch_up(self) -> Watched | None:
        """Record what changed before the watch began. Raises as `Brain.snapshot`."""
        return self._record_changes(None)

    def run(self) -> Iterator[Watched | WatchFailure]:
        """Yield each recording, or its failure, until `stop`. Raises `NoBrain`."""
        while not self._is_stopped:
            seconds = self._debouncer.seconds_left(time.monotonic())
            if seconds == 0:
                yield from self._record_paths(self._debouncer.take_changes())
            else:
                self._debouncer.add_changes(self._events.wait(seconds), time.monotonic())
        self._debouncer.add_changes(self._events.wait(0), time.monotonic())
        if self._debouncer or self._failed_paths or self._rescan_pending:
            yield from self._record_paths(self._debouncer.take_changes())

    def _record_paths(self, paths: list[str] | None) -> Iterator[Watched | WatchFailure]:
        """Record `paths`, None for the whole folder, and the paths that failed before."""
        self._rescan_pending |= paths is None
        paths_to_record = sorted({*(paths or ()), *self._failed_paths})
        try:
            recorded = self._record_changes(None if self._rescan_pending else paths_to_record)
        except NoBrain:
            raise
        except BrainError as error:
            self._failed_paths.update(paths_to_record)
            yield from self._report_failure(error)
            if isinstance(error, Locked):
                self._debouncer.add_changes(
                    ObservedChanges(frozenset(paths_to_record), self._rescan_pending),
                    time.monotonic(),
                )
            elif isinstance(error, InvalidInput) and len(paths_to_record) <= _MAX_SINGLE_PATHS:
                yield from self._record_one_by_one(paths_to_record)
            return
        self._rescan_pending = False
        self._failed_paths.clear()
        self._reported_messages.clear()
        if recorded is not None:
            yield recorded

    def _record_one_by_one(self, paths_to_record: list[str]) -> Iterator[Watched | WatchFailure]:
        """Record each path alone, so that a bad file does not hold up the others."""
        for path in paths_to_record:
            try:
                recorded = self._record_changes([path])
            except InvalidInput as error:
                yield from self._report_failure(error)
                continue
            self._failed_paths.discard(path)
            if recorded is not None:
                yield recorded

    def _report_failure(self, error: BrainError) -> Iterator[WatchFailure]:
        if error.message not in self._reported_messages:
            self._reported_messages.add(error.message)
            yield WatchFailure(error)

    def _record_changes(self, paths: list[str] | None) -> Watched | None:
        recorded = self._brain.snapshot_changes(paths)
        if not recorded.changed:
            return None
        (info,) = self._brain.history.log(recorded.snapshot, limit=1)
        fields = {name: value for name, value in recorded._asdict().items() if name != "changed"}
        return Watched(time=info.time, message=info.message, **fields)


@contextmanager
def _hold_watch_lock(brain: WatchedBrain) -> Iterator[None]:
    """Lock out other watchers of a brain. Raises `Locked` (`watched`)."""
    folder = brain.root / CONTROL_FOLDER / WATCH_FOLDER_NAME
    if folder.is_symlink():
        raise StoreError(
            f"{CONTROL_FOLDER}/{WATCH_FOLDER_NAME} is a link",
            hint="this program did not make it: remove it",
        )
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise error_from_os(error) from error
    with ExitStack() as stack:
        try:
            stack.enter_context(writer_lock(folder, _START_SECONDS, "the watch of the brain"))
        except Locked as error:
            raise Locked(
                error.message.replace("locked", "kept"),
                code="watched",
                hint="one watcher is enough: it records what any program changes",
            ) from error
        yield


def is_watched(root: Path) -> bool:
    """Tell whether a watcher records the changes in a folder with a brain."""
    return is_locked(root / CONTROL_FOLDER / WATCH_FOLDER_NAME / LOCK_FILE_NAME)


def _open_backend(root: Path) -> WatchBackend:
    """Open the backend for this system: inotify on Linux, watchfiles elsewhere.

    Raises `BrainError` (`cannot_watch`) or `InvalidInput` (`bad_ignore`).
    """
    rules = IgnoreRules.load(root)
    if sys.platform == "linux":
        from .inotify import InotifyBackend

        return InotifyBackend(root, rules)
    else:
        from .watchfiles_backend import WatchfilesBackend

        return WatchfilesBackend(root, rules)
