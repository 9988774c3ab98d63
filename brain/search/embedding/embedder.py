"""The `Embedder` protocol: what turns texts into vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Protocol

    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]
else:  # nothing checks protocols at run time, where making them takes 3 ms
    Protocol = object

MAX_BATCH_TEXTS = 32
"""Texts that are embedded at once."""


class Embedder(Protocol):
    """A model that says what texts mean, in numbers."""

    @property
    def identity(self) -> str:
        """What the vectors are of. Those of different identities have nothing in common."""

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return a vector of length 1 for each of at most `BATCH` texts, as rows.

        Raises `ModelError`.
        """


OpenEmbedder = Callable[[], "Embedder | None"]
"""Returns the embedder of the user, None if there is none; called when one is needed."""
