"""The text of receipts: canonical, strict, bounded."""

from brain import limits
from brain.digest import blob_id
from brain.errors import FormatError
from brain.receipts import (
    Receipt,
    RunStep,
    decode_receipt,
    encode_receipt,
    keep_text,
)
from tests.support.refusals import raises_code


def test_steps_past_the_limit_are_refused():
    with raises_code("too_many", FormatError):
        encode_receipt(Receipt("r", steps=(RunStep("llm"),) * (limits.MAX_RECEIPT_STEPS + 1)))


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
