"""A wrapped call of an acquired tool is recognised, and nothing else is."""

from __future__ import annotations

import pytest

from brain.serve.tools.invocation_hint import find_wrapped_tool

TOOLS = {"greek_news", "count_words"}


@pytest.mark.parametrize(
    ("arguments", "tool"),
    [
        ({"code": "from greek_news import greek_news\nprint(greek_news(5))"}, "greek_news"),
        ({"code": "from acquired.greek_news import greek_news"}, "greek_news"),
        ({"code": "from greek_news import main; main()"}, "greek_news"),
        ({"command": "python3 acquired_skills/greek_news.py '{}'"}, "greek_news"),
        ({"command": ["python3", "skills/count-words/skill.py"]}, "count_words"),
        ({"command": "python3 -m count_words '{}'"}, "count_words"),
        ({"steps": [{"run": "import count_words"}]}, "count_words"),
        ('{"code": "from greek_news import greek_news"}', "greek_news"),
        ({"code": "from greek_news import headlines"}, ""),
        ({"code": "from news import greek_news"}, ""),
        ({"code": "from json import loads\nimport sys"}, ""),
        ({"command": "python3 run.py"}, ""),
        ({"command": "ls skills/count-words"}, ""),
        ({"text": "count_words counts words"}, ""),
        ({"code": 7, "more": None}, ""),
        (None, ""),
    ],
)
def test_a_call_wrapped_in_code_names_its_tool(arguments: object, tool: str) -> None:
    assert find_wrapped_tool(arguments, TOOLS) == tool


def test_a_huge_or_endless_text_is_read_in_bounded_time() -> None:
    assert find_wrapped_tool({"code": "from " * 200_000}, TOOLS) == ""
    assert find_wrapped_tool({"code": "a/" * 500_000}, TOOLS) == ""
    assert find_wrapped_tool([["x"] * 10_000] * 100, TOOLS) == ""
