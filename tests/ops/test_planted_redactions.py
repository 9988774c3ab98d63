"""What a row of the store calls redacted is so only if a snapshot of the lineage says it."""

import pytest

from brain import Brain
from brain.errors import BrainError
from brain.repo.transaction import log_operation
from brain.results import Finding
from brain.store import rows
from brain.trust.signature_format import format_key
from tests.support.brains import write_file
from tests.support.refusals import raises_code
from tests.support.signed_lineages import KEY_SEEDS, PUBLIC_KEYS


def planted(brain: Brain, path: str, said: str, at: str = "") -> bytes:
    """Take the content of a file out of the store, and let a row say that it was redacted."""
    session = brain._session
    held = bytes.fromhex(at) if at else session.head()
    entry = session.state_of(held).get(path)
    assert entry is not None
    db = session.store._db  # type: ignore[attr-defined]
    snapshot = bytes.fromhex(said)
    with session.store.transaction() as tx:
        tx.redact_blob(entry.blob, snapshot, lambda others: others)
    db.execute("DELETE FROM redactions")
    row = (entry.blob, snapshot, rows.row_checksum(entry.blob, snapshot))
    db.execute("INSERT INTO redactions VALUES (?, ?, ?)", row)
    session.clear_loaded()
    session.loaded_cards.clear()
    return entry.blob


def errors(brain: Brain) -> list[Finding]:
    return [one for one in brain.verify().findings if one.severity == "error"]


@pytest.fixture
def robbed(brain):
    """A brain with one honest redaction, whose snapshot a planted row names for another blob."""
    brain.skills.upsert("Oracle", "Ask.\n", description="d")
    write_file(brain, "memory/a.md", "a secret\n")
    write_file(brain, "memory/b.md", "no secret\n")
    brain.snapshot()
    said = brain.files.redact("memory/a.md", reason="a name").snapshot
    planted(brain, "memory/b.md", said)
    return brain


def test_verification_calls_it_missing_and_names_the_row(robbed):
    codes = [one.code for one in errors(robbed)]
    assert "missing_object" in codes and "false_redaction" in codes
    (missing,) = [one for one in errors(robbed) if one.code == "missing_object"]
    assert missing.path == "memory/b.md"


def test_nothing_that_needs_the_content_takes_it_for_redacted(robbed, tmp_path):
    (robbed.root / "memory/b.md").unlink()
    for ask in (
        lambda: robbed.restore("@~1"),
        robbed.gc,
        lambda: robbed.fork(tmp_path / "fork"),
        lambda: robbed.files.read("memory/b.md"),
    ):
        with pytest.raises(BrainError) as caught:
            ask()
        assert caught.value.code in ("missing_object", "incomplete")


def test_a_merge_does_not_take_its_base_for_redacted(brain):
    write_file(brain, "memory/a.md", "a secret\n")
    write_file(brain, "notes.txt", "one\ntwo\nthree\n")
    brain.snapshot()
    said = brain.files.redact("memory/a.md", reason="a name").snapshot
    brain.branches.create("idea")
    write_file(brain, "notes.txt", "one\ntwo\n3\n")
    brain.snapshot()
    brain.branches.switch("idea")
    write_file(brain, "notes.txt", "1\ntwo\nthree\n")
    brain.snapshot()
    planted(brain, "notes.txt", said, at=said)
    with raises_code("missing_object", BrainError):
        brain.merge.start("main")


def test_a_skill_is_not_shown_as_redacted(brain):
    brain.skills.upsert("Oracle", "Ask.\n", description="d")
    write_file(brain, "memory/a.md", "a secret\n")
    brain.snapshot()
    said = brain.files.redact("memory/a.md", reason="a name").snapshot
    planted(brain, "skills/oracle/SKILL.md", said)
    with raises_code("missing_object", BrainError):
        brain.skills.view("oracle")
    assert "missing_object" in {one.code for one in errors(brain)}


