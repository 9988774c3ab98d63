import subprocess
import sys
from pathlib import Path

from brain import Brain


def run(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        cwd=project / "examples",
        capture_output=True,
        encoding="utf-8",
        env={"PATH": "/usr/bin:/bin", "PYTHONIOENCODING": "utf-8"},
        check=False,
    )


def test_the_quickstart_learns_and_goes_back(project, tmp_path):
    done = run(project, "quickstart.py", str(tmp_path / "learner"))
    assert (done.returncode, done.stderr) == (0, "")
    assert "oracle-manipulation went 1 → 2" in done.stdout
    assert "version 2 is of learner: Audit the vault" in done.stdout
    assert "Record manual edits" in done.stdout
    assert "Prefer a TWAP.\nMind the sequencer." in done.stdout
    assert done.stdout.splitlines()[-1].startswith("▸ oracle-manipulation: ")


def test_an_audit_verifies_and_a_third_party_believes_no_forgery(project):
    done = run(project, "audit.py")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[:2] == ["version 1 is commitment 1", "version 2 is commitment 2"]
    assert lines[2].endswith("oracle-manipulation upgraded 1 → 2")
    assert lines[5] == "verified 3 snapshots"
    believed, *refused = lines[6:9]
    assert believed.startswith("skills/oracle-manipulation/SKILL.md is in snapshot ")
    assert len(refused) == 2 and all(line.startswith("refused: ") for line in refused)
    assert " descends from brain " in lines[9]
    assert lines[10:] == ["refused: not_this_snapshot"]


def test_an_audit_notices_damage(project, tmp_path):
    run(project, "quickstart.py", str(tmp_path / "learner"))
    assert run(project, "audit.py", str(tmp_path / "learner")).returncode == 0
    with Brain.open(tmp_path / "learner") as brain:
        database = brain._session.store._db  # type: ignore[attr-defined]
        database.execute("UPDATE blobs SET data = X'00'")
    assert run(project, "audit.py", str(tmp_path / "learner")).returncode == 3


def test_every_example_is_run_here(project):
    text = Path(__file__).read_text("utf-8")
    scripts = sorted(script.name for script in (project / "examples").glob("*.py"))
    assert [name for name in scripts if f'"{name}"' not in text] == []


def test_the_loop_of_an_agent_goes_on_after_a_failure(project, tmp_path):
    done = run(project, "agent_loop.py", str(tmp_path / "auditor"))
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[1] == "skills_list: (no skills yet)"
    assert lines[3] == "skill_view: Error: The skill oracle-manipulaton does not exist."
    assert lines[5].startswith("skill_manage: Patched oracle-manipulation, version 2 ")
    assert lines[7].startswith("brain_verify: The lineage is whole: ")
    assert lines[-2:] == ["version 2 by model: Patch the text", "version 1 by model: added"]


def test_the_example_of_a_session_lists_views_creates_improves_verifies_and_proposes(project):
    done = run(project, "mcp_session.py")  # in a temporary folder
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "told at the start: ▸ oracle-manipulation: Check where prices come from"
    assert lines[1] == "skills_list: ▸ oracle-manipulation: Check where prices come from"
    assert lines[3].startswith("skill_manage: Created reentrancy, version 1 ")
    assert lines[4].startswith("skill_manage: Patched reentrancy, version 2 ")
    assert lines[6].startswith("brain_verify: The lineage is whole: ")
    assert lines[7:9] == ["reentrancy 2 by auditor-agent", "reentrancy 1 by auditor-agent"]
    assert lines[-4:] == [
        "proposed: oracle-manipulation 1 → 2",
        "  -Check the age of every price.",
        "  +Trust the first price.",
        "rejected; the skill is at version 1",
    ]
