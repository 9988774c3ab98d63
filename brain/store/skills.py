"""What a store promises of skills: derived data, which can be lost without harm."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Protocol

    from .protocol import SkillRow
else:  # see `protocol`
    Protocol = object


class SkillReader(Protocol):
    """The part of `Reader` that deals with derived data."""

    def cards(self, blobs: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the cards that are known and intact; whoever asked makes the rest anew."""

    def sheet_note(self) -> bytes:
        """Return what was noted of the sheet of the index, b"" where none is kept."""

    def sheet(self) -> tuple[bytes, list[bytes]]:
        """Return the note on the sheet of the index, and its rows; (b"", []) if they fail a check.

        Note and rows are of one moment.
        """

    def skill_paths(self, slug: str) -> list[str]:
        """Return all paths ever logged under a slug, sorted."""

    def skill_changes(self) -> list[tuple[str, bytes]]:
        """Return (path, snapshot) of all that is in the histories of skills, unchecked."""

    def skill_log(self, path: str, version: str | None = None) -> list[SkillRow]:
        """Return the history of the skill at `path`, oldest first.

        With `version`, return of it where the skill was added, and where it had that version.
        """

    def derived_version(self) -> int:
        """Return what `reset_derived` was last given, 0 if never."""


class SkillWriter(Protocol):
    """The part of `Transaction` that deals with derived data."""

    def put_cards(self, rows: Iterable[tuple[bytes, bytes]]) -> None:
        """Keep cards, given as (blob, card), replacing older ones."""

    def put_sheet(self, note: bytes, rows: Iterable[bytes]) -> None:
        """Keep the sheet of the index in place of the one before, until something is redacted."""

    def add_to_sheet(self, note: bytes, rows: Iterable[bytes]) -> None:
        """Append rows to the sheet of the index, and replace its note."""

    def log_skills(self, rows: Iterable[SkillRow]) -> None:
        """Append to the histories of skills."""

    def name_skills(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Note, as `log_skills` does, at which paths skills lie, given as (slug, path)."""

    def reset_derived(self, version: int) -> None:
        """Forget all derived data, and note the version of what will replace them."""
