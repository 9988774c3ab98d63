"""Selection by meaning: an embedder turns texts into vectors, compared by distance.

Needs the extra `embed`. `EmbeddingSelector` is the selector.
"""

from __future__ import annotations

from ...errors import ModelError
from .embedder import Embedder
from .embedder_settings import OPENAI_BASE_URL, EmbedderSettings

__all__ = ["OPENAI_BASE_URL", "Embedder", "EmbedderSettings", "open_embedder"]


def open_embedder(settings: EmbedderSettings, key: str) -> Embedder:
    """Return the configured embedder; `key` is its API key, "" for none.

    Raises `ModelError` (`not_installed`).
    """
    try:
        from .endpoint_embedder import EndpointEmbedder

        return EndpointEmbedder(settings, key)
    except ImportError as error:
        raise ModelError(
            f"embedding needs a package that is not installed: {error.name}",
            code="not_installed",
            hint="pip install 'agent-brain[embed]'",
        ) from error
