"""Settings of the user that a class declares: read, checked and saved as a file."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..errors import InvalidInput, printable_text
from . import endpoints, settings_file

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_Settings = TypeVar("_Settings", bound="DataclassInstance")


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
        fields = settings_file.load_settings(path, self.name, self.error)
        return None if fields is None else self.parse(fields, f"{printable_text(path)}: ")

    def save(self, path: Path, settings: _Settings) -> None:
        """Write settings to a file that only the user can read. Raises `OSError`."""
        with settings_file.exclusive_lock(path):
            settings_file.replace_settings_file(
                path, {"format": self.name, **self.changed_fields(settings)}
            )

    def changed_fields(self, settings: _Settings | None) -> dict[str, Any]:
        """Return the settings that differ from their defaults."""
        if settings is None:
            return {}
        values = ((field, getattr(settings, field.name)) for field in dataclasses.fields(settings))
        return {field.name: value for field, value in values if value != field.default}

    def read_key(self, path: str) -> str:
        """Return the key in a file. Raises `InvalidInput` (`no_key`, `key_readable`)."""
        return endpoints.read_key_file(path, self.owner, self.command)
