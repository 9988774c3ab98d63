"""Answers of models as text."""

import pytest
from pydantic import BaseModel

from brain.errors import ModelError
from brain.models.ask import ask, work
from brain.models.calls import MAX_MODEL_ANSWER_BYTES, AskLimits, Bill
from brain.models.paid_once import PaidModel
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


def test_a_long_conversation_goes_on_with_a_summary_of_its_own():
    calls = [("look", {"place": f"place {at}"}) for at in range(40)]
    model = FakeModel(*calls[:30], "I saw 20 places.", *calls[30:], "Done")

    async def look(place: str) -> str:
        return f"seen {place}"

    bill = Bill()
    limits = AskLimits(requests=42)
    paid = PaidModel(model, [bill.meter])
    assert work(paid, system="Look.", prompt="Where?", tools=[look], limits=limits) == "Done"
    assert len(model.requests) == bill.requests == 42
    asked = model.requests[30]
    assert asked.tools == () and asked.system.startswith("Summarise")
    assert "seen place 0" in asked.messages[-1].text and "place 20" not in asked.messages[-1].text
    for at, last in ((31, 29), (32, 30), (41, 39)):
        texts = [one.text for one in model.requests[at].messages]
        assert texts[0].startswith("Where?") and "I saw 20 places." in "".join(texts[:2])
        assert [text for text in texts if text.startswith("seen")] == [
            f"seen place {number}" for number in range(20, last + 1)
        ]
        assert sum("place" in text and text.startswith("{") for text in texts) == last - 19
    with pytest.raises(ModelError, match="did not come to an end"):  # a summary is a request, too
        again = FakeModel(*calls[:30], "I saw 20 places.", *calls[30:], "Done")
        work(again, system="", prompt="?", tools=[look], limits=AskLimits(requests=41))
