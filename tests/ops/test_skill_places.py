"""Where skills are written: categories, folders of flat skills, and places of old versions."""

import pytest

from brain import Brain, Conflict, InvalidInput, NotFound, limits
from tests.support.brains import skill_text, write_file
from tests.support.refusals import raises_code


def test_a_new_skill_goes_into_its_category_and_an_old_one_stays(brain):
    made = brain.skills.upsert("New", "x\n", description="d", category="Big Tools")
    assert made.path == "skills/big-tools/new/SKILL.md"
    again = brain.skills.upsert("New", "y\n", category="Other")
    assert (again.path, again.version) == (made.path, 2)
    write_file(brain, "skills/big-tools/by-hand/SKILL.md", skill_text("by-hand", 3))
    done = brain.skills.upsert("By hand", "z\n", category="big-tools")
    assert (done.path, done.version) == ("skills/big-tools/by-hand/SKILL.md", 4)


@pytest.mark.parametrize("name", ["SKILL.md", "skill.md"])
def test_a_skill_is_no_category(brain, name):
    write_file(brain, f"skills/tools/{name}", skill_text("tools"))
    brain.snapshot()
    with raises_code("not_a_category", Conflict):
        brain.skills.upsert("New", "x\n", description="d", category="tools")


def test_a_new_skill_needs_a_body_or_a_description(brain):
    with raises_code("no_content", InvalidInput) as caught:
        brain.skills.upsert("New")
    assert "a new skill, new," in caught.value.message
    assert brain.skills.upsert("New", description="d").version == 1
    assert brain.skills.upsert("Newer", "x\n").version == 1
    with raises_code("no_content", InvalidInput):
        brain.skills.upsert("New")


def test_an_unchanged_text_is_not_recorded_if_that_is_asked_for(brain):
    first = brain.skills.upsert("New", "x\n", description="d", if_changed=True)
    assert (first.changed, first.version) == (True, 1)
    same = brain.skills.upsert("New", "x\n", description="d", if_changed=True)
    assert (same.changed, same.version, same.previous_version, same.path) == (
        False,
        1,
        1,
        first.path,
    )
    assert (same.slug, same.name, same.snapshot) == ("new", first.name, first.snapshot)
    assert brain.skills.upsert("New", "y\n", if_changed=True).version == 2
    assert brain.skills.upsert("New", "y\n").version == 3


@pytest.mark.parametrize("base", ["0", "1"])
def test_a_skill_that_was_removed_since_a_base_is_refused(brain, base):
    brain.skills.upsert("New", "x\n", description="d")
    brain.skills.delete("new")
    if base == "0":
        assert brain.skills.upsert("New", "y\n", description="d", base=base).version == 2
        with pytest.raises(Conflict, match="exists by now, at version 2") as caught:
            brain.skills.upsert("New", "z\n", base=base)
    else:
        with pytest.raises(Conflict, match="was removed after version 1") as caught:
            brain.skills.upsert("New", "y\n", description="d", base=base)
    assert caught.value.code == "stale_base"


def edit(brain: Brain, skill: str, file: str, text: str) -> str:
    return brain.skills.edit(skill, lambda content: text.encode(), file=file).path


def test_a_flat_skill_moves_into_a_folder_with_its_first_file(brain):
    write_file(brain, "skills/flat.md", skill_text("flat", 4))
    brain.snapshot()
    done = brain.skills.edit("flat", lambda content: b"run\n", file="run.py")
    assert (done.path, done.version, done.previous_version) == ("skills/flat/SKILL.md", 5, 4)
    assert not (brain.root / "skills/flat.md").exists()
    assert (brain.root / "skills/flat/run.py").read_text() == "run\n"
    assert edit(brain, "flat", "more/a.py", "a\n") == "skills/flat/SKILL.md"
    assert brain.verify().findings == []


@pytest.mark.parametrize("recorded", [False, True])
def test_a_flat_skill_beside_a_folder_in_use_stays(brain, recorded):
    write_file(brain, "skills/flat.md", skill_text("flat"))
    brain.snapshot()
    write_file(brain, "skills/flat/notes.txt" if recorded else "skills/flat/SKILL.md", "x\n")
    if recorded:
        brain.snapshot()
    with raises_code("path_conflict", Conflict) as caught:
        edit(brain, "flat", "run.py", "run\n")
    assert caught.value.hint == "write the text of the file into the skill itself"


@pytest.mark.parametrize("file", ["SKILL.md", "inner/SKILL.md", "inner/skill.md"])
def test_a_file_of_a_skill_is_no_skill(brain, file):
    brain.skills.upsert("New", "x\n", description="d")
    with raises_code("bad_path", InvalidInput) as caught:
        edit(brain, "new", file, "x\n")
    assert caught.value.message == f"{file} in a skill would be a skill itself"


def test_a_skill_that_is_not_there_is_not_edited(brain):
    for skill in ("nothing", "skills/nothing/SKILL.md"):
        for file in ("", "run.py"):
            with raises_code("no_skill", NotFound):
                edit(brain, skill, file, "x\n")


def test_the_text_of_a_skill_is_edited_and_raised(brain):
    brain.skills.upsert("New", "x\n", description="d")
    done = brain.skills.edit("new", lambda content: (content or b"") + b"more\n")
    assert (done.version, done.previous_version) == (2, 1)
    assert brain.skills.view("new").body.endswith("x\nmore\n")


