"""Small documents in the notes of the store of experience, changed by compare-and-swap."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ..errors import StoreError
from ..experience.experience_protocol import ExperienceStore

_MAX_TRIES = 1_000
Fields = dict[str, Any]


def read_fields(store: ExperienceStore, name: str) -> Fields:
    """Return the document of a note, empty without one or if it is malformed."""
    return _parse(store.read_note(name))


def change_fields(
    store: ExperienceStore, name: str, change: Callable[[Fields], Fields | None]
) -> Fields | None:
    """Replace the document of a note by what `change` makes of it.

    `change` may be called again after another process was faster. Returns the new document,
    None if `change` returned None, which leaves the note as it is. Raises `StoreError`.
    """
    for _ in range(_MAX_TRIES):
        old = store.read_note(name)
        new = change(_parse(old))
        if new is None or store.write_note(name, old, json.dumps(new, sort_keys=True)):
            return new
    raise StoreError(
        f"the note {name} changes faster than it can be written",
        code="busy",
        hint="try again later",
    )


def _parse(text: str | None) -> Fields:
    try:
        value = json.loads(text or "{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def read_number(fields: Fields, name: str) -> int:
    """Return a number of a document, 0 without it."""
    value = fields.get(name)
    return value if type(value) is int else 0
