"""Compile contracts with solc, and build the shipped artifact.

Run `python -m tests.support.chain.contract_compiler`.

The hash of the runtime code in the artifact is also that of `brain/chain/contracts/__init__.py`.
"""

import json
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from eth_utils.crypto import keccak

SOLC_SCRIPT = Path(sys.prefix) / "node" / "node_modules" / "solc" / "solc.js"
"""Where `make test` installs it, beside this Python."""

SOLC_SETTINGS: dict[str, Any] = {
    "evmVersion": "cancun",
    "metadata": {"appendCBOR": False, "bytecodeHash": "none"},
    "optimizer": {"enabled": True, "runs": 1_000_000},
    "outputSelection": {
        "*": {"*": ["abi", "evm.bytecode.object", "evm.deployedBytecode.object", "storageLayout"]}
    },
}


def standard_json_input(name: str, source: str) -> dict[str, Any]:
    """Return the standard JSON input for one file."""
    return {
        "language": "Solidity",
        "sources": {name: {"content": source}},
        "settings": SOLC_SETTINGS,
    }


@cache
def compile_contract(name: str, source: str) -> dict[str, Any]:
    """Return what the compiler made of one file, by contract. A warning is an error."""
    contracts: dict[str, Any] = run_compiler(standard_json_input(name, source))["contracts"][name]
    return contracts


def run_compiler(standard_json: dict[str, Any], *, expected: str = "") -> dict[str, Any]:
    """Return the compiler's answer. A warning is an error, unless it has the expected code."""
    if not SOLC_SCRIPT.exists():
        pytest.skip("solc is not installed; `make test` installs it")
    # Files, not pipes: the compiler fails if a long input is not there at once, and exits before
    # it has written a long answer.
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as given,
        tempfile.TemporaryFile("w+", encoding="utf-8") as output,
    ):
        json.dump(standard_json, given)
        given.seek(0)
        subprocess.run(
            ["node", str(SOLC_SCRIPT), "--standard-json"], stdin=given, stdout=output, check=True
        )
        output.seek(0)
        said = output.read()
    # A line about SMT solvers may come before the answer.
    answer: dict[str, Any] = json.loads(said[said.index("{") :])
    errors = [
        error["formattedMessage"]
        for error in answer.get("errors", [])
        if error.get("errorCode") != expected
    ]
    assert not errors, "\n".join(errors)
    return answer


def creation_codes(sources: list[str]) -> list[bytes]:
    """Return the code that deploys the BrainRegistry of each source, quickly: not optimized."""
    named = {f"{number}.sol": source for number, source in enumerate(sources)}
    standard_json = {
        "language": "Solidity",
        "sources": {name: {"content": source} for name, source in named.items()},
        "settings": SOLC_SETTINGS | {"optimizer": {"enabled": False}},
    }
    contracts = run_compiler(standard_json)["contracts"]
    built = [contracts[name]["BrainRegistry"] for name in named]
    return [bytes.fromhex(each["evm"]["bytecode"]["object"]) for each in built]


def compiler_version() -> str:
    """Return the compiler's version with its commit, as 0.8.37+commit.…"""
    result = subprocess.run(
        ["node", str(SOLC_SCRIPT), "--version"], capture_output=True, text=True, check=True
    )
    return result.stdout.strip().partition(".Emscripten")[0]


CONTRACTS_FOLDER = Path(__file__).parents[3] / "brain" / "chain" / "contracts"
SOURCE_NAME = "BrainRegistry.sol"
INPUT_NAME = "BrainRegistry.input.json"
ARTIFACT_NAME = "BrainRegistry.json"


def build_files(folder: Path = CONTRACTS_FOLDER) -> dict[str, bytes]:
    """Return the input of the compiler and the artifact, as they follow from the source."""
    source = (folder / SOURCE_NAME).read_text("utf-8")
    built = compile_contract(SOURCE_NAME, source)["BrainRegistry"]
    creation = built["evm"]["bytecode"]["object"]
    runtime = built["evm"]["deployedBytecode"]["object"]
    artifact = {
        "contract": "BrainRegistry",
        "compiler": f"solc {compiler_version()}",
        "hashes": {
            "source": hex_hash(source.encode()),
            "creation": hex_hash(bytes.fromhex(creation)),
            "runtime": hex_hash(bytes.fromhex(runtime)),
        },
        "abi": built["abi"],
        "bytecode": f"0x{creation}",
        "runtime": f"0x{runtime}",
    }
    return {
        INPUT_NAME: format_json(standard_json_input(SOURCE_NAME, source)),
        ARTIFACT_NAME: format_json(artifact),
    }


def hex_hash(content: bytes) -> str:
    return "0x" + keccak(content).hex()


def format_json(value: dict[str, Any]) -> bytes:
    return (json.dumps(value, indent=2) + "\n").encode()


if __name__ == "__main__":
    for name, content in build_files().items():
        (CONTRACTS_FOLDER / name).write_bytes(content)
