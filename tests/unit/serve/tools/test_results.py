"""Results and failures are bounded; each bound is reached and never passed."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from brain.errors import BrainError, InvalidInput, ToolFailure, VerificationFailed
from brain.results import Notice, Selected, Selection, Skill
from brain.serve.tools import history_tools, memory_tool, skill_read, tool_errors
from brain.serve.tools.tool import notice_line, text_schema
from brain.util.utc_time import utc_time


def test_a_patch_is_cut_after_its_limit():
    whole = ["x" * 59_999, "y"]
    assert history_tools._patch_text(whole) == "".join(whole)
    cut = history_tools._patch_text([*whole, "zz", "z"])
    assert cut == "".join(whole) + "\n(cut after 60000 characters)\n"
    assert history_tools._patch_text(["x" * 60_001]) == cut.replace("y", "x")


def test_a_file_is_cut_after_its_limit():
    assert skill_read.text_for_model(b"x" * 200_000) == "x" * 200_000
    cut = skill_read.text_for_model(b"x" * 200_001)
    assert cut == "x" * 199_940 + "\n(cut: 199940 of 200001 characters)"
    assert skill_read.text_for_model(b"\xef\xbb\xbfx", 1) == "x"


def test_two_hundred_files_are_named():
    names = [f"{number}.md" for number in range(201)]
    assert skill_read._file_list([]) == ""
    assert skill_read._file_list(names[:200]).endswith(", 198.md, 199.md")
    assert skill_read._file_list(names).endswith(", 199.md (200 of 201 files)")


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
    assert skill_read._truncate_description(description, 400) == shown


def skill(path: str) -> Skill:
    return Skill("a", "a", "Do a", 1, path, "a")


def test_two_hundred_categories_are_named():
    skills = [skill(f"skills/c{number:03}/a.md") for number in range(201)]
    assert skill_read._category_names([skill("skills/a.md"), *skills]).startswith("c000, c001, ")
    assert skill_read._category_names(skills).endswith(", c199")
    assert skill_read._category_names([skill("skills/a.md")]) == "none"


class RankingBrain:
    """A brain whose skills of the category `x` all fit a task."""

    def __init__(self) -> None:
        self.limits: list[int] = []
        self.skills = self

    def rank(self, task: str, limit: int) -> Selection:
        self.limits.append(limit)
        found = [Selected("a", "a", "Do a", f"skills/x/{n}.md", 1.0, "a") for n in range(30)]
        return Selection(found, "words", None)


def test_for_a_task_twenty_skills_are_listed_of_those_that_rank_first():
    brain: Any = RankingBrain()
    for given in ({}, {"category": " X/ "}):
        answer = skill_read.skills_list(brain, {"task": "t", **given})
        assert answer.data["count"] == len(answer.data["skills"]) == 20
        assert not answer.changed
    assert brain.limits == [20, 200]


def test_a_line_of_the_log_shows_when_and_by_whom_and_what():
    info: Any = SimpleNamespace(
        snapshot="ab" * 32, time=utc_time(1_700_000_000_999), author="x" * 81,
        message="y" * 301, bundle="", parents=[], operation={"kind": "snapshot"},
    )  # fmt: skip
    line = history_tools._snapshot_line(info)
    assert line.endswith(f"  2023-11-14T22:13:20Z  {'x' * 80}…  {'y' * 300}…")
    data = history_tools._snapshot_data(info)
    assert data["time"] == "2023-11-14T22:13:20Z" and data["message"] == "y" * 300


def test_a_notice_is_one_bounded_line():
    assert notice_line(Notice("odd", "a.md", "x" * 300)) == f"Note: a.md: {'x' * 300}"
    assert notice_line(Notice("odd", "", "x" * 301)) == f"Note: {'x' * 300}…"


def test_a_text_without_a_least_length_states_none():
    assert text_schema("", 8) == {"type": "string", "description": "", "maxLength": 8}
    assert text_schema("", 8, 1)["minLength"] == 1


def test_a_failure_is_cut_after_its_limit():
    for at_limit, cut in (("x" * 6000, "x" * 6000), ("x" * 6001, "x" * 6000 + " …")):
        failure = tool_errors.sanitize_failure(ToolFailure(at_limit, code="odd", hint=at_limit))
        assert (failure.message, failure.hint, failure.code) == (cut, cut, "odd")


def test_a_failure_keeps_the_code_and_the_exit_status_of_its_error():
    error = VerificationFailed("it is wrong", code="odd", hint="look there, e.g. here")
    failure = tool_errors.to_tool_failure(error, Path("/x"))
    assert failure.text == "It is wrong.\nLook there, e.g. here."
    assert (failure.code, failure.exit_status) == ("odd", 3)
    assert tool_errors.sanitize_failure(failure).exit_status == 3
    assert tool_errors.to_tool_failure(failure, Path("/x")) is failure


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
    assert tool_errors.to_tool_failure(BrainError(message), Path("/x")).text == text


@pytest.mark.parametrize(
    ("code", "hint", "shown"),
    [
        ("no_skill", "run `brain skill list`", "See skills_list."),
        ("no_skill", "did you mean a?", "Did you mean a?"),
        ("odd", "run `brain x`", ""),
    ],
)
def test_a_hint_names_no_command(code, hint, shown):
    failure = tool_errors.to_tool_failure(BrainError("odd", code=code, hint=hint), Path("/x"))
    assert failure.hint == shown


@pytest.mark.parametrize("home", ["/", ""])
def test_a_home_that_is_the_root_hides_no_text(monkeypatch, home):
    monkeypatch.setenv("HOME", home)
    assert tool_errors.hide_paths("see a / b", Path("/x")) == "see a / b"


def test_the_home_of_the_user_is_hidden(monkeypatch):
    monkeypatch.setenv("HOME", "/u")
    assert tool_errors.hide_paths("at /u now", Path("/x")) == "at … now"


def test_a_failure_about_entries_is_a_sentence_with_a_hint_in_lines():
    full = InvalidInput("it is full", code="memory_full", hint="entries:\n1. a")
    assert memory_tool._tool_failure(full).message == "It is full."
    assert memory_tool._tool_failure(full).hint == "Entries:\n1. a"
    bad = InvalidInput("content is odd", code="bad_arguments")
    assert memory_tool._tool_failure(bad).message == "content is odd."
    other = InvalidInput("it is odd", code="odd")
    assert memory_tool._tool_failure(other) is other
