"""Answers of models as text."""

import pytest
from pydantic import BaseModel

from brain.errors import ModelError
from brain.models.ask import ask
from brain.models.calls import MAX_MODEL_ANSWER_BYTES, AskLimits
from tests.support.scripted_model import FakeModel


class Form(BaseModel):
    """The answer."""

    decision: str
    body: str = ""


def parse(text: str) -> dict[str, str]:
    limits = AskLimits(answers=1, requests=1)
    return ask(FakeModel(text), Form, Form.model_dump, system="", prompt="?", limits=limits)


ANSWER = '{"decision": "nothing", "body": "```"}'


@pytest.mark.parametrize(
    "text",
    [
        ANSWER,
        f"\n {ANSWER}\t\n",
        f"```json\n{ANSWER}\n```",
        f"```\n{ANSWER}\n```",
        f"\n\n  ```json \r\n\r\n{ANSWER}\r\n  \r\n ``` \n\n",
    ],
)
def test_a_fence_around_an_answer_is_no_part_of_it(text):
    assert parse(text) == {"decision": "nothing", "body": "```"}


@pytest.mark.parametrize(
    "text",
    [
        f"```{ANSWER}```",
        f"```yaml\n{ANSWER}\n```",
        f"```json\n{ANSWER}",
        f"{ANSWER}\n```",
        f"Here it is:\n```json\n{ANSWER}\n```",
        "```",
        "",
    ],
)
def test_what_is_not_wholly_in_a_fence_is_no_answer(text):
    with pytest.raises(ModelError):
        parse(text)


@pytest.mark.parametrize("blank", ["\n", " ", "\n \n```"])
def test_blank_lines_take_no_longer_than_others(blank):
    """An expression that tries every way to share them out would not end."""
    with pytest.raises(ModelError):
        parse("```json\n" + blank * ((MAX_MODEL_ANSWER_BYTES - 9) // len(blank)) + "x")
