"""An entry has one form, and everything else is refused."""

from __future__ import annotations

from typing import Any

import pytest

from brain.chain.protocol import NO_PARENT
from brain.chain.tlog import entry
from brain.chain.tlog.entry import Entry, decode, encode
from brain.encoding import pack
from brain.errors import FormatError
from brain.objects import snapshot
from tests.logs import TIME, an_id

FIRST = Entry(an_id("brain"), 1, an_id(1), NO_PARENT, TIME)
SECOND = Entry(an_id("brain"), 2, an_id(2), an_id(1), TIME)
LARGEST = Entry(an_id("b"), entry.MAX_SEQ, an_id(2), an_id(1), entry.MAX_TIME)


@pytest.mark.parametrize("made", [FIRST, SECOND, LARGEST])
def test_an_entry_comes_back_as_it_went(made: Entry) -> None:
    assert decode(encode(made)) == made
    assert len(encode(made)) <= len(encode(LARGEST)) == entry.MAX_BYTES


def test_times_reach_as_far_as_those_of_snapshots() -> None:
    assert entry.MAX_TIME == snapshot.MAX_TIME


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
        (1, *FIRST._replace(time=entry.MAX_TIME + 1)),
        list(FIRST),
        {"format": 1},
        1,
    ],
)
def test_what_is_no_entry_is_refused(value: Any) -> None:
    with pytest.raises(FormatError) as error:
        decode(pack(value))
    assert error.value.code == "bad_entry"


def test_every_prefix_and_addition_is_refused() -> None:
    data = encode(SECOND)
    for other in [data[:end] for end in range(len(data))] + [data + b"\0", b"\0" + data]:
        with pytest.raises(FormatError):
            decode(other)


def test_an_entry_has_a_limit() -> None:
    with pytest.raises(FormatError) as error:
        decode(bytes(entry.MAX_BYTES + 1))
    assert error.value.code == "too_large"


def test_every_flip_of_a_bit_is_refused_or_is_another_entry() -> None:
    data = encode(SECOND)
    for bit in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        try:
            assert decode(bytes(flipped)) != SECOND
        except FormatError:
            continue
