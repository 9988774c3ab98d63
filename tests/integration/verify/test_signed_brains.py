"""Step 10 of verification, over brains with a store: who signed, and whether they might."""

import pytest

from brain import Brain
from brain.errors import InvalidInput
from brain.objects.tree_node import FILE, TreeEntry
from brain.repo.session import Session
from brain.repo.transaction import locked_write_transaction
from brain.trust import pinned_roots, rights, trust_file
from brain.trust.ed25519 import format_key
from brain.trust.rights import RightsSource
from tests.support.refusals import raises_code
from tests.support.signed_lineages import KEY_SEEDS, PUBLIC_KEYS, trust_file_text, verify_signatures

NAMES = [format_key(key) for key in PUBLIC_KEYS]


def session_of(brain: Brain) -> Session:
    return brain._session


def sign_with(brain: Brain, number: int | None) -> None:
    """Let a key sign what comes, or none."""
    session_of(brain).sign_with = None if number is None else lambda: KEY_SEEDS[number]


def trusting(brain: Brain, *numbers: int, by: int = 0) -> None:
    sign_with(brain, by)
    for number in numbers:
        brain.trust.add(NAMES[number], f"key {number}")


def told(brain: Brain, *, required: bool = False, roots: list[int] | None = None) -> set[str]:
    """Return the codes of the errors, and check that they decide."""
    names = [NAMES[number] for number in roots or []]
    found = brain.verify(require_signatures=required, roots=names)
    errors = {one.code for one in found.findings if one.severity == "error"}
    assert found.ok == (not errors) and found.trust_level == "L0"
    return errors


def warned(brain: Brain) -> list[str]:
    return [one.code for one in brain.verify().findings if one.severity == "warning"]


def learn(brain: Brain, by: int | None, slug: str = "reentrancy") -> str:
    sign_with(brain, by)
    return brain.skills.upsert(slug, "Check calls.\n").snapshot


def put(brain: Brain, row: tuple[str, bytes, bytes]) -> None:
    """Put a signature into the store as it is."""
    with session_of(brain).store.transaction() as tx:
        tx.put_signature(bytes.fromhex(row[0]), *row[1:])


def test_a_brain_without_trust_file_and_signatures_needs_none(brain):
    learn(brain, None)
    assert told(brain) == set() and brain.verify().findings == []


def test_signatures_that_are_required_are_missed(brain):
    learn(brain, 0)
    assert told(brain) == set()
    assert told(brain, required=True) == {"unsigned"}
    assert told(brain, roots=[0]) == set()
    assert told(brain, roots=[1]) == {"below_threshold"}


def test_what_came_before_the_trust_file_is_vouched_for_by_its_signers(brain):
    learn(brain, None)
    trusting(brain, 0)
    learn(brain, 0)
    assert told(brain, required=True) == {"not_vouched"}  # anybody could have made them
    assert told(brain, required=True, roots=[0]) == set()
    found = brain.verify(require_signatures=True, roots=NAMES[:1]).findings
    assert [(one.code, one.severity) for one in found] == [("unsigned", "warning")]


def test_the_first_trust_file_has_to_be_signed_by_the_roots(brain):
    trusting(brain, 0)
    assert told(brain, roots=[0]) == set()
    assert told(brain, roots=[1]) == {"below_threshold"}


def test_a_snapshot_that_nobody_signed_after_the_trust_file_is_an_error(brain):
    trusting(brain, 0)
    here = learn(brain, None)
    assert told(brain) == {"unsigned"}
    brain.signatures.sign(here, key=KEY_SEEDS[0])
    assert told(brain) == set()


def test_what_too_few_signed_is_signed_in_one_transaction(brain):
    assert brain.signatures.sign_missing(key=KEY_SEEDS[0]) == [] == brain.signatures.find_missing()
    learn(brain, None)
    trusting(brain, 0, 1)
    missed = [learn(brain, None), learn(brain, None), learn(brain, 2)]
    learn(brain, 1)
    assert (
        brain.signatures.find_missing() == missed
        and brain.signatures.find_missing("@~3") == missed[:1]
    )
    assert brain.signatures.sign_missing(key=KEY_SEEDS[2]) == []
    assert [
        one.snapshot for one in brain.signatures.sign_missing("@~2", key=KEY_SEEDS[0])
    ] == missed[:2]
    assert told(brain) == {"unknown_key", "below_threshold"}
    made = brain.signatures.sign_missing(key=KEY_SEEDS[0])
    assert [(one.snapshot, one.key) for one in made] == [(missed[2], NAMES[0])]
    assert told(brain) == set() and brain.signatures.sign_missing(key=KEY_SEEDS[1]) == []


