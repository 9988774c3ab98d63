"""Which model a user has, in a file of JSON that only he reads; never a key itself.

{"format": "brain v1 model", "model": "anthropic:claude-haiku-4-5", "key_file": "…"}
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from .. import endpoints, ownfile
from ..errors import InvalidInput, printable

FORMAT = "brain v1 model"
PROVIDERS = ("anthropic", "openai", "bedrock")
_NAME = re.compile(r"[!-~]{1,200}", re.ASCII)
_RANGES = (("max_tokens", 1, 1_000_000), ("timeout", 1, 3_600), ("retries", 0, 10))


class Settings(NamedTuple):
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


def parse(fields: Mapping[str, Any]) -> Settings:
    """Return settings, checked. Raises `InvalidInput` (`bad_model`)."""
    ownfile.check(fields, Settings, _bad)
    if not fields.get("model"):
        raise _bad("it names no model")
    settings = Settings(**fields)
    provider, _, name = settings.model.partition(":")
    if provider not in PROVIDERS or not _NAME.fullmatch(name):
        raise _bad(f"{printable(settings.model, 80)} is not PROVIDER:NAME")
    for key, least, most in _RANGES:
        if not least <= getattr(settings, key) <= most:
            raise _bad(f"{key} is not from {least} to {most}")
    fault = endpoints.fault(settings.base_url) if settings.base_url else ""
    if fault:
        raise _bad(f"base_url {fault}")
    if "\0" in settings.key_file:
        raise _bad("key_file is not the name of a file")
    return settings


def load(path: Path) -> Settings | None:
    """Return the settings in a file, None if there is none. Raises `InvalidInput` (`bad_model`)."""
    fields = ownfile.load(path, FORMAT, _bad)
    return None if fields is None else parse(fields)


def save(path: Path, settings: Settings) -> None:
    """Keep settings in a file, for the user alone. Raises `OSError`."""
    ownfile.save(path, FORMAT, ownfile.changed(settings))


def forget(path: Path) -> None:
    """Remove the file with the settings. Raises `OSError`."""
    path.unlink(missing_ok=True)


def read_key(path: str) -> str:
    """Return the key in a file. Raises `InvalidInput` (`no_key`, `key_readable`)."""
    return endpoints.read_key(path, "the model", "brain config model")


def _bad(what: str) -> InvalidInput:
    return InvalidInput(
        f"the model: {what}",
        code="bad_model",
        hint=f"such as {', '.join(f'{one}:NAME' for one in PROVIDERS)}; see `brain config model`",
    )
