"""What the code of a program calls, read without running it."""

import pytest

from brain.programs.python_code import find_called_names


@pytest.mark.parametrize(
    ("code", "called"),
    [
        ("from skillapi import call\ncall('count_words', text='a')\n", {"count_words"}),
        ("import skillapi\nskillapi.call('Count_Words')\n", {"Count_Words"}),
        ("from skillapi import call\ncall('a_b')\ncall('c')\nprint('d')\n", {"a_b", "c"}),
        ("print('count_words')\n", set()),
        ("# call('count_words')\nprint({'count_words': 1})\n", set()),
        ("from skillapi import call\ncall('count' '_words')\n", {"count_words"}),
    ],
)
def test_the_names_in_calls_are_what_is_called(code, called):
    assert find_called_names(code.encode()) == called


@pytest.mark.parametrize(
    "code",
    [
        "from skillapi import call as ask\nask('count_words')\n",
        "from skillapi import call\nfor name in ('count_words', 'b'):\n    call(name)\n",
        "from skillapi import call\nask = call\nask('count_words')\n",
        "from skillapi import call\nfor name in 'count_words b'.split():\n    call(name)\n",
        "from skillapi import call\ncall(*['count_words'])\n",
        "from skillapi import call\ncall('count_words'\n",
    ],
)
def test_a_call_that_takes_its_name_from_elsewhere_may_mean_any_text(code):
    assert "count_words" in find_called_names(code.encode())
