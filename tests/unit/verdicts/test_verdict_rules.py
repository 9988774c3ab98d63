"""What contradicts itself within a verdict."""

import pytest

from brain.verdicts.verdict_rules import find_contradictions
from brain.verdicts.verdict_types import VerdictCase
from tests.support.decisions import admission, reinstatement, rejection, retirement

SURVIVOR = VerdictCase(kind="stub", name="always 0", outcome="fail")


@pytest.mark.parametrize(
    "verdict",
    [
        admission(),
        admission()._replace(files=(), cases=(), sandbox=""),
        rejection(),
        rejection()._replace(reason=""),
        rejection()._replace(reason="", cases=(), findings=("line 3: os",)),
        rejection()._replace(cases=()),
        retirement(),
        reinstatement(),
        reinstatement()._replace(cases=admission().cases),
    ],
)
def test_a_sound_verdict_has_no_contradiction(verdict):
    assert list(find_contradictions(verdict)) == []


@pytest.mark.parametrize(
    ("verdict", "sentence"),
    [
        (
            admission()._replace(cases=(*admission().cases[:3], SURVIVOR)),
            "it says admit, but its case always 0 failed",
        ),
        (
            reinstatement()._replace(cases=(SURVIVOR,)),
            "it says reinstate, but its case always 0 failed",
        ),
        (admission()._replace(sandbox=""), "it admits a program that was tried in no sandbox"),
        (
            admission()._replace(cases=admission().cases[2:]),
            "it admits a program without a case of the author",
        ),
        (
            admission()._replace(cases=admission().cases[:3]),
            "it admits a program without a stub that the tests killed",
        ),
        (
            rejection()._replace(reason="", cases=()),
            "it says reject, but nothing failed and it gives no reason",
        ),
        (retirement(""), "it says retire, but gives no reason"),
    ],
)
def test_a_contradiction_is_one_sentence(verdict, sentence):
    assert list(find_contradictions(verdict)) == [sentence]


def test_unseen_payloads_are_needed_by_a_program_with_parameters():
    cases = tuple(case for case in admission().cases if case.kind != "unseen")
    verdict = admission()._replace(cases=cases)
    assert list(find_contradictions(verdict, has_parameters=False)) == []
    assert list(find_contradictions(verdict)) == [
        "it admits a program without a payload that the author never saw"
    ]
