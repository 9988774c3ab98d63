"""The user's store of experience: its settings and their description."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..terminal import escape
from .settings_folder import ledger_settings_path

if TYPE_CHECKING:
    from brain.experience.settings import ExperienceSettings


def experience_settings_path() -> Path:
    """Return the settings file, in the folder of the ledger settings."""
    return ledger_settings_path().with_name("experience.json")


def load_experience_settings() -> ExperienceSettings | None:
    """Return the settings, None without any. Raises `InvalidInput` (`bad_experience_url`)."""
    file = experience_settings_path()
    if not file.exists():  # the usual case, without an import
        return None
    from brain.experience.settings import EXPERIENCE_SETTINGS

    return EXPERIENCE_SETTINGS.load(file)


def merge_experience_settings(
    before: ExperienceSettings | None, changes: Mapping[str, Any]
) -> ExperienceSettings:
    """Return `before` with `changes`. Raises `InvalidInput` (`bad_experience_url`)."""
    from brain.experience.settings import EXPERIENCE_SETTINGS

    return EXPERIENCE_SETTINGS.parse({**EXPERIENCE_SETTINGS.changed_fields(before), **changes})


def describe_experience(settings: ExperienceSettings | None) -> dict[str, Any]:
    """Return the settings for display; URLs are reduced to kind, host and database."""
    from brain.experience.settings import (
        EXPERIENCE_URL_VARIABLE,
        ExperienceSettings,
        describe_url,
        override_from_environment,
    )

    used = override_from_environment(settings or ExperienceSettings())
    return {
        "file": str(experience_settings_path()),
        "experience": describe_url(used.url) if used.url else None,
        "environment": [name for name in (EXPERIENCE_URL_VARIABLE,) if name in os.environ],
    }


def experience_lines(description: Mapping[str, Any]) -> Iterator[str]:
    """Describe where experience is stored."""
    local = "the file .brain/evolution.db of each brain"
    yield escape(f"experience: {description['experience'] or local}")
    if description["environment"]:
        yield f"  set by {', '.join(description['environment'])}"
