"""Evidence made from nothing: of a made-up chain and a log of a few entries, always the same."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from brain.chain.evidence import registry
from brain.chain.evidence.build import assemble, chain_part
from brain.chain.evidence.evidence import ANCHOR, BRAIN
from brain.chain.protocol import FINALIZED, NO_PARENT, Commitment
from brain.chain.tlog import cosignature, note
from brain.chain.tlog.checkpoint import Checkpoint
from brain.chain.tlog.entry import Entry, encode
from brain.chain.tlog.vkey import COSIGNATURE, ED25519, VerifierKey
from brain.trust import ed25519
from tests.chain import rfc6962
from tests.chain.lineage import FIRST, LAST, OLD_PATH, descent_text, path_text
from tests.chain.tries import keccak
from tests.chain.world import CONTRACT, OWNER, SENDER, SIGNER, World, brain, many
from tests.proving import TIME

CHAIN = 31337
SEED, JUDGE_SEED = keccak(b"key of the log"), keccak(b"key of the witness")
KEY = VerifierKey("log.example", ED25519, ed25519.public_key(SEED))
JUDGE = VerifierKey("witness.example", COSIGNATURE, ed25519.public_key(JUDGE_SEED))
OPENED = Entry(FIRST.id, 1, FIRST.id, NO_PARENT, TIME)
COMMITTED = Entry(FIRST.id, 2, LAST.id, FIRST.id, TIME + 1000)
STRANGERS = [Entry(keccak(b"%d" % n), 1, keccak(b"at %d" % n), NO_PARENT, TIME) for n in range(5)]
ENTRIES = [*STRANGERS[:3], OPENED, STRANGERS[3], COMMITTED, STRANGERS[4]]

Document = dict[str, Any]


def leaves(entries: Sequence[Entry]) -> list[bytes]:
    return [rfc6962.leaf_hash(encode(entry)) for entry in entries]


def checkpoint(
    entries: Sequence[Entry], seed: bytes = SEED, key: VerifierKey = KEY, judges: int = 0
) -> str:
    """Return the signed checkpoint of a log, with the line of a witness if one is asked for."""
    said = Checkpoint(key.name, len(entries), rfc6962.root(leaves(entries)))
    lines = [note.sign(said.text, key, seed)]
    lines += [cosignature.sign(said.text, JUDGE, JUDGE_SEED, TIME // 1000)] * judges
    return str(note.Note(said.text, tuple(lines)))


def log_part(entry: Entry = COMMITTED, entries: Sequence[Entry] = ENTRIES, **by: Any) -> Document:
    """Return the field `log` for an entry of a log."""
    place = list(entries).index(entry)
    return {
        "checkpoint": checkpoint(entries, **by),
        "key": str(by.get("key", KEY)),
        "index": place,
        "entry": encode(entry).hex(),
        "path": [one.hex() for one in rfc6962.path(place, leaves(entries))],
    }


def on_chain(
    world: World, kind: str = BRAIN, by: bytes = OWNER, salt: bytes = FIRST.id
) -> Document:
    """Return the field `chain`."""
    slots = registry.brain_slots(registry.brain_id(by, salt))
    wanted = [registry.anchor_slot(by)] if kind == ANCHOR else slots
    address, account = (f"0x{one.hex()}" for one in (CONTRACT, by))
    return chain_part(CHAIN, address, kind, account, world.block(), world.proof(wanted))


def state(**besides: Any) -> World:
    """Return a world in which the brain was opened, committed to and anchored."""
    head = {"salt": FIRST.id, "head": LAST.id, "seq": 2, "signer": SIGNER, **besides}
    anchored = int.from_bytes(rfc6962.root(leaves(ENTRIES)), "big")
    return World(many() | brain(OWNER, **head) | {registry.anchor_slot(SENDER): anchored})


def document(
    *, log: Document | None = None, chain: Document | None = None, skipped: bool = False
) -> Document:
    """Return evidence of the last snapshot, or of the first, which it descends from."""
    made = Commitment("made", "", FIRST.id, 2, LAST.id, FIRST.id, FINALIZED, 0)
    part = {"log": log, "chain": chain}
    if skipped:
        old, down = path_text(OLD_PATH), descent_text()
        text = assemble(made, part, FIRST.id, path=old, descent=down)
    else:
        text = assemble(made, part, LAST.id, path=path_text())
    found: Document = json.loads(text)
    return found


def documents() -> dict[str, Document]:
    """Return evidence of every kind."""
    world = state()
    head, anchor = on_chain(world), on_chain(world, ANCHOR, SENDER)
    return {
        "brain": document(chain=head),
        "skipped": document(chain=head, skipped=True),
        "log": document(log=log_part()),
        "skipped log": document(log=log_part(), skipped=True),
        "witnessed": document(log=log_part(judges=1)),
        "anchor": document(log=log_part(), chain=anchor),
    }
