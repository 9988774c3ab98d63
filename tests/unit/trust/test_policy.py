"""trust.json: read strictly, and the same by every implementation."""

import json
from itertools import count, islice
from typing import Any

import jsonschema_rs
import pytest
from brain_cli import schemas

from brain.errors import BrainError
from brain.trust import ed25519, trust_file
from brain.trust.ed25519 import format_key
from brain.trust.trust_file import KeyRevocation, Policy, PolicyKey
from tests.support.refusals import raises_code

KEYS = [ed25519.public_key(bytes([number]) * 32) for number in range(1, 5)]
A, B, C, D = map(format_key, KEYS)
ID, OTHER = "1" * 64, "2e" * 32

FULL = f"""\
{{
  "format": "brain v1 trust",
  "threshold": 1,
  "keys": [
    {{
      "name": "auditor",
      "key": "{A}",
      "from": "{ID}"
    }},
    {{
      "name": "Ana \\"old\\" López",
      "key": "{B}",
      "until": "{OTHER}",
      "revoked": {{
        "since": "{ID}",
        "reason": "it was stolen"
      }}
    }}
  ]
}}
"""


def parse(text: str) -> Policy:
    return trust_file.parse_policy(text.encode())


def refused(text: str | bytes) -> str:
    content = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    with raises_code("bad_trust", BrainError) as caught:
        trust_file.parse_policy(content)
    assert caught.value.hint
    return caught.value.message


def row(**fields: Any) -> dict[str, Any]:
    made = {"name": "auditor", "key": A, **fields}
    return {field.rstrip("_"): value for field, value in made.items() if value is not None}


def file(*rows: Any, **fields: Any) -> str:
    return json.dumps(
        {
            "format": trust_file.POLICY_FORMAT,
            "threshold": 1,
            "keys": list(rows) or [row()],
            **fields,
        }
    )


def usable(number: int) -> list[bytes]:
    every = (y.to_bytes(32, "little") for y in count(3))
    return list(islice(filter(ed25519.is_usable_key, every), number))


def test_one_key_under_two_names_is_refused():
    assert "two names" in refused(file(row(), row(name="b")))


def test_two_keys_under_one_name_are_refused():
    assert "same name" in refused(file(row(), row(key=B)))


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
    row(name="a\nb"),
    row(key=7),
    row(key=A[:-1]),
    row(key=A.upper()),
    row(key="none:" + A[8:]),
    row(key="ed25519:" + "00" * 32),
    row(key="ed25519:02" + "00" * 31),
    row(key="ed25519:" + (2**255 - 16).to_bytes(32, "little").hex()),
    row(from_="main"),
    row(from_=ID[:-1]),
    row(from_=OTHER.upper()),
    row(from_=7),
    row(from_=int(ID)),
    row(from_=""),
    {**row(), "from": None},
    row(until=[]),
    row(revoked=True),
    row(revoked={}),
    row(revoked={"since": ID}),
    row(revoked={"reason": 7}),
    row(revoked={"reason": "x" * 257}),
    row(revoked={"reason": "é" * 129}),
    row(revoked={"reason": "a\tb"}),
    row(revoked={"reason": "", "since": "ever"}),
    row(revoked={"reason": "", "by": "me"}),
    row(role="root"),
]


def keeps_schema(text: str) -> bool:
    validator = jsonschema_rs.validator_for(schemas.load("trust"))
    return bool(validator.is_valid(json.loads(text)))


def test_the_schema_takes_what_is_taken_and_refuses_what_has_another_shape():
    for text in (FULL, file(), trust_file.add_trusted_key(b"", "a", KEYS[0]).decode()):
        assert keeps_schema(text)
    for bad in BAD_ROWS:
        text = json.dumps(bad, ensure_ascii=False)
        beyond_schema = "ed25519:0" in text or "éé" in text or "(2**" in text or "f0ff" in text
        if not beyond_schema:
            assert not keeps_schema(file(bad)), bad
    for threshold in (0, -1, True, None, "1", [1], {}):
        assert not keeps_schema(file(threshold=threshold))


