"""A merge that waits for decisions: what is kept of it, and its files with markers.

The head never moves onto an unresolved state, and neither does the folder: an
agent that reads its skills meanwhile sees them whole. The texts with markers lie
in `.brain/conflicts`, under the paths of the files they will become.
"""

from __future__ import annotations

import shutil
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from .. import limits
from ..digest import SIZE
from ..encoding import pack, unpack
from ..errors import BrainError, Conflict, InvalidInput, NotFound, StoreError, printable
from ..objects import paths
from ..objects.entry import FILE
from ..results import MergeConflict
from ..session import CONTROL, Session
from ..store.protocol import Transaction
from ..worktree import reading, writing
from ..worktree.folders import Folders, opened

if TYPE_CHECKING:  # a status, which asks for the merge that waits, merges nothing
    from ..merging.trees import Contest
    from .reconcile import Clash

FOLDER = "conflicts"
_KEY = "merge"


class Row(NamedTuple):
    """A conflict; blobs are b"" where a side has no file, `choice` is "" while it is open.

    `choice` may also be "content", for the content of the blob `chosen`.
    """

    path: str
    reason: str
    base: bytes
    ours: bytes
    theirs: bytes
    choice: str
    chosen: bytes


class Midst(NamedTuple):
    """A merge in its midst: what is merged, how it was called, where, and its conflicts.

    `by` is the command that began it: "merge" or "accept", of a proposal.
    """

    theirs: bytes
    name: str
    branch: str
    message: str
    rows: tuple[Row, ...]
    by: str = "merge"


def load(session: Session) -> Midst | None:
    """Return the merge that waits, or None."""
    data = session.reader.meta(_KEY)
    if not data:
        return None
    try:
        theirs, name, branch, message, rows, *by = unpack(data)  # early notes end with the rows
        midst = Midst(theirs, name, branch, message, tuple(Row(*row) for row in rows), *by)
        _check(midst)
    except (TypeError, ValueError, BrainError) as error:
        raise StoreError(
            "the note of a merge is damaged", hint="restore the folder .brain from a copy"
        ) from error
    return midst


def _check(midst: Midst) -> None:
    """Raise `ValueError` or `InvalidInput` for a note that no merge has written."""
    theirs, *texts, _, by = midst
    if type(theirs) is not bytes or {*map(type, texts), type(by)} != {str}:
        raise ValueError(theirs)
    for row in midst.rows:
        path, reason, *blobs, choice, chosen = row
        if {type(path), type(reason), type(choice)} != {str}:
            raise ValueError(path)
        if not all(type(blob) is bytes and len(blob) in (0, SIZE) for blob in (*blobs, chosen)):
            raise ValueError(path)
        paths.check(path)


def need(session: Session) -> Midst:
    """Return the merge that waits. Raises `NotFound` (`no_merge`)."""
    midst = load(session)
    if midst is None:
        raise NotFound("no merge waits for anything", code="no_merge", hint="see `brain merge`")
    return midst


def refuse(session: Session) -> None:
    """Raise `Conflict` (`merging`) in the midst of a merge."""
    midst = load(session)
    if midst is not None:
        raise Conflict(
            f"the merge of {printable(midst.name)} waits for decisions",
            code="merging",
            hint="see `brain status`; finish it with `brain merge --continue` or `--abort`",
        )


def save(tx: Transaction, midst: Midst | None) -> None:
    """Keep the state of a merge, or forget it."""
    tx.set_meta(_KEY, pack(tuple(midst)) if midst else b"")


def row_of(clash: Clash) -> Row:
    """Return a clash as it is kept, undecided."""
    path, *sides = clash.contest
    base, ours, theirs = (side.blob if side else b"" for side in sides)
    return Row(path, clash.reason, base, ours, theirs, "", b"")


def sides_of(row: Row) -> tuple[str, bytes, bytes, bytes]:
    """Return what a decision is about: it holds for no other contents."""
    return row.path, row.base, row.ours, row.theirs


def reason_of(contest: Contest) -> str:
    """Return why a contest that is decided already was one, as far as its sides tell."""
    if contest.ours is None or contest.theirs is None:
        return "deleted_by_ours" if contest.ours is None else "deleted_by_theirs"
    return "content"


def conflicts(session: Session) -> list[MergeConflict]:
    """Return the conflicts of the merge that waits, if any, by path."""
    midst = load(session)
    return described(session, midst.rows) if midst else []


def described(session: Session, rows: tuple[Row, ...]) -> list[MergeConflict]:
    """Return rows as results give them."""
    return [
        MergeConflict(
            row.path,
            row.reason,
            row.base.hex() or None,
            row.ours.hex() or None,
            row.theirs.hex() or None,
            row.choice or None,
            _name(row.path) if marked_file(session, row.path).is_file() else None,
        )
        for row in rows
    ]


def marked_file(session: Session, path: str) -> Path:
    """Return where the text with markers of a conflict lies."""
    return session.control / FOLDER / path


def _name(path: str) -> str:
    return f"{CONTROL}/{FOLDER}/{path}"


def read_marked(session: Session, path: str) -> bytes | None:
    """Return the text with markers of a conflict, None if there is none.

    Raises `InvalidInput` (`too_large`, and what `read_whole` raises).
    """
    file = marked_file(session, path)
    if file.is_symlink() or not file.is_file():
        return None
    most = limits.MAX_MERGED_BYTES
    content = reading.read_whole(session.control, f"{FOLDER}/{path}", most)
    if content is None:
        raise InvalidInput(f"{printable(path)} is too large to be merged", code="too_large")
    return content


def write_marked(session: Session, clashes: list[Clash], ours: str, theirs: str) -> None:
    """Write the texts with markers, replacing those of an earlier merge."""
    from ..merging import contents

    clear_marked(session)
    with opened(session.control) as control, closing(Folders(control)) as folders:
        for clash in clashes:
            if clash.draft is not None:
                text = contents.marked(clash.draft, ours, theirs)
                writing.replace(folders, f"{FOLDER}/{clash.contest.path}", FILE, text)


def clear_marked(session: Session) -> None:
    """Remove all texts with markers; a link in their place goes, what it leads to stays."""
    folder = session.control / FOLDER
    with suppress(OSError):
        folder.unlink()
    shutil.rmtree(folder, ignore_errors=True)
