"""Find manual edits before a command or a tool shows, signs, proves or commits the state.

As jj does: what is shown is the folder as it is, and nothing is signed that differs from it.
What only looks whether there are edits loads nothing that writes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import Conflict
from ..named_tuple import NamedTuple
from ..repo import working_copy
from ..repo.session import BrainState, Session, head_ref
from ..results import Notice, Recorded
from ..trust import POLICY_PATH
from ..util.progress import Progress, no_progress

if TYPE_CHECKING:
    from ..objects.bundle import Edits
    from ..repo.working_copy import FolderScan

RECORDED_FIRST = "record edits"
"""The description, in the operation log, of a snapshot that a command took before it went on."""
WATCHED = "watch"
"""The same of one that a watcher took."""
AUTOMATIC = (RECORDED_FIRST, WATCHED)
MANY_FILES = 10_000
_NAMED_DIGITS = 12


def is_large(session: Session) -> bool:
    """Tell whether a scan of the folder takes so long that a watcher should spare it."""
    return session.at().totals.files > MANY_FILES


class FoundEdits(NamedTuple):
    """Where the folder differs from the head: "" for anywhere, None for nowhere.

    `notices` say what was left out of the comparison.
    """

    place: str | None
    notices: list[Notice]


def find_edits(session: Session, skill: str = "") -> FoundEdits:
    """Find where the folder differs from the head.

    With `skill`, only its files are read if the head has it, and the place is its folder, or the
    file of a flat one. A proposal has no folder. Raises `Conflict` (`unsigned_edits`) in a brain
    with a trust file if this session has no key to sign with.
    """
    if not session.has_folder:
        return FoundEdits(None, [])
    head = session.at()
    place = ""
    if skill:
        from ..repo.find_skill import Skills

        found = Skills(head).find_or_none(skill)
        place = (found.folder or found.path).rstrip("/") if found else ""
    notices: list[Notice] = []
    if place:
        if not _has_edits(head, place):
            return FoundEdits(None, [])
    else:
        folder_scan, edits, pending = compare_folder(head, no_progress)
        notices = folder_scan.notices
        if drop_redacted(head, edits).keys() <= pending.keys():
            if folder_scan.scan.changed and not edits:  # or each is read again the next time
                folder_scan.save(head)
            return FoundEdits(None, notices)
    if session.sign_with is None and head.has(POLICY_PATH):
        raise Conflict(
            "edits of the folder are not recorded: they need a signature, and no key is chosen",
            code="unsigned_edits",
            hint="choose one with `brain config sign`, or record them without by `brain snapshot`",
        )
    return FoundEdits(place, notices)


def drop_redacted(before: BrainState, edits: Edits) -> Edits:
    """Leave out removals of files that the folder lacks because their content was redacted."""
    gone = working_copy.find_redacted_paths(
        before.session,
        (before.get(path) for path, entry in edits.items() if entry is None),
    )
    return {path: entry for path, entry in edits.items() if path not in gone}


def nothing_recorded(session: Session, notices: list[Notice]) -> Recorded:
    """Return the result of a recording that found no edits."""
    head = session.head()
    snapshot = session.load_snapshot(head)
    parents = [parent.hex() for parent in snapshot.parents]
    unchanged = (head.hex(), snapshot.bundle.hex(), parents, False, 0, 0, 0)
    return Recorded(*unchanged, notices, None)


def compare_folder(target: BrainState, progress: Progress) -> tuple[FolderScan, Edits, Edits]:
    """Return the scan of the folder, its edits of `target`, and the pending ones among these."""
    session = target.session
    folder_scan = working_copy.scan_folder(session, progress)
    return folder_scan, folder_scan.diff(target), _pending_writes(session)


def _pending_writes(session: Session) -> Edits:
    rows = session.reader.list_pending_writes()
    if not rows:  # as always but after a kill: what reads starts faster without what writes
        return {}
    from ..repo.transaction import find_pending_writes

    return find_pending_writes(session, rows)


def _has_edits(head: BrainState, place: str) -> bool:
    """Tell whether the folder differs from the head at or below a path."""
    pending = _pending_writes(head.session)
    edits = working_copy.scan_folder(head.session, only=[place]).diff(head)
    edits = {path: entry for path, entry in edits.items() if path not in pending}
    return bool(drop_redacted(head, edits))


def name_recorded_first(session: Session) -> str:
    """Return what a message without changes is about: edits that were recorded before it.

    Without it, the message that a person has for their edits would be lost once a command
    had recorded these. "" if the last operation recorded something else.
    """
    from ..repo.log_entry import decode_log_entry

    ref, head = head_ref(session.current_branch()), session.head()
    named: list[str] = []
    for row in session.reader.stream_operations():
        entry = decode_log_entry(row)
        old, new = next(((old, new) for name, old, new in entry.refs if name == ref), (b"", b""))
        if entry.description not in AUTOMATIC or new != head:
            break
        named.append(head.hex()[:_NAMED_DIGITS])
        head = old
    if not named:
        return ""
    return f"\n\nNames {named[-1]}" + (f" to {named[0]}" if len(named) > 1 else "")
