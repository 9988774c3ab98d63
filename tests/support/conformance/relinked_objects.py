"""Objects with something changed and every id that depends on the change recomputed.

Ids, the order of entries, the snapshot around a bundle, signatures: so that the change
is judged by what it says, and not by a digest that broke.
"""

import base64
import hashlib
from contextlib import suppress
from random import Random
from typing import Any

from brain.digest import blob_id, domain_hash
from brain.encoding import unpack
from brain.errors import BrainError
from brain.objects import snapshot, tree_node
from brain.objects.tree_node import is_node_boundary
from brain.proofs.json_fields import to_base64
from brain.trust import ed25519
from tests.support import ed25519_curve
from tests.support.conformance import random_mutations

_leaf, _inner = domain_hash("brain v1 tree leaf"), domain_hash("brain v1 tree inner")
_join, _section = domain_hash("brain v1 merkle join"), domain_hash("brain v1 bundle section")
BUILD_ERRORS = (
    KeyError,
    TypeError,
    ValueError,
    IndexError,
    AttributeError,
    OverflowError,
    BrainError,
)
"""What is raised where something changed too much to be made anew."""
_TYPES = ["file", "executable", "link"]


def mutate_object(draw: Random, kind: str, data: bytes) -> bytes:
    """Return an object with a value or with bytes of it changed."""
    try:
        given = unpack(data)
    except BrainError:
        return random_mutations.mutate_bytes(draw, data)
    if draw.random() < 0.2:
        return random_mutations.mutate_bytes(draw, data)
    if draw.random() < 0.1:
        return random_mutations.pack_with_wide_form(given, draw.randrange(20))
    for _ in range(draw.choice((1, 1, 1, 2))):
        given = random_mutations.mutate_value(draw, given)
    return random_mutations.pack_with_wide_form(
        _sort_entries(kind, given) if draw.random() < 0.6 else given
    )


def _sort_entries(kind: str, given: Any) -> Any:
    """Return an object with its entries in the order they have to be in."""
    with suppress(*BUILD_ERRORS):
        if kind == "node":
            return given[0], tuple(sorted(given[1], key=lambda line: line[0].encode()))
        if kind == "bundle":
            return tuple(sorted(given, key=lambda line: line[0].encode()))
        if kind == "signatures":
            return given[0], tuple(sorted(given[1]))
    return given


def random_entries(draw: Random) -> list[Any]:
    """Return the entries of a section, of which a few may be what no section may hold."""
    count = draw.choice((1, 2, 3, 23, 24, 25, 80, 200))
    lines: dict[str, Any] = {}
    for number in range(count):
        path = f"{number:03}"
        lines[path] = [path, 0, blob_id(path.encode()), draw.choice((0, 1, 200, 2**16))]
    for path in draw.choices(
        (*random_mutations.EDGE_TEXTS, "000/x", "001", "x" * 1_017, "x" * 1_018, "B", "b"), k=2
    ):
        lines[path] = [
            path,
            draw.choice((0, 1, 2)),
            blob_id(b""),
            draw.choice(random_mutations.EDGE_NUMBERS),
        ]
    few = list(lines.values())
    return sorted(few[: max(1, len(few) - draw.choice((0, 2)))], key=lambda line: line[0].encode())


def tree_nodes_question(draw: Random, lines: list[Any]) -> dict[str, Any]:
    """Return the question whether a tree of `lines` is one, each node as it has to be."""
    nodes: list[bytes] = []
    level, kind = 0, 0
    while True:
        runs: list[list[Any]] = [[]]
        for place, entry in enumerate(lines):
            runs[-1].append(entry)
            cut = is_node_boundary(level, entry[0], len(runs[-1]))
            if (cut or draw.random() < 0.002) and place + 1 < len(lines):
                runs.append([])
        above = []
        for run in runs:
            nodes.append(random_mutations.pack_with_wide_form([kind, run]))
            files = sum(line[2] for line in run) if kind else len(run)
            above.append([run[-1][0], node_id(nodes[-1]), files, sum(line[3] for line in run)])
        if len(runs) == 1:
            break
        lines, level, kind = above, level + 1, 1
    _, root, files, size = above[0]
    said = {"files": files, "bytes": size} if draw.random() < 0.95 else {"files": 1, "bytes": size}
    return {"root": root.hex(), **said, "nodes": [one.hex() for one in nodes]}


def node_id(data: bytes) -> bytes:
    try:
        return tree_node.decode_node(data).id
    except BrainError:
        return blob_id(data)


def mutate_and_relink_nodes(
    draw: Random, nodes: list[bytes], root: bytes
) -> tuple[list[bytes], bytes]:
    """Return nodes of which one was changed and those above it name it, and the new root."""
    place = draw.randrange(len(nodes))
    ids = [node_id(one) for one in nodes]
    nodes = [
        mutate_object(draw, "node", one) if number == place else one
        for number, one in enumerate(nodes)
    ]
    for _ in nodes:  # a change may go up as many levels
        for old, data in zip(list(ids), list(nodes), strict=True):
            if (new := node_id(data)) != old:
                nodes = [one.replace(old, new) for one in nodes]
                ids[ids.index(old)] = new
                root = new if root == old else root
    return nodes, root


