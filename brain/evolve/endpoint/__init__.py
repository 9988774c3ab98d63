"""Real models, asked over the network by pydantic-ai; imported where one is asked, and not before.

Extra `evolve`. `opened` makes a `Model` of settings and a key.
"""

from __future__ import annotations

from ...errors import ModelError
from ..model import Model
from ..model_config import ModelConfig

__all__ = ["open_endpoint"]


def open_endpoint(settings: ModelConfig, key: str) -> Model:
    """Return the model that settings name, asked with `key`, "" for none.

    Raises `ModelError` (`not_installed`).
    """
    try:
        from .endpoint_model import EndpointModel
    except ImportError as error:
        raise ModelError(
            f"asking {settings.model} needs a package that is not installed: {error.name}",
            code="not_installed",
            hint="pip install 'agent-brain[evolve]'",
        ) from error
    return EndpointModel(settings, key)
