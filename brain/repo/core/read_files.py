"""Read files into the store."""

from __future__ import annotations

from collections.abc import Generator

from ...errors import InvalidInput
from ...folder import read
from ...folder.read import STREAMED_FILE_BYTES, CandidateFile
from ...objects import bundle as bundles
from ...objects.bundle import Bundle
from ...objects.tree_node import TreeEntry
from ...store.rows import StoreTransaction
from ...util.progress import Progress, no_progress
from ..open.session import Session
from .blob_batch import BlobBatch

_MIN_PARALLEL_BYTES = 8 << 20
"""The total size of small files from which on forked child processes read them faster."""


def store_files(
    session: Session,
    tx: StoreTransaction,
    base: Bundle,
    candidates: list[CandidateFile],
    read_fingerprints: dict[str, bytes] | None = None,
    progress: Progress = no_progress,
    skipped: dict[str, InvalidInput] | None = None,
) -> Generator[TreeEntry, None, None]:
    """Yield the entries of files, read and put into the store; `base` is the bundle before.

    Adds to `read_fingerprints` the fingerprint that each file had while it was read. Close
    the generator if it is not used up. `skipped` is as for `file_reader.read_candidates`, which
    raises the same.
    """
    fingerprints = {} if read_fingerprints is None else read_fingerprints
    total = len(candidates)
    small_sizes = (each.size for each in candidates if each.size < STREAMED_FILE_BYTES)
    if sum(small_sizes) >= _MIN_PARALLEL_BYTES:
        from .parallel_read import store_files_in_parallel

        candidates = yield from store_files_in_parallel(
            session, tx, candidates, fingerprints, progress
        )
    batch = BlobBatch(session)
    done = total - len(candidates)
    for candidate, content in read.read_candidates(session.root, candidates, skipped):
        done += 1
        fingerprints[candidate.path] = candidate.fingerprint
        if isinstance(content, read.LargeFile):
            was = bundles.get_entry(session.nodes, base, candidate.path)
            blob = tx.put_blob_stream(content.raw, content.size, was.blob if was else None)
            content.verify_unchanged()
            yield TreeEntry(candidate.path, candidate.kind, blob, content.size)
            continue
        blob = batch.add(candidate.path, content)
        yield TreeEntry(candidate.path, candidate.kind, blob, len(content))
        if batch.is_full():
            batch.store(tx)
            progress("reading", done, total)
    batch.store(tx)
