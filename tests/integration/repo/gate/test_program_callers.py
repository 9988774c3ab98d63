"""Which programs reach a program by calls."""

import pytest

from brain import Brain
from brain.repo.learning.rounds import find_callers
from brain.running.broker import MAX_CALL_DEPTH


@pytest.fixture
def brain(tmp_path):
    with Brain.init(tmp_path, author="ada") as made:
        yield made


def add(brain: Brain, slug: str, *calls: str, name: str = "") -> None:
    """Add a skill whose program calls others by the names of their tools."""
    code = "from skillapi import call\n" + "".join(f"call({called!r})\n" for called in calls)
    text = f"---\nname: {name or slug}\ndescription: {slug}\n---\nText.\n"
    brain.files.edit(f"skills/{slug}/SKILL.md", lambda _: text.encode())
    brain.files.edit(f"skills/{slug}/skill.py", lambda _: code.encode())


def callers(brain: Brain, *names: str) -> set[str]:
    session = brain._session
    bundle = session.state_of(bytes.fromhex(brain.head))
    return {skill.slug for skill in find_callers(bundle, names)}


def test_a_caller_of_a_caller_is_one(brain):
    add(brain, "count-words")
    add(brain, "sum-words", "count_words")
    add(brain, "report", "sum_words")
    add(brain, "other", "nothing")
    assert callers(brain, "count-words") == {"sum-words", "report"}
    assert callers(brain, "other") == set()


def test_skills_that_call_each_other_end_the_search(brain):
    add(brain, "a", "b", "target")
    add(brain, "b", "a")
    add(brain, "target", "target", "a")
    assert callers(brain, "target") == {"a", "b"}


def test_chains_are_as_long_as_those_of_a_run(brain):
    add(brain, "s0")
    for number in range(1, MAX_CALL_DEPTH + 2):
        add(brain, f"s{number}", f"s{number - 1}")
    assert callers(brain, "s0") == {f"s{number}" for number in range(1, MAX_CALL_DEPTH)}


def test_a_name_is_read_as_a_run_reads_it(brain):
    add(brain, "count", name="Word Counter")
    add(brain, "by-slug", "Count")
    add(brain, "by-name", "word_counter")
    add(brain, "middle", "count", name="Middle Man")
    add(brain, "far", "middle_man")
    assert callers(brain, "count", "word-counter") == {"by-slug", "by-name", "middle", "far"}
    add(brain, "middle-man")  # its slug comes before the name of another one
    assert callers(brain, "count", "word-counter") == {"by-slug", "by-name", "middle"}


def test_changed_code_is_read_again(brain):
    add(brain, "count")
    add(brain, "user", "count")
    assert callers(brain, "count") == {"user"}
    add(brain, "user", "other")
    assert callers(brain, "count") == set()
    brain.files.redact("skills/user/skill.py", reason="a name in it")
    assert callers(brain, "other") == set()
