"""Signatures of snapshots, records of them, and proofs of equivocation."""

import json
from collections.abc import Iterator
from typing import Any

from brain.encoding import pack
from brain.errors import ProofError
from brain.objects.snapshot import encode_snapshot, snapshot_id
from brain.proofs.json_fields import to_base64
from brain.trust import ed25519, equivocation_proof, signature_format
from brain.trust.equivocation import EquivocationPair
from brain.trust.equivocation_proof import SignedSnapshot
from brain.trust.signature_format import KeySignature, format_key
from tests.support.conformance.signature_records import encode_signatures
from tests.support.ed25519_curve import ORDER, PRIME, encode_point
from tests.support.json_mutations import mutate_json
from tests.support.signed_lineages import KEY_SEEDS, PUBLIC_KEYS, SignedLineage
from tests.vectors.families.snapshots import BRAIN, GENESIS, LATER
from tests.vectors.families.vector import Vector, as_hex, refused, valid

HERE = snapshot_id(encode_snapshot(LATER))
MESSAGE = signature_format.signature_message(BRAIN, HERE)
GOOD = KeySignature(PUBLIC_KEYS[0], ed25519.sign_message(KEY_SEEDS[0], MESSAGE))


def _claim(key: bytes, signature: bytes, brain: bytes = BRAIN, here: bytes = HERE) -> Any:
    fields = {"brain": brain, "snapshot": here, "key": key, "signature": signature}
    return {name: value.hex() for name, value in fields.items()}


def vectors() -> Iterator[Vector]:
    """Yield single signatures, taken and refused."""
    for number, seed in enumerate(KEY_SEEDS[:3]):
        given = _claim(PUBLIC_KEYS[number], ed25519.sign_message(seed, MESSAGE))
        yield valid(f"key {number}", "signature", given, message=MESSAGE.hex())
    own = signature_format.sign_snapshot(KEY_SEEDS[0], BRAIN, GENESIS)
    expected = signature_format.signature_message(BRAIN, BRAIN).hex()
    yield valid("a genesis", "signature", _claim(*own, BRAIN, BRAIN), message=expected)
    for name, given in _wrong().items():
        yield refused(name, "signature", given, "bad_signature")


def _wrong() -> dict[str, Any]:
    key, good = GOOD
    r, s = good[:32], int.from_bytes(good[32:], "little")
    identity = encode_point(0, 1)
    return {
        "another brain": _claim(key, good, HERE, HERE),
        "another snapshot": _claim(key, good, BRAIN, BRAIN),
        "brain and snapshot swapped": _claim(key, good, HERE, BRAIN),
        "another key": _claim(PUBLIC_KEYS[1], good),
        "a message without its context": _claim(
            key, ed25519.sign_message(KEY_SEEDS[0], BRAIN + HERE)
        ),
        "nothing": _claim(key, b""),
        "63 bytes": _claim(key, good[:63]),
        "65 bytes": _claim(key, good + b"\0"),
        "a key of 31 bytes": _claim(key[:31], good),
        "a key of 33 bytes": _claim(key + b"\0", good),
        "the last bit of R": _claim(key, r[:31] + bytes([r[31] ^ 128]) + good[32:]),
        "S and the order": _claim(key, r + (s + ORDER).to_bytes(32, "little")),
        "S and eight times the order": _claim(key, r + (s + 8 * ORDER).to_bytes(32, "little")),
        "S of the order": _claim(key, r + ORDER.to_bytes(32, "little")),
        "zeros": _claim(key, bytes(64)),
        **{
            f"a key of small order: {point.hex()[:8]}…{point.hex()[-2:]}": _claim(
                point, identity + bytes(32)
            )
            for point in _small_order()
        },
        "a key that is no point": _claim((2).to_bytes(32, "little"), good),
        "a key that is not reduced": _claim((PRIME + 3).to_bytes(32, "little"), good),
    }


def _small_order() -> list[bytes]:
    eight = ed25519._ORDER_8_Y
    ys = (0, 1, PRIME - 1, eight, PRIME - eight, PRIME, PRIME + 1)
    return [(y | sign << 255).to_bytes(32, "little") for y in ys for sign in (0, 1)]


