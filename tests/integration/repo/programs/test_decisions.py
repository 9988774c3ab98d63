"""Admit, reject, retire, reinstate: one snapshot each, with its verdict, undone and done again."""

import threading
from dataclasses import replace

import pytest

from brain import Brain, Conflict, InvalidInput, NotFound
from brain.digest import blob_id
from brain.objects.operation import evidence_blob
from brain.repo.learning import record
from brain.repo.learning.change import PlannedChange, SkillEdit, plan_acquired, plan_admitted
from brain.repo.session import MAX_REJECTED
from brain.results import Decided
from brain.verdicts.verdict import Verdict, decode_verdict
from tests.support.brains import write_file
from tests.support.process_death import dies_before_call
from tests.support.refusals import raises_code
from tests.support.skill_programs import (
    PAYLOAD,
    acquire_request,
    acquire_untested,
    admit_untested,
    program_files,
    record_untested,
)

SLUG = "word-count"
MAIN = f"skills/{SLUG}/SKILL.md"
RETIRED = f"skills/_retired/{SLUG}"


def verdict_of(brain: Brain, done: Decided) -> Verdict:
    snapshot = brain._session.load_snapshot(bytes.fromhex(done.snapshot))
    return decode_verdict(brain._session.reader.read_blob(evidence_blob(snapshot.operation)))


def kinds(brain: Brain) -> list[str]:
    return [info.operation["kind"] for info in brain.history.log()]


def assert_sound(brain: Brain) -> None:
    assert brain.verify(deep=True).findings == []
    assert brain.status().clean


def test_a_skill_with_its_program_is_acquired_in_one_snapshot(brain):
    done = acquire_untested(brain, acquire_request())
    assert kinds(brain) == ["admit", "genesis"]
    assert (done.decision, done.version, done.previous_version) == ("admit", 1, None)
    assert done.changed
    for path, content in program_files().items():
        assert (brain.root / f"skills/{SLUG}/{path}").read_bytes() == content
    assert verdict_of(brain, done).decision == "admit"
    assert brain._session.reader.read_blob(blob_id(PAYLOAD)) == PAYLOAD
    assert_sound(brain)


def test_a_new_program_replaces_all_files_of_the_old_one_and_no_other(brain):
    acquire_untested(brain, acquire_request())
    brain.skills.edit(SLUG, lambda _: b"old\n", file="tests/data.txt")
    brain.skills.edit(SLUG, lambda _: b"kept\n", file="references/notes.txt")
    done = acquire_untested(brain, acquire_request(answer="2"))
    assert (done.version, done.previous_version) == (4, 3)
    assert not (brain.root / f"skills/{SLUG}/tests/data.txt").exists()
    assert (brain.root / f"skills/{SLUG}/references/notes.txt").read_bytes() == b"kept\n"
    assert_sound(brain)


def test_a_flat_skill_becomes_a_folder(brain):
    write_file(brain, f"skills/{SLUG}.md", f"---\nname: {SLUG}\ndescription: d\n---\nText.\n")
    brain.snapshot()
    assert acquire_untested(brain, acquire_request()).path == MAIN
    assert not (brain.root / f"skills/{SLUG}.md").exists()
    brain.programs.find(SLUG)
    assert_sound(brain)


def test_manual_edits_are_recorded_before_a_new_program_is_written(brain):
    acquire_untested(brain, acquire_request())
    write_file(brain, f"skills/{SLUG}/skill.py", "by hand\n")
    acquire_untested(brain, acquire_request(answer="3"))
    assert kinds(brain)[:2] == ["admit", "snapshot"]
    assert brain.files.read(f"skills/{SLUG}/skill.py", "@~1") == b"by hand\n"


