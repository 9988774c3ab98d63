"""The store of experience: sequences, work to do, an audit, and rates. Times are ms since 1970."""

from __future__ import annotations

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
class WorkItem:
    """Something to learn from: `kind` is an evolver, `key` is unique in it, `data` is JSON."""

    kind: str
    key: str
    at: int
    data: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedWork:
    """An item that this process works on until `until`; `attempt` counts from 1.

    `progress` is what the attempt before kept, such as the answer of a model that was paid for.
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


class ExperienceStore(Protocol):
    """Many agents and processes write at once; each method is atomic. Raises `StoreError`."""

    def record_sequences(self, sequences: Sequence[SkillSequence]) -> None: ...
    def read_sequences(self, after: int = 0, since: int = 0) -> Iterator[StoredSequence]:
        """Yield the sequences with a greater number, not before `since`."""

    def forget_sequences(self, before: int) -> int:
        """Remove the sequences before a time; return how many."""

    def add_work(self, item: WorkItem) -> bool:
        """Add an item; return False if one of its kind and key is known, done or not."""

    def claim_work(self, kind: str, now: int, lease: int, max_attempts: int) -> ClaimedWork | None:
        """Claim the oldest item that nobody works on, or whose lease ended; None if there is none."""

    def keep_progress(self, work: ClaimedWork, progress: str) -> None: ...
    def finish_work(self, work: ClaimedWork, result: str) -> None: ...
    def list_work(self, kind: str = "") -> list[tuple[WorkItem, str]]:
        """Return the items with their results, "" for those not done, oldest first."""

    def append_event(self, event: AuditEvent) -> None: ...
    def read_events(self, evolver: str = "", last: int = 100) -> list[AuditEvent]: ...
    def read_note(self, name: str) -> str | None:
        """Return a small text by name, such as where the mining stopped; None without it."""

    def write_note(self, name: str, old: str | None, new: str) -> bool:
        """Replace a note if it is still `old`; tell whether it was."""

    def close(self) -> None: ...


class RateStore(Protocol):
    """Counts attempts, atomically."""

    def take(self, key: str, limits: Sequence[RateLimit], now: int) -> str:
        """Count an attempt under all limits, or return the name of the one that is reached.

        "" if it was counted. An attempt that is refused counts under none. Raises `StoreError`.
        """

    def read(self, key: str, limits: Sequence[RateLimit], now: int) -> dict[str, int]:
        """Return how many attempts count at present, by the name of the limit."""

    def close(self) -> None: ...
