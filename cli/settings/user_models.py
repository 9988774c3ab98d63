"""The user's language model and embedder: their settings, keys and descriptions."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brain.errors import InvalidInput, NotFound

from ..terminal import escape
from .settings_folder import ledger_settings_path

if TYPE_CHECKING:
    from brain.models import Model
    from brain.models.config import ModelConfig
    from brain.search.embedder import Embedder, EmbedderSettings


MODEL_KEY_VARIABLE = "BRAIN_MODEL_KEY"
"""The variable that holds the key of any model."""
_PROVIDER_KEY_VARIABLES = {
    "anthropic": "ANTHROPIC_API_KEY",
    "openai": "OPENAI_API_KEY",
    "bedrock": "AWS_BEARER_TOKEN_BEDROCK",
}
"""Provider to the variable that holds its key; it is sent to the provider and nowhere else."""


def model_settings_path() -> Path:
    """Return the settings file, in the folder of the ledger settings."""
    return ledger_settings_path().with_name("model.json")


def open_user_model() -> Model:
    """Open the model that is configured.

    Raises `NotFound` (`no_model`), `InvalidInput` (`bad_model`, `no_key`, `key_readable`),
    `ModelError` (`not_installed`).
    """
    from brain.models import open_endpoint

    settings = load_model_settings()
    if settings is None:
        raise NotFound(
            "no model is configured",
            code="no_model",
            hint="choose one with `brain config model PROVIDER:NAME`",
        )
    return open_endpoint(settings, _read_model_key(settings))


def load_model_settings() -> ModelConfig | None:
    """Return the settings of the model, None if none is configured. Raises `InvalidInput`."""
    from brain.models.config import MODEL_SETTINGS

    return MODEL_SETTINGS.load(model_settings_path())


def find_user_model() -> Model | None:
    """Open the model that is configured, None if none is. Raises as `open_user_model`."""
    return open_user_model() if model_settings_path().exists() else None


def merge_model_settings(before: ModelConfig | None, changes: Mapping[str, Any]) -> ModelConfig:
    """Return `before` with `changes`; another provider drops all others, another model its prices.

    Raises `InvalidInput` (`bad_model`).
    """
    from brain.models.config import MODEL_SETTINGS

    fields = MODEL_SETTINGS.changed_fields(before)
    if before and changes.get("model", before.model).partition(":")[0] != before.provider:
        fields = {}
    elif before and changes.get("model", before.model) != before.model:
        fields = {name: value for name, value in fields.items() if not name.startswith("price_")}
    return MODEL_SETTINGS.parse({**fields, **_absolute_paths(changes)})


def describe_model(settings: ModelConfig | None) -> dict[str, Any]:
    """Return the settings for display; it never includes a key."""
    shown: dict[str, Any] = {"file": str(model_settings_path())}
    if settings is None:
        names = "model base_url key max_tokens timeout retries tool_rounds price_in price_out"
        return {**shown, **dict.fromkeys(names.split())}
    return {
        **shown,
        "model": settings.model,
        "base_url": settings.base_url or None,
        "key": _model_key_source(settings) or None,
        "max_tokens": settings.max_tokens,
        "timeout": settings.timeout,
        "retries": settings.retries,
        "tool_rounds": settings.tool_rounds,
        "price_in": settings.price_in or None,
        "price_out": settings.price_out or None,
    }


def model_lines(description: Mapping[str, Any]) -> Iterator[str]:
    """Describe the model."""
    if description["model"] is None:
        yield "No model is configured: no skills are made from runs."
        return
    where = f" at {description['base_url']}" if description["base_url"] else ""
    yield escape(f"{description['model']}{where}")
    yield escape(f"  key: {description['key'] or 'none'}")
    yield (
        f"  at most {description['max_tokens']} tokens an answer,"
        f" {description['timeout']} seconds a request, {description['retries']} retries"
    )
    if description["price_in"]:
        prices = f"{description['price_in']} in, {description['price_out']} out"
        yield f"  a million tokens cost {prices}"
    if description["tool_rounds"]:
        yield f"  looks at skills with tools, in at most {description['tool_rounds']} replies"


def _model_key_variables(settings: ModelConfig) -> list[str]:
    """Return the variables that may hold the key.

    The key of a provider is sent to its own endpoint only.
    """
    return (
        [MODEL_KEY_VARIABLE]
        if settings.base_url
        else [MODEL_KEY_VARIABLE, _PROVIDER_KEY_VARIABLES[settings.provider]]
    )


def _model_key_source(settings: ModelConfig) -> str:
    """Return where the key comes from, "" if there is none."""
    found = _key_source(settings.key_file, _model_key_variables(settings))
    return found or ("credentials of AWS" if settings.provider == "bedrock" else "")


def _read_model_key(settings: ModelConfig) -> str:
    from brain.models.config import MODEL_SETTINGS

    if settings.key_file:
        return MODEL_SETTINGS.read_key(settings.key_file)
    variable = _set_variable(_model_key_variables(settings))
    if variable:
        return os.environ[variable].strip()
    if settings.provider == "bedrock" or settings.base_url:
        return ""
    raise InvalidInput(
        f"there is no key for {settings.model}",
        code="no_key",
        hint=f"set {_PROVIDER_KEY_VARIABLES[settings.provider]}, "
        "or run `brain config model --key-file FILE`",
    )


EMBEDDER_KEY_VARIABLE = "BRAIN_EMBEDDER_KEY"
"""The variable that holds the key of any endpoint."""
_OPENAI_KEY_VARIABLE = "OPENAI_API_KEY"


def embedder_settings_path() -> Path:
    """Return the settings file, in the folder of the ledger settings."""
    return ledger_settings_path().with_name("embedder.json")


def open_user_embedder() -> Embedder | None:
    """Open the embedder that is configured, None if none is.

    Raises `InvalidInput` (`bad_embedder`, `no_key`, `key_readable`) or `ModelError`.
    """
    file = embedder_settings_path()
    if not file.exists():  # the usual case, without an import
        return None
    from brain.search.embedder import EMBEDDER_SETTINGS, EndpointEmbedder

    settings = EMBEDDER_SETTINGS.load(file)
    if settings is None:
        return None
    if settings.key_file:
        return EndpointEmbedder(settings, EMBEDDER_SETTINGS.read_key(settings.key_file))
    variable = _set_variable(_embedder_key_variables(settings))
    return EndpointEmbedder(settings, os.environ.get(variable, "").strip())


def merge_embedder_settings(
    before: EmbedderSettings | None, changes: Mapping[str, Any]
) -> EmbedderSettings:
    """Return `before` with `changes`. Raises `InvalidInput` (`bad_embedder`)."""
    from brain.search.embedder import EMBEDDER_SETTINGS

    fields = EMBEDDER_SETTINGS.changed_fields(before)
    return EMBEDDER_SETTINGS.parse({**fields, **_absolute_paths(changes)})


def describe_embedder(settings: EmbedderSettings | None) -> dict[str, Any]:
    """Return the settings for display; it never includes a key."""
    shown: dict[str, Any] = {"file": str(embedder_settings_path())}
    if settings is None:
        return {**shown, **dict.fromkeys(("model", "base_url", "key", "timeout"))}
    return {
        **shown,
        "model": settings.model,
        "base_url": settings.base_url,
        "key": _key_source(settings.key_file, _embedder_key_variables(settings)) or None,
        "timeout": settings.timeout,
    }


def embedder_lines(description: Mapping[str, Any]) -> Iterator[str]:
    """Describe the embedder."""
    if description["model"]:
        yield escape(
            f"{description['model']} at {description['base_url']}; names and descriptions go there"
        )
        yield escape(
            f"  key: {description['key'] or 'none'}; {description['timeout']} seconds a request"
        )
    else:
        yield "No embedder is configured: skills are selected by words."


def _embedder_key_variables(settings: EmbedderSettings) -> list[str]:
    """Return the variables that may hold the key; the OpenAI key is sent to OpenAI only."""
    from brain.search.embedder import OPENAI_BASE_URL

    return (
        [EMBEDDER_KEY_VARIABLE, _OPENAI_KEY_VARIABLE]
        if settings.base_url == OPENAI_BASE_URL
        else [EMBEDDER_KEY_VARIABLE]
    )


def _key_source(key_file: str, variables: Sequence[str]) -> str:
    if key_file:
        return f"file {key_file}"
    variable = _set_variable(variables)
    return f"environment {variable}" if variable else ""


def _set_variable(names: Sequence[str]) -> str:
    """Return the first environment variable that is set and not empty, else ""."""
    return next((name for name in names if os.environ.get(name)), "")


def _absolute_paths(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return `changes` with the names of files and folders made absolute."""
    return {
        name: os.path.abspath(os.path.expanduser(value))
        if name in ("key_file", "folder") and value
        else value
        for name, value in changes.items()
    }
