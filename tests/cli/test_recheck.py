"""What `brain evolve recheck`, `why`, `show` and `log` print about a decision of the gate."""

import pytest

from brain import Brain
from brain.digest import blob_id
from tests.support.gate_decisions import (
    CASES,
    GREET,
    GUARD,
    RIGHT,
    add_cases,
    decide_by_gate,
    gate_admission,
    gate_rejection,
)

NUMBERS = "admitted, the gate admits it: 8 held-out cases, 8 won, 0 lost, E 156.3, run by scripted"


@pytest.fixture
def brain(agent):
    opened = Brain.open(agent, author="ada")
    add_cases(opened)
    return opened


def test_why_show_and_log_tell_the_numbers_of_the_gate(brain, cli):
    decide_by_gate(brain, gate_admission())
    assert NUMBERS in cli("why", GREET).out.splitlines()[1]
    for command in ("show", "log"):
        assert f"{GREET} {NUMBERS}" in cli(command).out
    rows = [line.split() for line in cli("why", GREET, "--cases").out.splitlines()]
    assert [GUARD, "pass,", "p", "before,", "p", "after"] in rows
    assert ["gate", "admit"] in rows and ["runner", "scripted"] in rows


def test_why_tells_a_rejection_with_what_got_worse(brain, cli):
    here = decide_by_gate(brain, gate_rejection())
    with brain._session.store.transaction() as tx:
        tx.update_ref(f"rejected/{GREET}/{here.hex()[:8]}", None, here)
    out = cli("why", GREET, "--cases").out
    assert "rejected, the gate rejects it: 8 held-out cases, 8 won, 0 lost, E 156.3, 1 got" in out
    assert "fail, p before, f after, passed 1 of 1 before, 0 of 1 after" in out


def test_a_verdict_that_holds_is_a_table_and_status_0(brain, cli):
    here = decide_by_gate(brain, gate_admission())
    done = cli("evolve", "recheck", GREET)
    assert (done.status, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == f"greet: admit by gate (rule), snapshot {here.hex()[:12]}"
    assert lines[1].startswith("Verdict ") and "run by scripted" in lines[2]
    rows = [line.split() for line in lines]
    assert ["E", "156.388", "156.388", "same"] in rows
    assert [GUARD, "guard", "p", "→", "p", "p", "→", "p", "same"] in rows
    assert lines[-1] == "The verdict holds: its cases say admit"


def test_a_verdict_that_differs_is_status_3(brain, cli):
    cases = [
        case._replace(outputs=(blob_id(RIGHT),) * 2) if case.kind == "held_out" else case
        for case in gate_admission().cases
    ]
    decide_by_gate(brain, gate_admission()._replace(cases=tuple(cases)))
    done = cli("evolve", "recheck", GREET)
    assert done.status == 3 and "does not follow from its cases" in done.err
    assert "Differs: 8 cases have another outcome" in done.out
    assert "The verdict holds" not in done.out
    told = cli("evolve", "recheck", GREET, "--json")
    assert told.document["found_gate"] == "reject" and told.error["code"] == "verdict_differs"


def test_a_verdict_of_which_a_case_is_gone_is_status_16(brain, cli):
    decide_by_gate(brain, gate_admission())
    path = list(CASES)[-1]
    brain.files.redact(path, reason="a test")
    done = cli("evolve", "recheck", GREET)
    assert done.status == 1 and "1 part of the verdict could not be checked" in done.err
    assert f"Unknown: {path}: its document was redacted" in done.out
    assert "The verdict holds: as far as it could be checked, its cases say admit" in done.out
    assert done.out.count("unknown") == 1


def test_a_skill_that_no_gate_decided_about_is_status_1(brain, cli):
    done = cli("evolve", "recheck", GREET)
    assert done.status == 1 and done.out == "" and "hint" in done.err.lower()


def test_a_hostile_verdict_does_not_steer_the_terminal(brain, cli):
    hostile = gate_admission()._replace(decided_by="\x1b[2J", runner="\x1b[2J", reason="\x1b[2J")
    decide_by_gate(brain, hostile)
    for command in (("evolve", "recheck", GREET), ("why", GREET, "--cases"), ("show",), ("log",)):
        done = cli(*command)
        assert done.status == 0 and "\x1b" not in done.out
