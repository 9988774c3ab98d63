"""Ledgers, commitments and their verification in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..terminal import escape
from .costs import format_ether
from .human_format import pluralize, short_id

if TYPE_CHECKING:
    from brain.results import Committed, Finding, LedgerVerdict, NotCommitted


def verified_ledger_lines(ledgers: Sequence[LedgerVerdict]) -> Iterator[str]:
    """Say what each ledger vouches for."""
    for one in ledgers:
        name = escape(one.ledger)
        if one.snapshot is None:
            yield f"{name}: no commitment of this brain"
            continue
        behind = f", {pluralize(one.behind, 'snapshot')} behind the head" if one.behind else ""
        yield (
            f"{name}: commitment {one.seq} of {short_id(one.snapshot)},"
            f" {one.status}, {one.trust_level}{behind}"
        )


def ledger_advice(findings: Sequence[Finding]) -> str:
    """Return what to do about what ledgers do not vouch for."""
    if {one.code for one in findings if one.severity == "error"} == {"not_committed"}:
        return "commit it with `brain chain commit`"
    return "see `brain chain status`"


def committed_lines(done: Committed) -> Iterator[str]:
    """Say what was committed, and what it cost."""
    covers = "" if done.snapshots is None else f", covers {pluralize(done.snapshots, 'snapshot')}"
    yield (
        f"Committed {short_id(done.snapshot)} to {escape(done.ledger)} as commitment"
        f" {done.seq}{covers}: {done.status}, {done.trust_level}"
    )
    if done.transaction:
        yield f"Transaction {done.transaction}"
    if done.gas is not None:
        fee = f", {format_ether(done.fee)}" if done.fee is not None else ""
        yield f"Gas {done.gas:,}{fee}"


def commitment_lines(made: Committed | NotCommitted | None) -> Iterator[str]:
    """Say what became of a commitment that came with a write."""
    if made is None:
        return
    from brain.results import Committed

    if isinstance(made, Committed):
        yield from committed_lines(made)


def raise_if_not_committed(made: Committed | NotCommitted | None) -> None:
    """Raise what kept a commitment from being made, once the rest was told."""
    if made is None:
        return
    from brain.errors import BrainError
    from brain.results import NotCommitted

    if isinstance(made, NotCommitted):
        where = "" if made.ledger == "?" else f" to {made.ledger}"
        what = f"not committed{where}: {made.message}"
        raise BrainError(what, code=made.code, hint=made.hint)


def ledger_lines(description: Mapping[str, Any]) -> Iterator[str]:
    """Say what a ledger is."""
    nodes = ", ".join(description["nodes"])
    contract = description["contract"] or "none yet: `brain chain deploy`"
    yield escape(f"{description['ledger']}: chain {description['chain_id']}, contract {contract}")
    final = description["finality"]
    if isinstance(final, int):
        final = f"what has {pluralize(final, 'block')} on top"
    yield escape(f"  nodes {nodes}; {description['quorum']} must agree; final is {final}")
    yield f"  at most {description['max_fee'] / 10**9:g} gwei a gas, {format_ether(description['max_cost'])} a call"
