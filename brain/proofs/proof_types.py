"""The parts that proofs consist of.

Every proof except one of descent leads from some entries, hash by hash, up to the bundle
of a snapshot, and carries that snapshot: see docs/FORMAT.md. `proof_json` has their JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..merkle import AuditStep
from ..objects.tree import TreeRoot
from ..objects.tree_node import TreeEntry


class LevelStep(NamedTuple):
    """A step from a node to the entry that names it in an inner node.

    `last` is the hash of the last path below; `files` and `bytes` are totals of the node.
    Together with the hash of the node they are the entry, as it is hashed.
    """

    last: bytes
    files: int
    bytes: int


TreeAuditPath = Sequence[AuditStep | LevelStep]
"""The way from an entry of a tree up to its root, or some part of it."""


class ProofHead(NamedTuple):
    """The snapshot a proof is about; `encoded` are its bytes."""

    brain: bytes
    snapshot: bytes
    bundle: bytes
    encoded: bytes


class FileInclusion(NamedTuple):
    """A file, with its full path, and the way up from it."""

    entry: TreeEntry
    climb: TreeAuditPath


class SectionInclusion(NamedTuple):
    """A section and the steps up from it among the sections of the bundle."""

    name: str
    root: TreeRoot
    steps: Sequence[AuditStep]


class SectionPath(NamedTuple):
    """The steps from the root of a tree, which the verifier computes, to the bundle."""

    files: int
    bytes: int
    steps: Sequence[AuditStep]


class PathProof(NamedTuple):
    """A path is in a snapshot."""

    head: ProofHead
    line: FileInclusion
    tree: SectionPath


class PathAbsenceProof(NamedTuple):
    """A path is not in a snapshot: two neighbours of its section leave it no room.

    A neighbour that is missing is the end of the section. Where both are there,
    `climb` leads on from the hash that joins them.
    """

    head: ProofHead
    path: str
    before: FileInclusion | None
    after: FileInclusion | None
    climb: TreeAuditPath
    tree: SectionPath


class SectionAbsenceProof(NamedTuple):
    """A path is not in a snapshot: two neighbouring sections leave its section no room."""

    head: ProofHead
    path: str
    before: SectionInclusion | None
    after: SectionInclusion | None
    steps: Sequence[AuditStep]


class SectionProof(NamedTuple):
    """A section, as its root, is in a snapshot."""

    head: ProofHead
    line: SectionInclusion


class DescentProof(NamedTuple):
    """A snapshot descends from another: `chain` are encoded snapshots, newest first."""

    brain: bytes
    snapshot: bytes
    ancestor: bytes
    chain: Sequence[bytes]


AnyProof = PathProof | PathAbsenceProof | SectionAbsenceProof | SectionProof | DescentProof
