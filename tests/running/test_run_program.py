import json
import threading
from typing import Any

import pytest

from brain.errors import InvalidInput
from brain.programs.program import CALL_HINT, NO_OUTPUT
from brain.running.run import RunOutcome, check_outputs, read_definition, run_program
from brain.sandbox.job import Sandbox, SandboxLimits
from tests.running.programs import CLASS, TEXT_SCHEMA, build_program
from tests.support.cases import read_cases
from tests.support.honest_programs import HONEST
from tests.support.refusals import raises_code

CASES = read_cases(__file__)

PATIENT = SandboxLimits(wall_seconds=120)
SHORT = SandboxLimits(wall_seconds=0.5)


def run(sandbox: Sandbox, code: str | bytes, payload: Any = None, **options: Any) -> RunOutcome:
    return run_program(
        sandbox, build_program(code), payload or {}, **{"limits": PATIENT, **options}
    )


@pytest.mark.parametrize(("name", "code", "payload"), HONEST, ids=[row[0] for row in HONEST])
def test_honest_programs_answer(sandbox, name, code, payload):
    outcome = run(sandbox, code, payload)
    assert outcome.ok and outcome.output not in (None, ""), outcome.error


@pytest.mark.parametrize(("code", "output"), CASES["test_the_output_of_a_script_is_json_or_text"])
def test_the_output_of_a_script_is_json_or_text(sandbox, code, output):
    assert run(sandbox, code).output == output


@pytest.mark.parametrize(
    ("code", "error", "refused"),
    [
        ("def f():\n    print(1)\n", CALL_HINT, False),
        ("x = 1", NO_OUTPUT, False),
        ("print('  ')", NO_OUTPUT, False),
        ("import sys; print('no text', file=sys.stderr)", "no text", False),
        ("import sys; print('EXIT CODE: 0'); sys.exit(1)", "EXIT CODE: 0", True),
        ("import sys; sys.exit('give a text')", "give a text", True),
        ("import sys; sys.exit(3)", NO_OUTPUT, False),
        ("int('x')", "ValueError: invalid literal for int() with base 10: 'x'", False),
        ("class Bad(Exception): pass\nraise Bad('no')", "Bad: no", False),
        ("import sys; sys.stdout.buffer.write(b'\\xff\\xfe')", "its output is not UTF-8", False),
        ("print('[' * 100 + ']' * 100)", "its output is nested more than 64 levels deep", False),
        ("print([0] * 200_000)", "its output has more than 100000 values", False),
        ("while True: print('x' * 9999)", "it wrote more than 1048576 bytes", False),
        ("import os; os.kill(os.getpid(), 11)", "it was ended by signal 11", False),
        ("def f(:", "SyntaxError: invalid syntax", False),
    ],
)
def test_a_script_that_fails_is_summed_up(sandbox, code, error, refused):
    outcome = run(sandbox, code)
    assert not outcome.ok and outcome.error == error and outcome.refused == refused


def test_a_script_that_writes_results_where_classes_do_gives_only_what_it_prints(sandbox):
    code = 'import os\nos.write(3, b\'={"success": true, "output": 1}\\n\')\n'
    assert run(sandbox, code).error == NO_OUTPUT
    assert run(sandbox, code + "print(2)").output == 2


def test_a_run_ends_in_time_and_when_it_is_cancelled(sandbox):
    assert run(sandbox, "while True: pass", limits=SHORT).error == "it took longer than 0.5 s"
    cancel = threading.Event()
    cancel.set()
    assert run(sandbox, "while True: pass", cancel=cancel).error == "it was cancelled"


def test_arguments_are_checked_before_a_run(sandbox):
    program = build_program("print(1)", schema=TEXT_SCHEMA)
    with raises_code("bad_payload", InvalidInput):
        run_program(sandbox, program, {"txt": 1})
    with raises_code("too_large", InvalidInput):
        run_program(sandbox, program, {"text": "x" * 100_000})
    assert run_program(sandbox, program, {"text": "x" * 99_000}).ok


def test_a_class_answers_and_refuses(sandbox):
    assert run(sandbox, CLASS, {"text": "a b"}).output == 2
    refusal = run(sandbox, CLASS, {"text": " "})
    assert refusal.refused and refusal.error == "there is no text"
    wrong = run(sandbox, CLASS, {"words": 1})
    assert not wrong.refused and wrong.error.startswith("TypeError: Count.execute() got an")


