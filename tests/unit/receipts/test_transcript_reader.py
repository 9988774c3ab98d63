"""Transcripts, and which skills they load."""

import json
import random
from typing import Any

import pytest

from brain import limits
from brain.digest import blob_id
from brain.errors import BrainError, FormatError, InvalidInput
from brain.receipts import Receipt, budget, decode_receipt, encode_receipt
from brain.receipts.transcripts import (
    TRANSCRIPT_FORMATS,
    builder,
    read_transcript,
    read_transcripts,
    skill_loads,
)
from tests.support.agent_transcripts import (
    EXAMPLE_RUN,
    FORMAT_OF_WRITER,
    TRANSCRIPT_WRITERS,
    AgentRun,
    ModelTurn,
    ToolCall,
    claude_transcript,
    codex_transcript,
    gemini_transcript,
    hermes_transcript,
    json_lines,
    openai_transcript,
    opencode_transcript,
)
from tests.support.cases import read_cases
from tests.support.refusals import raises_code

KEY = "sk-proj-aB3dE5gH7jK9mN1pQ3sT5vW7yZ"


def source(receipt: Receipt) -> tuple[str, int]:
    assert receipt.source is not None
    return receipt.source.format, receipt.source.unknown


def assistant(*content: Any, id: str = "m", **more: Any) -> Any:
    message = {"id": id, "role": "assistant", "model": "m-1", "content": list(content)}
    return {"type": "assistant", "sessionId": "s", "message": message, **more}


def user(content: Any, **more: Any) -> Any:
    message = {"role": "user", "content": content}
    return {"type": "user", "sessionId": "s", "message": message, **more}


def tool_use(id: str, name: str = "Bash") -> Any:
    return {"type": "tool_use", "id": id, "name": name, "input": {}}


def tool_result(id: str, words: str = "x") -> Any:
    return {"type": "tool_result", "tool_use_id": id, "content": words}


@pytest.mark.parametrize("form", TRANSCRIPT_WRITERS)
def test_the_source_is_named_with_its_digest_and_records(form):
    data = TRANSCRIPT_WRITERS[form](EXAMPLE_RUN)
    found = read_transcript(data).source
    assert found is not None
    assert (found.format, found.digest) == (FORMAT_OF_WRITER.get(form, form), blob_id(data))
    assert found.records > 0 and found.unknown == 0


def test_records_that_are_not_understood_are_counted():
    odd = json_lines([{"type": "from-the-future", "sessionId": "s"}, {"sessionId": "s"}])
    assert source(read_transcript(claude_transcript(EXAMPLE_RUN) + odd + b"no json\n")) == (
        "claude",
        3,
    )
    assert source(
        read_transcript(codex_transcript(EXAMPLE_RUN) + json_lines([{"type": "new"}, [1]]))
    ) == ("codex", 2)
    chat = json.loads(openai_transcript(EXAMPLE_RUN))["messages"]
    assert source(read_transcript(json_lines([*chat, {"role": "oracle", "content": "?"}]))) == (
        "openai",
        1,
    )


def test_a_last_line_that_was_cut_off_is_counted():
    whole = claude_transcript(EXAMPLE_RUN)
    cut = read_transcript(whole[:-30])
    assert source(cut) == ("claude", 1)
    assert cut.steps == read_transcript(whole).steps


@pytest.mark.parametrize("form", TRANSCRIPT_WRITERS)
def test_secrets_are_not_kept(form):
    call = ToolCall("bash", {"cmd": f"export KEY={KEY}"}, f"KEY={KEY}", 1)
    tale = AgentRun(f"Use {KEY}", (ModelTurn(f"I use {KEY}", (call,)), ModelTurn(f"Used {KEY}")))
    data = encode_receipt(read_transcript(TRANSCRIPT_WRITERS[form](tale)))
    assert KEY.encode() not in data and b"[redacted: " in data


def test_the_environment_and_instructions_of_the_program_are_not_kept():
    for teller in (claude_transcript, codex_transcript):
        data = encode_receipt(read_transcript(teller(EXAMPLE_RUN)))
        assert b"/home/me" not in data and b"You are Codex" not in data and b"Hm." not in data


