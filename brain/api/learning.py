"""What the synthesis of skills needs to know of a brain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .opened import Opened

if TYPE_CHECKING:
    from ..receipts import Receipt
    from ..repo.open.manifest import SynthesisPolicy


class Learning(Opened):
    """What a brain says of how its agent learns."""

    def synthesis_policy(self) -> SynthesisPolicy:
        """Return which work is hard enough to learn from, as the manifest says.

        Raises `InvalidInput` (`bad_manifest`).
        """
        from ..repo.open import manifest

        return self._do(lambda session: manifest.load_manifest(session).synthesis)

    def run_at(self, rev: str = "@") -> Receipt:
        """Return the run of which a revision carries a part, with all its steps up to there.

        Raises `NotFound` (`no_receipt`), or `FormatError` for a receipt of another kind.
        """
        from ..repo.receipts import runs

        return self._do(runs.read_whole_run, rev)
