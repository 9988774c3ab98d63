import shutil
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


def test_the_example_of_learning_goes_up_and_back(project, tmp_path):
    done = run(project, "learn.py", str(tmp_path / "learner"))
    assert (done.returncode, done.stderr) == (0, "")
    assert "oracle-manipulation went 1 → 2" in done.stdout
    assert "Record manual edits" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("▸ oracle-manipulation: ")


def test_the_example_of_an_audit_verifies_and_notices_damage(project, tmp_path):
    done = run(project, "audit.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert "reentrancy upgraded 1 → 2" in done.stdout
    run(project, "learn.py", str(tmp_path / "learner"))
    with Brain.open(tmp_path / "learner") as brain:
        database = brain._session.store._db  # type: ignore[attr-defined]
        database.execute("UPDATE blobs SET data = X'00'")
    assert run(project, "audit.py", str(tmp_path / "learner")).returncode == 3


def test_the_example_of_a_prompt_prints_the_index_of_the_auditor(project, tmp_path):
    folder = Path(shutil.copytree(project / "examples/auditor", tmp_path / "auditor"))
    with Brain.init(folder) as brain:
        brain.snapshot()
    done = run(project, "system_prompt.py", str(folder))
    assert (done.returncode, done.stderr) == (0, "")
    assert "▸ oracle-manipulation: " in done.stdout


def test_the_example_of_two_agents_merges_what_both_learned(project, tmp_path):
    done = run(project, "two_agents.py", str(tmp_path / "team"))
    assert (done.returncode, done.stderr) == (0, "")
    assert "oracle-manipulation: 2 and 2 became 3" in done.stdout
    assert "Check the age of every price.\n\nCompare three sources." in done.stdout
    assert '"night: a feed was stale"' in done.stdout and '"day: all quiet"' in done.stdout
    assert "skills/bridge-review/SKILL.md needs a decision: content" in done.stdout


def test_every_example_is_run_here(project):
    text = Path(__file__).read_text("utf-8")
    scripts = sorted(script.name for script in (project / "examples").glob("*.py"))
    assert [name for name in scripts if f'"{name}"' not in text] == []


def test_the_example_of_a_fork_is_believed_by_a_third_party_and_a_forgery_is_not(project, tmp_path):
    done = run(project, "fork_ancestry.py", str(tmp_path / "family"))
    assert (done.returncode, done.stderr) == (0, "")
    size, believed, *refused = done.stdout.splitlines()
    assert size.startswith("a proof of ") and " descends from brain " in believed
    assert len(refused) == 2 and all(line.startswith("refused: ") for line in refused)
    assert "does not lead to" in refused[1]
    held = [path.name for path in (tmp_path / "family/third-party").iterdir()]
    assert held == ["descent.json"]


def test_the_example_of_a_redaction_leaves_nothing_but_the_id_and_the_reason(project, tmp_path):
    done = run(project, "redaction.py", str(tmp_path / "auditor"))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "the password is in 2 files",
        "redacted: memory/2026-11-20.md, now in 0 files",
        "recorded: it holds a password",
        "verified: True, ['redacted']",
        "undo: a redaction cannot be undone: the content is destroyed",
        "refused: redacted",
        "collected: True",
    ]


def test_the_example_of_a_commitment_is_checked_by_a_third_party_without_a_brain(project, tmp_path):
    done = run(project, "commitment.py", str(tmp_path / "town"))
    assert (done.returncode, done.stderr) == (0, "")
    one, two, believed, *refused = done.stdout.splitlines()
    assert (one, two) == ("version 1 is commitment 1", "version 2 is commitment 2")
    assert believed.startswith("skills/oracle-manipulation/SKILL.md is in snapshot ")
    assert len(refused) == 2 and all(line.startswith("refused: ") for line in refused)
    held = sorted(path.name for path in (tmp_path / "town/third-party").iterdir())
    assert held == ["SKILL.md", "evidence.json"]


def test_the_example_of_tool_calling_goes_on_after_a_failure(project, tmp_path):
    done = run(project, "tool_calling.py", str(tmp_path / "auditor"))
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[1] == "skills_list: (no skills yet)"
    assert lines[3] == "skill_view: Error: The skill oracle-manipulaton does not exist."
    assert lines[5].startswith("skill_manage: Patched oracle-manipulation, version 2 ")
    assert lines[7].startswith("brain_verify: The lineage is whole: ")
    assert lines[-2:] == ["version 2 by model: Patch the text", "version 1 by model: added"]


def test_the_example_of_a_session_lists_views_creates_improves_verifies_and_proposes(
    project, tmp_path
):
    done = run(project, "mcp_session.py", str(tmp_path / "auditor"))
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


def test_the_example_of_a_synthesis_makes_a_skill_of_hard_work_and_improves_it(project, tmp_path):
    done = run(project, "synthesis.py", str(tmp_path / "auditor"))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[:4] == [
        "created: stale-price-feeds version 1, proposed (1 asked)",
        "improved: stale-price-feeds version 2, proposed (2 asked)",
        "not_hard (0 asked)",
        "▸ stale-price-feeds: Use when a contract reads a price from an oracle.",
    ]
    with Brain.open(tmp_path / "auditor") as brain:
        assert "Compare a second feed" in brain.skills.view("stale-price-feeds").body
        assert len(brain.skills.list()) == 1 and brain.verify(deep=True).ok


def test_the_example_of_receipts_proves_the_work_behind_a_skill(project, tmp_path):
    done = run(project, "receipts.py", str(tmp_path / "auditor"))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "6 steps in 3 snapshots hold",
        "version 2 is of scout, who worked on: Audit the vault",
        "with 2 calls of bash, 1 failed; success",
    ]
