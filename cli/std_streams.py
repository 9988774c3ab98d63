"""Write to standard output and standard error.

Characters that the encoding of a stream cannot hold are replaced or escaped. A failed
write raises `OutputFailed`, a closed pipe `BrokenPipeError`.
"""

from __future__ import annotations

import codecs
import io
import os
import sys
from collections.abc import Iterable
from typing import TextIO

from brain.errors import BrainError

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


def write_stdout(text: str) -> None:
    """Write `text` to stdout."""
    if sys.stdout is None:
        raise OutputFailed("standard output is closed")
    try:
        sys.stdout.write(text)
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as problem:
        raise _output_error(problem) from problem


def write_stdout_utf8(pages: Iterable[bytes]) -> None:
    """Write text in UTF-8 to stdout; it is decoded only if stdout has another encoding."""
    out = sys.stdout
    if not isinstance(out, io.TextIOWrapper) or out.encoding.lower() not in _UTF8:
        write_stdout(b"".join(pages).decode())
        return
    flush_stdout()
    try:
        for page in pages:
            out.buffer.write(page)
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as problem:
        raise _output_error(problem) from problem


def write_lines(lines: Iterable[str]) -> None:
    """Write each line to stdout, as soon as it is available."""
    for line in lines:
        write_stdout(line + "\n")


def flush_stdout() -> None:
    """Write out what is buffered for stdout."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as problem:
        raise _output_error(problem) from problem


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


def _output_error(problem: OSError | ValueError) -> OutputFailed:
    reason = problem.strerror if isinstance(problem, OSError) else "it is closed"
    return OutputFailed(
        f"cannot write to standard output: {reason}", hint="send the output to another place"
    )


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