@pytest.mark.parametrize("is_new", [False, True])
def test_a_rejected_attempt_is_kept_beside_the_branch(brain, is_new):
    if not is_new:
        acquire_untested(brain, acquire_request())
    head, files = brain.head, sorted(brain.root.rglob("*"))
    done = acquire_untested(brain, acquire_request(answer="9"), "reject")
    assert (brain.head, sorted(brain.root.rglob("*"))) == (head, files)
    assert (done.decision, done.changed, done.version) == ("reject", False, 1 if is_new else 2)
    assert done.attempt == f"{SLUG}/{done.snapshot[:8]}"
    (attempt,) = brain.programs.attempts()
    assert brain.programs.attempts(SLUG) == [attempt] and brain.programs.attempts("other") == []
    assert (attempt.reason, attempt.failed[0]) == ("author 1: wrong", "author 1")
    view = brain.programs.read_attempt(attempt.attempt)
    assert {**view.files, **program_files("9")} == view.files
    assert view.verdict["decision"] == "reject"
    assert brain.history.show(done.snapshot).info.parents == [head]
    assert_sound(brain)


def test_the_rejection_of_what_is_there_leaves_the_skill(brain):
    brain.skills.upsert(SLUG, "Text.\n", description="d", files=program_files())
    head = brain.head
    done = admit_untested(brain, SLUG, "reject")
    assert brain.head == head and brain.programs.attempts()[0].snapshot == done.snapshot
    assert_sound(brain)


def test_attempts_are_no_branches_tags_or_revisions_by_name(brain):
    done = acquire_untested(brain, acquire_request(), "reject")
    assert [row.name for row in brain.branches.list().branches] == ["main"]
    assert brain.tags.list() == []
    brain.branches.create(f"rejected/{SLUG}/x")
    brain.tags.create(f"rejected/{SLUG}/y")
    assert len(brain.programs.attempts()) == 1
    with pytest.raises(InvalidInput):
        brain.history.show(done.attempt)
    assert brain.history.show(done.snapshot[:12]).info.operation["kind"] == "reject"
    with raises_code("no_attempt", NotFound):
        brain.programs.read_attempt("word-count/00000000")


def test_a_rejection_is_undone_and_done_again(brain):
    acquire_untested(brain, acquire_request(), "reject")
    brain.undo()
    assert brain.programs.attempts() == []
    brain.redo()
    assert len(brain.programs.attempts()) == 1


def test_garbage_collection_keeps_the_newest_attempts(brain):
    done = [
        acquire_untested(brain, acquire_request(f"skill-{number % 3}", str(number)), "reject")
        for number in range(MAX_REJECTED + 3)
    ]
    last = acquire_untested(brain, acquire_request())
    brain.gc()
    assert [row.snapshot for row in brain.programs.attempts()] == [
        attempt.snapshot for attempt in reversed(done[3:])
    ]
    for attempt in brain.programs.attempts():
        assert brain.programs.read_attempt(attempt.attempt).files["skill.py"]
    assert brain.history.list_operations()[0].description == "drop 3 rejected attempts"
    brain.gc(grace=0)
    with pytest.raises(NotFound):
        brain.history.show(done[0].snapshot)
    assert brain._session.reader.read_blob(blob_id(PAYLOAD)) == PAYLOAD
    assert_sound(brain)
    brain.undo()
    assert brain.head != last.snapshot


def test_a_retired_skill_is_no_skill_and_does_not_run(brain):
    acquire_untested(brain, acquire_request())
    done = brain.programs.retire(SLUG, "it fails")
    assert (done.decision, done.version, done.path) == ("retire", 1, f"{RETIRED}/SKILL.md")
    assert brain.skills.list() == [] and brain.programs.list() == []
    assert (brain.root / RETIRED / "skill.py").exists() and not (brain.root / MAIN).exists()
    for call in (brain.programs.find, brain.programs.admit):
        with raises_code("retired", Conflict) as refused:
            call(SLUG)
        assert refused.value.hint == f"bring it back with `brain evolve reinstate {SLUG}`"
    verdict = verdict_of(brain, done)
    assert (verdict.decider, verdict.decided_by, verdict.reason) == ("person", "tester", "it fails")
    assert_sound(brain)