def test_a_signature_that_somebody_planted_keeps_no_key_from_signing(brain):
    trusting(brain, 0)
    first, second = learn(brain, None), learn(brain, None)
    put(brain, (second, PUBLIC_KEYS[0], bytes(64)))
    assert "bad_signature" in told(brain)
    assert [one.snapshot for one in brain.signatures.sign_missing(key=KEY_SEEDS[0])] == [
        first,
        second,
    ]
    assert told(brain) == set()


def test_a_key_signs_what_a_revocation_left_short_and_what_names_it_as_author(brain):
    trusting(brain, 0, 1)
    short = learn(brain, 1)
    with Brain.open(brain.root, author=NAMES[0], sign_with=lambda: KEY_SEEDS[1]) as other:
        forged = other.skills.upsert("x", "y\n").snapshot
    sign_with(brain, 0)
    assert [one.snapshot for one in brain.signatures.sign_missing(key=KEY_SEEDS[0])] == [forged]
    brain.trust.revoke(NAMES[1], "stolen")
    assert brain.signatures.find_missing() == [short]
    assert [one.snapshot for one in brain.signatures.sign_missing(key=KEY_SEEDS[0])] == [short]
    assert told(brain) == set()
    assert brain.signatures.sign_missing(key=KEY_SEEDS[1]) == []


def test_a_key_that_nobody_trusts_does_not_count(brain):
    trusting(brain, 0)
    here = learn(brain, 1)
    assert told(brain) == {"unknown_key", "below_threshold"}
    brain.signatures.sign(here, key=KEY_SEEDS[0])
    assert told(brain) == set() and warned(brain) == ["unknown_key"]


def test_nobody_signs_himself_in(brain):
    trusting(brain, 0)
    trusting(brain, 1, by=1)
    assert told(brain) == {"unknown_key", "below_threshold"}


def test_a_revoked_key_does_not_count_even_for_what_it_signed_before(brain):
    trusting(brain, 0, 1)
    here = learn(brain, 1)
    sign_with(brain, 0)
    done = brain.trust.revoke(NAMES[1], "stolen")
    assert done.keys[1].revoked == (None, "stolen")
    assert told(brain) == {"revoked_key", "below_threshold"}
    brain.signatures.sign(here, key=KEY_SEEDS[0])
    assert told(brain) == set()


def test_a_revocation_may_spare_what_came_before_a_snapshot(brain):
    trusting(brain, 0, 1)
    learn(brain, 1)
    bad = learn(brain, 0, "later")
    sign_with(brain, 0)
    brain.trust.revoke(NAMES[1], "stolen", since=bad)
    assert told(brain) == set()
    learn(brain, 1)
    assert told(brain) == {"revoked_key", "below_threshold"}


def test_rights_that_ended_are_over_but_what_was_signed_stays_good(brain):
    trusting(brain, 0, 1)
    learn(brain, 1)
    sign_with(brain, 0)
    brain.trust.retire(NAMES[1])
    assert told(brain) == set()
    learn(brain, 1)
    assert told(brain) == {"unknown_key", "below_threshold"}


def test_below_the_threshold_a_snapshot_is_refused(brain):
    trusting(brain, 0, 1)
    assert brain.trust.set_threshold(2).threshold == 2
    here = learn(brain, 0)
    assert told(brain) == {"below_threshold"}
    brain.signatures.sign(here, key=KEY_SEEDS[0])
    assert told(brain) == {"below_threshold"}
    brain.signatures.sign(here, key=KEY_SEEDS[1])
    assert told(brain) == set()


def test_an_author_that_is_a_key_has_to_have_signed(brain):
    with Brain.open(brain.root, author=NAMES[1], sign_with=lambda: KEY_SEEDS[0]) as forger:
        forger.skills.upsert("x", "y\n")
    assert told(brain) == {"forged_author"}
    brain.signatures.sign(key=KEY_SEEDS[1])
    assert told(brain) == set()


def test_a_signature_of_another_snapshot_does_not_fit(brain):
    first, second = learn(brain, 0), learn(brain, None)
    (row,) = brain.signatures.list(first)
    put(brain, (second, PUBLIC_KEYS[0], bytes.fromhex(row.signature)))
    assert told(brain) == {"bad_signature"}


