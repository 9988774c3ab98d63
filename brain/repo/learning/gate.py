"""The one gate of all that is learned: try a change, and admit it, propose it, or keep the attempt.

1. The change is planned as two states: no ref moves, and no file is written.
2. A program passes its own trial first, beside the skills that it calls.
3. The held-out cases run without the change and with it, round by round, with guards: held-out
   cases of other skills.
4. What was decided is recorded with its numbers: admitted, proposed to a person, or kept as an
   attempt that later ones see.

What an evolver proposes goes through all of it. If the skill changes meanwhile, its change is tried
once more on what it is then. What a person or an agent acquires, under rights of their own, goes
through all of it too where its skill has held-out cases; it need not show a gain, but is kept as an
attempt if a case got worse, or if it is new and passes none. Where the cases say neither that nor
that it helps, and where there are none, its trial decides. The brain is not locked while anything
runs.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Event, RLock
from typing import TYPE_CHECKING, Any, TypeVar

from ...digest import domain_hash
from ...errors import Conflict, InvalidInput, error_from_os, printable_text
from ...gating.decision import DEFAULT_RULES
from ...ops.proposals import open_proposal
from ...programs.advice import ADVICE
from ...programs.needs import read_needs
from ...programs.program import slug_of_tool
from ...receipts import Receipt
from ...receipts.receipt import own_sources
from ...results import Decided, EarlierAttempt, GateOutcome
from ...running.trial import raise_if_cancelled, refuse_program, try_program
from ...sandbox.job import Sandbox
from ...skills.skill_version import version_value
from ...verdicts.verdict import Verdict
from ...verdicts.verdict_rules import (
    GATE_RULE,
    GateRecord,
    GateVerdict,
    build_gate_verdict,
    go_on_with,
)
from .. import manifest
from ..session import Session
from . import record, rounds
from .admission import find_admission
from .attempts import EVOLVER_TRAILER, find_same_attempt, read_numbers
from .cases import read_held_out, refuse_same_inputs
from .change import (
    PlannedChange,
    ProposedChange,
    SkillEdit,
    SkillsAt,
    plan_acquired,
    plan_admitted,
    plan_change,
)
from .record import TriedChange
from .stream import read_stream

if TYPE_CHECKING:
    from .provisional import Provisional

T = TypeVar("T")
_Earlier = tuple[EarlierAttempt, str]
"""An earlier attempt at the same change, and the proposal in which it waits."""
NO_CASES = "there are no held-out cases of this skill, so nothing could be tried"
NO_RUNNER = "there is no model to try the cases of a text with"
MAX_SHOWN_FILES = 8
"""Files of a change beside its skill that a prompt shows."""
WAITING = "a person has to approve what it needs"
"""How the reason of an attempt begins that was not tried for that."""
_LEFT_OUT = (
    "; held-out cases left out, since they were made of the run that the change was learned from"
)
_TRIAL_RULE = "trial"
_SEED_BITS = 53
"""Bits of a seed: any JSON reader keeps such a number."""
_EVOLVER = re.compile("[a-z]{1,32}")
_change_id = domain_hash("brain v1 proposed change")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialOptions:
    """How a program is tried: the profile of the static check, and the seed of unseen payloads.

    None draws a seed.
    """

    code_profile: str = ADVICE
    seed: int | None = None


DEFAULT_OPTIONS = TrialOptions()


class Gate:
    """Tries changes of the brain of a session; `lock` keeps that to one thread at a time.

    `runner` runs the cases of the changed skill. Without one, the sandbox does if the skill has a
    program, else `text_runner`. Guards of the other kind run in the sandbox or by `text_runner`.
    Without either, texts cannot be tried. `sandbox` is that of programs and of the checks of
    cases, by default the one of this machine. `confirm` is called before anything is recorded; what
    it raises ends the attempt. `commit` takes what was admitted to the ledgers of the brain.
    """

    def __init__(
        self,
        session: Session,
        lock: RLock,
        *,
        commit: Callable[[Decided], Decided] = lambda decided: decided,
        runner: rounds.CaseRunner | None = None,
        text_runner: rounds.CaseRunner | None = None,
        sandbox: Sandbox | None = None,
        limits: rounds.GateLimits = rounds.DEFAULT_LIMITS,
        confirm: Callable[[], None] = lambda: None,
    ) -> None:
        self._session = session
        self._lock = lock
        self._commit = commit
        self._runner = runner
        self._text_runner = text_runner
        self._given_sandbox = sandbox
        self._limits = limits
        self._confirm = confirm

    @cached_property
    def _sandbox(self) -> Sandbox:
        from ...sandbox.find_sandbox import find_sandbox

        return self._given_sandbox or find_sandbox()

    def _run(self, action: Callable[..., T], *args: Any) -> T:
        with self._lock:
            try:
                return action(self._session, *args)
            except OSError as error:
                raise error_from_os(error) from error

    def propose(self, change: ProposedChange) -> GateOutcome:
        """Try a change of an evolver, and record what the gate decides.

        Raises `Conflict` (`evolution_off`, `stale_base`), `InvalidInput` (`bad_change`,
        `bad_case`), `SandboxError`, and whatever the runner raises because it can run nothing.
        """
        if _EVOLVER.fullmatch(change.evolver) is None:
            raise InvalidInput(
                f"'{printable_text(change.evolver, 40)}' is not the name of an evolver",
                code="bad_change",
                hint="use 1 to 32 lower-case letters",
            )
        try:
            return self._propose(change)
        except Conflict as error:
            if error.code not in ("stale_base", "program_changed"):
                raise
        return self._propose(change)

    def _propose(self, change: ProposedChange) -> GateOutcome:
        mode = manifest.refuse_off(self._run(manifest.load_mode))
        planned = self._run(plan_change, change)
        outcome = _blank_outcome(change, planned)
        if planned.is_equal:
            reason = f"{planned.slug} is like this already"
            return record.describe_outcome(outcome, "nothing", reason)
        if change.fault and planned.program:
            trial = refuse_program(planned.program, change.fault, GATE_RULE, ADVICE)
            tried = _start(planned, _message(change, planned), change.receipt).by_trial(trial)
        else:
            found = self._try(change, planned, _message(change, planned))
            if isinstance(found, tuple):
                return self._describe_same(outcome, planned, *found)
            tried = found
        self._confirm()
        return self._record(change, tried, mode)

    def acquire(
        self,
        edit: SkillEdit,
        options: TrialOptions = DEFAULT_OPTIONS,
        message: str = "",
        *,
        are_needs_approved: bool = False,
        cancel: Event | None = None,
    ) -> Decided:
        """Try the program of an edit; write its skill and admit it, or keep the attempt.

        A program with needs is not tried before a person has approved them. Raises `SandboxError`,
        `InvalidInput` for tests that cannot be read, and `Conflict` (`stale_base`,
        `program_changed`) if the skill was changed meanwhile.
        """
        planned = self._run(plan_acquired, edit)
        assert planned.program is not None
        needs = read_needs(planned.program).describe()
        if needs and not are_needs_approved:
            waits = f"{WAITING}: {', '.join(needs)}"
            trial = refuse_program(planned.program, waits, _TRIAL_RULE, options.code_profile)
            return self._record_acquired(_start(planned, message).by_trial(trial))
        return self._record_acquired(self._try(edit, planned, message, options, cancel))

    def admit(
        self, slug: str, options: TrialOptions = DEFAULT_OPTIONS, message: str = ""
    ) -> Decided:
        """Try the program that a skill has, as it is in the folder; raises as `acquire`."""
        planned = self._run(plan_admitted, slug)
        edit = SkillEdit(name=planned.base_path)
        return self._record_acquired(self._try(edit, planned, message, options))

    def _record_acquired(self, tried: TriedChange | _Earlier) -> Decided:
        assert isinstance(tried, TriedChange)  # only an evolver's change is looked up
        done = self._run(record.record_change, _decide_acquired(tried))
        return self._commit(done) if done.changed else done

    # Trial

    def _skills_at(self, planned: PlannedChange, *, is_after: bool) -> SkillsAt:
        state = planned.after if is_after else planned.before
        path = planned.path if is_after else planned.base_path
        files = [one.path for one in planned.changes][:MAX_SHOWN_FILES]
        runs = is_after or not planned.is_equal
        return SkillsAt(self._lock, state, planned.slug, path, files, has_own=runs)

    def _try(
        self,
        change: SkillEdit,
        planned: PlannedChange,
        message: str,
        options: TrialOptions = DEFAULT_OPTIONS,
        cancel: Event | None = None,
    ) -> TriedChange | _Earlier:
        """Try a change; return an earlier attempt if an evolver's was tried on the same cases.

        Cases that were made of the run that the change was learned from are left out: its author
        has seen that run. A program that the lineage admits already passes its trial alone.
        """
        proposed = change if isinstance(change, ProposedChange) else None
        time_left = self._start_clock(cancel)
        receipt = proposed.receipt if proposed else None
        seen = own_sources(receipt) if receipt else ()
        old, new = (self._skills_at(planned, is_after=is_after) for is_after in (False, True))
        program = planned.program
        is_known = (
            planned.is_equal and program and self._run(find_admission, planned.head, program.id)
        )
        own = [] if is_known else self._run(read_held_out, planned.head, planned.path)
        unseen = [case for case in own if case.source not in seen]
        refuse_same_inputs(unseen)
        cases = rounds.take_cases(unseen, self._limits.cases)[0]
        sandbox = None
        if program is not None and cases:
            sandbox = rounds.SandboxRunner(self._sandbox, cancel=cancel)
        runners = [one for one in (self._runner, sandbox, self._text_runner) if one and cases]
        found = self._run(rounds.find_guards, planned) if runners else []
        guards = [case for case in found if case.source not in seen]
        left_out = len(own) - len(unseen) + len(found) - len(guards)
        stages = rounds.plan_stages(runners, guards, new, self._limits.guards) if runners else []
        for stage in stages if proposed else ():
            tried_on = [*cases, *stage.guards]
            if same := self._run(find_same_attempt, planned, stage.runner.name, tried_on):
                return same  # trying it until it passes would be cheating
        trial = None
        if program is not None:
            trial = try_program(
                self._sandbox,
                program,
                seed=secrets.randbits(_SEED_BITS) if options.seed is None else options.seed,
                decided_by=GATE_RULE if proposed else _TRIAL_RULE,
                code_profile=options.code_profile,
                find_called=lambda name: new.program(slug_of_tool(name)),
                cancel=cancel,
            )
            if trial.program.id != program.id:  # a class gets its schema.json there
                resources = {**trial.program.resources, **change.resources}
                edit = replace(change, files=dict(trial.program.files), resources=resources)
                planned = self._run(plan_change, edit)
            new = self._skills_at(planned, is_after=True)
        start = _start(planned, message, receipt)
        if trial is not None:
            start = start.by_trial(trial)
            if trial.verdict.decision == "reject":
                return start
        note = f"{_LEFT_OUT}: {left_out}" if left_out else ""
        tried = replace(
            start.because((NO_RUNNER if cases else NO_CASES) + note), is_for_person=True
        )
        judge = rounds.OutputJudge(lambda: self._sandbox, time_left).judge
        for stage in stages:
            course = rounds.CaseRounds(stage.runner, judge, old, new, self._limits, time_left)
            found_now = course.run(cases, stage.guards)
            if isinstance(found_now, str):
                return start.because(found_now + note)
            number = self._run(read_stream).attempts + 1
            tried = _conclude(start, stage, replace(found_now, attempt=number), note)
            if tried.verdict.gate != "admit" and tried.verdict.provisional != "yes":
                break
        return tried

    def _start_clock(self, cancel: Event | None = None) -> Callable[[], float]:
        deadline = time.monotonic() + self._limits.seconds

        def time_left() -> float:
            raise_if_cancelled(cancel)
            return deadline - time.monotonic()

        return time_left

    # What is provisional

    def go_on(self, live: Provisional, now: int) -> GateOutcome:
        """Try a provisional change on the cases added since, and record what all of them say.

        At the end of its term, by `now` in ms, a person is asked to take it back. Raises
        `Conflict` (`evolution_off`, `stale_base`), and as `propose`.
        """
        from . import provisional

        mode = manifest.refuse_off(self._run(manifest.load_mode))
        outcome, describe = live.outcome, record.describe_outcome
        if self._run(record.is_proposed, live.proposal_to_take_back):
            return describe(outcome, "nothing", "to take it back is proposed")
        built, reason = self._try_further(live)
        if built:
            self._confirm()
            verdict = built.verdict
            if verdict.gate != "reject":
                done = self._commit(self._run(provisional.keep_live, live, built))
                word = "admitted" if verdict.gate == "admit" else "provisional"
                return describe(outcome, word, "", verdict, done)
            args = live, GATE_RULE, verdict.reason, built
            if live.is_by_rule and mode == manifest.GATED:
                done = self._commit(self._run(provisional.take_back, *args))
                return describe(outcome, "taken back", "", verdict, done)
            return self._run(provisional.propose_to_take_back, *args)
        if now < live.ends:
            return describe(outcome, "nothing", reason)
        why = f"it was not admitted in {provisional.TERM_DAYS} days"
        if live.verdict.provisional == "no":
            why = "its cases together show no gain any more"
        rule, why = provisional.TERM_RULE, f"{why}; {reason}"
        return self._run(provisional.propose_to_take_back, live, rule, why)

    def _try_further(self, live: Provisional) -> tuple[GateVerdict | None, str]:
        """Return the verdict over all cases, None and why if there is no new one."""
        from . import provisional

        cases = self._run(provisional.find_new_cases, live)
        if not cases:
            return None, "no held-out case was added since"
        sides = (live.before, live.path if live.base_version else ""), (live.after, live.path)
        old, new = (SkillsAt(self._lock, at, live.slug, path) for at, path in sides)
        is_program = new.program(live.slug) is not None
        runner = self._runner or (
            rounds.SandboxRunner(self._sandbox) if is_program else self._text_runner
        )
        if runner is None:
            return None, NO_RUNNER
        if runner.name != (ran := live.verdict.runner.split(rounds.AND)[0]):
            return None, f"its cases were run by {ran}, and {runner.name} would be another question"
        time_left = self._start_clock()
        judge = rounds.OutputJudge(lambda: self._sandbox, time_left).judge
        course = rounds.CaseRounds(
            rounds.Runners([runner], {}), judge, old, new, self._limits, time_left
        )
        number = len(live.verdict.gate_cases[0].before)
        most = min(self._limits.cases, self._limits.runs // (2 * number))
        tried = course.run_as_often(cases[:most], number)
        if isinstance(tried, str):
            return None, tried
        built = go_on_with(live.verdict, live.blob, tried)
        return built, "" if built else f"{runner.name} did not repeat itself"

    # Record

    def _record(self, change: ProposedChange, tried: TriedChange, mode: str) -> GateOutcome:
        planned, verdict = tried.planned, tried.verdict
        outcome = _blank_outcome(change, planned)._replace(guards=tried.guards)
        done, policy, is_shown = "admitted", manifest.ALLOW, verdict.gate == "admit"
        if not is_shown and verdict.provisional == "yes":
            done, policy = "provisional", self._run(manifest.load_provisional_policy)
            is_shown = policy != manifest.OFF
            if policy == manifest.ALLOW and planned.changes:  # a rule takes back one skill alone
                policy = manifest.PROPOSE
        if is_shown:
            if (mode, policy) != (manifest.GATED, manifest.ALLOW):
                return self._open_proposal(change, outcome, tried.decide("admit"))
            live = self._commit(self._run(record.record_change, tried.decide("admit")))
            return record.describe_outcome(outcome, done, "", verdict, live)
        proposal = None
        if tried.is_for_person:
            reason = verdict.reason
            if tried.trial is not None:  # a program at least passed its own tests
                passed = tried.by_trial(tried.trial).decide("admit")
                proposal = self._open_proposal(change, outcome, passed, reason)
            else:
                proposal = self._open_proposal(change, outcome, tried, reason)
            if not verdict.gate:
                return proposal
        attempt = self._run(record.record_change, tried.decide("reject"))
        is_open = verdict.gate == "undecided" or (not verdict.gate and tried.trial is None)
        word = "proposed" if proposal else "kept" if is_open else "rejected"
        outcome = record.describe_outcome(outcome, word, "", verdict, attempt)
        if proposal is None:
            return outcome
        return outcome._replace(proposal=proposal.proposal, snapshot=proposal.snapshot)

    def _open_proposal(
        self, change: ProposedChange, outcome: GateOutcome, tried: TriedChange, reason: str = ""
    ) -> GateOutcome:
        """Record a change in a proposal of its own, unless it waits there already.

        Without a decision, what nothing could try is recorded as a plain change.
        """
        name, verdict = _proposal_name(tried.planned), tried.verdict
        outcome = record.describe_outcome(outcome, "proposed", "", verdict)
        outcome = outcome._replace(proposal=name, reason=reason or outcome.reason)
        if self._run(record.is_proposed, name):
            return outcome
        session = self._run(open_proposal, name, f"brain evolve ({change.evolver})")
        try:
            if verdict.decision:
                done = self._run(lambda _: record.record_change(session, tried))
                return record.describe_outcome(outcome, "proposed", outcome.reason, done=done)
            about = tried.planned, tried.message, tried.receipt
            written = self._run(lambda _: record.record_untried(session, *about))
            return outcome._replace(snapshot=written.snapshot, changed=True)
        finally:
            session.close()

    def _describe_same(
        self, outcome: GateOutcome, planned: PlannedChange, attempt: EarlierAttempt, proposal: str
    ) -> GateOutcome:
        name = _proposal_name(planned)
        if not proposal and self._run(record.is_proposed, name):
            proposal = name
        done = "rejected" if attempt.gate == "reject" else "proposed" if proposal else "kept"
        return outcome._replace(
            gate=attempt.gate,
            done=done,
            reason=f"it was tried before: {attempt.reason}",
            attempt=attempt.attempt,
            numbers=attempt.numbers,
            proposal=proposal,
        )


def _start(planned: PlannedChange, message: str, receipt: Receipt | None = None) -> TriedChange:
    blank = Verdict(decision="", skill=planned.slug, decider="rule", decided_by=GATE_RULE)
    return TriedChange(planned=planned, verdict=blank, message=message, receipt=receipt)


def _conclude(start: TriedChange, stage: rounds.Stage, found: GateRecord, note: str) -> TriedChange:
    planned, decision, counts = start.planned, found.decision, stage.counts
    why = found.stopped or decision.reason
    if found.stopped and decision.is_provisional:
        why = f"{decision.reason}; {found.stopped}"
    if missing := counts.found - counts.run:  # names no skill
        reasons = "; ".join(dict.fromkeys(row.reason for row in counts.unrun))
        why += f"; {missing} of {counts.found} cases of other skills did not run: {reasons}"
    about = start.verdict._replace(base=planned.base_blob, text=planned.text_blob)
    built = build_gate_verdict(found, about, why + note)
    is_thin = decision.cases < DEFAULT_RULES.min_cases and decision.read_cases != 0
    return replace(
        start,
        verdict=built.verdict,
        contents=(*start.contents, *built.contents),
        guards=counts,
        is_for_person=decision.gate == "undecided" and is_thin,
        has_arguments=any(not isinstance(one.case.input, str) for one in found.cases),
    )


def _decide_acquired(tried: TriedChange) -> TriedChange:
    planned, trial, found = tried.planned, tried.trial, read_numbers(tried.verdict)
    assert trial is not None
    if found is not None:
        is_new = planned.base_program is None or planned.is_equal
        is_useless = is_new and tried.has_arguments and not found.wins
        if found.worse or found.losses > found.wins or is_useless:
            return tried.decide("reject")
        if tried.verdict.gate == "admit":  # what is provisional needs a manifest that lets it live
            return tried.decide("admit")
    return tried.by_trial(trial)


def _blank_outcome(change: ProposedChange, planned: PlannedChange) -> GateOutcome:
    base = None if planned.base_text is None else version_value(planned.base)
    version, files = version_value(planned.card.version), [one.path for one in planned.changes]
    return GateOutcome("", "", "", planned.slug, version, base, evolver=change.evolver, files=files)


def _proposal_name(planned: PlannedChange) -> str:
    program = planned.program.id if planned.program else b""
    others = b"".join(one.path.encode() + one.after for one in planned.changes)
    same = _change_id(planned.base_blob + planned.text_blob + program + others).hex()
    return f"evolve-{planned.slug}-{same[:6]}"


def _message(change: ProposedChange, planned: PlannedChange) -> str:
    about = change.message.rstrip("\n") or f"Change {planned.slug}"
    return f"{about}\n\n{EVOLVER_TRAILER}{change.evolver}"
