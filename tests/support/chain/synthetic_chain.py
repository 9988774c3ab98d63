"""A synthetic chain of one block, in the JSON of a node.
bytes each time.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import rlp

from brain.chain.contracts import RUNTIME_HASH
from brain.chain.evidence import offline_check
from tests.support.chain.merkle_patricia import Trie, keccak
from tests.support.recorded_snapshots import FIXED_TIME_MS

CONTRACT_ADDRESS = keccak(b"contract")[:20]
OWNER_ADDRESS, SIGNER_ADDRESS, SENDER_ADDRESS = (
    keccak(name)[:20] for name in (b"owner", b"signer", b"sender")
)
OTHER_BRAIN_COUNT = 40

HASH_FIELDS = ("parentHash", "sha3Uncles", "transactionsRoot", "receiptsRoot", "mixHash")
HEADER_FIELDS_BY_FORK = {"Frontier": 15, "London": 16, "Shanghai": 17, "Cancun": 20, "Prague": 21}
"""Fields in a header since each fork that added some."""


def encode_number(value: int) -> bytes:
    return value.to_bytes((value.bit_length() + 7) // 8, "big")


@cache
def _trie(values: frozenset[tuple[bytes, bytes]]) -> Trie:
    return Trie(dict(values))


class ChainState(NamedTuple):
    """What is in the state: the storage of contracts, and who has which code."""

    storage: Mapping[bytes, int]
    code: bytes = RUNTIME_HASH
    fields: int = HEADER_FIELDS_BY_FORK["Prague"]
    time: int = FIXED_TIME_MS // 1000

    @property
    def storage_trie(self) -> Trie:
        return _trie(
            frozenset(
                (slot, rlp.encode(encode_number(value)))
                for slot, value in self.storage.items()
                if value
            )
        )

    @property
    def account_trie(self) -> Trie:
        people = {
            keccak(b"%d" % n)[:20]: _encode_account(n, Trie({}).root)
            for n in range(OTHER_BRAIN_COUNT)
        }
        contract = _encode_account(1, self.storage_trie.root, self.code)
        return _trie(frozenset({**people, CONTRACT_ADDRESS: contract}.items()))

    def block(self) -> dict[str, Any]:
        """Return the answer of `eth_getBlockByHash`."""
        fields = self._header_fields()
        encoded = rlp.encode(list(fields.values()))
        words = {name: f"0x{value.hex()}" for name, value in fields.items()}
        words |= {
            name: hex(int.from_bytes(fields[name], "big")) for name in NUMBER_FIELDS & {*fields}
        }
        return {**words, "hash": f"0x{keccak(encoded).hex()}", "transactions": [], "size": "0x1"}

    def _header_fields(self) -> dict[str, bytes]:
        made = {name: keccak(name.encode()) for name in HASH_FIELDS}
        made |= {"stateRoot": self.account_trie.root, "timestamp": encode_number(self.time)}
        made |= {
            "logsBloom": bytes(256),
            "miner": OWNER_ADDRESS,
            "nonce": bytes(8),
            "extraData": b"made",
        }
        made |= {"number": encode_number(123), "gasLimit": encode_number(30_000_000)}
        return {
            name: made.get(name, _late_field(name)) for name in HEADER_FIELD_ORDER[: self.fields]
        }

    def storage_proof(self, slots: list[bytes]) -> dict[str, Any]:
        """Return the answer of `eth_getProof` for the contract."""
        return {
            "accountProof": _hex_nodes(self.account_trie.proof(CONTRACT_ADDRESS)),
            "storageProof": [
                {
                    "key": f"0x{slot.hex()}",
                    "value": hex(self.storage.get(slot, 0)),
                    "proof": _hex_nodes(self.storage_trie.proof(slot)),
                }
                for slot in slots
            ],
        }


HEADER_FIELD_ORDER = (
    "parentHash sha3Uncles miner stateRoot transactionsRoot receiptsRoot logsBloom difficulty"
    " number gasLimit gasUsed timestamp extraData mixHash nonce baseFeePerGas withdrawalsRoot"
    " blobGasUsed excessBlobGas parentBeaconBlockRoot requestsHash"
).split()
NUMBER_FIELDS = {
    "difficulty", "number", "gasLimit", "gasUsed", "timestamp", "baseFeePerGas", "blobGasUsed",
    "excessBlobGas",
}  # fmt: skip


def _late_field(name: str) -> bytes:
    return b"" if name in NUMBER_FIELDS else keccak(name.encode())


def _encode_account(nonce: int, storage: bytes, code: bytes = keccak(b"")) -> bytes:
    return bytes(rlp.encode([encode_number(nonce), encode_number(10**18 + nonce), storage, code]))


def _hex_nodes(nodes: list[bytes]) -> list[str]:
    return [f"0x{one.hex()}" for one in nodes]


def brain_slots(
    creator: bytes,
    salt: bytes,
    head: bytes,
    seq: int,
    *,
    epoch: int = 0,
    repairs: int = 0,
    **besides: bytes,
) -> dict[bytes, int]:
    """Return what the slots of a brain hold; `owner` and `signer` may be given."""
    owner = int.from_bytes(besides.get("owner", creator), "big")
    signer = int.from_bytes(besides.get("signer", b""), "big")
    slots = offline_check.brain_slots(offline_check.brain_id(creator, salt))
    values = (
        owner | seq << 160 | repairs << 224,
        int.from_bytes(head, "big"),
        signer | epoch << 160,
    )
    return dict(zip(slots, values, strict=True))


def other_slots() -> dict[bytes, int]:
    """Return what other brains and anchors hold."""
    out: dict[bytes, int] = {}
    for one in range(OTHER_BRAIN_COUNT):
        out |= brain_slots(
            OWNER_ADDRESS, keccak(b"salt %d" % one), keccak(b"head %d" % one), one + 1
        )
        log = keccak(b"log %d" % one)
        out[offline_check.anchor_slot(keccak(b"%d" % one)[:20], log)] = 1 + one
    return out
