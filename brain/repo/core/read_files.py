"""Read files into the store."""

from __future__ import annotations

from collections.abc import Generator

from ...digest import blob_id
from ...objects import bundle as bundles
from ...objects.bundle import Bundle
from ...objects.tree_entry import TreeEntry
from ...store.protocol import StoreTransaction
from ...worktree import file_reader
from ...worktree.file_reader import STREAMED_FILE_BYTES
from ...worktree.walk import CandidateFile
from ..open.session import Session
from ..read import card_cache, skill_rows
from .checkout import Progress, no_progress

READ_BATCH_BYTES = 1 << 20
"""Content read, and handed to the store, at a time."""
_MIN_PARALLEL_BYTES = 8 << 20
"""Content of small files from which on forked children pay."""


def store_files(
    session: Session,
    tx: StoreTransaction,
    base: Bundle,
    candidates: list[CandidateFile],
    proven: dict[str, bytes] | None = None,
    progress: Progress = no_progress,
) -> Generator[TreeEntry, None, None]:
    """Yield the entries of files, read and put into the store; `base` is what was there.

    Notes in `proven` the fingerprint each file had while it was read. Close the
    generator if it is not used up. Raises as `reading.read_many` does.
    """
    fingerprints = {} if proven is None else proven
    total = len(candidates)
    if _total_small_bytes(candidates) >= _MIN_PARALLEL_BYTES:
        from .parallel_read import store_files_in_parallel

        candidates = yield from store_files_in_parallel(
            session, tx, candidates, fingerprints, progress
        )
    batch: list[tuple[bytes, bytes]] = []
    cards: list[tuple[bytes, bytes]] = []
    waiting = 0
    done = total - len(candidates)
    for candidate, content in file_reader.read_candidates(session.root, candidates):
        done += 1
        fingerprints[candidate.path] = candidate.fingerprint
        if isinstance(content, file_reader.LargeFile):
            was = bundles.get_entry(session.nodes, base, candidate.path)
            blob = tx.put_blob_stream(content.raw, content.size, was.blob if was else None)
            content.verify_unchanged()
            yield TreeEntry(candidate.path, candidate.kind, blob, content.size)
            continue
        blob = blob_id(content)
        yield TreeEntry(candidate.path, candidate.kind, blob, len(content))
        batch.append((blob, content))
        waiting += len(content)
        if skill_rows.may_be_skill(candidate.path):
            cards.append(card_cache.build_card_row(session, candidate.path, blob, content))
        if waiting >= READ_BATCH_BYTES:
            tx.put_blobs(batch)
            card_cache.stage_cards(session, cards)
            batch, cards, waiting = [], [], 0
            progress("reading", done, total)
    tx.put_blobs(batch)
    card_cache.stage_cards(session, cards)


def _total_small_bytes(candidates: list[CandidateFile]) -> int:
    return sum(candidate.size for candidate in candidates if candidate.size < STREAMED_FILE_BYTES)
