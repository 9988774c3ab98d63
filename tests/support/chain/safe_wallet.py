"""A Safe on the node of the tests: a wallet contract of several owners, from its npm package.

The package `@safe-global/safe-contracts` brings what its authors compiled.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from eth_abi.abi import encode
from eth_account.messages import encode_typed_data
from eth_account.signers.local import LocalAccount
from eth_utils.crypto import keccak

from tests.support.anvil_node import NODE_MODULES, Anvil
from tests.support.chain.registry_contract import ZERO_ADDRESS

_ARTIFACTS = NODE_MODULES / "@safe-global" / "safe-contracts" / "build" / "artifacts" / "contracts"
_TRANSACTION_FIELDS = {
    "to": "address",
    "value": "uint256",
    "data": "bytes",
    "operation": "uint8",
    "safeTxGas": "uint256",
    "baseGas": "uint256",
    "gasPrice": "uint256",
    "gasToken": "address",
    "refundReceiver": "address",
    "nonce": "uint256",
}
_MESSAGE_FIELDS = {"message": "bytes"}


@dataclass(frozen=True, slots=True)
class SafeWallet:
    """A Safe at `address`, of which `threshold` of the owners' keys must sign."""

    node: Anvil
    address: str
    owners: Sequence[LocalAccount]
    threshold: int

    def execute(
        self, to: str, data: bytes, signers: Sequence[LocalAccount] | None = None
    ) -> dict[str, Any]:
        """Make a call as the Safe, signed by its owners, and return the receipt."""
        values = (to, 0, data, 0, 0, 0, 0, ZERO_ADDRESS, ZERO_ADDRESS)
        message = dict(zip(_TRANSACTION_FIELDS, (*values, self.nonce()), strict=True))
        signatures = self._sign("SafeTx", _TRANSACTION_FIELDS, message, signers)
        types = [*list(_TRANSACTION_FIELDS.values())[:9], "bytes"]
        call = _encode_call("execTransaction", types, *values, signatures)
        return self.node.transact(self.node.accounts[0], self.address, call, gas=hex(1_000_000))

    def sign_digest(self, digest: bytes, signers: Sequence[LocalAccount] | None = None) -> bytes:
        """Return what `isValidSignature` of the Safe accepts for a digest (ERC-1271)."""
        message = {"message": encode(["bytes32"], [digest])}
        return self._sign("SafeMessage", _MESSAGE_FIELDS, message, signers)

    def transaction_hash(self, fields: Mapping[str, Any]) -> bytes:
        """Return what the owners sign for a transaction, as the contract computes it."""
        values = [
            bytes.fromhex(fields[name][2:]) if of == "bytes" else fields[name]
            for name, of in _TRANSACTION_FIELDS.items()
        ]
        call = _encode_call("getTransactionHash", list(_TRANSACTION_FIELDS.values()), *values)
        return self.node.eth_call(self.address, call)

    def nonce(self) -> int:
        return int.from_bytes(self.node.eth_call(self.address, _encode_call("nonce", [])))

    def _sign(
        self,
        kind: str,
        fields: dict[str, str],
        message: dict[str, object],
        signers: Sequence[LocalAccount] | None,
    ) -> bytes:
        """Return the signatures of the owners, in the order of their addresses, as a Safe asks."""
        domain = {"chainId": "uint256", "verifyingContract": "address"}
        types = {"EIP712Domain": domain, kind: fields}
        text = encode_typed_data(
            full_message={
                "types": {
                    name: [{"name": field, "type": of} for field, of in rows.items()]
                    for name, rows in types.items()
                },
                "primaryType": kind,
                "domain": {"chainId": self.node.chain, "verifyingContract": self.address},
                "message": message,
            }
        )
        chosen = self.owners[: self.threshold] if signers is None else signers
        ordered = sorted(chosen, key=lambda key: key.address.lower())
        return b"".join(bytes(key.sign_message(text).signature) for key in ordered)


def deploy_safe(node: Anvil, owners: Sequence[LocalAccount], threshold: int) -> SafeWallet:
    """Make a Safe by its factory, as the apps do, with the handler that answers ERC-1271."""
    singleton = node.deploy(_creation_code("Safe.sol", "Safe"))
    factory = node.deploy(_creation_code("proxies/SafeProxyFactory.sol", "SafeProxyFactory"))
    handler = node.deploy(
        _creation_code("handler/CompatibilityFallbackHandler.sol", "CompatibilityFallbackHandler")
    )
    addresses = [key.address for key in owners]
    setup = _encode_call(
        "setup",
        [
            *("address[]", "uint256", "address", "bytes"),
            *("address", "address", "uint256", "address"),
        ],
        *(addresses, threshold, ZERO_ADDRESS, b""),
        *(handler, ZERO_ADDRESS, 0, ZERO_ADDRESS),
    )
    create = _encode_call(
        "createProxyWithNonce", ["address", "bytes", "uint256"], singleton, setup, 0
    )
    sender = node.accounts[0]
    address = "0x" + node.eth_call(factory, create, sender)[12:].hex()
    assert node.transact(sender, factory, create)["status"] == "0x1"
    return SafeWallet(node=node, address=address, owners=owners, threshold=threshold)


def _creation_code(file: str, contract: str) -> bytes:
    path = _ARTIFACTS / file / f"{contract}.json"
    if not path.exists():
        pytest.skip("the contracts of Safe are not installed; `make test` installs them")
    return bytes.fromhex(json.loads(path.read_bytes())["bytecode"][2:])


def _encode_call(name: str, types: Sequence[str], *values: object) -> bytes:
    return keccak(text=f"{name}({','.join(types)})")[:4] + encode(types, values)
