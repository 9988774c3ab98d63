"""Turn an exception into an error message and an exit status."""

from __future__ import annotations

import errno
import os
import sys

import click

from brain.errors import ACCESS_HINT, BrainError, printable_text

from . import terminal
from .terminal import Terminated, escape_lines, has_color

OK = 0
FAILURE = 1
USAGE = 2
VERIFICATION_FAILED = 3
NOT_VOUCHED = 4
NO_BRAIN = 10
LOCKED = 11
CONFLICT = 12
NOT_ADMITTED = 13
INTERRUPTED = 130
BROKEN_PIPE = 141
"""Exit status of a program that SIGPIPE ended."""


class Failure(Exception):
    """An error to report: `status` is the exit status; a `quiet` one prints nothing."""

    def __init__(
        self, code: str, message: str, hint: str = "", status: int = FAILURE, quiet: bool = False
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.status = status
        self.quiet = quiet


_OS_ERRORS = {
    (errno.ENOSPC, errno.EDQUOT): ("no_space", "", "free some space and try again"),
    (errno.EMFILE, errno.ENFILE): (
        "too_many_open_files",
        "",
        "close some programs, or raise the limit (`ulimit -n`)",
    ),
    (errno.EACCES, errno.EPERM): ("no_access", "access to {} is denied", ACCESS_HINT),
    (errno.EROFS,): (
        "read_only",
        "{} is on a file system that cannot be written",
        "name a folder that you can write to",
    ),
    (errno.ENOENT,): (
        "no_such_file",
        "{} does not exist",
        "check its name: it is relative to the current folder",
    ),
    (errno.EISDIR,): ("is_a_folder", "{} is a folder, not a file", "name a file in it"),
    (errno.ENOTDIR,): (
        "not_a_folder",
        "{} is not a folder, or is below a file",
        "check the path",
    ),
}
"""Numbers of the system to code, sentence about the path, and hint."""
_OTHER_OS_ERROR = ("io_error", "", "check the file, and the disk that it is on")


def describe_error(problem: BaseException) -> Failure:
    """Return the failure to report for `problem`; an unknown exception is an internal error."""
    match problem:
        case Failure():
            return problem
        case BrainError():
            return Failure(problem.code, problem.message, problem.hint, problem.exit_status)
        case click.ClickException():
            return _usage_failure(problem)
        case BrokenPipeError():
            return Failure(
                "broken_pipe", "the reader closed the pipe", status=BROKEN_PIPE, quiet=True
            )
        case Terminated():
            return Failure("terminated", "terminated", status=128 + problem.number)
        case KeyboardInterrupt() | click.Abort() | EOFError():
            return Failure("interrupted", "interrupted", status=INTERRUPTED)
        case MemoryError():
            return Failure("out_of_memory", "not enough memory")
        case RecursionError():
            return Failure("too_deep", "the input is nested too deeply")
        case OSError():
            return _os_failure(problem)
    what = f"{type(problem).__name__}: {problem}".rstrip(": ")
    return Failure(
        "internal",
        f"internal error: {printable_text(what)}",
        "BRAIN_DEBUG=1 prints a traceback; please report it",
    )


def print_error(failure: Failure, *, as_json: bool, problem: BaseException | None = None) -> None:
    """Print the failure to stderr, as two lines or as one JSON document."""
    if problem is not None and os.environ.get("BRAIN_DEBUG") == "1":
        import traceback

        terminal.write_stderr("".join(traceback.format_exception(problem)).rstrip("\n"))
    if failure.quiet:
        return
    if as_json:
        terminal.write_stderr(_error_document(failure))
        return
    colour = has_color(sys.stderr)
    for label, text, paint in (("Error", failure.message, "red"), ("Hint", failure.hint, "cyan")):
        if text:
            shown = click.style(f"{label}:", fg=paint, bold=True) if colour else f"{label}:"
            terminal.write_stderr(f"{shown} {escape_lines(text)}")


def _error_document(failure: Failure) -> str:
    import json

    fields = {"code": failure.code, "message": failure.message, "hint": failure.hint or None}
    shown = {  # not every parser accepts half a surrogate
        name: text and text.encode("utf-8", "backslashreplace").decode()
        for name, text in fields.items()
    }
    return json.dumps({"error": shown})


def _usage_failure(problem: click.ClickException) -> Failure:
    """Return the failure for a wrong call, with a hint to its help."""
    context = getattr(problem, "ctx", None)
    path = context.command_path if context is not None else "brain"
    message = " ".join(problem.format_message().split())
    words = path.partition(" ")[2]
    hint = f"see '{path} --help'"
    if isinstance(problem, click.NoSuchOption):
        from .registry import FOREIGN_OPTIONS, RENAMED_OPTIONS

        option = problem.option_name
        foreign = FOREIGN_OPTIONS.get((words, option)) or FOREIGN_OPTIONS.get(("", option))
        if renamed := RENAMED_OPTIONS.get(words, {}).get(option):
            foreign = f"{option} is now {renamed}"
        if foreign:  # the options that click suggests are only spelled alike
            message, hint = f"No such option {option!r}.", foreign
    elif context is not None and "argument" in message.partition("'")[0]:
        usage = " ".join(context.command.collect_usage_pieces(context))
        hint = f"the call is {path} {usage}; {hint}"
    return Failure("usage", printable_text(message, limit=400), hint, USAGE)


def _os_failure(problem: OSError) -> Failure:
    known = (row for numbers, row in _OS_ERRORS.items() if problem.errno in numbers)
    code, sentence, hint = next(known, _OTHER_OS_ERROR)
    reason = printable_text(problem.strerror or str(problem) or type(problem).__name__)
    if not isinstance(problem.filename, str | bytes | os.PathLike):  # it may be a descriptor
        return Failure(code, reason, hint)
    path = os.fsdecode(problem.filename)
    folder = os.path.dirname(path)
    if code == "no_such_file" and folder and not os.path.lexists(folder):
        path = folder  # a file in it was to be written, or read
    sentence = sentence or f"{{}} cannot be used: {reason}"
    return Failure(code, sentence.format(printable_text(path)), hint)
