"""Check the statements of accounts.json that bind keys to accounts (step 10)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress

from ..errors import BrainError, InvalidInput
from ..repo.session import Session
from ..results import Finding
from ..trust import ACCOUNTS_PATH


def check_accounts(session: Session) -> Iterator[Finding]:
    """Yield the findings about the statements of the head; earlier ones bind nobody."""
    with suppress(BrainError):  # another step reports what cannot be read
        head = session.head()
        if session.state_of(head).get(ACCOUNTS_PATH):
            yield from _check_statements(session, head)


def _check_statements(session: Session, head: bytes) -> Iterator[Finding]:
    from ..chain import account_statement
    from ..repo.account_file import read_statements

    findings = {
        account_statement.EXPIRED: ("expired_statement", "warning", "has expired"),
        account_statement.UNCHECKED: (
            "unchecked_account",
            "warning",
            "is that of a wallet contract, and only its chain can confirm it",
        ),
        account_statement.OTHER_BRAIN: ("other_brain", "warning", "is about another brain"),
        account_statement.BAD_KEY_SIGNATURE: ("bad_statement", "error", "is not signed by the key"),
        account_statement.BAD_ACCOUNT_SIGNATURE: (
            "bad_statement",
            "error",
            "is not signed by the account",
        ),
    }
    try:
        statements = read_statements(session, head)
    except InvalidInput as error:
        yield Finding(error.code, "error", head.hex(), ACCOUNTS_PATH, error.message)
        return
    brain, now = session.brain_id(), int(time.time())
    for statement in statements:
        standing = account_statement.verify_statement(statement, brain, now)
        if standing in findings:
            code, severity, what = findings[standing]
            text = f"the statement about 0x{statement.terms.account.hex()} {what}"
            yield Finding(code, severity, head.hex(), ACCOUNTS_PATH, text)
