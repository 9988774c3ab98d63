"""Only what was admitted in the lineage and tried on this machine runs, however it came."""

import os
import shutil
import stat
from pathlib import Path

import pytest

from brain import Brain, BrainError, Conflict, NotFound
from brain.repo.learning.admission import STATE_DIR_VARIABLE, require_state_folder
from brain.repo.learning.change import plan_acquired
from brain.serve.tools.toolbox import Toolbox
from tests.support.brains import skill_text, write_file
from tests.support.refusals import raises_code
from tests.support.skill_programs import (
    acquire_request,
    acquire_untested,
    admit_untested,
    program_files,
)

SLUG = "word-count"
CODE = f"skills/{SLUG}/skill.py"
OTHER_CODE = b"print('something else')\n"


@pytest.fixture
def acquired(brain):
    acquire_untested(brain, acquire_request())
    return brain


@pytest.fixture
def other_machine(monkeypatch, tmp_path):
    monkeypatch.setenv(STATE_DIR_VARIABLE, str(tmp_path / "other-user"))
    yield


def assert_not_admitted(brain: Brain, slug: str = SLUG) -> None:
    with raises_code("not_admitted", Conflict) as refused:
        brain.programs.find(slug)
    assert refused.value.hint.endswith(f"`brain evolve admit {slug}`")
    with pytest.raises(Conflict):
        brain.programs.run(slug, {})
    assert [row.status for row in brain.programs.list() if row.slug == slug] != ["runnable"]


def state_file(brain: Brain) -> Path:
    (found,) = (Path(os.environ["HOME"]) / ".local/state/brain/admitted").iterdir()
    return found


def test_an_acquired_program_runs_as_it_was_tried(acquired):
    assert acquired.programs.find(SLUG).files == program_files()
    assert [row.status for row in acquired.programs.list()] == ["runnable"]
    operation = next(iter(acquired.history.log())).operation
    assert (operation["kind"], operation["from_version"], operation["to_version"]) == (
        *("admit", "", "1"),
    )
    assert acquired.verify(deep=True).findings == []


def test_what_was_tried_here_is_noted_for_this_user_alone(acquired):
    path = state_file(acquired)
    assert path.name == acquired.programs.find(SLUG).id.hex()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def _edit_by_hand(brain: Brain) -> None:
    write_file(brain, CODE, OTHER_CODE.decode())


def _edit_and_record(brain: Brain) -> None:
    _edit_by_hand(brain)
    brain.snapshot()


def _manage(brain: Brain) -> None:
    Toolbox(brain).call(
        "skill_manage",
        {"action": "write_file", "name": SLUG, "file_path": "skill.py", "file_content": "1\n"},
    )


def _upsert(brain: Brain) -> None:
    brain.skills.upsert(SLUG, files={"skill.py": OTHER_CODE})


def _edit_test(brain: Brain) -> None:
    brain.skills.edit(SLUG, lambda _: b"def check(payload, output): pass\n", file="tests/check.py")


def _edit_schema(brain: Brain) -> None:
    brain.files.edit(f"skills/{SLUG}/schema.json", lambda _: b'{"type": "object"}')


def _add_test_file(brain: Brain) -> None:
    brain.skills.edit(SLUG, lambda _: b"1\n", file="tests/data.txt")


def _restore_unadmitted(brain: Brain) -> None:
    before = _upsert_then_readmit(brain)
    brain.restore(before, [CODE])


def _revert_to_unadmitted(brain: Brain) -> None:
    _upsert_then_readmit(brain)
    brain.skills.revert(SLUG, "2")


def _upsert_then_readmit(brain: Brain) -> str:
    changed = brain.skills.upsert(SLUG, files={"skill.py": OTHER_CODE}).snapshot
    acquire_untested(brain, acquire_request())
    return changed


def _absorb(brain: Brain) -> None:
    brain.skills.upsert("other", "Text.\n", description="d", files={"tests/more.py": b"1\n"})
    brain.skills.merge(SLUG, "other")


