"""No attempt gets out of the sandbox, and each is really made."""

from collections import Counter

import pytest

from .run_attempts import ALL_ATTEMPTS, SESSION_ATTEMPTS, Finding, run_all


@pytest.fixture(scope="module")
def run(request):
    """What the attempts come to that this run is to look at, by their number."""
    chosen = [item for item in request.session.items if item.path == request.path]
    drawn = [item.callspec.params["number"] for item in chosen if hasattr(item, "callspec")]
    numbers = drawn or range(len(ALL_ATTEMPTS))
    findings, effects = run_all([ALL_ATTEMPTS[number] for number in numbers])
    return dict(zip(numbers, findings, strict=True)), effects


@pytest.mark.parametrize(
    "number", range(len(ALL_ATTEMPTS)), ids=[f"{one.kind}: {one.name}" for one in ALL_ATTEMPTS]
)
def test_an_attempt_is_made_and_reaches_nothing(run, number):
    findings, _ = run
    assert findings[number] == Finding(reached="", not_made="")


def test_attempts_leave_no_effect_on_the_host(run):
    _, effects = run
    assert effects == []


def test_attempts_reach_nothing_from_a_session_either():
    findings, effects = run_all(SESSION_ATTEMPTS, in_sessions=True)
    names = [f"{one.kind}: {one.name}" for one in SESSION_ATTEMPTS]
    assert {name: one for name, one in zip(names, findings, strict=True) if any(one)} == {}
    assert effects == []


def test_there_are_attempts_of_many_kinds_and_none_twice():
    kinds = Counter(one.kind for one in ALL_ATTEMPTS)
    assert len(kinds) >= 12 and kinds.total() >= 200
    assert len({(one.kind, one.name) for one in ALL_ATTEMPTS}) == kinds.total()
    assert len(SESSION_ATTEMPTS) >= 500
