"""Settings of the user in a JSON file, written as a whole."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InvalidInput, printable_text

MAX_SETTINGS_BYTES = 1 << 20
"""The longest file of settings that is read."""

MakeSettingsError = Callable[[str], InvalidInput]
"""Makes an error of the words that say what is wrong."""


@contextmanager
def exclusive_lock(path: Path) -> Iterator[None]:
    """Hold the folder of a file, made if need be, against others that change files in it.

    It is synced in the end.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
        os.fsync(handle)
    finally:
        os.close(handle)


def replace_settings_file(path: Path, document: Mapping[str, Any]) -> None:
    """Put a file in place as a whole, for the user alone; to be used within `alone`."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(json.dumps(document, indent=2) + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def load_settings(path: Path, format: str, make_error: MakeSettingsError) -> dict[str, Any] | None:
    """Return what a file of a format holds, None if there is none.

    Raises what `bad` makes of the words that say what is wrong with it.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_SETTINGS_BYTES + 1)
    except FileNotFoundError:
        return None
    if len(data) > MAX_SETTINGS_BYTES:
        raise make_error(f"{printable_text(path)} is too large")
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise make_error(f"{printable_text(path)} is not JSON") from error
    if not isinstance(document, dict) or document.pop("format", None) != format:
        raise make_error(f"{printable_text(path)} is not of the format {format!r}")
    return document


def check_settings(
    fields: Mapping[str, Any], settings_type: type[NamedTuple], make_error: MakeSettingsError
) -> None:
    """Raise what `bad` makes of it if a field is none of `kind`, or of another type.

    One without a default is text.
    """
    for key, value in fields.items():
        if key not in settings_type._fields:
            raise make_error(f"there is no setting {printable_text(key, 40)}")
        expected_type = type(settings_type._field_defaults.get(key, ""))
        if type(value) is not expected_type:
            raise make_error(f"{key} is not {'text' if expected_type is str else 'a whole number'}")


def non_default_settings(settings: NamedTuple) -> dict[str, Any]:
    """Return the settings that are not the default."""
    defaults = settings._field_defaults
    return {key: value for key, value in settings._asdict().items() if value != defaults.get(key)}


def save_settings(path: Path, format: str, settings: Mapping[str, Any]) -> None:
    """Keep settings in a file, for the user alone. Raises `OSError`."""
    with exclusive_lock(path):
        replace_settings_file(path, {"format": format, **settings})
