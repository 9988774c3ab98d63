"""Read and write the files that a user names; `-` is standard input."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from brain.errors import BrainError, Conflict, InvalidInput, printable_text

from . import terminal
from .terminal import is_terminal

if TYPE_CHECKING:
    from io import RawIOBase

_DEVICE_FOLDERS = ("/dev/", "/proc/")
"""Where a name may lead to a stream of this process, which cannot be replaced."""


def read_input(name: str, max_bytes: int, what: str) -> bytes:
    """Return the bytes of the file `name` ("-": standard input), at most `max_bytes`.

    If standard input is a terminal, a note names `what` is read, such as "the skill".
    Raises `InvalidInput` (`too_large`, `no_input`) and `OSError`.
    """
    if name != "-":
        with open(name, "rb") as file:
            data = file.read(max_bytes + 1)
    else:
        source = open_standard_input()
        if is_terminal(sys.stdin):
            end = "Ctrl-Z and Enter" if os.name == "nt" else "Ctrl-D"
            terminal.write_stderr(f"Reading {what} from standard input; end with {end}")
        data = source.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise InvalidInput(
            f"{_shown(name)} is larger than {max_bytes} bytes",
            code="too_large",
            hint="check that it is the right file; larger ones are not read",
        )
    return data


def read_text_input(name: str, max_bytes: int, what: str) -> str:
    """Return the text of a file as `read_input` does. Raises `InvalidInput` (`not_text`)."""
    try:
        return read_input(name, max_bytes, what).decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{_shown(name)} is not UTF-8", code="not_text", hint="save it as UTF-8"
        ) from error


def _shown(name: str) -> str:
    return "standard input" if name == "-" else printable_text(name)


@contextmanager
def named_in_errors(name: str | None, lines_only: bool = False) -> Iterator[None]:
    """Put the file `name` in front of the messages of errors, which are about its content.

    With `lines_only`, only of those that begin with the number of a line.
    """
    try:
        yield
    except BrainError as error:
        about_line = error.message.startswith("line ")
        if name is not None and (about_line or not lines_only):
            error.message = f"{_shown(name)}{',' if about_line else ':'} {error.message}"
        raise


def open_standard_input() -> BinaryIO:
    """Return standard input. Raises `InvalidInput` (`no_input`) if it is closed."""
    if sys.stdin is None:
        raise InvalidInput(
            "standard input is closed",
            code="no_input",
            hint="give the input through a pipe, or from a file",
        )
    return sys.stdin.buffer


def open_content(name: str | None) -> AbstractContextManager[RawIOBase | None]:
    """Open the file to compare with a proof, None for none."""
    return nullcontext() if name is None else open(name, "rb", buffering=0)


def write_output_file(name: str, data: bytes, overwrite: bool = True) -> None:
    """Put `data` into the file `name`, whole or not at all, or write it to a pipe or device.

    Without `overwrite` it must not exist or have the same content. Raises `Conflict`
    (`file_exists`) and `OSError`.
    """
    place = Path(name)
    if not overwrite and place.is_file() and not _has_content(place, data):
        raise Conflict(
            f"{name} exists and has other content",
            code="file_exists",
            hint="name another file, or replace it with --overwrite",
        )
    if name.startswith(_DEVICE_FOLDERS) or (place.exists() and not place.is_file()):
        place.write_bytes(data)
        return
    from brain.util.files import write_atomic

    target = os.path.realpath(name) if place.is_symlink() else name
    write_atomic(target, data, mode=None)


def _has_content(place: Path, data: bytes) -> bool:
    with place.open("rb") as file:
        return file.read(len(data) + 1) == data
