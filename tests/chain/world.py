"""A made-up chain of one block, in the words of a node: to test without one, and the same
bytes each time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import rlp

from brain.chain.contracts import RUNTIME_HASH
from brain.chain.evidence import registry
from tests.chain.tries import Trie, keccak
from tests.proving import TIME

CONTRACT = keccak(b"contract")[:20]
OWNER, SIGNER, SENDER = (keccak(name)[:20] for name in (b"owner", b"signer", b"sender"))
OTHERS = 40

HASHES = ("parentHash", "sha3Uncles", "transactionsRoot", "receiptsRoot", "mixHash")
FORKS = {
    "Frontier": 15,
    "London": 16,
    "Shanghai": 17,
    "Cancun": 20,
    "Prague": 21,
}
"""Fields in a header since each fork that added some."""


def number(value: int) -> bytes:
    return value.to_bytes((value.bit_length() + 7) // 8, "big")


class World(NamedTuple):
    """What is in the state: the storage of contracts, and who has which code."""

    storage: Mapping[bytes, int]
    code: bytes = RUNTIME_HASH
    fields: int = FORKS["Prague"]
    time: int = TIME // 1000

    @property
    def slots(self) -> Trie:
        return Trie(
            {slot: rlp.encode(number(value)) for slot, value in self.storage.items() if value}
        )

    @property
    def accounts(self) -> Trie:
        people = {keccak(b"%d" % n)[:20]: _account(n, Trie({}).root) for n in range(OTHERS)}
        return Trie({**people, CONTRACT: _account(1, self.slots.root, self.code)})

    def block(self) -> dict[str, Any]:
        """Return the answer of `eth_getBlockByHash`."""
        fields = self._header()
        encoded = rlp.encode(list(fields.values()))
        words = {name: f"0x{value.hex()}" for name, value in fields.items()}
        words |= {name: hex(int.from_bytes(fields[name], "big")) for name in NUMBERS & {*fields}}
        return {**words, "hash": f"0x{keccak(encoded).hex()}", "transactions": [], "size": "0x1"}

    def _header(self) -> dict[str, bytes]:
        made = {name: keccak(name.encode()) for name in HASHES}
        made |= {"stateRoot": self.accounts.root, "timestamp": number(self.time)}
        made |= {"logsBloom": bytes(256), "miner": OWNER, "nonce": bytes(8), "extraData": b"made"}
        made |= {"number": number(123), "gasLimit": number(30_000_000)}
        return {name: made.get(name, _late(name)) for name in ORDER[: self.fields]}

    def proof(self, slots: list[bytes]) -> dict[str, Any]:
        """Return the answer of `eth_getProof` for the contract."""
        return {
            "accountProof": _hex(self.accounts.proof(CONTRACT)),
            "storageProof": [
                {
                    "key": f"0x{slot.hex()}",
                    "value": hex(self.storage.get(slot, 0)),
                    "proof": _hex(self.slots.proof(slot)),
                }
                for slot in slots
            ],
        }


ORDER = (
    "parentHash sha3Uncles miner stateRoot transactionsRoot receiptsRoot logsBloom difficulty"
    " number gasLimit gasUsed timestamp extraData mixHash nonce baseFeePerGas withdrawalsRoot"
    " blobGasUsed excessBlobGas parentBeaconBlockRoot requestsHash"
).split()
NUMBERS = {
    "difficulty", "number", "gasLimit", "gasUsed", "timestamp", "baseFeePerGas", "blobGasUsed",
    "excessBlobGas",
}  # fmt: skip


def _late(name: str) -> bytes:
    return b"" if name in NUMBERS else keccak(name.encode())


def _account(nonce: int, storage: bytes, code: bytes = keccak(b"")) -> bytes:
    return bytes(rlp.encode([number(nonce), number(10**18 + nonce), storage, code]))


def _hex(nodes: list[bytes]) -> list[str]:
    return [f"0x{one.hex()}" for one in nodes]


def brain(creator: bytes, salt: bytes, head: bytes, seq: int, **besides: bytes) -> dict[bytes, int]:
    """Return what the slots of a brain hold; `owner` and `signer` may be given."""
    owner = int.from_bytes(besides.get("owner", creator), "big")
    signer = int.from_bytes(besides.get("signer", b""), "big")
    slots = registry.brain_slots(registry.brain_id(creator, salt))
    values = (owner | seq << 160, int.from_bytes(head, "big"), signer)
    return dict(zip(slots, values, strict=True))


def many() -> dict[bytes, int]:
    """Return what other brains and anchors hold."""
    out: dict[bytes, int] = {}
    for one in range(OTHERS):
        out |= brain(OWNER, keccak(b"salt %d" % one), keccak(b"head %d" % one), one + 1)
        out[registry.anchor_slot(keccak(b"%d" % one)[:20])] = 1 + one
    return out
