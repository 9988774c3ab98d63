"""One way to ask a model, through pydantic-ai (the extra `evolve`).

A model is any of pydantic-ai: that of the user's settings (`open_endpoint`), or one of a program,
such as pydantic-ai's `FunctionModel`. `ask` holds a conversation that ends in a checked answer,
`paid_once` counts what is paid and keeps answers with the item that they were paid for. `calls`
and `config` import nothing of pydantic-ai, which takes seconds; all else does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import ModelError

if TYPE_CHECKING:
    from pydantic_ai.models import Model as Model

    from .config import ModelConfig


def open_endpoint(settings: ModelConfig, key: str) -> Model:
    """Return the model that the settings name, with its `key`, "" for none.

    Imports pydantic-ai, which takes seconds. Raises `ModelError` (`not_installed`).
    """
    try:
        from .endpoint import EndpointModel
    except ImportError as error:
        raise ModelError(
            f"asking {settings.model} needs a package that is not installed: {error.name}",
            code="not_installed",
            hint="pip install 'agent-brain[evolve]'",
        ) from error
    return EndpointModel(settings, key)