def test_a_retired_program_does_not_run_from_another_place(brain):
    acquire_untested(brain, acquire_request())
    brain.programs.retire(SLUG, "it fails")
    brain.skills.upsert("again", "Text.\n", description="d", files=program_files())
    with raises_code("not_admitted", Conflict):
        brain.programs.find("again")


@pytest.mark.parametrize("place", [MAIN, f"skills/dev/{SLUG}/SKILL.md", f"skills/{SLUG}.md"])
def test_a_retired_skill_comes_back_where_it_was_with_the_next_version(brain, place):
    write_file(brain, place, f"---\nname: {SLUG}\ndescription: d\nversion: 3\n---\nText.\n")
    brain.snapshot()
    brain.programs.retire(SLUG, "not used")
    done = brain.programs.reinstate(SLUG)
    assert (done.version, done.previous_version) == (4, 3)
    folder = place.removesuffix(".md").removesuffix("/SKILL")
    assert done.path == f"{folder}/SKILL.md"
    assert not (brain.root / RETIRED).exists()
    assert brain.skills.view(SLUG).body == "Text.\n"
    assert_sound(brain)


def test_a_program_that_comes_back_runs_again(brain):
    acquire_untested(brain, acquire_request())
    brain.programs.retire(SLUG, "it fails")
    done = brain.programs.reinstate(SLUG)
    assert brain.programs.find_runnable(SLUG).skill.card.version == "2"
    assert verdict_of(brain, done).files
    assert_sound(brain)


def test_a_program_that_was_never_admitted_comes_back_and_does_not_run(brain):
    brain.skills.upsert(SLUG, "Text.\n", description="d", files=program_files())
    brain.programs.retire(SLUG, "not used")
    brain.programs.reinstate(SLUG)
    with pytest.raises(Conflict):
        brain.programs.find(SLUG)
    assert_sound(brain)


def test_what_lies_at_the_old_place_stays(brain):
    acquire_untested(brain, acquire_request())
    brain.programs.retire(SLUG, "it fails")
    write_file(brain, f"skills/{SLUG}/notes.txt", "mine\n")
    write_file(brain, f"skills/{SLUG}/skill.py", "mine too\n")
    brain.programs.reinstate(SLUG)
    assert (brain.root / f"skills/{SLUG}/notes.txt").read_text() == "mine\n"
    assert "snapshot" in kinds(brain)[:3]  # the other file is recorded first
    brain.programs.find(SLUG)


def test_an_edit_of_a_retired_program_comes_back_unadmitted(brain):
    acquire_untested(brain, acquire_request())
    brain.programs.retire(SLUG, "it fails")
    write_file(brain, f"{RETIRED}/skill.py", "other\n")
    brain.programs.reinstate(SLUG)
    assert (brain.root / f"skills/{SLUG}/skill.py").read_text() == "other\n"
    with pytest.raises(Conflict):
        brain.programs.find(SLUG)
    assert_sound(brain)


def test_an_earlier_admitted_version_comes_back_as_the_next_one(brain):
    acquire_untested(brain, acquire_request())
    acquire_untested(brain, acquire_request(answer="2"))
    done = brain.programs.reinstate(SLUG, 1, reason="version 2 fails more")
    assert (done.version, done.previous_version) == (3, 2)
    assert brain.programs.find(SLUG).files == program_files()
    assert_sound(brain)
    brain.undo()
    assert brain.programs.find(SLUG).files == program_files("2")
    brain.redo()
    assert brain.programs.find(SLUG).files == program_files()


def test_the_program_of_a_version_is_the_one_that_was_admitted(brain):
    brain.skills.upsert(SLUG, "Text.\n", description="d", files=program_files("1"))
    brain.files.edit(f"skills/{SLUG}/skill.py", lambda _: program_files()["skill.py"])
    admit_untested(brain, SLUG)
    acquire_untested(brain, acquire_request(answer="2"))
    brain.programs.reinstate(SLUG, "1")
    assert brain.programs.find(SLUG).files == program_files()


