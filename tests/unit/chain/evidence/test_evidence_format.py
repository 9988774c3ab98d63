"""The format of evidence is parsed strictly: other input is refused with a code, at low cost."""

import json

import pytest

from brain.chain.evidence import evidence_format
from brain.chain.evidence.evidence_format import parse_evidence
from brain.chain.evidence.evidence_model import EvidenceDocument
from brain.errors import ProofError
from brain.limits import MAX_EVIDENCE_BYTES
from tests.support.chain import synthetic_evidence
from tests.support.error_codes import error_code
from tests.support.json_mutations import replace_at

BRAIN, LOG = (synthetic_evidence.make_all_evidence()[name] for name in ("brain", "log"))
TEXT = json.dumps(BRAIN)


def code_of(data: bytes) -> str:
    return error_code(parse_evidence, data, kind=ProofError)


def test_what_is_altered_here_is_read():
    assert isinstance(parse_evidence(TEXT.encode()), EvidenceDocument)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "bad_json"),
        (TEXT.encode() + b"{}", "bad_json"),
        (b"\xef\xbb\xbf" + TEXT.encode(), "bad_json"),
        (TEXT.encode("utf-16"), "bad_json"),
        (b"[" * 100_000, "too_deep"),
        (b'{"proof":' * 100_000, "too_deep"),
        (b" " * (MAX_EVIDENCE_BYTES + 1), "too_large"),
        (TEXT.replace('"seq": 2', '"seq": 2, "seq": 2').encode(), "duplicate_key"),
        (TEXT.replace('"seq": 2', '"seq": 2.0').encode(), "bad_field"),
        (TEXT.replace('"seq": 2', '"seq": NaN').encode(), "bad_field"),
        (TEXT.replace('"seq": 2', '"seq": true').encode(), "bad_field"),
        (b"[]", "bad_field"),
        (b"null", "bad_field"),
        (b"{}", "unsupported_version"),
        (TEXT.replace("brain v1 evidence", "brain v2 evidence").encode(), "unsupported_version"),
        (TEXT.replace("brain v1 evidence", "brain v1 proof").encode(), "unsupported_version"),
        (TEXT.replace("brain v1 proof", "brain v2 proof").encode(), "unsupported_version"),
        (json.dumps(BRAIN["proof"]).encode(), "unsupported_version"),
    ],
)
def test_what_is_no_json_document_of_evidence_is_refused(data, code):
    assert code_of(data) == code


HEX = "0x" + "ab" * 32
CHAIN = ("chain",)
SLOT = (*CHAIN, "slots", 0)


@pytest.mark.parametrize(
    ("way", "value"),
    [
        (("claim",), "else"),
        (("brain",), HEX),
        (("committed", "seq"), 0),
        (("committed", "seq"), 1 << 63),
        (("committed", "parent"), ""),
        ((*CHAIN, "chain_id"), 0),
        ((*CHAIN, "chain_id"), "1"),
        ((*CHAIN, "contract"), "0x" + "ab" * 19),
        ((*CHAIN, "contract"), "0x" + "AB" * 20),
        ((*CHAIN, "contract"), "ab" * 21),
        ((*CHAIN, "contract"), "0X" + "ab" * 20),
        ((*CHAIN, "contract"), "0x" + "ab" * 20 + "\n"),
        ((*CHAIN, "kind"), "anchor"),
        ((*CHAIN, "kind"), ["brain"]),
        ((*CHAIN, "kind"), {}),
        ((*CHAIN, "header"), "0x"),
        ((*CHAIN, "header"), "0xabc"),
        ((*CHAIN, "header"), "0x" + "00" * (16 * 1024 + 1)),
        ((*CHAIN, "account"), {}),
        ((*CHAIN, "account"), ["0x"]),
        ((*CHAIN, "account"), [HEX] * 65),
        ((*CHAIN, "account"), ["0x" + "00" * 1025]),
        ((*SLOT, "value"), "0x1"),
        ((*SLOT, "value"), HEX + "00"),
        ((*SLOT, "slot"), 0),
        ((*SLOT, "proof"), None),
        ((*CHAIN, "slots"), []),
        (("proof",), {}),
    ],
)
def test_a_field_that_is_not_what_its_place_wants_is_refused(way, value):
    data = json.dumps(replace_at(BRAIN, way, value)).encode()
    assert code_of(data) in ("bad_field", "unsupported_version")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("index", -1),
        ("index", 1 << 63),
        ("entry", "0x00"),
        ("entry", ""),
        ("entry", "00" * 257),
        ("path", ["00" * 32] * 64),
        ("path", [HEX]),
        ("key", ""),
        ("key", "a" * 1025),
        ("checkpoint", "a" * (evidence_format.MAX_CHECKPOINT_CHARS + 1)),
        ("checkpoint", 1),
    ],
)
def test_a_field_of_a_log_that_is_not_what_its_place_wants_is_refused(field, value):
    assert code_of(json.dumps(replace_at(LOG, ("log", field), value)).encode()) == "bad_field"