# Edits


def test_a_new_file_trusts_one_key():
    text = trust_file.add_trusted_key(b"", "Ana López", KEYS[0])
    assert trust_file.parse_policy(text) == Policy(1, (PolicyKey("Ana López", KEYS[0]),))


def test_a_file_is_written_in_one_layout():
    assert trust_file.render_policy(parse(FULL)) == FULL.encode()
    assert trust_file.add_trusted_key(
        json.dumps(json.loads(FULL)).encode(), "c", KEYS[2]
    ).startswith(FULL.encode()[: FULL.index("\n    }\n  ]")])


def test_a_key_is_added_at_the_end():
    text = trust_file.add_trusted_key(FULL.encode(), "third: #1", KEYS[2])
    assert trust_file.parse_policy(text).keys == (
        *parse(FULL).keys,
        PolicyKey("third: #1", KEYS[2]),
    )


def test_a_key_is_revoked_and_keeps_the_ends_of_its_row():
    full = trust_file.add_trusted_key(FULL.encode(), "c", KEYS[2])
    text = trust_file.revoke_trusted_key(full, KEYS[1], 'lost "it"')
    before, after = (trust_file.parse_policy(one).keys[1] for one in (full, text))
    assert after == before._replace(revoked=KeyRevocation(b"", 'lost "it"'))


def test_a_key_is_removed_and_revoked_later():
    two = trust_file.add_trusted_key(trust_file.add_trusted_key(b"", "a", KEYS[0]), "b", KEYS[1])
    (_, former) = trust_file.parse_policy(two).keys
    one = trust_file.remove_trusted_key(two, KEYS[1])
    assert trust_file.parse_policy(one).keys == (PolicyKey("a", KEYS[0]),)
    text = trust_file.revoke_trusted_key(one, KEYS[1], "stolen", former=former)
    assert trust_file.parse_policy(text).keys[1] == former._replace(
        revoked=KeyRevocation(b"", "stolen")
    )
    taken = trust_file.add_trusted_key(one, "b", KEYS[2])
    text = trust_file.revoke_trusted_key(taken, KEYS[1], "stolen", former=former)
    assert trust_file.parse_policy(text).keys[2].name == KEYS[1].hex()


def test_a_key_that_was_revoked_can_be_revoked_since_another_snapshot_or_ever():
    text = trust_file.add_trusted_key(trust_file.add_trusted_key(b"", "a", KEYS[0]), "b", KEYS[1])
    late = trust_file.revoke_trusted_key(text, KEYS[1], "lost", bytes.fromhex(ID))
    early = trust_file.revoke_trusted_key(late, KEYS[1], "lost earlier", bytes.fromhex(OTHER))
    ever = trust_file.revoke_trusted_key(early, KEYS[1], "never ours")
    assert trust_file.parse_policy(early).keys[1].revoked == (bytes.fromhex(OTHER), "lost earlier")
    assert trust_file.parse_policy(ever).keys[1].revoked == (b"", "never ours")


def test_the_most_keys_can_all_be_ended_and_revoked_with_the_longest_reasons():
    """A file that is full must not keep anybody from revoking a stolen key."""
    rows = [
        PolicyKey(f"{number:03}" + '"' * 61, key, bytes(32), b"" if number == 0 else bytes(32))
        for number, key in enumerate(usable(trust_file.MAX_POLICY_KEYS))
    ]
    text = trust_file.render_policy(Policy(1, tuple(rows)))
    for one in rows[1:]:
        text = trust_file.revoke_trusted_key(text, one.key, "\\" * 256, bytes(32))
    found = trust_file.parse_policy(text)
    assert sum(key.revoked is not None for key in found.keys) == trust_file.MAX_POLICY_KEYS - 1
    assert len(text) < trust_file.MAX_POLICY_BYTES
    spaced = json.dumps(json.loads(text), indent=3).encode()
    assert trust_file.parse_policy(spaced) == found


