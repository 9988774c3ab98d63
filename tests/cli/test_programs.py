"""The commands for skills that run: exit statuses, attempts and approvals."""

from pathlib import Path

from tests.support.acquired import COUNT_WORDS, creation

PICKY = COUNT_WORDS.replace(
    "print(",
    'if payload["text"] == "no":\n    sys.exit("no is refused")\n'
    'if payload["text"] == "crash":\n    raise ValueError("crashed")\nprint(',
)


def test_a_run_says_by_its_status_what_became_of_it(cli, agent):
    Path("code.py").write_text(PICKY)
    Path("check.py").write_text(creation("words")["check"])
    made = ["evolve", "acquire", "words", "--code", "code.py", "--payload", '{"text": "a b"}']
    rejected = cli(*made, "-d", "Words")
    assert rejected.status == 13 and "the tests prove nothing" in rejected.out
    (attempt,) = cli("evolve", "attempts", "--json").document["attempts"]
    assert "skill.py" in cli("evolve", "attempts", attempt["attempt"]).out
    assert cli(*made, "--check", "check.py", "-d", "Words").status == 0
    assert cli("skill", "run", "words", '{"text": "a b c"}').out == '{"words": 3}\n'
    assert cli("skill", "run", "words", '{"text": "no"}').status == 14
    crashed = cli("skill", "run", "words", '{"text": "crash"}')
    assert crashed.status == 15 and "ValueError: crashed" in crashed.err
    Path("../logs").mkdir()
    allowed = cli("evolve", "allow", "words", "--read", "../logs", "--host", "Api.Example.org")
    assert "may reach api.example.org" in allowed.out
    assert cli("evolve", "allow", "words", "--host", "https://x/y").status == 1
    assert "may reach nothing" in cli("evolve", "allow", "words", "--remove").out
    with Path("skills/words/skill.py").open("a") as file:
        file.write("# edited\n")
    edited = cli("skill", "run", "words", '{"text": "a"}')
    assert edited.status == 13 and "brain evolve admit words" in edited.err
    assert cli("evolve", "admit", "--all").status == 0
    assert cli("skill", "run", "words", '{"text": "a"}').status == 0


def test_a_skill_called_as_a_built_in_tool_is_refused(cli, agent):
    Path("program").mkdir()
    Path("program/skill.py").write_text(COUNT_WORDS)
    refused = cli("evolve", "acquire", "memory", "-f", "program", "-d", "Words")
    assert refused.status == 1 and "is taken by a tool" in refused.err
