"""Evidence in the second implementation, from docs/FORMAT.md and the yellow paper."""

import json
import re
from hashlib import sha256
from pathlib import Path
from typing import Any

import rlp
from Crypto.Hash import keccak as _keccak

from tests.conformance.independent.objects import InvalidFormat, require
from tests.conformance.independent.proofs import check_proof, parse_json, read_id, require_keys
from tests.conformance.independent.tlog import check_inclusion, read_entry

EvidenceDocument = dict[str, Any]

_MAX_NUMBER = (1 << 63) - 1
_TOP_FIELDS = {
    "format",
    "brain",
    "snapshot",
    "claim",
    "proof",
    "descent",
    "committed",
    "log",
    "chain",
}
_CHAIN_FIELDS = {"chain_id", "contract", "kind", "header", "account", "slots"}
_ARTIFACT = Path(__file__).parents[3] / "brain" / "chain" / "contracts" / "BrainRegistry.json"
_HEADER_FIELD_SIZES = [
    32,
    32,
    20,
    32,
    32,
    32,
    256,
    *([None] * 5),
    -1,
    32,
    8,
    None,
    32,
    None,
    None,
    32,
    32,
]
"""Sizes of the fields of a header, None for numbers, -1 for any."""


def check_evidence(given: EvidenceDocument) -> EvidenceDocument:
    """Return what evidence shows to a reader who knows some of its ends."""
    text = given["text"].encode()
    require(len(text) <= 4_194_304, "too large")
    found = parse_json(text)
    require_keys(found, _TOP_FIELDS)
    require(found["format"] == "brain v1 evidence" and found["claim"] == "commitment", "format")
    brain, snapshot = read_id(found["brain"]), read_id(found["snapshot"])
    committed, log, chain = found["committed"], found["log"], found["chain"]
    require_keys(committed, {"snapshot", "parent", "seq"})
    target = read_id(committed["snapshot"])
    require(_is_number(committed["seq"], 1), "seq")
    path = _check_path_proof(found["proof"], brain, snapshot)
    _check_descent_proof(found["descent"], brain, target, snapshot)
    require(log or chain, "a ledger")
    require((committed["parent"] is None) == (log is None), "a parent")
    told = _check_log(log, found, given.get("log_key")) if log else None
    require(log or "log_key" not in given, "no log to compare")
    require(chain or "block_hash" not in given, "no block to compare")
    block = _check_chain(chain, found, given.get("block_hash"), told) if chain else None
    parent = committed["parent"] or ""
    return {
        "level": "L3" if "block_hash" in given else "L0",
        "brain": brain.hex(),
        "snapshot": snapshot.hex(),
        "committed": [target.hex(), parent if parent.strip("0") else None, committed["seq"]],
        "path": path,
        "log": told,
        "chain": block,
    }


def _check_path_proof(proof: Any, brain: bytes, snapshot: bytes) -> list[Any] | None:
    if proof is None:
        return None
    told = check_proof(json.dumps(proof).encode())
    require("path" in told, "a proof of a path")
    require((told["brain"], told["snapshot"]) == (brain.hex(), snapshot.hex()), "of another")
    return [told["path"], told["blob"]]


def _check_descent_proof(proof: Any, brain: bytes, target: bytes, snapshot: bytes) -> None:
    require((proof is None) == (target == snapshot), "a descent where it is needed")
    if proof is not None:
        told = check_proof(json.dumps(proof).encode())
        names = ("brain", "snapshot", "ancestor", "from")
        wanted = [brain.hex(), target.hex(), snapshot.hex(), brain.hex()]
        require([told.get(name) for name in names] == wanted, "the descent")


