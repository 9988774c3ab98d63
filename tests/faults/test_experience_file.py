"""Kills and failing system calls while `.brain/evolution.db` is made and written."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from brain.experience.store import Store
from tests.support.experience_steps import STEPS, read_state, take_steps
from tests.support.processes import TIMEOUT_SECONDS

WATCHED_CALLS = ("pwrite64", "fdatasync", "ftruncate", "rename", "fchmod")
KILLS_PER_CALL = 4
ERRORS = [("pwrite64", 1, "ENOSPC"), ("pwrite64", 9, "EIO"), ("fdatasync", 9, "EIO")]


def run_steps(folder: Path, trace: Path, call: str = "", fault: str = "") -> tuple[int, str, str]:
    """Take the steps in a process under strace; return its status and what it printed."""
    watched = call or ",".join(WATCHED_CALLS)
    words = ["strace", "-f", "-qq", "-o", trace, "-e", f"trace={watched}", "-e", "signal=none"]
    if fault:
        words += ["-e", f"inject={call}:{fault}"]
    done = subprocess.run(
        [*words, sys.executable, "-B", "-m", "tests.support.experience_steps", folder],
        check=False,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        timeout=TIMEOUT_SECONDS,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def states(tmp_path_factory):
    """The state after each number of steps."""
    found = []
    for count in range(len(STEPS) + 1):
        store = Store(tmp_path_factory.mktemp("steps"))
        take_steps(store, count)
        found.append(read_state(store))
        store.close()
    return found


@pytest.fixture(scope="module")
def call_counts(tmp_path_factory):
    """How often a process that is left alone makes each call."""
    folder = tmp_path_factory.mktemp("calls")
    trace = tmp_path_factory.mktemp("trace") / "trace"
    assert run_steps(folder, trace)[0] == 0
    return Counter(re.findall(r"^\d+ +(\w+)\(", trace.read_text(), re.MULTILINE))


def check_and_go_on(folder: Path, said: str, states: list[object]) -> None:
    """Check that each step that was reported is there, at most one more, and none in part."""
    reported = len(said.split())
    store = Store(folder)
    assert read_state(store) in states[reported : reported + 2]
    store.change("after", lambda _: {"goes": "on"})
    assert store.fact("after") == {"goes": "on"}
    store.close()


@pytest.mark.parametrize("call", WATCHED_CALLS)
def test_a_kill_keeps_whole_steps_and_the_next_process_goes_on(tmp_path, states, call_counts, call):
    count = call_counts[call]
    assert count > 0
    for number in sorted({1 + index * count // KILLS_PER_CALL for index in range(KILLS_PER_CALL)}):
        folder = tmp_path / str(number)
        folder.mkdir()
        status, said, _ = run_steps(
            folder, tmp_path / "trace", call, f"signal=SIGKILL:when={number}"
        )
        assert status == -9, (call, number)
        check_and_go_on(folder, said, states)


@pytest.mark.parametrize(("call", "number", "error"), ERRORS)
def test_an_error_of_the_system_is_typed_and_keeps_whole_steps(
    tmp_path, states, call, number, error
):
    folder = tmp_path / "brain"
    folder.mkdir()
    status, said, problem = run_steps(
        folder, tmp_path / "trace", call, f"error={error}:when={number}"
    )
    assert status == 3, problem
    assert problem.split() in (["no_space"], ["io_error"])
    check_and_go_on(folder, said, states)
