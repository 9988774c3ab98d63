"""An open brain: the session behind it, and its turns among threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from ..repo.open.session import Session

if TYPE_CHECKING:
    from ..repo.core.checkout import Progress

T = TypeVar("T")


class Opened:
    """What all parts of the façade share."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._turn = threading.RLock()

    def close(self) -> None:
        """Close the store. The brain cannot be used afterwards."""
        self._session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def root(self) -> Path:
        """The folder of the brain."""
        return self._session.root

    @property
    def id(self) -> str:
        """The id of the brain: that of its genesis snapshot."""
        return self._session.brain_id().hex()

    @property
    def head(self) -> str:
        """The id of the snapshot the branch stands at."""
        return self._session.head().hex()

    def _each(self, action: Callable[..., Iterator[T]], *args: Any) -> Iterator[T]:
        """Run a generator of an action, letting other threads in between its steps."""
        with self._turn:
            steps = action(self._session, *args)
        end = object()
        while True:
            with self._turn:
                step = told(next, steps, end)
            if step is end:
                return
            yield step

    def _do(self, action: Callable[..., T], *args: Any) -> T:
        """Run an action, one thread at a time."""
        with self._turn:
            return told(action, self._session, *args)


def told(action: Callable[..., T], *args: Any) -> T:
    """Call `action`; an error of the operating system becomes a `BrainError`."""
    try:
        return action(*args)
    except OSError as error:
        from ..errors import error_from_os

        raise error_from_os(error) from error


def given(progress: Progress | None) -> tuple[Progress, ...]:
    """Return a progress as the arguments of an action, which has its own default."""
    return () if progress is None else (progress,)