def test_calls_in_parallel_belong_to_one_answer():
    receipt = read_transcript(
        json_lines(
            [
                user("Go"),
                assistant({"type": "text", "text": "Both."}, id="m1"),
                assistant(tool_use("a"), id="m1"),
                user([tool_result("a", "A")]),
                assistant(tool_use("b"), id="m1"),
                user([tool_result("b", "B")]),
                assistant({"type": "text", "text": "Done."}, id="m2"),
            ]
        )
    )
    kinds = [(step.kind, step.output and step.output.excerpt) for step in receipt.steps]
    assert kinds == [("llm", "Both."), ("tool", "A"), ("tool", "B"), ("llm", "Done.")]
    assert receipt.steps[0].input is not None and receipt.steps[0].input.excerpt == "Go"


def test_how_a_session_of_claude_code_ended():
    begun = [user("Go"), assistant(tool_use("a"))]
    stopped = read_transcript(
        json_lines([*begun, user([{"type": "text", "text": "[Request interrupted by user]"}])])
    )
    assert stopped.outcome == "cancelled"
    failed = assistant({"type": "text", "text": "API Error"}, isApiErrorMessage=True)
    broken = read_transcript(json_lines([*begun, failed]))
    assert (broken.outcome, broken.reason) == ("failure", "API Error")
    assert read_transcript(json_lines(begun)).outcome == "unknown"


def test_how_a_session_of_codex_ended():
    def after(payload: Any) -> Receipt:
        return read_transcript(
            codex_transcript(EXAMPLE_RUN) + json_lines([{"type": "event_msg", "payload": payload}])
        )

    assert after({"type": "turn_aborted", "reason": "interrupted"}).outcome == "cancelled"
    failed = after({"type": "task_complete", "error": {"message": "no network"}})
    assert (failed.outcome, failed.reason) == ("failure", "no network")


def test_older_records_of_codex_are_read():
    usage = {"type": "token_count", "info": {"last_token_usage": {"input_tokens": 7}}}
    old = [one for one in codex_transcript(EXAMPLE_RUN).splitlines() if b"token_usage" not in one]
    receipt = read_transcript(
        b"\n".join(old) + b"\n" + json_lines([{"type": "event_msg", "payload": usage}])
    )
    assert [s.tokens_in for s in receipt.steps if s.kind == "llm"] == [
        0,
        110,
        130,
        7,
    ] or receipt.steps
    assert receipt._replace(source=None, steps=()) == read_transcript(
        codex_transcript(EXAMPLE_RUN)
    )._replace(source=None, steps=())


def test_a_chat_in_the_old_style_of_functions_is_read():
    receipt = read_transcript(
        json_lines(
            [
                {"role": "user", "content": [{"type": "text", "text": "Go"}]},
                {"role": "assistant", "function_call": {"name": "ls", "arguments": "{}"}},
                {"role": "function", "name": "ls", "content": "a"},
                {"role": "assistant", "content": "Done"},
            ]
        )
    )
    assert [step.kind for step in receipt.steps] == ["llm", "tool", "llm"]
    assert receipt.outcome == "success"


