"""Pending writes: files that a transaction must still write, listed durably in the store.

The list survives a crash, and the next writer finishes it. A file whose content somebody changed
in between is not written: it is a manual edit.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from itertools import chain

from ...digest import NO_DIGEST
from ...errors import BrainError, InvalidInput, NotFound, StoreError, printable_text
from ...folder import handles, read
from ...folder.handles import UNREADABLE, FolderHandles, open_root, unreadable_error
from ...objects import bundle as bundles
from ...objects import paths
from ...objects.bundle import Bundle
from ...objects.tree_node import LINK, TreeEntry
from ...store.rows import PendingWrite, StoreTransaction
from ...util.progress import Progress, no_progress
from ..log_entry import check_against_head, decode_log_entry
from ..open.session import Session
from . import working_copy
from .working_copy import NO_CONTENTS

_RETRY_HINT = "this change is recorded; the next command that writes tries again"
_WAITING_HINT = (
    "it is of an earlier change, which is recorded; until it is written, or `brain doctor --repair`"
    " drops it, no command records another, and this one did nothing"
)


def add_pending_writes(
    session: Session,
    tx: StoreTransaction,
    writes: Mapping[str, TreeEntry | None],
    contents: Mapping[bytes, bytes] = NO_CONTENTS,
) -> None:
    """Add the files to be written to the list.

    `contents` has blobs in memory. Raises `InvalidInput` (`name_too_long`, `link_outside`, and
    as `paths.check_path`) and `NotFound` (`missing_object`) for a file that could not be
    written, which would block all later writers.
    """
    added = {path: entry for path, entry in writes.items() if entry}
    _refuse_missing_blobs(tx, {path: e.blob for path, e in added.items() if e.blob not in contents})
    refuse_long_names(session, added)
    _refuse_unsafe_paths(session, added)
    _refuse_blocked_parents(session, added, writes)
    tx.add_pending_writes(
        [
            PendingWrite(
                path,
                entry.kind if entry else 0,
                entry.blob if entry else NO_DIGEST,
                _file_fingerprint(session, path),
            )
            for path, entry in writes.items()
        ]
    )


def _refuse_missing_blobs(tx: StoreTransaction, wanted: Mapping[str, bytes]) -> None:
    lost = tx.find_missing(set(wanted.values())) if wanted else set()
    lost.difference_update(tx.find_redactions(list(lost)) if lost else ())
    named = sorted(path for path, blob in wanted.items() if blob in lost)
    if named:
        raise NotFound(
            f"the store lacks the content of {working_copy.name_files(named)}",
            code="missing_object",
            hint="see `brain verify`, and restore the folder .brain from a copy",
        )


def refuse_long_names(session: Session, wanted: Iterable[str]) -> None:
    """Refuse names that the file system of the folder cannot hold, though a brain can.

    Raises `InvalidInput` (`name_too_long`).
    """
    longest = os.pathconf(session.root, "PC_NAME_MAX")
    for path in wanted:
        if _has_long_name(path, longest):
            raise InvalidInput(
                f"the name of {printable_text(path)} is longer than {longest} bytes",
                code="name_too_long",
                hint="choose a shorter one: the file system of this folder cannot hold it",
            )


def _refuse_unsafe_paths(session: Session, added: Mapping[str, TreeEntry]) -> None:
    for path, entry in added.items():
        paths.check_path(path)
        if entry.kind == LINK:
            handles.check_link_inside(path, session.reader.read_blob(entry.blob, entry.size))


def _refuse_blocked_parents(
    session: Session, added: Mapping[str, TreeEntry], writes: Mapping[str, TreeEntry | None]
) -> None:
    """Refuse files below a link, or below a file that these writes do not remove."""
    with open_root(session.root) as root_fd, closing(FolderHandles(root_fd)) as folders:
        for place in sorted({path.rpartition("/")[0] for path in added}):
            if writes.keys().isdisjoint(_path_and_parents(place)):
                folders.find_missing_folder(place)


def _path_and_parents(place: str) -> list[str]:
    parts = place.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts) + 1)]


def _has_long_name(path: str, longest: int) -> bool:
    raw = path.encode()
    return len(raw) > longest and any(len(part) > longest for part in raw.split(b"/"))


def apply_pending_writes(
    session: Session,
    writes: Mapping[str, TreeEntry | None],
    progress: Progress = no_progress,
    contents: Mapping[bytes, bytes] = NO_CONTENTS,
) -> None:
    """Write files from the list, then clear it."""
    if writes:
        with _add_hint(_RETRY_HINT):
            working_copy.write_files(session, writes, progress, contents)
        session.store.clear_pending_writes()


def recover_pending_writes(session: Session, rows: list[PendingWrite]) -> None:
    """Write the files that a killed writer recorded but did not write.

    Raises `StoreError` (`foreign_pending`) if a row disagrees with the head.
    """
    checked = check_against_head(session, rows)
    if checked.not_in_head:
        raise _foreign_pending_error(checked.not_in_head)
    with _add_hint(_WAITING_HINT):
        working_copy.write_files(session, _select_untouched(session, checked.writes))
    session.store.clear_pending_writes()


def find_pending_writes(session: Session, rows: list[PendingWrite]) -> dict[str, TreeEntry | None]:
    """Return the pending writes that `recover_pending_writes` would carry out, or would fail at.

    Left out are files that were edited since, names that this file system cannot hold, and
    rows that disagree with the head.
    """
    checked = check_against_head(session, rows)
    try:
        return _select_untouched(session, checked.writes)
    except InvalidInput:  # none is written before that file can be read
        return {row.path: entry for row, entry in checked.writes}


def _foreign_pending_error(paths: list[str]) -> StoreError:
    return StoreError(
        f"pending writes to {working_copy.name_files(paths)} are not in the head",
        code="foreign_pending",
        hint="`brain doctor --repair` drops them and names each",
    )


def _select_untouched(
    session: Session, writes: list[tuple[PendingWrite, TreeEntry | None]]
) -> dict[str, TreeEntry | None]:
    untouched: dict[str, TreeEntry | None] = {}
    longest = os.pathconf(session.root, "PC_NAME_MAX")
    known = _load_bundles_of_last_operation(session) if writes else []
    for row, entry in writes:
        if _has_long_name(row.path, longest):
            continue
        now = _file_fingerprint(session, row.path)
        if now == NO_DIGEST:  # of a file to be removed, the folders may still be there
            wanted = entry is None or row.before == NO_DIGEST
        else:
            recorded = [bundles.get_entry(session.nodes, bundle, row.path) for bundle in known]
            blobs = {entry.blob for entry in recorded if entry}
            wanted = _is_content_stored(session, row.path, None if now == row.before else blobs)
        if wanted:
            untouched[row.path] = entry
    return untouched


def _load_bundles_of_last_operation(session: Session) -> list[Bundle]:
    """Return the states that the last operation came from and led to.

    A file with its content of one of them was not edited, whatever became of its times and rights.
    """
    for row in session.reader.stream_operations():
        logged = decode_log_entry(row)
        moves = (move for _, *move in logged.refs)
        snapshots = {logged.files_moved[0], *chain.from_iterable(moves)} - {NO_DIGEST}
        return [session.bundle_of(snapshot) for snapshot in sorted(snapshots)]
    return []


def _is_content_stored(session: Session, path: str, among: Container[bytes] | None) -> bool:
    """Tell whether the present content of a file is in the store, or was redacted.

    It must be one of the blobs `among`, if these are given. Raises `InvalidInput` if it cannot be
    read. A forged row may give any fingerprint, and a planted blob any content. So content that
    exists in the folder alone is never overwritten or removed, whatever the rows say.
    """
    try:
        candidate = read.lstat_candidate(session.root, path)
        (entry,) = working_copy.hash_files(session, [candidate])
        if among is not None and entry.blob not in among:
            return False
    except InvalidInput as error:
        if error.code == UNREADABLE:
            raise
        return False  # not a regular file, or changing: a manual edit
    try:
        for _ in session.store.stream_blob(entry.blob, entry.size):
            pass  # the stream compares the content with the id
    except (StoreError, NotFound):
        return bool(session.store.find_redactions([entry.blob]))
    return True


def write_or_drop_pending(session: Session) -> Iterator[tuple[str, str]]:
    """Carry out pending writes one by one; drop those that fail, and yield them with the reason.

    Repairs a brain whose writers all fail at one file that cannot be written.
    """
    rows, damaged = session.store.inspect_pending_writes()
    yield from (("", reason) for reason in damaged)
    checked = check_against_head(session, rows)
    yield from ((path, "the head disagrees") for path in checked.not_in_head)
    for path, entry in _select_untouched(session, checked.writes).items():
        try:
            working_copy.write_files(session, {path: entry})
        except BrainError as error:
            yield path, error.message
    session.store.clear_pending_writes()


@contextmanager
def _add_hint(hint: str) -> Iterator[None]:
    """Add to an error about writing files what is recorded."""
    try:
        yield
    except BrainError as error:
        error.hint = "; ".join(filter(None, (error.hint, hint)))
        raise


def _file_fingerprint(session: Session, path: str) -> bytes:
    try:
        added = handles.lstat_or_none(os.path.join(session.root, path))
    except OSError as error:
        raise unreadable_error(path, error) from error
    return NO_DIGEST if added is None else handles.fingerprint_of(added)
