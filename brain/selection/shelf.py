"""What is kept at hand for selection while a brain is open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .catalogue import Catalogue

if TYPE_CHECKING:
    from ..objects.tree import Root
    from ..store.fulltext import FullText
    from .embedding.protocol import Embedder
    from .embedding.selector import Embedding
    from .keyword import Keyword


class Shelf:
    """The index of words, and the skills of the section `skills` at `root`.

    Each is made when it is first asked for, and follows the head from then on.
    """

    def __init__(self) -> None:
        self.index: FullText | None = None
        self.root: Root | None = None
        self.catalogue = Catalogue()
        self._keyword: Keyword | None = None
        self._embedding: Embedding | None = None

    @property
    def keyword(self) -> Keyword:
        """The selector by keywords over the catalogue."""
        if self._keyword is None:
            from .keyword import Keyword

            self._keyword = Keyword(self.catalogue)
        return self._keyword

    def embedding(self, embedder: Embedder, folder: str | None) -> Embedding:
        """Return the selector by an embedder, whose vectors are kept in `folder`."""
        if self._embedding is None:
            from .embedding.selector import Embedding
            from .embedding.vectors import Vectors

            vectors = Vectors(folder, embedder.identity)
            self._embedding = Embedding(self.catalogue, embedder, vectors)
        return self._embedding

    def close(self) -> None:
        """Give the index of words back."""
        if self.index is not None:
            self.index.close()
            self.index = None
