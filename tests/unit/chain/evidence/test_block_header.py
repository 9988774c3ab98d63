"""Block headers of every fork, with exactly the fields of that fork."""

from typing import Any

import pytest
import rlp

from brain.chain.evidence import state_proof
from brain.errors import BrainError, LedgerError
from tests.support.chain.merkle_patricia import keccak
from tests.support.chain.synthetic_chain import (
    HEADER_FIELD_ORDER,
    HEADER_FIELDS_BY_FORK,
    ChainState,
)
from tests.support.error_codes import error_code
from tests.support.refusals import raises_code

WORLD = ChainState({bytes(32): 1})


def fields(block: dict[str, Any] | None = None) -> list[Any]:
    return list(rlp.decode(state_proof.encode_rpc_header(block or WORLD.block())))


def code_of(items: Any) -> str:
    return error_code(state_proof.decode_block_header, rlp.encode(items))


@pytest.mark.parametrize("fork", HEADER_FIELDS_BY_FORK)
def test_the_header_of_each_fork_is_read(fork):
    block = WORLD._replace(fields=HEADER_FIELDS_BY_FORK[fork]).block()
    result = state_proof.decode_block_header(state_proof.encode_rpc_header(block))
    assert result.hash.hex() == block["hash"][2:]
    assert result.number == int(block["number"], 16)
    assert result.time == int(block["timestamp"], 16)
    assert result.state_root.hex() == block["stateRoot"][2:]


def test_what_later_forks_add_is_covered_by_the_hash_and_not_read():
    data = rlp.encode([*fields(), keccak(b"later"), b"\7"])
    result = state_proof.decode_block_header(data)
    assert result.hash == keccak(data)
    assert result[1:] == state_proof.decode_block_header(rlp.encode(fields()))[1:]


@pytest.mark.parametrize("count", [0, 1, 14, 18, 19, 33, 40])
def test_a_header_of_another_count_of_fields_is_refused(count):
    items = [*fields(), *([b"\1"] * 40)]
    assert code_of(items[:count]) == "bad_header"


@pytest.mark.parametrize("place", range(21), ids=HEADER_FIELD_ORDER)
def test_a_field_of_another_type_or_size_is_refused(place):
    items = fields()
    for bad in ([], [items[place]], bytes(33), b"\0"):
        if HEADER_FIELD_ORDER[place] != "extraData" or isinstance(bad, list):
            assert code_of([*items[:place], bad, *items[place + 1 :]]) == "bad_rlp"


def test_a_header_that_is_none_or_too_long_is_refused():
    assert code_of(b"header") == "bad_rlp"
    items = fields()
    assert code_of([*items[:12], bytes(state_proof.MAX_HEADER_BYTES), *items[13:]]) == "bad_header"
    with pytest.raises(BrainError):
        state_proof.decode_block_header(rlp.encode(items) + b"\0")


def test_a_block_of_a_node_that_does_not_have_its_hash_is_refused():
    block = WORLD.block()
    missing = {name: value for name, value in block.items() if name != "gasUsed"}
    for bad in (
        {**block, "hash": "0x" + "00" * 32},
        {**block, "number": "0x1"},
        {**block, "number": "hex"},
        {**block, "miner": None},
        {**block, "stateRoot": 7},
        {**block, "number": "-0x1"},
        missing,
        {},
    ):
        with raises_code("bad_rpc", LedgerError):
            state_proof.encode_rpc_header(bad)
