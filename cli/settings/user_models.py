"""The user's language model and embedder: their settings, keys and descriptions."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brain.errors import InvalidInput, NotFound

from ..context import App
from ..terminal import escape
from .user_ledgers import ledger_settings_path

if TYPE_CHECKING:
    from brain.evolve import Model
    from brain.evolve.model_config import ModelConfig
    from brain.search.embedding import Embedder, EmbedderSettings


MODEL_KEY_VARIABLE = "BRAIN_MODEL_KEY"
"""The variable that holds the key of any model."""
_PROVIDER_KEY_VARIABLES = {
    "anthropic": "ANTHROPIC_API_KEY",
    "openai": "OPENAI_API_KEY",
    "bedrock": "AWS_BEARER_TOKEN_BEDROCK",
}
"""Provider to the variable that holds its key; it is sent to the provider and nowhere else."""


def model_settings_path() -> Path:
    """Return the file of the settings, beside that of the ledgers."""
    return ledger_settings_path().with_name("model.json")


def open_user_model() -> Model:
    """Open the model that is configured.

    Raises `NotFound` (`no_model`), `InvalidInput` (`bad_model`, `no_key`, `key_readable`),
    `ModelError` (`not_installed`).
    """
    from brain.evolve.endpoint import open_endpoint
    from brain.evolve.model_config import load_model_config

    settings = load_model_config(model_settings_path())
    if settings is None:
        raise NotFound(
            "no model is configured, so nothing is learned from runs",
            code="no_model",
            hint="name one with `brain config model PROVIDER:NAME`",
        )
    return open_endpoint(settings, _read_model_key(settings))


def merge_model_settings(before: ModelConfig | None, changes: Mapping[str, Any]) -> ModelConfig:
    """Return settings with what is given changed; those of another provider are dropped.

    Raises `InvalidInput` (`bad_model`).
    """
    from brain.evolve.model_config import parse_model_config
    from brain.util.settings_file import non_default_settings

    fields = non_default_settings(before) if before else {}
    new = {key: value for key, value in changes.items() if value is not None}
    if before and new.get("model", before.model).partition(":")[0] != before.provider:
        fields = {}
    if new.get("key_file"):
        new["key_file"] = os.path.abspath(os.path.expanduser(new["key_file"]))
    return parse_model_config({**fields, **new})


def describe_model(settings: ModelConfig | None) -> dict[str, Any]:
    """Return what may be shown of settings; never a key."""
    shown: dict[str, Any] = {"file": str(model_settings_path())}
    if settings is None:
        names = ("model", "base_url", "key", "max_tokens", "timeout", "retries")
        return {**shown, **dict.fromkeys(names)}
    return {
        **shown,
        "model": settings.model,
        "base_url": settings.base_url or None,
        "key": _model_key_source(settings) or None,
        "max_tokens": settings.max_tokens,
        "timeout": settings.timeout,
        "retries": settings.retries,
    }


def model_lines(description: Mapping[str, Any]) -> Iterator[str]:
    """Say which model is asked, and how."""
    if description["model"] is None:
        yield "No model is configured: nothing is learned from runs by itself."
        return
    where = f" at {description['base_url']}" if description["base_url"] else ""
    yield escape(f"{description['model']}{where}")
    yield escape(f"  key: {description['key'] or 'none'}")
    yield (
        f"  at most {description['max_tokens']} tokens an answer, {description['timeout']} seconds a request,"
        f" {description['retries']} further attempts"
    )


def _model_key_variables(settings: ModelConfig) -> list[str]:
    """Return the variables that may hold the key; that of a provider is for its own endpoint."""
    return (
        [MODEL_KEY_VARIABLE]
        if settings.base_url
        else [MODEL_KEY_VARIABLE, _PROVIDER_KEY_VARIABLES[settings.provider]]
    )


def _model_key_source(settings: ModelConfig) -> str:
    """Say where the key comes from, "" if there is none."""
    if settings.key_file:
        return f"file {settings.key_file}"
    named = next((name for name in _model_key_variables(settings) if os.environ.get(name)), "")
    if named:
        return f"environment {named}"
    return "credentials of AWS" if settings.provider == "bedrock" else ""


def _read_model_key(settings: ModelConfig) -> str:
    from brain.evolve.model_config import read_model_key

    if settings.key_file:
        return read_model_key(settings.key_file)
    for name in _model_key_variables(settings):
        if os.environ.get(name):
            return os.environ[name].strip()
    if settings.provider == "bedrock" or settings.base_url:
        return ""
    raise InvalidInput(
        f"there is no key for {settings.model}",
        code="no_key",
        hint=f"set {_PROVIDER_KEY_VARIABLES[settings.provider]}, or `brain config model --key-file FILE`",
    )


EMBEDDER_KEY_VARIABLE = "BRAIN_EMBEDDER_KEY"
"""The variable that holds the key of any endpoint."""
_OPENAI_KEY_VARIABLE = "OPENAI_API_KEY"


def embedder_settings_path() -> Path:
    """Return the file of the settings, beside that of the ledgers."""
    return ledger_settings_path().with_name("embedder.json")


def open_user_embedder() -> Embedder | None:
    """Open the embedder that is configured, None if none is.

    Raises `InvalidInput` (`bad_embedder`, `no_key`, `key_readable`) or `ModelError`.
    """
    file = embedder_settings_path()
    if not file.exists():  # the usual case, without an import
        return None
    from brain.search import embedding
    from brain.search.embedding.embedder_settings import load_embedder_settings, read_embedder_key

    settings = load_embedder_settings(file)
    if settings is None:
        return None
    if settings.key_file:
        return embedding.open_embedder(settings, read_embedder_key(settings.key_file))
    named = next((name for name in _embedder_key_variables(settings) if os.environ.get(name)), "")
    return embedding.open_embedder(settings, os.environ.get(named, "").strip())


def merge_embedder_settings(
    before: EmbedderSettings | None, changes: Mapping[str, Any]
) -> EmbedderSettings:
    """Return settings with what is given changed; a folder and a model take turns.

    Raises `InvalidInput` (`bad_embedder`).
    """
    from brain.search.embedding.embedder_settings import parse_embedder_settings
    from brain.util.settings_file import non_default_settings

    fields = non_default_settings(before) if before else {}
    if changes.get("folder") and not changes.get("model"):
        fields = {}
    elif changes.get("model"):
        fields.pop("folder", None)
    new = {key: value for key, value in changes.items() if value is not None}
    for name in ("key_file", "folder"):
        if new.get(name):
            new[name] = os.path.abspath(os.path.expanduser(new[name]))
    return parse_embedder_settings({**fields, **new})


def describe_embedder(settings: EmbedderSettings | None) -> dict[str, Any]:
    """Return what may be shown of settings; never a key."""
    shown: dict[str, Any] = {"file": str(embedder_settings_path())}
    if settings is None:
        return {**shown, **dict.fromkeys(("folder", "model", "base_url", "key", "timeout"))}
    asked = bool(settings.model)
    return {
        **shown,
        "folder": settings.folder or None,
        "model": settings.model or None,
        "base_url": settings.base_url if asked else None,
        "key": _embedder_key_source(settings) or None,
        "timeout": settings.timeout if asked else None,
    }


def embedder_lines(description: Mapping[str, Any]) -> Iterator[str]:
    """Say what skills are embedded with."""
    if description["folder"]:
        yield escape(f"The model in {description['folder']}, on this machine")
    elif description["model"]:
        yield escape(
            f"{description['model']} at {description['base_url']}; names and descriptions go there"
        )
        yield escape(
            f"  key: {description['key'] or 'none'}; {description['timeout']} seconds a request"
        )
    else:
        yield "No embedder is configured: skills are selected by their words."


def _embedder_key_variables(settings: EmbedderSettings) -> list[str]:
    """Return the variables that may hold the key; that of OpenAI goes to OpenAI alone."""
    from brain.search.embedding.embedder_settings import OPENAI_BASE_URL

    return (
        [EMBEDDER_KEY_VARIABLE, _OPENAI_KEY_VARIABLE]
        if settings.base_url == OPENAI_BASE_URL
        else [EMBEDDER_KEY_VARIABLE]
    )


def _embedder_key_source(settings: EmbedderSettings) -> str:
    """Say where the key comes from, "" if there is none."""
    if settings.folder:
        return ""
    if settings.key_file:
        return f"file {settings.key_file}"
    named = next((name for name in _embedder_key_variables(settings) if os.environ.get(name)), "")
    return f"environment {named}" if named else ""


def warn_unreadable_key(app: App, read_key: Callable[[str], str], file: str) -> None:
    """Say why no key can be read from `file`, if it cannot; it may come later."""
    try:
        read_key(file)
    except InvalidInput as error:
        app.print_note("; ".join(filter(None, (f"Note: {error.message}", error.hint))))