def _check_log(log: Any, found: EvidenceDocument, key: str | None) -> list[Any]:
    require_keys(log, {"checkpoint", "key", "index", "entry", "path"})
    require(type(log["checkpoint"]) is str and len(log["checkpoint"]) <= 65_536, "a checkpoint")
    require(type(log["key"]) is str and log["key"] == (key or log["key"]), "the key")
    require(_is_number(log["index"], 0), "the index")
    require(type(log["path"]) is list and len(log["path"]) <= 63, "the path")
    for one in log["path"]:
        read_id(one)
    _read_hex(f"0x{log['entry']}", 1, 122)
    entry = read_entry(bytes.fromhex(log["entry"]))
    wanted = {**found["committed"], "brain": found["brain"]}
    require(wanted == {name: entry[name] for name in wanted}, "another entry")
    said = check_inclusion({**log, "witnesses": []})
    return [said["origin"], log["index"], said["size"], said["root"], entry["time"]]


def _check_chain(
    chain: Any, found: EvidenceDocument, block_hash: str | None, log: Any
) -> list[Any]:
    require(type(chain) is dict and chain.get("kind") in ("brain", "anchor"), "the kind")
    is_brain = chain["kind"] == "brain"
    require(is_brain == (log is None), "the kind for the ledger")
    by = "creator" if is_brain else "sender"
    require_keys(chain, _CHAIN_FIELDS | {by})
    require(_is_number(chain["chain_id"], 1), "the chain")
    contract, account = _read_hex(chain["contract"], 20, 20), _read_hex(chain[by], 20, 20)
    header = _read_hex(chain["header"], 1, 16_384)
    fields = _read_header(header)
    hash = f"0x{_keccak_hash(header).hex()}"
    require(block_hash in (None, hash), "another block")
    items = _require_list(
        _decode_rlp(_look_up(fields[3], contract, _read_nodes(chain["account"]))), 4
    )
    _rlp_number(items[0])
    _rlp_number(items[1])
    storage, code = (_require_size(item, 32) for item in items[2:])
    known = json.loads(_ARTIFACT.read_bytes())["hashes"]["runtime"]
    require(f"0x{code.hex()}" == known, "other code")
    words = _read_slots(chain["slots"], storage, _slot_keys(is_brain, account, found))
    end = [int.from_bytes(fields[8], "big"), hash, int.from_bytes(fields[11], "big") * 1000]
    if not is_brain:
        text = found["log"]["checkpoint"].rpartition("\n\n")[0] + "\n"
        require(words[0] == sha256(text.encode()).digest(), "another checkpoint")
        return [*end, chain["contract"], None, None, None, chain[by]]
    first, head, third = words
    require(any(first[12:]) and not any(third[:4]), "addresses")
    seq = int.from_bytes(first[4:12], "big")
    require(seq, "a brain that was opened")
    wanted = found["committed"]
    require([head.hex(), seq] == [wanted["snapshot"], wanted["seq"]], "another head")
    signer = f"0x{third[12:].hex()}" if any(third[12:]) else None
    repairs = int.from_bytes(first[:4], "big")
    return [*end, chain["contract"], f"0x{first[12:].hex()}", signer, repairs, None]


def _read_header(data: bytes) -> list[bytes]:
    fields = _decode_rlp(data)
    require(type(fields) is list and len(fields) in (15, 16, 17, 20, *range(21, 33)), "fields")
    for field, size in zip(fields, _HEADER_FIELD_SIZES, strict=False):
        if size is None:
            _rlp_number(field)
        else:
            _require_size(field, len(field) if size == -1 else size)
    require(all(type(field) is bytes for field in fields), "a list in a header")
    require(len(fields[8]) <= 8 and len(fields[11]) <= 8, "number and time")
    require(int.from_bytes(fields[11], "big") <= 253402300799, "the time")
    return [bytes(field) for field in fields]


def _slot_keys(is_brain: bool, account: bytes, found: EvidenceDocument) -> list[bytes]:
    left = bytes(12) + account
    if not is_brain:
        log = sha256(found["log"]["key"].encode()).digest()
        return [_keccak_hash(log + _keccak_hash(left + bytes(31) + b"\1"))]
    base = int.from_bytes(
        _keccak_hash(_keccak_hash(left + bytes.fromhex(found["brain"])) + bytes(32)), "big"
    )
    return [((base + n) % 2**256).to_bytes(32, "big") for n in range(3)]


