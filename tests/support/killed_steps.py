"""Kill a process of its own before a certain one of its steps, by SIGKILL."""

import os
import signal
from collections.abc import Callable, Sequence
from typing import Any

Step = tuple[type, str]
"""A method whose calls are steps, by its class and name."""


def run_killed(run: Callable[[], object], steps: Sequence[Step], number: int) -> str:
    """Run a function in a forked process that is killed before its step `number`, from 0.

    Returns the name of that step, "" if there were fewer and the process ended well.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _run_child(run, steps, number, writing)
    os.close(writing)
    _, status = os.waitpid(child, 0)
    with os.fdopen(reading) as pipe:
        name = pipe.read()
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return name
    if status:
        raise AssertionError(f"the process ended with the status {status}")
    return ""


def _run_child(run: Callable[[], object], steps: Sequence[Step], number: int, writing: int) -> None:
    count = 0

    def wrap(owner: type, name: str) -> None:
        called = getattr(owner, name)

        def step(*args: Any, **named: Any) -> Any:
            nonlocal count
            if count == number:
                os.write(writing, name.encode())
                os.kill(os.getpid(), signal.SIGKILL)
            count += 1
            return called(*args, **named)

        setattr(owner, name, step)

    status = 1
    try:
        for owner, name in steps:
            wrap(owner, name)
        run()
        status = 0
    finally:
        os._exit(status)
