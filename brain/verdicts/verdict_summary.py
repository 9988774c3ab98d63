"""A verdict in one line, after the name of its skill."""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import printable_text
from ..results.text_format import DECISION_WORDS
from .verdict import Verdict

_GATE_SAYS = {
    "admit": "the gate admits it",
    "reject": "the gate rejects it",
    "undecided": "the gate is undecided",
}


def summarize_verdict(verdict: Verdict, to_version: str) -> str:
    """Return what was decided: "admitted by its tests: 2 cases, 8 unseen payloads, …".

    `to_version` is that of the skill afterwards, "" if it is gone.
    """
    reason = printable_text(verdict.reason)
    if verdict.gate:
        return _describe_gate_decision(verdict)
    if verdict.decision == "admit":
        who = "its tests" if verdict.cases else printable_text(verdict.decided_by)
        return _with_reason(f"admitted by {who}", ", ".join(_describe_trial(verdict)) or reason)
    if verdict.decision == "reject":
        found = [*(case.name for case in verdict.failed_cases), *verdict.findings]
        return _with_reason("rejected", reason or printable_text("".join(found[:1])))
    if verdict.decision == "retire":
        return _with_reason("retired", reason)
    return _with_reason(
        f"reinstated as version {to_version}" if to_version else "reinstated", reason
    )


def _with_reason(words: str, reason: str) -> str:
    return f"{words}: {reason}" if reason else words


def _describe_gate_decision(verdict: Verdict) -> str:
    done = DECISION_WORDS[verdict.decision]
    if verdict.continues:
        goes_on = (
            "still provisional"
            if verdict.gate == "undecided"
            else "admitted, no longer provisional"
        )
        done = goes_on if verdict.decision == "admit" else "taken back"
    elif verdict.decision == "admit" and verdict.gate != "admit" and verdict.provisional == "yes":
        done = f"{done} as provisional (it helps these very cases)"
    said = f"{_GATE_SAYS[verdict.gate]}: {', '.join(_describe_numbers(verdict))}"
    if verdict.decider == "person":
        by_person = f"{done} by {printable_text(verdict.decided_by)}"
        return f"{_with_reason(by_person, printable_text(verdict.reason))}; {said}"
    trial = ", ".join(_describe_trial(verdict)) if verdict.files else ""
    return f"{done}, {said}; {trial}" if trial else f"{done}, {said}"


def _describe_numbers(verdict: Verdict) -> Iterator[str]:
    numbers = dict(verdict.numbers)
    cases, rounds = numbers.get("cases", 0), numbers.get("rounds", 0)
    yield f"{cases} held-out {'case' if cases == 1 else 'cases'}"
    if rounds > 1:
        yield f"{rounds} rounds"
    yield f"{numbers.get('wins', 0)} won"
    yield f"{numbers.get('losses', 0)} lost"
    whole, thousandths = divmod(numbers.get("e_value_milli", 0), 1000)
    yield f"E {whole}.{thousandths // 100}"
    if verdict.provisional == "yes":
        whole, thousandths = divmod(numbers.get("e_of_runs_milli", 0), 1000)
        yield f"E of the runs {whole}.{thousandths // 100}"
    if worse := sum(case.outcome == "fail" for case in verdict.gate_cases):
        yield f"{worse} got worse"
    if more := numbers.get("more_cases", 0):
        yield f"{more} more would do"
    yield f"run by {printable_text(verdict.runner)}"


def _describe_trial(verdict: Verdict) -> Iterator[str]:
    for kind, one, many in (
        ("author", "case", "cases"),
        ("unseen", "unseen payload", "unseen payloads"),
        ("stub", "stub killed", "stubs killed"),
    ):
        if count := verdict.count_cases(kind):
            yield f"{count} {one if count == 1 else many}"
    if verdict.sandbox:
        yield printable_text(verdict.sandbox)
    for name, version in verdict.versions:
        if name == "python":
            yield f"Python {printable_text('.'.join(version.split('.')[:2]))}"