def test_a_threshold_is_set():
    text = trust_file.set_policy_threshold(
        trust_file.add_trusted_key(FULL.encode(), "c", KEYS[2]), 2
    )
    assert trust_file.parse_policy(text).threshold == 2
    short = json.dumps(json.loads(FULL)).encode()
    assert trust_file.set_policy_threshold(short, 1) == short


def test_an_edit_that_makes_no_sense_is_refused():
    two = trust_file.add_trusted_key(trust_file.add_trusted_key(b"", "a", KEYS[0]), "b", KEYS[1])
    gone = trust_file.revoke_trusted_key(two, KEYS[0], "lost")
    for make in (
        lambda: trust_file.add_trusted_key(two, "c", KEYS[0]),
        lambda: trust_file.add_trusted_key(two, "a", KEYS[2]),
        lambda: trust_file.add_trusted_key(two, "", KEYS[2]),
        lambda: trust_file.remove_trusted_key(two, KEYS[2]),
        lambda: trust_file.remove_trusted_key(gone, KEYS[0]),
        lambda: trust_file.remove_trusted_key(gone, KEYS[1]),
        lambda: trust_file.revoke_trusted_key(gone, KEYS[0], "again"),
        lambda: trust_file.revoke_trusted_key(gone, KEYS[0], "less", bytes(32)),
        lambda: trust_file.revoke_trusted_key(gone, KEYS[1], "all of them"),
        lambda: trust_file.revoke_trusted_key(two, KEYS[0], "a\nb"),
        lambda: trust_file.set_policy_threshold(two, 3),
        lambda: trust_file.set_policy_threshold(two, 0),
        lambda: trust_file.set_policy_threshold(gone, 2),
        lambda: trust_file.add_trusted_key(b'{"threshold": 1}', "a", KEYS[0]),
    ):
        with raises_code("bad_trust", BrainError):
            make()


def test_a_file_of_the_greatest_size_is_read():
    text = FULL.ljust(trust_file.MAX_POLICY_BYTES - len(FULL.encode()) + len(FULL))
    assert len(text.encode()) == trust_file.MAX_POLICY_BYTES
    assert parse(text) == parse(FULL)
    assert "bytes" in refused(text + " ")


def test_what_is_wrong_with_a_file_is_named():
    many = [row(name=f"k{n}", key=format_key(key)) for n, key in enumerate(usable(257))]
    for text, message in [
        (file(*many), "keys is not a list of 1 to 256"),
        (json.dumps({"threshold": 1}), "it has no format"),
        (file(zeal=1, expires=1), "it has an unknown field: expires"),
        (file(row(key=None)), "an item of keys has no key"),
        (file("x"), "an item of keys is not an object"),
        (file(row(key="x")), "the key of auditor is not a public key"),
        (file(row(until="x")), "until of auditor is not the id of a snapshot"),
        (file(row(revoked=1)), "revoked of auditor is not an object"),
        (file(row(revoked={})), "revoked of auditor has no reason"),
        (file(keys={}), "keys is not a list"),
        ("[]", "it is not an object"),
        (file(format="x"), 'its format is not "brain v1 trust"'),
        (file(threshold=2), "threshold is not a number from 1 to 1"),
        (file(row(until=ID)), "no key has rights without an end"),
    ]:
        assert message in refused(text)


def test_a_text_is_a_trust_file_or_not():
    assert trust_file.is_policy(FULL.encode())
    assert not trust_file.is_policy(b"{}")


def test_a_key_that_was_revoked_is_not_revoked_again_since_the_same_snapshot():
    text = trust_file.add_trusted_key(trust_file.add_trusted_key(b"", "a", KEYS[0]), "b", KEYS[1])
    gone = trust_file.revoke_trusted_key(text, KEYS[1], "lost", bytes.fromhex(ID))
    with pytest.raises(BrainError, match="b has been revoked already"):
        trust_file.revoke_trusted_key(gone, KEYS[1], "again", bytes.fromhex(ID))
