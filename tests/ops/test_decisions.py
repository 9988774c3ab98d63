"""`why`, `show` and `log` tell how a skill was decided about."""

from pathlib import Path

import pytest

from brain import Brain
from brain.digest import blob_id
from brain.errors import NotFound
from brain.results.text_format import format_operation
from brain.verdicts.verdict import encode_verdict, verdict_to_json
from tests.support.brain_templates import copy_brain
from tests.support.decisions import (
    ADMITTED,
    OTHER_PROGRAM,
    PROGRAM,
    RETIRED_FOLDER,
    SLUG,
    admission,
    admit_new,
    decide,
    put_verdict,
    record,
    reinstatement,
    rejection,
    removed,
    retirement,
    skill_files,
)


@pytest.fixture
def brain(tmp_path):
    with Brain.open(copy_brain(_make_brain, tmp_path / "agent"), author="tester") as opened:
        yield opened


def _make_brain(root: Path) -> None:
    with Brain.init(root, author="tester") as made:
        made.skills.upsert("Oracle", "Ask.\n", description="d")


def reject(brain: Brain, versions: tuple[str, str] = ("", "1")) -> bytes:
    """Reject an attempt: a snapshot that only its own ref names."""
    here = decide(brain, skill_files(versions[1], OTHER_PROGRAM), versions, rejection())
    with brain._session.store.transaction() as tx:
        tx.update_ref(f"rejected/{SLUG}/{here.hex()[:8]}", None, here)
    brain.undo()
    return here


def test_why_tells_the_story_of_a_skill_that_runs(brain):
    admit_new(brain)
    decide(brain, {}, ("1", "1"), admission())
    rejected = reject(brain, ("1", "2"))
    away = {**removed(skill_files("1")), **skill_files("1", PROGRAM, RETIRED_FOLDER)}
    decide(brain, away, ("1", "1"), retirement())
    back = {**removed(skill_files("1", PROGRAM, RETIRED_FOLDER)), **skill_files("2")}
    decide(brain, back, ("1", "2"), reinstatement())
    found = brain.history.why(SLUG)
    assert [one.summary for one in found.decisions if one.decision != "reject"] == [
        "reinstated as version 2",
        "retired: 3 failures in a row",
        ADMITTED,
        ADMITTED,
    ]
    (attempt,) = (one for one in found.decisions if one.decision == "reject")
    assert (attempt.snapshot, attempt.summary) == (
        rejected.hex(),
        "rejected: author 1: it printed nothing",
    )
    assert {one.state for one in found.decisions} == {"kept"}


def test_why_of_a_version_tells_the_decisions_about_it(brain):
    admit_new(brain)
    decide(brain, skill_files("2", OTHER_PROGRAM), ("1", "2"), admission(OTHER_PROGRAM))
    found = brain.history.why(f"{SLUG}@1")
    assert [(one.decision, one.to_version) for one in found.decisions] == [("admit", "1")]
    assert [version.version for version in found.versions] == [1]


def test_why_of_a_skill_that_was_only_ever_rejected_lists_the_attempts(brain):
    reject(brain)
    found = brain.history.why(SLUG)
    assert found.slug == SLUG and found.versions == []
    assert [one.decision for one in found.decisions] == ["reject"]
    with pytest.raises(NotFound):
        brain.history.why(f"{SLUG}@1")
    with pytest.raises(NotFound):
        brain.history.why("count-other")


def test_why_of_a_skill_without_a_program_has_no_decisions(brain):
    admit_new(brain)
    assert brain.history.why("oracle").decisions == []


def test_the_log_and_a_snapshot_tell_what_was_decided(brain):
    admit_new(brain)
    shown = brain.history.show()
    assert shown.verdict == verdict_to_json(admission())
    assert format_operation(shown.info.operation) == f"{SLUG} {ADMITTED}"
    entry = next(iter(brain.history.log()))
    assert entry == shown.info and entry.operation["summary"] == ADMITTED
    assert brain.history.show("@~1").verdict is None


def test_a_verdict_that_cannot_be_read_is_told_as_such(brain):
    admit_new(brain)
    blob = blob_id(encode_verdict(admission()))
    brain._session.store._db.execute("DELETE FROM blobs WHERE id = ?", (blob,))  # type: ignore[attr-defined]
    (found,) = brain.history.why(SLUG).decisions
    assert (found.state, found.verdict) == ("missing", None)
    assert found.summary == "admitted; its verdict is missing from the store"
    record(brain, {}, ("retire", SLUG, "1", "1", put_verdict(brain, b"no verdict")))
    record(brain, {}, ("retire", SLUG, "1", "1", put_verdict(brain, rejection())))
    other, foreign, _ = brain.history.why(SLUG).decisions
    assert other.summary == "retired; its verdict is about another decision"
    assert (foreign.state, foreign.summary) == ("foreign", "retired; its verdict cannot be read")
