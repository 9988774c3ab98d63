"""Signals at any phase of a command: it ends at once, tidily, in the old state or the new."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.faults.recovery_check import read_files, read_state
from tests.support.faults.write_scenarios import SCENARIOS, open_brain, write_file
from tests.support.processes import TIMEOUT_SECONDS

COMMAND = (sys.executable, "-P", "-m", "brain_cli", "--author", "tester")
CALLS = ("openat", "pwrite64", "pread64", "fdatasync", "renameat", "ftruncate")
ENDS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
POINTS = 6
"""Signals of each kind."""


class Agent(NamedTuple):
    """A brain of some 300 files with work to record, and the phases of recording it."""

    folder: Path
    phases: list[tuple[str, int]]


def run(
    folder: Path, trace: Path, fault: str = "", command: Sequence[str] = ("snapshot",)
) -> subprocess.CompletedProcess[str]:
    """Run a command of `brain`; strace, and so this, ends when the last of its processes has."""
    watch = ["strace", "-f", "-y", "-s", "200", "-o", os.fspath(trace)]
    watch += ["-e", "signal=none", "-e", "trace=" + ",".join(CALLS)]
    if fault:
        watch += ["-e", f"inject={fault}"]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}
    return subprocess.run(
        [*watch, *COMMAND, "-C", folder, *command, "--json"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )


@pytest.fixture(scope="module")
def agent(tmp_path_factory):
    folder = tmp_path_factory.mktemp("signals") / "agent"
    folder.mkdir()
    subprocess.run([*COMMAND, "-C", folder, "init"], capture_output=True, check=True)
    for number in range(300):
        write_file(folder, f"memory/{number % 20}/{number}.md", f"Lesson {number}\n" * 20)
    trace, copy = folder.parent / "trace", folder.parent / "copy"
    shutil.copytree(folder, copy)
    assert run(copy, trace).returncode == 0
    shutil.rmtree(copy)
    return Agent(folder, phases(trace.read_text().splitlines()))


def phases(trace: list[str]) -> list[tuple[str, int]]:
    """Return the calls, each with its number, from the moment on when the store is opened."""
    seen = dict.fromkeys(CALLS, 0)
    found: list[tuple[str, int]] = []
    for line in trace:
        call = line.split(None, 1)[1].partition("(")[0]
        if call in seen:
            seen[call] += 1
            if found or "/.brain/store.db" in line:
                found.append((call, seen[call]))
    return found


@pytest.mark.parametrize("number", ENDS, ids=lambda number: number.name)
def test_a_signal_at_any_phase_ends_a_snapshot_and_leaves_nothing_half_done(
    agent, tmp_path, number
):
    before = read_state(agent.folder)
    assert before is not None
    chance = random.Random(number.name)
    statuses = set()
    for call, when in chance.sample(agent.phases, POINTS):
        folder = tmp_path / "agent"
        shutil.copytree(agent.folder, folder)
        done = run(folder, tmp_path / "trace", f"{call}:signal={number.name}:when={when}")
        again = f"{number.name} at {call} {when}: {done}"
        statuses.add(done.returncode)
        if done.returncode:
            assert done.returncode == ENDS[number], again
            word = "interrupted" if number == signal.SIGINT else "terminated"
            assert json.loads(done.stderr)["error"]["code"] == word, again
        state = read_state(folder)
        assert state is not None and state.operations in (before.operations, before.operations + 1)
        if json.loads(done.stdout or "{}").get("changed"):
            assert state.operations == before.operations + 1, again
        assert not list(folder.rglob(".brain-tmp-*")), again
        assert (folder / ".brain" / "lock").read_bytes() == b"", again
        assert read_files(folder) == read_files(agent.folder), again
        with open_brain(folder) as brain:
            brain.snapshot()
            assert brain.status().clean, again
            assert len(list(brain.history.log())) == 2, again
        shutil.rmtree(folder)
    assert ENDS[number] in statuses


@pytest.mark.parametrize("number", ENDS, ids=lambda number: number.name)
def test_a_signal_at_any_phase_ends_a_collection_that_the_next_one_finishes(tmp_path, number):
    made, folder, trace = tmp_path / "made", tmp_path / "agent", tmp_path / "trace"
    made.mkdir()
    SCENARIOS["gc"].prepare(made)
    collect = ("gc", "--grace", "0")
    shutil.copytree(made, folder)
    assert json.loads(run(folder, trace, "", collect).stdout)["removed"] > 0
    points = phases(trace.read_text().splitlines())
    for call, when in random.Random(number.name).sample(points, POINTS):
        shutil.rmtree(folder)
        shutil.copytree(made, folder)
        done = run(folder, trace, f"{call}:signal={number.name}:when={when}", collect)
        again = f"{number.name} at {call} {when}: {done}"
        assert done.returncode in (0, ENDS[number]), again
        assert (folder / ".brain" / "lock").read_bytes() == b"", again
        with open_brain(folder) as brain:
            assert brain.verify(deep=True).ok, again
            brain.gc(grace=0)
            assert brain.gc(grace=0).removed == 0, again
            assert brain.verify(deep=True).ok, again
        assert read_files(folder) == read_files(made), again
