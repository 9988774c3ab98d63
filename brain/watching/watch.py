"""The loop: wait, let it settle, record."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, NamedTuple, Self

from ..errors import BrainError, InvalidInput, Locked, NoBrain, StoreError, of_system
from ..results import Watched
from ..session import CONTROL
from ..store.lock import writer_lock
from . import events
from .events import Seen
from .settling import Settling

if TYPE_CHECKING:
    from types import TracebackType

    from ..brain import Brain

FOLDER = "watch"
"""In the folder of the store: holds the lock of the one watcher."""
_APART = 100
"""Paths up to which each is recorded alone where one of them cannot be."""


class Failed(NamedTuple):
    """What could not be recorded, and why; it is tried again with the next change."""

    error: BrainError


class Watch:
    """Records what changes in the folder of a brain, as it changes.

    `quiet` and `longest` are seconds: see `Settling`. A brain has one watcher at a time:
    making a second one raises `Locked` (`watched`). Raises as `events.opened` too.
    """

    def __init__(self, brain: Brain, quiet: float = 0.5, longest: float = 10.0) -> None:
        self._brain = brain
        self._settling = Settling(quiet, longest)
        self._stuck: set[str] = set()
        self._behind = False
        self._told: set[str] = set()
        self._stopped = False
        with ExitStack() as stack:
            stack.enter_context(_alone(brain))
            self._events = events.opened(brain.root)
            stack.callback(self._events.close)
            self._open = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.close()

    def stop(self) -> None:
        """Let `run` record what waits, and end; from a thread or the handler of a signal."""
        self._stopped = True
        self._events.wake()

    def catch_up(self) -> Watched | None:
        """Record what changed while nobody watched. Raises as `Brain.snapshot`."""
        return self._look(None)

    def run(self) -> Iterator[Watched | Failed]:
        """Yield what is recorded, or could not be, until `stop`. Raises `NoBrain`."""
        while not self._stopped:
            left = self._settling.left(time.monotonic())
            if left == 0:
                yield from self._record(self._settling.take())
            else:
                self._settling.note(self._events.wait(left), time.monotonic())
        self._settling.note(self._events.wait(0), time.monotonic())
        if self._settling or self._stuck or self._behind:
            yield from self._record(self._settling.take())

    def _record(self, paths: list[str] | None) -> Iterator[Watched | Failed]:
        """Record what is at `paths`, or anything, and what could not be recorded before."""
        self._behind |= paths is None
        wanted = sorted({*(paths or ()), *self._stuck})
        try:
            done = self._look(None if self._behind else wanted)
        except NoBrain:
            raise
        except BrainError as error:
            self._stuck.update(wanted)
            yield from self._tell(error)
            if isinstance(error, Locked):
                self._settling.note(Seen(frozenset(wanted), self._behind), time.monotonic())
            elif isinstance(error, InvalidInput) and len(wanted) <= _APART:
                yield from self._one_by_one(wanted)
            return
        self._behind = False
        self._stuck.clear()
        self._told.clear()
        if done is not None:
            yield done

    def _one_by_one(self, wanted: list[str]) -> Iterator[Watched | Failed]:
        """Record each path alone, so that a bad file does not hold up the others."""
        for path in wanted:
            try:
                done = self._look([path])
            except InvalidInput as error:
                yield from self._tell(error)
                continue
            self._stuck.discard(path)
            if done is not None:
                yield done

    def _tell(self, error: BrainError) -> Iterator[Failed]:
        if error.message not in self._told:
            self._told.add(error.message)
            yield Failed(error)

    def _look(self, paths: list[str] | None) -> Watched | None:
        done = self._brain.record_changes(paths)
        if not done.changed:
            return None
        (info,) = self._brain.log(done.snapshot, limit=1)
        return Watched(
            done.snapshot,
            done.bundle,
            done.parents,
            info.time,
            info.message,
            done.added,
            done.modified,
            done.removed,
            done.notices,
            done.commitment,
        )


@contextmanager
def _alone(brain: Brain) -> Iterator[None]:
    """Be the one watcher of a brain. Raises `Locked` (`watched`)."""
    folder = brain.root / CONTROL / FOLDER
    if folder.is_symlink():
        raise StoreError(
            f"{CONTROL}/{FOLDER} is a link", hint="this program did not make it: remove it"
        )
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise of_system(error) from error
    with ExitStack() as stack:
        try:
            stack.enter_context(writer_lock(folder, 0, "the watch of the brain"))
        except Locked as error:
            raise Locked(
                error.message.replace("locked", "kept"),
                code="watched",
                hint="one watcher is enough: it records what any program changes",
            ) from error
        yield
