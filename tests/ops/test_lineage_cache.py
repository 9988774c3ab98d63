"""Derived data are rebuilt from the snapshots alone."""

import pytest

from brain import Brain, NotFound
from brain.repo import derive
from tests.support.brains import skill_text, write_file


def test_a_file_that_is_no_skill_hides_no_skill_that_was_recorded_with_it(brain):
    for path in ("skills/a/notes.md", "skills/m/deep/er/x.md", "skills/z.txt.md/y.md"):
        write_file(brain, path, "x\n")
    for slug in ("b", "n", "zz"):
        write_file(brain, f"skills/{slug}/SKILL.md", skill_text(slug, 3))
    head = brain.snapshot().snapshot
    for slug in ("b", "n", "zz"):
        rows = [(row.version, row.snapshot) for row in brain.skills.history(slug)]
        assert rows == [(3, head)]


def test_a_skill_that_a_large_restore_brings_back_is_found_by_its_name(brain, monkeypatch):
    paths = [f"skills/s{number}/SKILL.md" for number in range(4)]
    monkeypatch.setattr(derive, "MIN_BULK_PATHS", len(paths))
    for path in paths:
        write_file(brain, path, skill_text("Real name" if path == paths[0] else path[7:9]))
    undone = brain.snapshot().snapshot
    brain.undo()
    for path in paths:
        (brain.root / path).unlink()
    brain._session.replace_cache()
    with Brain.open(brain.root) as reader, pytest.raises(NotFound):
        reader.skills.view("real-name")
    with Brain.open(brain.root) as writer:
        writer.restore(undone)
    with Brain.open(brain.root) as other:
        assert other.skills.view("real-name").path == paths[0]
