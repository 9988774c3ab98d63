"""Watch the folder of a brain and record changes by any program.

watchfiles says that something changed, and the scan of the folder what: an event only wakes it. A
scan a minute finds what the system forgot to report.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

from .errors import BrainError, InvalidInput, Locked, NoBrain, StoreError, error_from_os
from .folder.ignore import IGNORE_FILE_NAME, IgnoreRules
from .repo.session import CONTROL_FOLDER, is_brain
from .store.writer import LOCK_FILE_NAME, writer_lock
from .util.files import is_locked

if TYPE_CHECKING:
    from . import results

WATCH_FOLDER_NAME = "watch"
"""In the folder of the store: holds the lock of the one watcher."""
RESCAN_SECONDS = 60.0
"""After so long without an event the folder is scanned all the same."""
_STEP_MILLISECONDS = 50
"""How often watchfiles looks whether something changed, or whether it is to end."""
_START_SECONDS = 0.5
"""How long a watcher waits for the lock, which a look at it shares for a moment."""
_UNREADABLE_NAME = "Unable to decode path"
"""With these words watchfiles ends at the name of a file that is not UTF-8."""


class WatchFailure(NamedTuple):
    """What was not recorded, and why. It is tried again with the next change."""

    error: BrainError


class _StopEvent:
    """The stop event for watchfiles, which asks it for the first time when it watches."""

    def __init__(self, on_watching: Callable[[], None]) -> None:
        self._on_watching = on_watching
        self.is_watching = False
        self.is_requested = False

    def is_set(self) -> bool:
        if not self.is_watching:
            self.is_watching = True
            self._on_watching()
        return self.is_requested


class Watch:
    """Records changes in the folder of a brain as they happen; `Brain.watch` makes one.

    `record` records the folder, and `describe` says what a recording changed. A change is over
    after `quiet` seconds without another one, at most `longest` seconds after it began. Raises
    `Locked` (`watched`) if the brain has another watcher, `BrainError` (`cannot_watch`),
    `InvalidInput` (`bad_ignore`).
    """

    def __init__(
        self,
        root: Path,
        record: Callable[[], results.Recorded],
        describe: Callable[[results.Recorded], results.Watched],
        quiet: float,
        longest: float,
    ) -> None:
        self._folder = root
        self._record = record
        self._describe = describe
        self._quiet = quiet
        self._longest = longest
        self._root = os.path.realpath(root)
        self._rules = IgnoreRules.load(root)
        self._wakes: queue.SimpleQueue[BrainError | None] = queue.SimpleQueue()
        self._is_stopped = False
        self._told: set[str] = set()
        self._stop_listening = _StopEvent(lambda: self._wakes.put(None))
        self._listener = threading.Thread(target=self._listen, name="brain-watch", daemon=True)
        with ExitStack() as stack:
            stack.enter_context(_hold_watch_lock(root))
            self._listener.start()
            stack.callback(self._end_listener)
            if error := self._wakes.get():
                raise error
            self._resources = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._resources.close()

    def stop(self) -> None:
        """Make `run` record pending changes and end. A thread or a signal handler may call this."""
        self._is_stopped = True
        self._wakes.put(None)

    def catch_up(self) -> results.Watched | None:
        """Record what changed before the watch began. Raises as `Brain.snapshot`."""
        recorded = self._record()
        self._told.update(map(str, recorded.notices))
        return self._describe(recorded) if recorded.changed else None

    def run(self) -> Iterator[results.Watched | WatchFailure]:
        """Yield each recording, or its failure, until `stop`. Raises `NoBrain`, `cannot_watch`."""
        pause = RESCAN_SECONDS
        while True:
            self._wait(pause)
            is_last = self._is_stopped
            pause = RESCAN_SECONDS
            for step in self._record_folder():
                if isinstance(step, WatchFailure) and isinstance(step.error, Locked):
                    pause = max(self._quiet, 0.1)  # what another writer holds up is for then
                yield step
            if is_last:
                return

    def _wait(self, seconds: float) -> None:
        """Wait for a change, and until it is over. Raises `cannot_watch`."""
        with suppress(queue.Empty):
            error = self._wakes.get(timeout=seconds)
            latest = time.monotonic() + self._longest
            while error is None and not self._is_stopped:
                left = min(self._quiet, latest - time.monotonic())
                error = self._wakes.get(timeout=max(left, 0))
                if left <= 0:
                    return
            if error is not None:
                raise error

    def _record_folder(self) -> Iterator[results.Watched | WatchFailure]:
        if not is_brain(self._folder):
            raise NoBrain(
                f"the brain is gone from {self._folder}",
                hint="if the folder was moved, start `brain watch` there",
            )
        try:
            recorded = self._record()
        except NoBrain:
            raise
        except BrainError as error:
            yield from self._tell_once(error.message, error)
            return
        if recorded.changed:  # its notices are shown with it
            yield self._describe(recorded)
        else:
            for notice in recorded.notices:
                left_out = InvalidInput(f"{notice.path}: {notice.message}", code=notice.code)
                yield from self._tell_once(str(notice), left_out)
        self._told = set(map(str, recorded.notices))

    def _tell_once(self, what: str, error: BrainError) -> Iterator[WatchFailure]:
        if what not in self._told:
            self._told.add(what)
            yield WatchFailure(error)

    def _listen(self) -> None:
        """Wake `run` with each change."""
        try:
            while not self._stop_listening.is_requested:
                try:
                    self._listen_once()
                except RuntimeError as error:
                    if _UNREADABLE_NAME not in str(error):
                        raise
                    self._stop_listening.is_watching = False  # then it wakes `run`
        except Exception as error:  # noqa: BLE001 (`run` raises it)
            self._wakes.put(_cannot_watch_error(error))

    def _listen_once(self) -> None:
        from watchfiles import watch

        for _ in watch(
            self._root,
            watch_filter=lambda _, path: self._is_relevant(path),
            step=_STEP_MILLISECONDS,
            debounce=_STEP_MILLISECONDS,
            stop_event=self._stop_listening,
            rust_timeout=0,
            debug=False,
            force_polling=False,
            ignore_permission_denied=True,
        ):
            self._wakes.put(None)

    def _end_listener(self) -> None:
        self._stop_listening.is_requested = True
        self._listener.join()

    def _is_relevant(self, path: str) -> bool:
        """Tell whether a brain can hold a file at `path`: not ignored, not behind a link."""
        path = os.path.relpath(path, self._root).replace(os.sep, "/")
        if path == ".":
            return not os.path.isdir(self._root)
        if path == IGNORE_FILE_NAME:
            with suppress(InvalidInput):  # recording reports invalid rules
                self._rules = IgnoreRules.load(self._folder)
        parts = path.split("/")
        for depth, name in enumerate(parts[:-1]):
            folder = "/".join(parts[: depth + 1])
            if self._rules.is_ignored(folder, name, True):
                return False
            if os.path.islink(os.path.join(self._root, folder)):
                return False
        is_folder = os.path.isdir(os.path.join(self._root, path))
        return not self._rules.is_ignored(path, parts[-1], is_folder)


def _cannot_watch_error(error: Exception) -> BrainError:
    hint = "end other watchers, or record with `brain snapshot`"
    if "limit" in str(error):
        hint = "let the system watch more folders: raise fs.inotify.max_user_watches"
    return BrainError(
        f"the system cannot watch the folder: {error}", code="cannot_watch", hint=hint
    )


@contextmanager
def _hold_watch_lock(root: Path) -> Iterator[None]:
    """Lock out other watchers of a brain. Raises `Locked` (`watched`)."""
    folder = root / CONTROL_FOLDER / WATCH_FOLDER_NAME
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
