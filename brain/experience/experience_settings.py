"""The user's settings of experience: where sequences and rates of all brains are stored.

{"format": "brain v1 experience", "url": "postgresql+psycopg://host/db"}

They are never read from a brain, which is untrusted.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from ..util.settings_format import SettingsFormat
from .server_urls import URL_HINT, find_server_url_fault

EXPERIENCE_FILE_NAME = "evolution.db"
"""The file in `.brain` that is used without a URL."""
EXPERIENCE_URL_VARIABLE = "BRAIN_EXPERIENCE_URL"
_DROPPED_VARIABLE = "BRAIN_RATES_URL"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperienceSettings:
    """The URL of a database for experience; without one it lies in `.brain/evolution.db`."""

    url: str = ""


LoadExperienceSettings = Callable[[], ExperienceSettings | None]
"""Returns the user's settings, None without any; called when they are first needed."""


def _find_fault(settings: ExperienceSettings) -> str:
    fault = find_server_url_fault(settings.url) if settings.url else ""
    return f"url {fault}" if fault else ""


EXPERIENCE_SETTINGS = SettingsFormat(
    name="brain v1 experience",
    settings_type=ExperienceSettings,
    owner="the store of experience",
    command="brain config experience",
    code="bad_experience_url",
    hint=f"write a URL {URL_HINT}, or `brain config experience --off`; attempts are counted where"
    " experience is stored, no more in Redis",
    ranges={},
    find_fault=_find_fault,
)


def override_from_environment(settings: ExperienceSettings) -> ExperienceSettings:
    """Return the settings with what the environment says instead.

    An empty variable means `.brain/evolution.db`. Raises `InvalidInput` (`bad_experience_url`).
    """
    if os.environ.get(_DROPPED_VARIABLE):  # another store would not count what that one did
        raise EXPERIENCE_SETTINGS.error(f"unset {_DROPPED_VARIABLE}, which is no setting any more")
    return EXPERIENCE_SETTINGS.parse({"url": os.environ.get(EXPERIENCE_URL_VARIABLE, settings.url)})
