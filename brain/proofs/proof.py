"""What proofs consist of.

Every proof but one of descent leads from some lines, hash by hash, up to the bundle
of a snapshot, and carries that snapshot. docs/FORMAT.md says how, and proofs/document.py
how they are written down.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..merkle import Step
from ..objects.entry import Entry
from ..objects.tree import Root


class Opening(NamedTuple):
    """A step from a node to the entry that names it in an inner node.

    `last` is the hash of the last path below; `files` and `bytes` count what is below.
    With the hash come from below they are the whole entry, as it is hashed.
    """

    last: bytes
    files: int
    bytes: int


Climb = Sequence[Step | Opening]
"""The way from an entry of a tree up to its root, or some part of it."""


class Head(NamedTuple):
    """The snapshot a proof is about; `encoded` are its bytes."""

    brain: bytes
    snapshot: bytes
    bundle: bytes
    encoded: bytes


class FileLine(NamedTuple):
    """A file, with its full path, and the way up from it."""

    entry: Entry
    climb: Climb


class SectionLine(NamedTuple):
    """A section and the steps up from it among the sections of the bundle."""

    name: str
    root: Root
    steps: Sequence[Step]


class Above(NamedTuple):
    """What leads from the root of a tree, which the proof computes, to the bundle."""

    files: int
    bytes: int
    steps: Sequence[Step]


class PathProof(NamedTuple):
    """A path is in a snapshot."""

    head: Head
    line: FileLine
    tree: Above


class GapProof(NamedTuple):
    """A path is not in a snapshot: two neighbours of its section leave it no room.

    A neighbour that is missing is the end of the section. Where both are there,
    `climb` leads on from the hash that joins them.
    """

    head: Head
    path: str
    before: FileLine | None
    after: FileLine | None
    climb: Climb
    tree: Above


class NoSectionProof(NamedTuple):
    """A path is not in a snapshot: two neighbouring sections leave its section no room."""

    head: Head
    path: str
    before: SectionLine | None
    after: SectionLine | None
    steps: Sequence[Step]


class SectionProof(NamedTuple):
    """A section, as its root, is in a snapshot."""

    head: Head
    line: SectionLine


class DescentProof(NamedTuple):
    """A snapshot descends from another: `chain` are encoded snapshots, newest first."""

    brain: bytes
    snapshot: bytes
    ancestor: bytes
    chain: Sequence[bytes]


Proof = PathProof | GapProof | NoSectionProof | SectionProof | DescentProof
