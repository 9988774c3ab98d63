"""Verifying a whole log: everything derived is made anew from the entries, and compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from pathlib import Path

from ...errors import BrainError, FormatError, ProofError, StoreError
from ...store import mark
from ..protocol import Fault
from . import check, cosignature, files, hashing, note, shape, vkey
from .appending import behind
from .entry import decode
from .keys import load
from .reading import LogReader, Signed, chained, proven

MOST = 100
"""Faults that are told."""


def audit(log: LogReader, folder: Path, older: Sequence[str]) -> list[Fault]:
    """Return what is wrong with a log, and with checkpoints of it that were kept elsewhere."""
    return list(islice(_survived(_all(log, folder, older)), MOST))


def _survived(faults: Iterator[Fault]) -> Iterator[Fault]:
    """Pass faults on, and make one of what keeps the log from being read any further."""
    try:
        yield from faults
    except BrainError as error:
        yield Fault(error.code, error.message)


def _all(log: LogReader, folder: Path, older: Sequence[str]) -> Iterator[Fault]:
    yield from (Fault("bad_store", line) for line in log.integrity())
    noted, last = mark.read(str(folder / files.NAME)), log.last()  # in this order, beside writers
    size = last.checkpoint.size
    kept = [one for one in log.kept() if one.checkpoint.size < size] + [last][:size]
    roots: dict[int, bytes | None] = {one.checkpoint.size: None for one in kept}
    yield from _entries(log, size, roots)
    yield from _lineages(log)
    for signed in kept:
        yield from _checkpoint(log, signed, roots[signed.checkpoint.size])
    if found := behind(log, noted, last.checkpoint):
        yield Fault(*found)
    for text in older:
        yield from _older(log, text)
    try:
        load(folder, log)
    except BrainError as error:
        yield Fault(error.code, error.message)


def _entries(log: LogReader, size: int, roots: dict[int, bytes | None]) -> Iterator[Fault]:
    """Go through the entries in order; fill in `roots` by size."""
    edge = shape.Edge(0, [])
    for row in log.every_entry(size):
        index = edge.size
        try:
            placed = proven(row)
            decode(placed.data)
        except (StoreError, FormatError):
            yield Fault("bad_entry", f"entry {row[0]} is damaged")
        if row[0] != index:
            yield Fault("bad_entry", f"entry {index} is missing")
            return
        if edge.extend([row[-1][: hashing.SIZE]]) != [row[-1]]:
            yield Fault("bad_node", f"a hash over entry {index} is not what it covers")
        if edge.size in roots:
            roots[edge.size] = edge.root()
    if edge.size != size:
        yield Fault("bad_entry", f"entry {edge.size} is missing")


def _lineages(log: LogReader) -> Iterator[Fault]:
    for _, rows in groupby(log.by_brain(), key=lambda row: row[1]):
        try:
            chained([proven(row) for row in rows])
        except StoreError as error:
            yield Fault("bad_lineage", error.message)


def _checkpoint(log: LogReader, signed: Signed, root: bytes | None) -> Iterator[Fault]:
    state = signed.checkpoint
    if state.root != root:
        yield Fault("bad_checkpoint", f"the root of the first {state.size} entries is another")
    told = note.Note(state.text, (log.line(signed.signature),))
    try:
        note.verify(told, log.key)
    except ProofError:
        yield Fault("bad_checkpoint", f"the signature of checkpoint {state.size} does not fit")
    for key, signature in log.cosignatures(state.size):
        try:
            judge = vkey.parse(key)
            line = note.Line(judge.name, judge.id, signature)
            cosignature.verify(note.Note(state.text, (line,)), judge)
        except BrainError:
            yield Fault("bad_cosignature", f"a cosignature of checkpoint {state.size} does not fit")


def _older(log: LogReader, text: str) -> Iterator[Fault]:
    """Compare the log with a checkpoint that left the machine."""
    try:
        seen = check.check_checkpoint(text, str(log.key)).checkpoint
    except ProofError as error:
        yield Fault(error.code, error.message)
        return
    if found := behind(log, seen.size.to_bytes(8, "big") + seen.root, log.last().checkpoint):
        yield Fault(*found)
