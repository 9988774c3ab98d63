"""The address of BrainRegistry on chains that have the usual deployment proxy (EIP-1014)."""

from __future__ import annotations

from .. import contracts
from ..evidence.keccak import keccak256

CREATE2_PROXY = "0x4e59b44847b379578588920ca78fbf26c0b4956c"
"""The deterministic deployment proxy; its calldata is a salt and the creation code."""
CREATE2_SALT = bytes(32)


def creation_calls() -> tuple[tuple[str, bytes], tuple[str, bytes]]:
    """Return how the contract is created: on its own, and by the proxy.

    Each is the address to call, "" for none, and the calldata.
    """
    code = contracts.creation_code()
    return ("", code), (CREATE2_PROXY, CREATE2_SALT + code)


def registry_address() -> str:
    """Return the address at which the proxy creates the contract, the same on all chains."""
    proxy = bytes.fromhex(CREATE2_PROXY[2:])
    code_hash = keccak256(contracts.creation_code())
    return "0x" + keccak256(b"\xff" + proxy + CREATE2_SALT + code_hash)[12:].hex()
