"""Transactions as files: the calls in them, the shapes that wallets take, and signed bytes."""

import json
import random
from typing import Any, get_args

import pytest
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak
from hypothesis import given
from hypothesis import strategies as st

from brain.chain import contracts
from brain.chain.evidence import rlp
from brain.chain.evm.abi import checksum_address, parse_address
from brain.chain.evm.account import Account, UnsignedTransaction
from brain.chain.evm.create2 import CREATE2_PROXY, CREATE2_SALT
from brain.chain.evm.signing.calls import decode_call
from brain.chain.evm.signing.signed_transaction import decode_signed, read_signed_file
from brain.chain.evm.signing.unsigned import (
    UnsignedContext,
    UnsignedForm,
    build_unsigned_document,
    describe_transaction,
)
from brain.errors import InvalidInput
from tests.support.chain.registry_contract import encode_call, wallet_key, word_of
from tests.support.error_codes import error_code

KEY = Account(bytes(wallet_key("of a wallet elsewhere").key))
CONTRACT = "0x" + "c0" * 20
ID, NEW, OLD = word_of("id"), word_of("new"), word_of("old")
CALLS: dict[str, tuple[Any, ...]] = {
    "open": (ID, NEW),
    "openFor": (CONTRACT, ID, NEW, 2**40, b"\x01" * 65),
    "commit": (ID, NEW, OLD),
    "commitFor": (ID, NEW, OLD, 2**64 - 1, b"\x02" * 130),
    "supersede": (ID, NEW, OLD, 2),
    "setSigner": (ID, CONTRACT),
    "setSignerFor": (ID, CONTRACT, 5, b""),
    "offerOwnership": (ID, CONTRACT, 2**40),
    "acceptOwnership": (ID,),
    "anchor": (ID, NEW),
}


def transaction(data: bytes = encode_call("commit", ID, NEW, OLD), **changes: Any) -> Any:
    fields = {
        "chain_id": 11155111,
        "nonce": 3,
        "to": CONTRACT,
        "data": data,
        "gas": 50_000,
        "max_fee": 10**10,
        "tip": 10**9,
    }
    return UnsignedTransaction(**fields | changes)


def document(form: UnsignedForm, **changes: Any) -> Any:
    context = UnsignedContext(1_700_000_000_000, lambda safe: 7)
    return build_unsigned_document(form, KEY.address, transaction(**changes), context)


def test_each_function_that_changes_the_contract_is_known():
    abi = contracts.load_artifact()["abi"]
    changing = {one["name"] for one in abi if one.get("stateMutability") == "nonpayable"}
    assert changing == CALLS.keys()


@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_decoded_to_its_arguments(name):
    found = decode_call(encode_call(name, *CALLS[name]))
    shown = ["0x" + one.hex() if isinstance(one, bytes) else one for one in CALLS[name]]
    assert (found.function, list(found.arguments.values())) == (name, shown)


@pytest.mark.parametrize("name", CALLS)
def test_calldata_that_is_not_exact_is_refused(name):
    data = encode_call(name, *CALLS[name])
    for wrong in (data[:-1], data + b"\0", data[:4], data[4:], b"", data + bytes(32)):
        assert error_code(decode_call, wrong) == "not_ours"


@pytest.mark.parametrize(
    ("name", "word"), [("setSigner", 1), ("offerOwnership", 2), ("commitFor", 4), ("commitFor", 5)]
)
def test_arguments_that_are_too_large_for_their_type_are_refused(name, word):
    data = bytearray(encode_call(name, *CALLS[name]))
    data[4 + 32 * word] = 1
    assert error_code(decode_call, bytes(data)) == "not_ours"


def test_the_plain_file_is_what_nodes_take_and_says_what_it_does():
    found = document("plain")
    assert found["call"]["function"] == "commit(bytes32,bytes32,bytes32)"
    assert found["call"]["arguments"]["snapshot"] == "0x" + NEW.hex()
    fields = found["transaction"]
    assert fields["type"] == "0x2" and fields["gas"] == hex(50_000)
    assert found["description"].startswith("commit: ")
    signed = wallet_key("of a wallet elsewhere").sign_transaction(
        {name: value for name, value in fields.items() if name != "from"}
    )
    received = decode_signed(bytes(signed.raw_transaction))
    assert (received.sender, received.transaction) == (KEY.address, transaction())


