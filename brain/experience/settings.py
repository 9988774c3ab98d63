"""The user's settings of experience: where that of all their brains is stored.

They are never read from a brain, which is untrusted.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

from ..errors import printable_text
from ..util.settings import SettingsFormat

EXPERIENCE_URL_VARIABLE = "BRAIN_EXPERIENCE_URL"
_SCHEMES = ("postgresql", "postgresql+psycopg")
_MAX_URL_CHARS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperienceSettings:
    """The URL of a database for experience; without one it lies in `.brain/evolution.db`."""

    url: str = ""


LoadExperienceSettings = Callable[[], ExperienceSettings | None]
"""Returns the user's settings, None without any; called when they are first needed."""


def _find_fault(settings: ExperienceSettings) -> str:
    """Return the fault of the URL, "" if there is none; it says nothing of what the URL holds."""
    if not settings.url:
        return ""
    try:
        parts = urlsplit(settings.url)
        _ = parts.hostname, parts.port
    except ValueError:
        return "url is not a URL"
    if len(settings.url) > _MAX_URL_CHARS or not settings.url.isprintable():
        return "url is too long, or not printable"
    return "" if parts.scheme in _SCHEMES else f"url does not begin with {', '.join(_SCHEMES)}"


EXPERIENCE_SETTINGS = SettingsFormat(
    settings_type=ExperienceSettings,
    owner="the store of experience",
    command="brain config experience",
    code="bad_experience_url",
    hint="write a URL such as postgresql://host/database or"
    " postgresql:///database?host=/run/folder, or `brain config --unset experience`",
    ranges={},
    find_fault=_find_fault,
)


def override_from_environment(settings: ExperienceSettings) -> ExperienceSettings:
    """Return the settings with what the environment says instead.

    An empty variable means `.brain/evolution.db`. Raises `InvalidInput` (`bad_experience_url`).
    """
    return EXPERIENCE_SETTINGS.parse({"url": os.environ.get(EXPERIENCE_URL_VARIABLE, settings.url)})


def describe_url(url: str) -> str:
    """Return kind, host and database of a URL; never the user, the password or other options."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or "".join(parse_qs(parts.query).get("host", [])[:1])
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "the server"
    place = f"{host}{port}" if host else "this machine"
    name = parts.path.removeprefix("/")
    kind = parts.scheme.partition("+")[0]
    return printable_text(f"{kind} {name} on {place}" if name else f"{kind} on {place}")
