"""The user's embedder settings, in a private JSON file that never holds a key itself.

{"format": "brain v1 embedder", "model": "text-embedding-3-small", "key_file": "…"}
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import InvalidInput
from ...util import endpoints, settings_file

EMBEDDER_FORMAT = "brain v1 embedder"
OPENAI_BASE_URL = "https://api.openai.com/v1"
_MAX_TIMEOUT_SECONDS = 600


class EmbedderSettings(NamedTuple):
    """A folder with a sentence-transformers model, or a model behind an endpoint.

    `base_url` is that of an endpoint with OpenAI's API. `key_file` holds its key, "" for
    the environment. `timeout` is in seconds for one request.
    """

    folder: str = ""
    model: str = ""
    base_url: str = OPENAI_BASE_URL
    key_file: str = ""
    timeout: int = 30


def parse_embedder_settings(fields: Mapping[str, Any]) -> EmbedderSettings:
    """Return validated settings. Raises `InvalidInput` (`bad_embedder`)."""
    settings_file.check_settings(fields, EmbedderSettings, embedder_error)
    settings = EmbedderSettings(**fields)
    if bool(settings.folder) == bool(settings.model):
        raise embedder_error("name either a model behind an endpoint or a folder with one")
    if len(settings.model) > 200 or not settings.model.isprintable():
        raise embedder_error("the name of the model is too long or not printable")
    fault = endpoints.find_url_fault(settings.base_url)
    if fault:
        raise embedder_error(f"base_url {fault}")
    if not 1 <= settings.timeout <= _MAX_TIMEOUT_SECONDS:
        raise embedder_error(f"timeout is not from 1 to {_MAX_TIMEOUT_SECONDS}")
    if "\0" in settings.key_file + settings.folder:
        raise embedder_error("key_file or folder is not the name of a file")
    return settings


def load_embedder_settings(path: Path) -> EmbedderSettings | None:
    """Return the settings in a file, None if there is none. Raises `InvalidInput`."""
    fields = settings_file.load_settings(path, EMBEDDER_FORMAT, embedder_error)
    return None if fields is None else parse_embedder_settings(fields)


def save_embedder_settings(path: Path, settings: EmbedderSettings) -> None:
    """Save settings in a file that only the user can read. Raises `OSError`."""
    settings_file.save_settings(path, EMBEDDER_FORMAT, settings_file.non_default_settings(settings))


def remove_embedder_settings(path: Path) -> None:
    """Remove the file with the settings. Raises `OSError`."""
    path.unlink(missing_ok=True)


def read_embedder_key(path: str) -> str:
    """Return the key in a file. Raises `InvalidInput` (`no_key`, `key_readable`)."""
    return endpoints.read_key_file(path, "the embedder", "brain config embedder")


def embedder_error(problem: str) -> InvalidInput:
    """Return the error for invalid settings or an unusable model."""
    return InvalidInput(
        f"the embedder: {problem}", code="bad_embedder", hint="see `brain config embedder --help`"
    )
