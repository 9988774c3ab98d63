"""What is signed, and how signatures and keys are written down."""

from itertools import count, islice
from typing import Any

import pytest

from brain.encoding import pack
from brain.errors import BrainError, FormatError
from brain.trust import ed25519, signature_format
from brain.trust.signature_format import KeySignature
from tests.support.conformance.signature_records import decode_signatures, encode_signatures
from tests.support.refusals import raises_code
from tests.support.snapshot_graphs import SnapshotGraph

SEEDS = [bytes([number]) * 32 for number in range(1, 4)]
KEYS = [ed25519.public_key(seed) for seed in SEEDS]
HERE = b"s" * 32
GOOD = KeySignature(KEYS[0], bytes(64))
TEXT = signature_format.format_key(KEYS[0])


def test_the_message_is_a_context_the_brain_and_the_snapshot():
    dag = SnapshotGraph()
    later = dag.add(0)
    brain = dag.ids[0]
    for here in (brain, later):
        assert (
            signature_format.snapshot_message(here, dag.known[here])
            == b"brain v1 signature" + brain + here
        )


def test_a_signature_fits_neither_another_snapshot_nor_another_brain():
    dag = SnapshotGraph()
    first, second = dag.add(0), dag.add(1)
    key, signature = signature_format.sign_snapshot(SEEDS[0], first, dag.known[first])
    brain = dag.ids[0]
    assert ed25519.verify_signature(
        key, signature_format.signature_message(brain, first), signature
    )
    assert not ed25519.verify_signature(
        key, signature_format.signature_message(brain, second), signature
    )
    assert not ed25519.verify_signature(
        key, signature_format.signature_message(second, first), signature
    )
    assert not ed25519.verify_signature(
        key, signature_format.signature_message(first, brain), signature
    )


def test_a_message_about_something_else_than_two_ids_is_a_mistake():
    with pytest.raises(ValueError, match="32 bytes"):
        signature_format.signature_message(b"", HERE)


def test_a_key_is_written_as_text_and_read_back():
    for key in KEYS:
        assert signature_format.parse_key(signature_format.format_key(key)) == key


@pytest.mark.parametrize(
    "text",
    [
        "",
        TEXT[:-1],
        TEXT + "0",
        TEXT + "\n",
        " " + TEXT,
        TEXT.upper(),
        TEXT.replace("ed25519", "none"),
        TEXT.replace("ed25519:", ""),
        "ed25519:" + "00" * 32,
        "ed25519:" + "ff" * 32,
        "ed25519:" + "٣" * 64,
    ],
)
def test_a_text_that_names_no_usable_key_is_refused(text):
    with raises_code("bad_key", BrainError) as caught:
        signature_format.parse_key(text)
    is_text_of_one = text[8:] in ("00" * 32, "ff" * 32)
    assert ("64 hex digits" in str(caught.value.hint)) != is_text_of_one


def test_signatures_are_encoded_by_key_and_read_back():
    given = [KeySignature(key, bytes([n]) * 64) for n, key in enumerate(KEYS)]
    data = encode_signatures(HERE, reversed(given))
    assert decode_signatures(data) == (HERE, sorted(given))
    assert encode_signatures(HERE, given) == data


def record(*given: Any) -> bytes:
    return pack((HERE, tuple(given)))


NOT_RECORDS = {
    "nothing": pack(()),
    "no signatures": pack((HERE,)),
    "an empty list": record(),
    "a short id": pack((HERE[:31], (GOOD,))),
    "an id that is text": pack((HERE.hex(), (GOOD,))),
    "a third field": pack((HERE, (GOOD,), "none")),
    "an empty pair": record(()),
    "63 bytes": record((KEYS[0], bytes(63))),
    "65 bytes": record((KEYS[0], bytes(65))),
    "a signature that is text": record((KEYS[0], "x" * 64)),
    "a short key": record((KEYS[0][:31], bytes(64))),
    "a key of small order": record((bytes(32), bytes(64))),
    "an algorithm": record(("none", KEYS[0], bytes(64))),
    "a key twice": record(GOOD, GOOD),
    "keys out of order": record(*sorted([GOOD, KeySignature(KEYS[1], bytes(64))], reverse=True)),
}


@pytest.mark.parametrize("name", NOT_RECORDS)
def test_a_record_that_is_not_one_is_refused(name):
    with raises_code("bad_signature", FormatError):
        decode_signatures(NOT_RECORDS[name])


def test_bytes_too_few_or_too_many_are_refused():
    data = record(GOOD)
    for wrong in (data[:-1], data + b"\0", b""):
        with pytest.raises(FormatError):
            decode_signatures(wrong)


def test_more_signatures_than_there_may_be_are_refused():
    keys = filter(ed25519.is_usable_key, (y.to_bytes(32, "little") for y in count(3)))
    made = sorted((key, bytes(64)) for key in islice(keys, 257))
    assert len(decode_signatures(record(*made[:256]))[1]) == 256
    with pytest.raises(FormatError):
        decode_signatures(record(*made))
