"""Proofs to hand to somebody who holds nothing of the brain; see `check_proof`."""

from __future__ import annotations

from .opened import Opened


class Proving(Opened):
    """One document each, in JSON (docs/FORMAT.md), about the snapshot of a revision."""

    def prove(self, path: str, rev: str = "@") -> bytes:
        """Prove that a file is there, with its content. Raises `NotFound`."""
        from ..repo.history import prove

        return self._do(prove.prove_path, path, rev)

    def prove_absence(self, path: str, rev: str = "@") -> bytes:
        """Prove that no file is at `path`. Raises `InvalidInput` (`path_is_there`)."""
        from ..repo.history import prove

        return self._do(prove.prove_absence, path, rev)

    def prove_section(self, name: str, rev: str = "@") -> bytes:
        """Prove a top-level folder as a whole; "." are the files at the top.

        Raises `NotFound`.
        """
        from ..repo.history import prove

        return self._do(prove.prove_section, name, rev)

    def prove_descent(self, ancestor: str, rev: str = "@") -> bytes:
        """Prove that a revision is `ancestor` or descends from it, also across forks.

        Raises `NotFound` (`not_an_ancestor`).
        """
        from ..repo.history import prove

        return self._do(prove.prove_descent, ancestor, rev)
