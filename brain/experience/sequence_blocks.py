"""Sequences packed in blocks of columns, so that a million of them are read in a second.

A block is two byte strings in MessagePack: the columns that mining reads, and the rest. Integers
in columns are little-endian. A block has its own lists of names, so it can be read alone; the names
are joined by zero bytes.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from operator import lt

from ..encoding import pack, unpack_unchecked
from ..errors import FormatError
from .experience_limits import MAX_TIME
from .experience_protocol import SequenceBatch, SkillSequence, StoredSequence

MAX_BLOCK_ROWS = 4096
"""Sequences in a block."""
_MAX_BLOCK_SKILLS = 1 << 16
_MAX_BLOCK_NAME_BYTES = 512 << 10
"""With these, a block stays below the 1 MiB that one MessagePack object may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceBlock:
    """A packed block: how many sequences it has, their first and last number, and their times."""

    first: int
    last: int
    rows: int
    oldest: int
    newest: int
    columns: bytes
    details: bytes


class _BlockBuilder:
    """Collects sequences until a block is full."""

    def __init__(self) -> None:
        self.numbers = array("q")
        self._at = array("q")
        self._chats = array("I")
        self._lengths = array("I")
        self._skills = array("I")
        self._chat_names: dict[str, int] = {}
        self._skill_names: dict[str, int] = {}
        self._contexts: list[bytes] = []
        self._runs: list[str] = []
        self._name_bytes = 0

    def is_full(self) -> bool:
        return (
            len(self.numbers) >= MAX_BLOCK_ROWS
            or len(self._skills) >= _MAX_BLOCK_SKILLS - 10_000
            or self._name_bytes >= _MAX_BLOCK_NAME_BYTES // 2
        )

    def add(self, number: int, sequence: SkillSequence) -> None:
        self.numbers.append(number)
        self._at.append(sequence.at)
        self._chats.append(self._intern(self._chat_names, sequence.chat))
        self._lengths.append(len(sequence.skills))
        names = self._skill_names
        for skill in sequence.skills:
            index = names.get(skill)
            self._skills.append(self._intern(names, skill) if index is None else index)
        self._contexts.append(bytes.fromhex(sequence.context_hash))
        self._runs.append(sequence.run)

    def _intern(self, names: dict[str, int], name: str) -> int:
        index = names.get(name)
        if index is None:
            index = names[name] = len(names)
            self._name_bytes += 4 * len(name) + 5
        return index

    def build(self) -> SequenceBlock:
        columns = (self.numbers, self._at, self._chats, self._lengths, self._skills)
        names = "\0".join(self._chat_names), "\0".join(self._skill_names)
        return SequenceBlock(
            first=self.numbers[0],
            last=self.numbers[-1],
            rows=len(self.numbers),
            oldest=min(self._at),
            newest=max(self._at),
            columns=pack([*names, *map(_column_bytes, columns)]),
            details=pack([self._contexts, self._runs]),
        )


def pack_sequences(rows: Iterable[tuple[int, SkillSequence]]) -> Iterator[SequenceBlock]:
    """Yield blocks of numbered sequences; the numbers ascend."""
    builder = _BlockBuilder()
    for number, sequence in rows:
        if builder.is_full():
            yield builder.build()
            builder = _BlockBuilder()
        builder.add(number, sequence)
    if builder.numbers:
        yield builder.build()


def unpack_block(block: SequenceBlock) -> list[StoredSequence]:
    """Return the sequences of a block. Raises `FormatError` if it is not one."""
    columns = _unpack_columns(block)
    contexts, runs = _unpack_details(block.details, len(columns.numbers))
    names, skills, start = columns.skill_names, columns.skills, 0
    found = []
    for number, at, chat, end, context, run in zip(
        columns.numbers, columns.at, columns.chats, columns.ends, contexts, runs, strict=True
    ):
        sequence = SkillSequence(
            chat=columns.chat_names[chat],
            at=at,
            skills=tuple([names[index] for index in skills[start:end]]),
            context_hash=context.hex(),
            run=run,
        )
        found.append(StoredSequence(number=number, sequence=sequence))
        start = end
    return found


