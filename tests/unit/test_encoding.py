import subprocess
import tracemalloc

import pytest

from brain import encoding
from brain.digest import blob_id, domain_hash, parse_digest
from brain.encoding import MAX_OBJECT_BYTES, MAX_OBJECT_VALUES, pack, unpack
from brain.errors import FormatError, InvalidInput
from tests.support.refusals import raises_code


def refusal(data: bytes) -> str:
    with pytest.raises(FormatError) as caught:
        unpack(data)
    return caught.value.code


@pytest.mark.parametrize("number", range(128))
def test_no_ext_type_is_taken(number):
    assert refusal(bytes([0xD4, number, 0])) == "ext_not_allowed"


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
        assert refusal(bomb) in ("too_many_nodes", "bad_msgpack")
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


def test_a_blob_id_is_what_b3sum_prints(tmp_path):
    content = bytes(range(256)) * 1000
    (tmp_path / "file").write_bytes(content)
    command = ["b3sum", "file"]
    out = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True, text=True)
    assert out.stdout.split() == [blob_id(content).hex(), "file"]


def test_the_empty_blob_has_the_published_hash():
    published = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"
    assert blob_id(b"").hex() == published


@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview])
def test_a_blob_may_come_in_any_buffer(wrap):
    assert blob_id(wrap(b"text")) == blob_id(b"text")


def test_a_domain_gives_the_same_digest_every_time_it_is_used():
    digest = domain_hash("brain v1 snapshot")
    first = digest(b"one")
    digest(b"two")
    assert digest(b"one") == first


def test_a_digest_is_read_back_from_its_hex():
    digest = blob_id(b"text")
    assert parse_digest(digest.hex()) == digest


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ab",
        "0" * 63,
        "0" * 65,
        "0" * 66,
        "A" * 64,
        "g" * 64,
        "0" * 63 + " ",
        " " + "0" * 63,
        "0x" + "0" * 62,
        "٠" * 64,
        "0" * 32 + "\n" + "0" * 31,
        "0" * 1_000_000,
    ],
)
def test_other_text_is_no_digest(text):
    with raises_code("bad_id", InvalidInput) as caught:
        parse_digest(text)
    assert len(caught.value.message) < 200
