"""Bringing files back to what they were at a revision."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ..errors import NotFound, printable
from ..objects import bundle as bundles
from ..objects import operation, paths
from ..objects.bundle import Bundle
from ..objects.entry import Entry
from ..results import Restored
from ..session import Session
from . import folder, loading
from .byhand import record_by_hand
from .files import Progress, no_progress
from .holdable import refuse_unholdable
from .redacted import left_out
from .revisions import resolve
from .turn import Turn, locked, recording

Edits = dict[str, Entry | None]


def restore(
    session: Session, revision: str, wanted: Sequence[str] = (), progress: Progress = no_progress
) -> Restored:
    """Make files, all or those at or below the paths `wanted`, as they were at `revision`.

    What would be overwritten unrecorded is recorded first. Files the head does not
    know are left alone unless the revision has them, and so is what was redacted. Raises
    `NotFound` (`no_path`) for a path that neither the revision nor the head knows, and
    `InvalidInput` for what no folder can hold, also if the head has it already.
    """
    wanted = [paths.check(path.rstrip("/")) for path in wanted]
    with locked(session):
        source = resolve(session, revision)
        target = _select(session, session.bundle_of(source), wanted)
        seen = folder.look(session, progress)
        with recording(session, "restore", f"restore {source.hex()[:12]}", progress) as mine:
            head = _select(session, mine.bundle, wanted)
            _check_known(wanted, target, head)
            disk = _on_disk(mine, seen, {*head, *target})
            unseen: Edits = {
                path: entry for path, entry in disk.items() if entry and entry != head.get(path)
            }
            record_by_hand(mine, unseen)
            known = {**head, **unseen}
            gone = left_out(session, target.values())
            edits = _towards(known, target, gone)
            if edits:
                mine.commit(edits, operation.restore(source))
            mine.writes = _towards({**known, **disk}, target, gone)
            refuse_unholdable(session, bundles.EMPTY, mine.bundle, mine.writes)
    return restored(mine.head, mine.writes, gone)


def _towards(now: Mapping[str, Entry | None], target: Mapping[str, Entry], gone: set[str]) -> Edits:
    return {
        path: target.get(path)
        for path in sorted({*now, *target} - gone)
        if now.get(path) != target.get(path)
    }


def _on_disk(mine: Turn, seen: folder.Look, known: set[str]) -> Edits:
    """Return where the folder, at the `known` paths, differs from the head; stores content."""
    session = mine.session
    changed = [candidate for candidate in seen.found.changed if candidate.path in known]
    entries = loading.stored(session, mine.tx, mine.bundle, changed)
    edits = folder.edits(session, seen, mine.bundle, entries)
    return {path: entry for path, entry in edits.items() if path in known}


def _check_known(wanted: Sequence[str], *sides: Mapping[str, Entry]) -> None:
    for path in wanted:
        if not any(p == path or p.startswith(path + "/") for side in sides for p in side):
            raise NotFound(
                f"no file or folder {printable(path)} in that revision or the head",
                code="no_path",
                hint="see `brain show REV`, and give paths relative to the brain",
            )


def _select(session: Session, bundle: Bundle, wanted: Sequence[str]) -> Mapping[str, Entry]:
    """Return the entries at or below the paths `wanted`; all of them if none are."""
    if not wanted:
        return {entry.path: entry for entry in bundles.walk(session.nodes, bundle)}
    return {
        entry.path: entry for path in wanted for entry in bundles.below(session.nodes, bundle, path)
    }


def restored(
    head: bytes, writes: Mapping[str, Entry | None], redacted: Collection[str] = ()
) -> Restored:
    """Return the outcome of writing files; `redacted` are those left out."""
    return Restored(
        head.hex(),
        sorted(path for path, entry in writes.items() if entry is not None),
        sorted(path for path, entry in writes.items() if entry is None),
        sorted(redacted),
    )
