"""Whether a brain is what it claims to be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .opened import Opened, given

if TYPE_CHECKING:
    from .. import results
    from ..actions.files import Progress


class Trust(Opened):
    """Verification, and what surrounds it."""

    def verify(self, deep: bool = False, progress: Progress | None = None) -> results.Verified:
        """Check the whole brain; `deep` reads every blob again. See `brain.verify`."""
        from .. import verify

        check = verify.verify_deeply if deep else verify.verify
        return self._do(check, *given(progress))

    def doctor(self) -> list[results.Checkup]:
        """Check what surrounds the brain: store, file system, caches, rights."""
        from ..actions import checkup

        return self._do(checkup.doctor)