def test_a_signature_that_does_not_fit_is_found_beside_the_head_too(brain):
    brain.branches.create("idea")
    brain.branches.switch("idea")
    here = learn(brain, None)
    brain.branches.switch("main")
    put(brain, (here, PUBLIC_KEYS[0], bytes(64)))
    found = [one for one in brain.verify().findings if one.severity == "error"]
    assert [(one.code, one.snapshot) for one in found] == [("bad_signature", here)]


def test_taking_the_trust_file_out_unsigned_is_noticed(brain):
    trusting(brain, 0)
    sign_with(brain, None)
    (brain.root / "trust.json").unlink()
    brain.snapshot()
    assert told(brain) == {"unsigned"}
    session_of(brain).store._db.execute("DELETE FROM signatures")  # type: ignore[attr-defined]
    assert told(brain) == {"unsigned"}


def test_after_a_broken_trust_file_the_last_good_one_is_in_force_and_repairs_it(brain):
    trusting(brain, 0)
    (brain.root / "trust.json").write_text('{"threshold": 0}\n')
    brain.snapshot()
    assert told(brain) == {"bad_trust"}
    learn(brain, 1)
    assert told(brain) == {"bad_trust", "unknown_key", "below_threshold"}
    sign_with(brain, 0)
    brain.signatures.sign(key=KEY_SEEDS[0])
    brain.trust.repair()
    assert told(brain) == set() and "bad_trust" in warned(brain)


def test_a_revocation_that_was_tidied_away_still_counts(brain):
    trusting(brain, 0, 1)
    brain.trust.revoke(NAMES[1], "stolen")
    for text in (trust_file.add_trusted_key(b"", "key 0", PUBLIC_KEYS[0]), trust_file_text(0, 1)):
        (brain.root / "trust.json").write_bytes(text)
        brain.snapshot()
    assert told(brain) == set()
    learn(brain, 1)
    assert told(brain) == {"revoked_key", "below_threshold"}


def branched_off_before_trust(brain: Brain) -> None:
    """Leave the trust file to a branch, and have the current one be without."""
    brain.branches.create("aside")
    trusting(brain, 0)
    brain.branches.switch("aside")
    assert brain.trust.show().keys == []


def test_a_head_beside_the_trust_file_that_another_ref_leads_to_is_an_error(brain):
    branched_off_before_trust(brain)
    (found,) = brain.verify().findings
    assert (found.code, found.severity, found.snapshot) == ("before_trust", "error", brain.head)
    assert "heads/aside" in found.message and "heads/main" in found.message
    learn(brain, 1)
    assert told(brain) == {"before_trust"}
    brain.branches.switch("main")
    assert told(brain) == set()
    brain.branches.switch("aside")
    sign_with(brain, 0)
    brain.merge.start("main")
    assert "before_trust" not in told(brain)


def test_only_the_refs_that_have_a_trust_file_are_named_beside_a_head_without(brain):
    branched_off_before_trust(brain)
    brain.branches.create("third")
    learn(brain, None)
    (found,) = brain.verify().findings
    assert found.message == "heads/aside has no trust file, but heads/main has one"


def test_a_trust_file_that_was_taken_out_is_not_missed_for_an_older_branch(brain):
    trusting(brain, 0)
    brain.branches.create("older")
    (brain.root / "trust.json").unlink()
    brain.snapshot()
    assert told(brain) == set()


def pin(brain: Brain, *numbers: int) -> None:
    """Verify as a user does who has pinned root keys."""
    session_of(brain).pinned_roots_provider = lambda _: [NAMES[number] for number in numbers]


def test_pinned_roots_are_asked_for_without_being_named(brain):
    trusting(brain, 0)
    pin(brain, 0)
    assert told(brain) == set() == told(brain, roots=[0])
    pin(brain, 1)
    assert told(brain) == {"below_threshold"}
    pin(brain)
    assert told(brain) == set()


def test_a_root_that_is_named_beside_others_that_are_pinned_is_told(brain):
    trusting(brain, 0)
    brain.signatures.sign(key=KEY_SEEDS[1])
    pin(brain, 0)
    found = brain.verify(roots=[NAMES[1]])
    assert [one.code for one in found.findings if one.severity == "error"] == ["other_roots"]
    message = found.findings[0].message
    assert NAMES[0] in message and NAMES[1] in message


def test_pinned_roots_that_cannot_be_read_are_an_error(brain, tmp_path):
    (tmp_path / "roots.json").write_text("{}")
    session_of(brain).pinned_roots_provider = lambda brain_id: pinned_roots.load_pinned_roots(
        tmp_path / "roots.json", brain_id
    )
    assert told(brain) == {"bad_roots"}


