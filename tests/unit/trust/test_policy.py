"""trust.yaml: read strictly, edited without losing what people wrote."""

from __future__ import annotations

from typing import Any

import brain._schemas
import jsonschema_rs
import pytest
import yaml

from brain.errors import BrainError
from brain.skills.strict_yaml import load_mapping
from brain.trust import ed25519, edit, policy
from brain.trust.policy import Policy, Revocation, TrustedKey
from brain.trust.statement import key_text

KEYS = [ed25519.public_key(bytes([number]) * 32) for number in range(1, 5)]
A, B, C, D = map(key_text, KEYS)
ID, OTHER = "1" * 64, "2e" * 32

FULL = f"""\
# Rights of the auditor.
threshold: 1 # of two

keys:
  # the one in use
  - name: auditor
    key: {A}   # on the token
    from: {ID}
  # retired
  - key: {B}
    name: "old: auditor"
    until: '{OTHER}'
    revoked:
      reason: it was stolen
      since: {ID}
# the end
"""


def parse(text: str) -> Policy:
    return policy.parse(text.encode())


def refused(text: str | bytes) -> str:
    content = text if isinstance(text, bytes) else text.encode()
    with pytest.raises(BrainError) as caught:
        policy.parse(content)
    assert caught.value.code == "bad_trust" and caught.value.hint
    return caught.value.message


def row(**fields: Any) -> dict[str, Any]:
    made = {"name": "auditor", "key": A, **fields}
    return {field.rstrip("_"): value for field, value in made.items() if value is not None}


def file(*rows: Any, **fields: Any) -> str:
    return yaml.safe_dump({"threshold": 1, "keys": list(rows) or [row()], **fields})


def test_a_full_file_is_read() -> None:
    revoked = Revocation(bytes.fromhex(ID), "it was stolen")
    assert parse(FULL) == Policy(
        1,
        (
            TrustedKey("auditor", KEYS[0], begin=bytes.fromhex(ID)),
            TrustedKey("old: auditor", KEYS[1], end=bytes.fromhex(OTHER), revoked=revoked),
        ),
    )


BAD_THRESHOLDS = [0, -1, 2, 10**30, True, False, None, "1", 1.0, [1], {}]


@pytest.mark.parametrize("threshold", BAD_THRESHOLDS, ids=repr)
def test_a_threshold_that_is_no_number_of_usable_keys_is_refused(threshold: Any) -> None:
    refused(file(threshold=threshold))


@pytest.mark.parametrize(
    "text", ["0x1", "0o1", "1_0", "+1", "01", "1e0", "0b1", "1:0", "٣", "!!int 1"]
)
def test_a_threshold_in_another_notation_is_refused(text: str) -> None:
    refused(file().replace("threshold: 1", f"threshold: {text}"))


@pytest.mark.parametrize("gone", [{"until": ID}, {"revoked": {"reason": ""}}])
def test_a_key_that_may_not_go_on_does_not_count_for_the_threshold(gone: dict[str, Any]) -> None:
    both = [row(), row(name="b", key=B)]
    assert parse(file(*both, threshold=2)).threshold == 2
    lame = [row(), row(name="b", key=B, **gone)]
    refused(file(*lame, threshold=2))
    assert parse(file(*lame)).threshold == 1
    refused(file(row(**gone)))


def test_one_key_under_two_names_is_refused() -> None:
    assert "two names" in refused(file(row(), row(name="b")))


@pytest.mark.parametrize("name", ["auditor", "AUDITOR", "ａuditor"])
def test_two_keys_under_one_name_are_refused(name: str) -> None:
    assert "same name" in refused(file(row(), row(name=name, key=B)))


