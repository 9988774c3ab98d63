"""`kill -9` at any point of an adoption."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from brain import Brain
from tests.support import killed_adoption
from tests.support.agent_homes import make_hermes_home, write_files
from tests.support.killed_adoption import KNOWN_SOURCE_KILL_POINTS, NEW_BRAIN_KILL_POINTS

IN_PLACE = """
import os, signal, sys
from pathlib import Path
from brain import Brain
from brain.folder import write

usual, left = write._rename, int(sys.argv[2])

def last(*args):
    global left
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    usual(*args)

write._rename = last
Brain.adopt(Path(sys.argv[1]))
"""
"""Adopts a home in place, and is killed before so many files have their name."""


def state(number: int) -> dict[str, str]:
    """Return the files of the source at one time."""
    head = f"---\nname: a\ndescription: About a\nversion: {number}\n---\n"
    more = {f"skills/s{n}/SKILL.md": f"{n}\n" for n in range(number)}
    return {"skills/a/SKILL.md": head, **more}


def killed(source: Path, jobs: list[tuple[Path, str]]) -> list[int]:
    """Run the jobs; return how the processes ended."""
    jobs_json = json.dumps([(str(folder), point) for folder, point in jobs])
    command = [sys.executable, killed_adoption.__file__, str(source), jobs_json]
    done = subprocess.run(command, check=True, capture_output=True)
    return [int(status) for status in json.loads(done.stdout)]


def adopted(folder: Path) -> dict[str, str]:
    """Return the files that were adopted, after a verification of everything."""
    if not (folder / ".brain").exists():
        return {}
    with Brain.open(folder) as brain:
        verified = brain.verify(deep=True)
        assert verified.ok and not [row for row in verified.findings if row.severity == "error"]
        paths = {info.path for info in brain.files.list()} - {"manifest.yaml", OWN}
        return {path: brain.files.read(path).decode() for path in paths}


OWN = "skills/own/SKILL.md"


@pytest.mark.parametrize("known", [0, 2], ids=["a new brain", "a brain that knows the source"])
def test_a_killed_adoption_leaves_the_old_or_the_new_and_the_next_one_finishes_it(tmp_path, known):
    source = tmp_path / "source"
    before = state(known) if known else {}
    if known:
        Brain.adopt(write_files(source, before), tmp_path / "known")
        with Brain.open(tmp_path / "known") as brain:
            brain.skills.upsert("own", "Learned here.\n", description="Own")
    write_files(source, state(5))
    jobs = [
        (tmp_path / f"{n}", point)
        for n, point in enumerate(KNOWN_SOURCE_KILL_POINTS if known else NEW_BRAIN_KILL_POINTS)
    ]
    for folder, _ in jobs:
        if known:
            shutil.copytree(tmp_path / "known", folder)
    assert set(killed(source, jobs)) == {-signal.SIGKILL}

    merged = []
    for folder, point in jobs:
        there = adopted(folder)
        assert there in (before, state(5)), point
        merged.append(there == state(5))
        assert not Brain.adopt(source, folder).conflicts
        assert adopted(folder) == state(5), point
        with Brain.open(folder) as brain:
            assert brain.status().clean, point
            assert (OWN in {info.path for info in brain.files.list()}) == bool(known), point
    assert merged == sorted(merged) and merged[-1] and not merged[0]
    assert not Brain.adopt(source, jobs[-1][0]).changed


@pytest.mark.parametrize("number", [1, 2], ids=[".brainignore", "manifest.yaml"])
def test_what_a_killed_adoption_in_place_left_half_written_goes_with_the_next(tmp_path, number):
    home = make_hermes_home(tmp_path / "home")
    write_files(home, {".brain-tmp-notes": "Somebody else's."})
    ended = subprocess.run([sys.executable, "-c", IN_PLACE, str(home), str(number)], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert len(list(home.glob(".brain-tmp-*"))) == 2 and not (home / ".brain").exists()
    assert Brain.adopt(home).changed
    assert [path.name for path in home.glob(".brain-tmp-*")] == [".brain-tmp-notes"]
