"""Settings of the user in JSON files."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..errors import InvalidInput, printable_text
from .atomic_file import write_atomic
from .file_lock import lock_file

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_Settings = TypeVar("_Settings", bound="DataclassInstance")

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
        raise make_error(f"{printable_text(path)} is too large")
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise make_error(f"{printable_text(path)} is not JSON") from error
    if not isinstance(document, dict) or document.pop("format", None) != format:
        raise make_error(f"{printable_text(path)} is not of the format {format!r}")
    return document


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsFormat(Generic[_Settings]):
    """A kind of settings file that holds one frozen dataclass of texts and whole numbers.

    `owner` is the subject of errors, whose code is `code`; `command` changes the settings.
    `ranges` are the bounds of numbers. `find_fault` describes any other fault, "" if none.
    """

    name: str
    settings_type: type[_Settings]
    owner: str
    command: str
    code: str
    hint: str
    ranges: Mapping[str, tuple[int, int]]
    find_fault: Callable[[_Settings], str]

    def error(self, problem: str) -> InvalidInput:
        """Return the error for invalid settings, or for something that they name."""
        return InvalidInput(f"{self.owner}: {problem}", code=self.code, hint=self.hint)

    def parse(self, fields: Mapping[str, Any], source: str = "") -> _Settings:
        """Check fields and return the settings. Raises `error`, which names the `source`."""
        defaults: dict[str, Any] = {
            field.name: field.default for field in dataclasses.fields(self.settings_type)
        }
        for key, value in fields.items():
            if key not in defaults:
                raise self.error(f"{source}there is no setting {printable_text(key, 40)}")
            expected_type = type(defaults[key])
            if type(value) is not expected_type:
                expected = "text" if expected_type is str else "a whole number"
                raise self.error(f"{source}{key} is not {expected}")
            lowest, highest = self.ranges.get(key, (value, value))
            if not lowest <= value <= highest:
                raise self.error(f"{source}{key} must be from {lowest} to {highest}")
        settings = self.settings_type(**fields)
        fault = self.find_fault(settings)
        if fault:
            raise self.error(f"{source}{fault}")
        return settings

    def load(self, path: Path) -> _Settings | None:
        """Return the settings in a file, None if it is missing. Raises `error`."""
        fields = load_settings(path, self.name, self.error)
        return None if fields is None else self.parse(fields, f"{printable_text(path)}: ")

    def save(self, path: Path, settings: _Settings) -> None:
        """Write settings to a file that only the user can read. Raises `OSError`."""
        with exclusive_lock(path):
            replace_settings_file(path, {"format": self.name, **self.changed_fields(settings)})

    def changed_fields(self, settings: _Settings | None) -> dict[str, Any]:
        """Return the settings that differ from their defaults."""
        if settings is None:
            return {}
        values = ((field, getattr(settings, field.name)) for field in dataclasses.fields(settings))
        return {field.name: value for field, value in values if value != field.default}

    def read_key(self, path: str) -> str:
        """Return the key in a file. Raises `InvalidInput` (`no_key`, `key_readable`)."""
        from .endpoints import read_key_file

        return read_key_file(path, self.owner, self.command)
