"""The interface of a source reader, which detects a source and reads it as states.

A reader never writes to its source and never reads outside of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from ..ops.import_states import ImportStep, SourceFile
from ..results import Notice

__all__ = ["DetectedSource", "ImportStep", "Notice", "SourceFile", "SourceReader", "SourceStates"]


class DetectedSource(NamedTuple):
    """A source: its kind, its folder or file, and the evidence for the kind.

    `in_place_folder` is the folder that can be adopted in place, None if only a copy can be
    made. Of several kinds detected at one path, that of the greatest `confidence` counts.
    From 30 on a program is certain; if two are, the user must choose. `origin` is the URL of
    which `path` is a clone, "" if it is none.
    """

    kind: str
    path: Path
    evidence: str
    confidence: int
    in_place_folder: Path | None
    origin: str = ""

    @property
    def place(self) -> str:
        """The folder, the file or the URL of the source."""
        return self.origin or str(self.path)


class SourceStates(NamedTuple):
    """The states of a source, oldest first.

    `steps` can be iterated once. The other fields are complete after that: `skipped` are
    notices, of which one may count many files of a folder; `skipped_paths` has code and path
    of each of them; `doubts` are notices about taken files that may hold a secret;
    `source_paths` maps paths of the brain to paths of the source, as of the last step.
    """

    steps: Iterator[ImportStep]
    skipped: list[Notice]
    source_paths: dict[str, str]
    skipped_paths: Sequence[tuple[str, str]] = ()
    doubts: Sequence[Notice] = ()


class SourceReader(Protocol):
    """Recognises and reads one kind of source.

    A folder without a history is one complete `ImportStep`; a history is one step for each
    state, with revision, author and time.
    """

    kind: str

    def detect(self, path: Path) -> DetectedSource | None:
        """Return the source at the absolute `path`, None if it is not of this kind; fast."""

    def read_states(
        self, detected: DetectedSource, since: str | None, allow: Collection[str]
    ) -> SourceStates:
        """Read the source after the revision `since`, the last one imported; None for all.

        Files with certain secrets are skipped (code `secret`; the reason has rule, line and
        id), unless `allow` has the id of the finding. Raises `InvalidInput` for a source that
        turns out to be of another kind, or damaged.
        """
