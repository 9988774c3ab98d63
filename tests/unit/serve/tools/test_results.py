"""Results and failures are bounded; each bound is reached and never passed."""

from pathlib import Path

import pytest

from brain.errors import BrainError, InvalidInput, ToolFailure, VerificationFailed
from brain.results import Notice, Skill
from brain.serve.tools import checks, memory_tool, skills
from brain.serve.tools.definitions import notice_line


@pytest.mark.parametrize(
    ("description", "shown"),
    [
        ("w" * 400, "w" * 400),
        ("w" * 401, "w" * 400 + "…"),
        ("w" * 399 + " w", "w" * 399 + "…"),
        ("w" * 400 + " w", "w" * 400 + "…"),
        ("w" * 300 + " " + "w" * 100, "w" * 300 + "…"),
    ],
)
def test_a_description_is_cut_after_a_word(description, shown):
    assert skills._truncate_description(description, 400) == shown


def skill(path: str) -> Skill:
    return Skill("a", "a", "Do a", 1, path, "a")


def test_a_notice_is_one_bounded_line():
    assert notice_line(Notice("odd", "a.md", "x" * 300)) == f"Note: a.md: {'x' * 300}"
    assert notice_line(Notice("odd", "", "x" * 301)) == f"Note: {'x' * 300}…"


def test_a_failure_is_cut_after_its_limit():
    for at_limit, cut in (("x" * 6000, "x" * 6000), ("x" * 6001, "x" * 6000 + " …")):
        failure = checks.sanitize_failure(ToolFailure(at_limit, code="odd", hint=at_limit))
        assert (failure.message, failure.hint, failure.code) == (cut, cut, "odd")


def test_a_failure_keeps_the_code_and_the_exit_status_of_its_error():
    error = VerificationFailed("it is wrong", code="odd", hint="look there, e.g. here")
    failure = checks.to_tool_failure(error, Path("/x"))
    assert failure.text == "It is wrong.\nLook there, e.g. here."
    assert (failure.code, failure.exit_status) == ("odd", 3)
    assert checks.sanitize_failure(failure).exit_status == 3
    assert checks.to_tool_failure(failure, Path("/x")) is failure


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("is it?", "Is it?"),
        ("Do!", "Do!"),
        ("`x` is odd", "`x` is odd."),
        ("v1 is odd", "v1 is odd."),
    ],
)
def test_a_failure_is_a_sentence(message, text):
    assert checks.to_tool_failure(BrainError(message), Path("/x")).text == text


@pytest.mark.parametrize(
    ("code", "hint", "shown"),
    [
        ("no_skill", "run `brain skill list`", "See skills_list."),
        ("no_skill", "did you mean a?", "Did you mean a?"),
        ("odd", "run `brain x`", ""),
    ],
)
def test_a_hint_names_no_command(code, hint, shown):
    failure = checks.to_tool_failure(BrainError("odd", code=code, hint=hint), Path("/x"))
    assert failure.hint == shown


@pytest.mark.parametrize("home", ["/", ""])
def test_a_home_that_is_the_root_hides_no_text(monkeypatch, home):
    monkeypatch.setenv("HOME", home)
    assert checks.hide_paths("see a / b", Path("/x")) == "see a / b"


def test_the_home_of_the_user_is_hidden(monkeypatch):
    monkeypatch.setenv("HOME", "/u")
    assert checks.hide_paths("at /u now", Path("/x")) == "at … now"


def test_a_failure_about_entries_is_a_sentence_with_a_hint_in_lines():
    full = InvalidInput("it is full", code="memory_full", hint="entries:\n1. a")
    assert memory_tool._tool_failure(full).message == "It is full."
    assert memory_tool._tool_failure(full).hint == "Entries:\n1. a"
    bad = InvalidInput("content is odd", code="bad_arguments")
    assert memory_tool._tool_failure(bad).message == "content is odd."
    other = InvalidInput("it is odd", code="odd")
    assert memory_tool._tool_failure(other) is other