def test_an_answer_of_chat_completions_says_what_it_took():
    message = {"role": "assistant", "content": "Hi"}
    answer = {
        "id": "c1", "object": "chat.completion", "created": 1_790_000_000, "model": "m-1",
        "choices": [{"message": message, "finish_reason": "length"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 2},
    }  # fmt: skip
    receipt = read_transcript(
        json.dumps({"messages": [{"role": "user", "content": "Go"}], **answer}).encode()
    )
    assert (receipt.run, receipt.outcome, receipt.reason) == ("c1", "failure", "length")
    assert (receipt.steps[0].tokens_in, receipt.steps[0].tokens_out) == (5, 2)
    assert receipt.steps[0].at == 1_790_000_000_000


def test_each_session_of_an_export_of_hermes_is_a_run():
    one = hermes_transcript(EXAMPLE_RUN)
    runs = read_transcripts(one + one.replace(b"8608f682", b"9999f682") + b"no json\n")
    assert [run.run[:8] for run in runs] == ["8608f682", "9999f682"]
    assert runs[0].steps == runs[1].steps and source(runs[0]) == ("hermes", 1)
    with raises_code("many_runs", InvalidInput) as caught:
        read_transcript(one + one)
    assert "brain adopt FILE FOLDER" in caught.value.hint


def test_each_session_of_gemini_in_one_file_is_a_run():
    one = gemini_transcript(EXAMPLE_RUN)
    first, second = read_transcripts(one + one.replace(b"8608f682", b"9999f682"))
    assert first.run != second.run and first.steps == second.steps


def test_runs_without_ids_get_different_ones():
    other = AgentRun("And the others?", EXAMPLE_RUN.turns)
    one = b"".join(map(hermes_transcript, (EXAMPLE_RUN, other))).replace(b"8608f682", b"")
    lines = [json.loads(line) | {"id": ""} for line in one.splitlines()]
    first, second = read_transcripts(json_lines(lines))
    assert first.run != second.run and len(first.run) == len(second.run) == 32


def test_a_chat_of_gemini_from_before_it_was_lines_is_read():
    message = {"id": "1", "type": "user", "content": "Go"}
    failed = {
        "id": "c", "name": "run_shell_command", "args": {"command": "false"}, "status": "success",
        "result": [{"functionResponse": {"response": {"output": "Output: x\nExit Code: 1\n"}}}],
    }  # fmt: skip
    answer = {"id": "2", "type": "gemini", "content": "Done", "model": "m", "toolCalls": [failed]}
    chat = {"sessionId": "s", "projectHash": "p", "messages": [message, answer]}
    receipt = read_transcript(json.dumps(chat, indent=1).encode())
    assert (receipt.run, receipt.task, receipt.outcome) == ("s", "Go", "unknown")
    assert [step.error for step in receipt.steps] == ["", "exit code 1"]


def test_how_a_session_of_opencode_ended():
    whole = json.loads(opencode_transcript(EXAMPLE_RUN))
    last = whole["messages"][-1]["info"]
    for name, outcome in (("MessageAbortedError", "cancelled"), ("APIError", "failure")):
        last["error"] = {"name": name, "data": {"message": "stopped"}}
        receipt = read_transcript(json.dumps(whole).encode())
        assert (receipt.outcome, receipt.reason) == (outcome, "stopped")


@pytest.mark.parametrize(
    "data", [b"", b"\n\n", b"hello", b"{}", b"[]", b'{"a": 1}', b"[" * 99, b"\0"]
)
def test_what_is_no_transcript_is_refused(data):
    for form in ("", *TRANSCRIPT_FORMATS):
        with raises_code("no_transcript", InvalidInput):
            read_transcript(data, form)


def test_an_unknown_format_is_refused():
    with raises_code("bad_format", InvalidInput):
        read_transcript(claude_transcript(EXAMPLE_RUN), "letter")


def test_deep_wide_and_long_records_are_counted_unread(monkeypatch):
    deep = b'{"sessionId": ' + b"[" * 70 + b"]" * 70 + b"}\n"
    monkeypatch.setattr(limits, "MAX_RECORD_VALUES", 5000)
    monkeypatch.setattr(limits, "MAX_RECORD_BYTES", 50_000)
    wide = b'{"sessionId": [' + b"0," * 6000 + b"0]}\n"
    long = b'{"sessionId": "' + b"x" * 60_000 + b'"}\n'
    assert source(read_transcript(claude_transcript(EXAMPLE_RUN) + deep + wide + long)) == (
        "claude",
        3,
    )
    monkeypatch.setattr(limits, "MAX_TRANSCRIPT_BYTES", 100)
    with raises_code("too_large", InvalidInput):
        read_transcript(claude_transcript(EXAMPLE_RUN))


def test_more_steps_than_a_receipt_holds_are_refused(monkeypatch):
    monkeypatch.setattr("brain.receipts.transcripts.builder.MAX_RUN_STEPS", 5)
    with raises_code("too_many", FormatError):
        read_transcript(claude_transcript(EXAMPLE_RUN))


def test_long_transcripts_keep_less_of_their_texts(monkeypatch):
    monkeypatch.setattr(budget, "MAX_RUN_BYTES", 3000)
    monkeypatch.setattr("brain.receipts.transcripts.builder.MAX_RUN_BYTES", 3000)
    receipt = read_transcript(claude_transcript(EXAMPLE_RUN))
    assert len(receipt.steps) == 8
    assert receipt.steps[-1].output is not None and receipt.steps[-1].output.excerpt == ""


ODD = [None, True, -1, 1.5, 1e400, 10**30, "", "x", "\ud800", [], {}, [None], {"type": "text"}]


@pytest.mark.parametrize("form", TRANSCRIPT_WRITERS)
def test_fields_of_any_type_are_no_surprise(form):
    """Every field in turn is replaced by something else; what comes is a receipt or an error."""
    rng = random.Random(5)
    data = TRANSCRIPT_WRITERS[form](EXAMPLE_RUN)
    records = (
        [json.loads(line) for line in data.splitlines()]
        if data[-1:] == b"\n"
        else [json.loads(data)]
    )
    for _ in range(400):
        spoiled = json.loads(json.dumps(records))
        _spoil(spoiled, rng)
        try:
            receipt = read_transcript(
                _ascii(spoiled), rng.choice(["", FORMAT_OF_WRITER.get(form, form)])
            )
        except BrainError:
            continue
        assert decode_receipt(encode_receipt(receipt)) == receipt


def _ascii(records: list[Any]) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in records)


