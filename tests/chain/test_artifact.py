"""What is shipped of BrainRegistry is what its source says."""

import subprocess
import sys

import pytest
from eth_utils.crypto import keccak

from brain.chain import contracts
from tests.support import anvil_node
from tests.support.chain import contract_compiler


@pytest.fixture(scope="module")
def rebuilt():
    return contract_compiler.build_files()


@pytest.mark.parametrize("name", [contract_compiler.INPUT_NAME, contract_compiler.ARTIFACT_NAME])
def test_the_compiler_makes_the_same_bytes_again(rebuilt, name):
    assert (contract_compiler.CONTRACTS_FOLDER / name).read_bytes() == rebuilt[name]


def test_the_hashes_are_those_of_what_is_shipped():
    source = (contract_compiler.CONTRACTS_FOLDER / contract_compiler.SOURCE_NAME).read_bytes()
    named = contracts.load_artifact()["hashes"]
    assert named["source"] == contract_compiler.hex_hash(source)
    assert named["creation"] == contract_compiler.hex_hash(contracts.creation_code())
    assert named["runtime"] == contract_compiler.hex_hash(contracts.runtime_code())
    assert keccak(contracts.runtime_code()) == contracts.RUNTIME_HASH


def test_what_is_deployed_has_the_runtime_code_and_so_its_hash():
    with anvil_node.run_anvil() as node:
        code = node.call("eth_getCode", node.deploy(contracts.creation_code()), "latest")
    assert bytes.fromhex(code[2:]) == contracts.runtime_code()


def test_the_hash_is_known_without_reading_the_artifact():
    code = "import sys; from brain.chain.contracts import RUNTIME_HASH; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert not {"json", "importlib.resources", "web3"} & set(loaded.stdout.split())
