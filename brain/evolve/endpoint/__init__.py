"""Models behind network endpoints, asked through pydantic-ai (the extra `evolve`).

`open_endpoint` imports pydantic-ai, which takes seconds.
"""

from __future__ import annotations

from ...errors import ModelError
from ..model import Model
from ..model_config import ModelConfig

__all__ = ["open_endpoint"]


def open_endpoint(settings: ModelConfig, key: str) -> Model:
    """Return the model that the settings name, with its `key`, "" for none.

    With `tool_rounds` in the settings it is a `ToolModel`.
    Raises `ModelError` (`not_installed`).
    """
    try:
        from .endpoint_model import EndpointModel
        from .endpoint_tool_model import EndpointToolModel
    except ImportError as error:
        raise ModelError(
            f"asking {settings.model} needs a package that is not installed: {error.name}",
            code="not_installed",
            hint="pip install 'agent-brain[evolve]'",
        ) from error
    return (
        EndpointToolModel(settings, key) if settings.tool_rounds else EndpointModel(settings, key)
    )