def _spoil(value: Any, rng: random.Random) -> None:
    """Replace something inside of a value."""
    while True:
        key = rng.choice(list(value) if isinstance(value, dict) else range(len(value)))
        inner = value[key]
        if not isinstance(inner, dict | list) or not inner or rng.random() < 0.1:
            value[key] = rng.choice(ODD)
            return
        value = inner


CASES = read_cases(__file__)


def found(tool: str, **arguments: Any) -> tuple[list[str], bool]:
    """Return the slugs that a call loads, and whether it does nothing else."""
    loads = skill_loads.find_skill_loads(tool, json.dumps(arguments))
    return [load.slug for load in loads.loads], loads.is_all


@pytest.mark.parametrize("command", CASES["test_a_command_that_only_shows_a_skill_loads_it"])
def test_a_command_that_only_shows_a_skill_loads_it(command):
    assert found("Bash", command=command) == (["counting"], True)


@pytest.mark.parametrize("command", CASES["test_a_command_that_writes_or_is_unclear_loads_nothing"])
def test_a_command_that_writes_or_is_unclear_loads_nothing(command):
    assert found("Bash", command=command) == ([], False)


def test_a_command_that_does_more_loads_the_skill_and_stays_a_call():
    for command in ("cat skills/a/SKILL.md && make", "echo here\ncat skills/a/SKILL.md"):
        assert found("bash", command=command) == (["a"], False)
    assert found("bash", command="cat skills/a/SKILL.md skills/b/SKILL.md") == (["a", "b"], True)


@pytest.mark.parametrize(("tool", "arguments"), CASES["test_the_tools_of_every_program_are_known"])
def test_the_tools_of_every_program_are_known(tool, arguments):
    assert found(tool, **arguments) == (["counting"], True)


@pytest.mark.parametrize(("tool", "arguments"), CASES["test_other_calls_load_nothing"])
def test_other_calls_load_nothing(tool, arguments):
    assert found(tool, **arguments) == ([], False)


def test_a_folder_with_a_blank_in_its_name_is_one_name_for_a_tool_that_reads():
    assert found("Read", file_path="/me/My Skill/SKILL.md") == (["My Skill"], True)


def test_a_skill_that_could_not_be_read_keeps_the_error():
    run = builder.RunBuilder()
    run.run = "r"
    run.add_tool_call("c", "bash", json.dumps({"command": "cat skills/gone/SKILL.md"}))
    run.add_tool_result("c", "cat: no such file", "exit code 1")
    receipt = run.build_receipt("openai", bytes(32))
    (step,) = receipt.steps
    assert receipt.skills_loaded == []
    assert (step.kind, step.name, step.error) == ("skill_load", "gone", "exit code 1")
