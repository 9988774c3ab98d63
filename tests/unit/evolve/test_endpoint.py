"""Models behind HTTP: a real endpoint on the loopback device, through pydantic-ai."""

import asyncio
import gzip
import json
import threading
from functools import partial
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai.models import Model
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from brain.errors import ModelError
from brain.models import open_endpoint
from brain.models.ask import ask, ask_text
from brain.models.calls import AskLimits, Bill, UnfitAnswer
from brain.models.config import ModelConfig, parse_model_config
from brain.models.endpoint import MAX_RESPONSE_BYTES, EndpointModel
from brain.models.paid_once import PaidModel
from tests.support.fake_model_endpoint import (
    FakeEndpoint,
    FakeReply,
    completion_reply,
    error_reply,
    run_fake_endpoint,
)
from tests.support.processes import TIMEOUT_SECONDS
from tests.support.refusals import raises_code

KEY = "local-key-4711"
LIMITS = AskLimits(requests=4, max_tokens=500)


class Answer(BaseModel):
    """Give the answer."""

    decision: str = ""


def decide(model: Model, **more: Any) -> tuple[str, int, int, int]:
    """Return the decision of a model, and what it cost."""
    bill = Bill()
    metered = PaidModel(model, [bill.meter])
    told = ask(metered, Answer, check, system="You decide.", prompt="One?", limits=LIMITS, **more)
    return told, *bill.total


def check(answer: Answer) -> str:
    if answer.decision == "x":
        raise UnfitAnswer("x is none", "Two?")
    return answer.decision


say = partial(ask_text, system="You decide.", prompt="One?", max_tokens=500)


@pytest.fixture
def served():
    with run_fake_endpoint() as made:
        yield made


def settings(served: FakeEndpoint, **more: object) -> ModelConfig:
    return parse_model_config(
        {"model": "openai:small", "base_url": served.url, "timeout": 20, **more}
    )


def endpoint(served: FakeEndpoint, **more: object) -> tuple[EndpointModel, list[float]]:
    """Return a model, and the list of the waits between its attempts."""
    waits: list[float] = []

    async def wait(seconds: float) -> None:
        waits.append(seconds)

    return EndpointModel(settings(served, **more), KEY, wait), waits


def refused(served: FakeEndpoint, **more: object) -> ModelError:
    with pytest.raises(ModelError) as caught:
        say(endpoint(served, **more)[0])
    assert KEY not in caught.value.message + caught.value.hint
    return caught.value


def test_a_conversation_is_asked_and_answered(served):
    served.replies += [completion_reply(tool=f'{{"decision": "{said}"}}') for said in ("x", "y")]
    assert decide(open_endpoint(settings(served), KEY)) == ("y", 2, 240, 60)
    first, second = served.asked
    assert first.path == "/v1/chat/completions"
    assert first.headers["authorization"] == f"Bearer {KEY}"
    assert first.body["model"] == "small"
    sent = [(one["role"], one.get("content") or "call") for one in second.body["messages"]]
    asked = [("system", "You decide."), ("user", "One?"), ("assistant", "call"), ("tool", "Two?")]
    assert sent == asked
    (tool,) = first.body["tools"]
    assert tool["function"]["name"] == "answer"
    assert tool["function"]["parameters"]["properties"]["decision"]["type"] == "string"
    assert first.body.get("max_completion_tokens", first.body.get("max_tokens")) == 500


def test_an_answer_in_plain_text_counts_too(served):
    served.replies.append(completion_reply('```json\n{"decision": "nothing"}\n```'))
    assert decide(endpoint(served)[0])[0] == "nothing"


def test_any_model_of_the_library_can_be_asked_again_and_again(served):
    served.replies += [*[completion_reply('{"decision": "y"}')] * 2, error_reply(401, "no")]
    model = OpenAIChatModel("m", provider=OpenAIProvider(base_url=served.url, api_key=KEY))
    assert [decide(model)[0], decide(model)[0]] == ["y", "y"]
    with raises_code("key_refused", ModelError):
        say(model)


