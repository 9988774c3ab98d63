"""What is kept at hand for selection: the skills of one state of a brain, and its selectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import InvalidInput, printable
from .bm25 import Bm25
from .catalogue import Catalogue
from .fusion import Hybrid
from .keyword import Keyword

if TYPE_CHECKING:
    from ..objects.tree import Root
    from .protocol import Selector

KEYWORD, BM25, EMBEDDING, HYBRID = WAYS = ("keyword", "bm25", "embedding", "hybrid")


class Shelf:
    """The catalogue of the section `skills` at `root`, and the selectors over it.

    Each selector is made when it is first asked for; `make_bm25` and so on.
    """

    def __init__(self) -> None:
        self.root: Root | None = None
        self.catalogue = Catalogue()
        self._made: dict[str, Selector] = {}

    @property
    def bm25(self) -> Bm25:
        """The selector by BM25, which near-duplicates are found with, too."""
        made = self._made.get(BM25)
        if not isinstance(made, Bm25):
            made = self._made[BM25] = Bm25(self.catalogue)
        return made

    def selector(self, by: str) -> Selector:
        """Return a selector by its name. Raises `InvalidInput` (`bad_selector`)."""
        if by == BM25:
            return self.bm25
        if by not in self._made:
            self._made[by] = self._new(by)
        return self._made[by]

    def _new(self, by: str) -> Selector:
        if by == KEYWORD:
            return Keyword(self.catalogue)
        if by == HYBRID:
            return Hybrid(self.catalogue, [self.bm25, self.selector(KEYWORD)])
        raise InvalidInput(
            f"no way to select is called {printable(by, 80)}",
            code="bad_selector",
            hint=f"take one of: {', '.join(WAYS)}",
        )
