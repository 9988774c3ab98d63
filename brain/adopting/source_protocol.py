"""The interface of a source reader: it detects a source and reads it as states.

A taker never writes to its source and never reads outside of it. What it leaves out it
says in `Taking.left`, which is complete once the steps are gone through.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from ..repo.changes.import_source import ImportStep, SourceFile
from ..results import Notice

__all__ = ["DetectedSource", "ImportStep", "Notice", "SourceFile", "SourceReader", "SourceStates"]


class DetectedSource(NamedTuple):
    """A source: its kind, the folder or file it is, and what it was known by.

    `home` is the folder around which a brain can be made in place, so that the program
    and the brain share the files; None where only a copy can be taken. Of several kinds
    that recognise one place, the one of the greatest `weight` counts. From 30 on, a program
    is surely there; if two are, the user is asked.
    """

    kind: str
    path: Path
    evidence: str
    confidence: int
    in_place_folder: Path | None


class SourceStates(NamedTuple):
    """What comes out of a source, oldest state first.

    `steps` may be gone through once; `left` and `placed` grow meanwhile: what was left
    out, with a code and the reason, and which path of the source each path of the brain
    comes from, as of the last step. `named` has the code and path of each single thing that
    was left out of a folder, where `left` tells of crowds in one line.
    """

    steps: Iterator[ImportStep]
    skipped: list[Notice]
    source_paths: dict[str, str]
    skipped_paths: Sequence[tuple[str, str]] = ()


class SourceReader(Protocol):
    """Recognises and reads one kind of source.

    A folder without a history is one `Step` with `whole`; a history is one step a state,
    with revision, author and time.
    """

    kind: str

    def detect(self, path: Path) -> DetectedSource | None:
        """Tell whether `path`, absolute, is a source of this kind, at little cost."""

    def read_states(
        self, found: DetectedSource, since: str | None, allow: Collection[str]
    ) -> SourceStates:
        """Read the source; `since` is the revision of the last state taken in, None for all.

        Files in which `brain.secrets` finds something are left out (code `secret`, the
        message with rule, line and id), unless `allow` has the id of the finding. Raises
        `InvalidInput` for a source that is not what it seemed.
        """
