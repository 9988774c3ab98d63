"""The trust file, changed by the library: one snapshot each, signed where it is recorded."""

import json
from collections.abc import Iterator
from itertools import count, islice

import pytest

from brain import Brain
from brain.errors import BrainError, InvalidInput, NotFound
from brain.trust import ed25519, trust_file
from brain.trust.ed25519 import format_key
from tests.support.brains import write_file
from tests.support.refusals import raises_code
from tests.support.signed_lineages import KEY_SEEDS, PUBLIC_KEYS, trust_file_text

NAMES = [format_key(key) for key in PUBLIC_KEYS]


def test_the_first_trusted_key_makes_the_trust_file(brain):
    assert brain.trust.show() == (brain.head, 0, [], [])
    done = brain.trust.add(NAMES[0], "ada")
    assert (done.changed, done.signature, done.snapshot) == (True, None, brain.head)
    assert (brain.root / "trust.json").read_bytes() == trust_file.add_trusted_key(
        b"", "ada", PUBLIC_KEYS[0]
    )
    assert [(key.name, key.key) for key in brain.trust.show().keys] == [("ada", NAMES[0])]
    assert brain.status().clean
    newest = next(brain.history.log())
    assert (newest.message, newest.operation["kind"]) == ("Trust ada", "snapshot")
    assert brain.history.list_operations(1)[0].kind == "trust"


def test_a_change_is_signed_in_the_transaction_that_records_it(brain):
    with Brain.open(brain.root, sign_with=lambda: KEY_SEEDS[0]) as signing:
        done = signing.trust.add(NAMES[0], "ada")
    (row,) = brain.signatures.list()
    assert row == (NAMES[0], done.snapshot, done.signature)


def test_a_key_that_cannot_be_had_records_nothing(brain):
    def locked_away() -> bytes:
        raise InvalidInput("no", code="passphrase_needed")

    before = brain.head
    with Brain.open(brain.root, sign_with=locked_away) as signing:
        with pytest.raises(InvalidInput):
            signing.skills.upsert("x", "y\n")
        assert signing.head == before
    assert not (brain.root / "skills/x").exists()


def test_an_edit_by_hand_is_recorded_first(brain):
    brain.trust.add(NAMES[0], "ada")
    text = (brain.root / "trust.json").read_text()
    write_file(brain, "trust.json", text.replace("ada", "Ada"))
    write_file(brain, "memory/other.md", "not of this\n")
    brain.trust.add(NAMES[1], "bob")
    assert [key.name for key in brain.trust.show().keys] == ["Ada", "bob"]
    assert [one.message for one in brain.history.log(limit=2)] == [
        "Trust bob",
        "Record manual edits",
    ]
    assert brain.status().added == ["memory/other.md"]


def test_an_edit_by_hand_that_is_no_trust_file_stops_a_change(brain):
    brain.trust.add(NAMES[0], "ada")
    before = brain.head
    write_file(brain, "trust.json", "keys: everybody\n")
    with raises_code("bad_trust", InvalidInput) as caught:
        brain.trust.add(NAMES[1], "bob")
    assert brain.head == before
    assert "brain key repair" in caught.value.hint
    assert (brain.root / "trust.json").read_text() == "keys: everybody\n"


def test_a_change_that_says_what_is_said_already_records_nothing(brain):
    brain.trust.add(NAMES[0], "ada")
    before = brain.head
    assert brain.trust.set_threshold(1).changed is False and brain.head == before


