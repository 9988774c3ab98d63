"""The search state of an open brain: word index, skill catalogue and selectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .selector import SkillCatalogue

if TYPE_CHECKING:
    from ..objects.tree import TreeRoot
    from ..store.full_text_index import FullTextIndex
    from .embedding.embedder import Embedder
    from .embedding.embedding_selector import EmbeddingSelector
    from .keyword_score import KeywordSelector


class SearchCache:
    """The index of words, and the skills of the section `skills` at `root`.

    Each is made when it is first asked for, and follows the head from then on.
    """

    def __init__(self) -> None:
        self.index: FullTextIndex | None = None
        self.root: TreeRoot | None = None
        self.catalogue = SkillCatalogue()
        self._keyword: KeywordSelector | None = None
        self._embedding: EmbeddingSelector | None = None

    @property
    def keyword(self) -> KeywordSelector:
        """The selector by keywords over the catalogue."""
        if self._keyword is None:
            from .keyword_score import KeywordSelector

            self._keyword = KeywordSelector(self.catalogue)
        return self._keyword

    def embedding(self, embedder: Embedder, folder: str | None) -> EmbeddingSelector:
        """Return the selector by an embedder, whose vectors are kept in `folder`."""
        if self._embedding is None:
            from .embedding.embedding_selector import EmbeddingSelector
            from .embedding.vector_cache import VectorCache

            vectors = VectorCache(folder, embedder.identity)
            self._embedding = EmbeddingSelector(self.catalogue, embedder, vectors)
        return self._embedding

    def close(self) -> None:
        """Give the index of words back."""
        if self.index is not None:
            self.index.close()
            self.index = None