def test_it_can_be_asked_where_a_loop_of_asyncio_runs(served):
    served.replies += [completion_reply("one"), error_reply(401, "no")]

    async def within() -> None:
        assert say(endpoint(served)[0]) == "one"
        with pytest.raises(ModelError):
            say(endpoint(served)[0])

    asyncio.run(within())


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, "rejected"),
        (401, "key_refused"),
        (403, "key_refused"),
        (404, "no_such_model"),
        (413, "rejected"),
        (422, "rejected"),
    ],
)
def test_a_refusal_is_a_typed_error_and_not_tried_again(served, status, code):
    served.replies.append(error_reply(status, f"bad key {KEY} \x1b[31m\u202e of yours"))
    error = refused(served)
    assert error.code == code and f"status {status}" in error.message
    assert error.message.isprintable()
    assert len(served.asked) == 1


@pytest.mark.parametrize(("status", "code"), [(429, "rate_limited"), (500, "unavailable")])
def test_what_may_pass_is_tried_again_a_few_times(served, status, code):
    served.replies += [error_reply(status, "busy")] * 3
    model, waits = endpoint(served)
    with raises_code(code, ModelError):
        say(model)
    assert len(served.asked) == 3 and waits == [1, 2]


def test_what_may_be_paid_is_not_asked_for_again(served):
    served.replies += [FakeReply(body=b'{"id"', headers=(("content-length", "999"),))] * 3
    bill = Bill()
    with raises_code("unreachable", ModelError):
        say(PaidModel(endpoint(served)[0], [bill.meter]))
    assert len(served.asked) == bill.requests == 1


def test_it_waits_as_long_as_the_endpoint_says(served):
    served.replies += [error_reply(429, "busy", ("retry-after", "7")), completion_reply("one")]
    model, waits = endpoint(served)
    assert say(model) == "one"
    assert waits == [7]


def test_it_does_not_wait_for_an_hour(served):
    served.replies.append(error_reply(429, "busy", ("retry-after", "3600")))
    assert refused(served).code == "rate_limited"
    assert len(served.asked) == 1


def test_a_used_up_quota_is_not_waited_for(served):
    body = {"error": {"message": "pay", "code": "insufficient_quota", "type": "x"}}
    served.replies.append(FakeReply(429, json.dumps(body).encode()))
    assert refused(served).code == "quota"


def test_nobody_there_is_an_error():
    with run_fake_endpoint() as other:
        pass
    assert refused(other, retries=1).code == "unreachable"


def test_an_endpoint_that_never_answers_is_left(served):
    over = threading.Event()

    def silent() -> FakeReply:
        over.wait(TIMEOUT_SECONDS)
        return completion_reply("late")

    served.replies.append(silent)
    error = refused(served, timeout=1)
    over.set()
    assert error.code == "model_timeout" and len(served.asked) <= 1


def test_an_endless_body_is_left(served):
    served.replies.append(FakeReply(body=b" " * (1 << 16), endless=True))
    error = refused(served, retries=0)
    assert error.code == "answer_too_large" and str(MAX_RESPONSE_BYTES) in error.message


def test_a_packed_body_is_refused(served):
    packed = gzip.compress(b" " * (64 << 20))
    served.replies.append(FakeReply(body=packed, headers=(("content-encoding", "gzip"),)))
    assert refused(served, retries=0).code == "answer_too_large"
    assert served.asked[0].headers["accept-encoding"] == "identity"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not JSON",
        b'{"id": "x"',
        b"[]",
        b"{}",
        b'{"choices": []}',
        b'{"choices": "none"}',
        b'{"choices": [{"message": {"role": "assistant", "content": 7}}]}',
        b"[" * 100_000,
        b"\xff\xfe",
        b"<html>",
    ],
    ids=lambda body: body[:12].decode("ascii", "replace"),
)
def test_what_is_no_answer_of_the_protocol_is_a_typed_error(served, body):
    served.replies.append(FakeReply(body=body))
    assert refused(served, retries=0).code == "bad_answer"


