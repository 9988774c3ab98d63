"""Files of the folder, written from the store and read for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from ..objects.entry import LINK, Entry
from ..session import Session
from ..store.protocol import LARGE
from ..worktree import materialise

Progress = Callable[[str, int, int], None]
"""Called with what is done, how much of it, and of how many (0 if unknown)."""


NOTHING: Mapping[bytes, bytes] = {}
"""No content at hand."""
_AT_ONCE = 1024
"""Small blobs fetched at a time, a few megabytes."""


def no_progress(what: str, done: int, total: int) -> None:
    """Report nothing."""


def write(
    session: Session,
    writes: Mapping[str, Entry | None],
    progress: Progress = no_progress,
    contents: Mapping[bytes, bytes] = NOTHING,
) -> None:
    """Bring the named paths of the folder to the given entries; None removes.

    `contents` are blobs at hand; the others are read from the store.
    """
    lay_out(session, session.root, writes, progress, contents)


def lay_out(
    session: Session,
    root: Path,
    writes: Mapping[str, Entry | None],
    progress: Progress = no_progress,
    contents: Mapping[bytes, bytes] = NOTHING,
) -> None:
    """Do as `write` in the folder `root`, which need not be the brain's."""
    for path, entry in writes.items():
        if entry is None:
            materialise.remove_file(root, path)
    entries = sorted(entry for entry in writes.values() if entry is not None)
    materialise.write_many(root, _contents(session, entries, contents), progress)


def _contents(
    session: Session, entries: list[Entry], at_hand: Mapping[bytes, bytes]
) -> Iterator[tuple[str, int, bytes | Iterator[bytes]]]:
    """Yield path, kind and content in the order of paths.

    Small blobs are fetched some at a time, large ones streamed.
    """
    for start in range(0, len(entries), _AT_ONCE):
        some = entries[start : start + _AT_ONCE]
        small = {e.blob for e in some if e.size < LARGE or e.kind == LINK}
        fetched = {blob: at_hand[blob] for blob in small if blob in at_hand}
        fetched.update(session.store.read_blobs([*small.difference(fetched)]))
        for entry in some:
            content = fetched.get(entry.blob)
            if content is None:  # large, whatever its entry says
                yield entry.path, entry.kind, session.store.stream_blob(entry.blob, entry.size)
            else:
                yield entry.path, entry.kind, content
