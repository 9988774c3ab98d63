"""What was redacted is in no cache of anybody who knows of it, and in no answer."""

import os
import shutil
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from brain import Brain
from brain.repo import derive, find_skill, lineage_cache
from tests.support.derived_data import answer_all_questions, open_brain

WORD = "quetzal7391"
"""What was redacted; no ending that a stemmer would take off."""


def holding(folder: Path) -> list[str]:
    """Return the files below a folder that hold the word."""
    return [
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and WORD.encode() in path.read_bytes()
    ]


@pytest.fixture
def told(grown, caches):
    """A brain that knows the word: in a name, a description, a version of before and now."""
    with open_brain(grown.root) as brain:
        brain.skills.upsert("Bird", "Watch.\n", description="Watch it")
        brain.skills.upsert("Bird", f"Watch {WORD}.\n", description=f"Watch the {WORD}")
        file = grown.root / f"skills/folder-of-{WORD}/SKILL.md"
        file.parent.mkdir()
        file.write_text("---\nname: Other\ndescription: Its path has it\n---\n")
    return grown.root


def fill(root: Path) -> None:
    """Bring all that the cache keeps up to date."""
    answer_all_questions(root)
    with open_brain(root) as brain:
        brain.skills.select(WORD)
        brain.prompt.build_index()


ASK: dict[str, Callable[[Brain], object]] = {
    "index": lambda brain: brain.prompt.build_index(),
    "index of before": lambda brain: brain.prompt.build_index("@~1"),
    "prompt": lambda brain: brain.prompt.build(),
    "skills": lambda brain: brain.skills.list(),
    "select": lambda brain: brain.skills.select("penguins"),
    "history": lambda brain: brain.skills.history("alpha"),
    "view": lambda brain: brain.skills.view("alpha"),
    "upsert": lambda brain: brain.skills.upsert("Alpha", "Do.\n"),
}


ASK_FIRST = [ask for name, ask in ASK.items() if name != "upsert"]


@pytest.mark.parametrize("ask", ASK)
def test_another_user_who_learns_of_a_redaction_keeps_nothing_of_it(told, caches, monkeypatch, ask):
    users = [caches / "one", caches / "another"]
    (told / f"skills/folder-of-{WORD}/SKILL.md").unlink()
    (told / f"skills/folder-of-{WORD}").rmdir()
    for user in users:
        monkeypatch.setenv("BRAIN_CACHE_DIR", str(user))
        fill(told)
        assert holding(user)
    monkeypatch.setenv("BRAIN_CACHE_DIR", str(users[0]))
    with open_brain(told) as brain:
        brain.files.redact("skills/bird/SKILL.md", reason="a name")
    assert holding(users[0]) == []
    assert holding(told) == []
    monkeypatch.setenv("BRAIN_CACHE_DIR", str(users[1]))
    with open_brain(told) as brain:
        found = ASK[ask](brain)
        assert WORD not in str(found)
    assert holding(users[1]) == []


@pytest.mark.parametrize("ask", ASK)
def test_a_brain_that_is_open_learns_of_the_redaction_of_another_user(
    told, caches, monkeypatch, ask
):
    (told / f"skills/folder-of-{WORD}/SKILL.md").unlink()
    monkeypatch.setenv("BRAIN_CACHE_DIR", str(caches / "another"))
    with open_brain(told) as other:
        for question in (*ASK_FIRST, lambda brain: brain.skills.select(WORD)):
            question(other)
        monkeypatch.setenv("BRAIN_CACHE_DIR", str(caches / "one"))
        with open_brain(told) as brain:
            brain.files.redact("skills/bird/SKILL.md", reason="a name")
        monkeypatch.setenv("BRAIN_CACHE_DIR", str(caches / "another"))
        assert WORD not in str(ASK[ask](other))
        assert holding(caches / "one") == []
    assert holding(caches / "another") == []


def test_a_copy_that_knows_nothing_of_a_redaction_brings_nothing_back(told, caches, tmp_path):
    """Both copies share a cache; that which redacted never shows what the other still holds."""
    with open_brain(told) as brain:
        brain.snapshot()
    copy = Path(shutil.copytree(told, tmp_path / "copy", symlinks=True))
    with open_brain(told) as brain:
        before = brain.head
        brain.files.redact("skills/bird/SKILL.md", reason="a name")
        brain.skills.upsert("Later", "Do.\n", description="Later")
    with open_brain(copy) as brain:
        assert WORD in brain.prompt.build_index().index
        assert WORD in str(brain.skills.list())
    with open_brain(told) as brain:
        for revision in ("@", before):
            assert WORD not in brain.prompt.build_index(revision).index.replace(
                f"folder-of-{WORD}", ""
            )
            assert "Watch the" not in str(brain.skills.list(revision))
        assert "Watch" not in brain.prompt.build().prompt
        assert brain.skills.select(WORD) == [] or "Watch" not in str(brain.skills.select(WORD))
    with open_brain(copy) as brain:
        assert WORD in brain.prompt.build_index().index


