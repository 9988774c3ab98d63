"""Check a proof without access to the brain.

A proof ties a statement to the id of a snapshot by hashes. The caller has to know from
elsewhere that this snapshot can be trusted: from a signature or a ledger.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from .. import merkle
from ..digest import NO_DIGEST, parse_digest, stream_blob_id
from ..errors import RESTORE_HINT, FormatError, InvalidInput, ProofError, printable_text
from ..objects import paths
from ..objects import snapshot as snapshots
from ..objects.bundle import section_hash
from ..objects.lineage import jump_target_depth
from ..objects.snapshot import Snapshot, snapshot_id
from ..objects.tree import TreeRoot
from ..objects.tree_node import child_hash, entry_hash, join_hashes
from ..util.checked_calls import checked
from .json_fields import parse_expected_ids
from .proof import ENTRY_TYPES, AnyProof, DescentProof, LevelStep, PathProof, ProofHead, parse_proof

if TYPE_CHECKING:
    from collections.abc import Callable
    from io import RawIOBase

    from ..results import Proof


INVALID_PROOF_HINT = "it was changed, or made wrongly: do not rely on it, and ask for a new one"
_CONTENT_HINT = "compare it with the file as it was in that snapshot"


class ProvenFact(NamedTuple):
    """The fact that a proof shows about a snapshot; fields that its kind lacks are empty or 0.

    `path`: the file `path`, of `type` (FILE, EXECUTABLE or LINK), is in the snapshot
    with the content `blob` of `size` bytes. `section`: the tree `root`, of `files` files and
    `size` bytes, is its section `section`. `descent`: the snapshot is `ancestor`, of the brain
    `ancestor_brain`, or descends from it.
    """

    kind: str
    brain: bytes
    snapshot: bytes
    bundle: bytes = NO_DIGEST
    path: str = ""
    type: int = 0
    blob: bytes = NO_DIGEST
    size: int = 0
    section: str = ""
    root: bytes = NO_DIGEST
    files: int = 0
    ancestor: bytes = NO_DIGEST
    ancestor_brain: bytes = NO_DIGEST


def verify_proof_bytes(data: bytes) -> ProvenFact:
    """Return what the proof in `data` shows.

    Raises `ProofError`: the codes of `parse_proof` if malformed, else `wrong_snapshot`,
    `bad_snapshot`, `wrong_brain`, `wrong_bundle`, `wrong_ancestor` or `broken_chain`.
    """
    return verify_proof(parse_proof(data))


def verify_proof(proof: AnyProof) -> ProvenFact:
    """Return what a parsed proof shows. Raises as `verify_proof_bytes`."""
    if isinstance(proof, DescentProof):
        brain = _check_descent(proof)
        return ProvenFact(
            kind="descent",
            brain=proof.brain,
            snapshot=proof.snapshot,
            ancestor=proof.ancestor,
            ancestor_brain=brain,
        )
    ids = _check_head(proof.head)
    if isinstance(proof, PathProof):
        path, kind, blob, size = proof.entry
        section, inner = paths.split_section(path)
        here = entry_hash((inner, kind, blob, size))
        for one in proof.climb:
            if isinstance(one, LevelStep):
                here = child_hash(one.last, here, one.files, one.bytes)
            else:
                here = merkle.root_from_path(here, (one,), join_hashes)
        root, steps = TreeRoot(here, proof.tree.files, proof.tree.bytes), proof.tree.steps
        fact = ProvenFact("path", *ids, path=path, type=kind, blob=blob, size=size)
    else:
        _, section, root, steps = proof
        node, files, size = root
        fact = ProvenFact("section", *ids, section=section, root=node, files=files, size=size)
    led = merkle.root_from_path(section_hash(section, root), steps, join_hashes)
    require_valid_proof(
        led == proof.head.bundle, "wrong_bundle", "its hashes lead to another bundle"
    )
    return fact


def require_valid_proof(
    condition: object, code: str, problem: str, hint: str = INVALID_PROOF_HINT
) -> None:
    """Raise `ProofError` unless `condition`."""
    if not condition:
        raise ProofError(f"the proof does not hold: {problem}", code=code, hint=hint)


def _check_head(head: ProofHead) -> tuple[bytes, bytes, bytes]:
    """Check that the encoded snapshot has the id, brain and bundle that the head claims."""
    brain, here, bundle, encoded = head
    require_valid_proof(
        snapshot_id(encoded) == here, "wrong_snapshot", f"the snapshot in it is not {here.hex()}"
    )
    snapshot = _decode_snapshot(encoded)
    require_valid_proof(
        (snapshot.brain or here) == brain,
        "wrong_brain",
        f"its snapshot is not of the brain {brain.hex()}",
    )
    require_valid_proof(
        snapshot.bundle == bundle,
        "wrong_bundle",
        f"its snapshot does not have the bundle {bundle.hex()}",
    )
    return brain, here, bundle


def _decode_snapshot(encoded: bytes) -> Snapshot:
    try:
        return snapshots.decode_snapshot(encoded)
    except FormatError as error:
        raise ProofError(
            f"the snapshot in the proof cannot be read: {error.message}",
            code="bad_snapshot",
            hint=INVALID_PROOF_HINT if error.hint == RESTORE_HINT else error.hint,
        ) from error


class _Link(NamedTuple):
    """A snapshot of a chain, its id and its brain."""

    id: bytes
    brain: bytes
    snapshot: Snapshot


def _check_descent(proof: DescentProof) -> bytes:
    """Check the chain of a proof; return the brain of the ancestor."""
    require_valid_proof(proof.chain, "broken_chain", "its chain holds no snapshot")
    chain = []
    for encoded in proof.chain:
        here, snapshot = snapshot_id(encoded), _decode_snapshot(encoded)
        chain.append(_Link(here, snapshot.brain or here, snapshot))
    for same, code, problem in (
        (chain[0].id == proof.snapshot, "wrong_snapshot", "starts at another snapshot"),
        (chain[0].brain == proof.brain, "wrong_brain", "is of another brain"),
        (chain[-1].id == proof.ancestor, "wrong_ancestor", "ends at another snapshot"),
    ):
        require_valid_proof(same, code, f"its chain {problem}")
    for new, old in pairwise(chain):
        require_valid_proof(
            _is_link(new, old),
            "broken_chain",
            f"snapshot {new.id.hex()} does not lead to {old.id.hex()}",
        )
    return chain[-1].brain


def _is_link(new: _Link, old: _Link) -> bool:
    """Tell whether `new` is the genesis of a fork of `old`, its child, or jumps to it."""
    child, parent = new.snapshot, old.snapshot
    if child.is_genesis:  # it begins with the same bundle
        return child.operation[2] == old.id and child.bundle == parent.bundle
    if new.brain != old.brain or child.generation <= parent.generation:
        return False
    is_first = child.parents[:1] == (old.id,)
    if old.id in child.parents and (not is_first or child.jump.depth == parent.jump.depth + 1):
        return True
    has_depth = jump_target_depth(child.jump.depth) == parent.jump.depth
    return child.jump.target == old.id and has_depth


def verify_proof_content(proven: ProvenFact, source: RawIOBase) -> None:
    """Check that `source` holds the content of the path proven, reading it in flat memory.

    For a link the content is its target. Raises `ProofError` (`wrong_content`,
    `wrong_size`), and `InvalidInput` (`no_content`) if no path was proven.
    """
    if proven.kind != "path":
        raise InvalidInput(
            f"a proof of the kind {proven.kind} shows no content to compare a file with",
            code="no_content",
            hint="check it without --content, or ask for a proof of the file itself",
        )
    counted = _CountingReader(source, proven.size + 1)
    found = stream_blob_id(cast("RawIOBase", counted))
    name = printable_text(proven.path)
    require_valid_proof(
        found == proven.blob,
        "wrong_content",
        f"the content is not that of {name} in the snapshot",
        _CONTENT_HINT,
    )
    require_valid_proof(
        counted.bytes_read == proven.size,
        "wrong_size",
        f"the content has {counted.bytes_read} bytes, and {name} in the snapshot {proven.size}",
        _CONTENT_HINT,
    )


class _CountingReader:
    """Reads at most so many bytes of a source, which may have no end."""

    def __init__(self, source: RawIOBase, most: int) -> None:
        self._source = source
        self._most = most
        self.bytes_read = 0

    def readinto(self, window: memoryview) -> int:
        read = self._source.readinto(window[: self._most - self.bytes_read]) or 0
        self.bytes_read += read
        return read


@checked
def check_proof(
    data: bytes,
    *,
    content: RawIOBase | None = None,
    brain: str = "",
    snapshot: str = "",
    ancestor: str = "",
    in_store: Callable[[str], bool] | None = None,
) -> Proof:
    """Verify the proof in `data` without access to the brain; return what it shows.

    `content` must be the proven content; `brain` and `snapshot` are full ids that the proof
    must be about, and `ancestor` one from which it must show descent.
    Anybody can make a proof that is consistent, also one that names somebody
    else's brain, so the result is `ok` only if `snapshot` was given, or `in_store`, which tells
    whether a brain of the reader holds a snapshot, knows it. A `brain` is known by its first
    snapshot alone, so it counts for that one and for the origin of a fork. Raises `ProofError`
    (`not_this_brain`, `not_this_snapshot`, `not_this_ancestor`, and as `verify_proof_bytes`) or
    `InvalidInput` (`bad_id`, `no_content`).
    """
    expected_ids = parse_expected_ids(brain, snapshot)
    proven = verify_proof_bytes(data)
    for name, id in expected_ids.items():
        found = getattr(proven, name)
        require_valid_proof(
            found == id,
            f"not_this_{name}",
            f"it is about the {name} {found.hex()}, not {id.hex()}",
            "that is the ancestor of which it shows descent: name it with --ancestor"
            if id in (proven.ancestor, proven.ancestor_brain)
            else f"compare the id, or ask for a proof about that {name}",
        )
    require_valid_proof(
        not ancestor or proven.ancestor == parse_digest(ancestor),
        "not_this_ancestor",
        f"it shows no descent from {ancestor}",
        "compare the id, or ask for a proof by `brain prove --ancestor`",
    )
    if content is not None:
        verify_proof_content(proven, content)
    if snapshot:
        known = "snapshot"
    elif brain and (
        proven.snapshot == proven.brain or proven.ancestor_brain not in (NO_DIGEST, proven.brain)
    ):
        known = "brain"  # its id is that of its genesis, through which a descent of a fork passes
    elif in_store is not None and in_store(proven.snapshot.hex()):
        known = "own_store"
    else:
        known = ""
    return _proof_result(proven, [known] if known else [])


def _proof_result(proven: ProvenFact, vouched_by: list[str]) -> Proof:
    from ..results.trust import Proof

    fields: dict[str, Any] = {
        name: (value.hex() if isinstance(value, bytes) else value) or None
        for name, value in proven._asdict().items()
    }
    fields["type"] = ENTRY_TYPES[proven.type] if proven.kind == "path" else None
    fields["size"] = proven.size if proven.kind in ("path", "section") else None
    return Proof(ok=bool(vouched_by), consistent=True, vouched_by=vouched_by, **fields)
