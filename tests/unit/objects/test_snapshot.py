from typing import Any

import pytest
from blake3 import blake3

from brain.digest import blob_id
from brain.encoding import pack
from brain.errors import FormatError
from brain.objects import operation
from brain.objects.snapshot import (
    MAX_TIME_MS,
    Jump,
    Snapshot,
    decode_snapshot,
    encode_snapshot,
    snapshot_id,
)

BUNDLE = blob_id(b"bundle")
GENESIS = Snapshot(
    1, b"", BUNDLE, (), 0, Jump(0, b""), "me", 1, operation.genesis_operation(bytes(16)), "", b""
)
BRAIN = snapshot_id(encode_snapshot(GENESIS))
LATER = Snapshot(
    1,
    BRAIN,
    BUNDLE,
    (BRAIN,),
    1,
    Jump(1, BRAIN),
    "me",
    2,
    operation.snapshot_operation(),
    "why",
    BUNDLE,
)
MARKS: dict[str, Any] = {
    "brain": b"",
    "parents": (),
    "generation": 0,
    "jump": Jump(0, b""),
    "operation": operation.genesis_operation(bytes(16)),
}


def refusal(value: Any) -> FormatError:
    with pytest.raises(FormatError) as caught:
        decode_snapshot(pack(value))
    return caught.value


@pytest.mark.parametrize("made", [GENESIS, LATER])
def test_a_snapshot_is_read_back_as_it_was_written(made):
    assert decode_snapshot(encode_snapshot(made)) == made
    assert made.is_genesis == (made is GENESIS)


def test_the_id_is_the_hash_of_the_encoding_in_a_domain_of_its_own():
    data = encode_snapshot(LATER)
    assert snapshot_id(data) == blake3(data, derive_key_context="brain v1 snapshot").digest()


@pytest.mark.parametrize("version", [0, 2, 2**64 - 1])
def test_a_later_format_is_named_and_never_read_at_best_effort(version):
    for value in (LATER._replace(format=version), (version,), (version, "anything")):
        error = refusal(value)
        assert error.code == "unsupported_version"
        assert error.hint


@pytest.mark.parametrize("field", MARKS)
def test_a_genesis_differs_from_a_later_snapshot_in_all_its_marks_at_once(field):
    assert refusal(LATER._replace(**{field: MARKS[field]})).code == "bad_object"
    value = getattr(LATER, field)
    assert refusal(GENESIS._replace(**{field: value})).code == "bad_object"


@pytest.mark.parametrize(
    "jump", [Jump(0, BRAIN), Jump(1, b""), Jump(2, BRAIN), Jump(1, BRAIN[:31]), (1,), (1, BRAIN, 0)]
)
def test_a_jump_has_a_depth_up_to_the_generation_and_a_target(jump):
    assert refusal(LATER._replace(jump=jump)).code == "bad_object"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("brain", BRAIN[:31]),
        ("brain", BRAIN.hex()),
        ("bundle", b""),
        ("bundle", BUNDLE + b"x"),
        ("parents", BRAIN),
        ("parents", (b"",)),
        ("parents", (BRAIN, BRAIN)),
        ("parents", tuple(blob_id(bytes([n])) for n in range(17))),
        ("generation", 2**48 + 1),
        ("generation", "1"),
        ("author", b"me"),
        ("author", "é" * 512 + "x"),
        ("time", MAX_TIME_MS + 1),
        ("time", "now"),
        ("operation", "snapshot"),
        ("operation", ()),
        ("operation", ("upsert", "slug")),
        ("message", b""),
        ("message", "é" * 32_768 + "x"),
        ("receipt", b"x"),
        ("receipt", ""),
    ],
)
def test_a_field_of_another_type_or_out_of_range_is_refused(field, value):
    assert refusal(LATER._replace(**{field: value})).code == "bad_object"


@pytest.mark.parametrize("value", [(), {}, 1, "", b"", tuple(LATER)[:10], (*LATER, 0), ("1",)])
def test_another_shape_is_no_snapshot(value):
    assert refusal(value).code == "bad_object"


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (LATER._replace(time=-1), "type_not_allowed"),
        (LATER._replace(time=1.5), "float_not_allowed"),  # type: ignore[arg-type]
        (LATER._replace(receipt=None), "type_not_allowed"),  # type: ignore[arg-type]
        (LATER._replace(format=True), "type_not_allowed"),
        (LATER._replace(operation=("graft", 1.5)), "float_not_allowed"),
        (LATER._replace(operation=("delete", "a", 1.5)), "float_not_allowed"),
        (LATER._replace(jump=Jump(-1, bytes(32))), "type_not_allowed"),
    ],
)
def test_values_that_no_object_holds_are_refused_by_their_own_code(value, code):
    assert refusal(value).code == code


def test_limits_are_met_exactly():
    ids = tuple(blob_id(bytes([n])) for n in range(16))
    for made in (
        LATER._replace(
            parents=ids,
            generation=2**48,
            jump=Jump(2**48, BRAIN),
            operation=operation.import_operation("git", "skills"),
        ),
        LATER._replace(author="é" * 512, message="é" * 32_768, time=MAX_TIME_MS),
        LATER._replace(author="", message="", time=0, receipt=b""),
    ):
        assert decode_snapshot(encode_snapshot(made)) == made
