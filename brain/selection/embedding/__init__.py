"""Selection by meaning: texts become vectors, and near vectors mean about the same.

Extra `embed`. `opened` makes an `Embedder` of settings; `Embedding` is the selector.
"""

from __future__ import annotations

from ...errors import ModelError
from .protocol import Embedder
from .settings import Settings

__all__ = ["Embedder", "Settings", "opened"]


def opened(settings: Settings, key: str) -> Embedder:
    """Return the embedder that settings name, asked with `key`, "" for none.

    Raises `ModelError` (`not_installed`) or `InvalidInput` (`bad_embedder`).
    """
    try:
        if settings.folder:
            from .local import Local

            return Local(settings.folder)
        from .endpoint import Endpoint

        return Endpoint(settings, key)
    except ImportError as error:
        raise ModelError(
            f"embedding needs a package that is not installed: {error.name}",
            code="not_installed",
            hint="pip install 'agent-brain[embed]'",
        ) from error
