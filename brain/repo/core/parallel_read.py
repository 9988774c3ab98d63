"""Read very many files into the store with forked child processes.

The children read, hash and compress files and make skill cards; this process stores their
results. The caller reads the other files: large ones, and groups of which one file could not
be read.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from typing import Any

from ...folder import read
from ...folder.read import STREAMED_FILE_BYTES, CandidateFile
from ...objects.tree_node import TreeEntry
from ...store.rows import BlobPacking, StoreTransaction
from ...util.process_pool import MAX_QUEUED_JOBS, helper_count, run_jobs_in_children
from ...util.progress import Progress
from .. import lineage_cache
from ..open.session import Session
from .blob_batch import BlobBatch

_MIN_GROUP_BYTES = 1 << 20
"""Approximate content of the files of one job."""
_SAMPLE_COUNT = 400
_MAX_SAMPLE_BYTES = 16 << 10
"""Files that the store learns its compression from, and the bytes of the largest."""


def store_files_in_parallel(
    session: Session,
    tx: StoreTransaction,
    candidates: list[CandidateFile],
    fingerprints: dict[str, bytes],
    progress: Progress,
) -> Generator[TreeEntry, None, list[CandidateFile]]:
    """Yield the entries of files that children read; return those still to be read."""
    children = helper_count()
    small = [candidate for candidate in candidates if candidate.size < STREAMED_FILE_BYTES]
    packing = tx.get_packing(_read_samples(session, small)) if children else None
    if packing is None:
        return candidates
    groups: dict[int, list[CandidateFile]] = dict(enumerate(_split_into_groups(small)))
    total, done = len(candidates), 0

    def pack_group(number: int) -> tuple[Any, ...]:
        return _pack_group(session, packing, groups[number])

    with closing(run_jobs_in_children(children, len(groups), pack_group)) as done_by_children:
        for number, (rows, cards, names, entries) in done_by_children:
            packing.insert(rows)
            lineage_cache.stage_cards(session, cards)
            session.declared_names.update(names)
            group = groups.pop(number)
            for candidate, (kind, blob, size, fingerprint) in zip(group, entries, strict=True):
                fingerprints[candidate.path] = fingerprint or candidate.fingerprint
                yield TreeEntry(candidate.path, kind, blob, size)
            done += len(group)
            progress("reading", done, total)
    large = [candidate for candidate in candidates if candidate.size >= STREAMED_FILE_BYTES]
    return [*(candidate for group in groups.values() for candidate in group), *large]


def _read_samples(session: Session, small: list[CandidateFile]) -> list[bytes]:
    some = [c for c in small if c.size <= _MAX_SAMPLE_BYTES]
    some = some[:: max(len(some) // _SAMPLE_COUNT, 1)]
    contents = read.read_candidates(session.root, some, {})
    return [content for _, content in contents if isinstance(content, bytes)]


def _split_into_groups(small: list[CandidateFile]) -> list[list[CandidateFile]]:
    size = sum(candidate.size for candidate in small)
    min_bytes = max(_MIN_GROUP_BYTES, size // (MAX_QUEUED_JOBS - 1) + 1)
    groups: list[list[CandidateFile]] = [[]]
    group_bytes = 0
    for candidate in small:
        if group_bytes >= min_bytes:
            groups.append([])
            group_bytes = 0
        groups[-1].append(candidate)
        group_bytes += candidate.size
    return groups


def _pack_group(
    session: Session, packing: BlobPacking, group: list[CandidateFile]
) -> tuple[Any, ...]:
    """Return blob rows, cards, declared names, and kind, blob, size, fingerprint by file."""
    session.declared_names.clear()
    batch = BlobBatch(session)
    entries: list[tuple[int, bytes, int, bytes]] = []
    contents = read.read_candidates(session.root, group)
    for candidate, (now, content) in zip(group, contents, strict=True):
        if not isinstance(content, bytes):
            raise ValueError("the file grew large after the scan")
        blob = batch.add(now.path, content)
        known = b"" if now is candidate else now.fingerprint
        entries.append((now.kind, blob, len(content), known))
    return packing.pack(batch.blobs), batch.cards, session.declared_names, entries
