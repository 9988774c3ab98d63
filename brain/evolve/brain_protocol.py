"""The operations of `brain.Brain` and its `Task` that learning skills calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import builtins
    from collections.abc import Callable, Mapping, Sequence

    from .. import results
    from ..gating.case_files import Case
    from ..programs.program import Program
    from ..receipts import Receipt
    from ..repo.learning.gate import Gate
    from ..repo.learning.held_out_filter import HeldOutFilter
    from ..repo.learning.runners import CaseRunner
    from ..repo.open.manifest import SynthesisPolicy


class _Skills(Protocol):
    def upsert(
        self,
        name: str,
        body: str | bytes | None = None,
        *,
        description: str | None = None,
        receipt: bytes | Receipt | None = None,
        message: str = "",
        base: str | int = "",
    ) -> results.Upserted: ...
    def list(self, rev: str = "@") -> builtins.list[results.Skill]: ...
    def view(self, slug: str, rev: str = "@") -> results.SkillView: ...
    def read_file(self, slug: str, file: str = "", rev: str = "@") -> results.SkillFile: ...
    def select(self, task: str, limit: int = 10) -> builtins.list[results.Selected]: ...
    def find_duplicates(
        self, name: str, description: str | None = None, body: str | bytes | None = None
    ) -> builtins.list[results.Similar]: ...


class _Receipts(Protocol):
    def read_run(self, rev: str = "@") -> Receipt: ...
    def read_synthesis_policy(self) -> SynthesisPolicy: ...


class _Programs(Protocol):
    def list(self) -> builtins.list[results.SkillProgram]: ...
    def find(self, slug: str) -> Program: ...


class _Evolution(Protocol):
    def count_cost(self, evolver: str, requests: int, tokens_in: int, tokens_out: int) -> None: ...


class _LearningGate(Protocol):
    def read_mode(self) -> str: ...
    def read_stream(self) -> results.StreamStatus: ...
    def is_proposed(self, name: str) -> bool: ...
    def open(
        self, *, text_runner: CaseRunner | None = None, confirm: Callable[[], None] = ...
    ) -> Gate: ...
    def list_cases(self, slug: str = "") -> Sequence[results.SkillCase]: ...
    def practice_cases(self, slug: str) -> Sequence[Case]: ...
    def read_held_out_filter(self) -> HeldOutFilter: ...
    def earlier_attempts(self, slug: str) -> Sequence[results.EarlierAttempt]: ...


class _WaitingProposals(Protocol):
    def list(self) -> Sequence[results.Proposal]: ...


class LearningBrain(Protocol):
    """An open brain, as synthesis uses it."""

    @property
    def skills(self) -> _Skills: ...
    @property
    def receipts(self) -> _Receipts: ...
    @property
    def programs(self) -> _Programs: ...
    @property
    def gate(self) -> _LearningGate: ...
    @property
    def evolution(self) -> _Evolution: ...
    @property
    def proposals(self) -> _WaitingProposals: ...


class AcquiringBrain(Protocol):
    """An open brain, as acquiring a skill uses it."""

    @property
    def skills(self) -> _Skills: ...
    @property
    def programs(self) -> _Programs: ...


class SkillWriter(Protocol):
    """The skills of an open brain, as the import of a registry writes them."""

    def upsert(
        self,
        name: str,
        body: str | bytes | None = None,
        *,
        description: str | None = None,
        message: str = "",
        if_changed: bool = False,
        files: Mapping[str, bytes | None] | None = None,
    ) -> results.Upserted: ...


class LearningTask(Protocol):
    """A recorded run, as `Learner` uses it."""

    def build_receipt(self) -> Receipt: ...
    def record_model_call(
        self,
        model: str = "",
        input: object = "",
        output: object = "",
        *,
        tokens_in: int = 0,
        tokens_out: int = 0,
        error: str = "",
    ) -> None: ...
    def mark_learned(self) -> None: ...
