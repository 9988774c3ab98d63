"""The terminal: streams, colour, escaping, signals, the progress bar and the pager."""

from __future__ import annotations

import codecs
import functools
import io
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TextIO, TypeVar

from brain.errors import BrainError

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


NO_COLOR_VARIABLE = "NO_COLOR"
"""If it is set and not empty, output has no colour (no-color.org). `--no-color` sets it."""


def is_terminal(stream: TextIO | None) -> bool:
    """Return whether `stream` is a terminal."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


def has_color(stream: TextIO | None) -> bool:
    """Return whether `stream` is a terminal that shows colour."""
    return (
        is_terminal(stream)
        and not os.environ.get(NO_COLOR_VARIABLE)
        and os.environ.get("TERM") != "dumb"
        and (os.name != "nt" or "WT_SESSION" in os.environ)
    )


def terminal_width(stream: TextIO | None) -> int:
    """Return the columns of the terminal at `stream`; 0 if it is not a terminal."""
    if not is_terminal(stream):
        return 0
    import shutil

    return shutil.get_terminal_size().columns


def escape(text: str) -> str:
    """Return `text` as one line in which every non-printing character is escaped."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def escape_lines(text: str) -> str:
    """Return `text` with every non-printing character but line ends and tabs escaped."""
    if text.isprintable():
        return text
    return "\n".join(
        "\t".join(map(escape, line.split("\t"))) for line in text.replace("\r\n", "\n").split("\n")
    )


_ASCII_FORMS = {"→": "->", "▸": ">", "…": "...", "·": "-", "—": "-", "≥": ">="}
_ERROR_HANDLER_NAME = "brain_plain"
_UTF8 = ("utf-8", "utf8")


class OutputFailed(BrainError):
    """Standard output cannot be written: closed, or its disk is full."""

    code = "output_failed"


def prepare_streams() -> None:
    """Make stdout and stderr accept any text, and open closed standard descriptors.

    Else the next file to be opened would get a closed descriptor, and output would be
    written to that file.
    """
    codecs.register_error(_ERROR_HANDLER_NAME, _encode_plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_ERROR_HANDLER_NAME)
    if None in (sys.stdin, sys.stdout, sys.stderr):
        _occupy_closed_descriptors()


@contextmanager
def _output_errors() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "it is closed"
        raise OutputFailed(
            f"cannot write to standard output: {reason}", hint="send the output to another place"
        ) from problem


def write_stdout(text: str) -> None:
    """Write `text` to stdout."""
    if sys.stdout is None:
        raise OutputFailed("standard output is closed")
    with _output_errors():
        sys.stdout.write(text)


def write_stdout_utf8(pages: Iterable[bytes]) -> None:
    """Write text in UTF-8 to stdout; it is decoded only if stdout has another encoding."""
    out = sys.stdout
    if not isinstance(out, io.TextIOWrapper) or out.encoding.lower() not in _UTF8:
        write_stdout(b"".join(pages).decode())
        return
    flush_stdout()
    with _output_errors():
        out.buffer.writelines(pages)


def write_lines(lines: Iterable[str]) -> None:
    """Write each line to stdout, as soon as it is available."""
    for line in lines:
        write_stdout(line + "\n")


def flush_stdout() -> None:
    """Write out what is buffered for stdout."""
    if sys.stdout is not None:
        with _output_errors():
            sys.stdout.flush()


def write_stderr(text: str) -> None:
    """Write a line to stderr; a failure is ignored."""
    try:
        if sys.stderr is not None:
            sys.stderr.write(text + "\n")
            sys.stderr.flush()
    except (OSError, ValueError):
        _redirect_to_null(sys.stderr)


def release_streams() -> None:
    """Leave streams that the interpreter can flush at its end without an error."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            _redirect_to_null(stream)


def _encode_plain(problem: UnicodeError) -> tuple[str | bytes, int]:
    """Codec error handler: the ASCII form of our symbols, an escape for any other character."""
    if not isinstance(problem, UnicodeEncodeError):
        raise problem
    text = problem.object[problem.start : problem.end]
    plain = "".join(
        _ASCII_FORMS.get(c) or c.encode("ascii", "backslashreplace").decode() for c in text
    )
    return plain, problem.end


def _occupy_closed_descriptors() -> None:
    while (descriptor := os.open(os.devnull, os.O_RDWR)) < 3:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)


def _redirect_to_null(stream: TextIO | None) -> None:
    """Point a stream that can no longer be written at the null device."""
    try:
        if stream is not None:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, stream.fileno())
            os.close(null)
    except (OSError, ValueError):
        return


_ENDING_SIGNALS = ("SIGTERM", "SIGHUP")


class Terminated(KeyboardInterrupt):
    """A signal other than SIGINT asked the process to end."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


