"""Open the store that the user's settings name; the default is a file beside the brain."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from ..errors import StoreError
from .experience_settings import ExperienceSettings, override_from_environment

if TYPE_CHECKING:
    from .experience_protocol import ExperienceStore
    from .sql_experience import SqlExperience
    from .sqlite_experience import SqliteExperience


class BrainExperience:
    """The store of one brain, opened when it is first needed; threads may share it.

    `folder` is its `.brain`, `brain` its id in hex. `settings` are those of the user, which the
    environment overrides (BRAIN_EXPERIENCE_URL); never those of a brain, which is untrusted.
    Raises `InvalidInput` (`bad_experience_url`).
    """

    def __init__(
        self, folder: str | os.PathLike[str], brain: str, settings: ExperienceSettings | None
    ) -> None:
        self._folder = folder
        self._brain = brain
        self.settings = override_from_environment(settings or ExperienceSettings())
        self._lock = threading.Lock()
        self._opened: ExperienceStore | None = None

    @property
    def store(self) -> ExperienceStore:
        """The store, opened at the first use. Raises `StoreError` (`not_installed`)."""
        with self._lock:
            if self._opened is None:
                self._opened = self._open_sql() if self.settings.url else self._open_file()
            return self._opened

    def close(self) -> None:
        """Close what was opened."""
        if self._opened is not None:
            self._opened.close()

    def _open_file(self) -> SqliteExperience:
        from .sqlite_experience import SqliteExperience

        return SqliteExperience(self._folder)

    def _open_sql(self) -> SqlExperience:
        try:
            from .sql_experience import SqlExperience

            return SqlExperience(self.settings.url, self._brain)
        except ImportError as error:
            raise StoreError(
                f"this store of experience needs a package that is not installed: {error.name}",
                code="not_installed",
                hint="pip install 'agent-brain[experience]'",
            ) from error
