import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain.programs.probes import CheckAll, Payload, build_stubs, find_survivors, make_payloads
from brain.programs.test_cases import TestCase
from tests.support.true_functions import FUNCTIONS, TrueFunction

IDS = [function.name for function in FUNCTIONS]


def answered(function: TrueFunction, seed: int) -> list[Payload]:
    """Return the unseen payloads that the function does not refuse."""
    out = []
    for payload in make_payloads(function.schema, function.seen, seed, 8):
        with contextlib.suppress(ValueError, KeyError):
            function.work(payload)
            out.append(payload)
    return out


def survivors(function: TrueFunction, seed: int, check: CheckAll, exact: bool) -> set[str]:
    seen = [(payload, function.work(payload)) for payload in function.seen]
    cases = [
        TestCase(payload=payload, output=output) if exact else TestCase(payload=payload)
        for payload, output in seen
    ]
    return find_survivors(build_stubs(seen), cases, answered(function, seed), check)


def right_check(function: TrueFunction) -> CheckAll:
    return lambda rows: ["" if function.check(dict(p), out) else "wrong" for p, out in rows]


def no_check(rows: list[tuple[Payload, Any]]) -> list[str]:
    return ["" for _ in rows]


@pytest.mark.parametrize("function", FUNCTIONS, ids=IDS)
@given(seed=st.integers(0, 2**32), exact=st.booleans())
def test_a_right_check_kills_all_stubs(function, seed, exact):
    assert len(answered(function, seed)) >= 4
    assert survivors(function, seed, right_check(function), exact) == set()


@pytest.mark.parametrize("function", FUNCTIONS, ids=IDS)
@given(seed=st.integers(0, 2**32))
def test_examples_alone_let_a_table_live(function, seed):
    alive = survivors(function, seed, no_check, exact=True)
    assert "a table of the cases, and else the first output" in alive
    assert not any(name.startswith("always") for name in alive if len(function.seen) > 1)


@pytest.mark.parametrize("function", FUNCTIONS, ids=IDS)
@given(seed=st.integers(0, 2**32))
def test_a_check_that_knows_only_the_examples_lets_a_table_live(function, seed):
    def check(rows: list[tuple[Payload, Any]]) -> list[str]:
        known = right_check(function)
        return [known([row])[0] if row[0] in function.seen else "" for row in rows]

    assert "a table of the cases, and else the last output" in survivors(
        function, seed, check, exact=False
    )


@pytest.mark.parametrize("function", FUNCTIONS, ids=IDS)
def test_tests_that_always_pass_let_constants_and_echoes_live(function):
    alive = survivors(function, 1, no_check, exact=False)
    assert {"always the first output", 'always "ok"', "the payload itself"} <= alive


def test_a_stub_that_refuses_what_the_program_answers_is_killed():
    alive = survivors(FUNCTIONS[0], 1, no_check, exact=True)
    assert "a table of the cases, and else an error" not in alive


def test_an_answer_that_says_nothing_kills_a_stub():
    seen: list[tuple[Payload, Any]] = [({"a": ""}, "x"), ({"a": "b"}, "y")]
    cases = [TestCase(payload=dict(payload)) for payload, _ in seen]
    assert "the argument a itself" not in find_survivors(build_stubs(seen), cases, [], no_check)


def test_a_program_without_arguments_has_constants_only_that_are_not_its_own():
    names = list(build_stubs([({}, 1)]))
    assert 'always "ok"' in names and "always 1" not in names and "always true" in names
    assert not any("table" in name or "payload" in name or "output" in name for name in names)


def test_there_is_no_table_where_all_payloads_are_seen():
    seen: list[tuple[Payload, Any]] = [({"on": True}, 1), ({"on": False}, 2)]
    assert not any("table" in name for name in build_stubs(seen, all_seen=True))
    assert any("table" in name for name in build_stubs(seen))
