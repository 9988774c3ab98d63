"""What every ledger does, whatever it is made of."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from brain.chain.ledger_protocol import FINALIZED, NO_PARENT, STATUS_ORDER, Ledger, LedgerHead
from brain.chain.tlog.embedded_ledger import EmbeddedLedger
from brain.errors import Conflict, NotFound
from tests.support import anvil_node
from tests.support.chain.evm_ledgers import funded_account, ledger_config, open_patient_ledger
from tests.support.chain.registry_contract import RegistryContract
from tests.support.refusals import raises_code
from tests.support.tlog_ledgers import derive_id


class LedgerCase(NamedTuple):
    """A fresh ledger. `again` opens it once more, as another process would see it;
    `settle` makes everything that is committed so far final."""

    ledger: Ledger
    reopen: Callable[[], Ledger]
    settle: Callable[[], None]


@contextmanager
def embedded_case(folder: Path) -> Iterator[LedgerCase]:
    """A log in a folder."""
    with ExitStack() as opened:

        def again() -> Ledger:
            return opened.enter_context(EmbeddedLedger(folder / "log"))

        yield LedgerCase(again(), again, lambda: None)


@contextmanager
def evm_case(folder: Path) -> Iterator[LedgerCase]:
    """A contract on a real node, where two blocks on top make one final."""
    with anvil_node.run_anvil() as node:
        registry = RegistryContract(node)
        config = ledger_config(node, registry.address, finality=2)
        key = funded_account(node, "of the suite")

        def again() -> Ledger:
            return open_patient_ledger(config, folder, key)

        yield LedgerCase(again(), again, lambda: node.mine(2))


LEDGERS: dict[str, Callable[[Path], AbstractContextManager[LedgerCase]]] = {
    "embedded": embedded_case,
    "evm": evm_case,
}
"""Name -> what makes a ledger in an empty folder, and tidies up after it."""


BRAIN, OTHER = derive_id("a brain"), derive_id("another brain")
A, B, C, D = (derive_id("snapshot", name) for name in "abcd")


@pytest.fixture(params=LEDGERS)
def place(request, tmp_path):
    with LEDGERS[request.param](tmp_path) as place:
        yield place


def head(place: LedgerCase, brain: bytes = BRAIN) -> tuple[int, bytes] | None:
    found: LedgerHead | None = place.ledger.head(brain)
    return None if found is None else (found.seq, found.snapshot)


def chain(place: LedgerCase, brain: bytes = BRAIN) -> list[tuple[int, bytes, bytes]]:
    return [(one.seq, one.snapshot, one.parent) for one in place.ledger.history(brain)]


def test_a_ledger_knows_nothing_of_a_brain_that_was_never_opened(place):
    ledger = place.ledger
    assert ledger.head(BRAIN) is None
    assert ledger.history(BRAIN) == []
    for ask in (ledger.status, ledger.evidence):
        with raises_code("not_committed", NotFound):
            ask(BRAIN, A)


def test_opening_makes_the_first_commitment(place):
    made = place.ledger.open(BRAIN, A)
    assert (made.brain, made.seq, made.snapshot, made.parent) == (BRAIN, 1, A, NO_PARENT)
    assert made.status in STATUS_ORDER
    place.settle()
    assert head(place) == (1, A)
    assert chain(place) == [(1, A, NO_PARENT)]


@pytest.mark.parametrize("snapshot", [A, B])
def test_a_brain_is_opened_once(place, snapshot):
    place.ledger.open(BRAIN, A)
    place.settle()
    with raises_code("already_open", Conflict):
        place.ledger.open(BRAIN, snapshot)
    assert chain(place) == [(1, A, NO_PARENT)]


def test_each_commitment_follows_the_one_before(place):
    place.ledger.open(BRAIN, A)
    place.settle()
    for seq, (parent, snapshot) in enumerate([(A, B), (B, C), (C, D)], 2):
        made = place.ledger.commit(BRAIN, snapshot, parent)
        assert (made.brain, made.seq, made.snapshot, made.parent) == (BRAIN, seq, snapshot, parent)
        place.settle()
        assert head(place) == (seq, snapshot)
    assert chain(place) == [(1, A, NO_PARENT), (2, B, A), (3, C, B), (4, D, C)]


@pytest.mark.parametrize("parent", [A, B, C, NO_PARENT])
def test_committing_the_head_again_changes_nothing(place, parent):
    place.ledger.open(BRAIN, A)
    place.settle()
    place.ledger.commit(BRAIN, B, A)
    place.settle()
    again = place.ledger.commit(BRAIN, B, parent)
    place.settle()
    assert again == place.ledger.status(BRAIN, B)
    assert chain(place) == [(1, A, NO_PARENT), (2, B, A)]


@pytest.mark.parametrize("parent", [A, D, NO_PARENT])
def test_a_fork_is_refused_and_told_the_head(place, parent):
    place.ledger.open(BRAIN, A)
    place.settle()
    place.ledger.commit(BRAIN, B, A)
    place.settle()
    with raises_code("stale_parent", Conflict) as error:
        place.ledger.commit(BRAIN, C, parent)
    assert B.hex() in error.value.message
    assert "2" in error.value.message
    assert "merge" in error.value.hint
    assert chain(place) == [(1, A, NO_PARENT), (2, B, A)]


def test_a_brain_that_was_never_opened_has_no_head_to_follow(place):
    with raises_code("not_open", NotFound):
        place.ledger.commit(BRAIN, B, A)
    assert place.ledger.head(BRAIN) is None


def test_brains_do_not_mix(place):
    place.ledger.open(BRAIN, A)
    place.ledger.open(OTHER, B)
    place.settle()
    place.ledger.commit(BRAIN, B, A)
    place.settle()
    assert head(place, BRAIN) == (2, B)
    assert head(place, OTHER) == (1, B)
    assert chain(place, OTHER) == [(1, B, NO_PARENT)]
    with raises_code("not_committed", NotFound):
        place.ledger.status(OTHER, A)


def test_earlier_commitments_stay(place):
    made = [place.ledger.open(BRAIN, A)]
    place.settle()
    made.append(place.ledger.commit(BRAIN, B, A))
    place.settle()
    history = place.ledger.history(BRAIN)
    for one, then in zip(history, made, strict=True):
        assert place.ledger.status(BRAIN, one.snapshot) == one
        assert one._replace(status=then.status, fee=then.fee, gas=then.gas)[:6] == then[:6]
        assert one.status == FINALIZED
        assert one.time > 0
        assert one.block is not None
    with raises_code("not_committed", NotFound):
        place.ledger.status(BRAIN, C)


def test_a_snapshot_may_come_back(place):
    place.ledger.open(BRAIN, A)
    place.settle()
    for snapshot, parent in ((B, A), (A, B)):
        place.ledger.commit(BRAIN, snapshot, parent)
        place.settle()
    assert head(place) == (3, A)
    assert place.ledger.status(BRAIN, A).seq == 3
    assert place.ledger.status(BRAIN, B).seq == 2


def test_all_who_open_the_ledger_see_the_same(place):
    place.ledger.open(BRAIN, A)
    place.settle()
    other = place.reopen()
    assert other.identity == place.ledger.identity != ""
    assert other.history(BRAIN) == place.ledger.history(BRAIN)
    other.commit(BRAIN, B, A)
    place.settle()
    assert head(place) == (2, B)
    with raises_code("stale_parent", Conflict):
        place.ledger.commit(BRAIN, C, A)


def test_a_commitment_names_its_ledger(place):
    made = place.ledger.open(BRAIN, A)
    place.settle()
    assert made.ledger == place.ledger.name
    assert made.identity == place.ledger.identity
    assert place.ledger.trust_level(place.ledger.status(BRAIN, A)) in ("L0", "L1", "L2")


def test_evidence_is_of_a_log_or_of_a_chain(place):
    place.ledger.open(BRAIN, A)
    place.settle()
    place.ledger.commit(BRAIN, B, A)
    place.settle()
    evidence = place.ledger.evidence(BRAIN, B)
    assert evidence.keys() == {"log", "chain"}
    assert any(evidence.values())


def test_a_sound_ledger_has_no_faults(place):
    assert place.ledger.verify() == []
    place.ledger.open(BRAIN, A)
    place.settle()
    assert place.ledger.verify() == []
