"""Settings of the user in JSON files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import InvalidInput, printable_text
from .atomic_file import write_atomic
from .file_lock import lock_file

MAX_SETTINGS_BYTES = 1 << 20
"""Size limit of a settings file."""

MakeSettingsError = Callable[[str], InvalidInput]
"""Makes the error for a message."""


@contextmanager
def exclusive_lock(path: Path) -> Iterator[None]:
    """Lock the folder of a file, which is created, against other changes of files in it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with lock_file(path.parent):
        yield


def replace_settings_file(path: Path, document: Mapping[str, Any]) -> None:
    """Replace a settings file, for its owner alone; call it under `exclusive_lock`."""
    write_atomic(path, (json.dumps(document, indent=2) + "\n").encode())


def load_settings(path: Path, format: str, make_error: MakeSettingsError) -> dict[str, Any] | None:
    """Return the fields of a settings file of `format`, None if the file is missing.

    Raises the error of `make_error` if the file is too large or malformed.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_SETTINGS_BYTES + 1)
    except FileNotFoundError:
        return None
    if len(data) > MAX_SETTINGS_BYTES:
        raise make_error(f"{printable_text(path)} is larger than {MAX_SETTINGS_BYTES} bytes")
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise make_error(f"{printable_text(path)} is not JSON") from error
    if not isinstance(document, dict) or document.pop("format", None) != format:
        raise make_error(f"{printable_text(path)} is not of the format {format!r}")
    return document
