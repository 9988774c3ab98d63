"""What comes of a commit is what a snapshot of its checkout would be."""

import itertools
import shutil
import tempfile
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from brain import Brain
from tests.support.git_repositories import (
    EXECUTABLE_MODE,
    LINK_MODE,
    GitEntry,
    GitFiles,
    GitRepository,
)

_NAMES = st.sampled_from(
    ["skills/a/SKILL.md", "skills/a/x.sh", "skills/b.md", "skills/ü/SKILL.md", "skills/a/l",
     "memory/m.jsonl", "memory/deep/er/m.md", "prompts/system.md", "SOUL.md", "skills/a/d/e.md"]
)  # fmt: skip
_CONTENTS = st.one_of(
    st.binary(max_size=40).map(GitEntry),
    st.sampled_from([b"", b"a\r\nb\r\n", b"---\nname: a\nversion: 3\n---\nx\n"]).map(GitEntry),
    st.binary(max_size=9).map(lambda content: GitEntry(content, EXECUTABLE_MODE)),
    st.sampled_from([b"SKILL.md", b"../b.md", b"d/e.md"]).map(lambda to: GitEntry(to, LINK_MODE)),
)
_STATES = st.dictionaries(_NAMES, _CONTENTS, max_size=6).map(
    lambda files: {
        **files,
        "skills/always/SKILL.md": GitEntry(b"x"),
        "memory/always.md": GitEntry(b"y"),
    }
)
_HISTORIES = st.lists(
    st.tuples(_STATES, st.lists(st.integers(0, 9), max_size=3)), min_size=1, max_size=6
)
_COUNT = itertools.count()
_OTHERS: GitFiles = {"skills/always/SKILL.md": GitEntry(b"x"), "memory/always.md": GitEntry(b"y")}
_THIRD: GitFiles = {**_OTHERS, "skills/a/SKILL.md": GitEntry(b"---\nname: a\nversion: 3\n---\nx\n")}


def committed(
    repo: GitRepository, history: list[tuple[GitFiles, list[int]]]
) -> dict[str, GitFiles]:
    """Commit states, each on top of some before it and the one before; return them by id."""
    made: dict[str, GitFiles] = {}
    for number, (files, picks) in enumerate(history):
        ids = list(made)
        parents = dict.fromkeys([*ids[-1:], *(ids[pick % len(ids)] for pick in picks if ids)])
        if number % 3 == 2:  # a second line of work
            parents = dict.fromkeys(list(parents)[1:] or ids[:1])
        made[repo.commit(files, *parents, message=f"{number}".encode())] = files
    return made


def recorded(folder: Path, files: GitFiles) -> str:
    """Return the bundle of a snapshot of a checkout, beside the manifest of the brain."""
    with Brain.init(folder, name="brain") as brain:
        for name, what in files.items():
            path = folder / str(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            assert isinstance(what, GitEntry)
            if what.mode == LINK_MODE:
                path.symlink_to(what.content.decode())
            else:
                path.write_bytes(what.content)
                path.chmod(0o755 if what.mode == EXECUTABLE_MODE else 0o644)
        return brain.snapshot().bundle


@settings(max_examples=10)
@given(_HISTORIES, st.integers(0, 5))
@example([(_THIRD, []), (_THIRD, []), ({**_THIRD, "skills/a/SKILL.md": GitEntry(b"x")}, [])], 1)
def test_each_commit_has_the_bundle_of_a_snapshot_of_its_checkout(history, stop):
    work = Path(tempfile.mkdtemp())
    try:
        repo = GitRepository(work / "repo")
        target = work / "brain"
        Brain.init(target, name="brain").close()
        first = committed(repo, history[: stop + 1])
        done = Brain.adopt(repo.path, target)
        made = {**first}
        if len(history) > stop + 1:  # the rest comes with a second adoption
            shutil.rmtree(repo.path)
            made = committed(GitRepository(repo.path), history)
            done = Brain.adopt(repo.path, target)
        with Brain.open(target) as brain:
            verified = brain.verify(deep=True)
            noted = {(row.code, row.severity) for row in verified.findings}
            # authors need not raise versions, which is told where two lines of work are merged
            assert verified.ok and noted <= {("version_not_raised", "note")}
            found = {s.operation.get("revision"): s.bundle for s in brain.history.log(done.branch)}
        reachable = set(repo.run_git("rev-list", "HEAD").decode().split())
        for commit in reachable:
            assert found[commit] == recorded(work / f"{next(_COUNT)}", made[commit])
    finally:
        shutil.rmtree(work)
