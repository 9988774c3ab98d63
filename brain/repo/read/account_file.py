"""Read accounts.json, the statements about accounts, of a snapshot."""

from __future__ import annotations

from ...chain import account_statement
from ...chain.account_statement import MAX_ACCOUNTS_BYTES, AccountStatement
from ...objects import bundle as bundles
from ...objects.tree_entry import LINK
from ...trust import ACCOUNTS_PATH
from ..open.session import Session


def read_statements(session: Session, snapshot_id: bytes) -> list[AccountStatement]:
    """Return the statements of a snapshot, unverified; none if it has no such file.

    Raises `InvalidInput` (`bad_accounts`).
    """
    entry = bundles.get_entry(session.nodes, session.bundle_of(snapshot_id), ACCOUNTS_PATH)
    if entry is None:
        return []
    if entry.kind == LINK or entry.size > MAX_ACCOUNTS_BYTES:
        raise account_statement.accounts_error(
            "it is a link" if entry.kind == LINK else "it is too large"
        )
    return account_statement.parse_statements(session.reader.read_blob(entry.blob, entry.size))