def mutate_and_relink_lineage(draw: Random, line: list[bytes]) -> list[bytes]:
    """Return a lineage with one snapshot changed, and its descendants naming the new one."""
    place = draw.randrange(len(line))
    out: list[bytes] = []
    news: list[tuple[bytes, bytes]] = []
    for number, data in enumerate(line):
        changed = _replace_ids(data, news)
        out.append(_mutate_snapshot(draw, changed) if number == place else changed)
        news.append((snapshot.snapshot_id(data), snapshot.snapshot_id(out[-1])))
    return out


def _replace_ids(data: bytes, news: list[tuple[bytes, bytes]]) -> bytes:
    for old, new in news:
        data = data.replace(old, new)
    return data


def _mutate_snapshot(draw: Random, data: bytes) -> bytes:
    """Return a snapshot with one field changed."""
    given = list(unpack(data))
    if len(given) < 2:
        return data
    place = draw.choice((3, 4, 5, 8, *range(len(given))))
    given[place % len(given)] = random_mutations.mutate_value(draw, given[place % len(given)])
    return random_mutations.pack_with_wide_form(given)


def relink_proof(draw: Random, proof: Any) -> Any:
    """Return a proof whose snapshot has the bundle that its ways lead to, and is of that id."""
    if proof["kind"] == "descent":
        chain = [decode_base64(one) for one in proof["chain"]][::-1]
        chain = mutate_and_relink_lineage(draw, chain)[::-1]
        ids = [snapshot.snapshot_id(data) for data in chain]
        brain = unpack(chain[0])[1] or ids[0]
        ends = {"brain": brain.hex(), "snapshot": ids[0].hex(), "ancestor": ids[-1].hex()}
        return {**proof, **ends, "chain": [to_base64(data) for data in chain]}
    bundle = _bundle_from_proof(proof)
    fields = list(unpack(decode_base64(proof["encoded"])))
    fields[2] = bundle
    data = random_mutations.pack_with_wide_form(fields)
    id = snapshot.snapshot_id(data).hex()
    brain = proof["brain"] if fields[1] else id
    return {
        **proof,
        "brain": brain,
        "snapshot": id,
        "bundle": bundle.hex(),
        "encoded": to_base64(data),
    }


def _bundle_from_proof(proof: Any) -> bytes:
    """Return where the ways of a proof lead to, whatever they are."""
    if proof["kind"] == "section":
        return _section_leaf_hash(proof)
    return _bundle_id_from_root(proof, _file_leaf_hash(proof))


def _file_leaf_hash(line: Any) -> bytes:
    inner = line["path"].partition("/")[2] or line["path"]
    entry = [inner, _TYPES.index(line["type"]), bytes.fromhex(line["blob"]), line["size"]]
    return _root_from_path(_leaf(random_mutations.pack_with_wide_form(entry)), line["climb"])


def _section_leaf_hash(line: Any) -> bytes:
    entry = [line["section"], bytes.fromhex(line["root"]), line["files"], line["bytes"]]
    return _root_from_path(_section(random_mutations.pack_with_wide_form(entry)), line["steps"])


def _bundle_id_from_root(proof: Any, root: bytes) -> bytes:
    name, slash, _ = proof["path"].partition("/")
    tree = proof["tree"]
    entry = [name if slash else ".", root, tree["files"], tree["bytes"]]
    return _root_from_path(_section(random_mutations.pack_with_wide_form(entry)), tree["steps"])


def _root_from_path(here: bytes, way: Any) -> bytes:
    for step in way:
        if isinstance(step, dict):
            entry = [bytes.fromhex(step["last"]), here, step["files"], step["bytes"]]
            here = _inner(random_mutations.pack_with_wide_form(entry))
        else:
            other = bytes.fromhex(step[1:])
            here = _join(other + here if step[0] == "l" else here + other)
    return here


def decode_base64(text: str) -> bytes:
    """Return the bytes of base64."""
    return base64.b64decode(text)


_BASE_POINT = (
    15112221349535400772501151409588531511454012693041857206046113283949847762202,
    46316835694926478169428394003475163141307993866256225615783033603165251855960,
)
_TORSION = [
    (0, ed25519_curve.PRIME - 1),
    *((ed25519_curve.recover_x(y), y) for y in (0, ed25519._ORDER_8_Y)),
]


def key_with_torsion(draw: Random, given: dict[str, str]) -> dict[str, str]:
    """Return a key with a part of small order, and a signature that fits it but for that part."""
    secret, once = draw.randrange(1, ed25519_curve.ORDER), draw.randrange(1, ed25519_curve.ORDER)
    key = ed25519_curve.encode_point(
        *ed25519_curve.add_points(
            ed25519_curve.multiply_point(secret, _BASE_POINT), draw.choice(_TORSION)
        )
    )
    point = ed25519_curve.multiply_point(once, _BASE_POINT)
    if draw.random() < 0.5:
        point = ed25519_curve.add_points(point, draw.choice(_TORSION))
    start = ed25519_curve.encode_point(*point)
    message = ed25519.signature_message(
        *(bytes.fromhex(given[name]) for name in ("brain", "snapshot"))
    )
    k = int.from_bytes(hashlib.sha512(start + key + message).digest(), "little")
    s = (once + k * secret) % ed25519_curve.ORDER
    return {"key": key.hex(), "signature": (start + s.to_bytes(32, "little")).hex()}
