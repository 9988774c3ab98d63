from __future__ import annotations


def read_answer() -> Answer:
    """Return what the solver answered; {} and a line of output if it is no object of JSON."""
    import json
    import os

    try:
        # A link could lead to what is expected, and a pipe would never end.
        place = os.open("answer.json", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(place, encoding="utf-8") as file:
            answer = json.loads(file.read(1 << 20))
    except (OSError, ValueError, RecursionError) as error:
        print(f"answer.json cannot be read: {type(error).__name__}: {error}")
        return {}
    return answer if isinstance(answer, dict) else {}


def run_tests(*tests: Callable[[Answer, Answer], None]) -> None:
    """Run tests, print how each ends, and write the share that passed as the reward."""
    import json

    with open("/tests/expected.json", encoding="utf-8") as file:
        expected = json.load(file)
    answer, passed = read_answer(), 0
    for test in tests:
        name = f"check.py::{test.__name__}"
        try:
            test(answer, expected)
        except (AssertionError, KeyError) as error:
            print(f"FAILED {name} - {type(error).__name__}: {error}")
        else:
            passed += 1
            print(f"PASSED {name}")
    with open("/logs/verifier/reward.txt", "w", encoding="utf-8") as file:
        file.write(str(passed / len(tests)))


def test_count(answer: Answer, expected: Answer) -> None:
    found, wanted = answer["count"], expected["count"]
    assert found == wanted, f"{found!r} == {wanted!r}"


def test_cents(answer: Answer, expected: Answer) -> None:
    found, wanted = answer["cents"], expected["cents"]
    assert found == wanted, f"{found!r} == {wanted!r}"


def test_sum(answer: Answer, expected: Answer) -> None:
    found, wanted = answer["sum"], expected["sum"]
    assert found == wanted, f"{found!r} == {wanted!r}"


run_tests(test_count, test_cents, test_sum)
