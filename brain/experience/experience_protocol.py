"""The store of experience: sequences, work to do, an audit, and rates. Times are ms since 1970."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillSequence:
    """The skills that one message used, in order, without repetitions removed.

    `context_hash` is the hex digest of the message, not its text. `run` is the id of its receipt,
    "" without one.
    """

    chat: str
    at: int
    skills: tuple[str, ...]
    context_hash: str = ""
    run: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSequence:
    """A sequence with its number; numbers ascend in the order of recording."""

    number: int
    sequence: SkillSequence


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceBatch:
    """Sequences in columns, for reading a million of them; without `context_hash` and `run`.

    Row `i` has the number `numbers[i]`, the time `at[i]`, the chat `chat_names[chats[i]]`, and the
    skills `skills[ends[i - 1]:ends[i]]` (from 0 for the first row), which index `skill_names`. Each
    batch has its own lists of names, without duplicates; some names may have no row.
    """

    numbers: array[int]
    at: array[int]
    chats: array[int]
    ends: array[int]
    skills: array[int]
    chat_names: list[str]
    skill_names: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkItem:
    """Something to learn from: `kind` is an evolver, `key` is unique in it, `data` is JSON."""

    kind: str
    key: str
    at: int
    data: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedWork:
    """An item that this process works on until `until`; `attempt` counts from 1.

    `progress` is what the attempt before kept, such as a drafted change.
    """

    item: WorkItem
    attempt: int
    until: int
    progress: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEvent:
    """One event of an evolver; `result` is success, skipped, rejected or failed."""

    at: int
    evolver: str
    name: str
    trigger_reason: str
    phase: str
    result: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimit:
    """At most `most` attempts in each period of `seconds`, counted from 1970 (a day, an hour)."""

    name: str
    seconds: int
    most: int


RESULT_GAVE_UP = "gave up"
"""The result of an item whose attempts all ended without one."""


class ExperienceStore(Protocol):
    """Many agents and processes write at once; each method is atomic.

    Every method may raise `StoreError`: `experience_unavailable` if a server does not answer,
    `bad_store` for damage. Methods that write may raise `InvalidInput` (`bad_experience`) for a
    value beyond the limits of `experience_limits`, and then write nothing.
    """

    def record_sequences(self, sequences: Sequence[SkillSequence]) -> None:
        """Record sequences in this order, all or none."""

    def read_sequences(self, after: int = 0, since: int = 0) -> Iterator[StoredSequence]:
        """Yield the sequences with a greater number, not before `since`."""

    def read_batches(self, after: int = 0, since: int = 0) -> Iterator[SequenceBatch]:
        """Yield the same sequences in columns, some thousands at a time; no batch is empty."""

    def add_work(self, item: WorkItem) -> bool:
        """Add an item; return False if one of its kind and key is known, done or not."""

    def claim_work(self, kind: str, now: int, lease: int, max_attempts: int) -> ClaimedWork | None:
        """Claim the oldest item that nobody works on, or whose lease ended; None if there is none.

        `lease` is in ms. An item that had `max_attempts` is finished with `RESULT_GAVE_UP`
        instead. A lease that ends later than one that would begin now shows that the clock was
        set back: it then ends one `lease` from now.
        """

    def keep_progress(self, work: ClaimedWork, progress: str) -> None:
        """Keep what the next attempt begins with.

        Raises `Conflict` (`work_lost`) if the lease ended and the item was claimed again, or done.
        """

    def add_answer(self, work: ClaimedWork, answer: str) -> None:
        """Append an answer of a model to an item, until it is done; there may be any number.

        Raises `Conflict` (`work_lost`) as `keep_progress`.
        """

    def read_answers(self, work: ClaimedWork) -> list[str]:
        """Return the answers of all attempts at an item, in the order of adding."""

    def renew_work(self, work: ClaimedWork, now: int, lease: int) -> None:
        """Let the lease end `lease` ms from now.

        Raises `Conflict` (`work_lost`) as `keep_progress`.
        """

    def release_work(self, work: ClaimedWork) -> None:
        """End the lease, so that any process may claim the item at once.

        Progress and answers stay. Raises `Conflict` (`work_lost`) as `keep_progress`.
        """

    def finish_work(self, work: ClaimedWork, result: str, data: str | None = None) -> None:
        """Mark an item as done, with a result that is not empty.

        `data` replaces that of the item, None leaves it. Raises `Conflict` (`work_lost`) as
        `keep_progress`.
        """

    def count_work(self, kind: str = "") -> int:
        """Return how many items of a kind, or of all, are not done."""

    def newest_work(self, kind: str) -> int | None:
        """Return the time of the item that was added last and is not done, None for no such."""

    def oldest_work(self, kind: str) -> int | None:
        """Return the time of the item that was added first and is not done, None for no such."""

    def list_work(self, kind: str = "") -> list[tuple[WorkItem, str]]:
        """Return the items with their results, "" for those not done, oldest first.

        It reads the whole queue, with the data of all items.
        """

    def append_event(self, event: AuditEvent) -> None:
        """Append an event to the audit; the oldest are forgotten beyond a limit."""

    def read_events(self, evolver: str = "", last: int = 100) -> list[AuditEvent]:
        """Return the last events, of one evolver or of all, oldest first."""

    def read_note(self, name: str) -> str | None:
        """Return a small text by name, such as where the mining stopped; None without it."""

    def write_note(self, name: str, old: str | None, new: str) -> bool:
        """Replace a note if it is still `old`; tell whether it was."""

    def take(self, key: str, limits: Sequence[RateLimit], now: int) -> str:
        """Count an attempt under all limits, or return the name of the one that is reached.

        "" if it was counted. An attempt that is refused counts under none. It counts in the period
        that `now` lies in, so a clock that is set back counts in the earlier period again, on top
        of what was counted there: no period has more than its limit.
        """

    def read(self, key: str, limits: Sequence[RateLimit], now: int) -> dict[str, int]:
        """Return how many attempts count at present, by the name of the limit."""

    def close(self) -> None:
        """Close files and connections."""
