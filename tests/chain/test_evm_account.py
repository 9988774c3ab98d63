"""Keys that send and sign."""

import json
import subprocess
import sys
from typing import Any

import pytest
from eth_account import Account as Library
from eth_account.typed_transactions import TypedTransaction
from hexbytes import HexBytes

from brain.chain.evm import Account
from brain.chain.evm.account import UnsignedTransaction, account_from_hex, account_from_keystore
from brain.errors import InvalidInput
from tests.support.chain.registry_contract import wallet_key
from tests.support.refusals import raises_code

KEY = wallet_key("of the account")
CHEAP = {"kdf": "pbkdf2", "iterations": 2}


def keystore(**changes: Any) -> dict[str, Any]:
    made: dict[str, Any] = KEY.encrypt("open sesame", **CHEAP)
    return made | changes


def refused(content: bytes | str, passphrase: str = "open sesame") -> str:
    with pytest.raises(InvalidInput) as raised:
        account_from_keystore(content.encode() if isinstance(content, str) else content, passphrase)
    assert "sesame" not in str(raised.value)
    return raised.value.code


def test_a_key_is_read_from_hex_with_or_without_0x():
    for text in (KEY.key.hex(), "0x" + KEY.key.hex(), f" 0x{KEY.key.hex()}\n"):
        assert account_from_hex(text).address == KEY.address.lower()


@pytest.mark.parametrize("text", ["", "0x", "zz" * 32, "00" * 32, "ff" * 32, "12" * 31, "é" * 64])
def test_what_is_no_key_is_refused_without_showing_it(text):
    with raises_code("bad_key", InvalidInput) as raised:
        account_from_hex(text)
    assert text == "" or text not in str(raised.value)


def test_a_key_is_never_shown():
    made = Account(bytes(KEY.key))
    assert KEY.key.hex() not in repr(made) + str(made)


def test_a_keystore_of_version_3_is_opened_with_its_passphrase():
    assert (
        account_from_keystore(json.dumps(keystore()).encode(), "open sesame").address
        == KEY.address.lower()
    )


def test_a_wrong_passphrase_is_told():
    assert refused(json.dumps(keystore()), "abracadabra") == "wrong_passphrase"


def test_a_missing_passphrase_is_told():
    assert refused(json.dumps(keystore()), "") == "passphrase_needed"


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "null",
        "{}",
        "[" * 100_000,
        json.dumps(keystore(version=4)),
        json.dumps(keystore(crypto={})),
        json.dumps(keystore(crypto=None)),
        json.dumps(keystore(crypto={"kdf": "scrypt", "kdfparams": {"n": 2**30, "r": 8, "p": 1}})),
        json.dumps(keystore(crypto={"kdf": "pbkdf2", "kdfparams": {"c": 2**40}})),
        json.dumps(keystore(crypto={"kdf": "magic", "kdfparams": {"c": 2}})),
        json.dumps(keystore(padding="x" * (64 << 10))),
        json.dumps(keystore(address="12" * 20)),
    ],
    ids=range(13),
)
def test_what_is_no_keystore_is_refused(content):
    assert refused(content) == "bad_key"


def test_what_is_signed_is_what_was_asked_for():
    made = Account(bytes(KEY.key))
    to = "0x" + "12" * 20
    transaction = UnsignedTransaction(
        chain_id=5, nonce=7, to=to, data=b"\1\2", gas=50_000, max_fee=30, tip=2
    )
    signed = made.sign_transaction(transaction)
    assert Library.recover_transaction(signed.raw).lower() == made.address
    fields = TypedTransaction.from_bytes(HexBytes(signed.raw)).as_dict()
    assert {name: fields[name] for name in ("chainId", "nonce", "gas", "value")} == {
        "chainId": 5,
        "nonce": 7,
        "gas": 50_000,
        "value": 0,
    }
    assert (fields["maxFeePerGas"], fields["maxPriorityFeePerGas"]) == (30, 2)
    assert (HexBytes(fields["to"]).hex(), bytes(HexBytes(fields["data"]))) == ("12" * 20, b"\1\2")


def test_the_limit_of_recursion_stays_as_it_was():
    # py_ecc raises it for the whole process, and nested JSON would then overflow the stack.
    code = """if True:
        import sys
        from brain.chain.evm import Account
        from brain.chain.evm.rpc import RpcNode
        from brain.errors import LedgerError
        before = sys.getrecursionlimit()
        Account(bytes(31) + b"1")
        try:
            RpcNode("http://127.0.0.1:9").call("eth_chainId")
        except LedgerError:
            pass
        assert "py_ecc" in sys.modules and "web3" in sys.modules
        sys.exit(sys.getrecursionlimit() != before)
    """
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