def _merge_branch(brain: Brain) -> None:
    brain.branches.create("side")
    brain.branches.switch("side")
    _upsert(brain)
    brain.branches.switch("main")
    brain.skills.upsert("unrelated", "Text.\n", description="d")
    brain.merge.start("side")


def _undo(brain: Brain) -> None:
    brain.undo()
    for path, content in program_files().items():
        write_file(brain, f"skills/{SLUG}/{path}", content.decode())
    write_file(brain, f"skills/{SLUG}/SKILL.md", skill_text(SLUG))
    brain.snapshot()


@pytest.mark.parametrize(
    "change",
    [
        *(_edit_by_hand, _edit_and_record, _manage, _upsert, _edit_test, _edit_schema),
        *(_add_test_file, _restore_unadmitted, _revert_to_unadmitted, _absorb, _merge_branch),
        _undo,
    ],
)
def test_a_changed_program_does_not_run_until_it_is_admitted(acquired, change):
    change(acquired)
    assert_not_admitted(acquired)
    done = admit_untested(acquired, SLUG)
    assert done.changed
    acquired.programs.find(SLUG)
    assert acquired.verify(deep=True).findings == []


def test_a_change_that_is_taken_back_leaves_the_admission(acquired):
    code = (acquired.root / CODE).read_bytes()
    _edit_and_record(acquired)
    (acquired.root / CODE).write_bytes(code)
    acquired.snapshot()
    acquired.programs.find(SLUG)


def test_the_text_of_a_skill_may_change(acquired):
    acquired.skills.upsert(SLUG, "Other words.\n")
    assert acquired.programs.find_runnable(SLUG).skill.card.version == "2"


def test_a_renamed_skill_runs_as_the_same_program(acquired):
    acquired.skills.rename(SLUG, "count-words")
    assert acquired.programs.find("count-words").files == program_files()
    assert acquired.verify(deep=True).findings == []


def test_new_code_in_the_folder_is_recorded_and_admitted(brain):
    brain.skills.upsert(SLUG, "Text.\n", description="d")
    for path, content in program_files().items():
        write_file(brain, f"skills/{SLUG}/{path}", content.decode())
    with raises_code("no_program", NotFound):
        brain.programs.find(SLUG)
    admit_untested(brain, SLUG)
    brain.programs.find(SLUG)
    assert brain.status().clean


def test_an_adopted_program_does_not_run(brain, tmp_path):
    home = tmp_path / "home" / "skills" / SLUG
    for path, content in {**program_files(), "SKILL.md": skill_text(SLUG).encode()}.items():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_bytes(content)
    brain.close()
    with Brain.open(brain.root) as opened:
        Brain.adopt(tmp_path / "home", opened.root)
    with Brain.open(brain.root) as opened:
        assert [row.status for row in opened.programs.list()] == ["not_admitted"]
        assert_not_admitted(opened)


def test_a_copy_full_of_code_that_others_admitted_runs_nothing(acquired, tmp_path, other_machine):
    for number in range(3):
        acquire_untested(acquired, acquire_request(f"other-{number}", str(number)))
    acquired.close()
    shutil.rmtree(tmp_path / "other-user")
    shutil.copytree(acquired.root, tmp_path / "copy")
    with Brain.open(tmp_path / "copy") as copy:
        assert {row.status for row in copy.programs.list()} == {"not_tried"}
        for row in copy.programs.list():
            assert_not_admitted(copy, row.slug)


def test_what_the_lineage_admits_is_tried_here_without_a_new_snapshot(acquired, other_machine):
    head = acquired.head
    assert_not_admitted(acquired)
    assert not admit_untested(acquired, SLUG).changed
    assert acquired.head == head
    acquired.programs.find(SLUG)


