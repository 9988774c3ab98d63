"""Which embedder a user has, in a file of JSON that only he reads; never a key itself.

{"format": "brain v1 embedder", "model": "text-embedding-3-small", "key_file": "…"}
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ... import endpoints, ownfile
from ...errors import InvalidInput

FORMAT = "brain v1 embedder"
OPENAI = "https://api.openai.com/v1"
_MAX_TIMEOUT = 600


class Settings(NamedTuple):
    """A folder with a model of sentence-transformers, or a model behind an endpoint.

    `base_url` is that of an endpoint that speaks OpenAI's protocol. `key_file` is a file
    that holds its key, "" for the environment. `timeout` is in seconds for one request.
    """

    folder: str = ""
    model: str = ""
    base_url: str = OPENAI
    key_file: str = ""
    timeout: int = 30


def parse(fields: Mapping[str, Any]) -> Settings:
    """Return settings, checked. Raises `InvalidInput` (`bad_embedder`)."""
    ownfile.check(fields, Settings, bad)
    settings = Settings(**fields)
    if bool(settings.folder) == bool(settings.model):
        raise bad("name either a model behind an endpoint or a folder with one")
    if len(settings.model) > 200 or not settings.model.isprintable():
        raise bad("the name of the model is too long or not printable")
    fault = endpoints.fault(settings.base_url)
    if fault:
        raise bad(f"base_url {fault}")
    if not 1 <= settings.timeout <= _MAX_TIMEOUT:
        raise bad(f"timeout is not from 1 to {_MAX_TIMEOUT}")
    if "\0" in settings.key_file + settings.folder:
        raise bad("key_file or folder is not the name of a file")
    return settings


def load(path: Path) -> Settings | None:
    """Return the settings in a file, None if there is none. Raises `InvalidInput`."""
    fields = ownfile.load(path, FORMAT, bad)
    return None if fields is None else parse(fields)


def save(path: Path, settings: Settings) -> None:
    """Keep settings in a file, for the user alone. Raises `OSError`."""
    ownfile.save(path, FORMAT, ownfile.changed(settings))


def forget(path: Path) -> None:
    """Remove the file with the settings. Raises `OSError`."""
    path.unlink(missing_ok=True)


def read_key(path: str) -> str:
    """Return the key in a file. Raises `InvalidInput` (`no_key`, `key_readable`)."""
    return endpoints.read_key(path, "the embedder", "brain config embedder")


def bad(what: str) -> InvalidInput:
    """Return the error for settings, or a model, that cannot be used."""
    return InvalidInput(
        f"the embedder: {what}", code="bad_embedder", hint="see `brain config embedder --help`"
    )
