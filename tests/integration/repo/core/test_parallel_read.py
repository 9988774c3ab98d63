"""Many files read by forked children are recorded as if one process had read them."""

import os
import shutil
import signal
from collections.abc import Callable
from typing import Any

import pytest

from brain import Brain, InvalidInput
from brain.folder.read import CandidateFile
from brain.repo.core import parallel_read, read_files, working_copy
from brain.store import writer
from brain.store.rows import LARGE_BLOB_BYTES
from brain.util import process_pool
from brain.util.process_pool import MAX_QUEUED_JOBS
from tests.integration.repo.conftest import skill_text, write_file
from tests.support.processes import child_process_ids
from tests.support.refusals import raises_code

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forked children"),
    # What the children here do is safe whatever threads the tests before have left.
    pytest.mark.filterwarnings("ignore:This process:DeprecationWarning"),
]


@pytest.fixture
def large(brain, monkeypatch):
    """A brain whose files make several jobs for two children."""
    monkeypatch.setattr(writer, "BULK_LOAD_BYTES", 0)
    monkeypatch.setattr(read_files, "_MIN_PARALLEL_BYTES", 1)
    monkeypatch.setattr(parallel_read, "_MIN_GROUP_BYTES", 4096)
    monkeypatch.setattr(process_pool, "processor_count", lambda: 2)
    for number in range(300):
        name = f"skill-{number}" if number % 10 else f"Another name {number}"
        write_file(brain, f"skills/skill-{number}/SKILL.md", skill_text(name, number + 1))
    write_file(brain, "memory/empty.md", "")
    write_file(brain, "memory/large.jsonl", '{"a": 1}\n' * 40_000)
    (brain.root / "memory/link.md").symlink_to("empty.md")
    before = child_process_ids()
    yield brain
    assert child_process_ids() <= before


def forks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that grows with each fork."""
    fork, seen = os.fork, list[int]()

    def counted() -> int:
        child = fork()
        seen.append(child)
        return child

    monkeypatch.setattr(os, "fork", counted)
    return seen


def in_children(monkeypatch: pytest.MonkeyPatch, work: Callable[[list[Any]], None]) -> None:
    """Have each job of a child begin with `work`, which is given its files."""
    load = parallel_read._pack_group

    def changed(session: Any, packing: Any, group: list[Any]) -> Any:
        work(group)
        return load(session, packing, group)

    monkeypatch.setattr(parallel_read, "_pack_group", changed)


def assert_recorded(brain: Brain) -> None:
    assert brain.status().clean
    brain.verify(deep=True)
    assert len(brain.skills.list()) == 300
    assert brain.skills.view("another-name-10").path == "skills/skill-10/SKILL.md"
    assert brain.skills.view("skill-7").front_matter["version"] == 8


def test_children_record_what_one_process_records(large, monkeypatch, tmp_path):
    seen = forks(monkeypatch)
    done = large.snapshot()
    assert len(seen) == 2
    assert_recorded(large)
    monkeypatch.setattr(process_pool, "processor_count", lambda: 1)
    copy = tmp_path / "copy"
    shutil.copytree(large.root, copy, symlinks=True, ignore=shutil.ignore_patterns(".brain"))
    with Brain.init(copy, name="agent", author="tester") as other:
        assert other.snapshot().bundle == done.bundle
        assert_recorded(other)
    assert len(seen) == 2


def kill_self(group: list[Any]) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def leave(group: list[Any]) -> None:
    os._exit(0)


def fail(group: list[Any]) -> None:
    raise OSError("no more descriptors")


def fail_late(group: list[Any]) -> None:
    if any(candidate.path.endswith("skill-222/SKILL.md") for candidate in group):
        raise MemoryError


@pytest.mark.parametrize("work", [kill_self, leave, fail, fail_late])
def test_what_children_fail_to_do_is_done_without_them(large, monkeypatch, work):
    in_children(monkeypatch, work)
    large.snapshot()
    assert_recorded(large)


def test_without_another_process_the_work_is_done_here(large, monkeypatch):
    def refused() -> int:
        raise BlockingIOError

    monkeypatch.setattr(os, "fork", refused)
    large.snapshot()
    assert_recorded(large)


def test_a_file_that_changed_since_the_scan_is_recorded_as_it_was_read(large, monkeypatch):
    def grow() -> None:
        write_file(
            large, "skills/skill-3/SKILL.md", skill_text("skill-3", 77, "a" * LARGE_BLOB_BYTES)
        )
        write_file(large, "skills/skill-4/SKILL.md", skill_text("skill-4", 99))

    after_the_scan(monkeypatch, grow)
    large.snapshot()
    monkeypatch.undo()
    assert large.status().clean
    assert large.skills.view("skill-3").front_matter["version"] == 77
    assert large.skills.view("skill-4").front_matter["version"] == 99
    large.verify(deep=True)


def after_the_scan(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
    look = working_copy.scan_folder

    def scan(*given: Any) -> working_copy.FolderScan:
        seen = look(*given)
        happens()
        return seen

    monkeypatch.setattr(working_copy, "scan_folder", scan)


def test_a_file_that_vanished_is_the_error_it_always_is_and_nothing_is_recorded(large, monkeypatch):
    head = large.head
    after_the_scan(monkeypatch, (large.root / "skills/skill-3/SKILL.md").unlink)
    with raises_code("changed_while_reading", InvalidInput) as error:
        large.snapshot()
    assert "skills/skill-3/SKILL.md" in error.value.message
    assert large.head == head
    assert large.skills.list() == []
    monkeypatch.undo()
    large.snapshot()
    assert len(large.skills.list()) == 299


def test_an_interrupt_ends_the_children_and_records_nothing(large):
    head = large.head

    def interrupted(what: str, done: int, total: int) -> None:
        if what == "reading":
            raise KeyboardInterrupt

    before = child_process_ids()
    with pytest.raises(KeyboardInterrupt):
        large.snapshot(progress=interrupted)
    assert child_process_ids() <= before
    assert large.head == head
    large.snapshot()
    assert_recorded(large)


@pytest.mark.parametrize("count", [0, 1, MAX_QUEUED_JOBS, 2 * MAX_QUEUED_JOBS + 1, 9999])
def test_files_of_any_number_make_no_more_jobs_than_a_queue_holds(monkeypatch, count):
    monkeypatch.setattr(parallel_read, "_MIN_GROUP_BYTES", 1)
    files = [CandidateFile(f"{number}.md", 0, 1, b"") for number in range(count)]
    groups = parallel_read._split_into_groups(files)
    assert len(groups) <= MAX_QUEUED_JOBS
    assert [file for group in groups for file in group] == files
