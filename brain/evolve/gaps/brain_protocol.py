"""The operations of `brain.Brain` that learning from gaps calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from ..brain_protocol import LearningBrain, _Programs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ... import results
    from ...experience.store import Store
    from ...repo.learning.change import ProposedChange


class _GapPrograms(_Programs, Protocol):
    def attempts(self, slug: str = "") -> Sequence[results.Attempt]: ...
    def read_attempt(self, attempt: str) -> results.AttemptView: ...
    def read_definition(self, code: bytes) -> Mapping[str, Any]: ...


class _Memory(Protocol):
    def add(self, target: str, content: str, *, message: str = "") -> results.MemoryChanged: ...


class _History(Protocol):
    def why(self, slug: str) -> results.SkillReasons: ...


class _GapProposals(Protocol):
    def list(self) -> Sequence[results.Proposal]: ...


class ProposingGate(Protocol):
    """The gate, as gaps use it: `Gate`."""

    def propose(self, change: ProposedChange) -> results.GateOutcome: ...


class _Gaps(Protocol):
    def read_mode(self) -> str: ...
    def is_periodic(self) -> bool: ...
    def open_store(self) -> Store: ...


class GapBrain(LearningBrain, Protocol):
    """An open brain, as learning from gaps uses it."""

    @property
    def id(self) -> str: ...
    @property
    def programs(self) -> _GapPrograms: ...
    @property
    def memory(self) -> _Memory: ...
    @property
    def history(self) -> _History: ...
    @property
    def proposals(self) -> _GapProposals: ...
    @property
    def gaps(self) -> _Gaps: ...
