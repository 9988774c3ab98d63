"""The operations of `brain.Brain` that learning from gaps calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from ..gate.brain_protocol import GatedBrain, _GatePart

if TYPE_CHECKING:
    import builtins
    from collections.abc import Mapping, Sequence

    from ... import results
    from ...experience.experience_protocol import ExperienceStore, RateStore
    from ...gating.case_types import Case
    from ...repo.open.gap_policy import GapPolicy
    from ...repo.programs.acquire import AcquireRequest


class _Skills(Protocol):
    def select(self, task: str, limit: int = 10) -> builtins.list[results.Selected]: ...
    def view(self, slug: str, rev: str = "@") -> results.SkillView: ...


class _Programs(Protocol):
    def acquire(self, request: AcquireRequest) -> results.Decided: ...
    def list(self) -> builtins.list[results.SkillProgram]: ...
    def read_definition(self, code: bytes) -> Mapping[str, Any]: ...


class _Memory(Protocol):
    def add(self, target: str, content: str, *, message: str = "") -> results.MemoryChanged: ...


class _History(Protocol):
    def why(self, slug: str) -> results.SkillReasons: ...


class _Gate(_GatePart, Protocol):
    def earlier_attempts(self, slug: str) -> Sequence[results.EarlierAttempt]: ...
    def list_cases(self, slug: str = "") -> Sequence[results.SkillCase]: ...
    def practice_cases(self, slug: str) -> Sequence[Case]: ...


class _Stores(Protocol):
    @property
    def store(self) -> ExperienceStore: ...
    @property
    def rates(self) -> RateStore: ...


class _Gaps(Protocol):
    def read_policy(self) -> GapPolicy: ...
    def open_stores(self) -> _Stores: ...


class GapBrain(GatedBrain, Protocol):
    """An open brain, as learning from gaps uses it."""

    @property
    def id(self) -> str: ...
    @property
    def skills(self) -> _Skills: ...
    @property
    def programs(self) -> _Programs: ...
    @property
    def memory(self) -> _Memory: ...
    @property
    def history(self) -> _History: ...
    @property
    def gate(self) -> _Gate: ...
    @property
    def gaps(self) -> _Gaps: ...
