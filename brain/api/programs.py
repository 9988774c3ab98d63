"""`brain.programs`: skills that run: try, admit, run, retire and bring them back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .locked_session import Part

if TYPE_CHECKING:
    import builtins
    from threading import Event

    from .. import results
    from ..programs.program import Program
    from ..repo.programs.acquire import AcquireRequest, TrialOptions, TrialPlan
    from ..repo.programs.admission import Runnable
    from ..repo.programs.retire import Decider
    from ..sandbox.sandbox_protocol import Sandbox, SandboxLimits


class ProgramsPart(Part):
    """The programs of skills: skill.py with its schema and tests.

    A program runs only as it was admitted: exactly its bytes passed a trial that this brain
    records, and this machine has tried them. Programs run in a sandbox, and the brain is not
    locked meanwhile. Without a sandbox on this machine, what runs or tries one raises
    `SandboxError`; `sandbox` gives another one.
    """

    def acquire(
        self, request: AcquireRequest, *, sandbox: Sandbox | None = None
    ) -> results.Decided:
        """Try a program; write its skill and admit it, or keep the rejected attempt.

        Raises `InvalidInput`, `SandboxError`, or `Conflict` (`stale_base`) if the skill was
        written meanwhile.
        """
        from ..repo.programs import acquire

        plan = self._locked.run(acquire.plan_acquisition, request)
        return self._try_and_record(plan, sandbox)

    def admit(
        self,
        slug: str,
        *,
        options: TrialOptions | None = None,
        message: str = "",
        sandbox: Sandbox | None = None,
    ) -> results.Decided:
        """Record the folder of a skill, try its program, and admit or reject it.

        Raises `NotFound` (`no_skill`, `no_program`), `InvalidInput`, `SandboxError`, or
        `Conflict` (`retired`, `program_changed`).
        """
        from ..repo.programs import acquire

        chosen = options or acquire.TrialOptions()
        plan = self._locked.run(acquire.plan_admission, slug, chosen, message)
        return self._try_and_record(plan, sandbox)

    def _try_and_record(self, plan: TrialPlan, sandbox: Sandbox | None) -> results.Decided:
        from ..repo.programs import acquire

        trial = acquire.try_planned(sandbox or _find_sandbox(), plan)
        return self._locked.run_write(acquire.record_planned, plan, trial)

    def find(self, slug: str) -> Program:
        """Return the program of a skill that may run.

        Raises `NotFound` (`no_skill`, `no_program`), `InvalidInput` (`bad_program`), or
        `Conflict` (`not_admitted`, `retired`).
        """
        return self.find_runnable(slug).program

    def find_runnable(self, slug: str) -> Runnable:
        """Return a program that may run, with its skill and its approvals; raises as `find`."""
        from ..repo.programs import admission

        return self._locked.run(admission.find_runnable, slug)

    def run(
        self,
        slug: str,
        payload: Mapping[str, Any],
        *,
        cancel: Event | None = None,
        limits: SandboxLimits | None = None,
        sandbox: Sandbox | None = None,
    ) -> results.ProgramRun:
        """Run the program of a skill with a payload; setting `cancel` ends it.

        What the program does wrong is in the result. Raises as `find`, `InvalidInput`
        (`too_large`) and `SandboxError`.
        """
        from ..results import ProgramRun
        from ..running.run_program import run_program
        from ..sandbox.sandbox_protocol import DEFAULT_LIMITS
        from ..skills.skill_version import version_value

        runnable = self.find_runnable(slug)
        outcome = run_program(
            sandbox or _find_sandbox(),
            runnable.program,
            payload,
            limits=limits or DEFAULT_LIMITS,
            folders=runnable.tried.folders,
            cancel=cancel,
        )
        return ProgramRun(
            slug=runnable.skill.slug,
            version=version_value(runnable.skill.card.version),
            program=runnable.program.id.hex(),
            ok=outcome.ok,
            output=outcome.output,
            error=outcome.error,
            wall_ms=outcome.wall_ms,
        )

    def list(self) -> builtins.list[results.SkillProgram]:
        """Return the programs of all skills at the head, and whether they may run."""
        from ..repo.programs import list_programs

        return self._locked.run(list_programs.list_programs)

    def approve(
        self, slug: str, *, folders: Mapping[str, str] | None = None, hosts: tuple[str, ...] = ()
    ) -> None:
        """Approve what the program of a skill may reach, on this machine, in exactly its bytes.

        `folders` it may read, by name, and `hosts` it may reach; they replace those approved
        before. Raises as `find`.
        """
        from ..repo.programs import tried_programs

        runnable = self.find_runnable(slug)
        self._locked.run(tried_programs.approve, runnable.tried, folders or {}, hosts)

    def attempts(self, slug: str = "") -> builtins.list[results.Attempt]:
        """Return the rejected attempts that are kept, at one skill or all, newest first."""
        from ..repo.programs import attempts

        return self._locked.run(attempts.list_attempts, slug)

    def read_attempt(self, attempt: str) -> results.AttemptView:
        """Return a rejected attempt with its files. Raises `NotFound` (`no_attempt`)."""
        from ..repo.programs import attempts

        return self._locked.run(attempts.read_attempt, attempt)

    def retire(
        self, slug: str, reason: str, *, decider: Decider | None = None, message: str = ""
    ) -> results.Decided:
        """Move a skill out of use, into skills/_retired; its version stays.

        `decider` says who decides and why, by default the author, as a person, for `reason`.
        Raises `InvalidInput` (`no_reason`), `NotFound` (`no_skill`), or `Conflict` (`retired`,
        `holds_skills`).
        """
        from ..repo.programs import retire

        by = decider or self._decide_as_author(reason)
        return self._locked.run_write(retire.retire_skill, slug, by, message)

    def reinstate(
        self,
        slug: str,
        version: str | int = "",
        *,
        reason: str = "",
        decider: Decider | None = None,
        message: str = "",
    ) -> results.Decided:
        """Bring a retired skill back, or the files of an earlier version, as its next version.

        `decider` is as for `retire`. Raises `NotFound` (`no_skill`, `no_version`), or `Conflict`
        (`not_retired`).
        """
        from ..repo.programs import retire

        by = decider or self._decide_as_author(reason)
        return self._locked.run_write(retire.reinstate_skill, slug, by, str(version), message)

    def _decide_as_author(self, reason: str) -> Decider:
        from ..repo.programs.retire import Decider

        return Decider("person", self._locked.session.author or "the user", reason)


def _find_sandbox() -> Sandbox:
    from ..sandbox.find_sandbox import find_sandbox

    return find_sandbox()
