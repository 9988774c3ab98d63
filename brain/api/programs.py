"""`brain.programs`: skills that run: try, admit, run, retire and bring them back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..programs.needs import read_needs
from ..repo.part import Part, lazy, reads, writes

if TYPE_CHECKING:
    from threading import Event

    from .. import results
    from ..programs.program import Program
    from ..repo.learning import admission, attempts, health, list_programs, retire, stats
    from ..repo.learning.admission import Runnable
    from ..repo.learning.change import SkillEdit
    from ..repo.learning.gate import Gate, TrialOptions
    from ..running.run import RunOutcome
    from ..sandbox.job import Sandbox, SandboxLimits
else:
    admission = lazy("brain.repo.learning.admission")
    attempts = lazy("brain.repo.learning.attempts")
    health = lazy("brain.repo.learning.health")
    list_programs = lazy("brain.repo.learning.list_programs")
    retire = lazy("brain.repo.learning.retire")
    stats = lazy("brain.repo.learning.stats")


class ProgramsPart(Part):
    """The programs of skills: skill.py with its schema and tests.

    A program runs only as it was admitted: exactly its bytes passed a trial that this brain
    records, and this machine has tried them. Programs run in a sandbox, and the brain is not
    locked meanwhile. Without a sandbox on this machine, what runs or tries one raises
    `SandboxError`; `sandbox` gives another one.
    """

    def acquire(
        self,
        edit: SkillEdit,
        *,
        options: TrialOptions | None = None,
        message: str = "",
        are_needs_approved: bool = False,
        cancel: Event | None = None,
        sandbox: Sandbox | None = None,
    ) -> results.Decided:
        """Try a program; write its skill and admit it, or keep the rejected attempt.

        What it needs of the world is approved with its admission if the caller says so; else the
        attempt is kept untried, and its reason names what a person has to approve. What it calls
        runs as it is here. Setting `cancel` ends the trial, and nothing is kept. Raises
        `InvalidInput`, `SandboxError`, or `Conflict` (`stale_base`) if the skill was written
        meanwhile.
        """
        from ..programs.program import Program
        from ..repo.learning import approvals
        from ..repo.learning.admission import NOTHING_APPROVED
        from ..repo.learning.gate import DEFAULT_OPTIONS

        program = Program(slug=edit.name, files=dict(edit.files))
        needs = approvals.approve_needs(NOTHING_APPROVED, read_needs(program))
        self._locked.run(approvals.check_approvals, NOTHING_APPROVED, needs, False)
        decided = self._open_gate(sandbox).acquire(
            edit,
            options or DEFAULT_OPTIONS,
            message,
            are_needs_approved=are_needs_approved,
            cancel=cancel,
        )
        if decided.decision == "admit" and needs != NOTHING_APPROVED:
            tried = self.find_runnable(decided.slug).tried
            self._locked.run(approvals.approve, tried, needs, False)
        return decided

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
        from ..repo.learning.gate import DEFAULT_OPTIONS

        return self._open_gate(sandbox).admit(slug, options or DEFAULT_OPTIONS, message)

    def _open_gate(self, sandbox: Sandbox | None) -> Gate:
        from ..repo.learning.gate import Gate

        commit = self._locked.commit_if_due
        return Gate(self._locked.session, self._locked.lock, commit=commit, sandbox=sandbox)

    def find(self, slug: str) -> Program:
        """Return the program of a skill that may run.

        Raises `NotFound` (`no_skill`, `no_program`), `InvalidInput` (`bad_program`), or
        `Conflict` (`not_admitted`, `retired`).
        """
        return self.find_runnable(slug).program

    find_runnable = reads(lambda: admission.find_runnable)

    def run(
        self,
        slug: str,
        payload: Mapping[str, Any],
        *,
        cancel: Event | None = None,
        on_outcome: Callable[[results.ProgramRun], None] | None = None,
        on_progress: Callable[[float, str], None] | None = None,
        limits: SandboxLimits | None = None,
        counts: bool = True,
        sandbox: Sandbox | None = None,
    ) -> results.ProgramRun:
        """Run the program of a skill with a payload; setting `cancel` ends it.

        What the program does wrong is in the result. The run is counted, and after failures the
        skill may be rolled back or retired: see `health` of the result. Neither happens without
        `counts`, as for those who may only read, nor for what is only proposed. `on_outcome` gets
        the result before that, so that a record of the run precedes what follows from it.
        `on_progress` gets the share that is done, from 0 to 1, and a message. Raises as
        `find`, `InvalidInput` (`bad_payload`, `too_large`) and `SandboxError`.
        """
        from .program_runs import ProgramRunner

        runner = ProgramRunner(
            self.find_runnable,
            sandbox or _find_sandbox(),
            cancel=cancel,
            on_progress=on_progress,
            limits=limits,
        )
        run = runner.run(slug, payload)
        if on_outcome is not None:
            on_outcome(run)
        health, uncounted = None, ""
        ended = [each for each in runner.ended if counts and not each[0].is_proposed]
        for runnable, outcome in ended:  # those called first; the last is the skill itself
            # a client that only proposes decides nothing about the head, also not by failing
            cancelled = (cancel is not None and cancel.is_set()) or bool(
                self._locked.session.proposal
            )
            health, uncounted = self._try_to_count(runnable, outcome, cancelled)
        return run._replace(health=health, uncounted=uncounted)

    def _try_to_count(
        self, runnable: Runnable, outcome: RunOutcome, cancelled: bool
    ) -> tuple[results.HealthChange | None, str]:
        """Count a run; return what followed, and why it could not be counted, "" if it was."""
        from ..errors import BrainError

        try:
            return self.count_use(runnable, outcome, cancelled=cancelled), ""
        except BrainError as error:  # the output is there all the same
            return None, error.message

    list = reads(lambda: list_programs.list_programs)
    list_runnable = reads(lambda: list_programs.list_runnable_programs)

    def read_mark(self) -> tuple[str, int]:
        """Return a value that differs if other programs may run, which takes no time."""
        return self._locked.session.head().hex(), admission.read_state_mark()

    def read_definition(self, code: bytes, *, sandbox: Sandbox | None = None) -> Mapping[str, Any]:
        """Return what `definition()` of a class says, read in the sandbox.

        Raises `InvalidInput` (`bad_definition`) and `SandboxError`.
        """
        from ..running.run import read_definition

        return read_definition(sandbox or _find_sandbox(), code)

    def approve(
        self,
        slug: str,
        *,
        folders: Mapping[str, str] | None = None,
        write: Mapping[str, str] | None = None,
        hosts: tuple[str, ...] = (),
        secrets: tuple[str, ...] = (),
        minutes: float = 0,
        memory_mb: int = 0,
        knowingly: bool = False,
    ) -> None:
        """Approve what the program of a skill may reach, on this machine, in exactly its bytes.

        `folders` and files it may read and `write`, by name, and `hosts` reach, with `secrets`, in
        `minutes` and with `memory_mb` if it needs more; they replace what was approved before. A
        link is approved for where it leads now. Keys, brains and FIFOs in a folder stay
        hidden. Raises as `find`, `NotFound` (`no_path`), `InvalidInput`: `protected_folder`,
        `protected_host`, `bad_host` or `too_many` for what can be approved for no program, and
        `consequences` that says what a folder with keys or a private address means, unless that is
        done `knowingly`.
        """
        from ..repo.learning import approvals
        from ..repo.learning.admission import Approvals

        runnable = self.find_runnable(slug)
        files = read_needs(runnable.program).files
        wanted = Approvals(
            folders=folders or {},
            write=write or {},
            hosts=hosts,
            secrets=secrets,
            minutes=minutes,
            memory_mb=memory_mb,
        )
        self._locked.run(approvals.approve, runnable.tried, wanted, knowingly, files)

    attempts = reads(lambda: attempts.list_attempts)
    read_attempt = reads(lambda: attempts.read_attempt)
    retire = writes(lambda: retire.retire_skill)
    reinstate = writes(lambda: retire.reinstate_skill)
    pin = reads(lambda: retire.pin)
    unpin = reads(lambda: retire.unpin)
    count_use = reads(lambda: health.count_run)
    stats = reads(lambda: stats.read_stats)
    count_imported = reads(lambda: health.count_imported_run)


def _find_sandbox() -> Sandbox:
    from ..sandbox.find_sandbox import find_sandbox

    return find_sandbox()
