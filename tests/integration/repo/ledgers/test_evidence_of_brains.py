"""Evidence, prices and requests of commitments, with a real log and a ledger that costs money."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from brain import Brain, Conflict, NotFound
from brain.chain.ledger_protocol import NO_PARENT, LedgerHead
from brain.chain.tlog.embedded_ledger import EmbeddedLedger
from brain.repo.ledgers import commit, evidence
from tests.support.refusals import raises_code


@pytest.fixture
def log(tmp_path):
    return EmbeddedLedger(tmp_path / "log")


def upsert(brain: Brain, text: str) -> str:
    return brain.skills.upsert("Oracle", text, description="d").snapshot


def document(brain: Brain, log: EmbeddedLedger, *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(brain.ledger.build_evidence(log, *arguments))
    return found


def test_evidence_is_of_the_first_commitment_that_covers_a_snapshot(brain, log):
    ids = [upsert(brain, "1\n")]
    brain.ledger.commit(log)
    ids += [upsert(brain, "2\n"), upsert(brain, "3\n")]
    brain.ledger.commit(log)
    ids += [upsert(brain, "4\n")]
    session = brain._session
    covering = [
        evidence._first_covering_commitment(
            session, log, log.history(session.brain_id()), bytes.fromhex(here)
        ).snapshot.hex()
        for here in ids[:3]
    ]
    assert covering == [ids[0], ids[2], ids[2]]
    with raises_code("not_committed", NotFound) as caught:
        brain.ledger.build_evidence(log)
    assert ids[3][:12] in caught.value.message
    own, older = document(brain, log, ids[2]), document(brain, log, ids[1])
    assert (bool(own["descent"]), bool(older["descent"])) == (False, True)
    path = document(brain, log, ids[1], "skills/oracle/SKILL.md")
    changed = {key for key in path if path[key] != older.get(key)}
    assert changed and "skills/oracle/SKILL.md" in json.dumps([path[key] for key in changed])
    with raises_code("no_path", NotFound):
        brain.ledger.build_evidence(log, ids[1], "nothing.md")


def test_a_log_costs_nothing(brain, log):
    for quote in (brain.ledger.quote_open(log), brain.ledger.quote_commit(log)):
        assert (quote.brain, quote.snapshot) == (brain._session.brain_id().hex(), brain.head)
        assert (quote.ledger, quote.identity, quote.status) == (log.name, log.identity, "quoted")
        assert (quote.gas, quote.expected_gas, quote.base_fee) == (0, 0, 0)
        assert (quote.max_fee, quote.expected, quote.worst) == (0, 0, 0)


def test_a_ledger_that_costs_money_is_asked_for_its_price(brain):
    asked: list[tuple[str, tuple[bytes, ...]]] = []
    price = SimpleNamespace(gas=1, expected_gas=2, base_fee=3, max_fee=4, expected=5, worst=6)

    class Priced:
        name, identity = "chain", "eip155:1:0x00"

        def head(self, brain_id: bytes) -> LedgerHead | None:
            return None

        def quote_open(self, *arguments: bytes) -> Any:
            asked.append(("open", arguments))
            return price

        def quote_commit(self, *arguments: bytes) -> Any:
            asked.append(("commit", arguments))
            return price

    ledger: Any = Priced()
    for quote in (brain.ledger.quote_open(ledger), brain.ledger.quote_commit(ledger)):
        assert (quote.gas, quote.expected_gas, quote.base_fee) == (1, 2, 3)
        assert (quote.max_fee, quote.expected, quote.worst) == (4, 5, 6)
    brain_id, head = brain._session.brain_id(), brain._session.head()
    assert asked == [("open", (brain_id, head)), ("commit", (brain_id, head, NO_PARENT))]


def test_a_brain_is_opened_once(brain, log):
    made = brain.ledger.open(log)
    assert (made.seq, made.parent, made.snapshot) == (1, None, brain.head)
    with raises_code("already_open", Conflict):
        brain.ledger.open(log)
    head = bytes.fromhex(upsert(brain, "1\n"))
    request = brain.ledger.build_request(log)
    assert (request.snapshot, request.parent.hex()) == (head, made.snapshot)


def test_a_commitment_is_tried_again_if_another_process_was_faster(brain, log, monkeypatch):
    session, tries = brain._session, []

    class Busy:
        name, identity = log.name, log.identity

        def head(self, brain_id: bytes) -> None:
            return None

        def commit(self, *arguments: bytes) -> str:
            tries.append(arguments)
            if len(tries) <= failures:
                raise Conflict("another was faster", code=code)
            return "committed"

    ledger: Any = Busy()
    monkeypatch.setattr(commit, "_MAX_COMMIT_ATTEMPTS", 3)
    failures, code = 3, "stale_parent"
    assert commit._send_commitment(session, ledger, session.head())[0] == "committed"
    assert len(tries) == 4
    failures = 9
    for name, count in (("stale_parent", 4), ("already_open", 1)):
        code = name
        tries.clear()
        with pytest.raises(Conflict):
            commit._send_commitment(session, ledger, session.head())
        assert len(tries) == count