def test_a_change_can_be_undone(brain):
    brain.trust.add(NAMES[0], "ada")
    brain.undo()
    assert brain.trust.show().keys == [] and not (brain.root / "trust.json").exists()


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda brain: brain.trust.add("ed25519:00", "x"), "bad_key"),
        (lambda brain: brain.trust.add(f"ed25519:02{'00' * 31}", "no point"), "bad_key"),
        (lambda brain: brain.trust.add(f"ed25519:{'00' * 32}", "small order"), "bad_key"),
        (lambda brain: brain.trust.add(f"ed25519:{'ff' * 31}7f", "not reduced"), "bad_key"),
        (lambda brain: brain.trust.add(NAMES[0], "again"), "bad_trust"),
        (lambda brain: brain.trust.add(NAMES[1], "ada"), "bad_trust"),
        (lambda brain: brain.trust.add(NAMES[1], "a\nb"), "bad_trust"),
        (lambda brain: brain.trust.set_threshold(0), "bad_trust"),
        (lambda brain: brain.trust.set_threshold(2), "bad_trust"),
        (lambda brain: brain.trust.revoke(NAMES[0], "the only one"), "bad_trust"),
        (lambda brain: brain.trust.revoke(NAMES[3], "unknown"), "bad_trust"),
        (lambda brain: brain.trust.retire(NAMES[0]), "bad_trust"),
        (lambda brain: brain.signatures.sign("ffffffff", key=KEY_SEEDS[0]), "no_revision"),
    ],
)
def test_a_change_that_cannot_be_is_refused_and_records_nothing(brain, change, code):
    brain.trust.add(NAMES[0], "ada")
    before = brain.head
    assert callable(change)
    with raises_code(code, BrainError):
        change(brain)
    assert brain.head == before


def test_without_a_trust_file_there_is_nothing_to_revoke(brain):
    for change in (
        lambda: brain.trust.revoke(NAMES[0], "why"),
        lambda: brain.trust.retire(NAMES[0]),
        lambda: brain.trust.set_threshold(1),
    ):
        with pytest.raises(NotFound, match="no trust file"):
            change()


def test_a_merge_of_two_trust_files_is_one_by_lines(brain):
    brain.trust.add(NAMES[0], "ada")
    brain.branches.create("idea")
    brain.branches.switch("idea")
    brain.trust.add(NAMES[1], "bob")
    brain.branches.switch("main")
    brain.skills.upsert("x", "y\n")
    brain.merge.start("idea")
    assert [key.name for key in brain.trust.show().keys] == ["ada", "bob"]


def test_a_merge_that_would_break_the_trust_file_is_a_conflict(brain):
    """Each side revokes the key that the other keeps: by lines, nobody would be left."""
    for number in range(2):
        brain.trust.add(NAMES[number], f"key {number}")
    brain.branches.create("idea")
    brain.trust.revoke(NAMES[0], "lost")
    brain.branches.switch("idea")
    brain.trust.revoke(NAMES[1], "lost")
    before = brain.head
    (found,) = brain.merge.start("main").conflicts
    assert (found.path, found.reason) == ("trust.json", "broken_trust") and brain.head == before
    brain.merge.resolve(["trust.json"], "theirs")
    brain.merge.resume()
    assert (brain.root / "trust.json").read_text().count("revoked") == 1


def test_a_key_that_was_removed_is_listed_as_a_former_one_and_may_come_back(brain):
    for number in range(2):
        brain.trust.add(NAMES[number], f"key {number}")
    brain.trust.retire(NAMES[0])
    now = brain.trust.show()
    assert [[one.key for one in rows] for rows in (now.keys, now.former)] == [
        [NAMES[1]],
        [NAMES[0]],
    ]
    assert len(brain.trust.add(NAMES[0], "again").keys) == 2 and brain.trust.show().former == []


def test_signing_twice_changes_nothing_and_a_wrong_signature_is_replaced(brain):
    assert brain.signatures.sign(key=KEY_SEEDS[0]) == brain.signatures.sign(key=KEY_SEEDS[0])
    assert len(brain.signatures.list()) == 1
    with brain._session.store.transaction() as tx:
        tx.put_signature(bytes.fromhex(brain.head), PUBLIC_KEYS[1], bytes(64))
    made = brain.signatures.sign(key=KEY_SEEDS[1])
    assert made in brain.signatures.list() and made.signature != bytes(64).hex()
    assert brain.verify().ok


@pytest.mark.parametrize("kind", ["text", "link", "size"])
def test_a_broken_trust_file_is_repaired_by_those_whom_the_last_good_one_entitles(brain, kind):
    brain._session.sign_with = lambda: KEY_SEEDS[0]
    brain.trust.add(NAMES[0], "ada")
    good = (brain.root / "trust.json").read_bytes()
    (brain.root / "trust.json").unlink()
    if kind == "link":
        (brain.root / "trust.json").symlink_to("memory")
    else:
        write_file(brain, "trust.json", "keys: everybody\n" if kind == "text" else " " * 600_000)
    brain.snapshot()
    brain.skills.upsert("x", "y\n")
    assert not brain.verify(roots=[NAMES[0]]).ok
    done = brain.trust.repair()
    assert done.changed and done.signature and [key.name for key in done.keys] == ["ada"]
    assert (brain.root / "trust.json").read_bytes() == good
    assert not (brain.root / "trust.json").is_symlink() and brain.status().clean
    found = brain.verify(roots=[NAMES[0]])
    assert found.ok and [one.code for one in found.findings] == ["bad_trust"]
    before = brain.head
    assert brain.trust.repair().changed is False and brain.head == before


