"""Transcripts of other programs, found in folders once they end."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from brain import Brain
from brain.evolve.hard_runs import QUIET_MS, TranscriptFolders


@pytest.fixture
def sessions(tmp_path):
    folder = tmp_path / "sessions"
    folder.mkdir()
    return folder


def write_session(folder: Path, name: str, calls: int, ended: int) -> None:
    """Write messages of OpenAI with calls of a tool, last changed at `ended` (ms)."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"Audit {name}"}]
    for number in range(calls):
        function = {"name": "terminal", "arguments": "{}"}
        call = {"id": f"c{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": "said"})
    file = folder / f"{name}.json"
    file.write_text(json.dumps(messages))
    os.utime(file, ns=(ended * 1_000_000, ended * 1_000_000))


class Poller:
    """Folders that are looked at by a clock of the test."""

    def __init__(self, brain: Brain, folder: Path) -> None:
        self.now = 1_800_000_000_000
        self._folders = TranscriptFolders(brain, [folder], lambda: self.now)

    def poll(self, later: int = 0) -> list[str]:
        self.now += later
        return [Path(found.file).stem for found in self._folders.poll() for _ in found.queued]


def test_a_hard_session_is_queued_once_it_is_quiet(brain, sessions):
    poller = Poller(brain, sessions)
    assert poller.poll() == []
    write_session(sessions, "hard", 5, poller.now + 1000)
    write_session(sessions, "easy", 1, poller.now + 1000)
    assert poller.poll(2000) == []
    assert poller.poll(QUIET_MS) == ["hard"]
    assert poller.poll(QUIET_MS) == []


def test_sessions_from_before_are_left_alone(brain, sessions):
    poller = Poller(brain, sessions)
    write_session(sessions, "old", 9, poller.now - 1)
    assert poller.poll() == [] and poller.poll(QUIET_MS) == []


def test_a_session_that_ended_while_nobody_looked_is_found_later(brain, sessions):
    first = Poller(brain, sessions)
    first.poll()
    write_session(sessions, "hard", 5, first.now + 1000)
    second = Poller(brain, sessions)
    assert second.poll(10 * QUIET_MS) == ["hard"]
    third = Poller(brain, sessions)
    assert third.poll(11 * QUIET_MS) == []


def test_other_files_and_broken_ones_are_no_transcripts(brain, sessions):
    poller = Poller(brain, sessions)
    poller.poll()
    for name, text in (("a.json", "{"), ("b.jsonl", "no"), ("c.txt", "[]"), ("d.json", "")):
        (sessions / name).write_text(text)
        at = (poller.now + 1000) * 1_000_000
        os.utime(sessions / name, ns=(at, at))
    (sessions / "link.json").symlink_to("/nowhere")
    assert poller.poll(2 * QUIET_MS) == []


def test_in_the_mode_off_nothing_is_queued(brain, sessions):
    poller = Poller(brain, sessions)
    poller.poll()
    (brain.root / "manifest.yaml").write_text("evolution:\n  mode: off\n")
    brain.snapshot()
    write_session(sessions, "hard", 5, poller.now + 1000)
    assert poller.poll(2 * QUIET_MS) == []
