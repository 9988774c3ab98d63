"""A receipt that names a run of a skill names one that had been admitted."""

from pathlib import Path

import pytest

from brain import Brain
from brain.receipts import Receipt, RunStep
from tests.support.brain_templates import copy_brain
from tests.support.decisions import (
    OTHER_PROGRAM,
    PROGRAM,
    RETIRED_FOLDER,
    SLUG,
    admission,
    admit_new,
    decide,
    record,
    removed,
    retirement,
    skill_files,
    skill_text,
)

TOOL = "count_words"
TEXT = f"skills/{SLUG}/SKILL.md"


@pytest.fixture
def brain(tmp_path):
    with Brain.open(copy_brain(_make_brain, tmp_path / "agent"), author="tester") as opened:
        yield opened


def _make_brain(root: Path) -> None:
    with Brain.init(root, author="tester") as made:
        made.skills.upsert("Oracle", "Ask.\n", description="d")


def run_of(brain: Brain, *versions: str, tool: str = TOOL, since: bytes = b"") -> Receipt:
    """Return the receipt of a run that used the tool at some versions."""
    session = brain._session
    start = since or session.head()
    return Receipt(
        run="r",
        snapshot_before=start,
        bundle_before=session.load_snapshot(start).bundle,
        steps=tuple(RunStep(kind="tool", name=tool, version=version) for version in versions),
    )


def claimed(brain: Brain, receipt: Receipt) -> list[str]:
    """Record a note with the receipt; return the codes of what verification finds."""
    here = record(brain, {"memory/note.md": b"x\n"}, ("snapshot",), receipt)
    found = brain.verify(deep=True)
    assert found.ok and {one.snapshot for one in found.findings} <= {here.hex()}
    assert {one.severity for one in found.findings} <= {"warning"}
    return [one.code for one in found.findings]


def test_a_run_of_what_was_admitted_is_valid(brain):
    admit_new(brain)
    assert claimed(brain, run_of(brain, "1", "1")) == []


def test_a_run_of_a_skill_that_was_never_admitted_is_found_by_a_deep_verification(brain):
    record(brain, skill_files("1"), ("upsert", SLUG, "", "1"))
    assert claimed(brain, run_of(brain, "1")) == ["unadmitted_run"]
    assert brain.verify().findings == []
    (found,) = brain.verify(deep=True).findings
    assert f"{TOOL} ran at version 1" in found.message


def test_a_run_of_a_skill_that_is_not_there_is_found(brain):
    admit_new(brain)
    assert claimed(brain, run_of(brain, "1", tool="rm_rf")) == ["unadmitted_run"]


def test_a_run_of_a_version_that_never_was_is_found(brain):
    admit_new(brain)
    assert claimed(brain, run_of(brain, "1", "2")) == ["unadmitted_run"]


def test_a_run_of_code_swapped_after_its_admission_is_found(brain):
    admit_new(brain)
    record(brain, skill_files("2", OTHER_PROGRAM), ("upsert", SLUG, "1", "2"))
    assert claimed(brain, run_of(brain, "2")) == ["unadmitted_run"]


def test_a_run_before_the_admission_is_found(brain):
    record(brain, skill_files("1"), ("upsert", SLUG, "", "1"))
    decide(brain, {}, ("1", "1"), admission(), run_of(brain, "1"))
    assert [one.code for one in brain.verify(deep=True).findings] == ["unadmitted_run"]


def test_a_run_after_the_retirement_is_found(brain):
    admit_new(brain)
    away = {**removed(skill_files("1")), **skill_files("1", PROGRAM, RETIRED_FOLDER)}
    decide(brain, away, ("1", "1"), retirement())
    assert claimed(brain, run_of(brain, "1")) == ["unadmitted_run"]


def test_a_run_by_a_forged_verdict_is_found(brain):
    forged = admission()._replace(cases=admission().cases[:2])
    decide(brain, skill_files("1"), ("", "1"), forged)
    record(brain, {}, ("task", "r", "success"), run_of(brain, "1"))
    found = brain.verify(deep=True).findings
    assert {one.code for one in found} == {"bad_verdict", "unadmitted_run"}


def test_a_new_text_over_an_admitted_program_may_run(brain):
    admit_new(brain)
    record(brain, {TEXT: skill_text("2")}, ("upsert", SLUG, "1", "2"))
    assert claimed(brain, run_of(brain, "2")) == []


def test_a_failing_run_is_carried_by_the_retirement_that_it_causes(brain):
    admit_new(brain)
    receipt = run_of(brain, "1")
    away = {**removed(skill_files("1")), **skill_files("1", PROGRAM, RETIRED_FOLDER)}
    decide(brain, away, ("1", "1"), retirement(), receipt)
    assert brain.verify(deep=True).findings == []


def test_a_run_of_an_earlier_version_is_valid_if_the_session_was_there(brain):
    start = brain._session.head()
    admit_new(brain)
    receipt = run_of(brain, "1", "2", since=start)
    decide(brain, skill_files("2", OTHER_PROGRAM), ("1", "2"), admission(OTHER_PROGRAM))
    decide(brain, skill_files("3"), ("2", "3"), admission())
    assert claimed(brain, receipt) == []


def test_a_run_of_an_earlier_version_is_found_if_the_session_began_later(brain):
    admit_new(brain)
    decide(brain, skill_files("2", OTHER_PROGRAM), ("1", "2"), admission(OTHER_PROGRAM))
    assert claimed(brain, run_of(brain, "1")) == ["unadmitted_run"]


def test_an_admission_that_a_merge_brought_counts(brain):
    brain.branches.create("idea")
    brain.branches.switch("idea")
    admit_new(brain)
    brain.branches.switch("main")
    record(brain, {"memory/a.md": b"a\n"}, ("snapshot",))
    brain.merge.start("idea")
    assert claimed(brain, run_of(brain, "1")) == []


def test_an_admission_on_another_branch_does_not_count(brain):
    brain.branches.create("idea")
    brain.branches.switch("idea")
    admit_new(brain)
    brain.branches.switch("main")
    record(brain, skill_files("1"), ("upsert", SLUG, "", "1"))
    assert claimed(brain, run_of(brain, "1")) == ["unadmitted_run"]


def test_a_tool_that_is_no_skill_has_no_version_and_needs_no_admission(brain):
    assert claimed(brain, run_of(brain, "", tool="bash")) == []


def test_a_run_of_the_version_at_the_start_of_the_session_is_valid(brain):
    admit_new(brain)
    receipt = run_of(brain, "1")
    decide(brain, skill_files("2", OTHER_PROGRAM), ("1", "2"), admission(OTHER_PROGRAM))
    assert claimed(brain, receipt) == []


def test_a_later_part_of_a_run_goes_back_to_the_part_before_only(brain):
    receipt = run_of(brain, "1")
    admit_new(brain)
    decide(brain, skill_files("2", OTHER_PROGRAM), ("1", "2"), admission(OTHER_PROGRAM))
    later = receipt._replace(part=1, previous=brain._session.head())
    assert claimed(brain, receipt) == []
    assert claimed(brain, later) == ["unadmitted_run"]


def test_a_skill_that_was_only_read_needs_no_admission(brain):
    steps = (RunStep(kind="skill_load", name="oracle", version="1"),)
    assert claimed(brain, run_of(brain)._replace(steps=steps)) == []
