"""The files a writer is about to write: announced in the store, then written.

The list survives a crash, so the next writer goes on with it. A file that somebody
touched in between is left alone: it is then an edit like any other.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager

from ..digest import EMPTY
from ..errors import BrainError, InvalidInput, printable
from ..objects import paths
from ..objects.entry import LINK, Entry
from ..session import Session
from ..store.protocol import Pending, Transaction
from ..worktree import links, stats
from ..worktree.folders import Folders, opened
from . import files
from .files import NOTHING, Progress, no_progress


def announce(session: Session, tx: Transaction, writes: Mapping[str, Entry | None]) -> None:
    """Put the files to be written on the list that survives a crash.

    Raises `InvalidInput` (`name_too_long`, `link_outside`, and what `paths.check` raises) for
    one that could then not be written, and would keep all writers after this one waiting.
    """
    there = {path: entry for path, entry in writes.items() if entry}
    refuse_long_names(session, there)
    _refuse_unsafe(session, there)
    _refuse_ways(session, there, writes)
    tx.set_pending(
        [
            Pending(
                path,
                entry.kind if entry else 0,
                entry.blob if entry else EMPTY,
                _fingerprint_of(session, path),
            )
            for path, entry in writes.items()
        ]
    )


def refuse_long_names(session: Session, wanted: Iterable[str]) -> None:
    """Refuse names that the file system of the folder cannot hold; others may, so a brain can.

    Raises `InvalidInput` (`name_too_long`).
    """
    longest = os.pathconf(session.root, "PC_NAME_MAX")
    for path in wanted:
        if _has_long_name(path, longest):
            raise InvalidInput(
                f"a name of more than {longest} bytes: {printable(path)}",
                code="name_too_long",
                hint="choose a shorter one: no folder here can hold it",
            )


def _refuse_unsafe(session: Session, there: Mapping[str, Entry]) -> None:
    """Refuse names of version control itself, and links that lead outside."""
    for path, entry in there.items():
        paths.check(path)
        if entry.kind == LINK:
            links.refuse_outside(path, session.reader.read_blob(entry.blob))


def _refuse_ways(
    session: Session, there: Mapping[str, Entry], writes: Mapping[str, Entry | None]
) -> None:
    """Refuse files below a link, or below a file that these writes do not remove."""
    with opened(session.root) as root_fd, closing(Folders(root_fd)) as folders:
        for folder in sorted({path.rpartition("/")[0] for path in there}):
            if writes.keys().isdisjoint(_and_above(folder)):
                folders.missing(folder)


def _and_above(folder: str) -> list[str]:
    parts = folder.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts) + 1)]


def _has_long_name(path: str, longest: int) -> bool:
    raw = path.encode()
    return len(raw) > longest and any(len(part) > longest for part in raw.split(b"/"))


def apply(
    session: Session,
    writes: Mapping[str, Entry | None],
    progress: Progress = no_progress,
    contents: Mapping[bytes, bytes] = NOTHING,
) -> None:
    """Write files that were announced, and take them off the list."""
    if writes:
        with _recorded():
            files.write(session, writes, progress, contents)
        session.store.settle()


def finish(session: Session, rows: list[Pending]) -> None:
    """Write what a killed writer had recorded but not written."""
    with _recorded():
        files.write(session, unwritten(session, rows))
    session.store.settle()


def unwritten(session: Session, rows: list[Pending]) -> dict[str, Entry | None]:
    """Return what `finish` would write of a list: the files that nobody touched since.

    A file whose name no folder here can hold, as of a fork from elsewhere, is left out.
    """
    left: dict[str, Entry | None] = {}
    longest = os.pathconf(session.root, "PC_NAME_MAX")
    for row in rows:
        if _has_long_name(row.path, longest):
            continue
        now = _fingerprint_of(session, row.path)
        if not row.blob and now in (row.before, EMPTY):  # its folders may still be there
            left[row.path] = None
        elif row.blob and now == row.before:
            left[row.path] = Entry(row.path, row.kind, row.blob, session.store.blob_size(row.blob))
    return left


@contextmanager
def _recorded() -> Iterator[None]:
    """Say of what cannot be written that it is recorded, so that nobody does it twice."""
    try:
        yield
    except BrainError as error:
        error.hint = error.hint or "it is recorded; the next command that writes tries again"
        raise


def _fingerprint_of(session: Session, path: str) -> bytes:
    """Return the fingerprint of a file of the folder, empty if there is none."""
    there = stats.at(os.path.join(session.root, path))
    return EMPTY if there is None else stats.fingerprint(there)
