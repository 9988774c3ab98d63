"""Settings of the user: their fields as a class declares them, model endpoints, private files."""

from __future__ import annotations

import dataclasses
import ipaddress
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import urlsplit

from ..errors import InvalidInput, printable_text
from .files import lock_file, read_secret_file, write_atomic

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


MAX_SETTINGS_BYTES = 1 << 20
"""Size limit of a settings file."""


@contextmanager
def exclusive_lock(path: Path) -> Iterator[None]:
    """Lock the folder of a file, which is created, against other changes of files in it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with lock_file(path.parent):
        yield


def replace_settings_file(path: Path, document: Mapping[str, Any]) -> None:
    """Replace a settings file, for its owner alone; call it under `exclusive_lock`."""
    write_atomic(path, (json.dumps(document, indent=2) + "\n").encode())


_Settings = TypeVar("_Settings", bound="DataclassInstance")


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsFormat(Generic[_Settings]):
    """A table of settings: one frozen dataclass of texts and whole numbers.

    `owner` is the subject of errors, whose code is `code`; `command` changes the settings.
    `ranges` are the bounds of numbers. `find_fault` describes any other fault, "" if none.
    """

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

    def parse(self, fields: Mapping[str, Any]) -> _Settings:
        """Check fields and return the settings. Raises `error`."""
        defaults: dict[str, Any] = {
            field.name: field.default for field in dataclasses.fields(self.settings_type)
        }
        for key, value in fields.items():
            if key not in defaults:
                raise self.error(f"there is no setting {printable_text(key, 40)}")
            expected_type = type(defaults[key])
            if type(value) is not expected_type:
                expected = "text" if expected_type is str else "a whole number"
                raise self.error(f"{key.replace('_', '-')} is not {expected}")
            lowest, highest = self.ranges.get(key, (value, value))
            if not lowest <= value <= highest:
                raise self.error(f"{key.replace('_', '-')} must be from {lowest} to {highest}")
        settings = self.settings_type(**fields)
        fault = self.find_fault(settings)
        if fault:
            raise self.error(f"{fault}")
        return settings

    def read_key(self, path: str) -> str:
        """Return the key in a file that only its owner may read.

        Raises `InvalidInput` (`no_key`, `key_readable`).
        """
        hint = f"name its file with `{self.command}.key-file FILE`"
        try:
            data = read_secret_file(path, MAX_API_KEY_BYTES, f"the key of {self.owner}")
        except OSError as error:
            raise InvalidInput(
                f"the key of {self.owner} cannot be read from {path}: {error.strerror}",
                code="no_key",
                hint=hint,
            ) from error
        key = data.decode("ascii", "replace").strip()
        if len(data) > MAX_API_KEY_BYTES or not _KEY_PATTERN.fullmatch(key):
            raise InvalidInput(
                f"{path} holds no key of {self.owner}",
                code="no_key",
                hint=f"write only the key to it, or {hint}",
            )
        return key


MAX_API_KEY_BYTES = 16 << 10
_LOCAL_NAMES = ("localhost", "ip6-localhost")
_KEY_PATTERN = re.compile(r"[!-~]+", re.ASCII)
_VISIBLE_PATTERN = re.compile(r"[!-~]{1,200}", re.ASCII)


def find_url_fault(url: str) -> str:
    """Return the fault of an address, "" if there is none.

    It must be an address, contain no key, and be encrypted outside private networks.
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return "is not an address"
    if parts.scheme not in ("http", "https") or not host or not _VISIBLE_PATTERN.fullmatch(url):
        return "is not an address such as http://localhost:11434/v1"
    if "@" in parts.netloc or parts.query or parts.fragment:
        return "contains more than an address: store keys in a file"
    if parts.scheme == "http" and not _is_private_host(host):
        return "is unencrypted and leaves this network: use https"
    return ""


def is_loopback(host: str) -> bool:
    """Tell whether a host is this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host in _LOCAL_NAMES


def _is_private_host(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return host in _LOCAL_NAMES
