"""Secrets that were recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .opened import Opened, given

if TYPE_CHECKING:
    from .. import results
    from ..actions.files import Progress
    from ..secrets import Finding


class Secrets(Opened):
    """What looks like a secret, in what is recorded."""

    def secrets_in(self, content: bytes) -> list[Finding]:
        """Return what looks like a secret in a text that is not recorded yet."""
        from ..actions import leaks

        return self._do(leaks.in_text, content)

    def secrets(
        self,
        paths: Sequence[str] = (),
        rev: str = "@",
        *,
        history: bool = False,
        progress: Progress | None = None,
    ) -> results.Leaks:
        """Look for secrets in the files of a revision, or at and below `paths`.

        With `history` in all that was ever recorded up to it. What `secrets.accepted` of
        the manifest names is counted alone. Raises `NotFound` (`no_path`).
        """
        from ..actions import leaks

        return self._do(leaks.leaks, paths, rev, history, *given(progress))
