"""Content that is gone on purpose, met by those who would write it into a folder."""

from __future__ import annotations

from collections.abc import Iterable

from ..objects.entry import Entry
from ..session import Session


def left_out(session: Session, entries: Iterable[Entry | None]) -> set[str]:
    """Return the paths of those `entries` whose content was redacted."""
    wanted = [entry for entry in entries if entry is not None]
    gone = session.reader.redacted([entry.blob for entry in wanted])
    return {entry.path for entry in wanted if entry.blob in gone}
