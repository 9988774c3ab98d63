"""Read very many files into the store with forked child processes.

They read, hash, make cards and compress; this process puts their answers into the
store. What they do not answer for is left to the caller: large files, and groups of
files of which one could not be read.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from typing import Any

from ...objects.tree_entry import TreeEntry
from ...store.protocol import BlobPacking, StoreTransaction
from ...util.process_pool import MAX_QUEUED_JOBS, helper_count, run_jobs_in_children
from ...util.progress import Progress
from ...worktree import file_reader
from ...worktree.file_reader import STREAMED_FILE_BYTES
from ...worktree.walk import CandidateFile
from ..open.session import Session
from ..read import card_cache
from .blob_batch import BlobBatch

_MIN_GROUP_BYTES = 1 << 20
"""Content of the files that make one job, about."""
_SAMPLE_COUNT = 400
_MAX_SAMPLE_BYTES = 16 << 10
"""Files shown to the store before it packs many, and the bytes of the largest."""


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

    def work(number: int) -> tuple[Any, ...]:
        return _pack_group(session, packing, groups[number])

    with closing(run_jobs_in_children(children, len(groups), work)) as done_by_children:
        for number, (rows, cards, names, found) in done_by_children:
            packing.insert(rows)
            card_cache.stage_cards(session, cards)
            session.declared_names.update(names)
            group = groups.pop(number)
            for candidate, (kind, blob, size, fingerprint) in zip(group, found, strict=True):
                fingerprints[candidate.path] = fingerprint or candidate.fingerprint
                yield TreeEntry(candidate.path, kind, blob, size)
            done += len(group)
            progress("reading", done, total)
    large = [candidate for candidate in candidates if candidate.size >= STREAMED_FILE_BYTES]
    return [*(candidate for group in groups.values() for candidate in group), *large]


def _read_samples(session: Session, small: list[CandidateFile]) -> list[bytes]:
    some = [c for c in small if c.size <= _MAX_SAMPLE_BYTES]
    read = file_reader.read_candidates(session.root, some[:: max(len(some) // _SAMPLE_COUNT, 1)])
    return [content for _, content in read if isinstance(content, bytes)]


def _split_into_groups(small: list[CandidateFile]) -> list[list[CandidateFile]]:
    size = sum(candidate.size for candidate in small)
    least = max(_MIN_GROUP_BYTES, size // (MAX_QUEUED_JOBS - 1) + 1)
    groups: list[list[CandidateFile]] = [[]]
    held = 0
    for candidate in small:
        if held >= least:
            groups.append([])
            held = 0
        groups[-1].append(candidate)
        held += candidate.size
    return groups


def _pack_group(
    session: Session, packing: BlobPacking, group: list[CandidateFile]
) -> tuple[Any, ...]:
    """Return rows, cards, unusual names, and of each file what it was while it was read."""
    session.declared_names.clear()
    batch = BlobBatch(session)
    found: list[tuple[int, bytes, int, bytes]] = []
    read = file_reader.read_candidates(session.root, group)
    for candidate, (now, content) in zip(group, read, strict=True):
        if not isinstance(content, bytes):
            raise ValueError("grown large since it was seen")
        blob = batch.add(now.path, content)
        known = b"" if now is candidate else now.fingerprint
        found.append((now.kind, blob, len(content), known))
    return packing.pack(batch.blobs), batch.cards, session.declared_names, found
