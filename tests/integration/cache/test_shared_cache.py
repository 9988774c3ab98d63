"""Copies of a brain, its users, and what was collected: a cache shared is as good as one alone."""

import shutil
from pathlib import Path

import pytest

from brain import Brain
from brain.repo import derive
from brain.repo.derived_db import DerivedCache
from brain.verify.cache_check import find_cache_deviations
from tests.integration.cache.conftest import CachedBrain
from tests.support.derived_data import QUESTIONS, answer_all_questions, open_brain


def asked(brain: Brain) -> dict[str, object]:
    """Return the answers of an open brain."""
    return {name: ask(brain) for name, ask in QUESTIONS.items()}


class Alone:
    """Asks a brain without any cache."""

    def __init__(self, patch: pytest.MonkeyPatch, file: Path, caches: Path) -> None:
        self._patch, self._file, self._caches = patch, file, caches
        file.touch()

    def __call__(self, root: Path) -> dict[str, object]:
        self._patch.setenv("BRAIN_CACHE_DIR", str(self._file))
        try:
            return answer_all_questions(root)
        finally:
            self._patch.setenv("BRAIN_CACHE_DIR", str(self._caches))


@pytest.fixture
def alone(monkeypatch, tmp_path, caches):
    """What asks a brain without any cache."""
    return Alone(monkeypatch, tmp_path / "in-the-way", caches)


def copied(grown: CachedBrain, name: str) -> Path:
    """Return a copy of the brain: another folder, the same id."""
    return Path(shutil.copytree(grown.root, grown.root.with_name(name), symlinks=True))


def test_two_copies_that_go_apart_answer_each_for_itself(grown, alone):
    copy = copied(grown, "copy")
    for number in range(3):
        for root, word in ((grown.root, "ours"), (copy, "theirs")):
            with open_brain(root) as brain:
                brain.skills.upsert("Alpha", f"Do {word} {number}.\n", description=f"Of {word}")
                done = brain.skills.upsert(f"Only {word}", f"{number}\n", description="Only here")
                assert done.version == number + 1
                assert next(row.version for row in brain.skills.history("alpha")) == number + 4
            for folder in (grown.root, copy):
                assert answer_all_questions(folder) == alone(folder)
                with open_brain(folder) as brain:
                    assert brain.verify(deep=True).findings == []
                    assert all(one.ok for one in brain.doctor() if one.check == "cache")
    with open_brain(copy) as brain:
        assert [skill.slug for skill in brain.skills.list() if "only" in skill.slug] == [
            "only-theirs"
        ]


def test_two_copies_that_are_open_at_once_answer_each_for_itself(grown, alone):
    copy = copied(grown, "copy")
    with open_brain(grown.root) as ours, open_brain(copy) as theirs:
        for number in range(3):
            for brain in (ours, theirs):
                word = brain.root.name
                brain.skills.upsert("Beta", f"Do {word} {number}.\n", description=f"Of {word}")
                brain.snapshot()
            assert asked(ours) == alone(ours.root)
            assert asked(theirs) == alone(theirs.root)
        ours.branches.create("side")
        ours.branches.switch("side")
        ours.skills.upsert("Side", "Do.\n", description="By the side")
        ours.branches.switch("main")
        ours.merge.start("side")
        assert asked(theirs) == alone(theirs.root)
        assert asked(ours) == alone(ours.root)


def test_a_copy_of_before_answers_as_it_did(grown, alone):
    copy = copied(grown, "copy")
    with open_brain(grown.root) as brain:
        brain.skills.upsert("Later", "Do.\n", description="Later")
        brain.skills.upsert("Alpha", "Do it later.\n")
        asked(brain)
    assert answer_all_questions(copy) == grown.truth
    with open_brain(copy) as brain:
        assert brain.skills.upsert("Alpha", "Do it.\n").version == 4
        assert brain.skills.upsert("Later", "Do.\n").version == 1


@pytest.mark.parametrize("shared", [False, True], ids=["two caches", "one cache"])
def test_two_users_of_one_brain_see_the_same(grown, alone, caches, monkeypatch, shared):
    for number in range(4):
        if not shared:
            monkeypatch.setenv("BRAIN_CACHE_DIR", str(caches / f"user-{number % 2}"))
        with open_brain(grown.root) as brain:
            brain.skills.upsert("Alpha", f"Do {number}.\n", description=f"As {number} says")
            brain.skills.upsert(f"New {number}", "Do.\n", description="New")
            if number == 2:
                brain.skills.delete("new-0")
            seen = asked(brain)
        assert seen == alone(grown.root)
    assert seen["history of alpha"] != grown.truth["history of alpha"]


