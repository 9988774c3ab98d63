"""Publications that are killed, or that meet in one folder."""

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from brain import Brain
from brain.adopting import publish
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
    publish(brain, sys.argv[5], Path(sys.argv[4]))
"""


@pytest.fixture
def brain(tmp_path):
    made = Brain.init(write_files(tmp_path / "brain", {"skills/a/SKILL.md": skill_text("a", "A.")}))
    made.snapshot()
    return made


def leftovers(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob(".brain-tmp-*"))


def publish_until_killed(call: str, number: int, brain: Brain, out: Path, client: str) -> None:
    """Publish in a process that is killed when it makes a call for the given time."""
    given = [call, str(number), str(brain.root), str(out), client]
    done = subprocess.run([sys.executable, "-c", KILLED, *given], check=False)
    assert done.returncode == -signal.SIGKILL


@pytest.mark.parametrize(
    ("call", "number", "where"),
    [("replace", 1, ""), ("replace", 2, "z/"), ("rename", 1, "")],
    ids=["the record", "a file", "a new folder"],
)
def test_what_a_killed_publication_left_goes_with_the_next(tmp_path, brain, call, number, where):
    out = tmp_path / "out"
    write_files(brain.root, {"skills/z/SKILL.md": skill_text("z", "Z.")})
    brain.snapshot()
    publish(brain, "agentskills", out)
    write_files(
        brain.root, {f"skills/{name}/SKILL.md": skill_text(name, "Newer.") for name in "nz"}
    )
    brain.snapshot()
    publish_until_killed(call, number, brain, out, "agentskills")
    assert any(path.startswith(f"{where}.brain-tmp-") for path in leftovers(out))
    write_files(out, {".brain-tmp-of-mine": "", "other/.brain-tmp-0123456789abcdef": ""})

    assert not publish(brain, "agentskills", out).conflicts

    assert leftovers(out) == [".brain-tmp-of-mine", "other/.brain-tmp-0123456789abcdef"]
    assert all("Newer" in (out / name / "SKILL.md").read_text() for name in "nz")
    assert not publish(brain, "agentskills", out).written


def test_what_another_brain_may_be_writing_there_stays(tmp_path, brain):
    Brain.init(tmp_path / "other")
    out = write_files(tmp_path / "other/out", {".brain-tmp-0123456789abcdef": ""})
    publish(brain, "agentskills", out)
    assert leftovers(out) == [".brain-tmp-0123456789abcdef"]


def test_two_publications_do_not_meet_in_one_folder(tmp_path, brain):
    out = tmp_path / "out"
    out.mkdir()
    handle = os.open(out, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    with pytest.raises(Locked):
        publish(brain, "agentskills", out)
    assert publish(brain, "agentskills", out, dry_run=True).written and not os.listdir(out)
    os.close(handle)
    assert publish(brain, "agentskills", out).written


@pytest.mark.parametrize("then", ["publish", "adopt"])
@pytest.mark.parametrize(
    ("call", "number"),
    [("replace", 1), ("replace", 2), ("replace", 3), ("rename", 1), ("unlink", 1), ("replace", 4)],
    ids=["the record", "a file", "another file", "a new folder", "a removal", "the last record"],
)
def test_a_killed_publication_into_an_adopted_home_is_finished_and_changes_nothing_else(
    tmp_path, call, number, then
):
    names = ("1", "2", "3", "gone")
    texts = {f"skills/{name}/SKILL.md": skill_text(f"named-{name}", "Old.") for name in names}
    home = write_files(tmp_path / ".claude", {"projects/": "", "CLAUDE.md": "All.\n", **texts})
    Brain.adopt(home, tmp_path / "brain")
    with Brain.open(tmp_path / "brain") as brain:
        newer = {name: skill_text(f"named-{name}", "Newer.") for name in ("1", "2", "new")}
        write_files(brain.root, {f"skills/{name}/SKILL.md": newer[name] for name in newer})
        brain.snapshot()
        brain.skills.delete("gone")
        head = brain.head
        publish_until_killed(call, number, brain, home, "claude")
        for name in ("1", "2"):  # each file is the old or the new one
            text = (home / "skills" / name / "SKILL.md").read_text()
            assert text in (newer[name], texts[f"skills/{name}/SKILL.md"])

        if then == "adopt":
            Brain.adopt(home, brain.root)
            assert not brain.history.diff(head, "@").changes
        assert not publish(brain, "claude", home).conflicts

        found = {path.parent.name: path.read_text() for path in home.glob("skills/*/SKILL.md")}
        assert found.keys() == {"1", "2", "3", "new"} and leftovers(home) == []
        assert found["3"] == texts["skills/3/SKILL.md"]
        assert (found["1"], found["2"]) == (newer["1"], newer["2"])
        done = publish(brain, "claude", home)
        assert not done.written and not done.removed