def test_a_batch_for_safe_has_the_fields_of_the_transaction_builder():
    found = document("safe")
    assert list(found) == ["version", "chainId", "createdAt", "meta", "transactions"]
    assert (found["version"], found["chainId"]) == ("1.0", "11155111")
    assert found["meta"].keys() == {
        "name",
        "description",
        "txBuilderVersion",
        "createdFromSafeAddress",
        "createdFromOwnerAddress",
        "checksum",
    }
    (call,) = found["transactions"]
    assert call.keys() == {"to", "value", "data", "contractMethod", "contractInputsValues"}
    assert (call["to"], call["value"], call["data"]) == (to_checksum_address(CONTRACT), "0", None)
    assert call["contractMethod"] == {
        "inputs": [
            {"internalType": "bytes32", "name": name, "type": "bytes32"}
            for name in call["contractInputsValues"]
        ],
        "name": "commit",
        "payable": False,
    }


def test_the_checksum_of_a_batch_covers_all_but_its_name():
    found = document("safe", data=CREATE2_SALT + contracts.creation_code(), to=CREATE2_PROXY)
    meta, (call,) = found["meta"], found["transactions"]
    text = (
        '{["chainId","createdAt","meta","transactions","version"]"11155111",1700000000000,'
        '{["createdFromOwnerAddress","createdFromSafeAddress","description","name",'
        f'"txBuilderVersion"]"","{to_checksum_address(KEY.address)}","deploy BrainRegistry",null,'
        f'"{meta["txBuilderVersion"]}",}},'
        '[{["contractInputsValues","contractMethod","data","to","value"]null,null,'
        f'"{call["data"]}","{call["to"]}","0",}}],"1.0",}}'
    )
    assert meta["checksum"] == "0x" + keccak(text=text).hex()


def test_a_proposal_has_the_fields_of_the_transaction_service():
    found = document("safe-service")
    assert found.keys() == {
        *("safe", "to", "value", "data", "operation", "gasToken", "safeTxGas", "baseGas"),
        *("gasPrice", "refundReceiver", "nonce", "contractTransactionHash", "sender"),
        *("signature", "origin"),
    }
    assert found["safe"] == to_checksum_address(KEY.address)
    assert (found["value"], found["operation"], found["nonce"]) == (0, 0, 7)
    assert found["data"] == "0x" + transaction().data.hex()
    assert found["origin"].startswith("brain: commit: ") and len(found["origin"]) <= 200


def test_a_request_for_clef_names_the_function_that_it_calls():
    found = document("clef")
    assert (found["jsonrpc"], found["method"]) == ("2.0", "account_signTransaction")
    fields, function = found["params"]
    assert function == "commit(bytes32,bytes32,bytes32)"
    assert fields.keys() == {
        *("from", "to", "gas", "maxFeePerGas", "maxPriorityFeePerGas"),
        *("value", "nonce", "data", "chainId"),
    }
    assert fields["from"] == to_checksum_address(KEY.address)
    assert all(value.startswith("0x") for value in fields.values())


def test_deployments_and_cancellations_are_named():
    creation = {"data": contracts.creation_code(), "to": ""}
    assert describe_transaction(KEY.address, transaction(**creation)) == "deploy BrainRegistry"
    assert "to" not in document("plain", **creation)["transaction"]
    assert len(document("clef", **creation)["params"]) == 1
    empty = {"data": b"", "to": KEY.address}
    assert describe_transaction(KEY.address, transaction(**empty)) == (
        "cancel the transaction with nonce 3"
    )
    assert error_code(document, "safe", **creation) == "not_for_safe"
    by_proxy = {"data": bytes(32) + contracts.creation_code(), "to": CREATE2_PROXY}
    assert describe_transaction(KEY.address, transaction(**by_proxy)) == "deploy BrainRegistry"
    for call in (creation, by_proxy):
        other = call | {"data": b"\x00" + call["data"]}  # other code runs first
        assert error_code(document, "plain", **other) == "not_ours"
    assert error_code(document, "safe-service", **empty) == "not_for_safe"


@pytest.mark.parametrize("form", get_args(UnsignedForm))
def test_every_form_is_json_for_every_call(form):
    for name, arguments in CALLS.items():
        found = document(form, data=encode_call(name, *arguments))
        assert json.loads(json.dumps(found)) == found


