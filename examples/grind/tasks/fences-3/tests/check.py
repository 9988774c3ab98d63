from __future__ import annotations


def check() -> None:
    """Compare answer.json with what is expected, a test for each of its parts."""
    import json
    import os

    with open("/tests/expected.json", encoding="utf-8") as file:
        expected = json.load(file)
    answer = None
    try:
        # A link could lead to what is expected, and a pipe would never end.
        place = os.open("answer.json", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(place, encoding="utf-8") as file:
            answer = json.loads(file.read(1 << 20))
    except (OSError, ValueError, RecursionError) as error:
        print(f"FAILED test_answer_is_json - {type(error).__name__}: {error}")
    answers = answer if isinstance(answer, dict) else {}
    passed = [name for name, value in expected.items() if answers.get(name) == value]
    for name, value in expected.items():
        if name in passed:
            print(f"PASSED test_{name}")
        else:
            print(f"FAILED test_{name} - assert {answers.get(name)!r} == {value!r}")
    print(f"{len(passed)} passed, {len(expected) - len(passed)} failed")
    with open("/logs/verifier/reward.txt", "w", encoding="utf-8") as file:
        file.write(str(len(passed) / len(expected)))


check()