def test_a_repair_by_somebody_else_does_not_count(brain):
    brain._session.sign_with = lambda: KEY_SEEDS[0]
    brain.trust.add(NAMES[0], "ada")
    write_file(brain, "trust.json", "[]")
    brain.snapshot()
    brain._session.sign_with = lambda: KEY_SEEDS[1]
    brain.trust.repair()
    found = brain.verify()
    assert not found.ok and {"unknown_key"} < {one.code for one in found.findings}


def test_a_first_trust_file_that_is_broken_has_no_good_one_before(brain):
    write_file(brain, "trust.json", "[]")
    brain.snapshot()
    before = brain.head
    with raises_code("no_trust", NotFound):
        brain.trust.repair()
    assert brain.head == before
    (brain.root / "trust.json").unlink()
    brain.snapshot()
    brain._session.sign_with = lambda: KEY_SEEDS[0]
    brain.trust.add(NAMES[0], "ada")
    assert brain.verify(roots=[NAMES[0]]).ok


def test_a_key_that_was_revoked_is_not_trusted_again(brain):
    brain.trust.add(NAMES[0], "ada")
    brain.trust.add(NAMES[1], "bob")
    brain.trust.revoke(NAMES[1], "stolen")
    write_file(brain, "trust.json", trust_file.add_trusted_key(b"", "ada", PUBLIC_KEYS[0]).decode())
    brain.snapshot()
    before = brain.head
    with raises_code("revoked_key", InvalidInput):
        brain.trust.add(NAMES[1], "bob")
    assert brain.head == before


def test_a_key_that_was_revoked_is_listed_as_that_though_the_file_forgot_it(brain):
    brain.trust.add(NAMES[0], "ada")
    brain.trust.add(NAMES[1], "bob")
    brain.trust.revoke(NAMES[1], "stolen")
    write_file(brain, "trust.json", trust_file_text(0, 1).decode())
    brain.snapshot()
    assert [key.revoked for key in brain.trust.show().keys] == [None, (None, "stolen")]
    assert [key.revoked for key in brain.trust.show("@~2").keys] == [None, None]


def test_a_signature_that_does_not_fit_is_not_shown_as_one(brain):
    brain.signatures.sign(key=KEY_SEEDS[0])
    with brain._session.store.transaction() as tx:
        tx.put_signature(bytes.fromhex(brain.head), PUBLIC_KEYS[1], bytes(64))
    assert [one.key for one in brain.history.show().signatures] == [NAMES[0]]


def test_a_stolen_key_among_the_most_there_can_be_is_revoked(brain):
    keys = [
        f"ed25519:{key.hex()}" for key in islice(filter(ed25519.is_usable_key, _numbers()), 255)
    ]
    rows = [{"name": f"k{number}", "key": key} for number, key in enumerate([NAMES[0], *keys])]
    document = {"format": "brain v1 trust", "threshold": 1, "keys": rows}
    write_file(brain, "trust.json", json.dumps(document))
    brain.snapshot()
    for key in keys[:3]:
        assert brain.trust.revoke(key, "é" * 128).changed
    assert sum(key.revoked is not None for key in brain.trust.show().keys) == 3


def _numbers() -> Iterator[bytes]:
    return (y.to_bytes(32, "little") for y in count(3))


def test_the_snapshots_between_which_a_key_has_its_rights_are_shown(brain):
    head = brain.head
    here = bytes.fromhex(head)
    text = trust_file_text(0, 1, 2, begin={1: here}, end={2: here})
    write_file(brain, "trust.json", text.decode())
    brain.snapshot()
    shown = [(key.from_, key.until) for key in brain.trust.show().keys]
    assert shown == [(None, None), (head, None), (None, head)]
