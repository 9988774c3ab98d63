"""What a snapshot says of itself."""

from brain import Brain
from tests.support.brains import skill_text, write_file


def message(brain: Brain, *paths: str) -> str:
    done = brain.snapshot_changes(paths or None)
    assert done.changed
    return next(brain.history.log(done.snapshot, limit=1)).message


def test_skills_are_told_by_what_became_of_them(brain):
    write_file(brain, "skills/a/SKILL.md", skill_text("a"))
    write_file(brain, "skills/b/SKILL.md", skill_text("b"))
    brain.snapshot()
    write_file(brain, "skills/a/SKILL.md", skill_text("a", 2))
    write_file(brain, "skills/b/scripts/run.py", "print()\n")
    write_file(brain, "skills/c/SKILL.md", skill_text("c"))
    assert message(brain) == "a upgraded 1 → 2; b edited; c added at version 1"
    (brain.root / "skills/c/SKILL.md").unlink()
    assert message(brain, "skills/c") == "c removed at version 1"


def test_other_files_are_told_by_their_lines(brain):
    write_file(brain, "memory/MEMORY.md", "one\ntwo\n")
    write_file(brain, "memory/x.bin", "\0")
    assert message(brain) == "memory/MEMORY.md added; memory/x.bin added"
    write_file(brain, "memory/MEMORY.md", "one\ntwo\nthree\n")
    assert message(brain) == "memory/MEMORY.md +1 line"
    write_file(brain, "memory/MEMORY.md", "1\n2\nthree\nfour\n")
    write_file(brain, "memory/x.bin", "\1\0")
    assert message(brain) == "memory/MEMORY.md +3 -2 lines; memory/x.bin edited"
    (brain.root / "memory/x.bin").rename(brain.root / "memory/y.bin")
    (brain.root / "memory/MEMORY.md").unlink()
    assert message(brain) == "memory/MEMORY.md removed; memory/x.bin moved to memory/y.bin"


def test_files_below_skills_that_are_none_are_named(brain):
    write_file(brain, "skills/NOTES/about.txt", "x\n")
    assert message(brain) == "skills/NOTES/about.txt added"


def test_of_many_changes_some_are_named_and_the_rest_counted(brain):
    for number in range(12):
        write_file(brain, f"memory/{number:02}.md", "x\n")
    assert message(brain).endswith("memory/07.md added; 4 more")
    for number in range(600):
        write_file(brain, f"notes/{number:03}.md", "x\n")
    (brain.root / "memory/00.md").unlink()
    write_file(brain, "memory/01.md", "y\n")
    assert message(brain) == "600 files added, 1 modified, 1 removed"


def test_of_named_paths_these_alone_are_looked_at_and_absence_is_no_error(brain):
    write_file(brain, "memory/a.md", "x\n")
    write_file(brain, "memory/b.md", "x\n")
    assert not brain.snapshot_changes(["memory/none.md", "4913"]).changed
    assert message(brain, "memory/a.md", "memory/none.md") == "memory/a.md added"
    assert brain.status().added == ["memory/b.md"]
    assert not brain.snapshot_changes([]).changed