def test_a_fork_tries_its_programs_itself(acquired, tmp_path):
    acquired.fork(tmp_path / "fork")
    with Brain.open(tmp_path / "fork") as fork:
        assert_not_admitted(fork)
        assert admit_untested(fork, SLUG).changed
        fork.programs.find(SLUG)
        assert fork.verify(deep=True).findings == []


def test_an_undone_admission_does_not_count_and_a_redone_one_does(brain):
    files = program_files()
    brain.skills.upsert(SLUG, "Text.\n", description="d", files=files)
    admit_untested(brain, SLUG)
    brain.programs.find(SLUG)
    brain.undo()
    assert_not_admitted(brain)
    brain.redo()
    brain.programs.find(SLUG)


def test_an_admission_on_another_branch_does_not_count(brain):
    brain.skills.upsert(SLUG, "Text.\n", description="d", files=program_files())
    brain.branches.create("side")
    brain.branches.switch("side")
    admit_untested(brain, SLUG)
    brain.branches.switch("main")
    assert_not_admitted(brain)
    brain.merge.start("side")
    brain.programs.find(SLUG)


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b"{}"),
        lambda path: path.write_bytes(path.read_bytes()[:40]),
        lambda path: path.write_bytes(b"[" * 60_000),
        lambda path: path.write_bytes(path.read_bytes() + b" " * 70_000),
        lambda path: path.write_bytes(path.read_bytes().replace(path.name.encode(), b"0" * 64)),
        lambda path: path.chmod(0o666),
        lambda path: path.parent.chmod(0o777),
        lambda path: (path.rename(path.parent / "x"), path.symlink_to("x")),
        lambda path: path.unlink(),
    ],
)
def test_a_damaged_note_of_this_machine_counts_as_none(acquired, damage):
    damage(state_file(acquired))
    assert_not_admitted(acquired)


def test_with_its_notes_inside_of_the_brain_nothing_is_admitted_or_recorded(brain, monkeypatch):
    head = brain.head
    monkeypatch.setenv(STATE_DIR_VARIABLE, str(brain.root / "state"))
    with raises_code("bad_state_folder", BrainError):
        acquire_untested(brain, acquire_request())
    assert brain.head == head


def test_a_skill_without_code_says_so(brain):
    brain.skills.upsert("plain", "Text.\n", description="d")
    for slug, code in (("plain", "no_program"), ("nothing", "no_skill")):
        with raises_code(code, NotFound):
            brain.programs.find(slug)
    assert brain.programs.list() == []


def test_a_program_with_a_link_is_refused(acquired):
    (acquired.root / f"skills/{SLUG}/tests/link.txt").symlink_to("check.py")
    acquired.snapshot()
    with raises_code("bad_program", BrainError):
        acquired.programs.find(SLUG)
    assert [row.status for row in acquired.programs.list()] == ["unusable"]


def test_approvals_are_of_one_program_and_outlast_a_new_trial(acquired, tmp_path):
    (tmp_path / "notes").mkdir()
    notes = {"notes": str(tmp_path / "notes")}
    acquired.programs.approve(SLUG, folders=notes, hosts=("example.org",))
    admit_untested(acquired, SLUG)
    tried = acquired.programs.find_runnable(SLUG).tried
    assert (tried.folders, tried.hosts) == (notes, ("example.org",))
    acquire_untested(acquired, acquire_request(answer="1"))
    assert acquired.programs.find_runnable(SLUG).tried.folders == {}


def test_an_admission_that_this_machine_cannot_note_says_that_it_is_recorded(brain):
    plan = plan_acquired(brain._session, acquire_request())
    note = require_state_folder(brain._session) / plan.program.id.hex()
    note.mkdir()
    with raises_code("not_noted", BrainError) as refused:
        acquire_untested(brain, acquire_request())
    assert brain.head[:12] in refused.value.message
    assert refused.value.hint.endswith(f"then run `brain evolve admit {SLUG}`")
    note.rmdir()
    assert not admit_untested(brain, SLUG).changed
    assert brain.programs.find(SLUG).files == program_files()
