"""`brain watch` as a process of its own, with real changes; no test waits for a time to pass."""

from __future__ import annotations

import json
import queue
import signal
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import pytest

from tests.cli.conftest import COMMAND, Call, validate
from tests.support.processes import TIMEOUT_SECONDS


class Watcher:
    """A running `brain watch`; what it prints can be waited for."""

    def __init__(self, agent: Path, *options: str) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, "watch", *options],
            cwd=agent,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._threads: list[threading.Thread] = []
        self.out, self.err = (
            self._lines(pipe) for pipe in (self.process.stdout, self.process.stderr)
        )

    def _lines(self, pipe: IO[str] | None) -> queue.SimpleQueue[str]:
        lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        assert pipe is not None

        def read() -> None:
            for line in pipe:
                lines.put(line.rstrip("\n"))

        self._threads.append(threading.Thread(target=read))
        self._threads[-1].start()
        return lines

    def ready(self) -> Watcher:
        """Wait until it watches."""
        assert self.err.get(timeout=TIMEOUT_SECONDS).startswith("Watching ")
        return self

    def next(self) -> str:
        """Return what it says of the next snapshot, without the id."""
        return self.out.get(timeout=TIMEOUT_SECONDS).split(": ", 1)[1]

    def end(self, number: int = signal.SIGTERM) -> tuple[int, list[str]]:
        """End it by a signal; return its exit status, and what it still printed."""
        self.process.send_signal(number)
        return self.left()

    def left(self) -> tuple[int, list[str]]:
        status = self.process.wait(TIMEOUT_SECONDS)
        for thread in self._threads:
            thread.join()
        rest = []
        while not self.out.empty():
            rest.append(self.out.get())
        return status, rest


Start = Callable[..., Watcher]


@pytest.fixture
def start(agent):
    running: list[Watcher] = []

    def made(*options: str) -> Watcher:
        running.append(Watcher(agent, *options))
        return running[-1]

    yield made
    for watcher in running:
        watcher.process.kill()
        watcher.left()
        for pipe in (watcher.process.stdout, watcher.process.stderr):
            if pipe is not None:
                pipe.close()


def snapshots(cli: Call) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cli("log", "--json").document["snapshots"]
    return found


def test_what_an_editor_changes_is_recorded_and_said_in_words(agent, start, cli):
    watcher = start("--debounce", "0").ready()
    with (agent / "skills/reentrancy/SKILL.md").open("a") as file:
        file.write("More.\n")
    assert watcher.next() == "reentrancy edited"
    with (agent / "memory/notes.md").open("a") as file:
        file.write("three\nfour\nfive\n")
    assert watcher.next() == "memory/notes.md +3 lines"
    assert watcher.end() == (0, [])
    assert [entry["message"] for entry in snapshots(cli)[:2]] == [
        "memory/notes.md +3 lines",
        "reentrancy edited",
    ]


def test_what_changed_while_nobody_watched_is_recorded_first(agent, start):
    (agent / "memory/notes.md").write_text("one\n")
    watcher = start()
    assert watcher.next() == "memory/notes.md -1 line"
    watcher.ready()
    watcher.process.kill()
    watcher.process.wait(TIMEOUT_SECONDS)
    (agent / "memory/notes.md").write_text("one\ntwo\n")
    again = start()
    assert again.next() == "memory/notes.md +1 line"
    assert again.ready().end() == (0, [])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_when_what_waits_is_recorded(agent, start, cli, number):
    watcher = start("--debounce", "3600", "--max-wait", "3600").ready()
    (agent / "SOUL.md").write_text("Calm.\n")
    status, (line,) = watcher.end(number)
    assert status == 0 and line.endswith(": SOUL.md added")
    assert cli("status", "--json").document["clean"]