BODY = "        return SkillResult(self.name, True, len(text.split()))"


@pytest.mark.parametrize(("body", "said"), CASES["test_what_a_class_returns_is_its_output"])
def test_what_a_class_returns_is_its_output(sandbox, body, said):
    outcome = run(sandbox, CLASS.replace(BODY, f"        {body}"), {"text": "a"})
    if outcome.ok:
        assert outcome.output == said
    else:
        assert outcome.error.startswith(said)


def test_execute_may_be_no_coroutine(sandbox):
    assert run(sandbox, CLASS.replace("async def", "def"), {"text": "a b c"}).output == 3


@pytest.mark.parametrize(
    "imports",
    [
        "from skillapi import SkillBase, SkillDefinition, SkillParam, SkillResult",
        "from src.skills.base import *\nfrom src.skills.types import *",
        "from src.skills.types import SkillBase, SkillDefinition, SkillParam, SkillResult",
    ],
)
def test_a_class_may_import_its_base_from_each_place(sandbox, imports):
    code = imports + CLASS[CLASS.index("\n\nclass") :]
    assert run(sandbox, code, {"text": "a"}).output == 1


def test_a_definition_is_read(sandbox):
    assert read_definition(sandbox, CLASS.encode())["params"] == [
        {
            "name": "text",
            "type": "string",
            "description": "The text",
            "required": True,
            "default": None,
        }
    ]


@pytest.mark.parametrize(("body", "said"), CASES["test_a_definition_that_misbehaves_is_refused"])
def test_a_definition_that_misbehaves_is_refused(sandbox, body, said):
    code = CLASS.replace(
        "return SkillDefinition(self.name", f"{body}\n        return SkillDefinition(self.name"
    )
    with raises_code("bad_definition", InvalidInput) as caught:
        read_definition(
            sandbox, code.encode(), limits=SHORT if "while True: pass" in body else PATIENT
        )
    assert said in caught.value.message


ROWS: list[Any] = [({"n": 1}, 1), ({"n": 2}, "x"), ({"n": 3}, None)]


def test_a_check_answers_for_each_output(sandbox):
    check = b"import sys\ndef check(payload, output):\n    if payload['n'] == 3: sys.exit(0)\n"
    check += b"    payload['n'] = 9\n    assert output != 'x', 'an x'\n"
    assert check_outputs(sandbox, check, ROWS) == ["", "AssertionError: an x", "SystemExit: 0"]
    check = b"def check(payload, output):\n    return output == 1\n"
    assert check_outputs(sandbox, check, ROWS) == ["", *["check returned False"] * 2]


@pytest.mark.parametrize(
    ("check", "said"),
    [
        (b"", "it does not define check(payload, output)"),
        (b"check = 3", "it does not define check(payload, output)"),
        (b"def check(:", "SyntaxError"),
        (b"raise OSError('x')", "OSError: x"),
        (b"import os; os._exit(0)", "it exited before it gave a result"),
        (b"import sys; sys.exit(0)", "it exited before it gave a result"),
        (b"import os; os.write(3, b'=[null]\\n'); os._exit(0)", "it left outputs out"),
        (b"import os; os.write(3, b'=nonsense\\n'); os._exit(0)", "its output is not JSON"),
        (b"while True: pass", "it took longer than 0.5 s"),
        (b"def check(payload, output):\n    print('x' * (1 << 21))", "it wrote more than"),
        (b"import os; os.write(3, b'{}\\n')", "it made more requests than it may"),
    ],
)
def test_a_check_that_misbehaves_is_refused(sandbox, check, said):
    limits = SHORT if check == b"while True: pass" else PATIENT
    with raises_code("bad_check", InvalidInput) as caught:
        check_outputs(sandbox, check, ROWS, limits=limits)
    assert said in caught.value.message


def test_a_program_finds_nothing_of_the_tests(sandbox):
    program = build_program(
        "import json, os\nprint(json.dumps(sorted(os.listdir('/job'))))",
        cases=[{"payload": {}, "output": "secret"}],
        check="x = 1",
    )
    listed = run_program(sandbox, program, {}).output
    assert "skill.py" in listed and not any("check" in name or "cases" in name for name in listed)
    assert json.dumps(listed).count("tests") == 0
