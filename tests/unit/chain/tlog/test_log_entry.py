"""An entry has one encoding, and every other is refused."""

import pytest

from brain.chain.ledger_protocol import NO_PARENT
from brain.chain.tlog import log_entry
from brain.chain.tlog.log_entry import LogLeaf, decode_entry, encode_entry
from brain.errors import FormatError
from brain.objects import snapshot
from tests.support.refusals import raises_code
from tests.support.tlog_ledgers import FIXED_TIME_MS, derive_id

FIRST = LogLeaf(derive_id("brain"), 1, derive_id(1), NO_PARENT, FIXED_TIME_MS)
SECOND = LogLeaf(derive_id("brain"), 2, derive_id(2), derive_id(1), FIXED_TIME_MS)
LARGEST = LogLeaf(
    derive_id("b"), log_entry.MAX_SEQ, derive_id(2), derive_id(1), log_entry.MAX_TIME_MS
)


@pytest.mark.parametrize("made", [FIRST, SECOND, LARGEST])
def test_an_entry_comes_back_as_it_went(made):
    assert decode_entry(encode_entry(made)) == made
    assert len(encode_entry(made)) <= len(encode_entry(LARGEST)) == log_entry.MAX_ENTRY_BYTES


def test_times_reach_as_far_as_those_of_snapshots():
    assert log_entry.MAX_TIME_MS == snapshot.MAX_TIME_MS


def test_an_entry_has_a_limit():
    with raises_code("too_large", FormatError):
        decode_entry(bytes(log_entry.MAX_ENTRY_BYTES + 1))
