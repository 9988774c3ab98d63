"""Proofs to hand to somebody who holds nothing of the brain; see `check_proof`."""

from __future__ import annotations

from .opened import Opened


class Proving(Opened):
    """One document each, in JSON (docs/FORMAT.md), about the snapshot of a revision."""

    def prove(self, path: str, rev: str = "@") -> bytes:
        """Prove that a file is there, with its content. Raises `NotFound`."""
        from ..actions import proving

        return self._do(proving.path, path, rev)

    def prove_absence(self, path: str, rev: str = "@") -> bytes:
        """Prove that no file is at `path`. Raises `InvalidInput` (`path_is_there`)."""
        from ..actions import proving

        return self._do(proving.absence, path, rev)

    def prove_section(self, name: str, rev: str = "@") -> bytes:
        """Prove a top-level folder as a whole; "." are the files at the top.

        Raises `NotFound`.
        """
        from ..actions import proving

        return self._do(proving.section, name, rev)

    def prove_descent(self, ancestor: str, rev: str = "@") -> bytes:
        """Prove that a revision is `ancestor` or descends from it, also across forks.

        Raises `NotFound` (`not_an_ancestor`).
        """
        from ..actions import proving

        return self._do(proving.descent, ancestor, rev)