def test_what_was_undone_and_collected_is_in_no_answer(grown, alone):
    with open_brain(grown.root) as brain:
        brain.skills.upsert("Alpha", "Undone.\n", description="Undone")
        brain.skills.upsert("Undone", "Undone.\n", description="Undone")
        asked(brain)
        for _ in range(2):
            brain.undo()
        assert brain.gc(grace=0).removed > 0
        assert asked(brain) == alone(grown.root)
    assert answer_all_questions(grown.root) == grown.truth
    with open_brain(grown.root) as brain:
        assert brain.skills.upsert("Alpha", "Done.\n").version == 4
        assert brain.skills.upsert("Undone", "Done.\n", description="Done").version == 1
        assert [row.version for row in brain.skills.history("undone")] == [1]


def test_a_proposal_and_a_fork_go_by_what_they_hold(grown, alone, tmp_path):
    answer_all_questions(grown.root)
    with open_brain(grown.root) as brain:
        brain.fork(tmp_path / "fork")
        with brain.proposals.open("idea-of-mine") as proposal:
            proposal.skills.upsert("Alpha", "As proposed.\n", description="Proposed")
            assert proposal.skills.history("alpha")[0].version == 4
            assert "Proposed" in proposal.prompt.build_index().index
            assert brain.prompt.build_index().index == grown.truth["index"]
        assert asked(brain) == alone(grown.root)
    with open_brain(tmp_path / "fork") as fork:
        fork.skills.upsert("Alpha", "As forked.\n", description="Forked")
        assert {row.path for row in fork.skills.history("alpha")} == {"skills/alpha/SKILL.md"}
        assert (
            "Forked" in fork.prompt.build_index().index
            and "Proposed" not in fork.prompt.build_index().index
        )


def test_many_that_come_back_at_once_are_found_by_their_names(grown, alone, caches, monkeypatch):
    monkeypatch.setattr(derive, "MIN_BULK_PATHS", 3)
    with open_brain(grown.root) as brain:
        for number in range(4):
            file = grown.root / f"skills/odd{number}/SKILL.md"
            file.parent.mkdir()
            file.write_text(f"---\nname: Kept {number}\ndescription: Kept\n---\nDo.\n")
        gone = brain.snapshot().snapshot
        brain.undo()
        for number in range(4):
            shutil.rmtree(grown.root / f"skills/odd{number}")
    shutil.rmtree(caches)
    with open_brain(grown.root) as brain:
        brain.skills.history("alpha")
        brain.restore(gone)
    with open_brain(grown.root) as brain:
        assert brain.skills.view("kept-2").path == "skills/odd2/SKILL.md"
        assert brain.verify(deep=True).ok
    assert answer_all_questions(grown.root) == alone(grown.root)


def test_the_names_that_skills_had_in_a_lineage_that_was_undone_are_of_no_concern(grown, alone):
    with open_brain(grown.root) as brain:
        head = brain.head
        file = grown.root / "skills/alpha/SKILL.md"
        text = file.read_text()
        file.write_text(text.replace("name: alpha", "name: gone"))
        brain.snapshot()
        assert "skills/alpha/SKILL.md" in {row.path for row in brain.skills.history("gone")}
        brain.undo()
        file.write_text(text)
        assert brain.head == head
    assert answer_all_questions(grown.root) == alone(grown.root)
    with open_brain(grown.root) as brain:
        assert {row.path for row in brain.skills.history("gone")} == {"skills/gone/SKILL.md"}
        assert brain.skills.upsert("Gone", "Do.\n").version == 2


@pytest.mark.parametrize("listing", ["list_skill_names", "list_facts"])
def test_a_writer_between_two_looks_at_the_cache_makes_it_no_wrong_cache(
    grown, monkeypatch, listing
):
    listed = getattr(DerivedCache, listing)
    written: list[str] = []

    def list_and_let_write(cache: DerivedCache) -> object:
        rows = list(listed(cache)) if listing != "list_skill_names" else listed(cache)
        if not written:
            written.append(listing)
            with Brain.open(grown.root) as other:
                other.skills.upsert("C++ while verifying", "Meanwhile.\n")
        return rows

    with open_brain(grown.root) as brain:
        assert brain.skills.list()
        monkeypatch.setattr(DerivedCache, listing, list_and_let_write)
        found = list(find_cache_deviations(brain._locked.session))
    assert (written, found) == ([listing], [])