def _read_slots(slots: Any, storage: bytes, wanted: list[bytes]) -> list[bytes]:
    require(type(slots) is list and len(slots) == len(wanted), "the slots")
    out = []
    for slot, name in zip(slots, wanted, strict=True):
        require_keys(slot, {"slot", "value", "proof"})
        require(_read_hex(slot["slot"], 32, 32) == name, "another slot")
        stored = _look_up(storage, name, _read_nodes(slot["proof"]))
        word = _rlp_number(_decode_rlp(stored)).to_bytes(32, "big") if stored else bytes(32)
        require(_read_hex(slot["value"], 32, 32) == word, "another value")
        out.append(word)
    return out


def _look_up(root: bytes, name: bytes, nodes: list[bytes]) -> bytes:
    """Return what is at a name in a trie, b"" if nothing is, by all the nodes."""
    if root == _keccak_hash(b"\x80"):
        require(not nodes, "nodes of nothing")
        return b""
    key, here, left = _keccak_hash(name).hex(), root, [*nodes]
    while True:
        if type(here) is not list:
            require(len(here) == 32 and left and _keccak_hash(left[0]) == here, "another node")
            here = _decode_rlp(left.pop(0))
            require(type(here) is list, "a node")
        else:
            require(len(rlp.encode(here)) < 32, "a long node inside")
        if len(here) == 17:
            require(key and here[16] == b"", "a branch")
            here, key = here[int(key[0], 16)], key[1:]
            if here == b"":
                break
            continue
        path, item = _require_list(here, 2)
        is_leaf, part = _decode_hex_prefix(path)
        require(len(part) == len(key) if is_leaf else 0 < len(part) < len(key), "the path")
        if not key.startswith(part):
            here = b""
            break
        here, key = item, key[len(part) :]
        if is_leaf:
            require(type(here) is bytes and here, "a value")
            break
    require(not left, "nodes that are not needed")
    return bytes(here)


def _decode_hex_prefix(path: Any) -> tuple[bool, str]:
    require(type(path) is bytes and path, "a path")
    found = re.fullmatch("([13])(.*)|([02])0(.*)", path.hex())
    if found is None:
        raise InvalidFormat("the flags of a path")
    flag = found[1] or found[3]
    return int(flag) >= 2, found[2] if found[1] else found[4]


def _keccak_hash(data: bytes) -> bytes:
    return _keccak.new(digest_bits=256, data=data).digest()


def _decode_rlp(data: bytes) -> Any:
    try:
        return _rlp_item(rlp.decode(data), 8)
    except rlp.exceptions.DecodingError as error:
        raise InvalidFormat("RLP") from error


def _rlp_item(item: Any, lists: int) -> Any:
    if isinstance(item, bytes):
        return item
    require(lists, "lists too deep")
    return [_rlp_item(one, lists - 1) for one in item]


def _rlp_number(item: Any) -> int:
    require(type(item) is bytes and len(item) <= 32 and item[:1] != b"\0", "a number")
    return int.from_bytes(item, "big")


def _require_size(item: Any, size: int) -> bytes:
    require(type(item) is bytes and len(item) == size, "the size of bytes")
    return bytes(item)


def _require_list(item: Any, size: int) -> list[Any]:
    require(type(item) is list and len(item) == size, "the size of a list")
    return list(item)


def _read_nodes(value: Any) -> list[bytes]:
    require(type(value) is list and len(value) <= 64, "nodes")
    return [_read_hex(one, 1, 1024) for one in value]


def _read_hex(value: Any, least: int, most: int) -> bytes:
    require(type(value) is str and re.fullmatch("0x([0-9a-f]{2})+", value), "hex")
    require(least <= len(value) // 2 - 1 <= most, "the length of hex")
    return bytes.fromhex(value[2:])


def _is_number(value: Any, least: int) -> bool:
    return type(value) is int and least <= value <= _MAX_NUMBER
