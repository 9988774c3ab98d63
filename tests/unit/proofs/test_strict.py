"""Proofs come from strangers: what is not exactly a proof is refused, cheaply and with a code."""

import json
import subprocess
import sys

import pytest

from brain.errors import InvalidInput, ProofError
from brain.limits import MAX_MESSAGE_BYTES, MAX_PROOF_BYTES
from brain.objects.snapshot import encode_snapshot
from brain.proofs.proof_json import render_proof
from brain.proofs.proof_types import DescentProof
from brain.proofs.proof_verification import verify_proof_bytes
from tests.support.recorded_snapshots import OTHER_BLOB_ID, json_bytes, record_snapshot
from tests.support.refusals import raises_code

SMALL = record_snapshot()
PATH = SMALL.path_proof("skills/b.md")
TEXT = json.dumps(PATH)


def code_of(data: bytes) -> str:
    with pytest.raises(ProofError) as caught:
        verify_proof_bytes(data)
    return caught.value.code


def test_the_proof_that_is_altered_here_holds():
    assert verify_proof_bytes(TEXT.encode()).path == "skills/b.md"


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "bad_json"),
        (b"{", "bad_json"),
        (TEXT.encode() + b"{}", "bad_json"),
        (b"\xef\xbb\xbf" + TEXT.encode(), "bad_json"),
        (TEXT.encode("utf-16"), "bad_json"),
        (TEXT.encode()[:-1] + b'"\xff"}', "bad_json"),
        (b"9" * 5000, "bad_json"),
        (b"[" * 100_000, "too_deep"),
        (b'{"a":' * 100_000, "too_deep"),
        (b" " * (MAX_PROOF_BYTES + 1), "too_large"),
        (TEXT.replace('"size": 11', '"size": 11, "size": 11').encode(), "duplicate_key"),
        (TEXT.replace("{", '{"format": "brain v1 proof", ', 1).encode(), "duplicate_key"),
        (TEXT.replace('"size": 11', '"size": 11.0').encode(), "bad_field"),
        (TEXT.replace('"size": 11', '"size": 1.1e1').encode(), "bad_field"),
        (TEXT.replace('"size": 11', '"size": NaN').encode(), "bad_field"),
        (TEXT.replace('"size": 11', '"size": -Infinity').encode(), "bad_field"),
        (b"[]", "bad_field"),
        (b"null", "bad_field"),
        (b"{}", "unsupported_version"),
    ],
)
def test_what_is_no_json_document_of_a_proof_is_refused(data, code):
    assert code_of(data) == code


def test_the_message_shows_foreign_text_escaped_and_cut():
    with pytest.raises(ProofError) as caught:
        verify_proof_bytes(json_bytes({**PATH, "\x1b[2J": 1}))
    assert caught.value.message.isprintable()
    with pytest.raises(ProofError) as caught:
        verify_proof_bytes(json_bytes({**PATH, "path": "\x1b[2J\n" * 50_000}))
    assert caught.value.message.isprintable() and len(caught.value.message) < 1000


def test_bytes_that_are_no_snapshot_are_refused_even_under_their_own_id():
    from brain.objects.snapshot import snapshot_id
    from brain.proofs.json_fields import to_base64

    for data, code in [
        (b"", "bad_snapshot"),
        (b"\x90", "bad_snapshot"),
        (encode_snapshot(SMALL.snapshot) + b"\0", "bad_snapshot"),
        (b"\x91\x02", "bad_snapshot"),
    ]:
        given = {**PATH, "encoded": to_base64(data), "snapshot": snapshot_id(data).hex()}
        assert code_of(json_bytes(given)) == code


def test_a_proof_larger_than_is_read_is_not_made():
    long = encode_snapshot(SMALL.snapshot._replace(message="x" * MAX_MESSAGE_BYTES))
    with raises_code("too_large", InvalidInput):
        render_proof(DescentProof(OTHER_BLOB_ID, OTHER_BLOB_ID, OTHER_BLOB_ID, [long] * 64))


def test_depth_is_limited_whatever_python_would_let_a_parser_do():
    code = (
        "import sys; sys.setrecursionlimit(10**6)\n"
        "from brain import ProofError, check_proof\n"
        "for text in (b'[' * 10**5, b'{\"a\":' * 10**5, b'[\"]' + b'[' * 10**5):\n"
        "    try: check_proof(text)\n"
        "    except ProofError as error: print(error.code)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["too_deep"] * 3


def test_brackets_in_text_are_not_depth():
    for text in ("[" * 200, '\\"' + "[{" * 100, "[" * 100 + "]" * 300):
        document = json.dumps({**PATH, "path": text, "climb": [{}] * 40}).encode()
        assert code_of(document) == "bad_field"
    assert code_of(json.dumps({**PATH, "climb": [[]] * 40}).encode()) == "bad_field"
