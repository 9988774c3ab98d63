"""Random work on two branches: merges keep every word of either side, whatever was renamed."""

import random
import re

import pytest

from brain import Brain, Conflict

LINES = "".join(f"Line {number} of this skill.\n\n" for number in range(8))


class Worker:
    """Edits and renames skills by a seed; each edit adds a word that occurs nowhere else."""

    def __init__(self, brain: Brain, seed: int) -> None:
        self.brain = brain
        self.chance = random.Random(seed)
        self._words = 0

    def words(self) -> set[str]:
        files = [path for path in (self.brain.root / "skills").rglob("*") if path.is_file()]
        return {word for path in files for word in re.findall(r"word-\d+\b", path.read_text())}

    def act(self) -> None:
        """Insert a line, add a file, or rename a skill by hand or by command."""
        skills = sorted(path.parent for path in (self.brain.root / "skills").rglob("SKILL.md"))
        folder = self.chance.choice(skills)
        self._words += 1
        word = f"word-{self._words}"
        kind = self.chance.randrange(6)
        if kind < 3:
            lines = (folder / "SKILL.md").read_text().splitlines()
            lines.insert(self.chance.randrange(6, len(lines)), word)
            (folder / "SKILL.md").write_text("\n".join(lines) + "\n")
        elif kind == 3:
            (folder / f"{word}.md").write_text(f"{word}\n")
        elif kind == 4:
            target = self.brain.root / "skills" / self.chance.choice(("", "web")) / f"m{word[5:]}"
            target.parent.mkdir(exist_ok=True)
            folder.rename(target)
        else:
            self.brain.snapshot()
            try:
                self.brain.skills.rename(folder.name, f"r{self.chance.randrange(9)}")
            except Conflict as error:
                assert error.code == "skill_exists"

    def merge(self, other: str) -> bool:
        """Merge a branch and keep both sides of each conflict; tell whether that went."""
        here = self.brain.branches.current
        before = self.words()
        self.brain.branches.switch(other)
        before |= self.words()
        self.brain.branches.switch(here)
        conflicts = self.brain.merge.start(other, self.chance.choice((None, "both"))).conflicts
        for _ in range(4):
            if not conflicts:
                break
            open_ = [row.path for row in conflicts if not row.choice]
            self.brain.merge.resolve(open_, "both")
            conflicts = self.brain.merge.resume().conflicts
        else:  # two front matters of one skill are no front matter
            self.brain.merge.abort()
            return False
        assert before <= self.words()
        assert self.brain.status().clean
        return True


@pytest.mark.parametrize("seed", range(6))
def test_no_word_of_either_side_is_lost_by_merges_of_renamed_skills(tmp_path, seed):
    with Brain.init(tmp_path / "agent", author="tester") as brain:
        for name in "abc":
            brain.skills.upsert(name, LINES.replace("this", name), description="d")
        brain.branches.create("idea")
        worker = Worker(brain, seed)
        for _ in range(12):
            branch, other = worker.chance.sample(["main", "idea"], 2)
            brain.branches.switch(branch)
            for _ in range(worker.chance.randrange(1, 4)):
                worker.act()
            brain.snapshot()
            if worker.chance.random() < 0.5 and not worker.merge(other):
                break
        assert brain.verify(deep=True).ok