def test_an_answer_that_was_cut_off_is_none(served):
    message = {"role": "assistant", "content": '{"decision": "cre'}
    choices = [{"index": 0, "message": message, "finish_reason": "length"}]
    served.replies.append(completion_reply(choices=choices))
    assert refused(served).code == "answer_cut"


def test_the_key_follows_no_redirect(served):
    with run_fake_endpoint() as other:
        served.replies.append(FakeReply(307, b"", (("location", other.url + "/chat/completions"),)))
        refused(served, retries=0)
        assert other.asked == []


def test_a_proxy_of_the_environment_sees_nothing_of_what_is_on_this_machine(served, monkeypatch):
    with run_fake_endpoint() as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("ALL_PROXY", proxy.url)
        served.replies.append(completion_reply("one"))
        assert say(endpoint(served)[0]) == "one"
        assert proxy.asked == []


def test_the_protocol_of_anthropic_is_spoken_too(served):
    content = [{"type": "tool_use", "id": "t", "name": "answer", "input": {"decision": "nothing"}}]
    document = {
        "id": "m-1",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": content,
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 5, "output_tokens": 6},
    }
    served.replies.append(FakeReply(body=json.dumps(document).encode()))
    url = served.url.removesuffix("/v1")
    config = parse_model_config({"model": "anthropic:claude", "base_url": url})
    assert decide(open_endpoint(config, KEY)) == ("nothing", 1, 5, 6)
    (request,) = served.asked
    assert request.path == "/v1/messages"
    assert KEY in request.headers.get("x-api-key", "") + request.headers.get("authorization", "")
    assert request.body["max_tokens"] == 500


def test_the_protocol_of_bedrock_is_spoken_too(served, monkeypatch):
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "id")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    content = [{"toolUse": {"toolUseId": "t", "name": "answer", "input": {"decision": "nothing"}}}]
    document = {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": "tool_use",
        "usage": {"inputTokens": 5, "outputTokens": 6, "totalTokens": 11},
        "metrics": {"latencyMs": 1},
    }
    served.replies.append(FakeReply(body=json.dumps(document).encode()))
    url = served.url.removesuffix("/v1")
    model = open_endpoint(
        parse_model_config({"model": "bedrock:amazon.nova-lite-v1:0", "base_url": url}), ""
    )
    assert decide(model) == ("nothing", 1, 5, 6)
    (request,) = served.asked
    assert request.path.startswith("/model/")
    assert request.headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=id/")


def test_bedrock_without_a_region_says_so(monkeypatch):
    for name in ("AWS_DEFAULT_REGION", "AWS_REGION", "AWS_PROFILE", "AWS_CONFIG_FILE"):
        monkeypatch.delenv(name, raising=False)
    with raises_code("bad_model", ModelError, match="region"):
        say(open_endpoint(parse_model_config({"model": "bedrock:x", "retries": 0}), ""))


def test_calls_of_tools_and_their_results_go_over_the_wire(served):
    async def skills_list() -> str:
        """List all."""
        return "> a: b"

    model = open_endpoint(settings(served, tool_rounds=4), KEY)
    assert (model.tool_rounds, open_endpoint(settings(served), KEY).tool_rounds) == (4, 0)
    done = completion_reply('{"decision": "done"}')
    served.replies += [_call_reply("skills_list", "{}"), done]
    assert decide(model, tools=[skills_list])[0] == "done"
    sent = served.asked[1].body
    assert {tool["function"]["name"] for tool in sent["tools"]} == {"skills_list", "answer"}
    roles = [message["role"] for message in sent["messages"]]
    assert roles == ["system", "user", "assistant", "tool"]
    assert sent["messages"][3]["content"] == "> a: b"


def _call_reply(name: str, arguments: str) -> FakeReply:
    """Return an answer that calls a tool."""
    document = json.loads(completion_reply().body)
    function = {"name": name, "arguments": arguments}
    calls = [{"id": "call-7", "type": "function", "function": function}]
    document["choices"][0]["message"]["tool_calls"] = calls
    return FakeReply(body=json.dumps(document).encode())
