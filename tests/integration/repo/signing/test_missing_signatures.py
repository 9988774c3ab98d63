"""Snapshots with too few signatures are found, and signed at once by a key that may."""

import pytest

from brain import Brain
from brain.errors import InvalidInput
from brain.repo.signing import rights
from brain.trust.ed25519 import format_key
from tests.support.refusals import raises_code
from tests.support.signed_lineages import KEY_SEEDS, PUBLIC_KEYS

NAMES = [format_key(key) for key in PUBLIC_KEYS]


def learn(brain: Brain, text: str) -> str:
    return brain.skills.upsert("a", text).snapshot


@pytest.fixture
def trusting(brain):
    """A brain that trusts the first key, by a snapshot which is signed."""
    with Brain.open(brain.root, sign_with=lambda: KEY_SEEDS[0]) as signing:
        signing.trust.add(NAMES[0], "ada")
    return brain


def test_without_a_trust_file_no_signature_is_missing(brain):
    learn(brain, "One.\n")
    assert brain.signatures.find_missing() == []
    assert brain.signatures.sign_missing(key=KEY_SEEDS[0]) == []


def test_what_is_missing_is_signed_oldest_first_and_only_once(trusting):
    brain = trusting
    made = [learn(brain, f"{number}\n") for number in range(3)]
    assert brain.signatures.find_missing() == made
    assert brain.signatures.find_missing(made[1]) == made[:2]
    signed = brain.signatures.sign_missing(made[1], key=KEY_SEEDS[0])
    assert [(one.snapshot, one.key) for one in signed] == [(here, NAMES[0]) for here in made[:2]]
    assert brain.signatures.find_missing() == made[2:]
    assert [one.snapshot for one in brain.signatures.sign_missing(key=KEY_SEEDS[0])] == made[2:]
    assert brain.signatures.find_missing() == []
    assert brain.signatures.sign_missing(key=KEY_SEEDS[0]) == []
    assert brain.verify().ok


def test_a_key_without_the_right_signs_nothing_that_is_missing(trusting):
    made = learn(trusting, "One.\n")
    assert trusting.signatures.sign_missing(key=KEY_SEEDS[1]) == []
    assert trusting.signatures.find_missing() == [made]


def test_a_threshold_of_two_is_met_by_two_keys_alone(trusting):
    brain = trusting
    with Brain.open(brain.root, sign_with=lambda: KEY_SEEDS[0]) as signing:
        signing.trust.add(NAMES[1], "bob")
        signing.trust.set_threshold(2)
    made = learn(brain, "One.\n")
    session = brain._session
    enough = []
    for seed in KEY_SEEDS[:2]:
        enough.append(rights.has_enough_signatures(session, session.head()))
        assert made in brain.signatures.find_missing()
        brain.signatures.sign(key=seed)
    enough.append(rights.has_enough_signatures(session, session.head()))
    assert enough == [False, False, True]
    assert made not in brain.signatures.find_missing()


def test_what_roots_vouch_for_is_remembered_for_a_bounded_number_of_snapshots(
    trusting, monkeypatch
):
    monkeypatch.setattr(rights, "_MAX_CACHED_ANSWERS", 2)
    brain, roots = trusting, frozenset({PUBLIC_KEYS[0]})
    made = [learn(brain, f"{number}\n") for number in range(4)]
    brain.signatures.sign_missing(key=KEY_SEEDS[0])
    session = brain._session
    for here in made * 2:
        assert rights.is_signed_by_roots(session, bytes.fromhex(here), roots)
        assert len(session.verified_signatures) <= 2
    stranger = frozenset({PUBLIC_KEYS[1]})
    assert not rights.is_signed_by_roots(session, bytes.fromhex(made[0]), stranger)


def test_a_trust_file_that_is_broken_is_refused_where_signatures_are_counted(trusting):
    (trusting.root / "trust.json").write_text("{")
    trusting.snapshot()
    learn(trusting, "One.\n")
    session = trusting._session
    with raises_code("bad_trust", InvalidInput):
        rights.has_enough_signatures(session, session.head())
