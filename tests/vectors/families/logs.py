"""Entries of a log, and what it shows of itself."""

from collections.abc import Iterator
from typing import Any

from brain.chain.ledger_protocol import NO_PARENT
from brain.chain.tlog import compact_ranges, signed_note
from brain.chain.tlog.checkpoints import Checkpoint
from brain.chain.tlog.log_entry import MAX_SEQ, MAX_TIME_MS, LogLeaf, decode_entry, encode_entry
from brain.chain.tlog.log_reader import log_origin
from brain.chain.tlog.rfc6962 import EMPTY_ROOT, leaf_hash
from brain.chain.tlog.signed_note import ALGORITHM_COSIGNATURE, ALGORITHM_ED25519, VerifierKey
from tests.support import tlog_ledgers
from tests.support.signed_lineages import KEY_SEEDS, PUBLIC_KEYS
from tests.support.tlog_ledgers import merkle_tree_hash, range_hashes
from tests.vectors.families.vector import Vector, as_hex, encoded, refused, valid

BRAINS = [bytes([number]) * 32 for number in range(1, 4)]
LOG = VerifierKey(log_origin(PUBLIC_KEYS[0]), ALGORITHM_ED25519, PUBLIC_KEYS[0])
WITNESS = VerifierKey("witness.example/w1", ALGORITHM_COSIGNATURE, PUBLIC_KEYS[1])
OTHER = VerifierKey("witness.example/w2", ALGORITHM_COSIGNATURE, PUBLIC_KEYS[2])
TIME = 1_700_000_000_000
SIZE = 11


def _snapshot(brain: int, seq: int) -> bytes:
    return bytes([16 * brain + seq]) * 32 if seq else NO_PARENT


ENTRIES = [
    LogLeaf(
        BRAINS[n % 3], n // 3 + 1, _snapshot(n % 3, n // 3 + 1), _snapshot(n % 3, n // 3), TIME + n
    )
    for n in range(SIZE)
]
LEAVES = [encode_entry(entry) for entry in ENTRIES]
FIRST, SECOND = ENTRIES[0], ENTRIES[3]


def entries() -> Iterator[Vector]:
    """Yield encoded entries, taken and refused."""
    largest = SECOND._replace(seq=MAX_SEQ, time=MAX_TIME_MS)
    for name, entry in {
        "the first of a brain": FIRST,
        "one after another": SECOND,
        "at time 0": FIRST._replace(time=0),
        "of the greatest numbers": largest,
    }.items():
        yield valid(name, "entry", as_hex(encode_entry(entry)), **facts(encode_entry(entry)))
    for name, value in _wrong().items():
        yield refused(name, "entry", as_hex(encoded(value)), "bad_entry")
    data = encode_entry(SECOND)
    yield refused("cut off", "entry", as_hex(data[:-1]), "bad_msgpack")
    yield refused("followed by a byte", "entry", as_hex(data + b"\0"), "bad_msgpack")
    loose = data.replace(b"\x96\x01", b"\x96\xcc\x01", 1)
    yield refused(
        "a number that is longer than it need be", "entry", as_hex(loose), "not_canonical"
    )


def _wrong() -> dict[str, Any]:
    return {
        "format 2": (2, *FIRST),
        "five fields": (1, *FIRST[:-1]),
        "seven fields": (1, *FIRST, 0),
        "a map": {"brain": BRAINS[0]},
        "a brain of 31 bytes": (1, *FIRST._replace(brain=bytes(31))),
        "a snapshot of 33 bytes": (1, *FIRST._replace(snapshot=b"x" * 33)),
        "a snapshot as text": (1, BRAINS[0], 1, "s" * 32, NO_PARENT, TIME),
        "a snapshot of zeros": (1, *SECOND._replace(snapshot=NO_PARENT)),
        "commitment 0": (1, *FIRST._replace(seq=0)),
        "a first one with a parent": (1, *SECOND._replace(seq=1)),
        "a second one without a parent": (1, *FIRST._replace(seq=2)),
        "a seq beyond the greatest": (1, *SECOND._replace(seq=MAX_SEQ + 1)),
        "a time beyond the greatest": (1, *FIRST._replace(time=MAX_TIME_MS + 1)),
    }


