"""What is shipped of BrainRegistry is what its source says."""

from __future__ import annotations

import subprocess
import sys

import pytest
from eth_utils.crypto import keccak

from brain.chain import contracts
from tests import anvil
from tests.contracts import build


@pytest.fixture(scope="module")
def rebuilt() -> dict[str, bytes]:
    return build.files()


@pytest.mark.parametrize("name", [build.INPUT, build.ARTIFACT])
def test_the_compiler_makes_the_same_bytes_again(rebuilt: dict[str, bytes], name: str) -> None:
    assert (build.FOLDER / name).read_bytes() == rebuilt[name]


def test_the_hashes_are_those_of_what_is_shipped() -> None:
    source = (build.FOLDER / build.SOURCE).read_bytes()
    named = contracts.artifact()["hashes"]
    assert named["source"] == build.hashed(source)
    assert named["creation"] == build.hashed(contracts.creation())
    assert named["runtime"] == build.hashed(contracts.runtime())
    assert keccak(contracts.runtime()) == contracts.RUNTIME_HASH


def test_what_is_deployed_has_the_runtime_code_and_so_its_hash() -> None:
    with anvil.running() as node:
        code = node.call("eth_getCode", node.deploy(contracts.creation()), "latest")
    assert bytes.fromhex(code[2:]) == contracts.runtime()


def test_the_hash_is_known_without_reading_the_artifact() -> None:
    code = "import sys; from brain.chain.contracts import RUNTIME_HASH; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert not {"json", "importlib.resources", "web3"} & set(loaded.stdout.split())
