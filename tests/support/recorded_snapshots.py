"""Small bundles with the snapshots that record them, in memory, for tests of proofs."""

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from brain.digest import blob_id
from brain.objects.bundle import State
from brain.objects.node_cache import NodeCache
from brain.objects.operation import genesis_operation
from brain.objects.snapshot import SNAPSHOT_FORMAT, Jump, Snapshot, encode_snapshot, snapshot_id
from brain.objects.tree_node import TreeEntry
from brain.proofs.build import build_path_proof
from brain.proofs.proof import AnyProof, render_proof
from tests.support.node_store import MemoryNodeStore, file_entry

FIXED_TIME_MS = 1_700_000_000_000
FEW_PATHS = ("SOUL.md", "memory/a.md", "skills/a/SKILL.md", "skills/b.md", "skills/c/run.sh")


class RecordedSnapshot(NamedTuple):
    """A bundle and a snapshot that holds it."""

    bundle: State
    snapshot: Snapshot

    @property
    def nodes(self) -> NodeCache:
        return self.bundle.nodes

    @property
    def id(self) -> bytes:
        return snapshot_id(encode_snapshot(self.snapshot))

    def path_proof(self, path: str) -> dict[str, Any]:
        return proof_document(build_path_proof(*self, path))


def record_snapshot(
    paths: Iterable[str] = FEW_PATHS,
    brain: bytes = b"",
    content: str = "",
    others: Iterable[TreeEntry] = (),
) -> RecordedSnapshot:
    """Record files at `paths` as the genesis of a brain or, if `brain` is given, later in it.

    `others` are recorded too.
    """
    nodes = MemoryNodeStore().open_nodes()
    bundle = State.build(nodes, [*(file_entry(path, content) for path in paths), *others])
    return RecordedSnapshot(bundle, _make_snapshot(bundle.id, brain))


def _make_snapshot(bundle: bytes, brain: bytes) -> Snapshot:
    done, jump = (
        (("snapshot",), Jump(1, brain)) if brain else (genesis_operation(bytes(16)), Jump(0, b""))
    )
    parents = (brain,) if brain else ()
    place = (SNAPSHOT_FORMAT, brain, bundle, parents, len(parents), jump)
    return Snapshot(*place, "me", FIXED_TIME_MS, done, "", b"")


def proof_document(proof: AnyProof) -> dict[str, Any]:
    """Return the document of a proof as its reader gets it."""
    found: dict[str, Any] = json.loads(render_proof(proof))
    return found


def json_bytes(value: Any) -> bytes:
    """Return the text of a document of any shape."""
    return json.dumps(value).encode()


OTHER_BLOB_ID = blob_id(b"another")
