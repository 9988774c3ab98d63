"""The command of `brain chain` that shows the shipped contract."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..command import brain_command
from ..context import App
from ..options import output_option
from ..output import emit
from ..terminal import escape
from ..user_files import write_output_file


@brain_command(
    "contract",
    examples=("brain chain contract", "brain chain contract -o BrainRegistry.input.json"),
)
@output_option("the standard JSON input of the compiler")
def chain_contract_command(app: App, output: str | None) -> None:
    """Show the registry contract, for block explorers.

    Prints its address on chains that have the usual deployment proxy, the hashes of its
    source and code, and the settings of the compiler. Block explorers and Sourcify verify
    the source with the file that -o writes: choose "Standard JSON Input", the printed
    compiler and contract name, and no constructor arguments. No node is asked.
    """
    document = _describe_contract()
    if output is not None:
        from brain.chain import contracts

        write_output_file(output, contracts.compiler_input())
    emit(app, {**document, "file": output}, _contract_lines(document, output))


def _describe_contract() -> dict[str, Any]:
    import json

    from brain.chain import contracts
    from brain.chain.evm.create2 import CREATE2_PROXY, CREATE2_SALT, registry_address

    artifact = contracts.load_artifact()
    standard_json = json.loads(contracts.compiler_input())
    (source,) = standard_json["sources"]
    settings = standard_json["settings"]
    return {
        "contract": f"{source}:{artifact['contract']}",
        "address": registry_address(),
        "proxy": CREATE2_PROXY,
        "salt": f"0x{CREATE2_SALT.hex()}",
        "compiler": f"v{artifact['compiler'].removeprefix('solc ')}",
        "evm_version": settings["evmVersion"],
        "optimizer_runs": settings["optimizer"]["runs"],
        "constructor_arguments": "",
        "hashes": artifact["hashes"],
    }


def _contract_lines(document: dict[str, Any], output: str | None) -> Iterator[str]:
    yield f"Contract   {document['contract']}, no constructor arguments"
    yield f"Address    {document['address']}, by the proxy {document['proxy']} with salt 0"
    yield f"Compiler   {document['compiler']}"
    yield (
        f"Settings   optimizer with {document['optimizer_runs']} runs,"
        f" EVM version {document['evm_version']}, no metadata"
    )
    for name, value in document["hashes"].items():
        yield f"{name.capitalize():10} {value}"
    if output is not None:
        yield f"Standard JSON input in {escape(output)}"
