"""Calls of BrainRegistry, decoded by its ABI to show them before they are signed or sent."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple, NoReturn

from ....errors import InvalidInput
from ... import contracts
from ...evidence.keccak import keccak256
from ..abi import ABI_WORD_BYTES, encode_call


class Parameter(NamedTuple):
    """A parameter of a function: its name and its type in Solidity."""

    name: str
    type: str


class DecodedCall(NamedTuple):
    """A call; `arguments` by name: ids and bytes as 0x… text, addresses too, and numbers."""

    function: str
    parameters: tuple[Parameter, ...]
    arguments: dict[str, str | int]

    @property
    def signature(self) -> str:
        """The function with the types of its parameters, as `commit(bytes32,bytes32,bytes32)`."""
        return f"{self.function}({','.join(one.type for one in self.parameters)})"


def decode_call(data: bytes) -> DecodedCall:
    """Return the call in calldata, which must be its exact encoding.

    Raises `InvalidInput` (`not_ours`).
    """
    found = _writing_functions().get(data[:4])
    if found is None:
        _refuse_call("its calldata is no call of the contract that changes anything")
    function, parameters = found
    words = [data[at : at + ABI_WORD_BYTES] for at in range(4, len(data), ABI_WORD_BYTES)]
    if len(words) < len(parameters) or len(words[-1]) < ABI_WORD_BYTES:
        _refuse_call("its calldata is cut short")
    arguments: dict[str, str | int] = {}
    encoded: list[bytes | str | int] = []
    tail = b""
    for parameter, word in zip(parameters, words, strict=False):
        number = int.from_bytes(word, "big")
        if parameter.type == "bytes32":
            arguments[parameter.name] = "0x" + word.hex()
            encoded.append(word)
        elif parameter.type == "address":
            arguments[parameter.name] = "0x" + word[12:].hex()
            encoded.append("0x" + word[12:].hex())
        elif parameter.type == "uint64":
            arguments[parameter.name] = number
            encoded.append(number & (1 << 64) - 1)
        else:  # bytes, always the last parameter: an offset, then a length and the bytes
            at = 4 + ABI_WORD_BYTES * len(parameters)
            size = int.from_bytes(data[at : at + ABI_WORD_BYTES], "big")
            content = data[at + ABI_WORD_BYTES :][: min(size, len(data))]
            arguments[parameter.name] = "0x" + content.hex()
            encoded.append(ABI_WORD_BYTES * len(parameters))
            tail = encode_call(b"", len(content)) + content + bytes(-len(content) % ABI_WORD_BYTES)
    if encode_call(data[:4], *encoded) + tail != data:
        _refuse_call("its calldata is not the exact encoding of its arguments")
    return DecodedCall(function, parameters, arguments)


@cache
def _writing_functions() -> dict[bytes, tuple[str, tuple[Parameter, ...]]]:
    """Return the functions of the contract that change its state, by their selectors."""
    found = {}
    for entry in contracts.load_artifact()["abi"]:
        if entry["type"] == "function" and entry["stateMutability"] == "nonpayable":
            parameters = tuple(Parameter(one["name"], one["type"]) for one in entry["inputs"])
            signature = f"{entry['name']}({','.join(one.type for one in parameters)})"
            found[keccak256(signature.encode())[:4]] = (entry["name"], parameters)
    return found


def describe_call(call: DecodedCall) -> str:
    """Return a call as one line of text."""
    arguments = [f"{name} {value}" for name, value in call.arguments.items()]
    return f"{call.function}: {', '.join(arguments)}"


def _refuse_call(reason: str) -> NoReturn:
    raise InvalidInput(
        f"this is not a transaction of a brain: {reason}",
        code="not_ours",
        hint="give what `--unsigned` wrote, signed and not changed",
    )
