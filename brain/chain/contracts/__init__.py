"""The contract BrainRegistry: its source, its compiled code, and the hash of that code.

Checking evidence needs `RUNTIME_HASH` only; the artifact is read when first needed.
"""

from __future__ import annotations

from functools import cache
from typing import Any

RUNTIME_HASH = bytes.fromhex("4d8dfda152521692fad9b1c99356328f8e2f8d36852d1a6b115d9af58fbc3edb")
"""Keccak-256 of the code of a deployed BrainRegistry, the same on every chain."""


@cache
def load_artifact() -> dict[str, Any]:
    """Return `contract`, `compiler`, `hashes`, `abi`, and in hex `bytecode` and `runtime`."""
    import json

    content: dict[str, Any] = json.loads(_read_file("BrainRegistry.json"))
    return content


def _read_file(name: str) -> bytes:
    from importlib.resources import files

    return files(__name__).joinpath(name).read_bytes()


def creation_code() -> bytes:
    """Return the code that deploys BrainRegistry; its constructor takes no arguments."""
    return bytes.fromhex(load_artifact()["bytecode"][2:])


def runtime_code() -> bytes:
    """Return the code of a deployed BrainRegistry, whose hash is `RUNTIME_HASH`."""
    return bytes.fromhex(load_artifact()["runtime"][2:])
