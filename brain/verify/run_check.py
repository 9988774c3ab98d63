"""Check that the skills which receipts say were run had been admitted.

A receipt names each run of an executable skill as a `tool` step with the version of the skill.
Between the part before and the snapshot that carries the step, there must be a state of the brain
in which the skill had that version, and in which its program had been admitted; else the step is
`unadmitted_run`. That is a warning, like all that is found about receipts: the admission
may have been undone since.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..errors import BrainError
from ..objects import lineage
from ..objects.snapshot import Snapshot
from ..objects.tree_node import TreeEntry
from ..programs.program import slug_of_tool
from ..receipts import Receipt
from ..repo.session import Session
from ..results import Finding
from .decided_skill import find_texts, find_usual_texts, read_program, read_version
from .decision_check import DecisionCheck


class _SkillRun(NamedTuple):
    """A run that a receipt claims; `since` is the snapshot before it, empty if unknown."""

    carrier: bytes
    since: bytes
    tool: str
    version: str


class RunCheck:
    """Collects the runs that receipts claim, and checks them once the lineage was walked."""

    def __init__(self, session: Session, decisions: DecisionCheck) -> None:
        self._session = session
        self._decisions = decisions
        self._runs: dict[_SkillRun, None] = {}

    def add_receipt(self, snapshot_id: bytes, receipt: Receipt) -> None:
        """Add the runs of a receipt that a snapshot carries."""
        since = receipt.previous or receipt.snapshot_before
        for step in receipt.steps:
            if step.kind == "tool" and step.version:
                self._runs[_SkillRun(snapshot_id, since, step.name, step.version)] = None

    def findings(self) -> Iterator[Finding]:
        """Yield the runs of what had not been admitted."""
        for run in self._runs:
            try:
                admitted = self._was_admitted(run)
            except BrainError:  # of an object, reported by itself
                continue
            if not admitted:
                message = (
                    f"its receipt says that {run.tool} ran at version {run.version}, which no "
                    "verdict had admitted"
                )
                yield Finding("unadmitted_run", "warning", run.carrier.hex(), "", message)

    def _was_admitted(self, run: _SkillRun) -> bool:
        session, slug = self._session, slug_of_tool(run.tool)
        for parent in session.load_snapshot(run.carrier).parents:
            texts = find_texts(session.state_of(parent), slug)
            if self._could_run(parent, texts, run.version):
                return True
        return any(
            self._could_run(here, find_usual_texts(session.state_of(here), slug), run.version)
            for here in self._find_states(run, slug)
        )

    def _find_states(self, run: _SkillRun, slug: str) -> Iterator[bytes]:
        """Yield the snapshots before the carrier that may have had the skill as it was run."""
        load = self._session.load_snapshot
        if not run.since or not self._session.reader.has_object(run.since):
            return
        yield run.since
        oldest = load(run.since).generation
        for here, snapshot in lineage.walk_ancestors(load, run.carrier):
            if snapshot.generation <= oldest:
                return
            if here != run.carrier and _may_write_skill(snapshot, slug):
                yield here

    def _could_run(self, at: bytes, texts: Iterator[TreeEntry], version: str) -> bool:
        """Tell whether one of `texts` has the version, and its program was admitted by then."""
        state = self._session.state_of(at)
        for text in texts:
            if read_version(self._session, text) in (version, None):
                program = read_program(state, text.path)
                if self._decisions.was_admitted(program, at):
                    return True
        return False


def _may_write_skill(snapshot: Snapshot, slug: str) -> bool:
    return slug in snapshot.operation[1:2] or snapshot.operation[0] in ("snapshot", "merge")
