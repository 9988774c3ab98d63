"""A Hypothesis state machine: commands done by a brain and by its model.

Contents never repeat, and each names its path, so that nothing looks like a move.
"""

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule

from brain import Brain
from brain.repo import working_copy
from tests.support.lineages.brain_with_model import (
    BRANCH_NAMES,
    CONFLICT_CHOICES,
    PLAIN_PATHS,
    SKILL_SLUGS,
    BrainWithModel,
    skill_path,
)
from tests.support.lineages.lineage_model import LogStep, differing_paths

skill_slugs = st.sampled_from(SKILL_SLUGS)
branch_names = st.sampled_from(BRANCH_NAMES)
tag_names = st.sampled_from(("v1", "v2"))
other_branches = st.runner().flatmap(
    lambda machine: st.sampled_from(machine.model.other_branches())
)
"""A branch that is there, rather not the current one."""
file_paths = st.sampled_from([*PLAIN_PATHS, *map(skill_path, SKILL_SLUGS)])
conflict_choices = st.sampled_from(CONFLICT_CHOICES)


class SimulatedKill(BaseException):
    """What ends a command in the midst of its files."""


class LineageMachine(BrainWithModel):
    """Branches, tags, skills, files, merges, undo and redo."""

    @invariant()
    def everything_is_as_the_model_has_it(self) -> None:
        """The folder, the branches, and the status between folder and head."""
        model = self.model
        assert self.files_on_disk() == model.folder
        assert self.files_of_snapshot(model.head) == model.head_files
        found = self.brain.branches.list()
        assert {row.name: row.snapshot for row in found.branches} == model.heads
        assert [row.name for row in found.branches if row.current] == [model.branch]
        assert {f"tags/{row.name}": row.snapshot for row in self.brain.tags.list()} == model.tags
        status = self.brain.status()
        changed = {*status.added, *status.modified, *status.removed}
        assert changed == differing_paths(model.head_files, model.folder)
        assert (status.merging is not None) == bool(self.waiting)
        for slug in SKILL_SLUGS:
            self.skill_versions(slug)

    @initialize()
    def begin_with_two_branches(self) -> None:
        """Have something that both branches can change."""
        self.upsert(SKILL_SLUGS[0])
        for path in PLAIN_PATHS:
            self.write(path, False)
        self.snapshot()
        self.create_branch("idea")

    # By hand

    @rule(path=file_paths, grow=st.booleans())
    def write(self, path: str, grow: bool) -> None:
        """Edit a file, at its end or as a whole."""
        before = self.model.folder.get(path, b"")
        is_skill = path.startswith("skills/")
        if is_skill and not before:
            return
        content = before + self.new_line(path) if grow or is_skill else self.new_line(path)
        file = self.brain.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        self.model.folder[path] = content

    @rule(path=file_paths)
    def remove(self, path: str) -> None:
        """Remove a file."""
        if self.model.folder.pop(path, None) is not None:
            (self.brain.root / path).unlink()

    # Recording

    @rule()
    def snapshot(self) -> None:
        """Record the folder."""
        model, before = self.model, self.model.head
        done = self.brain.snapshot()
        assert done.changed == bool(differing_paths(model.head_files, model.folder))
        self.follow_head(before, done.snapshot, written=False)
        if done.changed:
            assert model.files[done.snapshot] == model.folder
            step = LogStep(
                {model.branch: (before, done.snapshot)}, recorded=(before, done.snapshot)
            )
            model.log_step(step)

    @rule(slug=skill_slugs)
    def upsert(self, slug: str) -> None:
        """Write a skill; its version is one above all that its lineage has."""
        before, known = self.model.head, self.skill_versions(slug)
        body = self.new_line(skill_path(slug))
        done = self.brain.skills.upsert(slug, body, description="d")
        assert done.version == 1 + max(known, default=0)
        view = self.brain.skills.view(slug)
        assert (view.version, view.body.strip()) == (done.version, body.decode().strip())
        self.follow_on_branch(before)

    @rule(slug=skill_slugs)
    def delete(self, slug: str) -> None:
        """Remove a skill."""
        model, path = self.model, skill_path(slug)
        if path not in model.head_files or path not in model.folder:
            return
        before = model.head
        self.brain.skills.delete(slug)
        self.follow_on_branch(before)
        assert path not in model.head_files

    @rule(slug=skill_slugs)
    def rename(self, slug: str) -> None:
        """Give a skill the name of the other one; its version rises above those of both."""
        model, path = self.model, skill_path(slug)
        (name,) = set(SKILL_SLUGS) - {slug}
        if path not in model.head_files or path not in model.folder:
            return
        if any(f"/{name}/" in taken for taken in (*model.head_files, *model.folder)):
            self.expect_refusal(lambda: self.brain.skills.rename(slug, name), "skill_exists")
            return
        before = model.head
        known = [number for each in SKILL_SLUGS for number in self.skill_versions(each)]
        done = self.brain.skills.rename(slug, name)
        assert done.version == 1 + max(known)
        self.follow_on_branch(before)
        assert path not in model.head_files and skill_path(name) in model.head_files

    @rule(slug=skill_slugs)
    def kill_during_upsert(self, slug: str) -> None:
        """Write a skill and die before its file is written; the next writer writes it."""
        before = self.model.head
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(working_copy, "write_files", _raise_kill)
            with pytest.raises(SimulatedKill):
                self.brain.skills.upsert(slug, self.new_line(skill_path(slug)), description="d")
        self.reopen()
        assert self.brain.status().merging is None or self.waiting
        self.expect_refusal(lambda: self.brain.branches.delete("none"), "no_branch")
        self.follow_on_branch(before)

    @rule()
    def reopen(self) -> None:
        """Close the brain and open it again."""
        self.brain.close()
        self.brain = Brain.open(self.root / "agent", author="tester")

    # Tags

    @rule(name=tag_names)
    def create_tag(self, name: str) -> None:
        """Name the head; a name that is taken does not move."""
        model, ref = self.model, f"tags/{name}"
        if ref in model.tags:
            self.expect_refusal(lambda: self.brain.tags.create(name), "tag_exists")
            return
        assert self.brain.tags.create(name).snapshot == model.head
        assert self.brain.history.resolve(name) == model.head
        model.log_step(LogStep({ref: (None, model.head)}))

    @rule(name=tag_names)
    def delete_tag(self, name: str) -> None:
        """Remove a name."""
        model, ref = self.model, f"tags/{name}"
        if ref not in model.tags:
            self.expect_refusal(lambda: self.brain.tags.delete(name), "no_tag")
            return
        self.brain.tags.delete(name)
        model.log_step(LogStep({ref: (model.tags[ref], None)}))

    # Branches

    @rule(name=branch_names)
    def create_branch(self, name: str) -> None:
        """Make a branch at the head."""
        model = self.model
        if name in model.heads:
            self.expect_refusal(lambda: self.brain.branches.create(name), "branch_exists")
            return
        assert self.brain.branches.create(name).snapshot == model.head
        model.log_step(LogStep({name: (None, model.head)}))

    @rule(name=branch_names)
    def delete_branch(self, name: str) -> None:
        """Remove a branch, if another one or a tag holds its work."""
        model = self.model
        at = model.heads.get(name, "")
        others = [head for other, head in model.heads.items() if other != name]
        others += model.tags.values()
        held = any(at in model.ancestors(head) for head in others)
        if not at or name == model.branch or not held:
            code = "no_branch" if not at else "not_merged"
            code = "current_branch" if name == model.branch else code
            self.expect_refusal(lambda: self.brain.branches.delete(name), code)
            return
        self.brain.branches.delete(name)
        model.log_step(LogStep({name: (at, None)}))

    @rule(
        name=other_branches,
        data=st.data(),
        choice=st.none() | conflict_choices,
        at_once=st.booleans(),
    )
    def work_on_both(
        self, name: str, data: st.DataObject, choice: str | None, at_once: bool
    ) -> None:
        """Do something on two branches, and perhaps merge at once."""
        if self.waiting:
            return
        here = self.model.branch
        for branch in (name, here):
            self.switch(branch)
            if data.draw(st.booleans()):
                self.upsert(data.draw(skill_slugs))
            if data.draw(st.booleans()):
                self.delete(data.draw(skill_slugs))
            self.write(data.draw(file_paths), data.draw(st.booleans()))
            self.snapshot()
        self.write(data.draw(file_paths), data.draw(st.booleans()))
        if at_once:
            self.merge(name, choice)

    @rule(name=other_branches)
    def switch(self, name: str) -> None:
        """Go on with another branch; other changes of the folder stay."""
        model = self.model
        if self.waiting:
            self.expect_refusal(lambda: self.brain.branches.switch(name), "merging")
            return
        before, left, target = model.head, model.branch, model.heads[name]
        self.brain.branches.switch(name)
        after = {row.name: row.snapshot for row in self.brain.branches.list().branches}[left]
        self.follow_head(before, after, written=False)
        if name != left:
            refs: dict[str, tuple[str | None, str | None]] = {left: (before, after)}
            refs[name] = target, target
            model.log_step(LogStep(refs, (after, target), (left, name)))
            self.replace_files(after, target)
        model.branch = name

    # Merging

    @rule(name=other_branches, choice=st.none() | conflict_choices)
    def merge(self, name: str, choice: str | None) -> None:
        """Merge a branch."""
        theirs = self.model.heads[name]
        if self.waiting:
            self.expect_refusal(lambda: self.brain.merge.start(name), "merging")
            return
        before = self.model.head
        self.check_merge_result(self.brain.merge.start(name, choice), before, theirs, {choice})

    @rule(name=other_branches, choice=conflict_choices)
    def criss_cross_merge(self, name: str, choice: str) -> None:
        """Merge a branch, and into that what this one was: their next merge has two bases."""
        if self.waiting:
            return
        self.snapshot()
        here, before = self.model.branch, self.model.head
        self.merge(name, choice)
        if self.waiting:
            return
        self.switch(name)
        there = self.model.head
        self.check_merge_result(self.brain.merge.start(before, choice), there, before, {choice})
        if not self.waiting:
            self.switch(here)

    @rule(data=st.data())
    def resolve_merge(self, data: st.DataObject) -> None:
        """Decide what a merge waits for, and finish it."""
        if not self.waiting:
            self.expect_refusal(self.brain.merge.resume, "no_merge")
            return
        chosen = {
            row.path: data.draw(conflict_choices) for row in self.brain.merge.list_conflicts()
        }
        for path, choice in chosen.items():
            self.brain.merge.resolve([path], choice)
        before, theirs = self.model.head, self.waiting
        self.check_merge_result(self.brain.merge.resume(), before, theirs, {None, *chosen.values()})

    @rule()
    def abort_merge(self) -> None:
        """Give up the merge that waits."""
        if self.waiting:
            self.brain.merge.abort()
            self.waiting = ""

    # Going back

    @rule()
    def undo(self) -> None:
        """Take the last operation back."""
        model = self.model
        if not model.done:
            self.expect_refusal(self.brain.undo, "nothing_to_undo")
            return
        step = model.done[-1]
        back = LogStep(
            {name: (new, old) for name, (old, new) in step.refs.items()},
            step.moved and (step.moved[1], step.moved[0]),
            step.switched and (step.switched[1], step.switched[0]),
            step.recorded and (step.recorded[1], step.recorded[0]),
        )
        if self.follow_move(back, self.brain.undo):
            model.undone.append(model.done.pop())

    @rule()
    def redo(self) -> None:
        """Do again what was taken back."""
        model = self.model
        if not model.undone:
            self.expect_refusal(self.brain.redo, "nothing_to_redo")
        elif self.follow_move(model.undone[-1], self.brain.redo):
            model.done.append(model.undone.pop())


def _raise_kill(*_: object) -> None:
    raise SimulatedKill
