"""A second implementation, written from the specification, agrees with the library."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brain import encoding
from brain.digest import blob_id
from brain.errors import BrainError
from brain.objects import bundle as bundles
from brain.objects import paths as library_paths
from brain.objects import snapshot, tree_node
from brain.objects.bundle import State
from brain.objects.tree_node import TreeEntry
from tests.conformance.independent import changes as other_changes
from tests.conformance.independent import evidence as other_evidence
from tests.conformance.independent import gates as other_gates
from tests.conformance.independent import lineage as other_lineage
from tests.conformance.independent import objects as other
from tests.conformance.independent import paths as other_folders
from tests.conformance.independent import proofs as other_proofs
from tests.conformance.independent import receipts as other_receipts
from tests.conformance.independent import signatures as other_signatures
from tests.conformance.independent import tlog as other_log
from tests.conformance.independent import trust_policies as other_trust
from tests.conformance.independent import verdicts as other_verdicts
from tests.support.conformance.golden_vectors import (
    FAMILIES,
    GoldenVector,
    check_each_vector,
    read_family,
    read_vectors,
    vector_paths,
)
from tests.support.hypothesis_strategies import brain_paths, encodable_values
from tests.support.node_store import MemoryNodeStore, file_entry

IDS: dict[str, Callable[[bytes], bytes]] = {
    "node": lambda data: other.node_id(*other.read_node(data)),
    "bundle": other.bundle_id,
    "snapshot": lambda data: other_lineage.read_snapshot(data).id,
}


def _blob(vector: GoldenVector) -> dict[str, Any]:
    return {"id": other.blob_id(vector.data).hex()}


def _domain(vector: GoldenVector) -> dict[str, Any]:
    return {"id": other.context_hash(vector.input["context"], vector.data).hex()}


def _merkle(vector: GoldenVector) -> dict[str, Any]:
    return {"root": other.merkle_root(list(map(bytes.fromhex, vector.input["leaves"]))).hex()}


def _cut(vector: GoldenVector) -> dict[str, Any]:
    level, name = vector.input["level"], vector.input["path"]
    return {"count": next(c for c in range(1, 163) if other.ends_node(level, name, c))}


def _msgpack(vector: GoldenVector) -> dict[str, Any]:
    value = other.decode(vector.data)
    assert other.encode(value) == vector.data
    return {"value": _plain(value)} if vector.expected else {}


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"bin": value.hex()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value


def _object(vector: GoldenVector) -> dict[str, Any]:
    out: dict[str, Any] = {"id": IDS[vector.kind](vector.data).hex()}
    if vector.kind == "node":
        kind, lines = other.read_node(vector.data)
        _, _, out["files"], out["bytes"] = other.parent_line(kind, lines)
    return out


def _prefixes(vector: GoldenVector) -> dict[str, Any]:
    kind = vector.kind.removesuffix("-prefixes")
    read_object = {
        "msgpack": other.decode,
        "signatures": other_signatures.read_signature_record,
        **IDS,
    }[kind]
    read_object(vector.data)
    for end in range(len(vector.data) - 1):
        with pytest.raises(other.InvalidFormat):
            read_object(vector.data[:end])
    read_object(vector.data[:-1])
    return {}


def _flips(vector: GoldenVector) -> dict[str, Any]:
    id_of = IDS[vector.kind.removesuffix("-flips")]
    for bit in range(8 * len(vector.data)):
        flipped = bytearray(vector.data)
        flipped[bit // 8] ^= 1 << bit % 8
        try:
            assert id_of(bytes(flipped)) != id_of(vector.data)
        except other.InvalidFormat:
            continue
    return {}


def _tree(vector: GoldenVector) -> dict[str, Any]:
    names = [(path, path.encode()) for path in vector_paths(vector.input)]
    lines = [[path, 0, other.blob_id(raw), len(raw)] for path, raw in names]
    if not lines:
        return {"root": "", "files": 0, "bytes": 0, "levels": []}
    (_, root, files, size), levels = other.build_tree(lines)
    return {"root": root.hex(), "files": files, "bytes": size, "levels": levels}


def _tree_nodes(vector: GoldenVector) -> dict[str, Any]:
    root, files, size = (vector.input[name] for name in ("root", "files", "bytes"))
    nodes = list(map(bytes.fromhex, vector.input["nodes"]))
    found = other.verify_tree(bytes.fromhex(root), files, size, nodes)
    other_folders.check_tree_files([[f"skills/{line[0]}", *line[1:]] for line in found], {})
    return {}


def _brain(vector: GoldenVector) -> dict[str, Any]:
    files = [
        [path, kind, bytes.fromhex(b), size] for path, kind, b, size in vector.input["entries"]
    ]
    texts = vector.input.get("targets", {}).values()
    other_folders.check_tree_files(files, {other.blob_id(t): t for t in map(bytes.fromhex, texts)})
    data = other.encode_bundle_of(files)
    return {"bundle": data.hex(), "id": other.bundle_id(data).hex()}


def _operation(vector: GoldenVector) -> dict[str, Any]:
    previous, data = (bytes.fromhex(vector.input[name]) for name in ("previous", "data"))
    return {"id": other.context_hash("brain v1 operation", previous + data).hex()}


def _roles(vector: GoldenVector) -> dict[str, Any]:
    contexts = [context for context in vector.expected if context != "blob"]
    out = {context: other.context_hash(context, vector.data).hex() for context in contexts}
    return {"blob": other.blob_id(vector.data).hex(), **out}


def _path(vector: GoldenVector) -> dict[str, Any]:
    other_folders.read_path(vector.data)
    return {}


def _folder(vector: GoldenVector) -> dict[str, Any]:
    other_folders.check_folder_names(vector.input["names"])
    return {}


def _fold(vector: GoldenVector) -> dict[str, Any]:
    return {"folded": other_folders.fold_name(vector.input["text"])}


def _lineage(vector: GoldenVector) -> dict[str, Any]:
    line = other_lineage.verify_lineage(list(map(bytes.fromhex, vector.input["snapshots"])))
    if not vector.expected:
        return {}
    depths = {one.id: one.depth for one in line} | {b"": 0}
    return {
        "brain": line[0].id.hex(),
        "ids": [one.id.hex() for one in line],
        "steps": [one.depth - depths[one.target] for one in line],
    }


def _redactions(vector: GoldenVector) -> dict[str, Any]:
    read = [other_lineage.read_snapshot(bytes.fromhex(one)) for one in vector.input["snapshots"]]
    head, missing = bytes.fromhex(vector.input["head"]), vector.input["missing"]
    known = {one.id: one for one in read}
    found = other_lineage.redacted_blobs(known, head, list(map(bytes.fromhex, missing)))
    return {"redacted": [blob.hex() for blob in found]}


def _change(vector: GoldenVector) -> dict[str, Any]:
    sides = {
        side: {path: (kind, blob, size) for path, kind, blob, size in files}
        for side, files in vector.input.items()
        if side != "operation"
    }
    operation = other.decode(bytes.fromhex(vector.input["operation"]))
    other_changes.check_changes(operation, sides["before"], sides["after"], sides.get("source"))
    return {}


def _proof(vector: GoldenVector) -> dict[str, Any]:
    return other_proofs.check_proof(vector.data)


def _proof_content(vector: GoldenVector) -> dict[str, Any]:
    return other_proofs.check_content_proof(vector.data, bytes.fromhex(vector.input["content"]))


def _signature(vector: GoldenVector) -> dict[str, Any]:
    names = ("brain", "snapshot", "key", "signature")
    brain, snapshot_id, *rest = (bytes.fromhex(vector.input[name]) for name in names)
    other_signatures.verify_signature(brain, snapshot_id, *rest)
    return {"message": (b"brain v1 signature" + brain + snapshot_id).hex()}


def _signatures(vector: GoldenVector) -> dict[str, Any]:
    here, keys = other_signatures.read_signature_record(vector.data)
    return {"snapshot": here.hex(), "keys": [key.hex() for key in keys]}


def _trust(vector: GoldenVector) -> dict[str, Any]:
    return other_trust.read_trust_file(vector.data)


def _rights(vector: GoldenVector) -> dict[str, Any]:
    return other_trust.judge_lineage(vector.input)


def _receipt(vector: GoldenVector) -> dict[str, Any]:
    return other_receipts.check_receipt(vector.data)


def _verdict(vector: GoldenVector) -> dict[str, Any]:
    return other_verdicts.check_verdict(vector.data)


TAKERS: dict[str, Callable[[GoldenVector], dict[str, Any]]] = {
    "blob": _blob,
    "domain": _domain,
    "merkle": _merkle,
    "cut": _cut,
    "msgpack": _msgpack,
    **dict.fromkeys(IDS, _object),
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
    "receipt": _receipt,
    "verdict": _verdict,
    "split": lambda vector: other_gates.read_split(vector.data),
    "score": lambda vector: other_gates.score(vector.data),
    "gate": lambda vector: other_gates.decide(vector.data),
    "continuation": lambda vector: other_gates.check_continuation(vector.input["verdicts"]),
    "proof-content": _proof_content,
    "signature": _signature,
    "signatures": _signatures,
    "signatures-prefixes": _prefixes,
    "trust": _trust,
    "rights": _rights,
    "evidence": lambda vector: other_evidence.check_evidence(vector.input),
    "entry": lambda vector: other_log.read_entry(vector.data),
    "inclusion": lambda vector: other_log.check_inclusion(vector.input),
    "consistency": lambda vector: other_log.check_consistency(vector.input),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_the_second_implementation_gives_what_each_vector_says_or_refuses_it(family, subtests):
    check_each_vector(subtests, read_family(family), _check_vector)


def _check_vector(vector: GoldenVector) -> None:
    if vector.valid:
        assert TAKERS[vector.kind](vector) == vector.expected
        return
    with pytest.raises(other.InvalidFormat):
        TAKERS[vector.kind](vector)


files = st.dictionaries(
    brain_paths, st.tuples(st.integers(0, 2), st.binary(max_size=8), st.integers(0, 2**40))
)


@given(files)
def test_both_give_a_brain_of_random_paths_the_same_bundle(chosen):
    lines = [(path, kind, blob_id(blob), size) for path, (kind, blob, size) in chosen.items()]
    bundle = State.build(MemoryNodeStore().open_nodes(), [TreeEntry(*line) for line in lines])
    data = other.encode_bundle_of([list(line) for line in lines])
    assert bundle.encode() == data
    assert bundle.id == other.bundle_id(data)


@settings(max_examples=15)
@given(st.integers(0, 2**32), st.integers(200, 6000))
def test_both_give_a_brain_of_thousands_of_files_the_same_bundle(seed, total):
    paths = {f"skills/{seed * number % 999_983}/SKILL.md" for number in range(1, total)}
    files = [file_entry(path) for path in paths]
    bundle = State.build(MemoryNodeStore().open_nodes(), files)
    assert bundle.encode() == other.encode_bundle_of([list(file) for file in files])


@given(encodable_values)
def test_both_encode_a_value_alike_and_read_it_back(value):
    data = encoding.pack(value)
    assert other.encode(value) == data
    assert encoding.pack(other.decode(data)) == data


def _refuses(reader: Callable[[bytes], object], data: bytes) -> bool:
    try:
        reader(data)
    except (other.InvalidFormat, BrainError):
        return True
    return False


READERS: list[tuple[Callable[[bytes], object], Callable[[bytes], object]]] = [
    (encoding.unpack, other.decode),
    (tree_node.decode_node, other.read_node),
    (bundles.decode_bundle, other.read_bundle),
    (snapshot.decode_snapshot, other_lineage.read_snapshot),
]


@given(st.binary(max_size=64))
def test_both_take_and_refuse_the_same_random_bytes(data):
    for ours, theirs in READERS:
        assert _refuses(ours, data) == _refuses(theirs, data)


@given(
    st.deferred(
        lambda: st.sampled_from(
            [
                vector.data
                for vector in read_vectors("node", "bundle", "snapshot")
                if len(vector.data) < 1000
            ]
        )
    ),
    st.data(),
)
def test_both_take_and_refuse_the_same_damaged_objects(real, data):
    at = data.draw(st.integers(0, len(real)))
    drop = data.draw(st.integers(0, 2))
    bad = real[:at] + data.draw(st.binary(max_size=3)) + real[at + drop :]
    for ours, theirs in READERS:
        assert _refuses(ours, bad) == _refuses(theirs, bad)


@given(st.one_of(brain_paths, st.text(), st.text("./a:\\C\n", max_size=8)))
def test_both_take_and_refuse_the_same_paths(path):
    raw = path.encode("utf-8", "surrogatepass")
    as_read = raw.decode("utf-8", "surrogateescape")
    refused = _refuses(lambda _: library_paths.check_path(as_read), b"")
    assert refused == _refuses(other_folders.read_path, raw)