def test_content_is_not_refused_for_a_planted_row(robbed):
    write_file(robbed, "memory/c.md", "no secret\n")
    robbed.snapshot()
    assert robbed.files.read("memory/c.md") == b"no secret\n"


def test_a_redaction_that_the_store_has_forgotten_is_named(brain):
    write_file(brain, "memory/a.md", "a secret\n")
    brain.snapshot()
    said = brain.files.redact("memory/a.md", reason="a name").snapshot
    assert brain.verify().ok
    brain._session.store._db.execute("DELETE FROM redactions")  # type: ignore[attr-defined]
    (found,) = errors(brain)
    assert (found.code, found.snapshot) == ("unknown_redaction", said)


def test_a_redaction_on_a_branch_that_nothing_leads_to_any_more_counts_for_nothing(brain):
    write_file(brain, "memory/a.md", "a secret\n")
    head = bytes.fromhex(brain.snapshot().snapshot)
    said = bytes.fromhex(brain.files.redact("memory/a.md", reason="a name").snapshot)
    session = brain._session
    with session.store.transaction() as tx:
        tx.update_ref("heads/main", said, head)
        log_operation(session, tx, "undo", "back", [("heads/main", said, head)])
    assert {one.code for one in errors(brain)} == {"missing_object", "false_redaction"}


def test_who_demands_signatures_is_told_of_a_redaction_beside_the_head(brain):
    write_file(brain, "memory/a.md", "a secret\n")
    brain.snapshot()
    brain.branches.create("idea")
    brain.branches.switch("idea")
    brain.files.redact("memory/a.md", reason="a name")
    brain.branches.switch("main")
    assert brain.verify().ok
    strict = brain.verify(require_signatures=True)
    assert "redacted_elsewhere" in {one.code for one in strict.findings}
    brain.merge.start("idea")
    strict = brain.verify(require_signatures=True)
    assert "redacted_elsewhere" not in {one.code for one in strict.findings}


def test_who_has_pinned_a_root_demands_signatures(brain):
    brain._session.sign_with = lambda: KEY_SEEDS[0]
    brain.trust.add(format_key(PUBLIC_KEYS[0]), "me")
    write_file(brain, "memory/a.md", "a secret\n")
    brain.snapshot()
    brain._session.sign_with = None
    brain.branches.create("idea")
    brain.branches.switch("idea")
    brain.files.redact("memory/a.md", reason="a name")
    brain.branches.switch("main")
    assert brain.verify().ok
    brain._session.pinned_roots_provider = lambda _: [format_key(PUBLIC_KEYS[0])]
    assert {one.code for one in errors(brain)} == {"redacted_elsewhere"}


def test_a_redaction_before_a_fork_counts_in_the_fork(brain, tmp_path):
    write_file(brain, "memory/a.md", "a secret\n")
    brain.snapshot()
    brain.files.redact("memory/a.md", reason="a name")
    brain.fork(tmp_path / "fork")
    with Brain.open(tmp_path / "fork") as fork:
        assert fork.verify(deep=True).findings == []
        (fork.root / "memory").mkdir(exist_ok=True)
        (fork.root / "memory/b.md").write_text("a secret\n")
        with raises_code("redacted", BrainError):
            fork.snapshot()


def test_a_redaction_is_found_behind_a_merge(brain):
    write_file(brain, "memory/a.md", "a secret\n")
    brain.snapshot()
    brain.branches.create("idea")
    brain.branches.switch("idea")
    brain.files.redact("memory/a.md", reason="a name")
    brain.skills.upsert("Idea", "i\n", description="d")
    brain.branches.switch("main")
    brain.skills.upsert("Main", "m\n", description="d")
    brain.merge.start("idea")
    brain.branches.delete("idea")
    assert [(one.code, one.severity) for one in brain.verify().findings] == [("redacted", "note")]
    brain.gc(grace=0)
    assert brain.restore("@~2").redacted == ["memory/a.md"]
