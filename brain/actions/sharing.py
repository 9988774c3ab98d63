"""Reading very many files into the store with the help of forked children.

They read, hash, make cards and compress; this process puts their answers into the
store. What they do not answer for is left to the caller: large files, and groups of
files of which one could not be read.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from typing import Any

from ..digest import blob_id
from ..forking import MOST_TURNS, answers, helpers
from ..objects.entry import Entry
from ..session import Session
from ..store.protocol import Packing, Transaction
from ..worktree import reading
from ..worktree.reading import LARGE
from ..worktree.walk import Candidate
from . import derived
from .files import Progress

_GROUP_BYTES = 1 << 20
"""Content of the files that make one job, about."""
_SAMPLES = 400
_SAMPLE_BYTES = 16 << 10
"""Files shown to the store before it packs many, and the bytes of the largest."""


def shared(
    session: Session,
    tx: Transaction,
    candidates: list[Candidate],
    noted: dict[str, bytes],
    progress: Progress,
) -> Generator[Entry, None, list[Candidate]]:
    """Yield the entries of files that children read; return those still to be read."""
    children = helpers()
    small = [candidate for candidate in candidates if candidate.size < LARGE]
    packing = tx.packing(_samples(session, small)) if children else None
    if packing is None:
        return candidates
    groups: dict[int, list[Candidate]] = dict(enumerate(_groups(small)))
    total, done = len(candidates), 0

    def work(number: int) -> tuple[Any, ...]:
        return _load(session, packing, groups[number])

    with closing(answers(children, len(groups), work)) as done_by_children:
        for number, (rows, cards, names, found) in done_by_children:
            packing.keep(rows)
            derived.keep_cards(session, cards)
            session.named_otherwise.update(names)
            group = groups.pop(number)
            for candidate, (kind, blob, size, fingerprint) in zip(group, found, strict=True):
                noted[candidate.path] = fingerprint or candidate.fingerprint
                yield Entry(candidate.path, kind, blob, size)
            done += len(group)
            progress("reading", done, total)
    large = [candidate for candidate in candidates if candidate.size >= LARGE]
    return [*(candidate for group in groups.values() for candidate in group), *large]


def _samples(session: Session, small: list[Candidate]) -> list[bytes]:
    """Return the content of some files from all over the folder."""
    some = [c for c in small if c.size <= _SAMPLE_BYTES]
    read = reading.read_many(session.root, some[:: max(len(some) // _SAMPLES, 1)])
    return [content for _, content in read if isinstance(content, bytes)]


def _groups(small: list[Candidate]) -> list[list[Candidate]]:
    size = sum(candidate.size for candidate in small)
    least = max(_GROUP_BYTES, size // (MOST_TURNS - 1) + 1)
    groups: list[list[Candidate]] = [[]]
    held = 0
    for candidate in small:
        if held >= least:
            groups.append([])
            held = 0
        groups[-1].append(candidate)
        held += candidate.size
    return groups


def _load(session: Session, packing: Packing, group: list[Candidate]) -> tuple[Any, ...]:
    """Return rows, cards, unusual names, and of each file what it was while it was read."""
    session.named_otherwise.clear()
    blobs: list[tuple[bytes, bytes]] = []
    cards: list[tuple[bytes, bytes]] = []
    found: list[tuple[int, bytes, int, bytes]] = []
    read = reading.read_many(session.root, group)
    for candidate, (now, content) in zip(group, read, strict=True):
        if not isinstance(content, bytes):
            raise ValueError("grown large since it was seen")
        blob = blob_id(content)
        blobs.append((blob, content))
        if derived.may_be_skill(now.path):
            cards.append(derived.card_row(session, now.path, blob, content))
        known = b"" if now is candidate else now.fingerprint
        found.append((now.kind, blob, len(content), known))
    return packing.pack(blobs), cards, session.named_otherwise, found
