"""What an open brain has beside its store: counts of uses, and experience."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...experience.settings import LoadExperienceSettings
    from ...experience.store import Store
    from ...experience.usage import UsageStore


class SideStores:
    """Base of a session: opens the stores beside that of the brain when they are first needed."""

    def __init__(self) -> None:
        self.load_experience_settings: LoadExperienceSettings | None = None
        self._usage: UsageStore | None = None
        self._experience: Store | None = None

    @property
    def control_folder(self) -> Path:
        """The folder `.brain`."""
        raise NotImplementedError

    def brain_id(self) -> bytes:
        """Return the id of the brain."""
        raise NotImplementedError

    @property
    def usage(self) -> UsageStore:
        """The counts of uses of skills; threads may share them."""
        if self._usage is None:
            from ...experience.usage import UsageStore

            self._usage = UsageStore(self.control_folder)
        return self._usage

    @property
    def experience(self) -> Store:
        """What agents went through, where the user's settings say; threads may share it.

        Raises `InvalidInput` (`bad_experience_url`), `StoreError` (`not_installed`).
        """
        if self._experience is None:
            from ...experience.store import open_store

            settings = self.load_experience_settings and self.load_experience_settings()
            brain_id = self.brain_id().hex()
            self._experience = open_store(self.control_folder, brain_id, settings)
        return self._experience

    def close_side_stores(self) -> None:
        """Close those that were opened."""
        for opened in (self._usage, self._experience):
            if opened is not None:
                opened.close()
