"""`brain.gate`: cases of skills, and what the gate of learned changes records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import Conflict
from ..repo.part import Part, call_system

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .. import results
    from ..gating.case_files import Case, Expectation
    from ..gating.held_out import HeldOutInputs
    from ..repo.learning.change import ProposedChange
    from ..repo.learning.gate import Gate
    from ..repo.learning.provisional import Provisional
    from ..repo.learning.rounds import CaseRunner, GateLimits
    from ..repo.manifest import Bounds
    from ..repo.session import Session
    from ..sandbox.job import Sandbox


class GatePart(Part):
    """Cases of skills, and changes that were tried on them.

    `open` gives what tries a change. Held-out cases are for it and for people alone: what
    evolvers and agents are given is `practice_cases` and `earlier_attempts`.
    """

    # Cases

    def cases(self, slug: str) -> Sequence[Case]:
        """Return all cases of a skill, held-out ones too; the skill need not exist.

        Raises `InvalidInput` (`bad_case`, `wrong_split`) for a document that is no case.
        """
        from ..repo.learning import cases

        return self._locked.run(cases.read_cases, slug)

    def practice_cases(self, slug: str) -> Sequence[Case]:
        """Return the cases of a skill that evolvers may see. Raises as `cases`."""
        return [case for case in self.cases(slug) if not case.is_held_out]

    def list_cases(self, slug: str = "") -> Sequence[results.SkillCase]:
        """Return the cases of a skill or of all, with what is wrong with their documents."""
        from ..repo.learning import cases

        return self._locked.run(cases.list_cases, slug)

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
        from ..repo.learning import cases

        return self._locked.run(cases.add_case, slug, input, expect, source, name)

    def find_hidden_files(self, slug: str) -> set[str]:
        """Return the files of a skill that agents never see, by path in its folder.

        `slug` may name a version, as in SKILL@VERSION. Raises as `skills.view`.
        """
        from ..ops import skills

        return self._locked.run(skills.find_hidden_files, slug)

    def read_held_out_filter(self) -> HeldOutInputs:
        """Return what keeps the inputs of held-out cases out of what evolvers are shown."""
        from ..repo.learning import cases

        return self._locked.run(cases.read_held_out_filter)

    # Attempts

    def earlier_attempts(self, slug: str) -> Sequence[results.EarlierAttempt]:
        """Return what evolvers may know of attempts at a skill that were not admitted."""
        from ..repo.learning import attempts

        return self._locked.run(attempts.list_earlier_attempts, slug)

    def accept(
        self, attempt: str, *, reason: str = "", although_worse: bool = False
    ) -> results.Decided:
        """Admit an attempt that the gate did not, as the author and a person.

        Raises `NotFound` (`no_attempt`), or `Conflict` (`case_worse`, `not_accepted`,
        `stale_base`).
        """
        from functools import partial

        from ..repo.learning import record

        accept = partial(record.accept_attempt, although_worse=although_worse)
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
        from functools import partial

        from ..repo.learning import recheck
        from ..sandbox.find_sandbox import find_sandbox

        found = self._locked.run(recheck.find_gate_verdict, target)
        rechecker = recheck.Rechecker(
            self._locked.session, self._locked.lock, lambda: sandbox or find_sandbox()
        )
        return call_system(partial(rechecker.recheck, run=run), found)

    def read_stream(self) -> results.StreamStatus:
        """Return what all attempts at this brain come to, and what upholds the next one."""
        from ..repo.learning import stream

        return self._locked.run(stream.read_stream)

    def list_provisional(self) -> Sequence[Provisional]:
        """Return the skills that are as a provisional change made them, by slug.

        `Gate.go_on` tries one of them on the cases that were added since.
        """
        from ..repo.learning import provisional

        return self._locked.run(provisional.list_provisional)

    def read_mode(self) -> str:
        """Return what becomes of learned changes: propose, gated or off.

        That is the stricter one of what the head says and what manifest.yaml in the folder says.
        Raises `InvalidInput` (`bad_manifest`).
        """
        from ..repo import manifest

        return self._locked.run(manifest.load_learning_policy)[1]

    def read_day_bounds(self) -> Bounds:
        """Return what models may cost in a day, by the stricter one as for the mode."""
        from ..repo import manifest

        return self._locked.run(manifest.load_day_bounds)

    def open(
        self,
        *,
        runner: CaseRunner | None = None,
        text_runner: CaseRunner | None = None,
        sandbox: Sandbox | None = None,
        limits: GateLimits | None = None,
        confirm: Callable[[], None] = lambda: None,
    ) -> Gate:
        """Return what tries changes of this brain; see `Gate` for the arguments."""
        from ..repo.learning import gate, rounds

        return gate.Gate(
            self._locked.session,
            self._locked.lock,
            commit=self._locked.commit_if_due,
            runner=runner,
            text_runner=text_runner,
            sandbox=sandbox,
            limits=limits or rounds.DEFAULT_LIMITS,
            confirm=confirm,
        )

    def read_workspace(self, rev: str = "@") -> dict[str, bytes]:
        """Return the files at a revision that a learned change may edit, by path."""
        from ..repo.learning.change import read_workspace
        from ..repo.revisions import resolve_revision

        def read(session: Session) -> dict[str, bytes]:
            return read_workspace(session, session.bundle_of(resolve_revision(session, rev)))

        return self._locked.run(read)

    def record_untried(self, change: ProposedChange) -> results.Upserted | None:
        """Record a change that nothing tried, in the proposal that this brain works on.

        None if it changes nothing. Raises as `Gate.propose`, and `Conflict` (`no_proposal`) outside
        of a proposal.
        """
        from ..repo.learning import record
        from ..repo.learning.change import plan_change

        def write(session: Session) -> results.Upserted | None:
            planned = plan_change(session, change)
            if planned.is_equal:
                return None
            return record.record_untried(session, planned, change.message, change.receipt)

        if not self._locked.session.proposal:
            raise Conflict(
                "a change that nothing tried is recorded in a proposal alone",
                code="no_proposal",
                hint="open one with `brain.proposals.open`",
            )
        return self._locked.run(write)

    def is_proposed(self, name: str) -> bool:
        """Tell whether a proposal of this name waits for a person."""
        from ..repo.learning import record

        return self._locked.run(record.is_proposed, name)
