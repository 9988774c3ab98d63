"""Make the files that are shipped beside BrainRegistry.sol: `python -m tests.contracts.build`.

The hash of the runtime code in the artifact is also that of `brain/chain/contracts/__init__.py`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from eth_utils.crypto import keccak

from tests.contracts import solc

FOLDER = Path(__file__).parents[2] / "brain" / "chain" / "contracts"
SOURCE = "BrainRegistry.sol"
INPUT = "BrainRegistry.input.json"
ARTIFACT = "BrainRegistry.json"


def files(folder: Path = FOLDER) -> dict[str, bytes]:
    """Return the input of the compiler and the artifact, as they follow from the source."""
    source = (folder / SOURCE).read_text("utf-8")
    built = solc.compiled(SOURCE, source)["BrainRegistry"]
    creation = built["evm"]["bytecode"]["object"]
    runtime = built["evm"]["deployedBytecode"]["object"]
    artifact = {
        "contract": "BrainRegistry",
        "compiler": f"solc {solc.version()}",
        "hashes": {
            "source": hashed(source.encode()),
            "creation": hashed(bytes.fromhex(creation)),
            "runtime": hashed(bytes.fromhex(runtime)),
        },
        "abi": built["abi"],
        "bytecode": f"0x{creation}",
        "runtime": f"0x{runtime}",
    }
    return {INPUT: written(solc.asked(SOURCE, source)), ARTIFACT: written(artifact)}


def hashed(content: bytes) -> str:
    return "0x" + keccak(content).hex()


def written(value: dict[str, Any]) -> bytes:
    return (json.dumps(value, indent=2) + "\n").encode()


if __name__ == "__main__":
    for name, content in files().items():
        (FOLDER / name).write_bytes(content)
