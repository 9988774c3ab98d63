"""Record what became of a tried change, by the mode of the brain."""

from __future__ import annotations

from dataclasses import dataclass

from ...digest import domain_hash
from ...repo.learning.attempts import EVOLVER_TRAILER, read_numbers
from ...repo.learning.change import PlannedChange
from ...repo.learning.record import DecidedChange
from ...repo.open.manifest import GATED
from ...results import Decided, EarlierAttempt, GateOutcome
from ...skills.skill_version import version_value
from ...verdicts.gate_verdict import Deciding, build_gate_verdict
from ...verdicts.verdict_types import Verdict
from .brain_protocol import GatedBrain
from .change_trial import GATE_RULE, TrialResult
from .proposed_change import ProposedChange

_change_id = domain_hash("brain v1 proposed change")


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeRecorder:
    """Records one planned change in a brain with the mode `mode`."""

    brain: GatedBrain
    change: ProposedChange
    planned: PlannedChange
    mode: str

    def record(self, result: TrialResult) -> GateOutcome:
        """Admit or propose a change, or keep the attempt. Raises as `brain.gate.record`."""
        return self._record(result)._replace(guards=result.guards)

    def _record(self, result: TrialResult) -> GateOutcome:
        if result.record is None and result.is_for_person:
            return self._propose_untried(result)
        if result.record is not None and result.record.decision.gate == "admit":
            decided = self._decide(result, "admit")
            if self.mode == GATED:
                return self._outcome(decided.verdict, "admitted", self.brain.gate.record(decided))
            return self._propose(decided)
        if result.is_for_person:
            return self._propose_undecided(result)
        decided = self._decide(result, "reject")
        is_undecided = result.record is not None and result.record.decision.gate == "undecided"
        is_open = is_undecided or (result.record is None and result.trial is None)
        attempt = self.brain.gate.record(decided)
        return self._outcome(decided.verdict, "kept" if is_open else "rejected", attempt)

    def describe_equal(self) -> GateOutcome:
        """Return the outcome of a change that changes nothing."""
        reason = f"{self.planned.slug} is like this already"
        return self._build("", "nothing", reason)

    def describe_same(self, attempt: EarlierAttempt) -> GateOutcome:
        """Return the outcome of a change that was tried before, with the same result."""
        name = self._proposal_name()
        proposal = name if self.brain.gate.is_proposed(name) else ""
        done = "proposed" if proposal else "kept"
        done = "rejected" if attempt.gate == "reject" else done
        outcome = self._build(attempt.gate, done, f"it was tried before: {attempt.reason}")
        return outcome._replace(attempt=attempt.attempt, numbers=attempt.numbers, proposal=proposal)

    def _decide(self, result: TrialResult, decision: str) -> DecidedChange:
        trial_contents = result.trial.contents if result.trial else ()
        if result.record is not None:
            built = build_gate_verdict(
                result.record,
                Deciding(
                    decision=decision,
                    decider="rule",
                    decided_by=GATE_RULE,
                    reason=result.reason,
                ),
            )
            verdict, contents = built.verdict, (*trial_contents, *built.contents)
        elif result.trial is not None:
            verdict = result.trial.verdict._replace(decision=decision, reason=result.reason)
            contents = trial_contents
        else:
            verdict = Verdict(
                decision=decision,
                skill=self.planned.slug,
                decider="rule",
                decided_by=GATE_RULE,
                reason=result.reason,
            )
            contents = ()
        return DecidedChange(
            planned=self.planned,
            verdict=verdict,
            contents=tuple(dict.fromkeys(contents)),
            program=result.program,
            message=self._message(),
            receipt=self.change.receipt,
        )

    def _propose(self, decided: DecidedChange) -> GateOutcome:
        """Propose what the gate admits, with its verdict, to a person."""
        name = self._proposal_name()
        if self.brain.gate.is_proposed(name):
            return self._outcome(decided.verdict, "proposed")._replace(proposal=name)
        with self.brain.proposals.open(name, author=self._author()) as proposal:
            recorded = proposal.gate.record(decided)
        return self._outcome(decided.verdict, "proposed", recorded)._replace(proposal=name)

    def _propose_untried(self, result: TrialResult) -> GateOutcome:
        """Propose what no case could try; a program at least passed its own tests."""
        if result.trial is not None:
            passed = self._decide(
                TrialResult(reason="", program=result.program, trial=result.trial), "admit"
            )
            return self._propose(passed)._replace(reason=result.reason)
        name = self._proposal_name()
        outcome = self._build("", "proposed", result.reason)._replace(proposal=name)
        if self.brain.gate.is_proposed(name):
            return outcome
        with self.brain.proposals.open(name, author=self._author()) as proposal:
            written = proposal.gate.record_untried(
                self.planned, message=self._message(), receipt=self.change.receipt
            )
        return outcome._replace(snapshot=written.snapshot, changed=True)

    def _propose_undecided(self, result: TrialResult) -> GateOutcome:
        """Propose what too few cases tried, and keep what they said as an attempt."""
        proposed = self._propose_untried(result)
        decided = self._decide(result, "reject")
        attempt = self.brain.gate.record(decided)
        outcome = self._outcome(decided.verdict, "proposed", attempt)
        return outcome._replace(proposal=proposed.proposal, snapshot=proposed.snapshot)

    def _outcome(self, verdict: Verdict, done: str, decided: Decided | None = None) -> GateOutcome:
        outcome = self._build(verdict.gate, done, verdict.reason)
        outcome = outcome._replace(numbers=read_numbers(verdict))
        if decided is None:
            return outcome
        return outcome._replace(
            version=decided.version,
            previous_version=decided.previous_version,
            snapshot=decided.snapshot,
            attempt=decided.attempt,
            changed=decided.changed,
            commitment=decided.commitment,
        )

    def _build(self, gate: str, done: str, reason: str) -> GateOutcome:
        planned = self.planned
        is_new = planned.base_text is None
        return GateOutcome(
            gate=gate,
            done=done,
            reason=reason,
            slug=planned.slug,
            version=version_value(planned.card.version),
            previous_version=None if is_new else version_value(planned.base),
            snapshot="",
            proposal="",
            attempt="",
            evolver=self.change.evolver,
            numbers=None,
            changed=False,
        )

    def _proposal_name(self) -> str:
        """Return the name of the proposal of this change: the same for the same change."""
        planned = self.planned
        program = planned.program.id if planned.program else b""
        same = _change_id(planned.base_blob + planned.text_blob + program).hex()
        return f"evolve-{planned.slug}-{same[:6]}"

    def _message(self) -> str:
        about = self.change.message.rstrip("\n") or f"Change {self.planned.slug}"
        return f"{about}\n\n{EVOLVER_TRAILER}{self.change.evolver}"

    def _author(self) -> str:
        return f"brain evolve ({self.change.evolver})"
