"""The golden vectors against this implementation."""

import io
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from brain import merkle
from brain.chain.tlog.note import verify_consistency, verify_inclusion
from brain.digest import blob_id, domain_hash
from brain.encoding import pack, unpack
from brain.errors import BrainError, FormatError, NotFound
from brain.objects import bundle as bundles
from brain.objects import lineage, operation, paths, snapshot, tree, tree_node
from brain.objects.bundle import State
from brain.objects.collisions import (
    case_collision_error,
    find_case_collisions,
    require_portable,
)
from brain.objects.folding import fold_name
from brain.objects.node_cache import NodeCache
from brain.objects.tree import TreeRoot
from brain.objects.tree_node import FILE, INNER, TreeEntry, is_node_boundary, join_hashes
from brain.proofs.check import verify_proof_bytes, verify_proof_content
from brain.repo.session import BrainState, Session
from brain.store import redactions
from brain.store.rows import ObjectKind
from brain.store.writer import create_store
from brain.trust import ed25519, rights
from brain.trust.rights import RightsSource
from brain.verify import operation_check
from brain.verify.tree_check import check_bundles
from tests.support.conformance import vector_facts
from tests.support.conformance.golden_vectors import (
    FAMILIES,
    GoldenVector,
    check_each_vector,
    read_family,
    read_vectors,
    vector_paths,
)
from tests.support.conformance.signature_records import decode_signatures, encode_signatures
from tests.support.node_store import LinkReader, MemoryNodeStore
from tests.support.signed_lineages import verify_signatures

IDS: dict[str, Callable[[bytes], bytes]] = {
    "node": lambda data: tree_node.decode_node(data).id,
    "bundle": lambda data: bundles.bundle_id(bundles.decode_bundle(data)),
    "snapshot": lambda data: snapshot.decode_snapshot(data) and snapshot.snapshot_id(data),
}

ENCODED_AGAIN: dict[str, Callable[[bytes], bytes]] = {
    "node": lambda data: tree_node.decode_node(data).encode(),
    "bundle": lambda data: bundles.encode_bundle(bundles.decode_bundle(data)),
    "snapshot": lambda data: snapshot.encode_snapshot(snapshot.decode_snapshot(data)),
}


def take(vector: GoldenVector) -> Any:
    """Do with the input of `vector` what its kind says; return what it expects."""
    return TAKERS[vector.kind](vector)


def _blob(vector: GoldenVector) -> dict[str, Any]:
    return {"id": blob_id(vector.data).hex()}


def _domain(vector: GoldenVector) -> dict[str, Any]:
    return {"id": domain_hash(vector.input["context"])(vector.data).hex()}


def _merkle(vector: GoldenVector) -> dict[str, Any]:
    leaves = [bytes.fromhex(leaf) for leaf in vector.input["leaves"]]
    return {"root": merkle.root_hash(leaves, join_hashes).hex()}


def _cut(vector: GoldenVector) -> dict[str, Any]:
    level, path = vector.input["level"], vector.input["path"]
    return {
        "count": next(number for number in range(1, 163) if is_node_boundary(level, path, number))
    }


def _msgpack(vector: GoldenVector) -> dict[str, Any]:
    value = unpack(vector.data)
    assert pack(value) == vector.data
    return {"value": _plain(value)} if vector.expected else {}


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"bin": value.hex()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value


def _object(vector: GoldenVector) -> dict[str, Any]:
    out: dict[str, Any] = {"id": IDS[vector.kind](vector.data).hex()}
    assert ENCODED_AGAIN[vector.kind](vector.data) == vector.data
    if vector.kind == "node":
        out["files"], out["bytes"] = tree_node.decode_node(vector.data).totals()
    return out


def _prefixes(vector: GoldenVector) -> dict[str, Any]:
    """Every proper prefix is refused; raises what the last one raises."""
    kind = vector.kind.removesuffix("-prefixes")
    decode = {"msgpack": unpack, "signatures": decode_signatures, **IDS}[kind]
    decode(vector.data)
    for end in range(len(vector.data) - 1):
        with pytest.raises(FormatError) as caught:
            decode(vector.data[:end])
        assert caught.value.code == vector.error
    decode(vector.data[:-1])
    return {}


