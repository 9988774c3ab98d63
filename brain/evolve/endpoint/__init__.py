"""Real models, asked over the network by pydantic-ai; imported where one is asked, and not before.

Extra `evolve`. `opened` makes a `Model` of settings and a key.
"""

from __future__ import annotations

from ...errors import ModelError
from ..model import Model
from ..settings import Settings

__all__ = ["opened"]


def opened(settings: Settings, key: str) -> Model:
    """Return the model that settings name, asked with `key`, "" for none.

    Raises `ModelError` (`not_installed`).
    """
    try:
        from .adapter import Endpoint
    except ImportError as error:
        raise ModelError(
            f"asking {settings.model} needs a package that is not installed: {error.name}",
            code="not_installed",
            hint="pip install 'agent-brain[evolve]'",
        ) from error
    return Endpoint(settings, key)
