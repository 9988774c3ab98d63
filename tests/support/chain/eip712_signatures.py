"""Signatures of permits: the EIP-712 messages by eth-account, independent of the project."""

from typing import Any, NamedTuple

from eth_account.messages import SignableMessage, encode_typed_data
from eth_account.signers.local import LocalAccount

from tests.support.cases import read_cases
from tests.support.chain.registry_contract import RegistryContract

CASES = read_cases(__file__)

CURVE_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
"""Of secp256k1."""

PERMIT_FIELDS = CASES["permit_fields"]
DOMAIN_FIELDS = {
    "name": "string",
    "version": "string",
    "chainId": "uint256",
    "verifyingContract": "address",
}


class SignedCommit(NamedTuple):
    """The fields of the permit of `commitFor`."""

    brain: bytes
    snapshot: bytes
    parent: bytes
    seq: int
    epoch: int
    deadline: int

    def call_arguments(self, signature: bytes) -> tuple[bytes, bytes, bytes, int, bytes]:
        """Return what `commitFor` is called with."""
        return self.brain, self.snapshot, self.parent, self.deadline, signature


def permit_message(
    registry: RegistryContract, kind: str, *values: object, **domain: object
) -> SignableMessage:
    """Return the message of a permit for a registry, or for another domain."""
    fields = PERMIT_FIELDS[kind]
    types = {"EIP712Domain": DOMAIN_FIELDS, kind: fields}
    return encode_typed_data(
        full_message={
            "types": {name: _type_rows(rows) for name, rows in types.items()},
            "primaryType": kind,
            "domain": {
                "name": "BrainRegistry",
                "version": "2",
                "chainId": registry.node.chain,
                "verifyingContract": registry.address,
                **domain,
            },
            "message": dict(zip(fields, values, strict=True)),
        }
    )


def _type_rows(fields: dict[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "type": kind} for name, kind in fields.items()]


def commit_message(
    registry: RegistryContract, commit: SignedCommit, **domain: Any
) -> SignableMessage:
    """Return the message of `commitFor` for a registry, or for another domain."""
    return permit_message(registry, "Commit", *commit, **domain)


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
