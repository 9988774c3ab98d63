"""A script stays one that can be run, whichever way it comes into a brain or changes there."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from brain import Brain
from tests.cli.conftest import Call, cli, keys

__all__ = ["cli", "keys"]

SCRIPT = "#!/bin/sh\necho go\n"
GO = "skills/tool/scripts/go.sh"


@pytest.fixture
def brain(tmp_path, cli):
    """A brain with a skill taken from a folder: one script, one program, one plain file."""
    skill = tmp_path / "drafts/tool"
    (skill / "scripts").mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: tool\ndescription: T\n---\nRun scripts/go.sh.\n")
    for name, text, mode in (
        ("go.sh", SCRIPT, 0o755),
        ("no-line", "\x7fELF of a sort\n", 0o755),
        ("plain.txt", "plain\n", 0o644),
    ):
        (skill / "scripts" / name).write_text(text)
        (skill / "scripts" / name).chmod(mode)
    folder = tmp_path / "b"
    assert cli("init", str(folder)).status == 0
    assert cli("-C", str(folder), "skill", "upsert", "tool", "-f", str(skill)).status == 0
    return folder


def is_executable(file: Path) -> bool:
    return bool(file.stat().st_mode & 0o100)


def manage(cli: Call, brain: Path, **arguments: object) -> None:
    told = cli("-C", str(brain), "tools", "call", "skill_manage", json.dumps(arguments))
    assert told.status == 0, told.err


def test_a_skill_from_a_folder_keeps_which_of_its_files_can_be_run(brain, cli):
    scripts = brain / "skills/tool/scripts"
    assert subprocess.check_output([scripts / "go.sh"]) == b"go\n"
    assert [is_executable(scripts / name) for name in ("no-line", "plain.txt")] == [True, False]
    (brain.parent / "drafts/tool/scripts/plain.txt").chmod(0o755)
    again = cli(
        "-C", str(brain), "skill", "upsert", "tool", "-f", str(brain.parent / "drafts/tool")
    )
    assert again.status == 0 and is_executable(scripts / "plain.txt")
    assert cli("-C", str(brain), "--json", "status").document["clean"]


def test_a_new_script_that_a_tool_or_a_program_writes_can_be_run(brain, cli):
    write = {"action": "write_file", "name": "tool"}
    manage(cli, brain, **write, file_path="scripts/new.sh", file_content=SCRIPT)
    manage(cli, brain, **write, file_path="references/a.md", file_content="# not a script\n")
    with Brain.open(brain) as opened:
        opened.skills.upsert("tool", files={"scripts/api.sh": SCRIPT.encode()})
        opened.files.edit("bin/other.sh", lambda _: SCRIPT.encode())
    skill = brain / "skills/tool"
    assert subprocess.check_output([skill / "scripts/new.sh"]) == b"go\n"
    assert is_executable(skill / "scripts/api.sh") and is_executable(brain / "bin/other.sh")
    assert not is_executable(skill / "references/a.md")


def test_a_change_by_an_agent_keeps_the_rights_of_a_file_as_they_are(brain, cli):
    go = brain / GO
    manage(cli, brain, action="patch", name="tool", file_path="scripts/go.sh", old_string="go",
           new_string="went")  # fmt: skip
    assert subprocess.check_output([go]) == b"went\n"
    go.chmod(0o644)
    assert cli("-C", str(brain), "snapshot").status == 0 and not is_executable(go)
    manage(cli, brain, action="write_file", name="tool", file_path="scripts/go.sh",
           file_content=SCRIPT)  # fmt: skip
    assert not is_executable(go)
    os.chmod(brain / "skills/tool/SKILL.md", 0o755)  # as all files are on some file systems
    manage(cli, brain, action="edit", name="tool", content="Run scripts/go.sh now.")
    assert is_executable(brain / "skills/tool/SKILL.md")
    assert cli("-C", str(brain), "--json", "status").document["clean"]


def test_revert_merge_rename_and_branches_keep_the_bit(brain, cli):
    with Brain.open(brain) as opened:
        opened.branches.create("other")
        opened.skills.edit("tool", lambda _: b"#!/bin/sh\necho 2\n", file="scripts/go.sh")
        opened.skills.revert("tool", "1")
        assert subprocess.check_output([brain / GO]) == b"go\n"
        opened.branches.switch("other")
        opened.skills.upsert("other", "Other body.\n", description="O")
        opened.branches.switch("main")
        opened.merge.start("other")
        opened.skills.merge("other", "tool")
        moved = brain / "skills/other/scripts/go.sh"
        assert subprocess.check_output([moved]) == b"go\n"
        opened.skills.rename("other", "kept")
    assert subprocess.check_output([brain / "skills/kept/scripts/go.sh"]) == b"go\n"
    fork = brain.parent / "fork"
    assert cli("-C", str(brain), "fork", str(fork)).status == 0
    assert is_executable(fork / "skills/kept/scripts/go.sh")


def test_what_a_person_made_is_recorded_with_the_rights_that_it_has(brain, cli):
    mine = brain / "skills/tool/scripts/mine.sh"
    mine.write_text(SCRIPT)
    mine.chmod(0o644)
    assert cli("-C", str(brain), "snapshot").status == 0
    assert not is_executable(mine)
    mine.unlink()
    assert cli("-C", str(brain), "restore", "@").status == 0
    assert not is_executable(mine)
