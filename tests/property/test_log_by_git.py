"""Log and diff, with ranges and paths, answer as git does about the same history."""

import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from brain import Brain
from brain.results import Diff, SnapshotInfo
from tests.support.git_repositories import GitRepository

_PATHS = ("memory/a.md", "memory/a.md.txt", "memory/a/b.bin", "prompts/é.md", "prompts/x y.md")
_WANTED = ("memory", "memory/a", "memory/a.md", "prompts", "prompts/é.md", "manifest.yaml", "none")
_EDIT = st.dictionaries(
    st.sampled_from(_PATHS), st.none() | st.sampled_from([b"1\n", b"2\n", b"2", b"\0"]), max_size=3
)
_STEPS = st.lists(
    st.tuples(_EDIT, st.sampled_from(["stay", "stay", "switch", "merge", "merge"])),
    min_size=3,
    max_size=9,
)


def _make_history(brain: Brain, steps: list[tuple[dict[str, bytes | None], str]]) -> list[str]:
    """Record edits on two branches with merges; return all snapshots, parents first."""
    brain.branches.create("idea")
    for number, (edit, then) in enumerate(steps):
        for path, content in edit.items():
            file = brain.root / path
            if content is None:
                file.unlink(missing_ok=True)
            else:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
        brain.snapshot(f"step {number}")
        other = "main" if brain.branches.current == "idea" else "idea"
        if then == "switch":
            brain.branches.switch(other)
        elif then == "merge":
            brain.merge.start(other, "theirs" if number % 2 else "ours")
    known: dict[str, SnapshotInfo] = {}
    for branch in ("main", "idea"):
        known |= {row.snapshot: row for row in brain.history.log(branch)}
    return sorted(known, key=lambda snapshot: known[snapshot].generation)


def _copy_to_git(brain: Brain, snapshots: list[str], repo: GitRepository) -> dict[str, str]:
    """Commit the files of each snapshot with the same parents; return commits by snapshot."""
    marks = {snapshot: number for number, snapshot in enumerate(snapshots, 1)}
    stream = b""
    for snapshot, mark in marks.items():
        head = f"commit refs/heads/at-{mark}\nmark :{mark}\n"
        head += f"committer T <t@example.org> {1_700_000_000 + mark} +0000\ndata 1\n-\n"
        parents = [marks[parent] for parent in brain.history.show(snapshot).info.parents]
        head += "".join(
            f"{'merge' if at else 'from'} :{parent}\n" for at, parent in enumerate(parents)
        )
        stream += head.encode() + b"deleteall\n"
        for row in brain.files.list(snapshot):
            content = brain.files.read(row.path, snapshot)
            quoted = f'M 100644 inline "{row.path}"\ndata {len(content)}\n'
            stream += quoted.encode() + content + b"\n"
    repo.run_git("fast-import", "--quiet", stdin=stream)
    names = [f"refs/heads/at-{mark}" for mark in marks.values()]
    commits = repo.run_git("rev-parse", *names).decode().split()
    return dict(zip(snapshots, commits, strict=True))


def _log_of_git(repo: GitRepository, revisions: str, paths: list[str]) -> set[str]:
    """Return the commits that changed these paths: merges, those that differ from each parent.

    Git itself lists only some of these merges, by how it simplifies a history.
    """
    if not paths:
        return set(repo.run_git("rev-list", revisions).decode().split())
    literal = ("--literal-pathspecs", "rev-list", "--full-history")
    found = {*repo.run_git(*literal, "--no-merges", revisions, "--", *paths).decode().split()}
    merges = repo.run_git("rev-list", "--min-parents=2", "--parents", revisions).decode()
    for merge, *parents in map(str.split, merges.splitlines()):
        compared = ("--literal-pathspecs", "diff", "--name-only", merge)
        if all(repo.run_git(*compared, parent, "--", *paths) for parent in parents):
            found.add(merge)
    return found


def _is_children_first(rows: Iterable[SnapshotInfo]) -> bool:
    seen: set[str] = set()
    for row in rows:
        seen.add(row.snapshot)
        if seen & set(row.parents):
            return False
    return True


def _path_states(diff: Diff) -> set[tuple[str, str]]:
    """Return (letter of git, path); a rename is a removal and an addition."""
    letters = {"added": "A", "removed": "D", "modified": "M"}
    out = set()
    for change in diff.changes:
        if change.change == "renamed":
            out |= {("A", change.path), ("D", str(change.from_path))}
        else:
            out.add((letters[change.change], change.path))
    return out


@settings(max_examples=8)
@given(
    _STEPS,
    st.lists(
        st.tuples(
            st.integers(0, 99), st.integers(0, 99), st.sets(st.sampled_from(_WANTED), max_size=2)
        ),
        min_size=6,
        max_size=6,
    ),
)
def test_log_and_diff_answer_as_git(steps, questions):
    work = Path(tempfile.mkdtemp())
    try:
        repo = GitRepository(work / "repo")
        with Brain.init(work / "agent", author="tester") as brain:
            snapshots = _make_history(brain, steps)
            commits = _copy_to_git(brain, snapshots, repo)
            for one, other, wanted in questions:
                old, new = (snapshots[number % len(snapshots)] for number in (one, other))
                paths = sorted(wanted)
                for revisions, asked in (
                    (new, commits[new]),
                    (f"{old}..{new}", f"{commits[old]}..{commits[new]}"),
                ):
                    rows = list(brain.history.log(revisions, paths=paths))
                    assert {commits[row.snapshot] for row in rows} == _log_of_git(
                        repo, asked, paths
                    )
                    assert len({row.snapshot for row in rows}) == len(rows) and _is_children_first(
                        rows
                    )
                    assert list(brain.history.log(revisions, 2, paths=paths)) == rows[:2]
                arguments = ["diff", "--name-status", "--no-renames", "-z"]
                arguments += [commits[old], commits[new], "--", *paths]
                words = repo.run_git("--literal-pathspecs", *arguments).decode().split("\0")
                pairs = set(zip(words[:-1:2], words[1::2], strict=True))
                assert _path_states(brain.history.diff(old, new, paths=paths)) == pairs
    finally:
        shutil.rmtree(work)
