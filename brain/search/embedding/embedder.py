"""The `Embedder` protocol: turns texts into vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Protocol

    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]
else:  # protocols are for type checkers only; creating them takes 3 ms
    Protocol = object

MAX_BATCH_TEXTS = 32
"""Most texts in one call of `embed`."""


class Embedder(Protocol):
    """A model that turns texts into vectors of their meaning."""

    @property
    def identity(self) -> str:
        """The model; vectors of different identities are not comparable."""

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return a vector of length 1 for each of at most `MAX_BATCH_TEXTS` texts, as rows.

        Raises `ModelError`.
        """


OpenEmbedder = Callable[[], "Embedder | None"]
"""Returns the user's embedder, None if none is configured; called on first use."""
