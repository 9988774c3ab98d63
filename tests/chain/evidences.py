"""Real evidence: of a small brain, a log on disk, and a BrainRegistry in a real node."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from brain.chain.evidence import registry as slots
from brain.chain.evidence.build import assemble, chain_part
from brain.chain.evidence.evidence import ANCHOR, BRAIN
from brain.chain.protocol import FINALIZED, NO_PARENT, Commitment, Wish
from brain.chain.tlog.check import check_checkpoint
from brain.chain.tlog.ledger import EmbeddedLedger
from tests.chain.lineage import FIRST, LAST, OLD_PATH, descent_text, path_text
from tests.chain.registry import Registry, word
from tests.proving import TIME

OTHERS = 40
"""Brains besides, so that the tries and the log are deep."""

KINDS = ("brain", "skipped", "log", "anchor")


class Given(NamedTuple):
    """Evidence, and what a reader who is well informed knows besides."""

    document: dict[str, Any]
    known: dict[str, Any]

    @property
    def data(self) -> bytes:
        return json.dumps(self.document).encode()


def captured(registry: Registry, kind: str, by: str) -> tuple[dict[str, Any], str]:
    """Return the field `chain` of evidence at the last block, and the hash of that block."""
    node, account = registry.node, bytes.fromhex(by[2:])
    if kind == ANCHOR:
        wanted = [slots.anchor_slot(account)]
    else:
        wanted = slots.brain_slots(slots.brain_id(account, FIRST.id))
    block = node.block()
    names = [f"0x{slot.hex()}" for slot in wanted]
    proof = node.call("eth_getProof", registry.address, names, block["number"])
    return chain_part(node.chain, registry.address, kind, by, block, proof), block["hash"]


def all_kinds(registry: Registry, folder: Path) -> dict[str, Given]:
    """Commit the brain in all the ways there are; return the evidence of each."""
    return {**of_brain(registry), **of_log(registry, folder)}


def of_brain(registry: Registry) -> dict[str, Given]:
    """Return evidence of the head of a brain, and of the snapshot before it."""
    owner, signer = registry.node.accounts[1:3]
    for number in range(OTHERS):
        registry.send(owner, "open", word(number), word(-number))
    id = registry.opened(owner, FIRST.id, FIRST.id)
    registry.send(owner, "commit", id, LAST.id, FIRST.id)
    registry.send(owner, "setSigner", id, signer)
    part, block_hash = captured(registry, BRAIN, owner)
    made = Commitment("chain", "", FIRST.id, 2, LAST.id, FIRST.id, FINALIZED, 0)
    known, given = {"block_hash": block_hash, "owner": owner}, {"chain": part, "log": None}
    head = assemble(made, given, LAST.id, path=path_text())
    skipped = assemble(made, given, FIRST.id, path=path_text(OLD_PATH), descent=descent_text())
    return {
        "brain": Given(json.loads(head), known),
        "skipped": Given(json.loads(skipped), known),
    }


def of_log(registry: Registry, folder: Path) -> dict[str, Given]:
    """Return evidence of an entry of a log, and of the same once the log is anchored."""
    with EmbeddedLedger(folder, lambda: TIME) as log:
        others = [Wish(word(f"log {n}"), word(f"at {n}"), NO_PARENT) for n in range(OTHERS)]
        log.commit_many([*others, Wish(FIRST.id, FIRST.id, NO_PARENT)])
        made = log.commit(FIRST.id, LAST.id, FIRST.id)
        part, known = log.evidence(FIRST.id, LAST.id), {"log_key": log.key}
    said = check_checkpoint(part["log"]["checkpoint"], known["log_key"]).checkpoint
    sender = registry.node.accounts[3]
    registry.send(sender, "anchor", said.root, said.size)
    chain, block_hash = captured(registry, ANCHOR, sender)
    alone = assemble(made, part, LAST.id, path=path_text())
    both = assemble(made, {**part, "chain": chain}, LAST.id, path=path_text())
    return {
        "log": Given(json.loads(alone), known),
        "anchor": Given(json.loads(both), {**known, "block_hash": block_hash, "owner": sender}),
    }
