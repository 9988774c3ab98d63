"""Restore files to their state at a revision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..errors import NotFound
from ..objects.bundle import Edits
from ..objects.collisions import require_portable
from ..objects.paths import check_path
from ..objects.tree_node import TreeEntry
from ..repo import working_copy
from ..repo.session import BrainState, Session
from ..repo.transaction import lock_for_writing, write_transaction
from ..repo.working_copy import find_redacted_paths
from ..results import Restored
from ..util.progress import Progress, no_progress


def restore(
    session: Session, rev: str, paths: Sequence[str] = (), progress: Progress | None = None
) -> Restored:
    """Restore files, by default all, or those at and below `paths`, from a revision.

    Files that were changed since the last snapshot are recorded first. Those that neither the
    head nor the revision has are not touched, nor are redacted ones. Raises `NotFound`
    (`no_path`) for a path that neither the revision nor the head has, and `InvalidInput` for
    a state that no folder can hold.
    """
    report = progress or no_progress
    wanted = [check_path(path.rstrip("/")) for path in paths]
    with lock_for_writing(session):
        source_id = session.resolve(rev)
        source = session.state_of(source_id)
        target = _select_entries(source, wanted)
        folder_scan = working_copy.scan_folder(session, report)
        description = f"restore {source_id.hex()[:12]}"
        with write_transaction(session, "restore", description, report) as txn:
            head = target if txn.state == source else _select_entries(txn.state, wanted)
            _refuse_unknown_paths(wanted, target, head)
            known = {*head, *target}
            stored = folder_scan.read(txn.store_tx, txn.state, among=known)
            differing = folder_scan.diff(txn.state, stored)
            folder_edits = {path: entry for path, entry in differing.items() if path in known}
            manual_edits: Edits = {
                path: entry
                for path, entry in folder_edits.items()
                if entry and entry != head.get(path)
            }
            txn.record_manual_edits(manual_edits)
            recorded = {**head, **manual_edits}
            redacted = find_redacted_paths(session, target.values())
            edits = _diff_entries(recorded, target, redacted)
            if edits:
                txn.record_snapshot(edits, ("restore", source_id))
            txn.writes = _diff_entries({**recorded, **folder_edits}, target, redacted)
            working_copy.refuse_skipped(folder_scan.scan.skipped, [*wanted, *txn.writes])
            # The folder is then as the head, but for files that the next scan reads anyhow: so it
            # need not read what is written here.
            if not (wanted or redacted or folder_scan.scan.skipped or differing.keys() - known):
                txn.fingerprints = {}
            require_portable(session.reader, BrainState(session), txn.state, txn.writes)
        if txn.fingerprints:
            removed = dict.fromkeys(path for path, entry in txn.writes.items() if entry is None)
            folder_scan.save(txn.state, {**removed, **txn.fingerprints})
    return Restored(
        snapshot=txn.head.hex(),
        written=sorted(path for path, entry in txn.writes.items() if entry is not None),
        removed=sorted(path for path, entry in txn.writes.items() if entry is None),
        redacted=sorted(redacted),
    )


def _diff_entries(
    now: Mapping[str, TreeEntry | None], target: Mapping[str, TreeEntry], redacted: set[str]
) -> Edits:
    return {
        path: target.get(path)
        for path in sorted({*now, *target} - redacted)
        if now.get(path) != target.get(path)
    }


def _refuse_unknown_paths(wanted: Sequence[str], *sides: Mapping[str, TreeEntry]) -> None:
    for path in wanted:
        if not any(p == path or p.startswith(path + "/") for side in sides for p in side):
            raise NotFound(
                f"neither the revision nor the head has {path}",
                code="no_path",
                hint="see `brain show REV`; give paths relative to the brain",
            )


def _select_entries(state: BrainState, wanted: Sequence[str]) -> Mapping[str, TreeEntry]:
    if not wanted:
        return {entry.path: entry for entry in state.walk()}
    return {entry.path: entry for path in wanted for entry in state.walk_below(path)}
