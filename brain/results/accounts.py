"""Results about accounts of EVM chains that are bound to keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .named_tuple import NamedTuple

if TYPE_CHECKING:
    from datetime import datetime


class BoundAccount(NamedTuple):
    """A statement that a key and an account of EVM chains act for one party.

    `status` is `valid`, `expired`, `unchecked` (a wallet contract on chain `chain_id`, which only
    the chain can ask), `other_brain`, `bad_key_signature` or `bad_account_signature`.
    """

    key: str
    account: str
    chain_id: int | None
    created: datetime
    expires: datetime | None
    status: str


class AccountBound(NamedTuple):
    """A statement, new if `changed`; `signature` is that of the snapshot, None without one."""

    snapshot: str
    signature: str | None
    bound: BoundAccount
    changed: bool


class AccountUnbound(NamedTuple):
    """Statements that were removed; `signature` is that of the snapshot without them, or None."""

    snapshot: str
    signature: str | None
    removed: list[BoundAccount]
