"""Files of the folder, written from the store and read for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ..objects.entry import LINK, Entry
from ..session import Session
from ..store.protocol import LARGE
from ..worktree import materialise

Progress = Callable[[str, int, int], None]
"""Called with what is done, how much of it, and of how many (0 if unknown)."""


def no_progress(what: str, done: int, total: int) -> None:
    """Report nothing."""


def write(
    session: Session, writes: Mapping[str, Entry | None], progress: Progress = no_progress
) -> None:
    """Bring the named paths of the folder to the given entries; None removes."""
    for path, entry in writes.items():
        if entry is None:
            materialise.remove_file(session.root, path)
    entries = [entry for entry in writes.values() if entry is not None]
    materialise.write_many(session.root, _contents(session, entries), progress)


def _contents(
    session: Session, entries: list[Entry]
) -> Iterator[tuple[str, int, bytes | Iterator[bytes]]]:
    """Yield path, kind and content, small blobs fetched in batches, large ones streamed."""
    small: dict[bytes, list[Entry]] = {}
    for entry in entries:
        if entry.size >= LARGE and entry.kind != LINK:
            yield entry.path, entry.kind, session.store.stream_blob(entry.blob)
        else:
            small.setdefault(entry.blob, []).append(entry)
    for blob, content in session.store.read_blobs(list(small)):
        for entry in small.pop(blob):
            yield entry.path, entry.kind, content
    for blob, left in small.items():  # larger than their entries say
        for entry in left:
            yield entry.path, entry.kind, session.store.stream_blob(blob)
