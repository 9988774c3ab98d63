"""One generated brain and the copies of it that the contestants work on."""

import contextlib
import shutil
from functools import cached_property
from pathlib import Path

from tests.bench.contestants import BrainCli, Git
from tests.bench.generate import Corpus, generate
from tests.bench.timing import Failed, Runner

CONTROLS = (".brain", ".git")
MANY = 50_000
"""Skills from which work that writes every file is repeated at most `FEW` times."""
FEW = 2


class Arena:
    """The folders of one corpus; they are made when they are first asked for."""

    def __init__(self, corpus: Corpus, work: Path, runner: Runner, repeats: int) -> None:
        self.corpus = corpus
        self.runner = runner
        self.repeats = repeats
        self.source = generate(corpus, work)
        self.work = work / "arena"
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir(parents=True)

    def close(self) -> None:
        """Remove the copies; the generated brain stays for the next run."""
        shutil.rmtree(self.work)

    @property
    def slow_repeats(self) -> int:
        """Repeats of work that writes every file: a slow disk takes minutes for each."""
        return min(self.repeats, FEW) if self.corpus.skills >= MANY else self.repeats

    @property
    def quick_repeats(self) -> int:
        """Repeats of work that takes milliseconds."""
        return self.repeats * 3 if self.repeats > 1 else 1

    def copy(self, source: Path, name: str) -> Path:
        """Copy a folder with its times to a new place of the arena."""
        target = self.work / name
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        self.runner.output("cp", "-a", f"{source}/.", target)
        return target

    @cached_property
    def brain(self) -> BrainCli:
        """A copy for brain."""
        return BrainCli(self.runner, self.copy(self.source, "brain"))

    @cached_property
    def git(self) -> Git:
        """A copy for git with its defaults."""
        return Git.default(self.runner, self.copy(self.source, "git"))

    @cached_property
    def tuned(self) -> Git:
        """A copy for tuned git."""
        return Git.tuned(self.runner, self.copy(self.source, "git-tuned"))

    @cached_property
    def ready(self) -> bool:
        """Whether all three have recorded everything once; recorded first if need be.

        What one of them cannot do now its turns report later.
        """
        for contestant in (self.brain, self.git, self.tuned):
            if not contestant.control.exists():
                with contextlib.suppress(Failed):
                    contestant.first()
        for contestant in (self.brain, self.git):
            with contextlib.suppress(Failed):
                self.copy(contestant.control, f"first/{contestant.control.name}")
        return True

    def first_state(self, control: str) -> Path:
        """Return the stored side (`.brain` or `.git`) as the first snapshot left it."""
        state = self.work / "first" / control
        if not self.ready or not state.exists() or not any(state.iterdir()):
            raise Failed("there is no first snapshot")
        return state

    @cached_property
    def packed_git(self) -> Git:
        """A repository without files, packed by gc."""
        self.copy(self.first_state(".git"), "packed/.git")
        packed = Git.default(self.runner, self.work / "packed")
        packed.run("gc", "--quiet")
        return packed

    @cached_property
    def stored_brain(self) -> BrainCli:
        """A brain without files."""
        self.copy(self.first_state(".brain"), "stored/.brain")
        return BrainCli(self.runner, self.work / "stored")
