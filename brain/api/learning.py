"""`brain.gate`, `brain.programs`, `brain.gaps` and `brain.patterns`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ..errors import BrainError
from ..repo.part import Part, call_system, lazy, reads, writes

if TYPE_CHECKING:
    import builtins
    from threading import Event

    from .. import results
    from ..experience import gaps, patterns
    from ..experience.store import Store
    from ..ops import skills
    from ..programs import needs
    from ..programs.program import Program
    from ..receipts import Receipt
    from ..repo import manifest
    from ..repo.learning import (
        admission,
        approvals,
        attempts,
        cases,
        change,
        gate,
        health,
        list_programs,
        program_runs,
        provisional,
        recheck,
        record,
        retire,
        rounds,
        stats,
        stream,
    )
    from ..repo.learning.admission import Runnable
    from ..repo.learning.change import SkillEdit
    from ..repo.learning.gate import Gate, TrialOptions
    from ..repo.learning.rounds import CaseRunner, GateLimits
    from ..repo.receipts import run_end
    from ..running.run import RunOutcome
    from ..sandbox.job import Sandbox, SandboxLimits
else:
    lazy(globals(), "experience", "gaps patterns")
    lazy(globals(), "ops", "skills")
    lazy(globals(), "programs", "needs")
    lazy(globals(), "repo", "manifest")
    lazy(globals(), "repo.learning", "admission approvals attempts cases change gate health")
    lazy(globals(), "repo.learning", "list_programs program_runs provisional recheck record")
    lazy(globals(), "repo.learning", "retire rounds stats stream")
    lazy(globals(), "repo.receipts", "run_end")


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
        found = self._locked.run(recheck.find_gate_verdict, target)
        rechecker = recheck.Rechecker(
            self._locked.session, self._locked.lock, lambda: sandbox or _find_sandbox()
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

        program = Program(slug=edit.name, files=dict(edit.files))
        wanted = approvals.approve_needs(admission.NOTHING_APPROVED, needs.read_needs(program))
        self._locked.run(approvals.check_approvals, admission.NOTHING_APPROVED, wanted, False)
        decided = self._open_gate(sandbox).acquire(
            edit,
            options or gate.DEFAULT_OPTIONS,
            message,
            are_needs_approved=are_needs_approved,
            cancel=cancel,
        )
        if decided.decision == "admit" and wanted != admission.NOTHING_APPROVED:
            tried = self.find_runnable(decided.slug).tried
            self._locked.run(approvals.approve, tried, wanted, False)
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
        return self._open_gate(sandbox).admit(slug, options or gate.DEFAULT_OPTIONS, message)

    def _open_gate(self, sandbox: Sandbox | None) -> Gate:
        commit = self._locked.commit_if_due
        return gate.Gate(self._locked.session, self._locked.lock, commit=commit, sandbox=sandbox)

    def find(self, slug: str) -> Program:
        """Return the program of a skill that may run.

        Raises `NotFound` (`no_skill`, `no_program`), `InvalidInput` (`bad_program`), or
        `NotAdmitted`, `Conflict` (`retired`).
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
        `counts`, as for those who may only read, nor for what is only proposed; and for those a
        program that may write or send is refused (`read_only`). `on_outcome` gets
        the result before that, so that a record of the run precedes what follows from it.
        `on_progress` gets the share that is done, from 0 to 1, and a message. Raises as
        `find`, `InvalidInput` (`bad_payload`, `too_large`) and `SandboxError`.
        """
        runner = program_runs.ProgramRunner(
            self.find_runnable,
            sandbox or _find_sandbox(),
            cancel=cancel,
            on_progress=on_progress,
            limits=limits,
            reads_only=not counts,
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
        runnable = self.find_runnable(slug)
        files = needs.read_needs(runnable.program).files
        wanted = admission.Approvals(
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


class GapsPart(Part):
    """Goals that fail, and what was learned from them.

    A task that ends in failure reports itself. Reports are noted by a thread of its own: they
    take no time, and nothing that goes wrong with them reaches the agent.
    """

    def report(
        self, goal: str, error: str = "", *, tool: str = "", reflections: Sequence[str] = ()
    ) -> None:
        """Report that a goal failed; never raises, and returns at once.

        `tool` tells goals with the same text apart. `reflections` are what the agent says of its
        work. If evolution is off in the manifest, nothing is noted.
        """
        run_end.submit_report(
            self._locked,
            goal=goal,
            at=self._locked.session.timestamp_ms(),
            error=error,
            tool=tool,
            reflections=tuple(reflections),
        )

    def report_success(self, goal: str, *, tool: str = "") -> None:
        """Report that a goal succeeded, which ends the row of its failures; as `report`."""
        if run_end.may_have_failures(self._locked):
            run_end.submit_report(self._locked, goal=goal, tool=tool, succeeded=True)

    def wait(self, timeout: float | None = None) -> builtins.list[results.Notice]:
        """Wait until what was reported is noted; return why reports could not be noted."""
        recorder = self._locked.recorder
        if recorder is None:
            return []
        recorder.wait(timeout)
        return recorder.take_notices()

    def call_when_due(self, on_due: Callable[[], object] | None) -> None:
        """From now on, call `on_due` in the background as soon as a gap is due; None ends this.

        What goes wrong in it is in the notices of `wait`.
        """
        run_end.open_recorder(self._locked).on_due = on_due

    def list(self, *, now: int | None = None) -> results.OpenGaps:
        """Return the goals that fail, what would happen to them, and how many attempts count.

        `now` is ms since 1970. Raises `StoreError`.
        """
        return gaps.list_gaps(
            self.open_store(),
            mode=self.read_mode(),
            periodic=self.is_periodic(),
            is_proposed=lambda name: self._locked.run(record.is_proposed, name),
            now=self._locked.session.timestamp_ms() if now is None else now,
        )

    def log(self, last: int = 100) -> builtins.list[results.GapEvent]:
        """Return the last events of the audit, oldest first. Raises `StoreError`."""
        found = self.open_store().events(gaps.GAPS, last)
        return [gaps.describe_event(event) for event in found]

    is_periodic = reads(lambda: manifest.load_is_periodic)

    def read_mode(self) -> str:
        """Return what becomes of what is learned, as `brain.gate.read_mode`.

        Raises `InvalidInput` (`bad_manifest`).
        """
        if run_end.are_skills_disabled():
            return manifest.OFF
        return self._locked.run(manifest.load_mode)

    def open_store(self) -> Store:
        """Return the store of experience. Raises `StoreError`, `InvalidInput`."""
        return self._locked.open_experience()


class PatternsPart(Part):
    """Which skills were used in which order, and what recurs in that.

    MCP sessions and `Brain.task` record it by themselves. Nothing is recorded while the mode of
    the brain is off, or with SKILL_EVOLUTION_ENABLED=false in the environment.
    """

    def record(
        self, chat: str, skills: Sequence[str], *, context: str = "", at: int | None = None
    ) -> bool:
        """Record the skills that one message of a chat used, in order; tell whether it was.

        Of the text of the message, `context`, only a hash is stored. `at` is in ms since 1970,
        by default now. Raises `StoreError`, or `InvalidInput` (`bad_manifest`, `bad_experience`).
        """
        if not skills or not self._may_record():
            return False
        from ..experience.run_end import make_sequence

        time = self._locked.session.timestamp_ms() if at is None else at
        return self.open_store().record([make_sequence(chat, skills, time, context)])

    def record_run(self, run: Receipt) -> int:
        """Record a run of another program once; return how many messages it had.

        Raises as `record`.
        """
        from ..experience.run_end import split_uses
        from ..programs.program import tool_name
        from ..receipts.uses import list_used_skills

        tools = {tool_name(slug) for slug in self._find_programs()}
        sequences = split_uses(list_used_skills(run.steps, tools), run.agent or "agent", run)
        if not sequences or not self._may_record():
            return 0
        return len(sequences) if self.open_store().record(sequences, once=True) else 0

    def _may_record(self) -> bool:
        return patterns.is_enabled() and self._locked.run(manifest.load_mode) != manifest.OFF

    def list(self, chat: str = "", *, now: int | None = None) -> results.SkillPatterns:
        """Return the patterns of the last seven days, of all chats or of one.

        `now` is in ms since 1970. Raises `StoreError`, or `InvalidInput` (`bad_setting`).
        """
        from ..results import SkillPatterns

        time = self._locked.session.timestamp_ms() if now is None else now
        store = self.open_store()
        mined = patterns.find_in_store(store, time, chat)
        programs = self._find_programs()
        made = patterns.read_made(store.items(patterns.PATTERNS))
        return SkillPatterns(
            patterns=[patterns.describe_pattern(one, programs, made) for one in mined.patterns],
            messages=mined.messages,
            threshold=patterns.read_rules().min_count,
            has_longer=mined.has_longer,
            unrecorded=self._locked.recorder.lost if self._locked.recorder else 0,
            chat=chat,
        )

    def open_store(self) -> Store:
        """Return the store of experience. Raises `StoreError`, `InvalidInput`."""
        return self._locked.open_experience()

    def _find_programs(self) -> dict[str, results.SkillProgram]:
        return {one.slug: one for one in self._locked.run(list_programs.list_programs)}
