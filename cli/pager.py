"""Show the output of a command in a pager, as git does.

Only at a terminal and without `--json`. The pager is BRAIN_PAGER, else PAGER, else less; an
empty value, `cat` or `--no-pager` turn it off.
"""

from __future__ import annotations

import functools
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Concatenate, ParamSpec

from .context import App
from .terminal import is_terminal

if TYPE_CHECKING:
    import subprocess

Parameters = ParamSpec("Parameters")

DEFAULT_PAGER = "less"
LESS_OPTIONS = "FRX"
"""Ends if all fits on the screen, shows colours, and leaves the text there; git's default too."""


def paged(
    function: Callable[Concatenate[App, Parameters], None],
) -> Callable[Concatenate[App, Parameters], None]:
    """Let a command show what it prints in the pager of the user."""

    @functools.wraps(function)
    def call(app: App, /, *args: Parameters.args, **options: Parameters.kwargs) -> None:
        command = _pager_command(app)
        if command:
            with _print_to_pager(command):
                function(app, *args, **options)
        else:
            function(app, *args, **options)

    return call


def _pager_command(app: App) -> list[str]:
    """Return the command of the pager; nothing if there is none to use."""
    if app.as_json or not app.use_pager or not is_terminal(sys.stdout):
        return []
    import shlex
    import shutil

    named = os.environ.get("BRAIN_PAGER", os.environ.get("PAGER", DEFAULT_PAGER))
    try:
        command = shlex.split(named)
    except ValueError:  # a quote without its end
        return []
    return command if command and command != ["cat"] and shutil.which(command[0]) else []


class _PagerStream(io.TextIOWrapper):
    """The input of the pager, which shows it at the terminal."""

    def isatty(self) -> bool:
        """Return True, so that lines have colours and the width of the terminal."""
        return True


@contextmanager
def _print_to_pager(command: list[str]) -> Iterator[None]:
    import subprocess

    terminal = sys.stdout
    terminal.flush()
    settings = {"LESS": LESS_OPTIONS, **os.environ}
    pager = subprocess.Popen(command, stdin=subprocess.PIPE, env=settings)
    assert pager.stdin is not None
    errors = getattr(terminal, "errors", None)
    stream = _PagerStream(pager.stdin, encoding=terminal.encoding, errors=errors)
    sys.stdout = stream
    try:
        with suppress(BrokenPipeError):  # the user left the pager
            yield
    finally:
        with suppress(OSError):
            stream.close()
        sys.stdout = terminal
        _wait_for(pager)


def _wait_for(pager: subprocess.Popen[bytes]) -> None:
    """Wait until the user leaves the pager, which gets an interrupt from the keyboard too."""
    while True:
        with suppress(KeyboardInterrupt):
            pager.wait()
            return
