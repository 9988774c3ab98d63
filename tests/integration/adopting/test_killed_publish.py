"""Publications that are killed, or that meet in one folder."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from brain import Brain
from brain.adopting import PublishRequest, publish
from brain.errors import Locked
from tests.support.agent_homes import skill_text, write_files

KILLED = """
import os, signal, sys
from pathlib import Path
from brain import Brain
from brain.adopting import publish

name, calls = sys.argv[1], int(sys.argv[2])
real = getattr(os, name)

def last(*given, **named):
    global calls
    calls -= 1
    if not calls:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*given, **named)

setattr(os, name, last)
with Brain.open(Path(sys.argv[3])) as brain:
    publish(brain, "agentskills", Path(sys.argv[4]))
"""


@pytest.fixture
def brain(tmp_path: Path) -> Brain:
    made = Brain.init(write_files(tmp_path / "brain", {"skills/a/SKILL.md": skill_text("a", "A.")}))
    made.snapshot()
    return made


def leftovers(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob(".brain-tmp-*"))


@pytest.mark.parametrize(
    ("call", "number", "where"),
    [("replace", 1, ""), ("replace", 2, "z/"), ("rename", 1, "")],
    ids=["the record", "a file", "a new folder"],
)
def test_what_a_killed_publication_left_goes_with_the_next(
    tmp_path: Path, brain: Brain, call: str, number: int, where: str
) -> None:
    out = tmp_path / "out"
    write_files(brain.root, {"skills/z/SKILL.md": skill_text("z", "Z.")})
    brain.snapshot()
    publish(brain, "agentskills", out)
    write_files(
        brain.root, {f"skills/{name}/SKILL.md": skill_text(name, "Newer.") for name in "nz"}
    )
    brain.snapshot()
    given = [call, str(number), str(brain.root), str(out)]
    done = subprocess.run([sys.executable, "-c", KILLED, *given], check=False)
    assert done.returncode == -signal.SIGKILL
    assert any(path.startswith(f"{where}.brain-tmp-") for path in leftovers(out))
    write_files(out, {".brain-tmp-of-mine": "", "other/.brain-tmp-0123456789abcdef": ""})

    assert not publish(brain, "agentskills", out).conflicts

    assert leftovers(out) == [".brain-tmp-of-mine", "other/.brain-tmp-0123456789abcdef"]
    assert all("Newer" in (out / name / "SKILL.md").read_text() for name in "nz")
    assert not publish(brain, "agentskills", out).written


def test_what_another_brain_may_be_writing_there_stays(tmp_path: Path, brain: Brain) -> None:
    Brain.init(tmp_path / "other")
    out = write_files(tmp_path / "other/out", {".brain-tmp-0123456789abcdef": ""})
    publish(brain, "agentskills", out)
    assert leftovers(out) == [".brain-tmp-0123456789abcdef"]


def test_two_publications_do_not_meet_in_one_folder(tmp_path: Path, brain: Brain) -> None:
    out = tmp_path / "out"
    out.mkdir()
    handle = os.open(out, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    with pytest.raises(Locked):
        publish(brain, "agentskills", out)
    assert publish(
        brain, "agentskills", out, PublishRequest(dry_run=True)
    ).written and not os.listdir(out)
    os.close(handle)
    assert publish(brain, "agentskills", out).written
