"""Random work on three branches that are merged to and fro, through the façade.

Revisions are merged that their branches have left behind, so that lineages cross.
Every line that is written has a mark of its own, by which it is found again.
"""

import re
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from brain import Brain
from brain.merging import content_merge
from brain.merging.content_merge import MERGE_CHOICES
from brain.merging.lines import ContentSides, find_line_ends
from brain.results import Merged

SKILLS = ("alpha", "beta")
PLAIN = ("memory/log.jsonl", "memory/notes.md", "prompts/system.md")
BRANCHES = ("main", "idea", "other")
OPPOSITE = {"ours": "theirs", "theirs": "ours", "both": "both", None: None}

Marks = frozenset[bytes]
branches = st.sampled_from(BRANCHES)
edits = st.tuples(
    st.sampled_from([*SKILLS, *PLAIN]),
    st.sampled_from(["insert", "insert", "append", "replace", "drop", "describe", "remove"]),
    st.integers(0, 30),
)
works = st.tuples(branches, st.lists(edits, min_size=1, max_size=3))
merges = st.tuples(
    branches, branches, st.sampled_from([0, 0, 1, 2]), st.sampled_from([None, None, *MERGE_CHOICES])
)
rounds = st.lists(
    st.tuples(st.lists(works, min_size=2, max_size=3), st.lists(merges, min_size=1, max_size=2)),
    min_size=2,
    max_size=5,
)


class Lineages:
    """A brain of three branches; of each snapshot, the marks it and its ancestors ever had."""

    def __init__(self, folder: Path) -> None:
        self.brain = Brain.init(folder, author="tester")
        self.marks = 0
        self.ever: dict[str, Marks] = {}
        self.first: dict[str, str] = {}
        for slug in SKILLS:
            self.brain.skills.upsert(slug, self.text(slug), description=self.mark())
        for path in PLAIN:
            self.write(path, [self.line(path) for _ in range(6)])
        self.brain.snapshot()
        self.apply_change()
        for name in BRANCHES[1:]:
            self.brain.branches.create(name)

    def mark(self) -> str:
        """Return a word that was never there."""
        self.marks += 1
        return f"m{self.marks}."

    def line(self, path: str) -> str:
        """Return a line that was never there, as the file at `path` has them."""
        return f'{{"n": "{self.mark()}"}}\n' if path.endswith(".jsonl") else f"- {self.mark()}\n"

    def text(self, path: str) -> str:
        """Return the first text of a skill, with lines that repeat."""
        return "".join(f"{self.line(path)}\n" for _ in range(4))

    def write(self, path: str, lines: list[str]) -> None:
        """Write a file by hand."""
        file = self.brain.root / path
        file.parent.mkdir(exist_ok=True)
        file.write_text("".join(lines))

    def work(self, branch: str, wanted: list[tuple[str, str, int]]) -> None:
        """Change files on a branch, and record them."""
        self.brain.branches.switch(branch)
        for path, how, place in wanted:
            if path in SKILLS:
                self.edit_skill(path, how, place)
                continue
            file = self.brain.root / path
            if how == "remove":
                file.unlink(missing_ok=True)
            elif how != "describe":
                there = file.read_text().splitlines(keepends=True) if file.exists() else []
                self.write(path, self.edited(path, there, how, place))
        self.brain.snapshot()
        self.apply_change()

    def edit_skill(self, slug: str, how: str, place: int) -> None:
        """Change a skill."""
        there = [row.slug for row in self.brain.skills.list()]
        if how == "remove":
            if slug in there:
                self.brain.skills.delete(slug)
            return
        if how == "describe" or slug not in there:
            body = None if slug in there else self.text(slug)
            self.brain.skills.upsert(slug, body, description=self.mark())
            return
        lines = self.brain.skills.view(slug).body.lstrip("\n").splitlines(keepends=True)
        text = "".join(self.edited(slug, lines, how, place))
        self.brain.skills.upsert(slug, text if text.strip() else self.text(slug))

    def edited(self, path: str, lines: list[str], how: str, place: int) -> list[str]:
        """Return some lines after an edit."""
        at = place % (len(lines) + 1)
        if how in ("insert", "append"):
            at = len(lines) if how == "append" else at
            return [*lines[:at], self.line(path), *lines[at:]]
        new = [self.line(path)] if how == "replace" else []
        return [*lines[:at], *new, *lines[at + 1 :]]

    def here(self, snapshot: str) -> Marks:
        """Return the marks of the files of a snapshot."""
        session = self.brain._session
        entries = session.state_of(bytes.fromhex(snapshot)).walk()
        texts = (session.reader.read_blob(entry.blob) for entry in entries)
        return frozenset(mark for text in texts for mark in re.findall(rb"m\d+\.", text))

    def apply_change(self) -> None:
        """Know the snapshots that are new."""
        for info in reversed(list(self.brain.history.log())):
            if info.snapshot not in self.ever:
                above = [self.ever[parent] for parent in info.parents]
                self.ever[info.snapshot] = self.here(info.snapshot).union(*above)
                self.first[info.snapshot] = next(iter(info.parents), info.snapshot)

    def head(self, branch: str) -> str:
        """Return the snapshot a branch stands at."""
        return next(
            row.snapshot for row in self.brain.branches.list().branches if row.name == branch
        )

    def merge(self, branch: str, other: str, back: int, choice: str | None) -> None:
        """Merge into a branch what another one is, or was, and the other way round.

        The latter on the other branch itself, or where that went on since, on one of its
        own. So each has merged what the other was before, and their next merge has more
        than one base. What nobody decides is as one side has it.
        """
        ours, theirs = self.head(branch), self.head(other)
        twin = other
        if back or branch == other:
            for _ in range(back):
                theirs = self.first[theirs]
            twin = f"twin-{len(self.brain.branches.list().branches)}"
            self.brain.branches.create(twin, theirs)
        for decided in (choice, "ours"):
            done = self.merged(branch, theirs, decided)
            turned = self.merged(twin, ours, OPPOSITE[decided])
            assert done.bases == turned.bases
            assert {row.path for row in done.conflicts} == {row.path for row in turned.conflicts}
            if done.conflicts:
                continue
            assert done.bundle == turned.bundle
            if decided in (None, "both"):
                self.nothing_is_lost(ours, theirs, done)
            if decided is None:
                self.nothing_comes_back(ours, theirs, done)
            return
        raise AssertionError("one side is always a way out")

    def merged(self, branch: str, other: str, choice: str | None) -> Merged:
        """Merge on a branch; give up what has conflicts."""
        self.brain.branches.switch(branch)
        done = self.brain.merge.start(other, choice)
        if done.conflicts:
            self.brain.merge.abort()
        self.apply_change()
        return done

    def nothing_is_lost(self, ours: str, theirs: str, done: Merged) -> None:
        """Check that each line is there that one side wrote and the other never saw."""
        now = self.here(done.snapshot)
        assert self.here(ours) - self.ever[theirs] <= now
        assert self.here(theirs) - self.ever[ours] <= now

    def nothing_comes_back(self, ours: str, theirs: str, done: Merged) -> None:
        """Check that no line is there that one side took away since the only base."""
        if len(done.bases) == 1:
            base = self.here(done.bases[0])
            gone = (base - self.here(ours)) | (base - self.here(theirs))
            assert not gone & self.here(done.snapshot)


