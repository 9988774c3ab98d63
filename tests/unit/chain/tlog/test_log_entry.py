"""An entry has one encoding, and every other is refused."""

import pytest

from brain.chain.ledger_protocol import NO_PARENT
from brain.chain.tlog import log_entry
from brain.chain.tlog.log_entry import LogLeaf, decode_entry, encode_entry
from brain.encoding import pack
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


@pytest.mark.parametrize(
    "value",
    [
        (2, *FIRST),
        (1, *FIRST[:-1]),
        (1, *FIRST, 0),
        (1, *FIRST._replace(brain=bytes(31))),
        (1, *FIRST._replace(brain="b" * 32)),
        (1, *FIRST._replace(seq=0)),
        (1, *FIRST._replace(seq=2)),
        (1, *SECOND._replace(seq=1)),
        (1, *SECOND._replace(seq=1 << 63)),
        (1, *SECOND._replace(parent=NO_PARENT)),
        (1, *SECOND._replace(parent=b"")),
        (1, *SECOND._replace(snapshot=NO_PARENT)),
        (1, *FIRST._replace(time=log_entry.MAX_TIME_MS + 1)),
        list(FIRST),
        {"format": 1},
        1,
    ],
)
def test_what_is_no_entry_is_refused(value):
    with raises_code("bad_entry", FormatError):
        decode_entry(pack(value))


def test_every_prefix_and_addition_is_refused():
    data = encode_entry(SECOND)
    for other in [data[:end] for end in range(len(data))] + [data + b"\0", b"\0" + data]:
        with pytest.raises(FormatError):
            decode_entry(other)


def test_an_entry_has_a_limit():
    with raises_code("too_large", FormatError):
        decode_entry(bytes(log_entry.MAX_ENTRY_BYTES + 1))


def test_every_flip_of_a_bit_is_refused_or_is_another_entry():
    data = encode_entry(SECOND)
    for bit in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        try:
            assert decode_entry(bytes(flipped)) != SECOND
        except FormatError:
            continue
