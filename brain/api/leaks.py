"""Secrets that were recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .opened import Opened, given

if TYPE_CHECKING:
    from .. import results
    from ..repo.core.checkout import Progress
    from ..secrets import SecretFinding


class Secrets(Opened):
    """What looks like a secret, in what is recorded."""

    def secrets_in(self, content: bytes) -> list[SecretFinding]:
        """Return what looks like a secret in a text that is not recorded yet."""
        from ..repo.core import secret_scan

        return self._do(secret_scan.scan_text, content)

    def secrets(
        self,
        paths: Sequence[str] = (),
        rev: str = "@",
        *,
        history: bool = False,
        progress: Progress | None = None,
    ) -> results.SecretScan:
        """Look for secrets in the files of a revision, or at and below `paths`.

        With `history` in all that was ever recorded up to it. What `secrets.accepted` of
        the manifest names is counted alone. Raises `NotFound` (`no_path`).
        """
        from ..repo.core import secret_scan

        return self._do(secret_scan.scan_revision, paths, rev, history, *given(progress))
