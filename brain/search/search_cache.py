"""The search state of an open brain: word index, skills and selectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .selectors import KeywordSelector, SearchDocument

if TYPE_CHECKING:
    from ..objects.bundle import Bundle
    from .embedder import Embedder
    from .full_text import FullTextIndex
    from .meaning import EmbeddingSelector


class SearchCache:
    """The word index, and the skills in `bundle` by their paths.

    Each part is created on first use, and then kept up to date with the head.
    """

    def __init__(self) -> None:
        self.index: FullTextIndex | None = None
        self.bundle: Bundle | None = None
        self.documents: dict[str, SearchDocument] = {}
        self._keyword: KeywordSelector | None = None
        self._embedding: EmbeddingSelector | None = None

    @property
    def keyword(self) -> KeywordSelector:
        """The selector by keywords."""
        if self._keyword is None:
            self._keyword = KeywordSelector(self.documents)
        return self._keyword

    def embedding(self, embedder: Embedder, folder: str | None) -> EmbeddingSelector:
        """Return the selector by an embedder; `folder` caches its vectors."""
        if self._embedding is None:
            from .meaning import EmbeddingSelector, VectorCache

            vectors = VectorCache(folder, embedder.identity)
            self._embedding = EmbeddingSelector(self.documents, embedder, vectors)
        return self._embedding

    def close(self) -> None:
        """Forget the word index."""
        self.index = None
