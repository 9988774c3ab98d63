"""Bind Ed25519 keys to accounts, in accounts.json of the brain, and list what is bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ...chain import account_statement
from ...chain.account_statement import AccountStatement, BindingTerms
from ...errors import InvalidInput, NotFound
from ...objects.tree_node import FILE, TreeEntry
from ...results import AccountBound, AccountUnbound, BoundAccount
from ...trust import ACCOUNTS_PATH, ed25519, secp256k1
from ...trust.signature_format import format_key
from ...util.utc_time import utc_time
from ..account_file import read_statements
from ..session import Session
from ..transaction import WriteTransaction, locked_write_transaction
from .sign import read_signatures


class SigningAccount(Protocol):
    """A secp256k1 account that can sign typed data; `address` is 0x… text."""

    address: str

    @property
    def public_key(self) -> bytes:
        """The public key, 64 bytes."""

    def sign_typed_data(self, document: Mapping[str, Any]) -> bytes:
        """Return the signature of EIP-712 typed data, 65 bytes."""


def write_statement(
    session: Session, key: bytes, account: bytes, *, chain_id: int = 0, expires: int = 0
) -> dict[str, Any]:
    """Return the statement of a key and an account as EIP-712 typed data, for a wallet to sign.

    `chain_id` is that of a wallet contract, 0 for the account of a key; `expires` in s since
    1970 (UTC), 0 for never. Raises `InvalidInput` (`bad_expiry`).
    """
    return account_statement.typed_data(_make_terms(session, key, account, chain_id, expires))


def bind_account(
    session: Session, seed: bytes, account: SigningAccount, expires: int = 0
) -> AccountBound:
    """Record a statement, signed by both, that a key and an account act for one party.

    `seed` is the private key, `account` a `brain.chain.evm.Account`, `expires` in s since 1970
    (UTC), 0 for never. An earlier statement about both is
    replaced. Raises `InvalidInput` (`bad_accounts`, `bad_expiry`).
    """
    address = bytes.fromhex(account.address[2:])
    terms = _make_terms(session, ed25519.public_key(seed), address, 0, expires)
    signature = account.sign_typed_data(account_statement.typed_data(terms))
    return _record_statement(session, seed, terms, signature, account.public_key)


def bind_signed_account(
    session: Session, seed: bytes, typed_data: bytes, signature: bytes
) -> AccountBound:
    """Record the text of `write_statement` with the signature that a wallet returned.

    Raises `InvalidInput`: `bad_statement` for another text, brain or key, `bad_signature`,
    `bad_accounts`.
    """
    terms = account_statement.parse_typed_data(typed_data)
    for name, value, own in (
        ("brain", terms.brain, session.brain_id()),
        ("key", terms.key, ed25519.public_key(seed)),
    ):
        if value != own:
            raise InvalidInput(
                f"the statement is about the {name} {value.hex()[:12]}, not {own.hex()[:12]}",
                code="bad_statement",
                hint="write one for this brain and this key, with `brain key statement`",
            )
    public_key = b""
    if not terms.chain_id:
        from ...chain.evm.account import recover_public_key

        public_key = recover_public_key(account_statement.account_digest(terms), signature)
    return _record_statement(session, seed, terms, signature, public_key)


def unbind_account(session: Session, account: bytes) -> AccountUnbound:
    """Remove all statements about an account, 20 bytes, in one snapshot.

    Raises `InvalidInput` (`bad_accounts`), `NotFound` (`not_bound`).
    """
    name = f"0x{account.hex()}"
    message = f"Unbind the account {name}"
    with locked_write_transaction(session, "snapshot", message) as txn:
        before = _read_edited_statements(txn)
        removed = [each for each in before if each.terms.account == account]
        if not removed:
            raise NotFound(
                f"no key is bound to {name}",
                code="not_bound",
                hint="`brain key bindings` lists the accounts that are bound",
            )
        _write_statements(txn, [each for each in before if each not in removed], message)
    return AccountUnbound(
        txn.head.hex(),
        _snapshot_signature(session, txn.head),
        [_describe_statement(session, each) for each in removed],
    )


def list_bound_accounts(session: Session, rev: str = "@") -> list[BoundAccount]:
    """Return the accounts bound to keys in a revision, with the standing of each statement.

    Raises `InvalidInput` (`bad_accounts`).
    """
    return [
        _describe_statement(session, statement)
        for statement in read_statements(session, session.resolve(rev))
    ]


def _make_terms(
    session: Session, key: bytes, account: bytes, chain_id: int, expires: int
) -> BindingTerms:
    created = session.timestamp_ms() // 1000
    if expires and not created < expires <= account_statement.MAX_TIME:
        raise InvalidInput(
            "the statement would have expired already, or after the year 9999",
            code="bad_expiry",
            hint="name a later time, or leave it out",
        )
    return BindingTerms(
        brain=session.brain_id(),
        key=key,
        account=account,
        chain_id=chain_id,
        created=created,
        expires=expires,
    )


def _record_statement(
    session: Session, seed: bytes, terms: BindingTerms, signature: bytes, public_key: bytes
) -> AccountBound:
    statement = AccountStatement(
        terms,
        public_key,
        ed25519.sign_message(seed, account_statement.key_message(terms)),
        signature if terms.chain_id else signature[: secp256k1.SIGNATURE_SIZE],
    )
    bound = _describe_statement(session, statement)
    _refuse_bad_signature(bound, signature)
    message = f"Bind the account {bound.account}"
    with locked_write_transaction(session, "snapshot", message) as txn:
        before = _read_edited_statements(txn)
        changed = statement not in before
        if changed:
            _write_statements(txn, account_statement.replace_statement(before, statement), message)
    return AccountBound(txn.head.hex(), _snapshot_signature(session, txn.head), bound, changed)


def _refuse_bad_signature(bound: BoundAccount, signature: bytes) -> None:
    too_long = len(signature) > account_statement.MAX_WALLET_SIGNATURE_BYTES
    if bound.status == account_statement.BAD_ACCOUNT_SIGNATURE or not signature or too_long:
        raise InvalidInput(
            f"the signature is not one of {bound.account} for this statement",
            code="bad_signature",
            hint="let that account sign the file as it is, as typed data (eth_signTypedData_v4)",
        )


def _read_edited_statements(txn: WriteTransaction) -> list[AccountStatement]:
    """Record what the user edited, and return the statements of the head."""
    session = txn.session
    txn.record_edits_at([ACCOUNTS_PATH])
    return read_statements(session, txn.head)


def _write_statements(
    txn: WriteTransaction, statements: Sequence[AccountStatement], message: str
) -> None:
    """Record the file with statements; without any, it is removed."""
    entry = None
    if statements:
        text = account_statement.render_statements(statements)
        blob = txn.store_tx.put_blob(text)
        txn.contents[blob] = text
        entry = TreeEntry(ACCOUNTS_PATH, FILE, blob, len(text))
    txn.record_snapshot({ACCOUNTS_PATH: entry}, ("snapshot",), message)
    txn.writes[ACCOUNTS_PATH] = entry


def _snapshot_signature(session: Session, snapshot: bytes) -> str | None:
    signed = read_signatures(session, snapshot)
    return signed[0].signature if signed else None


def _describe_statement(session: Session, statement: AccountStatement) -> BoundAccount:
    terms = statement.terms
    now = session.timestamp_ms() // 1000
    return BoundAccount(
        key=format_key(terms.key),
        account=f"0x{terms.account.hex()}",
        chain_id=terms.chain_id or None,
        created=utc_time(terms.created * 1000),
        expires=utc_time(terms.expires * 1000) if terms.expires else None,
        status=account_statement.verify_statement(statement, session.brain_id(), now),
    )
