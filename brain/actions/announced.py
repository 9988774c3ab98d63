"""The files a writer is about to write: announced in the store, then written.

The list survives a crash, so the next writer goes on with it. A file that somebody
touched in between is left alone: it is then an edit like any other.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import NamedTuple

from ..digest import EMPTY
from ..errors import BrainError, InvalidInput, NotFound, StoreError, printable
from ..objects import bundle as bundles
from ..objects import paths
from ..objects.entry import LINK, Entry
from ..session import Session
from ..store.protocol import Pending, Transaction
from ..worktree import links, reading, stats
from ..worktree.folders import Folders, opened
from . import files, folder
from .files import NOTHING, Progress, no_progress

_NAMED = 5
"""Files that are named by one error."""
_AGAIN = "it is recorded; the next command that writes tries again"


def announce(
    session: Session,
    tx: Transaction,
    writes: Mapping[str, Entry | None],
    contents: Mapping[bytes, bytes] = NOTHING,
) -> None:
    """Put the files to be written on the list that survives a crash.

    `contents` are blobs at hand. Raises `InvalidInput` (`name_too_long`, `link_outside`, and
    what `paths.check` raises) and `NotFound` (`missing_object`) for one that could then not be
    written, and would keep all writers after this one waiting.
    """
    there = {path: entry for path, entry in writes.items() if entry}
    _refuse_missing(tx, {path: e.blob for path, e in there.items() if e.blob not in contents})
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


def _refuse_missing(tx: Transaction, wanted: Mapping[str, bytes]) -> None:
    """Refuse files whose content is not here; of what was redacted the list itself tells."""
    lost = tx.missing(set(wanted.values())) if wanted else set()
    lost.difference_update(tx.redacted(list(lost)) if lost else ())
    named = sorted(path for path, blob in wanted.items() if blob in lost)
    if named:
        shown = ", ".join(map(printable, named[:_NAMED]))
        more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
        raise NotFound(
            f"the store lacks the content of {shown}{more}",
            code="missing_object",
            hint="see `brain verify`, and restore the folder .brain from a copy",
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
            links.refuse_outside(path, session.reader.read_blob(entry.blob, entry.size))


def _refuse_ways(
    session: Session, there: Mapping[str, Entry], writes: Mapping[str, Entry | None]
) -> None:
    """Refuse files below a link, or below a file that these writes do not remove."""
    with opened(session.root) as root_fd, closing(Folders(root_fd)) as folders:
        for place in sorted({path.rpartition("/")[0] for path in there}):
            if writes.keys().isdisjoint(_and_above(place)):
                folders.missing(place)


def _and_above(place: str) -> list[str]:
    parts = place.split("/")
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
    """Write what a killed writer had recorded but not written.

    Raises `StoreError` (`foreign_pending`) if the list names what the head does not say.
    """
    agreed = of_head(session, rows)
    if agreed.foreign:
        raise _foreign(agreed.foreign)
    with _recorded("; `brain doctor --repair` gives it up"):
        files.write(session, _untouched(session, agreed.writes))
    session.store.settle()


def unwritten(session: Session, rows: list[Pending]) -> dict[str, Entry | None]:
    """Return what `finish` would write of a list: the files that nobody touched since.

    A file whose name no folder here can hold, as of a fork from elsewhere, is left out, and
    so is what the head does not say.
    """
    return _untouched(session, of_head(session, rows).writes)


class Agreed(NamedTuple):
    """A list of files to be written, held against the head.

    `writes` are notes with what the head has at their paths, and `foreign` the paths of
    those of which the head says otherwise.
    """

    writes: list[tuple[Pending, Entry | None]]
    foreign: list[str]


def of_head(session: Session, rows: list[Pending], head: bytes = EMPTY) -> Agreed:
    """Hold a list against the head that the folder is of: no store can add a file to it.

    `head` is that snapshot, if the caller has it.
    """
    writes: list[tuple[Pending, Entry | None]] = []
    foreign: list[str] = []
    bundle = session.bundle_of(head or session.folder_head()) if rows else bundles.EMPTY
    for row in rows:
        entry = bundles.get(session.nodes, bundle, row.path)
        said = (entry.kind, entry.blob) if entry else (0, EMPTY)
        if said == (row.kind, row.blob):
            writes.append((row, entry))
        else:
            foreign.append(row.path)
    return Agreed(writes, foreign)


def _foreign(paths: list[str]) -> StoreError:
    names = ", ".join(map(printable, paths[:_NAMED]))
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return StoreError(
        f"files noted as still to be written are not in the head: {names}{more}",
        code="foreign_pending",
        hint="`brain doctor --repair` drops the notes and names each",
    )


def _untouched(
    session: Session, writes: list[tuple[Pending, Entry | None]]
) -> dict[str, Entry | None]:
    left: dict[str, Entry | None] = {}
    longest = os.pathconf(session.root, "PC_NAME_MAX")
    for row, entry in writes:
        if _has_long_name(row.path, longest):
            continue
        now = _fingerprint_of(session, row.path)
        if now == EMPTY:  # of a file to be removed, the folders may still be there
            wanted = entry is None or row.before == EMPTY
        else:
            wanted = now == row.before and _is_recorded(session, row.path)
        if wanted:
            left[row.path] = entry
    return left


def _is_recorded(session: Session, path: str) -> bool:
    """Tell whether what a file holds now is in the store, or was redacted.

    A note may claim of any file that it is as it was. Nothing that only the folder has is
    overwritten or removed on the word of one.
    """
    try:
        found = folder.hashed(session, [reading.candidate(session.root, path)])
        (entry,) = found
    except InvalidInput:  # no file, or one that changes: an edit by hand
        return False
    return session.store.has(entry.blob) or bool(session.store.redacted([entry.blob]))


def write_or_drop(session: Session) -> Iterator[tuple[str, str]]:
    """Write what is on the list, file by file, and drop the rest; yield it, with the reason.

    The way out for a brain whose writers all fail at a file that cannot be written.
    """
    rows, damaged = session.store.pending_notes()
    yield from (("", reason) for reason in damaged)
    agreed = of_head(session, rows)
    yield from ((path, "the head does not say so") for path in agreed.foreign)
    for path, entry in _untouched(session, agreed.writes).items():
        try:
            files.write(session, {path: entry})
        except BrainError as error:
            yield path, error.message
    session.store.settle()


@contextmanager
def _recorded(way_out: str = "") -> Iterator[None]:
    """Say of what cannot be written that it is recorded, so that nobody does it twice."""
    try:
        yield
    except BrainError as error:
        error.hint = f"{error.hint or _AGAIN}{way_out}"
        raise


def _fingerprint_of(session: Session, path: str) -> bytes:
    """Return the fingerprint of a file of the folder, empty if there is none."""
    there = stats.at(os.path.join(session.root, path))
    return EMPTY if there is None else stats.fingerprint(there)
