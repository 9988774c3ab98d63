"""Snapshots and operations, looked back at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from .keys import Signature


class SnapshotInfo(NamedTuple):
    """A snapshot as the log shows it."""

    snapshot: str
    bundle: str
    parents: list[str]
    generation: int
    author: str
    time: int
    message: str
    operation: dict[str, Any]
    receipt: str | None


class SectionInfo(NamedTuple):
    """A section of a bundle: the id of its tree, its files and bytes."""

    root: str
    files: int
    bytes: int


class Shown(NamedTuple):
    """A snapshot with its counts against its first parent, its sections and who signed it.

    The signatures are those that fit; verification tells the others, and who had a right.
    """

    info: SnapshotInfo
    counts: dict[str, int]
    sections: dict[str, SectionInfo]
    signatures: list[Signature]


class Operation(NamedTuple):
    """An entry of the operation log; `refs` maps a ref to its [old, new] snapshot."""

    operation: str
    number: int
    time: int
    author: str
    kind: str
    description: str
    refs: dict[str, list[str]]
