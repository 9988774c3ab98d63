"""What was last seen in each ledger: noted in the store, so that one that forgets is noticed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..chain.protocol import PROGRESS, Commitment, Ledger, LedgerHead, Priced
from ..encoding import pack, unpack
from ..errors import FormatError
from ..session import Session
from ..store.protocol import Reader
from .turn import locked, log_operation, transaction

NOTE = "ledgers"
"""Names the setting of the store that holds the last commitment seen in each ledger."""


class Seen(NamedTuple):
    """The last commitment that was seen in a ledger."""

    identity: str
    seq: int
    snapshot: bytes


def seen(reader: Reader) -> dict[str, Seen]:
    """Return the last commitments seen, by the identity of their ledger.

    Raises `FormatError` (`bad_note`) if the note is not one.
    """
    data = reader.meta(NOTE)
    if data is None:
        return {}
    try:
        rows = [Seen(*row) for row in unpack(data)]
        if any(list(map(type, row)) != [str, int, bytes] for row in rows):
            raise TypeError(rows)
    except (TypeError, ValueError) as error:
        raise FormatError("the note of ledgers is not one", code="bad_note") from error
    return {row.identity: row for row in rows}


def note(session: Session, made: Commitment) -> None:
    """Note a commitment as the last one seen, once the ledger holds it, unless a later one was.

    On a chain another one may come into the place of one that was seen there.
    """
    now = Seen(made.identity, made.seq, made.snapshot)
    if made.status not in PROGRESS[1:] or not _is_news(seen(session.store), now):
        return
    with locked(session), transaction(session) as tx:
        known = seen(tx)
        if not _is_news(known, now):
            return  # another process was faster
        known[made.identity] = now
        tx.set_meta(NOTE, pack([tuple(row) for _, row in sorted(known.items())]))
        what = f"commit {made.snapshot.hex()[:12]} to {made.ledger}"
        log_operation(session, tx, "commit", what, [])


def _is_news(known: Mapping[str, Seen], now: Seen) -> bool:
    last = known.get(now.identity)
    return last is None or (last.seq <= now.seq and last != now)


def rolled_back(ledger: Ledger, head: LedgerHead | None, last: Seen | None) -> str:
    """Say how a ledger fell behind what was seen in it; "" if it did not.

    A chain may take back in good faith what is not final yet; its ledger remembers itself
    what must not go back.
    """
    now = head.seq if head else 0
    if last is None or now >= last.seq or isinstance(ledger, Priced):
        return ""
    return f"{ledger.name} held commitment {last.seq} of this brain, and now ends at {now}"
