"""Verifies the field `accounts` of evidence: statements that bind keys to accounts.

A snapshot contains them in the file accounts.json. The time of the ledger decides whether one
has expired, so the result does not depend on the day of the check.
"""

from __future__ import annotations

from typing import NamedTuple

from ...digest import blob_id
from ...errors import InvalidInput, ProofError
from ...objects.tree_node import LINK
from ...proofs.proof_verification import verify_proof
from ...trust import ACCOUNTS_PATH
from ...trust.signature_format import parse_key
from .. import account_statement
from .evidence_model import AccountsPart, require_evidence


class CheckedStatement(NamedTuple):
    """A statement, and its standing when the ledger recorded the commitment."""

    statement: account_statement.AccountStatement
    standing: str


def verify_accounts_part(
    part: AccountsPart, brain: bytes, snapshot: bytes, time: int
) -> list[CheckedStatement]:
    """Return the statements of a snapshot with their standing at a time, in s since 1970.

    Raises `ProofError`: `wrong_accounts`, `bad_accounts`, `bad_statement`, and the codes of
    `verify_proof`. In steps:

    1. The content is that of accounts.json in the snapshot.
    2. It is well formed.
    3. Both signed each statement about the brain; those about another one are not about it.
    """
    # 1. The content is that of accounts.json in the snapshot.
    proven = verify_proof(part.proof)
    is_same_file = (proven.brain, proven.snapshot, proven.path, proven.blob, proven.size) == (
        brain,
        snapshot,
        ACCOUNTS_PATH,
        blob_id(part.content),
        len(part.content),
    )
    require_evidence(
        is_same_file and proven.type != LINK,
        "wrong_accounts",
        f"its statements about accounts are not the file {ACCOUNTS_PATH} of the snapshot",
    )
    # 2. It is well formed.
    try:
        statements = account_statement.parse_statements(part.content)
    except InvalidInput as error:
        raise ProofError(
            f"the evidence does not hold: {error.message}",
            code=error.code,
            hint="ask for evidence of a snapshot without that file, or with a valid one",
        ) from error
    # 3. Both signed each statement about the brain.
    checked = [
        CheckedStatement(each, account_statement.verify_statement(each, brain, time))
        for each in statements
    ]
    forged = (account_statement.BAD_KEY_SIGNATURE, account_statement.BAD_ACCOUNT_SIGNATURE)
    for statement, standing in checked:
        require_evidence(
            standing not in forged,
            "bad_statement",
            f"its statement about 0x{statement.terms.account.hex()} is not signed by both",
        )
    return checked


def require_bound_key(checked: list[CheckedStatement], key: str, account: bytes) -> None:
    """Raise `ProofError` (`not_bound`) unless a valid statement binds a key to an account.

    `key` is `ed25519:…`. Raises `InvalidInput` (`bad_key`).
    """
    wanted = parse_key(key)
    bound = any(
        (each.standing, each.statement.terms.key, each.statement.terms.account)
        == (account_statement.VALID, wanted, account)
        for each in checked
    )
    require_evidence(
        bound,
        "not_bound",
        f"no valid statement binds {key} to 0x{account.hex()}",
        "compare the key, or ask for evidence of a snapshot with such a statement",
    )
