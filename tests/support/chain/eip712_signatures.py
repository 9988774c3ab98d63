"""Signatures for `commitFor`: the EIP-712 message by eth-account, independent of the project."""

from __future__ import annotations

from typing import NamedTuple

from eth_account.messages import SignableMessage, encode_typed_data
from eth_account.signers.local import LocalAccount

from tests.support.chain.registry_contract import RegistryContract

CURVE_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
"""Of secp256k1."""

EIP712_TYPES = {
    "EIP712Domain": [
        {"name": "name", "type": "string"},
        {"name": "version", "type": "string"},
        {"name": "chainId", "type": "uint256"},
        {"name": "verifyingContract", "type": "address"},
    ],
    "Commit": [
        {"name": "brainId", "type": "bytes32"},
        {"name": "snapshot", "type": "bytes32"},
        {"name": "parent", "type": "bytes32"},
        {"name": "seq", "type": "uint64"},
        {"name": "deadline", "type": "uint64"},
    ],
}


class SignedCommit(NamedTuple):
    """What is signed."""

    brain: bytes
    snapshot: bytes
    parent: bytes
    seq: int
    deadline: int

    def call_arguments(self, signature: bytes) -> tuple[bytes, bytes, bytes, int, bytes]:
        """Return what `commitFor` is called with."""
        return self.brain, self.snapshot, self.parent, self.deadline, signature


def commit_message(
    registry: RegistryContract,
    commit: SignedCommit,
    *,
    name: str = "BrainRegistry",
    version: str = "1",
    chain: int | None = None,
    contract: str | None = None,
) -> SignableMessage:
    """Return the message for a registry, or for one that differs in what is given."""
    fields = ["brainId", "snapshot", "parent", "seq", "deadline"]
    return encode_typed_data(
        full_message={
            "types": EIP712_TYPES,
            "primaryType": "Commit",
            "domain": {
                "name": name,
                "version": version,
                "chainId": registry.node.chain if chain is None else chain,
                "verifyingContract": contract or registry.address,
            },
            "message": dict(zip(fields, commit, strict=True)),
        }
    )


def sign_message(key: LocalAccount, text: SignableMessage) -> bytes:
    """Return r . s . v."""
    return bytes(key.sign_message(text).signature)


def flip_s(signature: bytes) -> bytes:
    """Return the other signature of the same key for the same message, with s in the upper half."""
    s = CURVE_ORDER - int.from_bytes(signature[32:64])
    return signature[:32] + s.to_bytes(32) + bytes([55 - signature[64]])


def compact_signature(signature: bytes) -> bytes:
    """Return it in the 64 bytes of EIP-2098."""
    s = int.from_bytes(signature[32:64]) | (signature[64] - 27) << 255
    return signature[:32] + s.to_bytes(32)
