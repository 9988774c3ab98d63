"""Open the stores that the user's settings name; the default is a file beside the brain."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from ..errors import StoreError
from .experience_settings import ExperienceSettings, override_from_environment
from .server_urls import REDIS_SCHEMES

if TYPE_CHECKING:
    from .experience_protocol import ExperienceStore, RateStore
    from .sql_experience import SqlExperience


class BrainExperience:
    """The stores of one brain, opened when they are first needed; threads may share them.

    `folder` is its `.brain`, `brain` its id in hex. `settings` are those of the user, which the
    environment overrides (BRAIN_EXPERIENCE_URL, BRAIN_RATES_URL); never those of a brain, which is
    untrusted. Raises `InvalidInput` (`bad_experience_url`).
    """

    def __init__(
        self, folder: str | os.PathLike[str], brain: str, settings: ExperienceSettings | None
    ) -> None:
        self._folder = folder
        self._brain = brain
        self.settings = override_from_environment(settings or ExperienceSettings())
        self._lock = threading.Lock()
        self._store: ExperienceStore | None = None
        self._rates: RateStore | None = None

    @property
    def store(self) -> ExperienceStore:
        """Sequences, work, audit and notes. Raises `StoreError` (`not_installed`)."""
        with self._lock:
            if self._store is None:
                self._store = open_experience(self._folder, self._brain, self.settings)
            return self._store

    @property
    def rates(self) -> RateStore:
        """Counts of attempts. Raises `StoreError` (`not_installed`)."""
        with self._lock:
            if self._rates is None:
                self._rates = open_rates(self._folder, self._brain, self.settings)
            return self._rates

    def close(self) -> None:
        """Close what was opened."""
        for opened in (self._store, self._rates):
            if opened is not None:
                opened.close()


def open_experience(
    folder: str | os.PathLike[str], brain: str, settings: ExperienceSettings
) -> ExperienceStore:
    """Open the experience of a brain: `folder` is its `.brain`, and `brain` its id in hex.

    Nothing is read or connected to before it is needed. Raises `StoreError` (`not_installed`) or
    `InvalidInput` (`bad_experience_url`).
    """
    if settings.url:
        return _open_sql(settings.url, brain)
    from .sqlite_experience import SqliteExperience

    return SqliteExperience(folder)


def open_rates(
    folder: str | os.PathLike[str], brain: str, settings: ExperienceSettings
) -> RateStore:
    """Open the rates of a brain: those of the URL for rates, else where its experience lies.

    Raises as `open_experience`.
    """
    url = settings.rates or settings.url
    if url.partition(":")[0] in REDIS_SCHEMES:
        try:
            from .redis_rates import RedisRates
        except ImportError as error:
            raise _not_installed_error(error) from error
        return RedisRates(url)
    if url:
        return _open_sql(url, brain)
    from .sqlite_experience import SqliteExperience

    return SqliteExperience(folder)


def _open_sql(url: str, brain: str) -> SqlExperience:
    try:
        from .sql_experience import SqlExperience

        return SqlExperience(url, brain)
    except ImportError as error:
        raise _not_installed_error(error) from error


def _not_installed_error(error: ImportError) -> StoreError:
    return StoreError(
        f"this store of experience needs a package that is not installed: {error.name}",
        code="not_installed",
        hint="pip install 'agent-brain[experience]'",
    )