@given(rounds)
def test_merges_to_and_fro_are_alike_and_lose_nothing(drawn):
    with tempfile.TemporaryDirectory() as folder:
        lineages = Lineages(Path(folder) / "agent")
        for worked, merged in drawn:
            for work in worked:
                lineages.work(*work)
            for merge in merged:
                lineages.merge(*merge)
        found = lineages.brain.verify(deep=True)
        lineages.brain.close()
        assert found.ok, found.findings


words = st.lists(st.sampled_from(["a", "b", "c", "d", "e", "- f", "# g", ""]), max_size=8)
paths = st.sampled_from([*PLAIN, "docs/plan.txt"])


def merged_text(path: str, *sides: bytes) -> bytes | None:
    """Return what three texts are merged to, None for a conflict."""
    draft = content_merge.draft_merge(path, ContentSides(*sides), "")
    assert draft is not None
    return content_merge.finish_merge(draft, None)


@given(paths, words, words, words, st.sets(st.integers(0, 2)), st.sets(st.integers(0, 7)))
def test_line_ends_change_nothing_of_a_merge_but_line_ends(path, base, ours, theirs, changed, some):
    sides = ["".join(f"{word}\n" for word in side).encode() for side in (base, ours, theirs)]
    plain = merged_text(path, *sides)
    toggled = [
        side.replace(b"\n", b"\r\n") if n in changed else side for n, side in enumerate(sides)
    ]
    found = merged_text(path, *toggled)
    assert (found and found.replace(b"\r\n", b"\n")) == plain
    if all(sides):
        kinds = [find_line_ends(side) for side in toggled]
        expected = (
            kinds[1] if kinds[2] == kinds[0] else kinds[2] if kinds[1] == kinds[0] else kinds[1]
        )
        assert not found or find_line_ends(found) == expected
    # Mixed on one side alone: the words are merged as before, and no word is lost or doubled.
    lines = sides[1].split(b"\n")
    mixed = b"".join(line + (b"\r\n" if n in some else b"\n") for n, line in enumerate(lines[:-1]))
    found = merged_text(path, sides[0], mixed, sides[2])
    if plain is not None and len(set(lines)) == len(lines):
        assert found is not None and found.replace(b"\r\n", b"\n") == plain
