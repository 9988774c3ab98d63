"""Skills that a run has read count as used, with the outcome of the run."""

import itertools
import random

import pytest

from brain import Brain
from brain.experience.usage import UsageCounts
from brain.receipts import Receipt, RunStep
from brain.serve.tools import Toolbox
from tests.support.planted_secrets import SECRET_MAKERS

SLUG = "audit"
PATH = "skills/audit/SKILL.md"
_numbers = itertools.count()


@pytest.fixture
def brain(tmp_path):
    with Brain.init(tmp_path / "brain", author="tester") as made:
        yield made


def write_as_agent(brain: Brain, body: str) -> None:
    with brain.task("Write a skill") as task:
        task.upsert_skill(SLUG, body, description="Audit contracts.")


def use_in_run(brain: Brain, outcome: str, reason: str = "") -> list[str]:
    with brain.task(f"Use a skill, {next(_numbers)}") as task:
        task.record_skill_load(SLUG)
        task.set_outcome(outcome, reason)
    return [change.action for change in task.health_changes]


def read_counts(brain: Brain) -> list[UsageCounts]:
    return brain._locked.session.usage.read_usage(PATH)


def test_a_run_counts_each_skill_that_it_read_once(brain):
    write_as_agent(brain, "# Look\n")
    with brain.task("Use a skill") as task:
        tools = Toolbox(brain, task)
        tools.call("skill_view", {"name": SLUG})
        tools.call("skill_view", {"name": SLUG})
        assert read_counts(brain) == []
    (counts,) = read_counts(brain)
    assert (counts.version, counts.uses, counts.successes, counts.timed) == ("1", 1, 1, 0)


def test_a_run_that_ends_without_an_outcome_counts_as_a_use_only(brain):
    write_as_agent(brain, "# Look\n")
    task = brain.task("A session")
    task.record_skill_load(SLUG)
    task.abandon("the session ended")
    (counts,) = read_counts(brain)
    assert (counts.uses, counts.successes, counts.failures) == (1, 0, 0)


def test_a_run_that_raises_counts_as_a_failure_without_its_secrets(brain):
    write_as_agent(brain, "# Look\n")
    secret = SECRET_MAKERS["github-token"](random.Random(1))
    with pytest.raises(ValueError), brain.task("Use a skill") as task:
        task.record_skill_load(SLUG)
        raise ValueError(f"no access with {secret}")
    (counts,) = read_counts(brain)
    assert counts.failures == 1
    assert counts.failure.startswith("ValueError: no access with ")
    assert secret not in counts.failure


def test_a_skill_of_an_agent_is_rolled_back_after_three_failed_runs(brain):
    write_as_agent(brain, "# Look twice\n")
    for _ in range(20):
        use_in_run(brain, "success")
    write_as_agent(brain, "# Look away\n")
    actions = [use_in_run(brain, "failure", "the tests fail") for _ in range(3)]
    assert actions == [[], [], ["roll_back"]]
    view = brain.skills.view(SLUG)
    assert (view.version, view.body.strip()) == (3, "# Look twice")
    assert brain.verify(deep=True).ok


def test_a_plain_version_that_came_back_is_known_again_by_its_text(brain):
    """Else two texts could replace each other for ever, at ever new versions."""
    for body in ("# Look twice\n", "# Look thrice\n"):
        write_as_agent(brain, body)
        for _ in range(40):
            use_in_run(brain, "success")
    write_as_agent(brain, "# Look away\n")
    actions: list[str] = []
    for _ in range(30):
        if not brain.skills.list():
            break
        actions += use_in_run(brain, "failure")
    assert actions == ["roll_back", "roll_back", "retire"]


def test_a_skill_that_a_person_wrote_stays(brain):
    brain.skills.upsert(SLUG, "# Look\n", description="Audit contracts.")
    assert [use_in_run(brain, "failure") for _ in range(4)][2:] == [["degraded"], ["degraded"]]
    assert brain.skills.view(SLUG).version == 1


def test_a_person_who_edits_the_skill_of_an_agent_keeps_it(brain):
    write_as_agent(brain, "# Look\n")
    brain.skills.edit(SLUG, lambda text: (text or b"") + b"More.\n")
    assert [use_in_run(brain, "failure") for _ in range(3)][-1] == ["degraded"]


def test_a_damaged_file_of_uses_does_not_keep_a_run_from_ending(brain):
    write_as_agent(brain, "# Look\n")
    (brain.root / ".brain/evolution.db").write_bytes(b"")
    with brain.task("Use a skill") as task:
        task.record_skill_load(SLUG)
    assert task.snapshot is not None
    assert task.usage_error is not None
    assert task.usage_error.code == "bad_store"
    fault = next(check for check in brain.doctor() if not check.ok)
    assert (fault.check, fault.message) == ("uses", task.usage_error.message)
    assert "delete .brain/evolution.db" in fault.hint


def test_uses_are_no_part_of_the_brain(brain):
    write_as_agent(brain, "# Look\n")
    use_in_run(brain, "success")
    status = brain.status()
    assert (status.added, status.modified, status.removed) == ([], [], [])
    assert not brain.snapshot().changed
    assert all("usage" not in file.path for file in brain.files.list())


def make_imported_run(outcome: str = "") -> Receipt:
    steps = [
        RunStep(kind="skill_load", name=SLUG, version=""),
        RunStep(kind="skill_load", name="a skill of another brain"),
        RunStep(kind="skill_load", name="audit", version="1", error="no such skill"),
    ]
    return Receipt(run="session-1", steps=tuple(steps), outcome=outcome)


def test_an_imported_run_is_counted_once(brain):
    write_as_agent(brain, "# Look\n")
    first, again = (brain.programs.count_imported(run=make_imported_run()) for _ in range(2))
    assert (first.counted, first.paths) == (True, [PATH])
    assert (again.counted, again.paths) == (False, [])
    (counts,) = read_counts(brain)
    assert (counts.version, counts.uses) == ("", 1)