def test_a_damaged_row_of_signatures_is_a_finding(brain):
    trusting(brain, 0)
    run = session_of(brain).store._db.execute  # type: ignore[attr-defined]
    run("UPDATE signatures SET signature = zeroblob(64)")
    assert told(brain) == {"corrupt_signature"}


def test_a_key_that_signed_two_branches_is_a_warning(brain):
    brain.branches.create("idea")
    first = learn(brain, 0, "one")
    brain.branches.switch("idea")
    second = learn(brain, 0, "two")
    assert told(brain, required=False) == set() and warned(brain) == ["equivocation"]
    (found,) = brain.verify().findings
    (other,) = {first, second} - {found.snapshot}
    assert found.message == f"{NAMES[0]} also signed {other}, on the same snapshot before"


def test_a_head_that_merges_both_stories_warns_of_neither_but_each_alone_does(brain):
    trusting(brain, 0)
    brain.branches.create("idea")
    learn(brain, 0, "one")
    brain.branches.switch("idea")
    learn(brain, 0, "two")
    assert warned(brain) == ["equivocation"]
    brain.merge.start("main")
    assert told(brain) == set() and warned(brain) == []
    brain.branches.switch("main")
    assert warned(brain) == ["equivocation"]


def test_a_fork_of_a_brain_that_trusts_has_to_be_signed_too(brain, tmp_path):
    trusting(brain, 0)
    brain.fork(tmp_path / "signed")
    sign_with(brain, None)
    brain.fork(tmp_path / "unsigned")
    with Brain.open(tmp_path / "signed") as child:
        assert told(child, required=True, roots=[0]) == set()
    with Brain.open(tmp_path / "unsigned") as child:
        assert told(child) == {"unsigned"}
        child.signatures.sign(key=KEY_SEEDS[0])
        assert told(child, required=True, roots=[0]) == set()


def test_a_trust_file_cannot_be_redacted(brain):
    trusting(brain, 0)
    with raises_code("trust_file", InvalidInput):
        brain.files.redact("trust.json", reason="why not", history=True)
    assert told(brain) == set()


def test_a_redaction_is_signed_and_signatures_stay_good(brain):
    trusting(brain, 0)
    (brain.root / "memory/secret.md").write_text("secret\n")
    brain.snapshot()
    brain.files.redact("memory/secret.md", reason="it was one")
    assert len(brain.signatures.list()) == 1 and told(brain) == set()


def test_a_root_that_is_no_key_is_refused(brain):
    with pytest.raises(InvalidInput):
        brain.verify(roots=["ed25519:00"])


def long_lineage(brain: Brain, count: int) -> None:
    """Record many snapshots, some of them unsigned, some by strangers, with a revocation."""
    trusting(brain, 0, 1)
    session = session_of(brain)
    with locked_write_transaction(session, "snapshot", "many") as mine:
        for number in range(count):
            sign_with(brain, [0, 1, 0, None, 1, 0, 2][number % 7])
            blob = mine.store_tx.put_blob(b"%d\n" % number)
            mine.record_snapshot(
                {"n": TreeEntry("n", FILE, blob, len(b"%d\n" % number))},
                ("snapshot",),
            )
    sign_with(brain, 0)
    brain.trust.revoke(NAMES[1], "lost", since=f"@~{count // 2}")


def test_two_thousand_signed_snapshots_are_judged_as_by_the_pure_check(brain):
    long_lineage(brain, 2000)
    session = session_of(brain)
    locate = trust_file.policy_locator(session.load_state)
    source = RightsSource(session.load_snapshot, locate, session.reader.read_blob)
    rows = list(session.reader.stream_signatures())
    verdicts = verify_signatures(session.brain_id(), session.head(), source, rows)
    pure = list(rights.collect_findings(verdicts))
    found = brain.verify().findings
    assert len(pure) > 1000 and len({one.code for one in pure}) == 4
    assert found == pure[: len(found)] and len(found) == 1000


@pytest.mark.parametrize("path", ["SOUL.md", "memory/trust.json", "skills/a/trust.json"])
def test_only_the_file_at_the_top_is_a_trust_file(brain, path):
    session_of(brain).author = NAMES[0]
    file = brain.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("x\n")
    brain.snapshot()
    assert brain.verify().findings == []
    assert told(brain, required=True) == {"unsigned", "forged_author"}
