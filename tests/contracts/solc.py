"""The Solidity compiler of npm, `solc`, driven by standard JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

COMPILER = Path(sys.prefix) / "node" / "node_modules" / "solc" / "solc.js"
"""Where `make test` installs it, beside this Python."""

SETTINGS: dict[str, Any] = {
    "evmVersion": "cancun",
    "metadata": {"appendCBOR": False, "bytecodeHash": "none"},
    "optimizer": {"enabled": True, "runs": 1_000_000},
    "outputSelection": {
        "*": {"*": ["abi", "evm.bytecode.object", "evm.deployedBytecode.object", "storageLayout"]}
    },
}


def asked(name: str, source: str) -> dict[str, Any]:
    """Return the standard JSON input for one file."""
    return {"language": "Solidity", "sources": {name: {"content": source}}, "settings": SETTINGS}


@cache
def compiled(name: str, source: str) -> dict[str, Any]:
    """Return what the compiler made of one file, by contract. A warning is an error."""
    if not COMPILER.exists():
        pytest.skip("solc is not installed; `make test` installs it")
    done = subprocess.run(
        ["node", str(COMPILER), "--standard-json"],
        input=json.dumps(asked(name, source)),
        capture_output=True,
        text=True,
        check=True,
    )
    # A line about SMT solvers may come before the answer.
    answer = json.loads(done.stdout[done.stdout.index("{") :])
    said = [error["formattedMessage"] for error in answer.get("errors", [])]
    assert not said, "\n".join(said)
    contracts: dict[str, Any] = answer["contracts"][name]
    return contracts


def version() -> str:
    """Return the compiler's version with its commit, as 0.8.37+commit.…"""
    done = subprocess.run(
        ["node", str(COMPILER), "--version"], capture_output=True, text=True, check=True
    )
    return done.stdout.strip().partition(".Emscripten")[0]
