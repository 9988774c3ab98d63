"""`brain skill upsert NAME -f FOLDER` takes the files of a skill along."""

from pathlib import Path

TEXT = "---\nname: word-count\ndescription: Count words\n---\nRun it.\n"


def make_folder(*, text: str = TEXT) -> Path:
    folder = Path("../draft")
    (folder / "tests").mkdir(parents=True)
    (folder / "SKILL.md").write_text(text)
    (folder / "skill.py").write_text("print(1)\n")
    (folder / "tests/cases.json").write_text("[]\n")
    return folder


def test_a_folder_becomes_one_snapshot(agent, cli):
    folder = make_folder()
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__/skill.pyc").write_bytes(b"\0")
    assert cli("skill", "upsert", "word-count", "-f", str(folder)).status == 0
    home = Path("skills/word-count")
    found = sorted(p.relative_to(home).as_posix() for p in home.rglob("*") if p.is_file())
    assert found == ["SKILL.md", "skill.py", "tests/cases.json"]
    assert (home / "SKILL.md").read_text().endswith("Run it.\n")
    log = cli("log", "-n", "1", "--json").document
    assert log["snapshots"][0]["operation"]["kind"] == "upsert"
    assert cli("verify", "--deep").status == 0


def test_the_same_folder_again_changes_nothing_with_if_changed(agent, cli):
    folder = make_folder()
    cli("skill", "upsert", "word-count", "-f", str(folder))
    again = cli("skill", "upsert", "word-count", "-f", str(folder), "--if-changed", "--json")
    assert again.document["changed"] is False
    (folder / "skill.py").write_text("print(2)\n")
    again = cli("skill", "upsert", "word-count", "-f", str(folder), "--if-changed", "--json")
    assert again.document["changed"] is True


def test_a_folder_that_is_no_skill_is_refused(agent, cli):
    folder = make_folder()
    (folder / "SKILL.md").unlink()
    told = cli("skill", "upsert", "word-count", "-f", str(folder))
    assert told.status == 1 and "has no SKILL.md" in told.err
    (folder / "SKILL.md").write_text(TEXT)
    (folder / "link").symlink_to("skill.py")
    told = cli("skill", "upsert", "word-count", "-f", str(folder))
    assert told.status == 1 and "link is a link" in told.err
    assert not Path("skills/word-count").exists()
