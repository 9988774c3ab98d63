"""The user's model settings, in a private JSON file; never a key.

{"format": "brain v1 model", "model": "anthropic:claude-haiku-4-5", "key_file": "…"}
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ..errors import InvalidInput, printable_text
from ..util import endpoints, settings_file

SETTINGS_FORMAT = "brain v1 model"
PROVIDERS = ("anthropic", "openai", "bedrock")
_MODEL_NAME = re.compile(r"[!-~]{1,200}", re.ASCII)
_RANGES = (("max_tokens", 1, 1_000_000), ("timeout", 1, 3_600), ("retries", 0, 10))


class ModelConfig(NamedTuple):
    """A model and the settings of its endpoint.

    `model` is PROVIDER:NAME. `base_url` is another endpoint with the provider's protocol, ""
    for the provider's own. `key_file` is the file with the key, "" to take it from the
    environment. `max_tokens` limits one answer, `timeout` one request, in seconds; `retries`
    is the number of further attempts if the endpoint is busy or cannot be reached.
    """

    model: str
    base_url: str = ""
    key_file: str = ""
    max_tokens: int = 8_000
    timeout: int = 120
    retries: int = 2

    @property
    def provider(self) -> str:
        """The provider whose protocol is used: one of `PROVIDERS`."""
        return self.model.partition(":")[0]

    @property
    def is_local(self) -> bool:
        """Whether the endpoint is on this machine."""
        return bool(self.base_url) and endpoints.is_loopback(urlsplit(self.base_url).hostname or "")


def parse_model_config(fields: Mapping[str, Any]) -> ModelConfig:
    """Check settings and return them. Raises `InvalidInput` (`bad_model`)."""
    settings_file.check_settings(fields, ModelConfig, _bad_model)
    if not fields.get("model"):
        raise _bad_model("it names no model")
    settings = ModelConfig(**fields)
    provider, _, name = settings.model.partition(":")
    if provider not in PROVIDERS or not _MODEL_NAME.fullmatch(name):
        raise _bad_model(f"{printable_text(settings.model, 80)} is not PROVIDER:NAME")
    for key, lowest, highest in _RANGES:
        if not lowest <= getattr(settings, key) <= highest:
            raise _bad_model(f"{key} must be from {lowest} to {highest}")
    fault = endpoints.find_url_fault(settings.base_url) if settings.base_url else ""
    if fault:
        raise _bad_model(f"base_url {fault}")
    if "\0" in settings.key_file:
        raise _bad_model("key_file is not the name of a file")
    return settings


def load_model_config(path: Path) -> ModelConfig | None:
    """Return the settings in a file, None if it is missing. Raises `InvalidInput` (`bad_model`)."""
    fields = settings_file.load_settings(path, SETTINGS_FORMAT, _bad_model)
    return None if fields is None else parse_model_config(fields)


def save_model_config(path: Path, settings: ModelConfig) -> None:
    """Write settings to a file that only the user can read. Raises `OSError`."""
    settings_file.save_settings(path, SETTINGS_FORMAT, settings_file.non_default_settings(settings))


def delete_model_config(path: Path) -> None:
    """Delete the settings file. Raises `OSError`."""
    path.unlink(missing_ok=True)


def read_model_key(path: str) -> str:
    """Return the key in a file. Raises `InvalidInput` (`no_key`, `key_readable`)."""
    return endpoints.read_key_file(path, "the model", "brain config model")


def _bad_model(what: str) -> InvalidInput:
    return InvalidInput(
        f"the model: {what}",
        code="bad_model",
        hint=f"use {', '.join(f'{name}:NAME' for name in PROVIDERS)}; see `brain config model`",
    )
