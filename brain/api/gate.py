"""`brain.gate`: cases of skills, and what the gate of learned changes records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .locked_session import Part

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .. import results
    from ..gating.case_files import Case, Expectation
    from ..programs.program import Program
    from ..receipts import Receipt
    from ..repo.gate.held_out_filter import HeldOutFilter
    from ..repo.gate.plan_change import ChangeRequest, PlannedChange
    from ..repo.gate.record_change import DecidedChange
    from ..sandbox.sandbox_protocol import Sandbox
    from ..verdicts.verdict_types import Verdict


class GatePart(Part):
    """Cases of skills, and changes that were tried on them.

    `brain.evolve.gate.Gate` tries a change. Held-out cases are for it and for people alone: what
    evolvers and agents are given is `practice_cases` and `earlier_attempts`.
    """

    # Cases

    def cases(self, slug: str) -> Sequence[Case]:
        """Return all cases of a skill, held-out ones too; the skill need not exist.

        Raises `InvalidInput` (`bad_case`, `wrong_split`) for a document that is no case.
        """
        from ..repo.gate import case_files

        return self._locked.run(case_files.read_cases, slug)

    def practice_cases(self, slug: str) -> Sequence[Case]:
        """Return the cases of a skill that evolvers may see. Raises as `cases`."""
        return [case for case in self.cases(slug) if not case.is_held_out]

    def list_cases(self, slug: str = "") -> Sequence[results.SkillCase]:
        """Return the cases of a skill or of all, with what is wrong with their documents."""
        from ..repo.gate import case_files

        return self._locked.run(case_files.list_cases, slug)

    def add_case(
        self,
        slug: str,
        input: Mapping[str, Any] | str,
        expect: Expectation,
        source: str = "",
        *,
        name: str = "",
    ) -> results.CaseAdded:
        """Add a case of a skill, as one snapshot; which half it belongs to follows from the input.

        Without a `name` it is named by its input, so that the same input is one case. Raises
        `InvalidInput` (`bad_case`, `bad_name`) or `Conflict` (`case_exists`).
        """
        from ..repo.gate import add_case

        request = add_case.CaseRequest(
            slug=slug, input=input, expect=expect, source=source, name=name
        )
        return self._locked.run(add_case.add_case, request)

    def find_hidden_files(self, slug: str) -> set[str]:
        """Return the files of a skill that agents never see, by path in its folder.

        `slug` may name a version, as in SKILL@VERSION. Raises as `skills.view`.
        """
        from ..repo.skills import skill_views

        return self._locked.run(skill_views.find_hidden_files, slug)

    def read_held_out_filter(self) -> HeldOutFilter:
        """Return what keeps the inputs of held-out cases out of what evolvers are shown."""
        from ..repo.gate import held_out_filter

        return self._locked.run(held_out_filter.read_held_out_filter)

    # Attempts

    def earlier_attempts(self, slug: str) -> Sequence[results.EarlierAttempt]:
        """Return what evolvers may know of attempts at a skill that were not admitted."""
        from ..repo.gate import earlier_attempts

        return self._locked.run(earlier_attempts.list_earlier_attempts, slug)

    def accept(
        self, attempt: str, *, reason: str = "", although_worse: bool = False
    ) -> results.Decided:
        """Admit an attempt that the gate did not, as the author and a person.

        Raises `NotFound` (`no_attempt`), or `Conflict` (`case_worse`, `not_accepted`,
        `stale_base`).
        """
        from functools import partial

        from ..repo.gate import accept_attempt

        accept = partial(accept_attempt.accept_attempt, although_worse=although_worse)
        person = self._locked.session.author or "the user"
        return self._locked.run_write(accept, attempt, person, reason)

    def recheck(
        self, target: str, *, run: bool = False, sandbox: Sandbox | None = None
    ) -> results.Recheck:
        """Derive the verdict of a gate again, offline, and say where it differs.

        `target` is the id of the verdict, an attempt, a revision, or a skill for the last decision
        about it. With `run`, programs run again too. Raises `NotFound` (`no_verdict`), or as
        `history.show`.
        """
        from ..evolve.gate.rerun import with_rerun
        from ..repo.gate import find_verdict, recheck
        from ..sandbox.find_sandbox import find_sandbox

        found = self._locked.run(find_verdict.find_gate_verdict, target)
        tools = recheck.RecheckTools(
            read_case=lambda row: self._locked.run(find_verdict.read_stored_case, row),
            find_sandbox=lambda: sandbox or find_sandbox(),
        )
        return recheck.recheck_verdict(found, with_rerun(tools, self, found) if run else tools)

    def read_mode(self) -> str:
        """Return what becomes of learned changes: propose, gated or off.

        That is the stricter one of what the head says and what manifest.yaml in the folder says.
        Raises `InvalidInput` (`bad_manifest`).
        """
        from ..repo.open import manifest

        return self._locked.run(manifest.load_learning_policy)[1]

    # For the gate

    def plan(self, request: ChangeRequest) -> PlannedChange:
        """Return what a change would make of a skill, which stays as it is.

        Raises `InvalidInput` (`bad_change`), or as `skills.upsert`.
        """
        from ..repo.gate import plan_change

        return self._locked.run(plan_change.plan_change, request)

    def read_held_out(self, snapshot: bytes, path: str) -> Sequence[Case]:
        """Return the held-out cases of the skill at a path, without documents that are none."""
        from ..repo.gate import case_files

        return self._locked.run(case_files.read_held_out, snapshot, path)

    def find_guards(self, planned: PlannedChange) -> Sequence[Case]:
        """Return the held-out cases of other skills that guard a planned change."""
        from ..repo.gate import guards

        return self._locked.run(guards.find_guards, planned)

    def read_text(self, snapshot: bytes, slug: str) -> bytes | None:
        """Return the SKILL.md of a skill at a snapshot, None if there is no such skill."""
        from ..repo.gate import head_skills

        return self._locked.run(head_skills.read_text_at, snapshot, slug)

    def read_program(self, snapshot: bytes, slug: str) -> Program | None:
        """Return the program of a skill at a snapshot, None without one."""
        from ..repo.gate import head_skills

        return self._locked.run(head_skills.read_program_at, snapshot, slug)

    def find_same_attempt(self, path: str, verdict: Verdict) -> results.EarlierAttempt | None:
        """Return an attempt at the same change on the same cases, kept or proposed, or None."""
        from ..repo.gate import earlier_attempts

        return self._locked.run(earlier_attempts.find_same_attempt, path, verdict)

    def is_proposed(self, name: str) -> bool:
        """Tell whether a proposal of this name waits for a person."""
        from ..repo.gate import record_change

        return self._locked.run(record_change.is_proposed, name)

    def record(self, decided: DecidedChange) -> results.Decided:
        """Record a change by the decision of its verdict.

        Raises `Conflict` (`stale_base`) if the skill was changed since the change was planned.
        """
        from ..repo.gate import record_change

        return self._locked.run_write(record_change.record_change, decided)

    def record_untried(
        self, planned: PlannedChange, message: str = "", receipt: Receipt | None = None
    ) -> results.Upserted:
        """Record a change that nothing could try; a proposal alone gets such ones."""
        from ..repo.gate import record_change

        return self._locked.run_write(record_change.record_untried, planned, message, receipt)
