"""Import the state of another program's files, recorded on a branch of its own.

The branch follows the source, so merging it brings in only what changed at the source since
the last import. Importing does not write to the folder; the merge does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from ..digest import NO_DIGEST, blob_id
from ..objects import collisions, operation, paths
from ..objects.tree_node import TreeEntry
from ..repo import working_copy
from ..repo.session import Session, head_ref
from ..repo.transaction import (
    WriteTransaction,
    lock_for_writing,
    log_operation,
    store_transaction,
)
from ..repo.working_copy import BlobBatch
from ..results import Imported, Notice
from . import snapshot
from .branches import check_branch_name

BRAIN_OWNED_FILES = frozenset({"manifest.yaml", ".brainignore", "trust.json"})
"""Files that configure the brain: an import neither removes them nor takes them over."""


class SourceFile(NamedTuple):
    """A file of a source: `kind` as in `TreeEntry`; of a link, `content` is its target."""

    kind: int
    content: bytes


SourceFiles = Iterable[tuple[str, SourceFile | None]]
"""Paths of the brain with the file there, or None for a removed one."""


class ImportSource(NamedTuple):
    """A source: its kind, such as `hermes`, its name, and the branch for its states."""

    kind: str
    name: str
    branch: str


def is_redacted(session: Session, content: bytes) -> bool:
    """Tell whether this content was redacted: then it is not stored again."""
    return bool(session.reader.find_redactions([blob_id(content)]))


def _keep_none(_: str) -> bool:
    return False


def record_state(
    session: Session,
    source: ImportSource,
    files: SourceFiles,
    message: str = "",
    *,
    revision: str = "",
    keeps: Callable[[str], bool] = _keep_none,
) -> Imported:
    """Record the files of a source, which are iterated once, on its branch.

    Other files there are removed, unless they configure the brain or `keeps`, asked after
    `files`, says of their path that they exist. `revision` names the state at its source. A
    state without changes is not recorded. Of paths that macOS and Windows cannot distinguish,
    the later one is left out with a notice. Raises `InvalidInput` for an invalid path or text.
    """
    ref = head_ref(check_branch_name(source.branch))
    with lock_for_writing(session), store_transaction(session) as tx:
        txn = WriteTransaction(session, tx)
        before = session.reader.read_ref(ref)
        txn.move_head(before or session.brain_id())
        edits = dict(_store_files(txn, files))
        for path in [entry.path for entry in txn.state.walk() if entry.path not in edits]:
            if path not in BRAIN_OWNED_FILES and not keeps(path):
                edits[path] = None
        edits, left_out = collisions.split_edits(
            txn.state, working_copy.drop_unchanged_edits(txn.state, edits)
        )
        if edits:
            action = operation.import_operation(source.kind, source.name, revision)
            txn.record_snapshot(edits, action, message, is_external=True)
        if txn.head != before:
            tx.update_ref(ref, before, txn.head)
            moved = [(ref, before or NO_DIGEST, txn.head)]
            log_operation(session, tx, "import", f"import {source.name}", moved)
    reason = "differs from another name only in a way that macOS or Windows ignores"
    left = [Notice("case_collision", path, reason) for path in left_out]
    return Imported(txn.head.hex(), source.branch, int(bool(edits)), left)


def record_folder(session: Session, source: ImportSource, message: str = "") -> Imported:
    """Record the folder of this brain, which another program shares."""
    action = operation.import_operation(source.kind, source.name)
    recorded = snapshot.record_folder(
        session, lambda *_: message, message or "import", action=action
    )
    return Imported(recorded.snapshot, session.current_branch(), int(recorded.changed), [])


def _store_files(
    txn: WriteTransaction, files: SourceFiles
) -> Iterator[tuple[str, TreeEntry | None]]:
    batch = BlobBatch(txn.session)
    for path, file in files:
        paths.check_path(path)
        if file is None:
            yield path, None
            continue
        yield path, TreeEntry(path, file.kind, batch.add(path, file.content), len(file.content))
        if batch.is_full():
            batch.store(txn.store_tx)
    batch.store(txn.store_tx)
