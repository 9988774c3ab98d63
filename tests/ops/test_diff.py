"""Patches in git's format, counts of lines, and files that no text diff can show."""

import os

import pytest

from brain import InvalidInput
from brain.ops import diff as unified_diff
from brain.results import DiffStat, FileState, UndiffableFile
from tests.support.brains import write_file


@pytest.fixture
def changed(brain):
    """A brain whose last snapshot adds, changes, moves and removes files of every kind."""
    for path, text in {
        "a/edited.md": "one\ntwo\nthree\n",
        "a/gone.md": "gone\n",
        "a/moved.md": "moved and long enough\n",
        "a/mode.sh": "run\n",
    }.items():
        write_file(brain, path, text)
    (brain.root / "a/data.bin").write_bytes(b"\0one")
    brain.snapshot()
    write_file(brain, "a/edited.md", "one\n2\nthree\nfour\n")
    (brain.root / "a/gone.md").unlink()
    (brain.root / "a/moved.md").rename(brain.root / "a/there.md")
    (brain.root / "a/mode.sh").chmod(0o755)
    (brain.root / "a/data.bin").write_bytes(b"\0two")
    write_file(brain, "a/new.sh", "new\n").chmod(0o755)
    (brain.root / "a/link").symlink_to("new.sh")
    (brain.root / "a/empty").touch()
    return brain


PATCH = """\
Binary files a/a/data.bin and b/a/data.bin differ
--- a/a/edited.md
+++ b/a/edited.md
@@ -1,3 +1,4 @@
 one
-two
+2
 three
+four
--- a/a/gone.md
+++ /dev/null
@@ -1 +0,0 @@
-gone
new file mode 120000
--- /dev/null
+++ b/a/link
@@ -0,0 +1 @@
+new.sh
\\ No newline at end of file
old mode 100644
new mode 100755
new file mode 100755
--- /dev/null
+++ b/a/new.sh
@@ -0,0 +1 @@
+new
rename from a/moved.md
rename to a/there.md
"""


@pytest.mark.parametrize("recorded", [False, True])
def test_a_patch_shows_modes_renames_and_lines_as_git_does(changed, recorded):
    if recorded:
        changed.snapshot()
    diff = changed.history.diff(*(["@~1", "@"] if recorded else []))
    assert "".join(changed.history.patch(diff)) == PATCH
    assert len(list(changed.history.patch(diff))) == len(diff.changes) == 8


@pytest.mark.parametrize("recorded", [False, True])
def test_lines_are_counted_for_each_file(changed, recorded):
    if recorded:
        changed.snapshot()
    diff = changed.history.diff(*(["@~1", "@"] if recorded else []))
    assert changed.history.diff_stat(diff) == [
        DiffStat("a/data.bin", -1, -1),
        DiffStat("a/edited.md", 2, 1),
        DiffStat("a/empty", 0, 0),
        DiffStat("a/gone.md", 0, 1),
        DiffStat("a/link", 1, 0),
        DiffStat("a/mode.sh", 0, 0),
        DiffStat("a/new.sh", 1, 0),
        DiffStat("a/there.md", 0, 0),
    ]


def test_files_that_no_patch_shows_are_described_on_both_sides(changed):
    (changed.root / "a/more.bin").write_bytes(b"\0more")
    changed.snapshot()
    diff = changed.history.diff("@~1", "@")
    found = changed.history.find_undiffable(diff)
    blobs = {change.path: (change.before, change.after) for change in diff.changes}
    old, new = blobs["a/data.bin"]
    assert old and new and blobs["a/more.bin"][1]
    assert found == [
        UndiffableFile(
            "a/data.bin", None, "binary", FileState("file", 4, old), FileState("file", 4, new)
        ),
        UndiffableFile(
            "a/more.bin", None, "binary", None, FileState("file", 5, blobs["a/more.bin"][1] or "")
        ),
    ]
    back = changed.history.find_undiffable(changed.history.diff("@", "@~1"))
    assert [(file.path, file.before is None, file.after is None) for file in back] == [
        *(("a/data.bin", False, False), ("a/more.bin", False, True))
    ]


@pytest.mark.parametrize(("size", "shown"), [(20, True), (21, False)])
def test_a_file_is_shown_up_to_a_size(brain, monkeypatch, size, shown):
    monkeypatch.setattr(unified_diff, "MAX_DIFF_BYTES", 20)
    write_file(brain, "a.md", "x" * size)
    for rounds in range(2):
        diff = brain.history.diff(*(["@~1", "@"] if rounds else []))
        (patch,) = brain.history.patch(diff)
        assert patch.endswith("+" + "x" * size + "\n\\ No newline at end of file\n") is shown
        assert shown or patch == "Files /dev/null and b/a.md differ: too large\n"
        brain.snapshot()


