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
    """A model and how it is asked.

    `model` is PROVIDER:NAME. `base_url` is another endpoint that speaks the provider's
    protocol, "" for its own. `key_file` is a file that holds the key, "" for the
    environment. `max_tokens` bound one answer, `timeout` is in seconds for one request,
    `retries` are further attempts where the endpoint is busy or out of reach.
    """

    model: str
    base_url: str = ""
    key_file: str = ""
    max_tokens: int = 8_000
    timeout: int = 120
    retries: int = 2

    @property
    def provider(self) -> str:
        """Whose protocol is spoken: one of `PROVIDERS`."""
        return self.model.partition(":")[0]

    @property
    def is_local(self) -> bool:
        """Whether the endpoint is on this machine."""
        return bool(self.base_url) and endpoints.is_loopback(urlsplit(self.base_url).hostname or "")


def parse_model_config(fields: Mapping[str, Any]) -> ModelConfig:
    """Return settings, checked. Raises `InvalidInput` (`bad_model`)."""
    settings_file.check_settings(fields, ModelConfig, _bad_model)
    if not fields.get("model"):
        raise _bad_model("it names no model")
    settings = ModelConfig(**fields)
    provider, _, name = settings.model.partition(":")
    if provider not in PROVIDERS or not _MODEL_NAME.fullmatch(name):
        raise _bad_model(f"{printable_text(settings.model, 80)} is not PROVIDER:NAME")
    for key, least, most in _RANGES:
        if not least <= getattr(settings, key) <= most:
            raise _bad_model(f"{key} is not from {least} to {most}")
    fault = endpoints.find_url_fault(settings.base_url) if settings.base_url else ""
    if fault:
        raise _bad_model(f"base_url {fault}")
    if "\0" in settings.key_file:
        raise _bad_model("key_file is not the name of a file")
    return settings


def load_model_config(path: Path) -> ModelConfig | None:
    """Return the settings in a file, None if there is none. Raises `InvalidInput` (`bad_model`)."""
    fields = settings_file.load_settings(path, SETTINGS_FORMAT, _bad_model)
    return None if fields is None else parse_model_config(fields)


def save_model_config(path: Path, settings: ModelConfig) -> None:
    """Keep settings in a file, for the user alone. Raises `OSError`."""
    settings_file.save_settings(path, SETTINGS_FORMAT, settings_file.non_default_settings(settings))


def delete_model_config(path: Path) -> None:
    """Remove the file with the settings. Raises `OSError`."""
    path.unlink(missing_ok=True)


def read_model_key(path: str) -> str:
    """Return the key in a file. Raises `InvalidInput` (`no_key`, `key_readable`)."""
    return endpoints.read_key_file(path, "the model", "brain config model")


def _bad_model(what: str) -> InvalidInput:
    return InvalidInput(
        f"the model: {what}",
        code="bad_model",
        hint=f"such as {', '.join(f'{one}:NAME' for one in PROVIDERS)}; see `brain config model`",
    )
