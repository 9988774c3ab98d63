"""The trust file, changed by the library: one snapshot each, signed where it is recorded."""

from __future__ import annotations

import pytest

from brain import Brain
from brain.errors import BrainError, InvalidInput, NotFound, StoreError
from brain.trust.statement import key_text
from tests.signing import KEYS, SEEDS

from .conftest import write

NAMES = [key_text(key) for key in KEYS]


def test_the_first_trusted_key_makes_the_trust_file(brain: Brain) -> None:
    assert brain.trusted() == (brain.head, 0, [])
    done = brain.trust_key(NAMES[0], "ada")
    assert (done.changed, done.signature, done.snapshot) == (True, None, brain.head)
    assert (brain.root / "trust.yaml").read_text().startswith("# Who may sign")
    assert [(key.name, key.key) for key in brain.trusted().keys] == [("ada", NAMES[0])]
    assert brain.status().clean
    newest = next(brain.log())
    assert (newest.message, newest.operation["kind"]) == ("Trust ada", "snapshot")
    assert brain.operations(1)[0].kind == "trust"


def test_a_change_is_signed_in_the_transaction_that_records_it(brain: Brain) -> None:
    with Brain.open(brain.root, sign_with=lambda: SEEDS[0]) as signing:
        done = signing.trust_key(NAMES[0], "ada")
    (row,) = brain.signatures()
    assert row == (NAMES[0], done.snapshot, done.signature)


def test_a_key_that_cannot_be_had_records_nothing(brain: Brain) -> None:
    def locked_away() -> bytes:
        raise InvalidInput("no", code="passphrase_needed")

    before = brain.head
    with Brain.open(brain.root, sign_with=locked_away) as signing:
        with pytest.raises(InvalidInput):
            signing.upsert_skill("x", "y\n")
        assert signing.head == before
    assert not (brain.root / "skills/x").exists()


def test_an_edit_by_hand_is_recorded_first_and_its_comments_stay(brain: Brain) -> None:
    brain.trust_key(NAMES[0], "ada")
    text = (brain.root / "trust.yaml").read_text()
    write(brain, "trust.yaml", text + "# by hand\n")
    write(brain, "memory/other.md", "not of this\n")
    brain.trust_key(NAMES[1], "bob")
    assert "# by hand" in (brain.root / "trust.yaml").read_text()
    assert [one.message for one in brain.log(limit=2)] == [
        "Trust bob",
        "Record changes made by hand",
    ]
    assert brain.status().added == ["memory/other.md"]


def test_an_edit_by_hand_that_is_no_trust_file_stops_a_change(brain: Brain) -> None:
    brain.trust_key(NAMES[0], "ada")
    before = brain.head
    write(brain, "trust.yaml", "keys: everybody\n")
    with pytest.raises(InvalidInput) as caught:
        brain.trust_key(NAMES[1], "bob")
    assert caught.value.code == "bad_trust" and brain.head == before
    assert (brain.root / "trust.yaml").read_text() == "keys: everybody\n"


def test_a_change_that_says_what_is_said_already_records_nothing(brain: Brain) -> None:
    brain.trust_key(NAMES[0], "ada")
    before = brain.head
    assert brain.set_threshold(1).changed is False and brain.head == before


def test_a_change_can_be_undone(brain: Brain) -> None:
    brain.trust_key(NAMES[0], "ada")
    brain.undo()
    assert brain.trusted().keys == [] and not (brain.root / "trust.yaml").exists()


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda brain: brain.trust_key("ed25519:00", "x"), "bad_key"),
        (lambda brain: brain.trust_key(NAMES[0], "again"), "bad_trust"),
        (lambda brain: brain.trust_key(NAMES[1], "ada"), "bad_trust"),
        (lambda brain: brain.trust_key(NAMES[1], "a\nb"), "bad_trust"),
        (lambda brain: brain.set_threshold(0), "bad_trust"),
        (lambda brain: brain.set_threshold(2), "bad_trust"),
        (lambda brain: brain.revoke_key(NAMES[0], "the only one"), "bad_trust"),
        (lambda brain: brain.revoke_key(NAMES[3], "unknown"), "bad_trust"),
        (lambda brain: brain.end_key(NAMES[0]), "bad_trust"),
        (lambda brain: brain.end_key(NAMES[0], "no revision"), "bad_revision"),
        (lambda brain: brain.sign("ffffffff", key=SEEDS[0]), "no_revision"),
    ],
)
def test_a_change_that_cannot_be_is_refused_and_records_nothing(
    brain: Brain, change: object, code: str
) -> None:
    brain.trust_key(NAMES[0], "ada")
    before = brain.head
    assert callable(change)
    with pytest.raises(BrainError) as caught:
        change(brain)
    assert caught.value.code == code and brain.head == before


def test_without_a_trust_file_there_is_nothing_to_revoke(brain: Brain) -> None:
    for change in (
        lambda: brain.revoke_key(NAMES[0], "why"),
        lambda: brain.end_key(NAMES[0]),
        lambda: brain.set_threshold(1),
    ):
        with pytest.raises(NotFound, match="no trust file"):
            change()


def test_a_merge_of_two_trust_files_is_one_by_lines(brain: Brain) -> None:
    brain.trust_key(NAMES[0], "ada")
    brain.create_branch("idea")
    brain.switch("idea")
    brain.trust_key(NAMES[1], "bob")
    brain.switch("main")
    brain.upsert_skill("x", "y\n")
    brain.merge("idea")
    assert [key.name for key in brain.trusted().keys] == ["ada", "bob"]


def test_signing_twice_changes_nothing_and_a_wrong_signature_is_not_passed_over(
    brain: Brain,
) -> None:
    assert brain.sign(key=SEEDS[0]) == brain.sign(key=SEEDS[0])
    assert len(brain.signatures()) == 1
    with brain._session.store.transaction() as tx:
        tx.put_signature(bytes.fromhex(brain.head), KEYS[1], bytes(64))
    with pytest.raises(StoreError) as caught:
        brain.sign(key=SEEDS[1])
    assert caught.value.code == "bad_signature"
