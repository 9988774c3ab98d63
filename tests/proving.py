"""Small brains for tests of proofs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from brain.digest import blob_id
from brain.objects import bundle as bundles
from brain.objects.bundle import Bundle
from brain.objects.nodes import Nodes
from brain.objects.operation import genesis, snapshot
from brain.objects.snapshot import FORMAT, Jump, Snapshot, encode, snapshot_id
from brain.proofs import document
from brain.proofs.build import absence_proof, path_proof
from brain.proofs.proof import Proof
from tests.shelf import Shelf, entry

TIME = 1_700_000_000_000
FEW = ("SOUL.md", "memory/a.md", "skills/a/SKILL.md", "skills/b.md", "skills/c/run.sh")


class Recorded(NamedTuple):
    """A bundle and a snapshot that holds it."""

    nodes: Nodes
    bundle: Bundle
    snapshot: Snapshot

    @property
    def id(self) -> bytes:
        return snapshot_id(encode(self.snapshot))

    def path(self, path: str) -> dict[str, Any]:
        return as_document(path_proof(*self, path))

    def absence(self, path: str) -> dict[str, Any]:
        return as_document(absence_proof(*self, path))


def recorded(paths: Iterable[str] = FEW, brain: bytes = b"", content: str = "") -> Recorded:
    """Record files at `paths` as the genesis of a brain or, if `brain` is given, later in it."""
    nodes = Shelf().nodes()
    bundle = bundles.build(nodes, [entry(path, content) for path in paths])
    return Recorded(nodes, bundle, _snapshot(bundles.bundle_id(bundle), brain))


def _snapshot(bundle: bytes, brain: bytes) -> Snapshot:
    done, jump = (snapshot(), Jump(1, brain)) if brain else (genesis(bytes(16)), Jump(0, b""))
    parents = (brain,) if brain else ()
    place = (FORMAT, brain, bundle, parents, len(parents), jump)
    return Snapshot(*place, "me", TIME, done, "", b"")


def numbered(total: int) -> list[str]:
    """Return paths of one section: 23 make one node, 400 two levels, 4,000 three."""
    return [f"skills/{number:05}.md" for number in range(total)]


def as_document(proof: Proof) -> dict[str, Any]:
    """Return the document of a proof as its reader gets it."""
    found: dict[str, Any] = json.loads(document.render(proof))
    return found


def as_bytes(value: Any) -> bytes:
    """Return the text of a document of any shape."""
    return json.dumps(value).encode()


OTHER = blob_id(b"another")