@pytest.mark.parametrize(
    ("existing", "path"),
    [("notes/a.md", "notes"), ("notes", "notes/a.md"), ("notes/a/b.md", "notes/a")],
)
def test_a_path_is_a_file_or_a_folder(brain, existing, path):
    write_file(brain, existing, "x\n")
    brain.snapshot()
    with pytest.raises((Conflict, InvalidInput)) as caught:
        brain.files.write(path, "y\n")
    assert caught.value.code in {"path_conflict", "unsafe_path", "not_regular"}
    assert (brain.root / existing).read_text() == "x\n"


def test_a_file_is_written_edited_and_removed(brain):
    made = brain.files.write("notes/a.md", "one\n")
    assert (made.changed, made.added, made.modified, made.removed) == (True, 1, 0, 0)
    same = brain.files.write("notes/a.md", "one\n")
    assert (same.changed, same.snapshot) == (False, made.snapshot)
    edited = brain.files.edit("notes/a.md", lambda old: (old or b"") + b"two\n", message="Mine")
    assert (edited.added, edited.modified, edited.removed) == (0, 1, 0)
    assert brain.history.show().info.message == "Mine"
    (brain.root / "notes/a.md").write_text("by hand\n")
    seen: list[bytes | None] = []
    brain.files.edit("notes/a.md", lambda old: seen.append(old) or b"three\n")
    assert seen == [b"by hand\n"]
    assert brain.files.read("notes/a.md", "@~1") == b"by hand\n"
    gone = brain.files.remove("notes/a.md")
    assert (gone.added, gone.modified, gone.removed) == (0, 0, 1)
    assert not (brain.root / "notes/a.md").exists()


def test_an_edit_keeps_the_kind_of_a_file_and_refuses_a_link(brain):
    write_file(brain, "run.sh", "one\n").chmod(0o755)
    (brain.root / "link").symlink_to("run.sh")
    brain.snapshot()
    brain.files.write("run.sh", "two\n")
    assert (brain.root / "run.sh").stat().st_mode & 0o777 == 0o755
    with raises_code("not_regular", InvalidInput):
        brain.files.write("link", "x\n")


def test_an_old_version_comes_back_at_the_place_that_the_skill_has_now(brain):
    write_file(brain, "skills/tool/SKILL.md", skill_text("tool", 1))
    write_file(brain, "skills/tool/run.py", "old\n")
    brain.snapshot()
    write_file(brain, "skills/tool/SKILL.md", skill_text("tool", 2, "Two.\n"))
    (brain.root / "skills/tool/run.py").unlink()
    brain.snapshot()
    done = brain.skills.revert("tool", "1")
    assert (done.path, done.version) == ("skills/tool/SKILL.md", 3)
    assert (brain.root / "skills/tool/run.py").read_text() == "old\n"
    assert brain.history.show().info.message == "Revert tool to version 1"


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("skills/old/SKILL.md", "skills/new/SKILL.md"),
        ("skills/old/SKILL.md", "skills/new.md"),
        ("skills/old.md", "skills/new/SKILL.md"),
    ],
)
def test_an_old_version_comes_back_under_the_name_that_the_skill_has_now(brain, was, now):
    write_file(brain, was, skill_text("tool", 1, "One.\n" * 20))
    if was.endswith("SKILL.md"):
        write_file(brain, "skills/old/run.py", "old\n")
    brain.snapshot()
    (brain.root / was).unlink()
    write_file(brain, now, skill_text("tool", 2, "One.\n" * 20))
    brain.snapshot()
    brain.skills.upsert("new", "Two.\n")
    done = brain.skills.revert("tool", "1")
    back = "skills/new/SKILL.md" if was.endswith("SKILL.md") else now
    assert (done.slug, done.path) == ("new", back)
    assert brain.skills.view("new").body.strip().splitlines() == ["One."] * 20
    assert [one.slug for one in brain.skills.list()] == ["new"]
    assert (brain.root / "skills/new/run.py").exists() == was.endswith("SKILL.md")
    assert brain.status().clean


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("skills/tool/SKILL.md", "skills/dev/tool/SKILL.md"),
        ("skills/dev/tool/SKILL.md", "skills/ops/tool/SKILL.md"),
        ("skills/tool.md", "skills/tool/SKILL.md"),
    ],
)
def test_an_old_version_comes_back_in_the_category_that_the_skill_has_now(brain, was, now):
    write_file(brain, was, skill_text("tool", 1, "One.\n"))
    brain.snapshot()
    (brain.root / was).unlink()
    write_file(brain, now, skill_text("tool", 2, "Two.\n"))
    brain.snapshot()
    done = brain.skills.revert("tool", "1")
    assert (done.slug, done.path, done.version) == ("tool", now, 3)
    assert [one.path for one in brain.skills.list()] == [now]
    assert brain.skills.view("tool").body == "One.\n" and brain.status().clean


def test_a_skill_that_is_too_large_to_check_is_a_problem_and_hides_no_other(brain):
    write_file(brain, "skills/a/SKILL.md", skill_text("a", body="x" * limits.MAX_SKILL_BYTES))
    write_file(brain, "skills/b/SKILL.md", skill_text("other"))
    brain.snapshot()
    found = [(one.slug, one.code, one.severity) for one in brain.skills.check()]
    assert found[0] == ("a", "too_large", "error")
    assert "b" in {slug for slug, _, _ in found}