def facts(data: bytes) -> dict[str, Any]:
    """Return what an encoded entry says, as a vector writes it down."""
    entry = decode_entry(data)
    ids = {"brain": entry.brain, "snapshot": entry.snapshot, "parent": entry.parent}
    told = {name: id.hex() for name, id in ids.items()}
    return {**told, "seq": entry.seq, "time": entry.time, "leaf": leaf_hash(data).hex()}


def _signed(size: int, root: bytes | None = None, lines: str = "") -> str:
    text = Checkpoint(LOG.name, size, root or merkle_tree_hash(LEAVES[:size])).text + lines
    return f"{text}\n{tlog_ledgers.sign_note(text, LOG, KEY_SEEDS[0])}"


def _cosigned(size: int, time: int = 1_700_000_100) -> str:
    text = _signed(size)
    body = signed_note.parse_note(text).text
    return text + str(tlog_ledgers.sign_cosignature(body, WITNESS, KEY_SEEDS[1], time))


def _inclusion(index: int, size: int, **change: Any) -> dict[str, Any]:
    path = [
        hash.hex() for hash in range_hashes(compact_ranges.inclusion_ranges(index, size), LEAVES)
    ]
    given = {"checkpoint": _signed(size), "key": str(LOG), "index": index}
    return {**given, "entry": LEAVES[index].hex(), "path": path, "witnesses": [], **change}


def inclusions() -> Iterator[Vector]:
    """Yield entries under checkpoints, taken and refused."""
    for index, size in ((0, 1), (0, 11), (10, 11), (5, 8), (6, 7)):
        yield _included(f"entry {index} of {size}", _inclusion(index, size))
    told = [["witness.example/w1", 1_700_000_100]]
    judged = {"checkpoint": _cosigned(11), "witnesses": [str(WITNESS), str(OTHER)]}
    yield _included("cosigned by one of two", _inclusion(3, 11, **judged), told)
    yield _included("cosigned, not asked for", _inclusion(3, 11, checkpoint=_cosigned(11)))
    extended = _signed(11, lines="an extension\n")
    yield _included("with an extension line", _inclusion(3, 11, checkpoint=extended))
    for name, (error, given) in _false().items():
        yield refused(name, "inclusion", given, error)


def _included(name: str, given: dict[str, Any], witnesses: list[Any] | None = None) -> Vector:
    size = int(given["checkpoint"].split("\n")[1])
    expected = {"origin": LOG.name, "size": size, "root": merkle_tree_hash(LEAVES[:size]).hex()}
    return valid(name, "inclusion", given, **expected, witnesses=witnesses or [])


