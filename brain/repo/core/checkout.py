"""Check out files: write entries from the store to a folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from ...objects.tree_entry import LINK, TreeEntry
from ...store.protocol import LARGE_BLOB_BYTES
from ...util.progress import Progress, no_progress
from ...worktree import file_checkout
from ..open.session import Session

NO_CONTENTS: Mapping[bytes, bytes] = {}
"""No content at hand."""
_BLOBS_PER_BATCH = 1024
"""Small blobs fetched at a time, a few megabytes."""


def write_files(
    session: Session,
    writes: Mapping[str, TreeEntry | None],
    progress: Progress = no_progress,
    contents: Mapping[bytes, bytes] = NO_CONTENTS,
) -> None:
    """Bring the named paths of the folder to the given entries; None removes.

    `contents` are blobs at hand; the others are read from the store.
    """
    checkout_files(session, session.root, writes, progress, contents)


def checkout_files(
    session: Session,
    root: Path,
    writes: Mapping[str, TreeEntry | None],
    progress: Progress = no_progress,
    contents: Mapping[bytes, bytes] = NO_CONTENTS,
) -> None:
    """Do as `write` in the folder `root`, which need not be the brain's."""
    for path, entry in writes.items():
        if entry is None:
            file_checkout.remove_working_file(root, path)
    entries = sorted(entry for entry in writes.values() if entry is not None)
    file_checkout.write_working_files(root, _stream_contents(session, entries, contents), progress)


def _stream_contents(
    session: Session, entries: list[TreeEntry], at_hand: Mapping[bytes, bytes]
) -> Iterator[tuple[str, int, bytes | Iterator[bytes]]]:
    """Yield path, kind and content in the order of paths.

    Small blobs are fetched some at a time, large ones streamed.
    """
    for start in range(0, len(entries), _BLOBS_PER_BATCH):
        some = entries[start : start + _BLOBS_PER_BATCH]
        small = {e.blob for e in some if e.size < LARGE_BLOB_BYTES or e.kind == LINK}
        fetched = {blob: at_hand[blob] for blob in small if blob in at_hand}
        fetched.update(session.store.read_small_blobs([*small.difference(fetched)]))
        for entry in some:
            content = fetched.get(entry.blob)
            if content is None:  # large, whatever its entry says
                yield entry.path, entry.kind, session.store.stream_blob(entry.blob, entry.size)
            else:
                yield entry.path, entry.kind, content


def find_redacted_paths(session: Session, entries: Iterable[TreeEntry | None]) -> set[str]:
    """Return the paths of those `entries` whose content was redacted."""
    wanted = [entry for entry in entries if entry is not None]
    gone = session.reader.find_redactions([entry.blob for entry in wanted])
    return {entry.path for entry in wanted if entry.blob in gone}
