"""The text of receipts: canonical, strict, bounded."""

import pytest

from brain import limits
from brain.digest import blob_id
from brain.errors import FormatError
from brain.receipts import (
    FileWrite,
    Receipt,
    RunStep,
    TextExcerpt,
    TranscriptSource,
    decode_receipt,
    encode_receipt,
    keep_text,
)
from tests.support.refusals import raises_code

HERE, THERE = b"\x11" * 32, b"\x22" * 32
FULL = Receipt(
    run="5f2c",
    task="Audit the vault",
    agent="auditor",
    model="m-1",
    started=1_700_000_000_000,
    ended=1_700_000_060_000,
    snapshot_before=HERE,
    bundle_before=THERE,
    bundle_after=HERE,
    part=1,
    previous=THERE,
    steps=(
        RunStep("llm", 1, "m-1", input=keep_text("Go"), output=keep_text("Well…"), tokens_in=3),
        RunStep("tool", 2, "bash", input=keep_text("ls"), error="exit 1", took=12),
        RunStep("skill_load", 3, "oracle", "2"),
        RunStep(
            "skill_create", 4, "oracle", "3", "2", writes=(FileWrite("skills/oracle.md", HERE),)
        ),
        RunStep("memory_write", 5, "MEMORY.md", writes=(FileWrite("MEMORY.md", b""),), omitted=2),
    ),
    outcome="success",
    reason="All is well",
    source=TranscriptSource("otel", HERE, 7, 1),
)


def refused(data: bytes) -> str:
    with pytest.raises(FormatError) as caught:
        decode_receipt(data)
    return caught.value.code


def test_a_receipt_is_read_as_it_was_written():
    assert decode_receipt(encode_receipt(FULL)) == FULL


def test_what_has_its_default_is_left_out():
    assert encode_receipt(Receipt("r")) == b'{"format":"brain v1 receipt","run":"r"}'


def test_what_was_loaded_and_made_is_told_by_the_steps():
    assert (FULL.skills_loaded, FULL.skills_created) == (["oracle@2"], ["oracle@3"])
    assert FULL.tools == {"bash": 1}


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "bad_json"),
        (b"[]", "bad_field"),
        (b'{"format":"brain v1 receipt","run":"r","run":"r"}', "duplicate_key"),
        (b'{"run":"r","format":"brain v1 receipt"}', "not_canonical"),
        (b'{"format":"brain v1 receipt","run":"\\u0072"}', "not_canonical"),
        (b'{"format":"brain v1 receipt","run":"r"}\n', "not_canonical"),
        (b'{"format":"brain v1 receipt","run":"\\ud800"}', "bad_field"),
        (b'{"format":"brain v1 receipt","run":"\xff"}', "bad_json"),
        (b"[" * 100_000, "too_deep"),
        (b'{"run":' + b"9" * 5000 + b"}", "bad_json"),
        (b"[" + b"0," * 4_000_000 + b"0]", "too_many"),
    ],
)
def test_other_texts_are_refused(data, code):
    assert refused(data) == code


def test_a_text_too_long_is_refused_unread():
    assert refused(b"[" * (limits.MAX_RECEIPT_BYTES + 1)) == "too_large"


def test_steps_past_the_limit_are_refused():
    with raises_code("too_many", FormatError):
        encode_receipt(Receipt("r", steps=(RunStep("llm"),) * (limits.MAX_RECEIPT_STEPS + 1)))


def test_an_excerpt_that_is_not_its_text_is_refused():
    for text in (
        TextExcerpt(HERE, 2, "ab"),
        TextExcerpt(blob_id(b"ab"), 3, "ab"),
        TextExcerpt(blob_id(b"ab"), 1, "ab"),
    ):
        with pytest.raises(FormatError):
            encode_receipt(Receipt("r", steps=(RunStep("tool", input=text),)))


def test_a_long_text_keeps_its_two_ends_and_the_digest_of_the_whole():
    text = "begin " + "é" * 5000 + " end"
    excerpt = keep_text(text)
    assert excerpt is not None
    assert (excerpt.digest, excerpt.size) == (blob_id(text.encode()), len(text.encode()))
    assert excerpt.excerpt.startswith("begin é") and excerpt.excerpt.endswith("é end")
    assert len(excerpt.excerpt.encode()) <= limits.MAX_EXCERPT_BYTES
    assert (
        decode_receipt(encode_receipt(Receipt("r", steps=(RunStep("tool", input=excerpt),))))
        .steps[0]
        .input
        == excerpt
    )


def test_halves_of_characters_do_not_get_in():
    excerpt = keep_text("a\ud800b\ud83d\ude00")
    assert excerpt is not None and excerpt.excerpt == "a\ufffdb😀"
    assert keep_text("") is None
