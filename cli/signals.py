"""Handle signals so that files are closed and locks released."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_ENDING_SIGNALS = ("SIGTERM", "SIGHUP")


class Terminated(KeyboardInterrupt):
    """A signal other than SIGINT asked the process to end."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


@contextmanager
def terminate_on_signals() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into `Terminated`; an ignored signal (nohup) stays ignored."""
    before = {number: signal.getsignal(number) for number in _available_signals()}
    for number, handler in before.items():
        if handler == signal.SIG_DFL:
            signal.signal(number, _raise_terminated)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def ignore_signals() -> Iterator[None]:
    """Ignore signals while the error is printed."""
    before = {number: signal.getsignal(number) for number in _available_signals("SIGINT")}
    for number in before:
        signal.signal(number, signal.SIG_IGN)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def stop_on_signal(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` at the first ending signal, including SIGINT; a second one ends the process.

    A signal that is ignored stays ignored.
    """
    before = {number: signal.getsignal(number) for number in _available_signals("SIGINT")}
    replaced = {number: old for number, old in before.items() if old != signal.SIG_IGN}

    def ask(_number: int, _frame: FrameType | None) -> None:
        restore()
        stop()

    def restore() -> None:
        for number, handler in replaced.items():
            signal.signal(number, handler)

    for number in replaced:
        signal.signal(number, ask)
    try:
        yield
    finally:
        restore()


def _available_signals(*more: str) -> list[signal.Signals]:
    """Return the signals of this system; none outside the main thread."""
    if threading.current_thread() is not threading.main_thread():
        return []
    return [getattr(signal, name) for name in (*_ENDING_SIGNALS, *more) if hasattr(signal, name)]


def _raise_terminated(number: int, _frame: FrameType | None) -> None:
    raise Terminated(number)
