"""A verdict in one line."""

import pytest

from brain.verdicts.verdict import NamedNumber, NamedText
from brain.verdicts.verdict_summary import summarize_verdict
from tests.support.decisions import ADMITTED, admission, reinstatement, rejection, retirement
from tests.support.gate_decisions import gate_admission, gate_rejection


@pytest.mark.parametrize(
    ("verdict", "line"),
    [
        (admission(), ADMITTED),
        (
            admission()._replace(
                cases=admission().cases[:1], sandbox="", versions=(NamedText("python", "3"),)
            ),
            "admitted by its tests: 1 case, Python 3",
        ),
        (
            admission()._replace(
                cases=(), sandbox="", versions=(), decided_by="Ada", reason="it is hers"
            ),
            "admitted by Ada: it is hers",
        ),
        (rejection(), "rejected: author 1: it printed nothing"),
        (rejection()._replace(reason=""), "rejected: author 1"),
        (
            rejection()._replace(reason="", cases=(), findings=("line 3: os",)),
            "rejected: line 3: os",
        ),
        (rejection()._replace(reason="", cases=()), "rejected"),
        (
            gate_admission(),
            "admitted, the gate admits it: 8 held-out cases, 8 won, 0 lost, E 156.3,"
            " run by scripted",
        ),
        (
            gate_rejection(),
            "rejected, the gate rejects it: 8 held-out cases, 8 won, 0 lost, E 156.3,"
            " 1 got worse, run by scripted",
        ),
        (
            gate_admission()._replace(files=admission().files, cases=admission().cases[:1]),
            "admitted, the gate admits it: 8 held-out cases, 8 won, 0 lost, E 156.3,"
            " run by scripted; 1 case",
        ),
        (
            gate_rejection()._replace(
                decision="admit",
                decider="person",
                decided_by="Ada",
                gate="undecided",
                reason="it is hers",
                cases=(),
                numbers=(NamedNumber("cases", 1), NamedNumber("more_cases", 4)),
            ),
            "admitted by Ada: it is hers; the gate is undecided: 1 held-out case, 0 won, 0 lost,"
            " E 0.0, 4 more would do, run by scripted",
        ),
        (
            gate_admission()._replace(numbers=(NamedNumber("rounds", 5),)),
            "admitted, the gate admits it: 0 held-out cases, 5 rounds, 0 won, 0 lost, E 0.0,"
            " run by scripted",
        ),
        (retirement(), "retired: 3 failures in a row"),
        (reinstatement(), "reinstated as version 2"),
        (
            reinstatement()._replace(reason="it did better"),
            "reinstated as version 2: it did better",
        ),
    ],
)
def test_a_verdict_is_one_line(verdict, line):
    assert summarize_verdict(verdict, "2") == line


def test_a_hostile_verdict_is_one_line_without_control_characters():
    hostile = "\x1b[2J\nadmitted by its tests" * 100
    for verdict in (
        rejection(reason=hostile),
        retirement(hostile),
        admission()._replace(sandbox=hostile, versions=(NamedText("python", hostile),)),
        admission()._replace(cases=(), sandbox="", versions=(), decided_by=hostile),
        gate_admission()._replace(runner=hostile, reason=hostile),
        gate_admission()._replace(decider="person", decided_by=hostile, reason=hostile),
    ):
        line = summarize_verdict(verdict, "2")
        assert line.isprintable() and len(line) < 1000
