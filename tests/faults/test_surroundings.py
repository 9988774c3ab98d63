"""Other processes, clocks, and what a killed writer left, met by readers and writers."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from brain_cli.invocation import run_cli

from brain import Brain, Locked
from brain.repo import transaction
from brain.results import Verified
from brain.store.writer import writer_lock
from brain.util.utc_time import epoch_ms
from tests.support.faults.fault_points import FaultPoint
from tests.support.faults.recovery_check import read_files
from tests.support.faults.write_scenarios import PROJECT, SCENARIOS, TARGET_SKILL, open_brain

HOLD = """
import sys
from pathlib import Path
from brain.store.writer import writer_lock
with writer_lock(Path(sys.argv[1]), 5):
    print("held", flush=True)
    sys.stdin.read()
"""

READS: dict[str, Callable[[Brain], object]] = {
    "status": Brain.status,
    "skills": lambda brain: brain.skills.list(),
    "log": lambda brain: list(brain.history.log()),
    "show": lambda brain: brain.history.show(),
    "diff": lambda brain: brain.history.diff(),
    "index": lambda brain: brain.prompt.build_index(),
    "prompt": lambda brain: brain.prompt.build(),
    "operations": lambda brain: brain.history.list_operations(),
    "verify": lambda brain: brain.verify(deep=True),
    "doctor": Brain.doctor,
    "check": lambda brain: brain.skills.check(),
    "history": lambda brain: brain.skills.history(TARGET_SKILL),
}


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "agent"
    made.mkdir()
    SCENARIOS["upsert"].prepare(made)
    return made


@contextmanager
def holding(control: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Let another process hold the lock; it is killed at the end."""
    command = [sys.executable, "-c", HOLD, control]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=PROJECT, stdin=pipe, stdout=pipe) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        yield holder
        holder.kill()


def kept(folder: Path) -> dict[str, bytes]:
    """Return all that a brain is, but for the index of the log, which readers share."""
    control = {path.name: path.read_bytes() for path in (folder / ".brain").iterdir()}
    del control["store.db-shm"]
    return {**control, **{path: content for path, (_, content) in read_files(folder).items()}}


def test_a_brain_that_another_process_holds_is_locked_by_its_pid(folder, monkeypatch, capsys):
    monkeypatch.setattr(transaction, "LOCK_TIMEOUT_SECONDS", 0.05)
    before = kept(folder)
    with holding(folder / ".brain") as holder:
        for name in SCENARIOS.keys() - {"init"}:
            with pytest.raises(Locked) as error:
                SCENARIOS[name].run(folder)
            assert error.value.message == f"the brain is locked by pid {holder.pid}"
        assert run_cli(["-C", str(folder), "snapshot"]) == 11
        assert f"pid {holder.pid}" in capsys.readouterr().err
        with open_brain(folder) as brain:
            for read in READS.values():
                read(brain)
    assert kept(folder) == {**before, "lock": b"%d\n" % holder.pid}
    SCENARIOS["upsert"].run(folder)
    assert (folder / ".brain" / "lock").read_bytes() == b""


def test_the_next_holder_is_told_whether_the_last_one_died(tmp_path):
    with writer_lock(tmp_path, 0) as died:
        assert not died
    with holding(tmp_path):
        pass
    with writer_lock(tmp_path, 0) as died:
        assert died
    with writer_lock(tmp_path, 0) as died:
        assert not died


@pytest.mark.parametrize("name", READS)
def test_reading_changes_nothing_even_what_a_killed_writer_left(arena, tmp_path, name):
    folder = tmp_path / "agent"
    arena.inject_and_leave(FaultPoint("upsert-new", "renameat", 1, "signal=SIGKILL"), folder)
    before = kept(folder)
    assert list(folder.glob(".brain-tmp-*"))
    with open_brain(folder) as brain:
        found = READS[name](brain)
        assert brain.status().clean
    assert not isinstance(found, Verified) or found.ok
    assert kept(folder) == before


def test_a_clock_that_steps_changes_neither_versions_nor_order(folder):
    day = 86_400_000
    with open_brain(folder) as brain:
        first = brain.skills.history(TARGET_SKILL)[0].version
        assert isinstance(first, int)
        start = epoch_ms(brain.history.show().info.time)
        done = []
        for step in (-day, 3650 * day, 0, -3650 * day, 1):
            brain._session.clock = lambda step=step: start + step
            done.append(brain.skills.upsert(TARGET_SKILL, f"At {step}.\n"))
        assert [each.version for each in done] == [first + n for n in range(1, 6)]
        newest = [each.snapshot for each in brain.history.log(limit=5)]
        assert newest == [each.snapshot for each in reversed(done)]
        assert brain.skills.view(TARGET_SKILL).version == first + 5
        found = brain.verify(deep=True)
        assert found.ok
        assert {each.severity for each in found.findings} <= {"warning"}