def test_a_retired_skill_comes_back_at_an_earlier_version(brain):
    acquire_untested(brain, acquire_request())
    acquire_untested(brain, acquire_request(answer="2"))
    brain.programs.retire(SLUG, "version 2 fails")
    done = brain.programs.reinstate(SLUG, 1)
    assert (done.version, done.path) == (3, MAIN)
    assert brain.programs.find(SLUG).files == program_files()
    assert not (brain.root / RETIRED).exists()
    assert_sound(brain)


def test_a_new_skill_of_a_retired_one_goes_on_with_its_versions(brain):
    acquire_untested(brain, acquire_request())
    brain.programs.retire(SLUG, "it fails")
    assert acquire_untested(brain, acquire_request(answer="2")).version == 2
    assert_sound(brain)
    brain.programs.retire(SLUG, "it fails, too")
    assert brain.programs.reinstate(SLUG).version == 3
    assert brain.programs.find(SLUG).files == program_files("2")
    assert_sound(brain)


@pytest.mark.parametrize(
    ("call", "error", "code"),
    [
        (lambda brain: brain.programs.retire("nothing", "r"), NotFound, "no_skill"),
        (lambda brain: brain.programs.retire(SLUG, ""), InvalidInput, "no_reason"),
        (lambda brain: brain.programs.reinstate("nothing"), NotFound, "no_skill"),
        (lambda brain: brain.programs.reinstate(SLUG), Conflict, "not_retired"),
        (lambda brain: brain.programs.reinstate(SLUG, "7"), NotFound, "no_version"),
        (lambda brain: brain.programs.admit("plain"), NotFound, "no_program"),
    ],
)
def test_a_decision_that_makes_no_sense_changes_nothing(brain, call, error, code):
    acquire_untested(brain, acquire_request())
    brain.skills.upsert("plain", "Text.\n", description="d")
    head = brain.head
    with raises_code(code, error):
        call(brain)
    assert brain.head == head


def test_a_skill_with_others_below_it_is_not_retired(brain):
    acquire_untested(brain, acquire_request())
    write_file(brain, f"skills/{SLUG}/skills/inner/SKILL.md", "---\nname: inner\n---\nx\n")
    brain.snapshot()
    with raises_code("holds_skills", Conflict):
        brain.programs.retire(SLUG, "it fails")


@pytest.mark.parametrize("decide", ["retire", "reinstate"])
def test_a_retirement_and_a_return_are_undone_and_done_again(brain, decide):
    acquire_untested(brain, acquire_request())
    brain.programs.retire(SLUG, "it fails")
    if decide == "reinstate":
        brain.programs.reinstate(SLUG)
    after = brain.head
    brain.undo()
    assert bool(brain.skills.list()) == (decide == "retire")
    brain.redo()
    assert brain.head == after
    assert_sound(brain)


def _plan(brain: Brain, name: str = SLUG, answer: str = "") -> PlannedChange:
    return plan_acquired(brain._session, acquire_request(name, answer))


def test_of_two_that_acquire_one_name_at_once_the_second_is_told(brain):
    first, second = _plan(brain, answer="1"), _plan(brain, answer="2")
    record_untested(brain, first)
    head = brain.head
    with raises_code("stale_base", Conflict) as refused:
        record_untested(brain, second)
    assert refused.value.message == "word-count exists by now, at version 1"
    assert brain.head == head and brain.programs.find(SLUG).files == program_files("1")
    assert_sound(brain)


def test_of_two_that_improve_one_skill_at_once_the_second_is_told(brain):
    acquire_untested(brain, acquire_request())
    first, second = _plan(brain, answer="1"), _plan(brain, answer="2")
    record_untested(brain, first)
    with raises_code("stale_base", Conflict):
        record_untested(brain, second)


