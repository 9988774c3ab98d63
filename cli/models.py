"""The model of whoever runs the command: its settings, its key, and what may be shown of them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brain.errors import InvalidInput, NotFound

from .ledgers import book
from .terminal import escape

if TYPE_CHECKING:
    from brain.evolve import Model
    from brain.evolve.settings import Settings

KEY = "BRAIN_MODEL_KEY"
"""The variable that holds the key of any model."""
_KEYS = {
    "anthropic": "ANTHROPIC_API_KEY",
    "openai": "OPENAI_API_KEY",
    "bedrock": "AWS_BEARER_TOKEN_BEDROCK",
}
"""Provider to the variable that holds its key; it is sent to the provider and nowhere else."""


def place() -> Path:
    """Return the file of the settings, beside that of the ledgers."""
    return book().with_name("model.json")


def opened() -> Model:
    """Open the model that is configured.

    Raises `NotFound` (`no_model`), `InvalidInput` (`bad_model`, `no_key`, `key_readable`),
    `ModelError` (`not_installed`).
    """
    from brain.evolve.endpoint import opened as open_endpoint
    from brain.evolve.settings import load

    settings = load(place())
    if settings is None:
        raise NotFound(
            "no model is configured, so nothing is learned from runs",
            code="no_model",
            hint="name one with `brain config model PROVIDER:NAME`",
        )
    return open_endpoint(settings, _key(settings))


def merged(before: Settings | None, given: Mapping[str, Any]) -> Settings:
    """Return settings with what is given changed; those of another provider are dropped.

    Raises `InvalidInput` (`bad_model`).
    """
    from brain.evolve.settings import parse
    from brain.ownfile import changed

    fields = changed(before) if before else {}
    new = {key: value for key, value in given.items() if value is not None}
    if before and new.get("model", before.model).partition(":")[0] != before.provider:
        fields = {}
    if new.get("key_file"):
        new["key_file"] = os.path.abspath(os.path.expanduser(new["key_file"]))
    return parse({**fields, **new})


def described(settings: Settings | None) -> dict[str, Any]:
    """Return what may be shown of settings; never a key."""
    shown: dict[str, Any] = {"file": str(place())}
    if settings is None:
        names = ("model", "base_url", "key", "max_tokens", "timeout", "retries")
        return {**shown, **dict.fromkeys(names)}
    return {
        **shown,
        "model": settings.model,
        "base_url": settings.base_url or None,
        "key": _source(settings) or None,
        "max_tokens": settings.max_tokens,
        "timeout": settings.timeout,
        "retries": settings.retries,
    }


def lines(told: Mapping[str, Any]) -> Iterator[str]:
    """Say which model is asked, and how."""
    if told["model"] is None:
        yield "No model is configured: nothing is learned from runs by itself."
        return
    where = f" at {told['base_url']}" if told["base_url"] else ""
    yield escape(f"{told['model']}{where}")
    yield escape(f"  key: {told['key'] or 'none'}")
    yield (
        f"  at most {told['max_tokens']} tokens an answer, {told['timeout']} seconds a request,"
        f" {told['retries']} further attempts"
    )


def _variables(settings: Settings) -> list[str]:
    """Return the variables that may hold the key; that of a provider is for its own endpoint."""
    return [KEY] if settings.base_url else [KEY, _KEYS[settings.provider]]


def _source(settings: Settings) -> str:
    """Say where the key comes from, "" if there is none."""
    if settings.key_file:
        return f"file {settings.key_file}"
    named = next((name for name in _variables(settings) if os.environ.get(name)), "")
    if named:
        return f"environment {named}"
    return "credentials of AWS" if settings.provider == "bedrock" else ""


def _key(settings: Settings) -> str:
    from brain.evolve.settings import read_key

    if settings.key_file:
        return read_key(settings.key_file)
    for name in _variables(settings):
        if os.environ.get(name):
            return os.environ[name].strip()
    if settings.provider == "bedrock" or settings.base_url:
        return ""
    raise InvalidInput(
        f"there is no key for {settings.model}",
        code="no_key",
        hint=f"set {_KEYS[settings.provider]}, or `brain config model --key-file FILE`",
    )
