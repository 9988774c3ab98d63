"""The parts of an open brain: one session, one lock, and tables of operations.

An operation is a function whose first argument is the session. A part lists it, and with that it
is a method of the part:

    class HistoryPart(Part):
        show = reads(lambda: log.show)

`brain.history.show("@~1")` calls `log.show(session, "@~1")`, one thread at a time. Names,
types, defaults and the docstring are those of the function. The lambda is called at the first
use, so that a module of operations is imported when one of them is needed (see `lazy`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

from ..errors import NoBrain, error_from_os
from ..util.checked_calls import check_calls, check_types

if TYPE_CHECKING:
    import inspect
    from pathlib import Path

    from .. import results
    from ..chain.ledger_protocol import Ledger
    from ..experience.recorder import Recorder
    from ..experience.store import Store
    from .session import Session

P = ParamSpec("P")
T = TypeVar("T")
Written = TypeVar(
    "Written",
    "results.Decided",
    "results.MemoryChanged",
    "results.Merged",
    "results.Recorded",
    "results.SkillMergeResult",
    "results.Upserted",
)


class LockedSession:
    """A session, and its lock among threads.

    `open_ledger` opens the ledgers that the manifest may name, and `commit_if_due` returns what
    a write made with its commitment, if the manifest asks for one; `Brain` sets both. `recorder`
    notes what runs leave to learn from, once there is something.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.lock = threading.RLock()
        self.open_ledger: Callable[[str], Ledger] | None = None
        self.commit_if_due: Callable[[Any], Any] = lambda result: result
        self.recorder: Recorder | None = None

    def run(
        self, action: Callable[Concatenate[Session, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Call `action(session, …)`, one thread at a time."""
        with self.lock:
            return call_system(action, self.session, *args, **kwargs)

    def iterate(
        self,
        action: Callable[Concatenate[Session, P], Iterator[T]],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Iterator[T]:
        """Return what `action(session, …)` yields; other threads may work between two items."""
        return self._take_turns(self.run(action, *args, **kwargs))

    def _take_turns(self, items: Iterator[T]) -> Iterator[T]:
        end = object()
        while True:
            with self.lock:
                item = call_system(next, items, end)
            if item is end:
                return
            yield item  # type: ignore[misc]

    def run_write(
        self,
        action: Callable[Concatenate[Session, P], Written],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Written:
        """Run an action that records a snapshot; commit that if the manifest asks.

        A commitment that fails leaves the snapshot in place; the result says what happened.
        """
        result: Written = self.commit_if_due(self.run(action, *args, **kwargs))
        return result

    def open_experience(self) -> Store:
        """Return the store of experience, with all that runs of this brain have left.

        Raises `InvalidInput` (`bad_experience_url`), `StoreError` (`not_installed`).
        """
        self.wait_for_recorder()
        return self.session.experience

    def wait_for_recorder(self, timeout: float | None = None) -> None:
        """Wait until all that runs have left is noted."""
        if self.recorder is not None:
            self.recorder.wait(timeout)


def open_session(folder: Path, author: str = "") -> Session:
    """Open the brain in a folder, read-only if the store has no write permission.

    Raises `NoBrain`, `StoreError`, or `InvalidInput` for a bad author.
    """
    from ..store.writer import open_store_or_readonly
    from .session import CONTROL_FOLDER, Session, is_brain, refuse_missing_store

    root = folder.absolute()
    if not is_brain(root):
        import shlex

        refuse_missing_store(root)
        raise NoBrain(
            f"there is no brain in {root}",
            hint=f"make one there with `brain init {shlex.quote(str(root))}`",
        )
    return Session(root, open_store_or_readonly(root / CONTROL_FOLDER), author)


class Part:
    """A part of `Brain`: operations of one kind on the same open brain.

    Its own methods check their arguments as operations do.
    """

    def __init_subclass__(cls) -> None:
        check_calls(cls)

    def __init__(self, locked: LockedSession) -> None:
        self._locked = locked


def reads(find: Callable[[], Callable[Concatenate[Session, P], T]]) -> Operation[P, T]:
    """Return the operation of a function that reads, or whose write no ledger is to have."""
    return Operation(find, LockedSession.run)


def streams(
    find: Callable[[], Callable[Concatenate[Session, P], Iterator[T]]],
) -> Operation[P, Iterator[T]]:
    """Return an operation that yields; other threads may work between two items."""
    return Operation(find, LockedSession.iterate)


def writes(find: Callable[[], Callable[Concatenate[Session, P], Written]]) -> Operation[P, Written]:
    """Return an operation that records a snapshot, which is committed if the manifest asks."""
    return Operation(find, LockedSession.run_write)


class Operation(Generic[P, T]):
    """A function as a method of a part.

    On a part it is bound to its session, and kept in the part. An argument of a wrong simple
    type raises `InvalidInput` (`bad_argument_type`), what the system does a `BrainError`.
    """

    def __init__(
        self,
        find: Callable[[], Callable[Concatenate[Session, P], T]],
        run: Callable[..., Any],
        locked: LockedSession | None = None,
    ) -> None:
        self._find = find
        self._run = run
        self._locked = locked

    def __set_name__(self, owner: type, name: str) -> None:
        self.__name__ = name

    @overload
    def __get__(self, part: None, owner: type) -> Self: ...
    @overload
    def __get__(self, part: Part, owner: type) -> Callable[P, T]: ...
    def __get__(self, part: Part | None, owner: type) -> Self | Callable[P, T]:
        if part is None:
            return self
        bound = part.__dict__[self.__name__] = self._bind(part)
        return bound

    def _bind(self, part: Part) -> Self:
        function = self._find()
        bound = type(self)(lambda: function, self._run, part._locked)
        bound.__name__ = self.__name__
        return bound

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call the function with the session, in turn."""
        if self._locked is None:  # `HistoryPart.show(brain.history, "@")`, as with any method
            values: Any = args
            bound: Callable[..., T] = self._bind(values[0])
            return bound(*values[1:], **kwargs)
        function = self._find()
        check_types(function, args, kwargs)
        result: T = self._run(self._locked, function, *args, **kwargs)
        return result

    # `help(brain.history.show)` shows the function without its first argument.

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        return self._find().__doc__

    @property
    def __signature__(self) -> inspect.Signature:
        import inspect

        found = inspect.signature(self._find())
        return found.replace(parameters=list(found.parameters.values())[1:])


class _LazyModule:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        from importlib import import_module

        return getattr(import_module(self._name), name)


def lazy(namespace: dict[str, Any], package: str, names: str) -> None:
    """Let a module name modules of `brain.PACKAGE`, imported as soon as they are used.

    Type checkers get the modules themselves, from an import under TYPE_CHECKING.
    """
    for name in names.split():
        namespace[name] = _LazyModule(f"brain.{package}.{name}")


def call_system(action: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call `action`; an error of the operating system becomes a `BrainError`."""
    try:
        return action(*args, **kwargs)
    except OSError as error:
        raise error_from_os(error) from error


def encode_body(body: str | bytes | None) -> bytes | None:
    """Return the text of a skill as bytes; None stays None."""
    return body.encode() if isinstance(body, str) else body
