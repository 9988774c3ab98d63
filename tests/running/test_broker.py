import json
from collections.abc import Collection
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain.errors import InvalidInput, SandboxError
from brain.programs.needs import WebAnswer, WebRequest
from brain.running.broker import MAX_BROKER_BYTES, MAX_CALL_DEPTH, MAX_CALLS, Broker
from brain.running.run import RunOutcome, run_program
from brain.sandbox.job import Sandbox, SandboxLimits
from tests.running.programs import COUNT, build_program
from tests.support.cases import read_cases

CASES = read_cases(__file__)

PATIENT = SandboxLimits(wall_seconds=120)


def ask(broker: Broker, **request: Any) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(broker.answer(json.dumps(request).encode()))
    return answer


def echo(name: str, payload: dict[str, Any], broker: Broker) -> RunOutcome:
    if name == "bad":
        return RunOutcome(ok=False, error="ValueError: x")
    if name == "missing":
        raise InvalidInput("there is no skill missing")
    return RunOutcome(ok=True, output=[name, payload])


def test_a_call_of_another_skill_is_answered_and_noted():
    broker = Broker("first", run_skill=echo)
    assert ask(broker, call="other", payload={"a": 1}) == {"output": ["other", {"a": 1}]}
    assert ask(broker, call="bad") == {"error": "bad failed: ValueError: x"}
    assert ask(broker, call="missing") == {"error": "there is no skill missing"}
    rows = [(one.kind, one.caller, one.target, one.depth, one.error) for one in broker.calls]
    assert rows == [
        ("call", "first", "other", 1, ""),
        ("call", "first", "bad", 1, "bad failed: ValueError: x"),
        ("call", "first", "missing", 1, "there is no skill missing"),
    ]


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"[]",
        b"3",
        b"{}",
        b"\xff",
        b'{"call": 3}',
        b'{"call": "a", "payload": []}',
        b'{"call": "a", "payload": {}, "as": "root"}',
        b'{"call": "a", "call": "b"}',
        b'{"call": "../a"}',
        b'{"call": "a b"}',
        b'{"call": ""}',
        b'{"fetch": 1}',
        b'{"fetch": "https://a.org", "method": "POST"}',
        b'{"progress": "half"}',
        b'{"progress": 1e999}',
        b'{"progress": NaN}',
        b'{"open": "/etc/passwd"}',
        b"[" * 10_000,
        b'{"call": "a", "payload": {"x": [' + b"0," * 200_000 + b"0]}}",
    ],
)
def test_a_malformed_request_is_answered_with_an_error(line):
    def refuse(*_: object) -> RunOutcome:
        raise AssertionError("nothing is run")

    answer = json.loads(Broker("first", run_skill=refuse).answer(line))
    assert answer.keys() == {"error"} and answer["error"]


@given(st.binary(max_size=200))
def test_any_line_has_an_answer_of_one_line(line):
    answer = Broker("first").answer(line)
    assert b"\n" not in answer and isinstance(json.loads(answer), dict)


def test_progress_is_passed_on_within_its_bounds():
    said: list[tuple[float, str]] = []
    broker = Broker("first", on_progress=lambda fraction, message: said.append((fraction, message)))
    assert ask(broker, progress=0.5, message="a\x1bb") == {"output": None}
    ask(broker, progress=7)
    ask(broker, progress=-1, message="x" * 300)
    assert said == [(0.5, "a\\x1bb"), (1.0, ""), (0.0, "x" * 200 + "…")]
    assert broker.calls == ()
    assert ask(Broker("first"), progress=1) == {"output": None}


def test_a_skill_without_hosts_fetches_nothing():
    assert ask(Broker("first"), fetch="https://a.org/") == {
        "error": "no host is approved for this skill"
    }


def test_hosts_are_those_of_the_skill_that_asks():
    asked: list[tuple[str, frozenset[str]]] = []

    def fetch(request: WebRequest, hosts: Collection[str], *_: object) -> WebAnswer:
        asked.append((request.url, frozenset(hosts)))
        return WebAnswer(body=b"text")

    def run_inner(name: str, payload: dict[str, Any], inner: Broker) -> RunOutcome:
        first = ask(inner, fetch="https://a.org/")
        inner.approve(["b.org"])
        return RunOutcome(ok=True, output=[first, ask(inner, fetch="https://b.org/")])

    broker = Broker("first", run_skill=run_inner)
    broker.approve(["a.org"], fetch=fetch)
    assert ask(broker, fetch="https://a.org/") == {"output": "text"}
    assert ask(broker, call="inner")["output"] == [
        {"error": "no host is approved for this skill"},
        {"output": "text"},
    ]
    assert asked == [
        ("https://a.org/", frozenset({"a.org"})),
        ("https://b.org/", frozenset({"b.org"})),
    ]
    assert [(one.caller, one.depth, one.target) for one in broker.calls] == [
        ("first", 1, "https://a.org/"),
        ("inner", 2, "https://a.org/"),
        ("inner", 2, "https://b.org/"),
        ("first", 1, "inner"),
    ]