def read_batch(block: SequenceBlock, after: int, since: int) -> SequenceBatch | None:
    """Return the rows with a greater number, not before `since`; None without any.

    Raises `FormatError`.
    """
    columns = _unpack_columns(block)
    first = bisect_right(columns.numbers, after)
    if block.oldest >= since:
        wanted: Sequence[int] = range(first, block.rows)
    else:
        wanted = [row for row in range(first, block.rows) if columns.at[row] >= since]
    if len(wanted) == block.rows:
        return columns
    return _select_rows(columns, wanted) if wanted else None


def _select_rows(batch: SequenceBatch, rows: Sequence[int]) -> SequenceBatch:
    skills, ends = array("I"), array("I")
    for row in rows:
        skills.extend(batch.skills[batch.ends[row - 1] if row else 0 : batch.ends[row]])
        ends.append(len(skills))
    return replace(
        batch,
        numbers=array("q", [batch.numbers[row] for row in rows]),
        at=array("q", [batch.at[row] for row in rows]),
        chats=array("I", [batch.chats[row] for row in rows]),
        ends=ends,
        skills=skills,
    )


def _column_bytes(column: array[int]) -> bytes:
    if sys.byteorder == "big":
        column = column[:]
        column.byteswap()
    return column.tobytes()


def _read_column(code: str, data: object) -> array[int]:
    if not isinstance(data, bytes):
        raise ValueError("a column is not bytes")
    column = array(code)
    column.frombytes(data)
    if sys.byteorder == "big":
        column.byteswap()
    return column


def _unpack_columns(block: SequenceBlock) -> SequenceBatch:
    """Return the columns of a block, after checks that every index in them has its name."""
    try:
        joined_chats, joined_skills, *packed = unpack_unchecked(block.columns)
        chat_names, skill_names = joined_chats.split("\0"), joined_skills.split("\0")
        numbers, at, chats, lengths, skills = [
            _read_column(code, data) for code, data in zip("qqIII", packed, strict=True)
        ]
    except (AttributeError, TypeError, ValueError) as error:
        raise FormatError("a block of sequences has the wrong shape") from error
    rows = len(numbers)
    is_sound = (
        len(set(chat_names)) == len(chat_names)
        and len(set(skill_names)) == len(skill_names)
        and 0 < rows == block.rows <= MAX_BLOCK_ROWS
        and len(at) == len(chats) == len(lengths) == rows
        and numbers[0] == block.first > 0
        and numbers[-1] == block.last
        and all(map(lt, numbers, numbers[1:]))
        and min(at) == block.oldest >= 0
        and max(at) == block.newest <= MAX_TIME
        and max(chats) < len(chat_names)
        and min(lengths) > 0
        and sum(lengths) == len(skills)
        and max(skills) < len(skill_names)
    )
    if not is_sound:
        raise FormatError("the columns of a block of sequences do not fit each other")
    return SequenceBatch(
        chat_names=chat_names,
        skill_names=skill_names,
        numbers=numbers,
        at=at,
        chats=chats,
        ends=array("I", accumulate(lengths)),
        skills=skills,
    )


def _unpack_details(data: bytes, rows: int) -> tuple[tuple[bytes, ...], tuple[str, ...]]:
    try:
        contexts, runs = unpack_unchecked(data)
        is_sound = len(contexts) == len(runs) == rows
    except (ValueError, TypeError) as error:
        raise FormatError("the details of a block of sequences have the wrong shape") from error
    if not (
        is_sound
        and all(isinstance(context, bytes) for context in contexts)
        and all(isinstance(run, str) for run in runs)
    ):
        raise FormatError("the details of a block of sequences have the wrong shape")
    return contexts, runs
