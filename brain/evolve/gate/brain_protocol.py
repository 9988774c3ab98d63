"""The operations of `brain.Brain` that the gate calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Self

    from ... import results
    from ...gating.case_files import Case
    from ...programs.program import Program
    from ...receipts import Receipt
    from ...repo.learning.change import ChangeRequest, PlannedChange
    from ...repo.learning.record import DecidedChange
    from ...verdicts.verdict_types import Verdict


class _GatePart(Protocol):
    def read_mode(self) -> str: ...
    def plan(self, request: ChangeRequest) -> PlannedChange: ...
    def read_held_out(self, snapshot: bytes, path: str) -> Sequence[Case]: ...
    def find_guards(self, planned: PlannedChange) -> Sequence[Case]: ...
    def read_text(self, snapshot: bytes, slug: str) -> bytes | None: ...
    def read_program(self, snapshot: bytes, slug: str) -> Program | None: ...
    def find_same_attempt(self, path: str, verdict: Verdict) -> results.EarlierAttempt | None: ...
    def is_proposed(self, name: str) -> bool: ...
    def record(self, decided: DecidedChange) -> results.Decided: ...
    def record_untried(
        self, planned: PlannedChange, message: str = "", receipt: Receipt | None = None
    ) -> results.Upserted: ...


class _Proposals(Protocol):
    def open(self, name: str, *, author: str = "") -> GatedBrain: ...


class GatedBrain(Protocol):
    """An open brain, as the gate uses it."""

    @property
    def gate(self) -> _GatePart: ...
    @property
    def proposals(self) -> _Proposals: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