def _flips(vector: GoldenVector) -> dict[str, Any]:
    """Every flip of one bit is refused or has another id."""
    id_of = IDS[vector.kind.removesuffix("-flips")]
    true_id = id_of(vector.data)
    for bit in range(8 * len(vector.data)):
        flipped = bytearray(vector.data)
        flipped[bit // 8] ^= 1 << bit % 8
        try:
            assert id_of(bytes(flipped)) != true_id
        except FormatError:
            continue
    return {}


def _tree(vector: GoldenVector) -> dict[str, Any]:
    nodes = MemoryNodeStore().open_nodes()
    entries = [
        TreeEntry(path, FILE, blob_id(path.encode()), len(path.encode()))
        for path in vector_paths(vector.input)
    ]
    root = tree.build_tree(nodes, entries)
    if root is None:
        return {"root": "", "files": 0, "bytes": 0, "levels": []}
    level = [nodes.get(root.node)]
    levels = [[len(one.entries) for one in level]]
    while level[0].kind == INNER:
        level = [nodes.get(line[1]) for one in level for line in one.entries]
        levels.append([len(one.entries) for one in level])
    _, files, size = root
    return {"root": root.node.hex(), "files": files, "bytes": size, "levels": levels}


def _tree_nodes(vector: GoldenVector) -> dict[str, Any]:
    known = {IDS["node"](data): data for data in map(bytes.fromhex, vector.input["nodes"])}
    root = TreeRoot(
        bytes.fromhex(vector.input["root"]), vector.input["files"], vector.input["bytes"]
    )
    nodes = NodeCache(known.__getitem__)
    before, after = State(nodes), State(nodes, {"skills": root})
    changes = check_bundles(before, after)
    came = {path: entry for change in changes for path, entry in change.walk_new_entries()}
    require_portable(LinkReader(lambda _: None), before, after, came)
    return {}


def _brain(vector: GoldenVector) -> dict[str, Any]:
    entries = [
        TreeEntry(path, kind, bytes.fromhex(blob), size)
        for path, kind, blob, size in vector.input["entries"]
    ]
    nodes = MemoryNodeStore().open_nodes()
    bundle = State.build(nodes, entries)
    targets = {blob: bytes.fromhex(t) for blob, t in vector.input.get("targets", {}).items()}
    came = {entry.path: entry for entry in entries}
    reader = LinkReader(lambda blob: targets.get(blob.hex()))
    require_portable(reader, State(nodes), bundle, came)
    return {"bundle": bundle.encode().hex(), "id": bundle.id.hex()}


def _operation(vector: GoldenVector) -> dict[str, Any]:
    data = bytes.fromhex(vector.input["data"])
    assert len(unpack(data)) == 7
    previous = bytes.fromhex(vector.input["previous"])
    return {"id": domain_hash("brain v1 operation")(previous + data).hex()}


def _roles(vector: GoldenVector) -> dict[str, Any]:
    contexts = [context for context in vector.expected if context != "blob"]
    out = {context: domain_hash(context)(vector.data).hex() for context in contexts}
    assert len(set(out.values()) | {blob_id(vector.data).hex()}) == len(contexts) + 1
    return {"blob": blob_id(vector.data).hex(), **out}


def _path(vector: GoldenVector) -> dict[str, Any]:
    path = vector.data.decode("utf-8", "surrogateescape")
    assert paths.check_path(path) == path
    return {}


def _folder(vector: GoldenVector) -> dict[str, Any]:
    for pair in find_case_collisions(vector.input["names"]):
        raise case_collision_error(*pair)
    return {}


def _fold(vector: GoldenVector) -> dict[str, Any]:
    return {"folded": fold_name(vector.input["text"])}


def _lineage(vector: GoldenVector) -> dict[str, Any]:
    line = [bytes.fromhex(data) for data in vector.input["snapshots"]]
    known = {snapshot.snapshot_id(data): snapshot.decode_snapshot(data) for data in line}
    ids = list(known)
    for here in ids:
        _check_place(known, ids[0], here)
    several = [(here, one.generation) for here, one in known.items() if len(one.parents) > 1]
    bases = lineage.MergeBaseFinder(known.__getitem__, several)
    for one in known.values():
        if one.operation[0] == "merge":
            _require(bases.find(*one.parents) == list(one.operation[1]), "bad_bases")
    if not vector.expected:
        return {}
    depths = [known[here].jump.depth for here in ids]
    targets = [known[here].jump.target for here in ids]
    landed = [known[target].jump.depth if target else 0 for target in targets]
    return {
        "brain": ids[0].hex(),
        "ids": [here.hex() for here in ids],
        "steps": [depth - to for depth, to in zip(depths, landed, strict=True)],
    }


def _redactions(vector: GoldenVector) -> dict[str, Any]:
    given = [bytes.fromhex(data) for data in vector.input["snapshots"]]
    known = {snapshot.snapshot_id(data): data for data in given}
    told = {
        operation.redacted_blob(snapshot.decode_snapshot(data).operation): here
        for here, data in known.items()
    }
    missing = [bytes.fromhex(blob) for blob in vector.input["missing"]]
    rows = {blob: told.get(blob, bytes(32)) for blob in missing}
    head = bytes.fromhex(vector.input["head"])
    counted = redactions.select_valid_redactions(known.get, [head], rows, {})
    return {"redacted": [blob.hex() for blob in missing if blob in counted]}


def _change(vector: GoldenVector) -> dict[str, Any]:
    """Check an edge between two trees that are made here, and a source that may be there."""
    done = operation.check_operation(unpack(bytes.fromhex(vector.input["operation"])))
    with tempfile.TemporaryDirectory() as folder:
        session = Session(Path("nowhere"), create_store(Path(folder) / "s"))
        _check_edge(vector, session, done)
        session.store.close()
    return {}


def _check_edge(vector: GoldenVector, session: Session, done: Any) -> None:
    trees = {
        side: BrainState(session).edit(
            {
                path: TreeEntry(path, kind, bytes.fromhex(blob), size)
                for path, kind, blob, size in files
            }
        )
        for side, files in vector.input.items()
        if side != "operation"
    }
    if "source" in trees:
        here, bundle = done[1], trees["source"]
        made = snapshot.Snapshot(1, b"", bundle.id, (), 0, (0, b""), *[None] * 5)  # type: ignore[arg-type]
        session.snapshots[here] = made
        session.states[made.bundle] = bundle
        with session.store.transaction() as tx:
            tx.put_object(ObjectKind.SNAPSHOT, here, b"")
            tx.put_object(ObjectKind.BUNDLE, made.bundle, b"")
    before, after = trees["before"], trees["after"]
    found = list(check_bundles(before, after))
    child = snapshot.Snapshot(1, b"", b"", (), 0, (0, b""), "", 0, done, "", b"")  # type: ignore[arg-type]
    diff = operation_check.Edge("", child, before, after, found).diff_by_path()
    findings = [
        *operation_check.check_operation_diff(session, diff),
        *operation_check.find_undestroyed_blobs(session, [diff]),
    ]
    if done[0] in operation_check.LIMITED_KINDS and findings:
        raise FormatError(findings[0].message, code=findings[0].code)


def _check_place(known: dict[bytes, snapshot.Snapshot], brain: bytes, here: bytes) -> None:
    def load(snapshot_id: bytes) -> snapshot.Snapshot:
        if snapshot_id not in known:
            raise NotFound("a snapshot", code="missing_object")
        return known[snapshot_id]

    found = known[here]
    if found.is_genesis:
        _require(here == brain, "foreign_genesis")
        return
    _require(found.brain == brain, "foreign_brain")
    parents = [load(parent) for parent in found.parents]
    _require(found.generation == lineage.next_generation(parents), "bad_generation")
    _require(found.jump == lineage.next_jump(load, found.parents[0], parents[0]), "bad_jump")


def _proof(vector: GoldenVector) -> dict[str, Any]:
    return vector_facts.proof_facts(verify_proof_bytes(vector.data))


def _proof_content(vector: GoldenVector) -> dict[str, Any]:
    content = io.BytesIO(bytes.fromhex(vector.input["content"]))
    verify_proof_content(verify_proof_bytes(vector.data), cast("io.RawIOBase", content))
    return {"ok": True}


def _require(truth: bool, code: str) -> None:
    if not truth:
        raise FormatError("the lineage is not what it says", code=code)


def _signature(vector: GoldenVector) -> dict[str, Any]:
    names = ("brain", "snapshot", "key", "signature")
    brain, here, key, signature = (bytes.fromhex(vector.input[name]) for name in names)
    message = ed25519.signature_message(brain, here)
    _require(ed25519.verify_signature(key, message, signature), "bad_signature")
    return {"message": message.hex()}


def _signatures(vector: GoldenVector) -> dict[str, Any]:
    here, found = decode_signatures(vector.data)
    assert encode_signatures(here, found) == vector.data
    return {"snapshot": here.hex(), "keys": [one.key.hex() for one in found]}


def _rights(vector: GoldenVector) -> dict[str, Any]:
    given = vector.input
    line = Given(given)
    pinned = frozenset(map(bytes.fromhex, given["roots"]))
    verdicts = list(verify_signatures(line.ids[0], line.ids[-1], line.source(), line.rows, pinned))
    standings = {one.snapshot: one.standing for one in verdicts}
    return {
        "standings": [standings[here] for here in line.ids],
        "findings": sorted(
            [line.ids.index(bytes.fromhex(one.snapshot)), one.code, one.severity]
            for one in rights.collect_findings(verdicts)
        ),
    }


def _inclusion(vector: GoldenVector) -> dict[str, Any]:
    given = vector.input
    shown = verify_inclusion(
        *(given["checkpoint"], given["key"], given["index"], bytes.fromhex(given["entry"])),
        [bytes.fromhex(hash) for hash in given["path"]],
        given["witnesses"],
    )
    state = shown.checkpoint
    witnesses = [[one.key.name, one.time] for one in shown.witnesses]
    told = {"origin": state.origin, "size": state.size, "root": state.root.hex()}
    return {**told, "witnesses": witnesses}


def _consistency(vector: GoldenVector) -> dict[str, Any]:
    given = vector.input
    path = [bytes.fromhex(hash) for hash in given["path"]]
    old, new = verify_consistency(given["old"], given["new"], given["key"], path)
    return {"old": old.checkpoint.size, "new": new.checkpoint.size}


class Given:
    """The lineage of a vector of rights."""

    def __init__(self, given: dict[str, Any]) -> None:
        encoded = [bytes.fromhex(data) for data in given["snapshots"]]
        self.ids = [snapshot.snapshot_id(data) for data in encoded]
        self._known = dict(zip(self.ids, map(snapshot.decode_snapshot, encoded), strict=True))
        files = [text.encode() for text in given["files"]]
        self._blobs = {blob_id(content): content for content in files}
        held = [b"" if place is None else blob_id(files[place]) for place in given["trust"]]
        self._held = dict(zip(self._known.values(), held, strict=True))
        self.rows = [
            (self.ids[number], bytes.fromhex(key), bytes.fromhex(signature))
            for number, key, signature in given["signatures"]
        ]

    def source(self) -> RightsSource:
        return RightsSource(
            self._known.__getitem__, self._held.__getitem__, self._blobs.__getitem__
        )


TAKERS: dict[str, Callable[[GoldenVector], dict[str, Any]]] = {
    "blob": _blob,
    "domain": _domain,
    "merkle": _merkle,
    "cut": _cut,
    "msgpack": _msgpack,
    "node": _object,
    "bundle": _object,
    "snapshot": _object,
    **{f"{kind}-prefixes": _prefixes for kind in ("msgpack", *IDS)},
    **{f"{kind}-flips": _flips for kind in IDS},
    "tree": _tree,
    "tree-nodes": _tree_nodes,
    "brain": _brain,
    "operation": _operation,
    "roles": _roles,
    "path": _path,
    "folder": _folder,
    "fold": _fold,
    "lineage": _lineage,
    "redactions": _redactions,
    "change": _change,
    "proof": _proof,
    "receipt": lambda vector: vector_facts.receipt_facts(vector.data),
    "verdict": lambda vector: vector_facts.verdict_facts(vector.data),
    "split": lambda vector: vector_facts.split_facts(vector.data),
    "score": lambda vector: vector_facts.score_facts(vector.data),
    "gate": lambda vector: vector_facts.gate_facts(vector.data),
    "continuation": lambda vector: vector_facts.continuation_facts(vector.input),
    "proof-content": _proof_content,
    "signature": _signature,
    "signatures": _signatures,
    "signatures-prefixes": _prefixes,
    "evidence": lambda vector: vector_facts.evidence_facts(vector.input),
    "trust": lambda vector: vector_facts.trust_facts(vector.data),
    "rights": _rights,
    "entry": lambda vector: vector_facts.entry_facts(vector.data),
    "inclusion": _inclusion,
    "consistency": _consistency,
}


@pytest.mark.parametrize("family", FAMILIES)
def test_each_vector_gives_what_it_says_or_is_refused_for_its_reason(family, subtests):
    check_each_vector(subtests, read_family(family), _check_vector)


def _check_vector(vector: GoldenVector) -> None:
    if vector.valid:
        assert take(vector) == vector.expected
        return
    with pytest.raises(BrainError) as caught:
        take(vector)
    assert caught.value.code == vector.error


def test_there_are_enough_vectors_and_more_than_half_of_them_must_fail():
    everything = read_vectors()
    assert len(everything) >= 150
    assert sum(not vector.valid for vector in everything) > len(everything) / 2


def test_no_two_vectors_share_a_name_within_their_kind():
    seen = Counter((vector.kind, vector.name) for vector in read_vectors())
    assert max(seen.values()) == 1
