"""Files and skills with the same bytes at several places keep everything that is derived apart."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from brain import Brain

MANY = 520
"""Paths; from 500 on, a snapshot is told of in one row."""
NAMES = ("alpha", "beta", "gamma", "Delta Force", "")


def skill_text(name: str, number: int = 0) -> str:
    named = f"name: {name}\n" if name else ""
    return f"---\n{named}description: About {name or 'nothing'} {number}\n---\nDo {number}.\n"


def write(root: Path, path: str, text: str) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def fill(root: Path, rng: random.Random, count: int) -> None:
    """Write many skills, with few names and texts: most have twins, in and out of their places."""
    for number in range(count):
        folder = rng.choice(("skills", "skills/deep", "memory", ".claude/skills"))
        name = rng.choice(NAMES)
        place = rng.choice((name or "none", f"{rng.choice('abcxyz')}-{number}"))
        write(root, f"{folder}/{place}/SKILL.md", skill_text(name, rng.randrange(2)))


def check_all(brain: Brain, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, step: str) -> None:
    """See that what is kept agrees with the objects, and answers as what is derived anew."""
    verified = brain.verify(deep=True)
    assert verified.ok, (step, [one for one in verified.findings if one.severity == "error"])
    kept = answers(brain)
    with monkeypatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path / f"fresh-{step}"))
        with Brain.open(brain.root) as fresh:
            assert answers(fresh) == kept, step
            again = fresh.verify(deep=True)
    assert again.ok, (step, "anew", again.findings)


def answers(brain: Brain) -> list[Any]:
    listed = brain.skills.list()
    some = sorted({one.path for one in listed if one.slug in ("alpha", "beta", "delta-force")})
    return [
        brain.prompt.build_index().index,
        listed,
        {path: brain.skills.history(path) for path in some[:6]},
        {slug: brain.skills.find_addresses(slug) for slug in ("alpha", "beta", "delta-force")},
        [one.slug for one in brain.skills.select("alpha nothing", 5)],
    ]


def remove_one_twin(brain: Brain, rng: random.Random) -> None:
    for skill in rng.sample(brain.skills.list(), 3):
        (brain.root / skill.path).unlink()
    brain.snapshot()


def swap_names(brain: Brain, rng: random.Random) -> None:
    first, second = rng.sample(brain.skills.list(), 2)
    texts = [(brain.root / one.path).read_text() for one in (first, second)]
    (brain.root / first.path).write_text(texts[1])
    (brain.root / second.path).write_text(texts[0])
    brain.snapshot()


def merge_the_same_from_two_branches(brain: Brain, rng: random.Random) -> None:
    name = f"idea-{rng.randrange(10**6)}"
    brain.branches.create(name)
    for branch in ("main", name):
        brain.branches.switch(branch)
        fill(brain.root, random.Random(7), 30)
        write(brain.root, f"skills/of-{branch}/SKILL.md", skill_text("alpha", 9))
        brain.snapshot()
    brain.branches.switch("main")
    assert brain.merge.start(name).snapshot


def merge_very_many(brain: Brain, rng: random.Random) -> None:
    name = f"many-{rng.randrange(10**6)}"
    brain.branches.create(name)
    brain.branches.switch(name)
    for number in range(MANY):
        write(brain.root, f"skills/{name}-{number}/SKILL.md", skill_text("Delta Force", 1))
    brain.snapshot()
    brain.branches.switch("main")
    write(brain.root, f"memory/{name}.md", "here\n")
    brain.snapshot()
    assert brain.merge.start(name).snapshot


def restore_everything(brain: Brain, rng: random.Random) -> None:
    log = [one.snapshot for one in brain.history.log()]
    brain.restore(rng.choice(log[:-2]))  # the first two have no skills


def undo_and_redo(brain: Brain, rng: random.Random) -> None:
    fill(brain.root, rng, 5)
    brain.snapshot()
    brain.undo()
    if rng.random() < 0.5:
        brain.redo()


def revert_a_twin(brain: Brain, rng: random.Random) -> None:
    one = rng.choice(brain.skills.list())
    first = brain.skills.view(one.path).version
    brain.skills.upsert(one.path, "Other.\n")
    brain.skills.revert(one.path, str(first))


STEPS: tuple[Callable[[Brain, random.Random], object], ...] = (
    remove_one_twin,
    swap_names,
    merge_the_same_from_two_branches,
    merge_very_many,
    restore_everything,
    undo_and_redo,
    revert_a_twin,
)


@pytest.mark.parametrize("seed", range(2))
def test_whatever_is_done_to_twins_verify_agrees_with_what_is_derived(tmp_path, monkeypatch, seed):
    rng = random.Random(seed)
    fill(tmp_path / "home", rng, MANY * 2)
    Brain.adopt(tmp_path / "home", tmp_path / "brain", author="tester")
    with Brain.open(tmp_path / "brain", author="tester") as brain:
        check_all(brain, monkeypatch, tmp_path, "adopt")
        for number, step in enumerate(rng.sample(STEPS, len(STEPS))):
            step(brain, rng)
            check_all(brain, monkeypatch, tmp_path, f"{number}-{step.__name__}")
        brain.fork(tmp_path / "fork")
    with Brain.open(tmp_path / "fork") as fork:
        check_all(fork, monkeypatch, tmp_path, "fork")
        assert len(fork.skills.list()) > MANY


@pytest.mark.parametrize("other", ["a-copy", "z-copy"])
@pytest.mark.parametrize("again", [False, True])
def test_a_skill_is_found_by_its_name_though_a_twin_lies_at_the_place_of_that_name(
    tmp_path, monkeypatch, other, again
):
    for number in range(MANY):
        write(tmp_path / "home", f"skills/s{number}/SKILL.md", skill_text(f"s{number}"))
    write(tmp_path / "home", f"skills/{other}/SKILL.md", skill_text("s5"))
    write(tmp_path / "home", "skills/b/SKILL.md", skill_text("Only Named"))
    Brain.adopt(tmp_path / "home", tmp_path / "brain", author="tester")
    if again:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with Brain.open(tmp_path / "brain") as brain:
        assert brain.skills.view("only-named").path == "skills/b/SKILL.md"
        (brain.root / "skills/s5/SKILL.md").unlink()
        brain.snapshot()
        assert brain.skills.view("s5").path == f"skills/{other}/SKILL.md"
        assert brain.verify(deep=True).ok


class Letters:
    """An embedder whose vectors count the letters of a text."""

    identity = "letters"

    def embed(self, texts: Sequence[str]) -> Any:
        rows = np.array([[1 + text.count(letter) for letter in "abcxyz"] for text in texts], "f4")
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_twins_without_a_name_are_ranked_by_the_names_of_their_places(tmp_path):
    with Brain.init(tmp_path / "brain", author="tester") as brain:
        for place in ("aaaa", "zzzz", "cccc"):
            write(brain.root, f"skills/{place}/SKILL.md", "---\ndescription: d\n---\nDo.\n")
        brain.snapshot()
    with Brain.open(tmp_path / "brain", embedder=Letters) as brain:
        for letter in "azc":
            (best,) = brain.skills.select(letter * 4, 1, by="embedding")
            assert best.slug == letter * 4
