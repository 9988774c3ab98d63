import tracemalloc

import pytest

from brain import encoding
from brain.encoding import (
    MAX_CONTAINER_ITEMS,
    MAX_OBJECT_BYTES,
    MAX_OBJECT_DEPTH,
    MAX_OBJECT_VALUES,
    pack,
    unpack,
)
from brain.errors import FormatError
from tests.support.cases import read_cases

CASES = read_cases(__file__)


def refusal(data: bytes) -> str:
    with pytest.raises(FormatError) as caught:
        unpack(data)
    return caught.value.code


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (0, "00"),
        (127, "7f"),
        (128, "cc80"),
        (255, "ccff"),
        (256, "cd0100"),
        (65535, "cdffff"),
        (65536, "ce00010000"),
        (2**32 - 1, "ceffffffff"),
        (2**32, "cf0000000100000000"),
        (2**64 - 1, "cfffffffffffffffff"),
        ("", "a0"),
        ("é", "a2c3a9"),
        ("x" * 31, "bf" + "78" * 31),
        ("x" * 32, "d920" + "78" * 32),
        ("x" * 256, "da0100" + "78" * 256),
        ("x" * 65536, "db00010000" + "78" * 65536),
        (b"", "c400"),
        (b"\xff" * 255, "c4ff" + "ff" * 255),
        (b"\xff" * 256, "c50100" + "ff" * 256),
        (b"\xff" * 65536, "c600010000" + "ff" * 65536),
        ((), "90"),
        ((1, (2, "a")), "92019202a161"),
        ((0,) * 15, "9f" + "00" * 15),
        ((0,) * 16, "dc0010" + "00" * 16),
        ({}, "80"),
        ({"a": 1, "b": {}}, "82a16101a16280"),
    ],
)
def test_a_value_has_one_shortest_encoding(value, encoded):
    assert pack(value).hex() == encoded
    assert unpack(bytes.fromhex(encoded)) == value


@pytest.mark.parametrize("encoded", CASES["test_another_encoding_of_a_value_is_not_canonical"])
def test_another_encoding_of_a_value_is_not_canonical(encoded):
    assert refusal(bytes.fromhex(encoded)) == "not_canonical"


@pytest.mark.parametrize(
    ("encoded", "code"),
    [
        ("", "bad_msgpack"),
        ("c1", "bad_msgpack"),
        ("91c1", "bad_msgpack"),
        ("0000", "bad_msgpack"),
        ("9001", "bad_msgpack"),
        ("a1ff", "bad_msgpack"),
        ("a3eda080", "bad_msgpack"),  # a surrogate is not UTF-8
        ("a2c080", "bad_msgpack"),  # nor is an overlong NUL
        ("82a16101a16102", "duplicate_key"),
        ("810102", "bad_key"),
        ("81c301", "bad_key"),
        ("81c001", "bad_key"),
        ("81cb3ff000000000000001", "bad_key"),
        ("81c4016101", "bad_key"),
        ("ca3f800000", "float_not_allowed"),
        ("cb7ff8000000000000", "float_not_allowed"),
        ("cb8000000000000000", "float_not_allowed"),
        ("cb7ff0000000000000", "float_not_allowed"),
        ("91cb3ff0000000000000", "float_not_allowed"),
        ("d40500", "ext_not_allowed"),
        ("c70005", "ext_not_allowed"),
        ("c700ff", "ext_not_allowed"),
        ("c7010500", "ext_not_allowed"),
        ("d6ff00000000", "ext_not_allowed"),  # a time stamp
        ("d7ff0000000000000000", "ext_not_allowed"),
        ("c8ffff05" + "00" * 65535, "ext_not_allowed"),
        ("c9ffffffff05", "ext_not_allowed"),
        ("c0", "type_not_allowed"),
        ("c2", "type_not_allowed"),
        ("c3", "type_not_allowed"),
        ("ff", "type_not_allowed"),
        ("d0ff", "type_not_allowed"),
        ("d38000000000000000", "type_not_allowed"),
        ("92a16181a16bc0", "type_not_allowed"),
        ("ddffffffff", "bad_length"),
        ("dfffffffff", "bad_length"),
        ("dbffffffff", "bad_msgpack"),
        ("c6ffffffff", "bad_msgpack"),
    ],
)
def test_what_objects_do_not_contain_is_refused_by_its_own_code(encoded, code):
    assert refusal(bytes.fromhex(encoded)) == code


@pytest.mark.parametrize("number", range(128))
def test_no_ext_type_is_taken(number):
    assert refusal(bytes([0xD4, number, 0])) == "ext_not_allowed"


def test_every_proper_prefix_of_an_object_is_refused():
    data = pack(("a", b"bytes" * 60, (1, 300, 70_000, 2**40), {"key": "x" * 40, "z": ()}))
    assert unpack(data)
    assert {refusal(data[:cut]) for cut in range(len(data))} == {"bad_msgpack"}


