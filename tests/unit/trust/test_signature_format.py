"""What is signed, and how signatures and keys are written down."""

import os
import signal

import pytest

from brain.errors import BrainError
from brain.trust import ed25519, rights
from brain.trust.rights import SnapshotSigners
from brain.util import process_pool
from tests.support.refusals import raises_code
from tests.support.snapshot_graphs import SnapshotGraph

SEEDS = [bytes([number]) * 32 for number in range(1, 4)]
KEYS = [ed25519.public_key(seed) for seed in SEEDS]
HERE = b"s" * 32
TEXT = ed25519.format_key(KEYS[0])


def test_the_message_is_a_context_the_brain_and_the_snapshot():
    dag = SnapshotGraph()
    later = dag.add(0)
    brain = dag.ids[0]
    for here in (brain, later):
        assert (
            ed25519.snapshot_message(here, dag.known[here]) == b"brain v1 signature" + brain + here
        )


def test_a_message_about_something_else_than_two_ids_is_a_mistake():
    with pytest.raises(ValueError, match="32 bytes"):
        ed25519.signature_message(b"", HERE)


def test_a_key_is_written_as_text_and_read_back():
    for key in KEYS:
        assert ed25519.parse_key(ed25519.format_key(key)) == key


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
        ed25519.parse_key(text)
    is_text_of_one = text[8:] in ("00" * 32, "ff" * 32)
    assert ("64 hex digits" in str(caught.value.hint)) != is_text_of_one


SEED, OTHER = bytes([1]) * 32, bytes([2]) * 32
KEY, SECOND = ed25519.public_key(SEED), ed25519.public_key(OTHER)
BRAIN = b"b" * 32
WRONG = {0, 511, 512, 700, 1299}


def rows(count: int) -> list[tuple[bytes, bytes, bytes]]:
    """Return signed ids, of which those in WRONG are signed for another brain."""
    out = []
    for number in range(count):
        here = number.to_bytes(32, "big")
        brain = bytes(32) if number in WRONG else BRAIN
        out.append((here, KEY, ed25519.sign_message(SEED, ed25519.signature_message(brain, here))))
    return out


def told(given: list[tuple[bytes, bytes, bytes]]) -> dict[bytes, SnapshotSigners]:
    with rights.verify_in_background(BRAIN, given) as finish:
        return dict(finish())


@pytest.mark.parametrize("processors", [1, 2, 4])
@pytest.mark.parametrize("count", [0, 1, 512, 513, 1300])
def test_who_signed_is_told_however_many_help(monkeypatch, processors, count):
    monkeypatch.setattr(process_pool, "processor_count", lambda: processors)
    given = rows(count)
    assert told(given) == {
        here: SnapshotSigners((), (KEY,)) if number in WRONG else SnapshotSigners((KEY,), ())
        for number, (here, _, _) in enumerate(given)
    }


def test_the_work_of_a_child_that_is_killed_is_done_again(monkeypatch):
    parent, honest = os.getpid(), ed25519.verify_signature

    def deadly(key: bytes, message: bytes, signature: bytes) -> bool:
        if os.getpid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return honest(key, message, signature)

    monkeypatch.setattr(process_pool, "processor_count", lambda: 3)
    monkeypatch.setattr(ed25519, "verify_signature", deadly)
    found = told(rows(1300))
    assert {number for number, here in enumerate(found) if found[here].invalid} == WRONG


def test_each_key_is_told_once_and_good_beside_bad():
    (here, _, signature), *_ = rows(2)[1:]
    second = ed25519.sign_message(OTHER, ed25519.signature_message(BRAIN, here))
    given = [(here, KEY, signature), (here, SECOND, second), (here, KEY, signature)]
    given += [(here, KEY, bytes(64)), (here, KEY, b"")]
    assert told(given) == {here: SnapshotSigners((KEY, SECOND), (KEY,))}