BAD_ROWS: list[Any] = [
    "text",
    None,
    [],
    {},
    row(name=None),
    row(key=None),
    row(name=""),
    row(name=7),
    row(name="x" * 65),
    row(name=" a"),
    row(name="a\nb"),
    row(name="a\u202eb"),
    row(key=7),
    row(key=A[:-1]),
    row(key=A.upper()),
    row(key="none:" + A[8:]),
    row(key="ed25519:" + "00" * 32),
    row(from_="main"),
    row(from_=ID[:-1]),
    row(from_=OTHER.upper()),
    row(from_=7),
    row(from_=""),
    row(until=[]),
    row(revoked=True),
    row(revoked={}),
    row(revoked={"since": ID}),
    row(revoked={"reason": 7}),
    row(revoked={"reason": "x" * 257}),
    row(revoked={"reason": "a\tb"}),
    row(revoked={"reason": "", "since": "ever"}),
    row(revoked={"reason": "", "by": "me"}),
    row(role="root"),
]


@pytest.mark.parametrize("bad", BAD_ROWS, ids=repr)
def test_a_row_that_is_not_one_is_refused(bad: Any) -> None:
    refused(file(bad, row(name="z", key=D)))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "threshold: 1",
        f"keys: [{{name: a, key: '{A}'}}]",
        "threshold: 1\nkeys: []",
        "threshold: 1\nkeys: {}",
        "threshold: 1\nkeys: text",
        file(expires=1),
        file() + "threshold: 1\n",
        file().replace("threshold: 1", "threshold: &a 1"),
        file().replace("name: auditor", "name: !!str auditor"),
        file().replace("name: auditor", "name: auditor\n  <<: {from: x}"),
        file() + "---\n" + file(),
        file() + "#" * (64 << 10),
        "[" * 1000,
        b"threshold: \xff".decode("latin-1"),
        file(*[row(name=f"k{n}") for n in range(257)]),
    ],
)
def test_a_file_that_has_two_readings_or_no_end_is_refused(text: str) -> None:
    refused(text)


def test_a_file_that_is_not_utf_8_is_refused() -> None:
    refused(file().encode().replace(b"auditor", b"\xff"))


def test_an_id_of_decimal_digits_is_an_id() -> None:
    text = f"threshold: 1\nkeys:\n- name: a\n  key: {A}\n  from: {'12' * 32}\n"
    assert parse(text).keys[0].begin == bytes.fromhex("12" * 32)


def keeps_schema(text: str) -> bool:
    validator = jsonschema_rs.validator_for(brain._schemas.load("trust"))
    return bool(validator.is_valid(load_mapping(text)))


def test_the_schema_takes_what_is_taken_and_refuses_what_has_another_shape() -> None:
    for text in (FULL, file(), edit.first("a", KEYS[0]).decode()):
        assert keeps_schema(text)
    names = ("x" * 64, "a\nb", " a", "a\u202eb")
    for bad in BAD_ROWS:
        told_by_schema = isinstance(bad, dict) and bad.get("name") not in names[1:]
        small_order = isinstance(bad, dict) and str(bad.get("key", "")).endswith("00" * 32)
        odd_reason = isinstance(bad, dict) and bad.get("revoked") == {"reason": "a\tb"}
        if told_by_schema and not small_order and not odd_reason:
            assert not keeps_schema(file(bad)), bad
    for threshold in (0, -1, True, None, "1", [1], {}):
        assert not keeps_schema(file(threshold=threshold))


# Edits


def test_a_new_file_trusts_one_key() -> None:
    text = edit.first("Ana López", KEYS[0])
    assert policy.parse(text) == Policy(1, (TrustedKey("Ana López", KEYS[0]),))
    assert text.startswith(b"#")


def lines_of(text: bytes) -> list[str]:
    return text.decode().splitlines()


def keeps_lines(text: bytes) -> bool:
    """Tell whether the lines of FULL stand in `text` in their order, others between them."""
    left = iter(lines_of(text))
    return all(line in left for line in FULL.splitlines())


def test_a_key_is_added_and_every_line_stays() -> None:
    text = edit.add_key(FULL.encode(), "third: #1", KEYS[2])
    assert policy.parse(text).keys == (*parse(FULL).keys, TrustedKey("third: #1", KEYS[2]))
    assert keeps_lines(text)
    assert len(lines_of(text)) == len(FULL.splitlines()) + 2


