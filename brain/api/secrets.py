"""`brain.secrets`: find secrets in texts and in recorded files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..repo.part import Part
from ..util.progress import no_progress

if TYPE_CHECKING:
    from .. import results
    from ..secrets import SecretFinding
    from ..util.progress import Progress


class SecretsPart(Part):
    """Text that looks like a password, key or token."""

    def scan(
        self,
        paths: Sequence[str] = (),
        rev: str = "@",
        *,
        history: bool = False,
        progress: Progress | None = None,
    ) -> results.SecretScan:
        """Scan the files of a revision, by default all, with `history` also of its ancestors.

        Findings that `secrets.accepted` of the manifest names are only counted. Raises
        `NotFound` (`no_path`).
        """
        from ..repo import secrets

        return self._locked.run(secrets.scan_revision, paths, rev, history, progress or no_progress)

    def scan_text(self, content: bytes) -> list[SecretFinding]:
        """Return the secrets in a text that is not recorded."""
        from ..repo import secrets

        return self._locked.run(secrets.scan_text, content)
