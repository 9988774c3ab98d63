"""The user's settings of experience: where sequences and rates of all brains are stored.

{"format": "brain v1 experience", "url": "postgresql+psycopg://host/db", "rates": "redis://host"}

They are never read from a brain, which is untrusted.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace

from ..util.settings_format import SettingsFormat
from .server_urls import EXPERIENCE_SCHEMES, RATES_SCHEMES, URL_HINT, find_server_url_fault

EXPERIENCE_FILE_NAME = "evolution.db"
"""The file in `.brain` that is used without a URL."""
EXPERIENCE_URL_VARIABLE = "BRAIN_EXPERIENCE_URL"
RATES_URL_VARIABLE = "BRAIN_RATES_URL"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperienceSettings:
    """The URL of a database for experience, and one for rates.

    Without `url`, experience lies in `.brain/evolution.db`; without `rates`, rates are counted
    where experience lies.
    """

    url: str = ""
    rates: str = ""


LoadExperienceSettings = Callable[[], ExperienceSettings | None]
"""Returns the user's settings, None without any; called when they are first needed."""


def _find_fault(settings: ExperienceSettings) -> str:
    for name, url, schemes in (
        ("url", settings.url, EXPERIENCE_SCHEMES),
        ("rates", settings.rates, RATES_SCHEMES),
    ):
        fault = find_server_url_fault(url, schemes) if url else ""
        if fault:
            return f"{name} {fault}"
    return ""


EXPERIENCE_SETTINGS = SettingsFormat(
    name="brain v1 experience",
    settings_type=ExperienceSettings,
    owner="the store of experience",
    command="brain config experience",
    code="bad_experience_url",
    hint=f"write a URL {URL_HINT}",
    ranges={},
    find_fault=_find_fault,
)


def override_from_environment(settings: ExperienceSettings) -> ExperienceSettings:
    """Return the settings with what the environment says instead.

    An empty variable means `.brain/evolution.db`. Raises `InvalidInput` (`bad_experience_url`).
    """
    changed = replace(
        settings,
        url=os.environ.get(EXPERIENCE_URL_VARIABLE, settings.url),
        rates=os.environ.get(RATES_URL_VARIABLE, settings.rates),
    )
    return EXPERIENCE_SETTINGS.parse(EXPERIENCE_SETTINGS.changed_fields(changed))
