"""The operations of `brain.Brain` that patterns call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from ..brain_protocol import LearningBrain, _Programs, _Receipts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ... import results
    from ...experience.store import Store


class _DefinedPrograms(_Programs, Protocol):
    def read_definition(self, code: bytes) -> Mapping[str, Any]: ...


class _Log(Protocol):
    def log(self, rev: str = "@", limit: int | None = None) -> Iterator[results.SnapshotInfo]: ...


class _Patterns(Protocol):
    def open_store(self) -> Store: ...
    def list(self, chat: str = "", *, now: int | None = None) -> results.SkillPatterns: ...


class PatternBrain(LearningBrain, Protocol):
    """An open brain, as making skills of patterns uses it."""

    @property
    def programs(self) -> _DefinedPrograms: ...
    @property
    def receipts(self) -> _Receipts: ...
    @property
    def history(self) -> _Log: ...
    @property
    def patterns(self) -> _Patterns: ...