def test_the_answers_after_a_redaction_are_those_without_any_cache(
    told, caches, tmp_path, monkeypatch
):
    fill(told)
    with open_brain(told) as brain:
        brain.snapshot()
        brain.files.redact("skills/bird/SKILL.md", reason="a name")
        earlier = brain.skills.history("alpha")[1].snapshot
        brain.files.redact("skills/alpha/SKILL.md", rev=earlier, reason="another")
        brain.skills.upsert("Bird", "Watch again.\n", description="Watch again")
    found = answer_all_questions(told)
    with open_brain(told) as brain:
        versions = [row.version for row in brain.skills.history("bird")]
    (tmp_path / "in-the-way").touch()
    monkeypatch.setenv("BRAIN_CACHE_DIR", str(tmp_path / "in-the-way"))
    assert answer_all_questions(told) == found
    with open_brain(told) as brain:
        assert [row.version for row in brain.skills.history("bird")] == versions


def test_no_version_is_given_twice_since_its_content_was_redacted(told, caches):
    with open_brain(told) as brain:
        assert brain.skills.upsert("Bird", "Watch more.\n").version == 3
        brain.files.redact("skills/bird/SKILL.md", reason="a name")
        assert brain.skills.upsert("Bird", "Watch.\n", description="Watch").version == 4


def redacting(
    told: Path, monkeypatch: pytest.MonkeyPatch, user: Path, place: object, name: str, after: int
) -> None:
    """Let another user redact right after the call of a function with this number."""
    plain, mine = getattr(place, name), os.environ["BRAIN_CACHE_DIR"]
    calls = count(1)

    def interrupted(*args: Any) -> Any:
        made = plain(*args)
        if next(calls) == after:
            monkeypatch.setenv("BRAIN_CACHE_DIR", str(user))
            with open_brain(told) as brain:
                brain.files.redact("skills/bird/SKILL.md", reason="a name")
            monkeypatch.setenv("BRAIN_CACHE_DIR", mine)
        return made

    monkeypatch.setattr(place, name, interrupted)


def _skills(brain: Brain) -> object:
    return brain.skills.list()


def _index(brain: Brain) -> object:
    return brain.prompt.build_index(budget=60)


@pytest.mark.parametrize(
    ("ask", "place", "name", "after"),
    [
        (_skills, derive, "read_cards", 1),
        (_index, derive, "read_cards", 1),
        (_index, find_skill.Skills, "iter", 1),
    ],
)
def test_what_is_redacted_while_a_reader_is_at_work_is_kept_nowhere(
    told, caches, monkeypatch, ask, place, name, after
):
    (told / f"skills/folder-of-{WORD}/SKILL.md").unlink()
    (told / f"skills/folder-of-{WORD}").rmdir()
    monkeypatch.setattr(lineage_cache, "_SNAPSHOTS_PER_BATCH", 1)
    monkeypatch.setenv("BRAIN_CACHE_DIR", str(caches / "reader"))
    redacting(told, monkeypatch, caches / "writer", place, name, after)
    with open_brain(told) as reader:
        before = reader.head
        ask(reader)
        assert reader.head != before
        assert (
            WORD
            not in str(reader.skills.list(before))
            + reader.prompt.build_index(before, budget=60).index
        )
        assert len(reader.skills.history("alpha")) == 3
        assert reader.verify(deep=True).ok
    assert holding(caches / "reader") == holding(caches / "writer") == []


@pytest.mark.parametrize(
    ("place", "name", "after"),
    [
        (derive, "derive_snapshot", 9),
        *((lineage_cache, "update_lineage_cache", number) for number in range(1, 4)),
    ],
)
def test_who_asks_while_another_redacts_is_answered_in_full(
    told, caches, monkeypatch, place, name, after
):
    monkeypatch.setattr(lineage_cache, "_SNAPSHOTS_PER_BATCH", 1)
    monkeypatch.setenv("BRAIN_CACHE_DIR", str(caches / "reader"))
    redacting(told, monkeypatch, caches / "writer", place, name, after)
    with open_brain(told) as reader:
        before = reader.head
        assert len(reader.skills.history("alpha")) == 3
        assert reader.head != before


def test_redactions_on_two_branches_leave_both_known(told, caches, monkeypatch):
    with open_brain(told) as brain:
        for branch in ("main", "idea"):
            brain.branches.switch(branch)
            (told / f"memory/{branch}.md").write_text(f"A secret of {branch}.\n")
            brain.snapshot()
            brain.files.redact(f"memory/{branch}.md", reason="a test")
    for user in range(8):  # whichever branch is learned first
        monkeypatch.setenv("BRAIN_CACHE_DIR", str(caches / str(user)))
        with open_brain(told) as brain:
            lineage_cache.update_lineage_cache(brain._session)
            known = brain._session.cache.has_snapshot
            assert all(map(known, brain._session.reader.list_refs().values()))
            assert len(brain.skills.history("alpha")) == 3
