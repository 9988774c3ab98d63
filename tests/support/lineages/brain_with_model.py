"""A brain with its model, which follows each command."""

import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis.stateful import RuleBasedStateMachine

from brain import Brain, BrainError, NotFound
from brain.results import Merged, Undone
from tests.support.lineages.lineage_model import (
    FilesByPath,
    LineageModel,
    LogStep,
    differing_paths,
    merge_files,
    replace_paths,
)

MANUAL_EDITS_MESSAGE = "Record manual edits"
SKILL_SLUGS = ("alpha", "beta")
PLAIN_PATHS = ("prompts/system.md", "memory/log.jsonl", "memory/deep/notes.bin")
BRANCH_NAMES = ("main", "idea", "other")
CONFLICT_CHOICES = ("ours", "theirs", "both")


def skill_path(slug: str) -> str:
    """Return where the skill of a slug lies."""
    return f"skills/{slug}/SKILL.md"


def _without_version(path: str, content: bytes, raised: set[str]) -> bytes:
    """Return the text of a skill that a merge raised without its version."""
    version = rb'(?m)^(metadata:\n  )?version: "?\d+"?\n'
    return re.sub(version, b"", content) if path in raised else content


class BrainWithModel(RuleBasedStateMachine):
    """A brain, its model, and how the model follows the brain."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp())
        self.brain = Brain.init(self.root / "agent", author="tester")
        self.model = LineageModel(self.brain.head, self.files_on_disk())
        self.waiting = ""
        self.count = 0

    def teardown(self) -> None:
        """Verify every byte, and leave nothing behind."""
        found = self.brain.verify(deep=True)
        self.brain.close()
        shutil.rmtree(self.root)
        assert found.ok, found.findings

    # What is there

    def files_on_disk(self) -> FilesByPath:
        """Return the files of the folder."""
        root = self.brain.root
        there = [file for file in root.rglob("*") if file.is_file()]
        named = {file.relative_to(root).as_posix(): file for file in there}
        return {p: file.read_bytes() for p, file in named.items() if not p.startswith(".brain/")}

    def files_of_snapshot(self, snapshot: str) -> FilesByPath:
        """Return the files of a snapshot."""
        session = self.brain._session
        bundle = session.state_of(bytes.fromhex(snapshot))
        return {entry.path: session.reader.read_blob(entry.blob) for entry in bundle.walk()}

    def new_line(self, path: str) -> bytes:
        """Return a line that was never there."""
        self.count += 1
        return b'{"n":%d,"path":"%s"}\n' % (self.count, path.encode())

    def skill_versions(self, slug: str) -> list[int]:
        """Return all versions that a skill had in the lineage of the head, without a gap.

        Only a merge that follows a rename rises above what the other side had under another name.
        """
        try:
            rows = self.brain.skills.history(slug)
        except NotFound:
            return []
        seen = [row.version for row in rows if isinstance(row.version, int)]
        assert len(seen) == len(rows)
        merged = [row.version for row in rows if row.message.startswith("Merge")]
        missing = set(range(1, max(seen) + 1)).difference(seen)
        assert max(missing, default=0) <= max(merged, default=0), rows
        return seen

    # How the model follows

    def follow_head(self, before: str, after: str, written: bool = True) -> str:
        """Know the snapshots from one head to the next; return the one whose files were replaced.

        What was changed by hand, and is to be replaced, must have been recorded.
        """
        model, last = self.model, before
        new = [info for info in self.brain.history.log(after) if info.snapshot not in model.parents]
        for info in reversed(new):
            files = self.files_of_snapshot(info.snapshot)
            if info.message == MANUAL_EDITS_MESSAGE:
                changed = differing_paths(files, model.files[info.parents[0]])
                assert files == replace_paths(model.files[info.parents[0]], model.folder, changed)
                last = info.snapshot
            model.add_snapshot(info.snapshot, files, tuple(info.parents))
        if written:
            self.replace_files(last, after)
        return last

    def replace_files(self, old: str, new: str) -> None:
        """Replace the files of a snapshot in the folder by those of another one."""
        was, will = self.model.files[old], self.model.files[new]
        changed = differing_paths(was, will)
        assert not changed & differing_paths(was, self.model.folder), "an edit would be lost"
        self.model.folder = replace_paths(self.model.folder, will, changed)

    def follow_on_branch(self, before: str) -> None:
        """Follow a command that moved the head of the branch."""
        after = self.brain.head
        last = self.follow_head(before, after)
        if after != before:
            moved = (last, after) if last != after else None
            self.model.log_step(LogStep({self.model.branch: (before, after)}, moved))

    def follow_deletions(self, recorded: tuple[str, str], done: Undone) -> None:
        """Follow files that came back, or went again, with the snapshot of their deletion."""
        was, will = (self.model.files[side] for side in recorded)
        folder = self.model.folder
        for path in done.written:
            assert path in will and path not in was and path not in folder
            folder[path] = will[path]
        for path in done.removed:
            assert path not in will and folder.pop(path) == was[path]

    def expect_refusal(self, attempt: Callable[[], object], *codes: str) -> None:
        """Assert that a command is refused with one of the codes."""
        with pytest.raises(BrainError) as caught:
            attempt()
        assert caught.value.code in codes

    def check_merge_result(
        self, done: Merged, before: str, theirs: str, chosen: set[str | None]
    ) -> None:
        """Hold the outcome of a merge against the model."""
        model, known = self.model, set(self.model.parents)
        self.follow_on_branch(before)
        assert done.snapshot == model.head
        if done.conflicts:
            self.waiting = theirs
            assert chosen & {None, "both"}
        else:
            self.waiting = ""
            assert theirs in model.ancestors(model.head)
        if done.fast_forward:
            assert model.head == theirs
        elif done.conflicts:
            contested = self.conflicting_paths(model.head, theirs)
            assert {row.path for row in done.conflicts} <= contested
        elif model.head not in known:
            ours, other = model.parents[model.head]
            assert other == theirs
            self.check_merge(ours, theirs, done)

    def conflicting_paths(self, ours: str, theirs: str) -> frozenset[str]:
        """Return the paths that both sides changed."""
        model = self.model
        base = model.merge_base_files(model.merge_bases(ours, theirs))
        return merge_files(base, model.files[ours], model.files[theirs])[1]

    def check_merge(self, ours: str, theirs: str, done: Merged) -> None:
        """Check that each path is what one side made of it, or what both did."""
        model = self.model
        assert done.bases == model.merge_bases(ours, theirs)
        base = model.merge_base_files(done.bases)
        a, b, now = model.files[ours], model.files[theirs], model.head_files
        plain, contested = merge_files(base, a, b)
        # A skill that one side renamed and the other one changed is merged where it is now.
        followed = tuple(f"{row.path}/" for row in done.notices if row.code == "renamed")
        contested |= {path for path in now if path.startswith(followed)}
        contested |= {path for path in plain if path.startswith(followed)}
        raised = {skill_path(row.slug) for row in done.skills if "" in (row.ours, row.theirs)}
        raised -= contested
        assert raised <= a.keys() ^ b.keys()
        assert {
            p: _without_version(p, c, raised) for p, c in now.items() if p not in contested
        } == {p: _without_version(p, c, raised) for p, c in plain.items() if p not in contested}
        for row in done.skills:
            sides = [side for side in (row.ours, row.theirs) if side != ""]
            assert row.version > max(sides)
            assert row.version == max(sides) + 1 or len(sides) == 1
            assert skill_path(row.slug) in contested | raised
        assert now.keys() <= a.keys() | b.keys() | {p for p in now if "~" in p}

    def follow_move(self, step: LogStep, command: Callable[[], Undone]) -> bool:
        """Move branches and files; tell whether that went well."""
        model = self.model
        if step.switched and self.waiting:
            self.expect_refusal(command, "merging")
            return False
        if model.branch in step.refs and step.refs[model.branch][1] is None:
            self.expect_refusal(command, "current_branch")
            return False
        moved = step.moved if model.branch in step.refs else None
        if moved:
            was, will = (model.files[side] for side in moved)
            if differing_paths(was, will) & differing_paths(was, model.folder):
                self.expect_refusal(command, "unrecorded_changes")
                return False
        done = command()
        model.move_branches(step.refs)
        if step.recorded:
            self.follow_deletions(step.recorded, done)
        if moved:
            self.replace_files(*moved)
        if step.switched:
            model.branch = step.switched[1]
        return True
