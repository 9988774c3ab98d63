"""Signed notes, verifier keys, checkpoints and cosignatures, by the examples of others."""

import pytest

from brain.chain.tlog import note
from brain.chain.tlog.merkle import EMPTY_ROOT, leaf_hash
from brain.chain.tlog.note import (
    ALGORITHM_COSIGNATURE,
    ALGORITHM_ED25519,
    Checkpoint,
    SignatureLine,
    SignedNote,
    VerifierKey,
    decode_base64,
    encode_base64,
)
from brain.errors import InvalidInput, ProofError
from brain.trust import ed25519
from tests.support import tlog_ledgers
from tests.support.error_codes import error_code
from tests.support.refusals import raises_code
from tests.support.tlog_ledgers import WITNESS, WITNESS_SEED

# The example of c2sp.org/signed-note.
C2SP_KEY = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k"
C2SP_NOTE = (
    "This is an example message.\n\n"
    "— example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFX"
    "mRKuwHjG1Yu72IneyaQM=\n"
)

# The keys and signatures of golang.org/x/mod/sumdb/note, note_test.go.
PETER = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
PETER_SEED = decode_base64("AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz")
ENOCH = "EnochRoot+af0cfe78+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop"
TEXT = """\
If you think cryptography is the answer to your problem,
then you don't know what your problem is.
"""
BY_PETER = (
    "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXg"
    "KvqfqdngotpRZb6KE6RyyBwJnAM=\n"
)
BY_ENOCH = (
    "— EnochRoot rwz+eBzmZa0SO3NbfRGzPCpDckykFXSdeX+MNtCOXm2/5n2tiOHp+vAF1aGrQ5ovTG01"
    "oOTGwnWLox33WWd1RvMc+QQ=\n"
)
BOTH = f"{TEXT}\n{BY_PETER}{BY_ENOCH}"


def refused(text: str) -> str:
    return error_code(note.parse_note, text, kind=ProofError)


def test_the_example_of_the_specification_is_verified():
    key = note.parse_verifier_key(C2SP_KEY)
    assert (key.name, key.algorithm, key.id.hex()) == (
        "example.com/foo",
        ALGORITHM_ED25519,
        "530d903a",
    )
    assert str(key) == C2SP_KEY
    read = note.parse_note(C2SP_NOTE)
    assert read.text == "This is an example message.\n"
    note.verify_note(read, key)
    assert str(read) == C2SP_NOTE


@pytest.mark.parametrize("key", [PETER, ENOCH])
def test_the_signatures_of_the_checksum_database_are_verified(key):
    note.verify_note(note.parse_note(BOTH), note.parse_verifier_key(key))


def test_signing_makes_the_published_signature():
    assert PETER_SEED is not None
    line = tlog_ledgers.sign_note(TEXT, note.parse_verifier_key(PETER), PETER_SEED[1:])
    assert str(line) == BY_PETER
    assert str(SignedNote(TEXT, (line,))) == f"{TEXT}\n{BY_PETER}"


def test_no_part_of_a_verifier_key_does_for_the_whole():
    spoiled = [PETER[:end] for end in range(len(PETER))]
    spoiled += [PETER[start:] for start in range(1, len(PETER))]
    spoiled += [
        PETER[:place] + chr(ord(PETER[place]) + 1) + PETER[place + 1 :]
        for place in range(len(PETER))
    ]
    # of another length, and of an unknown algorithm, with ids that fit
    spoiled.append("PeterNeumann+cc469956+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TWBADKEY==")
    spoiled.append("PeterNeumann+173116ae+ZRpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW")
    spoiled += [PETER.replace("c7", "C7"), PETER + "\n", " " + PETER, PETER.replace("+A", "+\nA")]
    for text in spoiled:
        with raises_code("bad_key", InvalidInput):
            note.parse_verifier_key(text)


def test_a_key_of_small_order_is_refused():
    weak = VerifierKey("weak", ALGORITHM_ED25519, bytes(32))
    with pytest.raises(InvalidInput):
        note.parse_verifier_key(str(weak))


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        f"{TEXT}\n",
        f"{TEXT}\n{BY_PETER[:-1]}",
        f"\x01{TEXT}\n{BY_PETER}",
        f"\udcff{TEXT}\n{BY_PETER}",
        f"{TEXT}\r\n{BY_PETER}",
        f"{TEXT}\n{BY_PETER}Unexpected line.\n",
        f"{TEXT}\n{BY_PETER.replace('PeterNeumann', 'Bad Name')}",
        f"{TEXT}\n{BY_PETER.replace('PeterNeumann', 'Bad Name')}",
        f"{TEXT}\n{BY_PETER.replace('PeterNeumann', 'a+b')}",
        f"{TEXT}\n{BY_PETER.replace('PeterNeumann ', '')}",
        f"{TEXT}\n{BY_PETER.replace('—', '-')}",
        f"{TEXT}\n{BY_PETER.replace('=', '')}",
        f"{TEXT}\n{BY_PETER.replace('nAM=', 'nAN=')}",  # other bits that are not used
        f"{TEXT}\n— PeterNeumann x08gow==\n",
        f"{TEXT}\n— PeterNeumann\n",
        "",
        "\n\n",
    ],
)
def test_a_malformed_note_is_refused(text):
    assert refused(text) == "bad_note"