def test_depth_is_bounded_and_recursion_refused():
    def run_next(name: str, payload: dict[str, Any], inner: Broker) -> RunOutcome:
        again = payload["names"].pop(0) if payload["names"] else "none"
        return RunOutcome(ok=True, output=ask(inner, call=again, payload=payload))

    names = [f"skill{n}" for n in range(9)]
    deep = Broker("first", run_skill=run_next)
    assert f"at most {MAX_CALL_DEPTH} deep" in str(ask(deep, call="a", payload={"names": names}))
    assert max(one.depth for one in deep.calls) == MAX_CALL_DEPTH
    for names in (["first"], ["b", "a"], ["b", "first"]):
        broker = Broker("first", run_skill=run_next)
        assert "runs already" in str(ask(broker, call="a", payload={"names": names}))
    assert "runs already" in ask(Broker("first", run_skill=run_next), call="first")["error"]


def test_calls_are_counted_over_all_skills():
    def run_many(name: str, payload: dict[str, Any], inner: Broker) -> RunOutcome:
        answers = [ask(inner, call="leaf") for _ in range(30)] if name != "leaf" else []
        return RunOutcome(ok=True, output=[len(answers), str(answers[-1:])])

    broker = Broker("first", run_skill=run_many)
    last = [ask(broker, call=name) for name in ("a", "b", "c")][-1]
    assert f"more than {MAX_CALLS} calls" in str(last)
    assert len(broker.calls) <= MAX_CALLS + 1


def test_bytes_are_counted_over_all_answers():
    def run_large(name: str, payload: dict[str, Any], inner: Broker) -> RunOutcome:
        return RunOutcome(ok=True, output="x" * (MAX_BROKER_BYTES // 4))

    broker = Broker("first", run_skill=run_large)
    answers = [ask(broker, call="large") for _ in range(5)]
    assert ["output" in one for one in answers] == [True, True, True, False, False]
    assert "bytes were asked and answered" in answers[-1]["error"]


def test_a_sandbox_that_fails_is_not_the_fault_of_the_skill():
    def fail(*_: object) -> RunOutcome:
        raise SandboxError("it could not be started", code="sandbox_failed")

    with pytest.raises(SandboxError):
        ask(Broker("first", run_skill=fail), call="other")


def run_with_broker(
    sandbox: Sandbox, code: str, approved: dict[str, Any] | None = None, **options: Any
) -> tuple[RunOutcome, Broker]:
    skills = {
        "count": COUNT,
        "twice": "import json, sys\nfrom skillapi import call\n"
        "n = call('count', **json.loads(sys.argv[1]))\nprint(2 * n)\n",
        "again": "from skillapi import call\nprint(call('first'))\n",
    }

    def run_skill(name: str, payload: dict[str, Any], inner: Broker) -> RunOutcome:
        program = build_program(skills[name])
        return run_program(sandbox, program, payload, answer=inner.answer, limits=PATIENT)

    broker = Broker("first", run_skill=run_skill, **options)
    broker.approve(**(approved or {"hosts": ()}))
    outcome = run_program(sandbox, build_program(code), {}, answer=broker.answer, limits=PATIENT)
    return outcome, broker


def test_skills_in_sandboxes_call_one_another(sandbox):
    code = "from skillapi import call\nprint(call('twice', text='a b c'))\n"
    outcome, broker = run_with_broker(sandbox, code)
    assert outcome.output == 6, outcome.error
    assert [(one.caller, one.target, one.depth) for one in broker.calls] == [
        ("twice", "count", 2),
        ("first", "twice", 1),
    ]


@pytest.mark.parametrize(
    ("code", "error"), CASES["test_what_is_not_answered_is_said_in_the_sandbox"]
)
def test_what_is_not_answered_is_said_in_the_sandbox(sandbox, code, error):
    outcome, _ = run_with_broker(sandbox, f"from skillapi import call, fetch\n{code}\nprint(1)\n")
    assert not outcome.ok and outcome.error.startswith(error)


def test_progress_reaches_the_caller_from_the_sandbox(sandbox):
    said: list[tuple[float, str]] = []
    code = (
        "from skillapi import progress\nfor n in range(2000): progress(n / 2000, 'step')\nprint(1)"
    )
    outcome, _ = run_with_broker(sandbox, code, on_progress=lambda *row: said.append(row))
    assert outcome.ok and said[:2] == [(0.0, "step"), (0.0005, "step")] and len(said) == 1000


def test_an_approved_host_is_fetched_for_the_sandbox(sandbox):
    code = "from skillapi import fetch\nprint(fetch('https://a.org/x').upper())"
    fetched: list[str] = []

    def fetch(request: WebRequest, *_: object) -> WebAnswer:
        fetched.append(request.url)
        return WebAnswer(body=b"text of the host")

    outcome, broker = run_with_broker(sandbox, code, {"hosts": ["a.org"], "fetch": fetch})
    assert outcome.output == "TEXT OF THE HOST" and fetched == ["https://a.org/x"]
    assert [(one.kind, one.target, one.error) for one in broker.calls] == [
        ("fetch", "https://a.org/x", "")
    ]