def test_two_processes_that_acquire_one_name_leave_one_skill(brain):
    outcomes: list[object] = []

    def acquire(answer: str) -> None:
        with Brain.open(brain.root) as opened:
            plan = _plan(opened, answer=answer)
            both_planned.wait()
            try:
                outcomes.append(record_untested(opened, plan).decision)
            except Conflict as error:
                outcomes.append(error.code)

    both_planned = threading.Barrier(2)
    threads = [threading.Thread(target=acquire, args=(answer,)) for answer in "12"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(str, outcomes)) == ["admit", "stale_base"]
    assert_sound(brain)


def test_code_that_changed_during_its_trial_is_not_admitted(brain):
    brain.skills.upsert(SLUG, "Text.\n", description="d", files=program_files())
    plan = plan_admitted(brain._session, SLUG)
    write_file(brain, f"skills/{SLUG}/skill.py", "other\n")
    with raises_code("program_changed", Conflict):
        record_untested(brain, plan)
    with pytest.raises(Conflict):
        brain.programs.find(SLUG)
    assert (brain.root / f"skills/{SLUG}/skill.py").read_text() == "other\n"
    assert kinds(brain) == ["upsert", "genesis"]


def test_a_process_that_dies_after_the_trial_leaves_nothing(brain):
    plan = _plan(brain)
    before = sorted(brain.root.rglob("*"))
    with dies_before_call(record, "store_verdict"):
        record_untested(brain, plan)
    assert (kinds(brain), sorted(brain.root.rglob("*"))) == (["genesis"], before)


def test_a_process_that_dies_before_its_note_runs_nothing_until_it_is_tried_again(brain):
    plan = _plan(brain)
    with dies_before_call(record, "note_tried_program"):
        record_untested(brain, plan)
    assert kinds(brain) == ["admit", "genesis"]
    with pytest.raises(Conflict) as refused:
        brain.programs.find(SLUG)
    assert refused.value.message.endswith("was not tried on this machine")
    assert not admit_untested(brain, SLUG).changed
    brain.programs.find(SLUG)
    assert_sound(brain)


def test_files_that_are_no_program_are_refused(brain):
    for files in ({}, {"skill.py": b"", "notes.txt": b""}, {"tests/cases.json": b"[]"}):
        request = SkillEdit(name="x", files=files, description="d")
        with raises_code("no_program", InvalidInput):
            plan_acquired(brain._session, request)


def test_a_path_out_of_the_skill_is_refused_and_nothing_is_recorded(brain):
    files = {**program_files(), "tests/../../../out.py": b"x"}
    request = SkillEdit(name=SLUG, files=files, description="d")
    with raises_code("bad_path", InvalidInput):
        acquire_untested(brain, request)
    assert kinds(brain) == ["genesis"]


def test_a_run_of_an_agent_carries_on_over_a_rejection(brain):
    with brain.task("Learn to count"):
        acquire_untested(brain, acquire_request(answer="1"), "reject")
        acquire_untested(brain, acquire_request())
    assert kinds(brain)[:2] == ["task", "admit"]
    assert_sound(brain)


def test_a_tool_that_waits_for_a_person_keeps_one_attempt_however_often_it_is_asked_for(brain):
    def ask(host):
        edit = acquire_request()
        files = {**edit.files, "tests/needs.json": b'{"hosts": ["%s.example.org"]}' % host}
        return brain.programs.acquire(replace(edit, files=files))

    first = ask(b"api")
    assert (first.decision, first.changed, bool(first.attempt)) == ("reject", False, True)
    assert [ask(b"api") for _ in range(3)] == [first] * 3
    assert [one.attempt for one in brain.programs.attempts(SLUG)] == [first.attempt]
    assert ask(b"other").attempt != first.attempt
    assert len(brain.programs.attempts(SLUG)) == 2
    assert_sound(brain)
