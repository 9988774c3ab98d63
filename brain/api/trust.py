"""Whether a brain is what it claims to be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .opened import Opened, given

if TYPE_CHECKING:
    from .. import results
    from ..repo.core.checkout import Progress


class Trust(Opened):
    """Verification, and what surrounds it."""

    def verify(
        self,
        deep: bool = False,
        progress: Progress | None = None,
        *,
        require_signatures: bool = False,
        roots: Sequence[str] = (),
    ) -> results.Verified:
        """Check the whole brain; `deep` reads every blob again. See `brain.verify`.

        With `require_signatures` each snapshot has to be signed, or to come before a trust
        file; `roots` are keys (`ed25519:…`) known from elsewhere that must have signed the
        first trust file, beside those that are pinned. Raises `InvalidInput` (`bad_key`).
        """
        from ..verify import verification

        check = verification.verify_brain_deeply if deep else verification.verify_brain
        return self._do(
            check, verification.parse_requirements(require_signatures, roots), *given(progress)
        )

    def redact(
        self, path: str, *, reason: str, rev: str = "@", history: bool = False
    ) -> results.Redacted:
        """Destroy what a file held at a revision, with `history` all it ever held, for good.

        Its id stays in the lineage, which still verifies; the head no longer has the
        file. Raises `NotFound` (`no_path`, `redacted`), `InvalidInput` or `Conflict`
        (`unrecorded_changes`, `merging`).
        """
        from ..repo.changes import redact

        return self._do(redact.redact_file, path, reason, rev, history)

    def gc(self, grace: int = 30, progress: Progress | None = None) -> results.Collected:
        """Remove what no branch holds and no operation of the last `grace` days needs.

        Raises `StoreError` (`incomplete`), having removed nothing, if the store is damaged.
        """
        from ..repo.maintenance import gc

        return self._do(gc.collect_garbage, grace, *given(progress))

    def doctor(self) -> list[results.DoctorCheck]:
        """Check what surrounds the brain: store, file system, caches, rights."""
        from ..repo.maintenance import doctor

        return self._do(doctor.run_doctor)

    def repair(self) -> list[results.DoctorCheck]:
        """Put out of the way what no writer gets past; return what was done.

        Files that were recorded and could not be written are given up, each by name.
        """
        from ..repo.maintenance import repair

        return self._do(repair.repair_brain)
