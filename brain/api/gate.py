"""`brain.gate`: cases of skills, and what the gate of learned changes records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..repo.part import Part, call_system, lazy, reads, writes

if TYPE_CHECKING:
    from collections.abc import Callable

    from .. import results
    from ..ops import skills
    from ..repo import manifest
    from ..repo.learning import attempts, cases, change, provisional, record, stream
    from ..repo.learning.gate import Gate
    from ..repo.learning.rounds import CaseRunner, GateLimits
    from ..sandbox.job import Sandbox
else:
    skills = lazy("brain.ops.skills")
    manifest = lazy("brain.repo.manifest")
    attempts = lazy("brain.repo.learning.attempts")
    cases = lazy("brain.repo.learning.cases")
    change = lazy("brain.repo.learning.change")
    provisional = lazy("brain.repo.learning.provisional")
    record = lazy("brain.repo.learning.record")
    stream = lazy("brain.repo.learning.stream")


class GatePart(Part):
    """Cases of skills, and changes that were tried on them.

    `open` gives what tries a change. Held-out cases are for it and for people alone: what
    evolvers and agents are given is `practice_cases` and `earlier_attempts`.
    """

    # Cases

    cases = reads(lambda: cases.read_cases)
    practice_cases = reads(lambda: cases.read_practice_cases)
    list_cases = reads(lambda: cases.list_cases)
    add_case = reads(lambda: cases.add_case)
    find_hidden_files = reads(lambda: skills.find_hidden_files)
    read_held_out_filter = reads(lambda: cases.read_held_out_filter)

    # Attempts

    earlier_attempts = reads(lambda: attempts.list_earlier_attempts)
    accept = writes(lambda: record.accept_attempt)

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

    read_stream = reads(lambda: stream.read_stream)
    list_provisional = reads(lambda: provisional.list_provisional)
    read_mode = reads(lambda: manifest.load_mode)
    read_day_bounds = reads(lambda: manifest.load_day_bounds)

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

    read_workspace = reads(lambda: change.read_workspace)
    record_untried = reads(lambda: record.record_in_proposal)
    is_proposed = reads(lambda: record.is_proposed)
