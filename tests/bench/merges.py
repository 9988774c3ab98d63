"""Rows of branches and long lineages; git does the like by command."""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.bench.arena import Arena
from tests.bench.contestants import Git
from tests.bench.lineage import SKILLS, long_lineage
from tests.bench.lineage_worker import SIDE, VERSIONS
from tests.bench.timing import Sample, Series, Turn, interleave

Row = Callable[[Arena], dict[str, Series]]


def merge(arena: Arena) -> dict[str, Series]:
    """Two branches that changed 50 skills each, merged with the files written."""
    paths = [arena.corpus.path(number) for number in range(min(2 * SIDE, arena.corpus.skills))]

    def by_git(repeat: int) -> Sample:
        git, side = arena.git, f"side-{repeat}"
        git.run("branch", side)
        for branch, some in (("main", paths[:SIDE]), (side, paths[SIDE:])):
            git.run("checkout", "--quiet", branch)
            for path in some:
                (git.folder / path).write_text(f"{branch} {repeat}\n")
            git.commit("--all")
        git.run("checkout", "--quiet", "main")
        return git.run("merge", "--quiet", "-m", "merge", side)

    made = interleave(1, {"brain": _asking(arena, "merge", arena.brain.folder)})
    return made | interleave(arena.repeats, {"git": by_git})


def merge_base(arena: Arena) -> dict[str, Series]:
    """The merge base of the head and a branch that left it half way."""
    return _of_lineage(arena, "merge-base", ("merge-base", "main", "side"))


def log_all(arena: Arena) -> dict[str, Series]:
    """The log of as many snapshots as there are skills."""
    return _of_lineage(arena, "log", ("log", "main"))


def _of_lineage(arena: Arena, work: str, command: tuple[str, ...]) -> dict[str, Series]:
    def by_git(_: int) -> Sample:
        git = Git.default(arena.runner, arena.work / "lineage-git")
        if not git.folder.exists():
            arena.runner.output("git", "init", "--quiet", "--bare", git.folder)
            _import(git.folder, _commits(arena.corpus.skills))
        return git.run(*command)

    by_brain = _asking(arena, work, long_lineage(arena))
    return interleave(1, {"brain": by_brain}) | interleave(arena.repeats, {"git": by_git})


def blame(arena: Arena) -> dict[str, Series]:
    """Who wrote each line of a skill of 200 versions."""

    def by_git(_: int) -> Sample:
        git = Git.default(arena.runner, arena.work / "blamed-git")
        if not git.folder.exists():
            arena.runner.output("git", "init", "--quiet", "--bare", git.folder)
            _import(git.folder, _versions())
        return git.run("blame", "main", "--", "blamed.md")

    by_brain = _asking(arena, "blame", arena.work / "blamed")
    return interleave(1, {"brain": by_brain}) | interleave(arena.repeats, {"git": by_git})


def prove(arena: Arena) -> dict[str, Series]:
    """The proof that a skill is there, made and checked."""
    return interleave(
        1,
        {
            "brain": _asking(arena, "prove", arena.brain.folder),
            "brain checks": _asking(arena, "check", arena.brain.folder),
        },
    )


def _asking(arena: Arena, work: str, folder: Path) -> Turn:
    def turn(_: int) -> list[Sample]:
        said = arena.runner.module("lineage_worker", work, folder, arena.quick_repeats)
        return [Sample(wall=value / 1000) for value in json.loads(said)]

    return turn


def _commits(count: int) -> Iterator[str]:
    """Yield a lineage as `plain` of `lineage` has it, and a branch that leaves it half way."""
    for number in range(count):
        yield _commit("main", f"skill-{number % SKILLS:02d}.md", f"{number}\n")
        if number == count // 2:
            yield "reset refs/heads/side\nfrom refs/heads/main\n\n"
    yield _commit("side", "aside.md", "x\n")


def _versions() -> Iterator[str]:
    lines = [f"Line {number}.\n\n" for number in range(VERSIONS)]
    for number in range(VERSIONS):
        lines[number] = f"Line {number}, changed.\n\n"
        yield _commit("main", "blamed.md", "".join(lines))


def _commit(branch: str, path: str, text: str) -> str:
    who = "committer Bench <bench@example.org> 1700000000 +0000\n"
    content = f"data {len(text)}\n{text}\n"
    return f"commit refs/heads/{branch}\n{who}data 1\nc\nM 100644 inline {path}\n{content}"


def _import(folder: Path, stream: Iterator[str]) -> None:
    command = ["git", "-C", str(folder), "fast-import", "--quiet"]
    subprocess.run(command, input="".join(stream), text=True, check=True)


ROWS: dict[str, Row] = {
    "merge": merge,
    "merge-base": merge_base,
    "log-all": log_all,
    "blame": blame,
    "prove": prove,
}
