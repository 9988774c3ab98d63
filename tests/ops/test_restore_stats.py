"""A restore leaves what it wrote known to the next scan, where nobody can have changed it."""

import os

import pytest

from brain.folder import handles, read


@pytest.fixture
def read_paths(monkeypatch):
    """The paths of all files of folders that are read."""
    paths = []
    read_candidates = read.read_candidates

    def note(root, candidates, *others):
        paths.extend(candidate.path for candidate in candidates)
        return read_candidates(root, candidates, *others)

    monkeypatch.setattr(read, "read_candidates", note)
    return paths


@pytest.fixture
def restored(brain, monkeypatch, read_paths):
    """A brain of which most files were just restored."""
    monkeypatch.setattr(handles, "_FINE_TICK_NS", 0)
    monkeypatch.setattr(handles, "_COARSE_TICK_NS", 0)
    for number in range(5):
        folder = brain.root / f"skills/skill-{number}"
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(f"First text of {number}.\n")
    first = brain.snapshot("first").snapshot
    for number in range(3):
        (brain.root / f"skills/skill-{number}/SKILL.md").write_text(f"Second of {number}.\n")
    (brain.root / "skills/skill-4/SKILL.md").unlink()
    (brain.root / "skills/skill-4").rmdir()
    (brain.root / "skills/new.txt").write_text("New.\n")
    brain.snapshot("second")
    brain.restore(first)
    read_paths.clear()
    return brain


def test_a_status_after_a_restore_reads_only_what_replaced_another_file(restored, read_paths):
    assert restored.status().clean
    assert read_paths == [f"skills/skill-{number}/SKILL.md" for number in range(3)]
    assert not (restored.root / "skills/new.txt").exists()


def test_an_edit_and_a_removal_after_a_restore_are_noticed(restored, read_paths):
    (restored.root / "skills/skill-0/SKILL.md").write_text("Third text of 0.\n")
    (restored.root / "skills/skill-1/SKILL.md").unlink()
    (restored.root / "skills/skill-4/more.md").write_text("More.\n")
    status = restored.status()
    assert status.modified == ["skills/skill-0/SKILL.md"]
    assert status.removed == ["skills/skill-1/SKILL.md"]
    assert status.added == ["skills/skill-4/more.md"]
    assert not {"skills/skill-3/SKILL.md", "skills/skill-4/SKILL.md"} & {*read_paths}


def test_what_was_written_in_the_tick_in_which_it_appeared_is_read_again(
    restored, monkeypatch, read_paths
):
    monkeypatch.setattr(handles, "_FINE_TICK_NS", 3_600_000_000_000)
    restored.restore("@~1")
    changed = restored.root / "skills/skill-2/SKILL.md"
    before = os.stat(changed)
    changed.write_text("Edited of 2.\n"[: before.st_size].ljust(before.st_size, "."))
    os.utime(changed, ns=(before.st_atime_ns, before.st_mtime_ns))
    read_paths.clear()
    assert restored.status().modified == ["skills/skill-2/SKILL.md"]
    assert "skills/skill-0/SKILL.md" in read_paths


def test_files_that_a_restore_leaves_alone_are_still_new_after_it(restored):
    (restored.root / "notes.txt").write_text("Mine.\n")
    restored.restore("@~1")
    assert restored.status().added == ["notes.txt"]
    assert restored.snapshot("mine").added == 1


@pytest.mark.parametrize("name", ["skill-0/SKILL.md", "skill-4/SKILL.md", "skill-4/more.md"])
def test_what_a_program_writes_and_sets_the_time_back_during_a_restore_is_noticed(
    restored, monkeypatch, name
):
    path = restored.root / "skills" / name
    restored.restore("@~1")
    written = []

    def write_after(move):
        def moved(source, target, **options):
            move(source, target, **options)
            if target in ("SKILL.md", "skill-4") and path.parent.exists() and not written:
                times = [
                    (one, os.stat(one).st_mtime_ns) for one in (path, path.parent) if one.exists()
                ]
                written.append(path.write_text("Third text of 0.\n"))
                for changed, before in times:
                    os.utime(changed, ns=(before, before))

        return moved

    with monkeypatch.context() as patches:
        patches.setattr(os, "rename", write_after(os.rename))
        patches.setattr(os, "replace", write_after(os.replace))
        restored.restore("@~1")
    status = restored.status()
    assert written and f"skills/{name}" in [*status.modified, *status.added]
