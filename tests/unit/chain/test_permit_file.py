"""Files of permits: all that is not exactly a permit is refused."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from brain.chain.evm.permit_file import (
    CommitPermit,
    OpenPermit,
    Permit,
    PermitFile,
    SignerPermit,
    parse_permit,
)
from brain.errors import InvalidInput
from tests.support.error_codes import error_code

ADDRESS = "0x" + "ab" * 20
WORDS = [bytes([number]) * 32 for number in range(3)]
COMMIT = CommitPermit(
    brain_id=WORDS[0], snapshot=WORDS[1], parent=WORDS[2], seq=7, epoch=3, deadline=2**63
)
PERMITS: tuple[Permit, ...] = (
    COMMIT,
    OpenPermit(owner=ADDRESS, salt=WORDS[0], snapshot=WORDS[1], deadline=0),
    SignerPermit(brain_id=WORDS[0], signer=ADDRESS, epoch=0, deadline=2**64 - 1),
)
SIGNED = PermitFile(COMMIT, 31337, ADDRESS, b"\x12" * 65)


@pytest.mark.parametrize("permit", PERMITS, ids=lambda permit: type(permit).__name__)
@pytest.mark.parametrize("signature", [b"", b"\x12" * 65, b"\x12" * 4096], ids=len)
def test_a_permit_is_read_as_it_was_written(permit, signature):
    file = PermitFile(permit, 31337, ADDRESS, signature)
    assert parse_permit(file.document()) == file
    assert ("signature" in file.document()) == bool(signature)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("more", 1),
        ("types", None),
        ("types", {}),
        ("types", {"Commit": []}),
        ("types.More", []),
        ("primaryType", "SetSigner"),
        ("primaryType", "Permit"),
        ("primaryType", ["Commit"]),
        ("domain", []),
        ("domain.name", "Registry"),
        ("domain.version", "1"),
        ("domain.version", 2),
        ("domain.salt", "0x" + "00" * 32),
        ("domain.chainId", 1.0),
        ("domain.chainId", True),
        ("domain.verifyingContract", "0x12"),
        ("message", None),
        ("message.more", 1),
        ("message.snapshot", "12"),
        ("message.snapshot", None),
        ("message.snapshot", "12" * 32),
        ("message.deadline", 2**64),
        ("message.deadline", -1),
        ("message.deadline", "1e3"),
        ("message.deadline", str(2**64)),
        ("message.seq", None),
        ("signature", "12"),
        ("signature", "0x"),
        ("signature", "0x123"),
        ("signature", "0x" + "12" * 4097),
        ("signature", None),
    ],
)
def test_what_is_not_a_permit_is_refused(place, value):
    document: Any = copy.deepcopy(SIGNED.document())
    *outer, name = place.split(".")
    inner = document
    for each in outer:
        inner = inner[each]
    inner[name] = value
    assert error_code(parse_permit, document) == "bad_permit"


JUNK: tuple[object, ...] = (
    *(None, True, False, 0, -1, 1.5, 2**64, 10**4000, "", "0x", "0x" + "ab" * 20, "0x" + "ab" * 32),
    *("\0", "\ud800", "9" * 5000, [], {}, [[]], {"a": []}, [None], "Open", "SetSigner"),
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict | list):
        rows = value.items() if isinstance(value, dict) else enumerate(value)
        for name, inner in rows:
            yield from _places(inner, (*path, name))


@pytest.mark.parametrize("permit", PERMITS, ids=lambda permit: type(permit).__name__)
def test_junk_in_any_place_is_refused_or_changes_only_that_place(permit):
    file = PermitFile(permit, 31337, ADDRESS, b"\x12" * 65)
    for *outer, name in filter(None, _places(file.document())):
        for junk in JUNK:
            document: Any = copy.deepcopy(file.document())
            inner = document
            for each in outer:
                inner = inner[each]
            inner[name] = junk
            try:
                found = parse_permit(document)
            except InvalidInput as error:
                assert error.code == "bad_permit" and error.message.isprintable()
            else:
                assert found.document() == document


@pytest.mark.parametrize("missing", ["types", "primaryType", "domain", "message"])
def test_a_permit_without_a_member_is_refused(missing):
    document = SIGNED.document()
    del document[missing]
    assert error_code(parse_permit, document) == "bad_permit"


def test_numbers_and_letters_are_read_as_wallets_write_them():
    document = SIGNED.document()
    del document["types"]["EIP712Domain"]
    document["domain"] |= {"chainId": "31337", "verifyingContract": "0x" + "AB" * 20}
    document["message"]["seq"] = "7"
    document["signature"] = "0x" + "12" * 65
    assert parse_permit(document) == SIGNED