def test_addresses_have_the_letters_of_their_checksum():
    for n in range(50):
        address = wallet_key(f"checksum {n}").address
        assert checksum_address(address.lower()) == address


FORMS = {
    "hex": lambda raw: raw.hex(),
    "hex with 0x": lambda raw: f"0x{raw.hex()}\n",
    "a string of JSON": lambda raw: json.dumps(f"0x{raw.hex()}"),
    "an answer of a node": lambda raw: json.dumps(
        {"jsonrpc": "2.0", "id": 1, "result": f"0x{raw.hex()}"}
    ),
    "an answer of geth and clef": lambda raw: json.dumps(
        {"jsonrpc": "2.0", "id": 1, "result": {"raw": f"0x{raw.hex()}", "tx": {"gas": "0x1"}}}
    ),
    "an object of a library": lambda raw: json.dumps({"rawTransaction": f"0x{raw.hex()}"}),
}


@pytest.mark.parametrize("form", FORMS)
def test_signed_bytes_are_read_as_wallets_answer_them(form):
    signed = KEY.sign_transaction(transaction())
    received = read_signed_file(FORMS[form](signed.raw).encode())
    assert received == (KEY.address, transaction(), signed)


def test_changed_bytes_are_refused_or_of_another_sender():
    raw = KEY.sign_transaction(transaction()).raw
    choose = random.Random(5)
    accepted = 0
    for _ in range(300):
        changed = bytearray(raw)
        changed[choose.randrange(len(raw))] ^= 1 << choose.randrange(8)
        try:
            received = decode_signed(bytes(changed))
        except InvalidInput as error:
            assert error.code == "bad_signed"
        else:
            accepted += 1
            assert received.sender != KEY.address
            assert received.signed.raw == changed
    assert accepted > 100, "most changes are of the calldata"


def test_an_empty_list_is_no_number():
    fields = rlp.read_list(rlp.decode_rlp(KEY.sign_transaction(transaction()).raw[1:]))
    for place in (0, 1, 2, 3, 4, 6, 9, 10, 11):
        changed = [*fields[:place], [], *fields[place + 1 :]]
        assert error_code(decode_signed, b"\x02" + rlp.encode_rlp(changed)) == "bad_signed"


@given(
    st.binary(max_size=300)
    | st.recursive(
        st.none() | st.integers() | st.text() | st.binary().map(lambda raw: f"0x02{raw.hex()}"),
        lambda each: st.lists(each) | st.dictionaries(st.sampled_from(["result", "raw"]), each),
    ).map(lambda value: json.dumps(value).encode())
)
def test_any_other_content_of_a_file_is_refused(content):
    assert error_code(read_signed_file, content) == "bad_signed"


TYPES = {
    entry["name"]: [one["type"] for one in entry["inputs"]]
    for entry in contracts.load_artifact()["abi"]
    if entry.get("stateMutability") == "nonpayable"
}
VALUES = {
    "bytes32": st.binary(min_size=32, max_size=32),
    "address": st.binary(min_size=20, max_size=20).map(lambda one: "0x" + one.hex()),
    "uint64": st.integers(0, 2**64 - 1),
    "bytes": st.binary(max_size=200),
}


@given(st.data())
def test_what_is_decoded_is_encoded_to_the_same_calldata_by_another_encoder(data):
    name = data.draw(st.sampled_from(sorted(TYPES)))
    calldata = bytearray(encode_call(name, *(data.draw(VALUES[of]) for of in TYPES[name])))
    for _ in range(data.draw(st.integers(0, 2))):
        calldata[data.draw(st.integers(0, len(calldata) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        call = decode_call(bytes(calldata))
    except InvalidInput as error:
        assert error.code == "not_ours"
        return
    values = [
        bytes.fromhex(value[2:]) if isinstance(value, str) and of != "address" else value
        for of, value in zip(TYPES[call.function], call.arguments.values(), strict=True)
    ]
    assert encode_call(call.function, *values) == calldata


def test_an_address_with_letters_of_another_checksum_is_mistyped():
    right = to_checksum_address(KEY.address)
    i = next(i for i, letter in enumerate(right) if letter.isupper())
    wrong = right[:i] + right[i].lower() + right[i + 1 :]
    assert error_code(parse_address, wrong) == "bad_address"
    for taken in (right, right.lower(), "0x" + right[2:].upper()):
        assert parse_address(taken) == right.lower()
