"""Signals that end a run: each unwinds like Ctrl-C, so that files are closed and locks freed."""

from __future__ import annotations

import signal
import threading
from types import FrameType

_NAMES = ("SIGTERM", "SIGHUP")


class Terminated(KeyboardInterrupt):
    """A signal other than SIGINT asked the process to end."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def install() -> None:
    """Turn SIGTERM and SIGHUP into `Terminated`; one that is ignored (nohup) stays ignored."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in _numbers():
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _terminate)


def ignore() -> None:
    """Ignore further signals while the last words are written."""
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, *_numbers()):
            if signal.getsignal(number) in (_terminate, signal.default_int_handler):
                signal.signal(number, signal.SIG_IGN)


def _numbers() -> list[signal.Signals]:
    return [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]


def _terminate(number: int, _frame: FrameType | None) -> None:
    raise Terminated(number)