def records() -> Iterator[Vector]:
    """Yield records of the signatures of a snapshot."""
    three = [KeySignature(key, bytes([number]) * 64) for number, key in enumerate(PUBLIC_KEYS[:3])]
    for name, rows in (("one signature", [GOOD]), ("three signatures", three)):
        data = encode_signatures(HERE, rows)
        keys = [row.key.hex() for row in sorted(rows)]
        yield valid(name, "signatures", as_hex(data), snapshot=HERE.hex(), keys=keys)
    low, high = sorted(three[:2])
    for name, value in {
        "no array": "x",
        "no signatures": (HERE, ()),
        "a snapshot of 31 bytes": (HERE[:31], (GOOD,)),
        "a snapshot in hex": (HERE.hex(), (GOOD,)),
        "an algorithm": (HERE, (("none", *GOOD),)),
        "a third field": (HERE, (GOOD,), 0),
        "a signature of 63 bytes": (HERE, ((PUBLIC_KEYS[0], bytes(63)),)),
        "a signature of 65 bytes": (HERE, ((PUBLIC_KEYS[0], bytes(65)),)),
        "a signature that is text": (HERE, ((PUBLIC_KEYS[0], "x" * 64),)),
        "a key of 31 bytes": (HERE, ((PUBLIC_KEYS[0][:31], bytes(64)),)),
        "a key of small order": (HERE, ((bytes(32), bytes(64)),)),
        "a key that is no point": (HERE, (((2).to_bytes(32, "little"), bytes(64)),)),
        "a key that is not reduced": (HERE, (((PRIME + 3).to_bytes(32, "little"), bytes(64)),)),
        "a key twice": (HERE, (GOOD, GOOD)),
        "keys out of order": (HERE, (high, low)),
    }.items():
        yield refused(name, "signatures", as_hex(pack(value)), "bad_signature")
    data = encode_signatures(HERE, three)
    yield refused("a byte too many", "signatures", as_hex(data + b"\0"), "bad_msgpack")
    yield refused("every proper prefix", "signatures-prefixes", as_hex(data), "bad_msgpack")


def equivocations() -> Iterator[Vector]:
    """Yield proofs of equivocation."""
    line = SignedLineage(by=[0])
    a, b = line.add(0, by=[0]), line.add(0, by=[0], author="b")
    side = line.add(0, b, by=[0])
    late = line.add(0, line.add(line.add(line.add(0, author="q"))), by=[0])
    found = EquivocationPair(line.ids[0], PUBLIC_KEYS[0], line.ids[a], line.ids[b])
    for name, other in (("two children", b), ("a child and a merge", side)):
        text = equivocation_proof.render_equivocation_proof(found, *_pair(line, a, other))
        yield valid(name, "equivocation", {"text": text.decode()}, **facts(text))
    document = json.loads(equivocation_proof.render_equivocation_proof(found, *_pair(line, a, b)))
    for name, value in {
        "the same snapshot twice": _document(line, a, a),
        "a child that merges the other": _document(line, b, side),
        "a merge that lies much later": _document(line, a, late),
        "a child and a grandchild": _document(line, b, line.add(a, by=[0])),
        "a key that signed neither": {**document, "key": format_key(PUBLIC_KEYS[1])},
        "another parent": {**document, "parent": HERE.hex()},
        "another brain": {**document, "brain": HERE.hex()},
        "the higher id first": {**document, "signed": document["signed"][::-1]},
        **{f"altered: {name}": value for name, value in mutate_json(document)},
    }.items():
        text = json.dumps(value)
        yield refused(name, "equivocation", {"text": text}, _error(text))


def facts(text: bytes) -> dict[str, Any]:
    """Return what a proof of equivocation shows, as a vector expects it."""
    brain, parent, key, both = equivocation_proof.verify_equivocation_proof(text)
    out: dict[str, Any] = {"brain": brain.hex(), "parent": parent.hex(), "key": format_key(key)}
    return {**out, "snapshots": [one.hex() for one in both]}


def _pair(line: SignedLineage, *numbers: int) -> list[SignedSnapshot]:
    out = []
    for number in numbers:
        here = line.ids[number]
        signature = signature_format.sign_snapshot(KEY_SEEDS[0], here, line.known[here]).signature
        out.append(SignedSnapshot(encode_snapshot(line.known[here]), signature))
    return out


def _document(line: SignedLineage, a: int, b: int) -> dict[str, Any]:
    rows = sorted(_pair(line, a, b), key=lambda one: snapshot_id(one.encoded))
    return {
        "format": equivocation_proof.EQUIVOCATION_FORMAT,
        "brain": line.brain.hex(),
        "parent": line.ids[0].hex(),
        "key": format_key(PUBLIC_KEYS[0]),
        "signed": [
            {"encoded": to_base64(one.encoded), "signature": one.signature.hex()} for one in rows
        ],
    }


def _error(text: str) -> str:
    try:
        equivocation_proof.verify_equivocation_proof(text.encode())
    except ProofError as error:
        return error.code
    raise AssertionError(text)
