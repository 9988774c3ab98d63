"""A git history of skills, taken in commit by commit."""

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

from tests.bench.contestants import COMMAND, Git
from tests.bench.generate import SEED, Corpus, body, words
from tests.bench.timing import Runner, Sample, Series, interleave

COMMITS = 5000
SKILLS = 500
"""Skills of the repository; each commit makes one of them, or writes it anew."""
_BEGIN = 1_600_000_000
_PERSON = "Bench <bench@example.org>"


def adopt_git(runner: Runner, work: Path, repeats: int) -> dict[str, Series]:
    """`brain adopt` of a repository into a new brain, against git cloning it."""
    repository = _repository(runner, work, COMMITS)
    target = work / "adopted"

    def timed(*command: str | Path) -> Sample:
        shutil.rmtree(target, ignore_errors=True)
        try:
            return runner.timed([str(part) for part in command])
        finally:
            shutil.rmtree(target, ignore_errors=True)

    return interleave(
        repeats,
        {
            "brain": lambda _: timed(COMMAND, "adopt", repository, target, "--as", "git"),
            "git clone": lambda _: timed("git", "clone", "-q", repository.as_uri(), target),
        },
    )


def _repository(runner: Runner, work: Path, commits: int) -> Path:
    """Return the repository, making it unless an earlier run has."""
    folder = work / "corpora" / f"git-{commits}"
    stream, finished = folder.with_suffix(".stream"), folder.with_suffix(".finished")
    if finished.exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with stream.open("wb") as out:
        out.writelines(history(commits))
    Git.default(runner, folder).run("init", "--quiet", "--initial-branch", "main")
    runner.output("sh", "-c", 'git -C "$0" fast-import --quiet < "$1"', folder, stream)
    stream.unlink()
    finished.touch()
    return folder


def history(commits: int) -> Iterator[bytes]:
    """Yield a history of skills as `git fast-import` reads it, the same on every machine."""
    corpus = Corpus("directory", SKILLS, 0)
    for number in range(commits):
        rng = random.Random(SEED * 1_000_003 + number)
        slug, version = corpus.slug(number % SKILLS), number // SKILLS + 1
        head = f"name: {slug}\ndescription: {words(rng, 18).capitalize()}.\nversion: {version}"
        text = f"---\n{head}\n---\n\n{body(rng)}".encode("ascii")
        message = f"Version {version} of {slug}\n".encode("ascii")
        when = f"{_PERSON} {_BEGIN + 3600 * number} +0000"
        yield f"commit refs/heads/main\nauthor {when}\ncommitter {when}\n".encode("ascii")
        yield b"data %d\n%s" % (len(message), message)
        path = corpus.path(number % SKILLS)
        yield f"M 100644 inline {path}\ndata {len(text)}\n".encode("ascii") + text + b"\n"
