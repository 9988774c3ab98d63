"""Bind Ed25519 keys to accounts, in accounts.json of the brain, and list what is bound."""

from __future__ import annotations

from typing import Protocol

from ...chain import account_statement
from ...chain.account_statement import AccountStatement, BindingTerms
from ...errors import InvalidInput
from ...objects import operation
from ...objects.tree_entry import FILE, TreeEntry
from ...results import AccountBound, BoundAccount
from ...trust import ACCOUNTS_PATH, ed25519, secp256k1
from ...trust.signature_format import format_key
from ...util.utc_time import utc_time
from ..core import working_copy
from ..core.transaction import locked_write_transaction
from ..open.session import Session
from ..read.account_file import read_statements
from ..read.revisions import resolve_revision
from .sign import read_signatures


class SigningAccount(Protocol):
    """A secp256k1 account that can sign typed data; `address` is 0x… text."""

    address: str

    @property
    def public_key(self) -> bytes:
        """The public key, 64 bytes."""

    def sign_typed_data(self, document: dict[str, object]) -> bytes:
        """Return the signature of EIP-712 typed data, 65 bytes."""


def bind_account(
    session: Session, seed: bytes, account: SigningAccount, expires: int = 0
) -> AccountBound:
    """Record a statement, signed by both, that a key and an account act for one party.

    `expires` is in s since 1970 (UTC), 0 for never. An earlier statement about both is
    replaced. Raises `InvalidInput` (`bad_accounts`, `bad_expiry`).
    """
    created = session.timestamp_ms() // 1000
    if expires and not created < expires <= account_statement.MAX_TIME:
        raise InvalidInput(
            "the statement would have expired already, or after the year 9999",
            code="bad_expiry",
            hint="name a later time, or leave it out",
        )
    terms = BindingTerms(
        brain=session.brain_id(),
        key=ed25519.public_key(seed),
        account=bytes.fromhex(account.address[2:]),
        chain_id=0,
        created=created,
        expires=expires,
    )
    signature = account.sign_typed_data(account_statement.typed_data(terms))
    statement = AccountStatement(
        terms,
        account.public_key,
        ed25519.sign_message(seed, account_statement.key_message(terms)),
        signature[: secp256k1.SIGNATURE_SIZE],
    )
    return _record_statement(session, statement)


def list_bound_accounts(session: Session, revision: str = "@") -> list[BoundAccount]:
    """Return the statements of a revision, each with its standing now.

    Raises `InvalidInput` (`bad_accounts`).
    """
    return [
        _describe_statement(session, statement)
        for statement in read_statements(session, resolve_revision(session, revision))
    ]


def _record_statement(session: Session, statement: AccountStatement) -> AccountBound:
    account = f"0x{statement.terms.account.hex()}"
    message = f"Bind the account {account}"
    with locked_write_transaction(session, "snapshot", message) as txn:
        txn.record_manual_edits(
            working_copy.store_edits_at(session, txn.store_tx, txn.bundle, [ACCOUNTS_PATH])
        )
        before = read_statements(session, txn.head)
        text = account_statement.render_statements(
            account_statement.replace_statement(before, statement)
        )
        blob = txn.store_tx.put_blob(text)
        txn.contents[blob] = text
        entry = TreeEntry(ACCOUNTS_PATH, FILE, blob, len(text))
        txn.record_snapshot({ACCOUNTS_PATH: entry}, operation.snapshot_operation(), message)
        txn.writes[ACCOUNTS_PATH] = entry
    signed = read_signatures(session, txn.head)
    return AccountBound(
        txn.head.hex(),
        signed[0].signature if signed else None,
        _describe_statement(session, statement),
    )


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
