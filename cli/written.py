"""Writing what a command made to a file that somebody named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from brain.errors import Conflict, printable

Function = TypeVar("Function", bound=Callable[..., Any])


def overwrite_option(function: Function) -> Function:
    """Add --overwrite to a command that has --output."""
    text = "Replace FILE, whatever it holds by now."
    return click.option("--overwrite", is_flag=True, help=text)(function)


def write_file(name: str, data: bytes, overwrite: bool) -> None:
    """Write `data` to the file `name`, which is not there or holds just that.

    Raises `Conflict` (`file_exists`) for another file, unless `overwrite`, and `OSError`.
    """
    place = Path(name)
    if not overwrite and place.is_file() and not _holds(place, data):
        raise Conflict(
            f"{printable(name)} holds something else",
            code="file_exists",
            hint="name another file, or replace it with --overwrite",
        )
    place.write_bytes(data)


def _holds(place: Path, data: bytes) -> bool:
    with place.open("rb") as file:
        return file.read(len(data) + 1) == data