@contextmanager
def _handle_signals(handle: Any, *more: str, only_default: bool = False) -> Iterator[None]:
    """Have `handle` called at the ending signals and `more`, of which ignored ones stay so."""
    numbers = [getattr(signal, name, None) for name in (*_ENDING_SIGNALS, *more)]
    if threading.current_thread() is not threading.main_thread():
        numbers = []
    before = {number: signal.getsignal(number) for number in numbers if number is not None}
    for number, handler in before.items():
        if handler == signal.SIG_DFL or not (only_default or handler == signal.SIG_IGN):
            signal.signal(number, handle)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def terminate_on_signals() -> AbstractContextManager[None]:
    """Turn SIGTERM and SIGHUP into `Terminated`; an ignored signal (nohup) stays ignored."""
    return _handle_signals(_raise_terminated, only_default=True)


def ignore_signals() -> AbstractContextManager[None]:
    """Ignore signals while the error is printed."""
    return _handle_signals(signal.SIG_IGN, "SIGINT")


@contextmanager
def stop_on_signal(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` at the first ending signal, including SIGINT; a second one ends the process."""
    has_stopped = False

    def ask(number: int, frame: FrameType | None) -> None:
        nonlocal has_stopped
        if has_stopped:
            handler = signal.default_int_handler if number == signal.SIGINT else _raise_terminated
            handler(number, frame)
        has_stopped = True
        stop()

    with _handle_signals(ask, "SIGINT"):
        yield


def _raise_terminated(number: int, _frame: FrameType | None) -> None:
    raise Terminated(number)


DELAY_SECONDS = 1.0
"""Seconds before a bar appears."""


class Screen(Protocol):
    """What the terminal shows, and how; see `App`."""

    as_json: bool
    use_pager: bool
    progress_bar: ProgressBar | None


class ProgressBar:
    """A callable `(what, done, total)` for the library; use it in a `with` block."""

    def __init__(self, app: Screen) -> None:
        self._app = app
        self._is_enabled = is_terminal(sys.stderr) and not app.as_json
        self._start = time.monotonic()
        self._progress: Progress | None = None
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, what: str, done: int, total: int) -> None:
        """Show `done` of `total` (0: unknown) of the work named `what`."""
        if not self._is_enabled or time.monotonic() - self._start < DELAY_SECONDS:
            return
        progress = self._progress or self._start_progress()
        if what not in self._tasks:
            self._tasks[what] = progress.add_task(what, total=None)
        progress.update(self._tasks[what], completed=done, total=total or None)

    def __enter__(self) -> ProgressBar:
        """Start the clock; stop another bar, because a terminal shows one."""
        if self._app.progress_bar is not None:
            self._app.progress_bar.stop()
        self._app.progress_bar = self
        self._start = time.monotonic()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop the bar."""
        self.stop()

    def stop(self) -> None:
        """Remove the bar from the terminal."""
        self._app.progress_bar = None
        if self._progress is not None:
            self._progress.stop()

    def _start_progress(self) -> Progress:
        from rich.console import Console
        from rich.progress import Progress

        self._progress = Progress(console=Console(stderr=True), transient=True)
        self._progress.start()
        return self._progress


Parameters = ParamSpec("Parameters")
Shown = TypeVar("Shown", bound=Screen)

DEFAULT_PAGER = "less"
LESS_OPTIONS = "FRX"
"""Ends if all fits on the screen, shows colours, and leaves the text there; git's default too."""


def paged(
    function: Callable[Concatenate[Shown, Parameters], None],
) -> Callable[Concatenate[Shown, Parameters], None]:
    """Let a command show what it prints in the pager of the user."""

    @functools.wraps(function)
    def call(app: Shown, /, *args: Parameters.args, **options: Parameters.kwargs) -> None:
        command = _pager_command(app)
        if command:
            with _print_to_pager(command):
                function(app, *args, **options)
        else:
            function(app, *args, **options)

    return call


def _pager_command(app: Screen) -> list[str]:
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
        while pager.poll() is None:  # an interrupt from the keyboard goes to the pager, too
            with suppress(KeyboardInterrupt):
                pager.wait()