def test_an_object_may_hold_32_containers_within_each_other_and_no_more():
    assert unpack(b"\x91" * (MAX_OBJECT_DEPTH - 1) + b"\x90")
    assert unpack(b"\x91" * MAX_OBJECT_DEPTH + b"\x00")
    assert refusal(b"\x91" * MAX_OBJECT_DEPTH + b"\x90") == "too_deep"
    assert refusal(b"\x81\xa1k" * MAX_OBJECT_DEPTH + b"\x80") == "too_deep"


@pytest.mark.parametrize("depth", [1024, 10_000, 1_000_000])
def test_nesting_far_beyond_the_limit_is_refused_without_recursion(depth):
    assert refusal(b"\x91" * depth + b"\x90") == "too_deep"


def test_the_greatest_object_is_one_mebibyte():
    assert unpack(pack("x" * (MAX_OBJECT_BYTES - 5))) == "x" * (MAX_OBJECT_BYTES - 5)
    assert refusal(pack("x" * (MAX_OBJECT_BYTES - 4))) == "too_large"


def test_the_longest_array_has_65536_items():
    most = b"\xdd" + MAX_CONTAINER_ITEMS.to_bytes(4, "big") + bytes(MAX_CONTAINER_ITEMS)
    assert len(unpack(most)) == MAX_CONTAINER_ITEMS
    over = b"\xdd" + (MAX_CONTAINER_ITEMS + 1).to_bytes(4, "big") + bytes(MAX_CONTAINER_ITEMS + 1)
    assert refusal(over) == "too_many_nodes"


def _arrays(values: int, item: bytes) -> bytes:
    """Return an array of arrays with `values` values in all, each `item` one value."""
    inner = (values - 3) // 2
    rest = values - 3 - inner
    parts = [b"\xdc" + count.to_bytes(2, "big") + item * count for count in (inner, rest)]
    return b"\x92" + b"".join(parts)


@pytest.mark.parametrize("item", [b"\x00", b"\x90", b"\x80", b"\xa1a"])
def test_every_value_counts_once_towards_the_most_values_of_an_object(item):
    assert unpack(_arrays(MAX_OBJECT_VALUES, item))
    assert refusal(_arrays(MAX_OBJECT_VALUES + 1, item)) == "too_many_nodes"


def test_keys_and_values_of_maps_count_towards_the_most_values_of_an_object():
    def maps(pairs: int) -> bytes:
        keys = [b"\xa4%04x" % number for number in range(pairs)]
        one = b"\xde" + pairs.to_bytes(2, "big") + b"".join(key + b"\x00" for key in keys)
        return b"\x92" + one + b"\x80"

    assert len(unpack(maps((MAX_OBJECT_VALUES - 3) // 2))[0]) == 49_998
    assert refusal(maps((MAX_OBJECT_VALUES - 3) // 2 + 1)) == "too_many_nodes"


@pytest.mark.parametrize(
    "bomb",
    [
        b"\xdd" + (MAX_OBJECT_BYTES - 5).to_bytes(4, "big") + b"\x90" * (MAX_OBJECT_BYTES - 5),
        b"\x9f" + (b"\xdc\xff\xff" + b"\x90" * 65535) * 15,
        (b"\xdc\xff\xff" + b"\x90" * 65534) * 15 + b"\x90" * 15,
    ],
    ids=["one array", "array of arrays", "arrays left open"],
)
def test_a_bomb_of_small_values_is_refused_within_little_memory(bomb):
    tracemalloc.start()
    try:
        assert refusal(bomb) == "too_many_nodes"
        assert tracemalloc.get_traced_memory()[1] < 24 << 20
    finally:
        tracemalloc.stop()


def test_claiming_a_giant_array_in_five_bytes_costs_no_memory():
    tracemalloc.start()
    try:
        assert refusal(b"\xdd\xff\xff\xff\xff") == "bad_length"
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_keys_that_are_not_text_are_refused_ten_thousand_times_in_the_same_memory():
    refusals = {refusal(b"\x81\x01\x02")}
    tracemalloc.start()
    try:
        for number in range(10_000):
            try:
                unpack(b"\x81" + pack(2**40 + number) + b"\x02")
            except FormatError as error:
                refusals.add(error.code)
        assert refusals == {"bad_key"}
        assert tracemalloc.get_traced_memory()[0] < 64 << 10
    finally:
        tracemalloc.stop()


def test_bad_bytes_leave_nothing_behind_for_the_object_read_next():
    for bad in (b"", b"\x92\x01", b"\xc1", b"\x91" * 2000, b"\x81\x01\x01"):
        refusal(bad)
        assert unpack(b"\x92\x01\xa1a") == (1, "a")


def test_a_value_that_cannot_be_encoded_leaves_nothing_behind_for_the_next():
    for bad in (("text", object()), ("text", "\ud800"), (1, -(2**70))):
        with pytest.raises((TypeError, UnicodeEncodeError, OverflowError)):
            pack(bad)
        assert pack((1, "a")) == b"\x92\x01\xa1a"


def test_shallow_decoding_keeps_the_limits_but_leaves_types_to_the_caller():
    assert encoding.unpack_unchecked(b"\x91\xc0") == (None,)
    with pytest.raises(FormatError, match="nested more than 32 levels deep"):
        encoding.unpack_unchecked(b"\x91" * 5000)
