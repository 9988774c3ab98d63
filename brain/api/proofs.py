"""`brain.proofs`: JSON documents (docs/FORMAT.md) that anybody can check without the brain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..repo.part import Part

if TYPE_CHECKING:
    from io import RawIOBase

    from ..results import EquivocationResult, Proof


class ProofsPart(Part):
    """Proofs about the snapshot of a revision."""

    def prove_file(self, path: str, rev: str = "@") -> bytes:
        """Prove that a file is in the snapshot, with its content. Raises `NotFound`."""
        from ..ops import prove

        return self._locked.run(prove.prove_path, path, rev)

    def prove_absence(self, path: str, rev: str = "@") -> bytes:
        """Prove that no file is at `path`. Raises `InvalidInput` (`path_is_there`)."""
        from ..ops import prove

        return self._locked.run(prove.prove_absence, path, rev)

    def prove_section(self, name: str, rev: str = "@") -> bytes:
        """Prove a top-level folder as a whole; "." is the files outside of folders.

        Raises `NotFound`.
        """
        from ..ops import prove

        return self._locked.run(prove.prove_section, name, rev)

    def prove_descent(self, ancestor: str, rev: str = "@") -> bytes:
        """Prove that a revision is `ancestor` or descends from it, also across forks.

        Raises `NotFound` (`not_an_ancestor`).
        """
        from ..ops import prove

        return self._locked.run(prove.prove_descent, ancestor, rev)

    def check(
        self, data: bytes, *, content: RawIOBase | None = None, brain: str = "", snapshot: str = ""
    ) -> Proof | EquivocationResult:
        """Check a proof, also one of equivocation; return what it shows.

        `content` is the file that it is about; `brain` and `snapshot` are the ids it must be
        about. It is `ok` as in `check_proof`, also if this brain holds the snapshot. Raises
        `ProofError`, or `InvalidInput` (`bad_id`, `no_content`).
        """
        from ..trust.equivocation_proof import check_equivocation, is_equivocation_proof

        if b"equivocation" in data and is_equivocation_proof(data):
            return check_equivocation(data, brain=brain, snapshot=snapshot)
        from ..proofs.proof_verification import check_proof
        from ..repo import revisions

        return check_proof(
            data,
            content=content,
            brain=brain,
            snapshot=snapshot,
            in_store=lambda id: self._locked.run(revisions.has_snapshot, id),
        )
