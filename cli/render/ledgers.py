"""Ledgers, commitments and their verification in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..context import App
from ..output import emit
from ..terminal import escape
from .costs import PENDING_ADVICE
from .human_format import align_columns, format_ether, pluralize, short_id

if TYPE_CHECKING:
    from brain.chain.ledger_protocol import Commitment
    from brain.results import Committed, Finding, LedgerVerdict, NotCommitted


def verified_ledger_lines(ledgers: Sequence[LedgerVerdict]) -> Iterator[str]:
    """Describe the last commitment in each ledger."""
    for one in ledgers:
        name = escape(one.ledger)
        if one.status == "unknown":
            yield f"{name}: could not be read"
            continue
        if one.snapshot is None:
            yield f"{name}: no commitment of this brain"
            continue
        behind = f", {pluralize(one.behind, 'snapshot')} behind the head" if one.behind else ""
        yield (
            f"{name}: commitment {one.seq} of {short_id(one.snapshot)},"
            f" {one.status}, {one.trust_level}{behind}"
        )


def ledger_advice(findings: Sequence[Finding]) -> str:
    """Return a hint for failed verification against ledgers."""
    if {one.code for one in findings if one.severity == "error"} == {"not_committed"}:
        return "commit it with `brain chain commit`; on a chain, first `brain chain open`"
    if any(one.code in ("ledger_ahead", "commitment_order") for one in findings):
        return (
            "see `brain chain status`; the owner disowns commitments of a stolen key with"
            " `brain chain owner --disown`"
        )
    return "see `brain chain status`"


def committed_lines(result: Committed) -> Iterator[str]:
    """Describe a commitment and its cost."""
    covers = (
        "" if result.snapshots is None else f", covers {pluralize(result.snapshots, 'snapshot')}"
    )
    what = f"Committed {short_id(result.snapshot)} to {escape(result.ledger)} as"
    if not result.changed:
        what = f"Nothing new: {escape(result.ledger)} has {short_id(result.snapshot)} as"
    yield f"{what} commitment {result.seq}{covers}: {result.status}, {result.trust_level}"
    if result.transaction:
        yield f"Transaction {result.transaction}"
    if result.transaction and result.status == "pending":
        yield PENDING_ADVICE
    if result.changed and result.gas is not None:
        fee = f", {format_ether(result.fee)}" if result.fee is not None else ""
        yield f"Gas {result.gas:,}{fee}"


def disowned_lines(last_valid: int, disowned: Sequence[Commitment]) -> Iterator[str]:
    """Describe the commitments that the owner disowns."""
    if not disowned:
        return
    yield f"Commitment {last_valid} stands. Disowned, with the right of the signer:"
    yield from align_columns(
        (f"  {one.seq}", short_id(one.snapshot.hex()), f"by {one.author}") for one in disowned
    )


def commitment_lines(made: Committed | NotCommitted | None) -> Iterator[str]:
    """Describe the commitment that a write made."""
    if made is None:
        return
    from brain.results import Committed

    if isinstance(made, Committed):
        yield from committed_lines(made)


def emit_write(app: App, result: Any, *lines: str) -> None:
    """Print what a write did: `lines`, its snapshot and its commitment.

    Raises `BrainError` if a commitment was due and was not made.
    """
    emit(app, result, [*lines, *written_lines(result)])
    raise_if_not_committed(result.commitment)


def written_lines(result: Any) -> Iterator[str]:
    """Describe the snapshot and the commitment of a write."""
    if getattr(result, "changed", True):
        yield f"Snapshot {short_id(result.snapshot)}, bundle {short_id(result.bundle)}"
    yield from commitment_lines(result.commitment)


def raise_if_not_committed(made: Committed | NotCommitted | None) -> None:
    """Raise `BrainError` if a write could not be committed."""
    if made is None:
        return
    from brain.errors import BrainError
    from brain.results import NotCommitted

    if isinstance(made, NotCommitted):
        where = "" if made.ledger == "?" else f" to {made.ledger}"
        what = f"not committed{where}: {made.message}"
        raise BrainError(what, code=made.code, hint=made.hint)
