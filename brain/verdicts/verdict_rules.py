"""Rules that a verdict must follow by itself, whatever brain it is in."""

from __future__ import annotations

from collections.abc import Iterator

from .gate_rules import find_gate_contradictions
from .verdict_types import GATE_KINDS, Verdict

_CASES_OF_ADMISSION = {
    "author": "a case of the author",
    "unseen": "a payload that the author never saw",
    "stub": "a stub that the tests killed",
}


def find_contradictions(verdict: Verdict, has_parameters: bool = True) -> Iterator[str]:
    """Yield, as sentences, why the decision does not follow from the rest of the verdict.

    `has_parameters` tells whether the program takes any; one without needs no unseen payload.
    """
    failed = verdict.failed_cases
    if verdict.decider == "person":  # a person may admit although cases of the gate got worse
        failed = [case for case in failed if case.kind not in GATE_KINDS]
    if verdict.decision in ("admit", "reinstate") and failed:
        yield f"it says {verdict.decision}, but its case {failed[0].name} failed"
    if verdict.decision == "admit" and verdict.files:
        yield from _find_missing_trials(verdict, has_parameters)
    if verdict.decision == "reject" and not (failed or verdict.findings or verdict.reason):
        yield "it says reject, but nothing failed and it gives no reason"
    if verdict.decision == "retire" and not verdict.reason:
        yield "it says retire, but gives no reason"
    yield from find_gate_contradictions(verdict)


def _find_missing_trials(verdict: Verdict, has_parameters: bool) -> Iterator[str]:
    if not verdict.sandbox:
        yield "it admits a program that was tried in no sandbox"
    for kind, words in _CASES_OF_ADMISSION.items():
        if not verdict.count_cases(kind) and (has_parameters or kind != "unseen"):
            yield f"it admits a program without {words}"