def _false() -> dict[str, tuple[str, dict[str, Any]]]:
    good = _inclusion(3, 11)
    text, path = good["checkpoint"], good["path"]
    late = _cosigned(10).splitlines(keepends=True)[-1]
    spoiled = text.replace(LOG.name + " ", LOG.name + " A", 1)
    twice = text + "\n" + text.splitlines(keepends=True)[-1]
    return {
        "another index": ("not_included", {**good, "index": 4}),
        "an index beyond the end": ("not_included", {**good, "index": 11}),
        "another entry": ("not_included", {**good, "entry": LEAVES[4].hex()}),
        "no entry": ("bad_entry", {**good, "entry": "00"}),
        "a path that is too short": ("not_included", {**good, "path": path[:-1]}),
        "a path that is too long": ("not_included", {**good, "path": [*path, path[0]]}),
        "a path in another order": ("not_included", {**good, "path": path[::-1]}),
        "a hash of 31 bytes": ("not_included", {**good, "path": [path[0][2:], *path[1:]]}),
        "an earlier checkpoint": ("not_included", {**good, "checkpoint": _signed(9)}),
        "another root": ("not_included", {**good, "checkpoint": _signed(11, bytes(32))}),
        "another size": ("bad_signature", {**good, "checkpoint": text.replace("11", "12", 1)}),
        "a size with a zero before": ("bad_checkpoint", {**good, "checkpoint": _numbered("011")}),
        "a size with a sign": ("bad_checkpoint", {**good, "checkpoint": _numbered("+11")}),
        "a size that is too great": (
            "bad_checkpoint",
            {**good, "checkpoint": _numbered(str(2**63))},
        ),
        "no entries under a root": ("bad_checkpoint", {**good, "checkpoint": _numbered("0")}),
        "another key": (
            "wrong_origin",
            {**good, "key": str(LOG._replace(name="other", key=PUBLIC_KEYS[1]))},
        ),
        "a key of the same name": (
            "unsigned",
            {**good, "key": str(LOG._replace(key=PUBLIC_KEYS[1]))},
        ),
        "a key with another id": ("bad_key", {**good, "key": str(LOG).replace("+", "+0", 1)[:-1]}),
        "a key of a witness": (
            "bad_key",
            {**good, "key": str(LOG._replace(algorithm=ALGORITHM_COSIGNATURE))},
        ),
        "a key of small order": ("bad_key", {**good, "key": str(LOG._replace(key=bytes(32)))}),
        "a witness with a key of a log": ("bad_key", {**good, "witnesses": [str(LOG)]}),
        "a cosignature of another state": (
            "bad_signature",
            {**good, "checkpoint": text + late, "witnesses": [str(WITNESS)]},
        ),
        "base64 with a letter more": ("bad_note", {**good, "checkpoint": spoiled}),
        "no signature": ("bad_note", {**good, "checkpoint": text[: text.index("\n\n") + 2]}),
        "a text that ends later": ("bad_checkpoint", {**good, "checkpoint": twice}),
        "no line feed at the end": ("bad_note", {**good, "checkpoint": text[:-1]}),
        "a carriage return": ("bad_note", {**good, "checkpoint": text.replace("\n", "\r\n")}),
        "a hyphen for the dash": ("bad_note", {**good, "checkpoint": text.replace("—", "-")}),
        "101 signatures": ("too_large", {**good, "checkpoint": text + late * 100}),
    }


def _numbered(size: str) -> str:
    body = _signed(11).split("\n\n")[0].replace("\n11\n", f"\n{size}\n") + "\n"
    return f"{body}\n{tlog_ledgers.sign_note(body, LOG, KEY_SEEDS[0])}"


def _consistency(before: int, after: int, **change: Any) -> dict[str, Any]:
    path = [
        hash.hex()
        for hash in range_hashes(compact_ranges.consistency_ranges(before, after), LEAVES)
    ]
    given = {"old": _signed(before), "new": _signed(after), "key": str(LOG), "path": path}
    return {**given, **change}


def consistencies() -> Iterator[Vector]:
    """Yield pairs of checkpoints, taken and refused."""
    for old, new in ((1, 2), (1, 11), (4, 8), (6, 8), (7, 11), (10, 11), (11, 11)):
        yield valid(f"{old} and {new}", "consistency", _consistency(old, new), old=old, new=new)
    good = _consistency(6, 11)
    path = good["path"]
    none = Checkpoint(LOG.name, 0, EMPTY_ROOT).text
    for name, error, given in (
        ("the other way round", "not_consistent", {**good, "old": good["new"], "new": good["old"]}),
        ("another size before", "not_consistent", {**good, "old": _signed(5)}),
        ("another size after", "not_consistent", {**good, "new": _signed(10)}),
        ("another root before", "not_consistent", {**good, "old": _signed(6, bytes(32))}),
        ("another root after", "not_consistent", {**good, "new": _signed(11, bytes(32))}),
        ("a shorter way", "not_consistent", {**good, "path": path[1:]}),
        ("a longer way", "not_consistent", {**good, "path": [*path, path[0]]}),
        ("no way", "not_consistent", {**good, "path": []}),
        ("two roots of one size", "log_forked", _consistency(11, 11, new=_signed(11, bytes(32)))),
        ("a way from a state to itself", "not_consistent", _consistency(11, 11, path=path)),
        ("nothing and something", "not_consistent", {**good, "path": [], "old": _of_none(none)}),
    ):
        yield refused(name, "consistency", given, error)


def _of_none(text: str) -> str:
    return f"{text}\n{tlog_ledgers.sign_note(text, LOG, KEY_SEEDS[0])}"
