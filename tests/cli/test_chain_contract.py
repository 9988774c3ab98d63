"""`brain chain contract`: what a block explorer needs to verify the source of the contract."""

import json

from brain.chain import contracts
from brain.chain.evm.create2 import CREATE2_PROXY, CREATE2_SALT
from tests.cli.conftest import validate
from tests.support import anvil_node
from tests.support.chain import contract_compiler


def test_the_file_for_explorers_compiles_to_the_code_that_is_deployed(cli, tmp_path):
    file = tmp_path / "input.json"
    told = cli("chain", "contract", "-o", str(file), "--json")
    validate("chain-contract", told.document)
    answer = contract_compiler.run_compiler(json.loads(file.read_bytes()))
    source, _, name = told.document["contract"].partition(":")
    built = answer["contracts"][source][name]
    assert bytes.fromhex(built["evm"]["deployedBytecode"]["object"]) == contracts.runtime_code()
    assert told.document["compiler"] == f"v{contract_compiler.compiler_version()}"
    constructors = [entry for entry in built["abi"] if entry["type"] == "constructor"]
    assert (told.document["constructor_arguments"], constructors) == ("", [])


def test_the_address_it_names_is_the_one_that_the_proxy_gives(cli):
    named = cli("chain", "contract", "--json").document
    with anvil_node.run_anvil() as node:
        node.transact(node.accounts[0], CREATE2_PROXY, CREATE2_SALT + contracts.creation_code())
        code = bytes.fromhex(node.call("eth_getCode", named["address"], "latest")[2:])
    assert code == contracts.runtime_code()
    assert named["hashes"]["runtime"] == f"0x{contracts.RUNTIME_HASH.hex()}"


def test_it_is_told_in_words(cli, tmp_path):
    told = cli("chain", "contract", "-o", str(tmp_path / "input.json"))
    assert told.status == 0
    for words in (
        "BrainRegistry.sol:BrainRegistry, no constructor arguments",
        "v0.8.37+commit.",
        "optimizer with 1000000 runs, EVM version cancun",
        contracts.RUNTIME_HASH.hex(),
        "Standard JSON input in ",
    ):
        assert words in told.out
