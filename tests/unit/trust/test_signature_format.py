"""What is signed, and how signatures and keys are written down."""

import pytest

from brain.errors import BrainError
from brain.trust import ed25519, signature_format
from tests.support.refusals import raises_code
from tests.support.snapshot_graphs import SnapshotGraph

SEEDS = [bytes([number]) * 32 for number in range(1, 4)]
KEYS = [ed25519.public_key(seed) for seed in SEEDS]
HERE = b"s" * 32
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
