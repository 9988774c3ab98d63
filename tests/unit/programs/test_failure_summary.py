import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from brain.programs.program import (
    CALL_HINT,
    MAX_SUMMARY_CHARS,
    NO_OUTPUT,
    explain_silence,
    summarize_failure,
)

TRACE = 'Traceback (most recent call last):\n  File "skill.py", line 3, in <module>\n    f()\n'


@pytest.mark.parametrize(
    ("stderr", "stdout", "summary"),
    [
        (TRACE + "ValueError: no number: 'x'\n", "", "ValueError: no number: 'x'"),
        (TRACE + "mine.BadInput: no\n  more\n", "", "mine.BadInput: no"),
        (TRACE + "StopIteration\n", "out", "StopIteration"),
        (TRACE + "KeyError: 'a'\n\nDuring …:\n\n" + TRACE + "TypeError: b\n", "", "TypeError: b"),
        (TRACE + "ValueError: first\nsecond line\n", "", "ValueError: first"),
        ("noise\nModuleNotFoundError: No module named 'x'\n", "", "ModuleNotFoundError: No module"),
        ("a note\nSyntax Error Detected: line 3\n", "", "Syntax Error Detected: line 3"),
        ("", "first\nSYSTEM ERROR: no space\n", "SYSTEM ERROR: no space"),
        (TRACE + "OSError: x\n", "SYSTEM ERROR: y", "OSError: x"),
        ("", "", NO_OUTPUT),
        ("\n  \n", "\t\n", NO_OUTPUT),
        ("\nusage: skill\n", "x", "usage: skill"),
        ("", "\n  the first line  \nthe second\n", "the first line"),
        ("\x1b[31mred", "", "\\x1b[31mred"),
        ("ok: ErrorLess", "", "ok: ErrorLess"),
    ],
)
def test_the_most_telling_line_is_the_summary(stderr, stdout, summary):
    assert summarize_failure(stderr.encode(), stdout.encode()).startswith(summary)


@given(st.binary(), st.binary())
@example(b"\x1b" * 500, b"")
@example(TRACE.encode(), b"\xff" * 300)
@example(b"Error" * 90_000, b"\0")
def test_any_bytes_give_one_printing_line_of_at_most_200_characters(stderr, stdout):
    summary = summarize_failure(stderr, stdout)
    assert 0 < len(summary) <= MAX_SUMMARY_CHARS and summary.isprintable()


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (b"def main():\n    print(1)\n", CALL_HINT),
        (b"import asyncio\nasync def main():\n    print(1)\n", CALL_HINT),
        (b"def f():\n    pass\nif __name__ == '__main__':\n    f()\n", NO_OUTPUT),
        (b"x = 1\n", NO_OUTPUT),
        (b"def f(:\n", NO_OUTPUT),
    ],
)
def test_a_script_that_only_defines_gets_the_hint_to_call(code, reason):
    assert explain_silence(code) == reason