def test_an_upsert_by_another_process_makes_no_second_snapshot(agent, start, cli):
    watcher = start("--debounce", "0").ready()
    before = len(snapshots(cli))
    for number in range(3):
        assert cli("skill", "upsert", "reentrancy", "-d", f"Text {number}").status == 0
    (agent / "SOUL.md").write_text("Calm.\n")
    assert watcher.next() == "SOUL.md added"
    assert watcher.end() == (0, [])
    assert len(snapshots(cli)) == before + 4


def test_temporary_files_of_editors_are_no_changes(agent, start):
    watcher = start("--debounce", "0.3").ready()
    (agent / "4913").touch()
    (agent / "4913").unlink()
    (agent / ".SOUL.md.swp").write_text("x")
    (agent / "SOUL.md~").write_text("x")
    (agent / "#SOUL.md#").write_text("x")
    (agent / "SOUL.md.tmp.4711").write_text("Calm.\n")
    (agent / "SOUL.md.tmp.4711").replace(agent / "SOUL.md")
    assert watcher.end()[1][-1].endswith(": SOUL.md added")


def test_a_file_that_is_being_written_is_recorded_when_nothing_more_comes(agent, start, cli):
    watcher = start("--debounce", "3", "--max-wait", "3600").ready()
    with (agent / "memory/slow.md").open("w") as file:
        for _ in range(50):
            file.write("line\n")
            file.flush()
    assert watcher.next() == "memory/slow.md added"
    assert watcher.end() == (0, [])
    assert cli("diff", "@~1", "@", "--stat", "--json").document["stat"] == [
        {"path": "memory/slow.md", "added": 50, "removed": 0}
    ]


def test_what_is_left_out_is_not_looked_at(agent, start):
    watcher = start("--debounce", "0").ready()
    (agent / ".brainignore").write_text("*.log\nscratch/\n")
    assert watcher.next() == ".brainignore added"
    (agent / "run.log").write_text("x")
    (agent / "scratch").mkdir()
    (agent / "scratch/x.md").write_text("x")
    (agent / "SOUL.md").write_text("Calm.\n")
    assert watcher.next() == "SOUL.md added"
    assert watcher.end() == (0, [])


def test_a_second_watcher_is_refused(agent, start, cli):
    watcher = start().ready()
    refused = cli("--json", "watch")
    assert (refused.status, refused.error["code"]) == (11, "watched")
    assert f"pid {watcher.process.pid}" in refused.error["message"]


def test_with_json_each_snapshot_is_one_line_that_keeps_its_schema(agent, start):
    (agent / "SOUL.md").write_text("Calm.\n")
    watcher = start("--json", "--debounce", "0")
    first = json.loads(watcher.out.get(timeout=TIMEOUT_SECONDS))
    (agent / "SOUL.md").write_text("Calm.\nKind.\n")
    second = json.loads(watcher.out.get(timeout=TIMEOUT_SECONDS))
    for document in (first, second):
        validate("watch", document)
    assert second["message"] == "SOUL.md +1 line" and second["parents"] == [first["snapshot"]]
    (agent / "soul.md").write_text("twin\n")
    error = json.loads(watcher.err.get(timeout=TIMEOUT_SECONDS))
    validate("error", error)
    assert error["error"]["code"] == "case_collision"


def test_it_ends_when_the_brain_is_gone(agent, start):
    watcher = start().ready()
    agent.rename(agent.with_name("elsewhere"))
    assert watcher.left()[0] == 10
    assert "is gone" in watcher.err.get(timeout=TIMEOUT_SECONDS)


def test_it_does_not_print_into_the_brain_it_watches(agent):
    with (agent / "watch.log").open("w") as log:
        done = subprocess.run(
            [*COMMAND, "watch"],
            cwd=agent,
            stdout=log,
            stderr=subprocess.PIPE,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    assert done.returncode == 2 and "watch.log" in done.stderr


@pytest.mark.parametrize("value", ["-1", "nan", "1e3", "99999", "", "x"])
def test_times_are_seconds(agent, cli, value):
    assert cli("watch", "--debounce", value).status == 2