def test_what_was_redacted_is_told_instead_of_shown(brain):
    write_file(brain, "a.md", "a secret\n")
    brain.snapshot()
    brain.files.redact("a.md", reason="a name")
    diff = brain.history.diff("@~1", "@")
    assert list(brain.history.patch(diff)) == ["Files a/a.md and /dev/null differ: redacted\n"]
    assert brain.history.diff_stat(diff) == [DiffStat("a.md", -1, -1)]


def test_up_to_five_files_that_are_not_shown_are_named(brain):
    for number in range(7):
        (brain.root / f"{number}.bin").write_bytes(b"\0%d" % number)
    (brain.root / "plain.md").write_text("x\n")
    brain.snapshot()
    session = brain._session
    for count, text in ((5, ""), (6, " and 1 more"), (7, " and 2 more")):
        diff = brain.history.diff("@~1", "@")
        some = diff._replace(changes=[*diff.changes[:count], *diff.changes[7:]])
        with pytest.raises(InvalidInput) as caught:
            unified_diff.refuse_undiffable(session, some)
        names = ", ".join(f"{number}.bin" for number in range(5))
        assert caught.value.code == "not_shown"
        assert caught.value.message == f"{names}{text} cannot be shown as text"
    unified_diff.refuse_undiffable(session, brain.history.diff("@", "@~1"))
    unified_diff.refuse_undiffable(session, diff._replace(changes=diff.changes[7:]))


def test_a_moved_binary_file_is_no_file_that_is_not_shown(brain):
    (brain.root / "a.bin").write_bytes(b"\0a")
    brain.snapshot()
    (brain.root / "a.bin").rename(brain.root / "b.bin")
    brain.snapshot()
    diff = brain.history.diff("@~1", "@")
    assert list(brain.history.patch(diff)) == ["rename from a.bin\nrename to b.bin\n"]
    assert brain.history.find_undiffable(diff) == []


def test_each_removed_file_is_the_source_of_one_rename(brain):
    for name in ("a", "b"):
        write_file(brain, f"old/{name}.md", "same\n")
    write_file(brain, "old/run.sh", "same\n").chmod(0o755)
    brain.snapshot()
    for name in ("a.md", "b.md", "run.sh"):
        os.unlink(brain.root / "old" / name)
    for name in ("x", "y", "z"):
        write_file(brain, f"new/{name}.md", "same\n")
    changes = brain.history.diff().changes
    assert [(change.path, change.change, change.from_path) for change in changes] == [
        ("new/x.md", "renamed", "old/a.md"),
        ("new/y.md", "renamed", "old/b.md"),
        ("new/z.md", "added", None),
        ("old/run.sh", "removed", None),
    ]
    renamed, added = changes[0], changes[2]
    assert renamed.before == renamed.after == added.after and added.before is None
    assert {change.section for change in changes[:3]} == {"new"}


def test_changes_without_lines_are_told_as_edited(brain, tmp_path):
    words = [
        " ".join(unified_diff._line_count_words(DiffStat("a", added, removed)))
        for added, removed in ((-1, -1), (0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (1, 2))
    ]
    assert words == [
        *("edited", "edited", "+1 line", "-1 line", "+2 lines", "+1 -1 line", "+1 -2 lines")
    ]


def test_a_change_of_a_skill_names_its_versions(brain):
    def of(text: str | None) -> list[tuple[object, ...]]:
        path = brain.root / "skills/a/SKILL.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        if text is not None:
            path.write_text(f"---\nname: Ay\ndescription: d\n{text}---\nx\n")
        changes = brain.history.diff().skills
        brain.snapshot()
        return [tuple(change)[:5] for change in changes]

    assert of("version: 2\n") == [("a", "added", None, 2, "Ay")]
    assert of("version: 3\n") == [("a", "upgraded", 2, 3, "Ay")]
    assert of("version: 3\nlicense: MIT\n") == [("a", "changed", 3, 3, "Ay")]
    assert of("version: '1.5'\n") == [("a", "changed", 3, "1.5", "Ay")]
    assert of(None) == [("a", "removed", "1.5", None, "Ay")]


def test_a_file_of_a_skill_is_a_change_of_the_nearest_skill_above_it(brain):
    for slug in ("outer", "other"):
        brain.skills.upsert(slug, "x\n", description="d")
    inner = brain.root / "skills/outer/skills/inner/SKILL.md"
    inner.parent.mkdir(parents=True)
    inner.write_text("---\nname: inner\ndescription: d\nversion: 4\n---\nx\n")
    brain.snapshot()
    write_file(brain, "skills/outer/skills/inner/deep/a.py", "a\n")
    write_file(brain, "skills/outer/b.py", "b\n")
    write_file(brain, "skills/nobody/c.py", "c\n")
    assert [tuple(change)[:5] for change in brain.history.diff().skills] == [
        ("inner", "changed", 4, 4, "inner"),
        ("outer", "changed", 1, 1, "outer"),
    ]
