"""What the commands print about decisions."""

from brain import Brain
from tests.support.decisions import (
    ADMITTED,
    SLUG,
    admission,
    admit_new,
    decide,
    put_verdict,
    record,
)


def test_why_show_and_log_tell_an_admission(agent, cli):
    with Brain.open(agent, author="ada") as brain:
        admit_new(brain)
    lines = cli("why", SLUG).out.splitlines()
    assert lines[0].startswith(f"{SLUG}@1  added ") and lines[1] == f"    {ADMITTED}"
    assert f"{SLUG} {ADMITTED}" in cli("show").out
    assert f"{SLUG} {ADMITTED}" in cli("log").out
    assert "author 1" not in "\n".join(lines)


def test_why_lists_the_cases_on_request(agent, cli):
    with Brain.open(agent, author="ada") as brain:
        admit_new(brain)
        decide(brain, {}, ("1", "1"), admission())
    out = cli("why", SLUG, "--cases").out
    rows = [line.split() for line in out.splitlines()]
    assert ["author", "1", "pass,", "24", "ms"] in rows
    assert ["the", "payload", "itself", "pass"] in rows
    assert ["decided", "by", "its", "tests", "(rule)"] in rows
    assert ["versions", "bubblewrap", "0.8.0,", "python", "3.11.2"] in rows
    assert out.count(ADMITTED) == 2
    assert out.startswith(f"{SLUG}@1  admitted ")


def test_a_hostile_verdict_does_not_steer_the_terminal(agent, cli):
    case = admission().cases[0]._replace(name="\x1b[2J a", detail="\x1b[2J b", outcome="fail")
    verdict = admission()._replace(
        decision="reject", decided_by="\x1b[2J", reason="\x1b[2J", cases=(case,)
    )
    with Brain.open(agent, author="ada") as brain:
        admit_new(brain)
        record(brain, {}, ("reject", SLUG, "1", "1", put_verdict(brain, verdict)))
    for command in (("why", SLUG, "--cases"), ("show",), ("log",)):
        told = cli(*command)
        assert told.status == 0 and "\x1b" not in told.out
