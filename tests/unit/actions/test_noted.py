"""What was last seen in a ledger."""

from __future__ import annotations

from pathlib import Path

from brain import Brain
from brain.actions import noted
from brain.chain.tlog.ledger import EmbeddedLedger


def test_an_older_commitment_that_is_noted_late_takes_no_later_ones_place(
    brain: Brain, tmp_path: Path
) -> None:
    log = EmbeddedLedger(tmp_path / "log")
    brain.commit(log)
    brain.upsert_skill("a", "One.\n")
    brain.commit(log)
    first, second = log.history(bytes.fromhex(brain.id))
    noted.note(brain._session, first)
    (seen,) = noted.seen(brain._session.reader).values()
    assert (seen.seq, seen.snapshot) == (second.seq, second.snapshot) == (2, second.snapshot)
