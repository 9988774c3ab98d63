"""Reading files into the store."""

from __future__ import annotations

from collections.abc import Generator

from ..digest import blob_id
from ..objects import bundle as bundles
from ..objects.bundle import Bundle
from ..objects.entry import Entry
from ..session import Session
from ..store.protocol import Transaction
from ..worktree import reading
from ..worktree.reading import LARGE
from ..worktree.walk import Candidate
from . import derived
from .files import Progress, no_progress

BATCH_BYTES = 1 << 20
"""Content read, and handed to the store, at a time."""
_SHARED_BYTES = 8 << 20
"""Content of small files from which on forked children pay."""


def stored(
    session: Session,
    tx: Transaction,
    base: Bundle,
    candidates: list[Candidate],
    proven: dict[str, bytes] | None = None,
    progress: Progress = no_progress,
) -> Generator[Entry, None, None]:
    """Yield the entries of files, read and put into the store; `base` is what was there.

    Notes in `proven` the fingerprint each file had while it was read. Close the
    generator if it is not used up. Raises as `reading.read_many` does.
    """
    noted = {} if proven is None else proven
    total = len(candidates)
    if _small_bytes(candidates) >= _SHARED_BYTES:
        from .sharing import shared

        candidates = yield from shared(session, tx, candidates, noted, progress)
    batch: list[tuple[bytes, bytes]] = []
    cards: list[tuple[bytes, bytes]] = []
    waiting = 0
    done = total - len(candidates)
    for candidate, content in reading.read_many(session.root, candidates):
        done += 1
        noted[candidate.path] = candidate.fingerprint
        if isinstance(content, reading.LargeFile):
            was = bundles.get(session.nodes, base, candidate.path)
            blob = tx.put_stream(content.raw, content.size, was.blob if was else None)
            content.verify_unchanged()
            yield Entry(candidate.path, candidate.kind, blob, content.size)
            continue
        blob = blob_id(content)
        yield Entry(candidate.path, candidate.kind, blob, len(content))
        batch.append((blob, content))
        waiting += len(content)
        if derived.may_be_skill(candidate.path):
            cards.append(derived.card_row(session, candidate.path, blob, content))
        if waiting >= BATCH_BYTES:
            tx.put_blobs(batch)
            derived.keep_cards(session, cards)
            batch, cards, waiting = [], [], 0
            progress("reading", done, total)
    tx.put_blobs(batch)
    derived.keep_cards(session, cards)


def _small_bytes(candidates: list[Candidate]) -> int:
    return sum(candidate.size for candidate in candidates if candidate.size < LARGE)