def test_a_key_is_ended_revoked_and_every_line_stays() -> None:
    ended = edit.end_key(edit.add_key(FULL.encode(), "c", KEYS[2]), KEYS[0], bytes.fromhex(OTHER))
    text = edit.revoke_key(ended, KEYS[0], 'lost "it"', bytes.fromhex(ID))
    found = policy.parse(text).keys[0]
    assert found.end == bytes.fromhex(OTHER)
    assert found.revoked == Revocation(bytes.fromhex(ID), 'lost "it"')
    assert keeps_lines(text)


def test_a_key_is_revoked_since_ever() -> None:
    text = edit.revoke_key(edit.add_key(FULL.encode(), "c", KEYS[2]), KEYS[0], "lost")
    assert policy.parse(text).keys[0].revoked == Revocation(b"", "lost")


def test_the_threshold_is_set_in_its_line() -> None:
    text = edit.set_threshold(edit.add_key(FULL.encode(), "c", KEYS[2]), 2)
    assert policy.parse(text).threshold == 2
    assert "threshold: 2 # of two" in lines_of(text)


@pytest.mark.parametrize(
    "text",
    [
        f"{{threshold: 1, keys: [{{name: a, key: '{A}'}}]}}",
        f"threshold: 1\nkeys: [{{name: a, key: '{A}'}}]",
        f"keys:\n- name: a\n  key: {A}\nthreshold: 1",
        f"keys:\r\n- name: a\r\n  key: {A}\r\nthreshold: 1\r\n",
        f"threshold: 1\nkeys:\n    - key: '{A}'\n      name: >-\n        a\n",
    ],
    ids=["braces", "brackets", "threshold last", "CRLF", "folded"],
)
def test_an_unusual_file_is_edited_to_say_what_it_has_to(text: str) -> None:
    content = text.encode()
    first = TrustedKey("a", KEYS[0])
    second = TrustedKey("b", KEYS[1])
    two = edit.add_key(content, "b", KEYS[1])
    assert policy.parse(two) == Policy(1, (first, second))
    assert policy.parse(edit.set_threshold(two, 2)) == Policy(2, (first, second))
    ended = first._replace(end=bytes(32))
    assert policy.parse(edit.end_key(two, KEYS[0], bytes(32))) == Policy(1, (ended, second))
    gone = first._replace(revoked=Revocation(b"", ""))
    assert policy.parse(edit.revoke_key(two, KEYS[0], "")) == Policy(1, (gone, second))


def test_an_edit_that_makes_no_sense_is_refused() -> None:
    two = edit.add_key(edit.first("a", KEYS[0]), "b", KEYS[1])
    once = edit.end_key(two, KEYS[0], bytes(32))
    gone = edit.revoke_key(two, KEYS[0], "lost")
    for make in (
        lambda: edit.add_key(two, "c", KEYS[0]),
        lambda: edit.add_key(two, "A", KEYS[2]),
        lambda: edit.add_key(two, "", KEYS[2]),
        lambda: edit.end_key(two, KEYS[2], bytes(32)),
        lambda: edit.end_key(once, KEYS[0], bytes(32)),
        lambda: edit.end_key(once, KEYS[1], bytes(32)),
        lambda: edit.revoke_key(gone, KEYS[0], "again"),
        lambda: edit.revoke_key(gone, KEYS[1], "all of them"),
        lambda: edit.revoke_key(two, KEYS[0], "a\nb"),
        lambda: edit.set_threshold(two, 3),
        lambda: edit.set_threshold(two, 0),
        lambda: edit.set_threshold(once, 2),
        lambda: edit.add_key(b"threshold: 1", "a", KEYS[0]),
    ):
        with pytest.raises(BrainError) as caught:
            make()
        assert caught.value.code == "bad_trust"