def test_a_note_has_limits():
    assert refused("x" * (note.MAX_NOTE_BYTES + 1)) == "too_large"
    assert refused("é" * (note.MAX_NOTE_BYTES // 2) + "\n\n") == "too_large"
    assert refused(f"{TEXT}\n{BY_PETER * 101}") == "too_large"
    assert len(note.parse_note(f"{TEXT}\n{BY_PETER * 100}").lines) == 100
    long = f"— {'n' * 256} {encode_base64(bytes(5))}\n"
    assert note.parse_note(f"\n\n{long}").lines == (SignatureLine("n" * 256, bytes(4), bytes(1)),)
    assert refused(f"\n\n{long.replace('nn', 'nnn', 1)}") == "bad_note"


def test_the_text_ends_at_the_last_empty_line():
    assert note.parse_note(f"a\n\n{BY_ENOCH}\n{BY_PETER}").text == f"a\n\n{BY_ENOCH}"


def test_a_checkpoint_is_read_as_others_write_it():
    # golang.org/x/mod/sumdb/tlog, note_test.go
    text = "go.sum database tree\n123456789012\nTszzRgjTG6xce+z2AG31kAXYKBgQVtCSCE40HmuwBb0=\n"
    read = note.parse_checkpoint(text)
    assert read == ("go.sum database tree", 123456789012, leaf_hash(b"hello world"))
    assert read.text == text
    assert note.parse_checkpoint(text + "an extension\n") == read


@pytest.mark.parametrize(
    "text",
    [
        "",
        "o\n1\n",
        f"\n1\n{encode_base64(bytes(32))}\n",
        f"o\n01\n{encode_base64(bytes(32))}\n",
        f"o\n-1\n{encode_base64(bytes(32))}\n",
        f"o\n+1\n{encode_base64(bytes(32))}\n",
        f"o\n1 \n{encode_base64(bytes(32))}\n",
        f"o\n١\n{encode_base64(bytes(32))}\n",
        f"o\n0x1\n{encode_base64(bytes(32))}\n",
        f"o\n\n{encode_base64(bytes(32))}\n",
        f"o\n{1 << 63}\n{encode_base64(bytes(32))}\n",
        f"o\n{'9' * 5000}\n{encode_base64(bytes(32))}\n",
        f"o\n1\n{encode_base64(bytes(31))}\n",
        f"o\n1\n{encode_base64(bytes(33))}\n",
        f"o\n1\n{encode_base64(bytes(32))[:-1]}\n",
        f"o\n1\n{encode_base64(bytes(32))}\n\n",
        f"o\n1\n{encode_base64(bytes(32))}\n\nextension\n",
        f"o\n0\n{encode_base64(bytes(32))}\n",
    ],
)
def test_a_malformed_checkpoint_is_refused(text):
    with raises_code("bad_checkpoint", ProofError):
        note.parse_checkpoint(text)


def test_a_checkpoint_of_an_empty_log_and_of_the_largest():
    for one in (Checkpoint("o", 0, EMPTY_ROOT), Checkpoint("o", (1 << 63) - 1, bytes(32))):
        assert note.parse_checkpoint(one.text) == one


def test_a_cosignature_signs_what_the_specification_says():
    # The message of c2sp.org/tlog-cosignature, "Ed25519 signed message".
    text = "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n"
    line = tlog_ledgers.sign_cosignature(text, WITNESS, WITNESS_SEED, 1679315147)
    message = f"cosignature/v1\ntime 1679315147\n{text}".encode()
    assert line.signature[:8] == (1679315147).to_bytes(8, "big")
    assert ed25519.verify_signature(WITNESS.key, message, line.signature[8:])
    assert note.verify_cosignature(SignedNote(text, (line,)), WITNESS) == (
        WITNESS,
        1679315147,
    )


def test_the_kind_of_a_key_is_part_of_its_id():
    plain = VerifierKey(WITNESS.name, ALGORITHM_ED25519, WITNESS.key)
    assert plain.id != WITNESS.id
    assert note.parse_verifier_key(str(WITNESS)).algorithm == ALGORITHM_COSIGNATURE
    line = tlog_ledgers.sign_cosignature("x\n", WITNESS, WITNESS_SEED, 1)
    assert SignedNote("x\n", (line,)).find_signature(plain) is None
    assert note.verify_cosignature(SignedNote("x\n", ()), WITNESS) is None


@pytest.mark.parametrize("change", ["time", "text", "short", "long", "late"])
def test_a_changed_cosignature_is_refused(change):
    line = tlog_ledgers.sign_cosignature(
        "x\n", WITNESS, WITNESS_SEED, (1 << 63) + 1 if change == "late" else 7
    )
    signature = {
        "time": (8).to_bytes(8, "big") + line.signature[8:],
        "short": line.signature[:-1],
        "long": line.signature + b"\0",
    }.get(change, line.signature)
    result = SignedNote("y\n" if change == "text" else "x\n", (line._replace(signature=signature),))
    with raises_code("bad_signature", ProofError):
        note.verify_cosignature(result, WITNESS)
