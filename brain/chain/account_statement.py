"""accounts.json: Ed25519 keys and accounts of EVM chains, bound by statements signed by both.

    {
      "format": "brain v1 accounts",
      "statements": [
        {
          "brain": "9a…",               (the id of the brain it is about)
          "key": "ed25519:3d40…",
          "account": "0x7099…",
          "chain_id": null,             (a number for a wallet contract: it is on one chain only)
          "created": 1790000000,        (s since 1970, UTC)
          "expires": null,
          "public_key": "8318…",        (of the account; null for a wallet contract)
          "key_signature": "5c…",
          "account_signature": "0b…"
        }
      ]
    }

The key signs fixed bytes, the account EIP-712 typed data. A key account is verified with its public
key, whose hash is the address. Only its chain can say whether a wallet contract signed (ERC-1271).
The format is in docs/format/accounts.md, the schema is `schemas/accounts.json`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..digest import is_hex_digest
from ..errors import BrainError, InvalidInput
from ..trust import ACCOUNTS_PATH, ed25519, secp256k1
from ..trust.signature_format import format_key, parse_key
from ..util import strict_json
from .evidence.keccak import keccak256

ACCOUNTS_FORMAT = "brain v1 accounts"
MAX_ACCOUNTS_BYTES = 512 << 10
MAX_STATEMENTS = 64
MAX_TYPED_DATA_BYTES = 16 << 10
MAX_WALLET_SIGNATURE_BYTES = 2048
"""Bytes of the signature of a wallet contract; one of a key has 64."""
MAX_TIME = 253402300799
"""The last second of the year 9999."""
MAX_CHAIN_ID = (1 << 63) - 1

VALID = "valid"
EXPIRED = "expired"
UNCHECKED = "unchecked"
"""The account is a wallet contract, which only its chain can ask."""
OTHER_BRAIN = "other_brain"
BAD_KEY_SIGNATURE = "bad_key_signature"
BAD_ACCOUNT_SIGNATURE = "bad_account_signature"

_KEY_CONTEXT = b"brain v1 account"
_DOMAIN_NAME, _DOMAIN_VERSION = "brain account statement", "1"
_TYPE_NAME = "AccountStatement"
_TYPE_FIELDS = (
    ("bytes32", "brain"),
    ("bytes32", "key"),
    ("address", "account"),
    ("uint64", "chainId"),
    ("uint64", "created"),
    ("uint64", "expires"),
)
_DOMAIN_FIELDS = (("string", "name"), ("string", "version"))
_MAX_DEPTH = 4
_MAX_VALUES = 24 * MAX_STATEMENTS


def accounts_error(message: str) -> InvalidInput:
    """Return the error for a broken accounts.json."""
    return InvalidInput(
        f"{ACCOUNTS_PATH} is broken: {message}",
        code="bad_accounts",
        hint="restore the last valid one with `brain restore`, or edit the file",
    )


def _accounts_field_error(message: str, _: str) -> BrainError:
    return accounts_error(message)


_READER = strict_json.FieldReader(_accounts_field_error)


class BindingTerms(NamedTuple):
    """The fields that the key and the account sign; 0 means no `chain_id` and no `expires`.

    Callers pass them by keyword.
    """

    brain: bytes
    key: bytes
    account: bytes
    chain_id: int
    created: int
    expires: int


class AccountStatement(NamedTuple):
    """The terms with both signatures; `public_key` is b"" for a wallet contract."""

    terms: BindingTerms
    public_key: bytes
    key_signature: bytes
    account_signature: bytes


def key_message(terms: BindingTerms) -> bytes:
    """Return the bytes that the Ed25519 key signs, of one length."""
    return b"".join(
        (
            _KEY_CONTEXT,
            terms.brain,
            terms.key,
            terms.account,
            *(number.to_bytes(8, "big") for number in terms[3:]),
        )
    )


def typed_data(terms: BindingTerms) -> dict[str, Any]:
    """Return the typed data that the account signs, as `eth_signTypedData_v4` takes it."""
    return {
        "types": {
            "EIP712Domain": _describe_fields(_DOMAIN_FIELDS),
            _TYPE_NAME: _describe_fields(_TYPE_FIELDS),
        },
        "primaryType": _TYPE_NAME,
        "domain": {"name": _DOMAIN_NAME, "version": _DOMAIN_VERSION},
        "message": {
            "brain": f"0x{terms.brain.hex()}",
            "key": f"0x{terms.key.hex()}",
            "account": f"0x{terms.account.hex()}",
            "chainId": terms.chain_id,
            "created": terms.created,
            "expires": terms.expires,
        },
    }


def parse_typed_data(content: bytes) -> BindingTerms:
    """Return the terms in the text of typed data, as `typed_data` gives it.

    Raises `InvalidInput` (`bad_statement`).
    """
    if len(content) > MAX_TYPED_DATA_BYTES:
        raise _typed_data_error(f"it has more than {MAX_TYPED_DATA_BYTES} bytes", "")
    value = strict_json.parse_json(content, _MAX_DEPTH + 1, _MAX_VALUES, _typed_data_error)
    reader = strict_json.FieldReader(_typed_data_error)
    message = reader.record(value, "types", "primaryType", "domain", "message")[3]
    fields = reader.record(message, *(name for _, name in _TYPE_FIELDS))
    brain, key, account, chain_id, created, expires = fields
    terms = BindingTerms(
        brain=reader.hex(brain, 32, 32, "0x"),
        key=reader.hex(key, 32, 32, "0x"),
        account=reader.hex(account, 20, 20, "0x"),
        chain_id=reader.integer(chain_id, 0, MAX_CHAIN_ID),
        created=reader.integer(created, 1, MAX_TIME),
        expires=reader.integer(expires, 0, MAX_TIME),
    )
    if value != typed_data(terms):
        raise _typed_data_error("its types or its domain are those of something else", "")
    return terms


def _typed_data_error(message: str, _: str) -> InvalidInput:
    return InvalidInput(
        f"this is not a statement to sign: {message}",
        code="bad_statement",
        hint="give the file that `brain key statement` wrote",
    )


def account_digest(terms: BindingTerms) -> bytes:
    """Return the 32 bytes that the account signs: the EIP-712 hash of `typed_data`."""
    domain = keccak256(
        _type_hash("EIP712Domain", _DOMAIN_FIELDS)
        + keccak256(_DOMAIN_NAME.encode())
        + keccak256(_DOMAIN_VERSION.encode())
    )
    message = keccak256(
        _type_hash(_TYPE_NAME, _TYPE_FIELDS)
        + terms.brain
        + terms.key
        + terms.account.rjust(32, b"\0")
        + b"".join(number.to_bytes(32, "big") for number in terms[3:])
    )
    return keccak256(b"\x19\x01" + domain + message)


def address_of(public_key: bytes) -> bytes:
    """Return the address of a public key, 64 bytes."""
    return keccak256(public_key)[12:]


def verify_statement(statement: AccountStatement, brain: bytes, now: int) -> str:
    """Return the standing of a statement for a brain at a time, `VALID` or what is wrong.

    In steps:

    1. It is about this brain.
    2. The Ed25519 key signed the terms.
    3. The account signed them, by the key that its address is the hash of.
    4. It has not expired.
    """
    terms = statement.terms
    # 1. It is about this brain.
    if terms.brain != brain:
        return OTHER_BRAIN
    # 2. The Ed25519 key signed the terms.
    if not ed25519.verify_signature(terms.key, key_message(terms), statement.key_signature):
        return BAD_KEY_SIGNATURE
    # 3. The account signed them, by the key that its address is the hash of.
    is_wallet = bool(terms.chain_id)
    if not is_wallet and not (
        address_of(statement.public_key) == terms.account
        and secp256k1.verify_digest(
            statement.public_key, account_digest(terms), statement.account_signature
        )
    ):
        return BAD_ACCOUNT_SIGNATURE
    # 4. It has not expired.
    if terms.expires and terms.expires <= now:
        return EXPIRED
    return UNCHECKED if is_wallet else VALID


def parse_statements(content: bytes) -> list[AccountStatement]:
    """Return the statements of accounts.json, unverified.

    Raises `InvalidInput` (`bad_accounts`).
    """
    if len(content) > MAX_ACCOUNTS_BYTES:
        raise accounts_error(f"it has more than {MAX_ACCOUNTS_BYTES} bytes")
    value = strict_json.parse_json(content, _MAX_DEPTH, _MAX_VALUES, _accounts_field_error)
    format_name, rows = _READER.record(value, "format", "statements")
    if format_name != ACCOUNTS_FORMAT:
        raise accounts_error(f'its format is not "{ACCOUNTS_FORMAT}"')
    statements = [_parse_statement(row) for row in _READER.array(rows, 1, MAX_STATEMENTS)]
    if len({_subject(each.terms) for each in statements}) != len(statements):
        raise accounts_error("it binds one key and one account twice")
    return statements


def render_statements(statements: Sequence[AccountStatement]) -> bytes:
    """Return the text of accounts.json."""
    rows = [_render_statement(each) for each in statements]
    text = json.dumps({"format": ACCOUNTS_FORMAT, "statements": rows}, indent=2)
    return text.encode() + b"\n"


def replace_statement(
    statements: Sequence[AccountStatement], new: AccountStatement
) -> list[AccountStatement]:
    """Return the statements with a new one, in place of that about the same key and account."""
    others = [each for each in statements if _subject(each.terms) != _subject(new.terms)]
    if len(others) >= MAX_STATEMENTS:
        raise accounts_error(f"it would have more than {MAX_STATEMENTS} statements")
    return [*others, new]


def _subject(terms: BindingTerms) -> tuple[bytes, bytes, bytes, int]:
    return terms[:4]


def _parse_statement(value: Any) -> AccountStatement:
    fields = _READER.record(
        value,
        "brain",
        "key",
        "account",
        "chain_id",
        "created",
        "expires",
        "public_key",
        "key_signature",
        "account_signature",
    )
    brain, key, account, chain_id, created, expires, public_key, by_key, by_account = fields
    if type(brain) is not str or not is_hex_digest(brain):
        raise _READER.error(brain, "the id of a brain")
    if (chain_id is None) != (public_key is not None):
        raise accounts_error("a statement has either a chain_id or a public_key")
    start = _READER.integer(created, 1, MAX_TIME)
    sizes = (1, MAX_WALLET_SIGNATURE_BYTES) if chain_id else (secp256k1.SIGNATURE_SIZE,) * 2
    return AccountStatement(
        BindingTerms(
            brain=bytes.fromhex(brain),
            key=_READER.parsed(key, parse_key, "a public key"),
            account=_READER.hex(account, 20, 20, "0x"),
            chain_id=0 if chain_id is None else _READER.integer(chain_id, 1, MAX_CHAIN_ID),
            created=start,
            expires=0 if expires is None else _READER.integer(expires, start + 1, MAX_TIME),
        ),
        b"" if public_key is None else _READER.hex(public_key, 64, 64),
        _READER.hex(by_key, ed25519.SIGNATURE_SIZE, ed25519.SIGNATURE_SIZE),
        _READER.hex(by_account, *sizes),
    )


def _render_statement(statement: AccountStatement) -> dict[str, Any]:
    terms = statement.terms
    return {
        "brain": terms.brain.hex(),
        "key": format_key(terms.key),
        "account": f"0x{terms.account.hex()}",
        "chain_id": terms.chain_id or None,
        "created": terms.created,
        "expires": terms.expires or None,
        "public_key": statement.public_key.hex() or None,
        "key_signature": statement.key_signature.hex(),
        "account_signature": statement.account_signature.hex(),
    }


def _type_hash(name: str, fields: Sequence[tuple[str, str]]) -> bytes:
    return keccak256(f"{name}({','.join(map(' '.join, fields))})".encode())


def _describe_fields(fields: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"name": name, "type": kind} for kind, name in fields]
