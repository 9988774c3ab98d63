"""Read accounts.json, the statements about accounts, of a snapshot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..objects.tree_node import LINK
from ..trust import ACCOUNTS_PATH
from .session import Session

if TYPE_CHECKING:
    from ..chain.account_statement import AccountStatement


def read_accounts_file(session: Session, snapshot_id: bytes) -> bytes | None:
    """Return the content of accounts.json in a snapshot; None if it has no such file.

    Raises `InvalidInput` (`bad_accounts`).
    """
    entry = session.state_of(snapshot_id).get(ACCOUNTS_PATH)
    if entry is None:
        return None
    from ..chain import account_statement

    if entry.kind == LINK or entry.size > account_statement.MAX_ACCOUNTS_BYTES:
        raise account_statement.accounts_error(
            "it is a link" if entry.kind == LINK else "it is too large"
        )
    return session.reader.read_blob(entry.blob, entry.size)


def read_statements(session: Session, snapshot_id: bytes) -> list[AccountStatement]:
    """Return the statements of a snapshot, unverified; none if it has no such file.

    Raises `InvalidInput` (`bad_accounts`).
    """
    content = read_accounts_file(session, snapshot_id)
    if content is None:
        return []
    from ..chain import account_statement

    return account_statement.parse_statements(content)
