"""The user's language model, embedder and store of experience, as the settings have them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from brain.errors import InvalidInput, NotFound

from .config_file import read_table

if TYPE_CHECKING:
    from brain.experience.settings import ExperienceSettings
    from brain.models import Model
    from brain.models.config import ModelConfig
    from brain.search.embedder import Embedder
    from brain.util.settings import SettingsFormat

    Parsed = TypeVar("Parsed")

_PROVIDER_KEY_VARIABLES = {
    "anthropic": "ANTHROPIC_API_KEY",
    "openai": "OPENAI_API_KEY",
    "bedrock": "AWS_BEARER_TOKEN_BEDROCK",
}
"""Provider to the variable that holds its key; it is sent to the provider and nowhere else."""


def field_name(key: str) -> str:
    """Return the name of the field of a class that a key of the file stands for."""
    return "model" if key == "name" else key.replace("-", "_")


def parse_table(format: SettingsFormat[Any], table: Mapping[str, Any]) -> Any:
    """Return the settings of a table of the file, None for an empty one. Raises `format.error`."""
    return format.parse({field_name(key): table[key] for key in table}) if table else None


def load_model_settings() -> ModelConfig | None:
    """Return the settings of the model, None if none is configured. Raises `InvalidInput`."""
    table = read_table("model")
    if not table:
        return None
    from brain.models.config import MODEL_SETTINGS

    settings: ModelConfig = parse_table(MODEL_SETTINGS, table)
    return settings


def find_user_model() -> Model | None:
    """Open the model that is configured, None if none is.

    Raises `InvalidInput` (`bad_model`, `no_key`, `key_readable`), `ModelError` (`not_installed`).
    """
    settings = load_model_settings()
    if settings is None:
        return None
    from brain.models import open_endpoint
    from brain.models.config import MODEL_SETTINGS

    if settings.key_file:
        return open_endpoint(settings, MODEL_SETTINGS.read_key(settings.key_file))
    variable = set_variable(model_key_variables(settings))
    if not variable and settings.provider != "bedrock" and not settings.base_url:
        raise InvalidInput(
            f"there is no key for {settings.model}",
            code="no_key",
            hint=f"set {_PROVIDER_KEY_VARIABLES[settings.provider]}, "
            "or run `brain config model.key-file FILE`",
        )
    return open_endpoint(settings, os.environ.get(variable, "").strip())


def open_user_model() -> Model:
    """Open the model. Raises as `find_user_model`, and `NotFound` (`no_model`)."""
    model = find_user_model()
    if model is None:
        raise NotFound(
            "no model is configured",
            code="no_model",
            hint="choose one with `brain config model PROVIDER:NAME`",
        )
    return model


def open_user_embedder() -> Embedder | None:
    """Open the embedder that is configured, None if none is.

    Raises `InvalidInput` (`bad_embedder`, `no_key`, `key_readable`) or `ModelError`.
    """
    table = read_table("embedder")
    if not table:  # the usual case, without an import
        return None
    from brain.search.embedder import EMBEDDER_SETTINGS, EndpointEmbedder

    settings = parse_table(EMBEDDER_SETTINGS, table)
    if settings.key_file:
        return EndpointEmbedder(settings, EMBEDDER_SETTINGS.read_key(settings.key_file))
    variable = set_variable(embedder_key_variables(settings.base_url))
    return EndpointEmbedder(settings, os.environ.get(variable, "").strip())


def load_experience_settings() -> ExperienceSettings | None:
    """Return the settings, None without any. Raises `InvalidInput` (`bad_experience_url`)."""
    table = read_table("experience")
    if not table:  # the usual case, without an import
        return None
    from brain.experience.settings import EXPERIENCE_SETTINGS

    settings: ExperienceSettings = parse_table(EXPERIENCE_SETTINGS, table)
    return settings


def model_key_variables(settings: ModelConfig) -> list[str]:
    """Return the variables that may hold the key; that of a provider is for its own endpoint."""
    own = [] if settings.base_url else [_PROVIDER_KEY_VARIABLES[settings.provider]]
    return ["BRAIN_MODEL_KEY", *own]


def embedder_key_variables(base_url: str) -> list[str]:
    """Return the variables that may hold the key; that of OpenAI is sent to OpenAI only."""
    from brain.search.embedder import OPENAI_BASE_URL

    return ["BRAIN_EMBEDDER_KEY", *(["OPENAI_API_KEY"] if base_url == OPENAI_BASE_URL else [])]


def set_variable(names: Sequence[str]) -> str:
    """Return the first environment variable that is set and not empty, else ""."""
    return next((name for name in names if os.environ.get(name)), "")
