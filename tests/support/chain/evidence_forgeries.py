"""Forgeries of evidence by those who can sign or hash: everything fits but for the known ends.

The operator of a log signs another checkpoint with the log's own key, or somebody signs with a
key of the same name; a state of the chain is changed, and hashed anew up to the header.
"""

import random
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import rlp

from brain.chain.evidence import offline_check
from brain.chain.tlog import note
from brain.chain.tlog.note import (
    ALGORITHM_ED25519,
    Checkpoint,
    LogLeaf,
    VerifierKey,
    decode_entry,
    encode_entry,
    parse_checkpoint,
)
from brain.trust import ed25519
from tests.support import tlog_ledgers
from tests.support.chain import rfc6962
from tests.support.chain.merkle_patricia import keccak
from tests.support.json_mutations import replace_at

Document = dict[str, Any]
_STRANGER_SEED = sha256(b"a stranger's key").digest()


def forge_log(draw: random.Random, document: Document, seeds: Mapping[str, bytes]) -> Document:
    """Change key, origin, size, index, entry, path or root of a log, and sign it.

    The log's own key signs only what is anchored: without a chain, nobody can tell that the
    operator of a log signed another one.
    """
    log = dict(document["log"])
    checkpoint = parse_checkpoint(note.parse_note(log["checkpoint"]).text)
    key, seed = note.parse_verifier_key(log["key"]), seeds[log["key"]]
    if document["chain"] is None or draw.random() < 0.4:
        name = draw.choice((key.name, key.name, "other.example"))
        seed = _STRANGER_SEED
        key = VerifierKey(name, ALGORITHM_ED25519, ed25519.public_key(seed))
    size, index, path = checkpoint.size, log["index"], [bytes.fromhex(x) for x in log["path"]]
    entry = bytes.fromhex(log["entry"])
    change = draw.choice(("none", "size", "index", "size and index", "entry", "path", "root"))
    if "size" in change:
        size = max(1, size + draw.choice((-9, -2, -1, 1, 2, 9, size, 1 << 20)))
    if "index" in change:
        index = draw.randrange(size)
    if change == "entry":
        entry = encode_entry(_other_entry(draw, decode_entry(entry)))
    if change == "path" and path:
        path[draw.randrange(len(path))] = draw.choice((draw.randbytes(32), path[0]))
    root = rfc6962.root_from_path(index, size, rfc6962.leaf_hash(entry), path) or checkpoint.root
    if change == "root":
        root = draw.choice((draw.randbytes(32), *path, rfc6962.leaf_hash(entry)))
    text = Checkpoint(key.name, size, root).text + draw.choice(("", "", "", "more\n"))
    line = tlog_ledgers.sign_note(text, key, seed)
    log |= {
        "checkpoint": str(note.SignedNote(text, (line,))),
        "key": str(key),
        "index": index,
        "entry": entry.hex(),
        "path": [step.hex() for step in path],
    }
    forged = {**document, "log": log}
    if change == "entry":
        logged = decode_entry(entry)
        forged["committed"] = {
            "snapshot": logged.snapshot.hex(),
            "parent": logged.parent.hex(),
            "seq": logged.seq,
        }
    if document["chain"] and draw.random() < 0.5:
        return _anchor_in_forged_state(forged, key, text)
    return forged


def _other_entry(draw: random.Random, entry: LogLeaf) -> LogLeaf:
    changes: list[dict[str, Any]] = [
        {"seq": entry.seq + draw.choice((1, 7, 1 << 40))},
        {"time": entry.time + 1},
        {"parent": draw.randbytes(32)},
        {"snapshot": draw.randbytes(32)},
        {"brain": draw.randbytes(32)},
    ]
    return entry._replace(**draw.choice(changes))


def _anchor_in_forged_state(document: Document, key: VerifierKey, text: str) -> Document:
    """Put the checkpoint into the slot of its log, and hash the state anew."""
    sender = bytes.fromhex(document["chain"]["sender"][2:])
    slot = offline_check.anchor_slot(sender, offline_check.log_id(str(key)))
    named = replace_at(document, ("chain", "slots", 0, "slot"), f"0x{slot.hex()}")
    return _store_word(named, 0, offline_check.checkpoint_hash(text))


def forge_word(draw: random.Random, document: Document) -> Document:
    """Change a field of a word of the contract, and hash the state anew up to the header."""
    slots = document["chain"]["slots"]
    place = draw.randrange(len(slots))
    word = bytearray.fromhex(slots[place]["value"][2:])
    start, end = draw.choice(((0, 4), (4, 12), (12, 32), (0, 32)))
    field = int.from_bytes(word[start:end], "big") + draw.choice((1, 2, 1 << 20))
    word[start:end] = (field % (1 << 8 * (end - start))).to_bytes(end - start, "big")
    forged = _store_word(document, place, bytes(word))
    if place == 0 and len(slots) > 1 and draw.random() < 0.8:
        seq = int.from_bytes(word[4:12], "big") % (1 << 63)
        forged = replace_at(forged, ("committed", "seq"), seq)
    return forged


def _store_word(document: Document, place: int, word: bytes) -> Document:
    """Return the document with a word in a slot, and every hash above it made anew."""
    chain = document["chain"]
    number = word.lstrip(b"\0")
    nodes = [bytes.fromhex(node[2:]) for node in chain["slots"][place]["proof"]]
    leaf = rlp.decode(nodes[-1])
    if len(leaf) == 2:
        leaf[1] = rlp.encode(number)
    slot_nodes, (old_root, new_root) = _replace_last(nodes, rlp.encode(leaf))
    accounts = [bytes.fromhex(node[2:]) for node in chain["account"]]
    changed = accounts[-1].replace(old_root, new_root)
    account_nodes, (old_state, new_state) = _replace_last(accounts, changed)
    header = bytes.fromhex(chain["header"][2:]).replace(old_state, new_state)
    slots = list(chain["slots"])
    slots[place] = {
        **slots[place],
        "value": f"0x{word.hex()}",
        "proof": [f"0x{node.hex()}" for node in slot_nodes],
    }
    part = {
        **chain,
        "header": f"0x{header.hex()}",
        "account": [f"0x{node.hex()}" for node in account_nodes],
        "slots": slots,
    }
    return {**document, "chain": part}


def _replace_last(nodes: list[bytes], last: bytes) -> tuple[list[bytes], tuple[bytes, bytes]]:
    """Replace the last node of a proof; return the nodes, and the old and the new root."""
    out = [last]
    old, new = keccak(nodes[-1]), keccak(last)
    for node in reversed(nodes[:-1]):
        changed = node.replace(old, new)
        out.insert(0, changed)
        old, new = keccak(node), keccak(changed)
    return out, (old, new)
