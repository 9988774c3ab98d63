"""A wrapped call of an acquired tool is recognised, and nothing else is."""

import pytest

from brain.serve.tools.aliases import find_wrapped_tool
from tests.support.cases import read_cases

CASES = read_cases(__file__)

TOOLS = {"greek_news", "count_words"}


@pytest.mark.parametrize(("arguments", "tool"), CASES["test_a_call_wrapped_in_code_names_its_tool"])
def test_a_call_wrapped_in_code_names_its_tool(arguments, tool):
    assert find_wrapped_tool(arguments, TOOLS) == tool


def test_a_huge_or_endless_text_is_read_in_bounded_time():
    assert find_wrapped_tool({"code": "from " * 200_000}, TOOLS) == ""
    assert find_wrapped_tool({"code": "a/" * 500_000}, TOOLS) == ""
    assert find_wrapped_tool([["x"] * 10_000] * 100, TOOLS) == ""
