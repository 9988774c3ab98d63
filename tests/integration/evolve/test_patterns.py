"""Which skills a run used is recorded when it ends, and what recurs is listed."""

import pytest

from brain import Brain
from brain.digest import blob_id
from brain.errors import InvalidInput, StoreError
from brain.evolve import find_trigger
from brain.experience import recorder
from brain.experience.run_end import MAX_RECORDED_STEPS
from brain.experience.store import SkillSequence, Store
from brain.receipts import Receipt, RunStep
from brain.serve.mcp.brain_pool import ClientBrain
from brain.serve.tools import Toolbox
from tests.support.refusals import raises_code

SEED = ["web_search", "fetch_url", "python_exec"]
SLUGS = ("web-search", "fetch-url", "python-exec")
DAY = 86_400_000


@pytest.fixture
def brain(tmp_path):
    with Brain.init(tmp_path / "brain") as brain:
        brain.skills.upsert("audit", "# Audit\n", description="How to audit")
        brain.skills.upsert("report", "# Report\n", description="How to report")
        yield brain


def sequences(brain: Brain) -> list[SkillSequence]:
    return list(brain.patterns.open_store().sequences())


def listed(brain: Brain, chat: str = "") -> list[tuple[tuple[str, ...], int]]:
    return [(tuple(one.skills), one.occurrences) for one in brain.patterns.list(chat).patterns]


def test_the_five_messages_of_the_seed_are_one_pattern(brain):
    for number in range(4):
        brain.patterns.record("chat", SEED, context=f"message {number}")
    assert listed(brain) == []
    brain.patterns.record("chat", SEED, context="message 5")
    assert listed(brain) == [(SLUGS, 5)]
    found = brain.patterns.list()
    assert (found.messages, found.threshold, found.has_longer) == (5, 5, False)
    (pattern,) = found.patterns
    assert pattern.status == "unfit" and "web-search" in pattern.reason


def test_of_the_text_of_a_message_only_the_hash_is_stored(brain):
    brain.patterns.record("chat", SEED, context="my secret question")
    (stored,) = sequences(brain)
    assert stored.context_hash == blob_id(b"my secret question").hex()
    data = b"".join(path.read_bytes() for path in (brain.root / ".brain").glob("evolution.db*"))
    assert b"secret question" not in data


def test_the_threshold_of_the_seed_is_read_from_the_environment(brain, monkeypatch):
    for _ in range(2):
        brain.patterns.record("chat", SEED)
    monkeypatch.setenv("SKILL_PATTERN_THRESHOLD", "2")
    assert listed(brain) == [(SLUGS, 2)]
    monkeypatch.setenv("SKILL_PATTERN_THRESHOLD", "several")
    with raises_code("bad_setting", InvalidInput):
        brain.patterns.list()


@pytest.mark.parametrize("word", ["false", "FALSE", "0", "off"])
def test_skill_evolution_enabled_false_records_nothing(brain, monkeypatch, word):
    monkeypatch.setenv("SKILL_EVOLUTION_ENABLED", word)
    assert not brain.patterns.record("chat", SEED)
    with brain.task("Audit") as task:
        task.record_skill_load("audit")
    assert sequences(brain) == []


def test_nothing_is_recorded_in_the_mode_off(brain):
    (brain.root / "manifest.yaml").write_text("evolution:\n  mode: off\n")
    brain.snapshot()
    assert not brain.patterns.record("chat", SEED)
    with brain.task("Audit") as task:
        task.record_skill_load("audit")
    assert sequences(brain) == [] and task.learning_error is None


def test_a_task_records_what_it_read_and_called_in_order_when_it_ends(brain):
    with brain.task("Audit the vault", agent="bot", chat="telegram 42") as task:
        task.record_skill_load("audit")
        task.record_tool_call("grep", {"pattern": "x"}, "nothing")
        task.record_tool_call("count_words", {"text": "a"}, "1", version="3")
        task.record_tool_call("count_words", {"text": ""}, error="no text", version="3")
        task.record_inner_call("double_it", "count_words", version="1")
        task.record_skill_load("report")
        assert sequences(brain) == []
    (stored,) = sequences(brain)
    assert stored.skills == ("audit", "count-words", "report")
    assert (stored.chat, stored.run) == ("telegram 42", task.id)
    assert stored.context_hash == blob_id(b"Audit the vault").hex()


def test_what_a_program_calls_is_a_step_and_no_call_of_the_agent(brain):
    with brain.task("Double the words", agent="bot") as task:
        task.record_tool_call("double_words", {"text": "a"}, "2", version="1")
        task.record_inner_call("count_words", "double_words", error="busy", version="1")
        for number in range(5):
            task.record_inner_call("count_words", "double_words", version="1")
            task.record_inner_call(f"fetch https://a.org/{number}", "double_words")
    receipt = brain.receipts.read_run()
    assert [step.caller for step in receipt.steps] == ["", *["double_words"] * 11]
    assert receipt.steps[1].name == "count_words"
    assert receipt.tools == {"double_words": 1}
    assert find_trigger(receipt.steps) == ""
    assert brain.patterns.open_store().waiting() == []
    assert brain.patterns.record_run(receipt._replace(run="another")) == 0
    assert [one.skills for one in sequences(brain)] == [("double-words",)]


@pytest.mark.parametrize("text", ["called by nobody at all", "called by ", "uncalled by double_it"])
def test_a_call_of_the_agent_is_its_own_whatever_it_says(brain, text):
    with brain.task("Look") as task:
        task.record_tool_call("terminal", text)
    assert brain.receipts.read_run().tools == {"terminal": 1}


def test_without_a_chat_the_agent_is_the_chat(brain):
    for agent in ("bot", ""):
        with brain.task("Audit", agent=agent) as task:
            task.record_skill_load("audit")
    assert [one.chat for one in sequences(brain)] == ["bot", task.id]


def test_a_task_that_failed_is_recorded_too(brain):
    with pytest.raises(RuntimeError), brain.task("Audit") as task:
        task.record_skill_load("audit")
        raise RuntimeError("no luck")
    assert [one.skills for one in sequences(brain)] == [("audit",)]


def test_what_lies_more_than_300_seconds_apart_is_no_sequence(brain):
    now = [1_700_000_000_000]
    brain._session.timestamp_ms = lambda: now[0]  # type: ignore[method-assign]
    with brain.task("Audit") as task:
        for skill, seconds in (("audit", 300), ("report", 301), ("audit", -500), ("report", 0)):
            task.record_skill_load(skill)
            now[0] += 1000 * seconds
    assert [one.skills for one in sequences(brain)] == [
        ("audit", "report"),
        ("audit",),
        ("report",),
    ]


def test_a_session_of_mcp_records_its_skills_when_it_ends_though_it_wrote_nothing(brain):
    served = ClientBrain(brain, "claude-code")
    for number in range(5):
        for skill in ("audit", "report"):
            served.call(f"session {number}", "skill_view", {"name": skill})
    head = brain.head
    for number in range(5):
        served.end_session(f"session {number}")
    assert listed(brain) == [(("audit", "report"), 5)]
    assert len({one.chat for one in sequences(brain)}) == 5
    assert brain.head == head
    assert "session 0" not in str(sequences(brain))


def test_a_toolbox_with_a_task_records_what_is_read_through_it(brain):
    with brain.task("Audit") as task:
        toolbox = Toolbox(brain, task)
        toolbox.call("skill_view", {"name": "audit"})
        toolbox.call("skill_view", {"name": "report"})
    assert [one.skills for one in sequences(brain)] == [("audit", "report")]


def test_a_store_that_does_not_answer_is_reported_and_neither_fails_nor_slows_later_runs(
    brain, monkeypatch
):
    asked = []

    def fail(*_: object) -> None:
        asked.append(1)
        raise StoreError("the server is away", code="experience_unavailable")

    with monkeypatch.context() as patched:
        patched.setattr(Store, "record", fail)
        for _ in range(3):
            with brain.task("Audit") as task:
                task.record_skill_load("audit")
        assert brain.patterns.list().unrecorded == 3
    assert task.snapshot is not None
    assert len(asked) == 1
    later = recorder.time.monotonic() + recorder.PAUSE_SECONDS + 1
    monkeypatch.setattr(recorder.time, "monotonic", lambda: later)
    with brain.task("Audit") as task:
        task.record_skill_load("audit")
    assert len(sequences(brain)) == 1


def imported(run: str, *names: str, at: int = 1) -> Receipt:
    steps = [RunStep("skill_load", at + n, name) for n, name in enumerate(names)]
    return Receipt(run=run, task="Audit", agent="codex", steps=tuple(steps), outcome="success")


def test_a_run_of_another_program_is_recorded_once(brain):
    now = brain._session.timestamp_ms()
    run = imported("r1", "audit", "report", at=now)
    assert [brain.patterns.record_run(run) for _ in range(3)] == [1, 0, 0]
    assert [(one.chat, one.run, one.skills) for one in sequences(brain)] == [
        ("codex", "r1", ("audit", "report"))
    ]
    assert brain.patterns.record_run(imported("r2")) == 0


def test_a_message_of_10_000_steps_is_cut_and_a_long_pattern_is_said_to_be_one(brain):
    long = [f"skill-{number}" for number in range(10_000)]
    for _ in range(5):
        brain.patterns.record("chat", long)
        brain.patterns.record("chat", ["audit"])
    assert {len(one.skills) for one in sequences(brain)} == {MAX_RECORDED_STEPS, 1}
    found = brain.patterns.list()
    assert found.has_longer and len(found.patterns) < 5


def test_a_clock_that_jumps_breaks_nothing(brain):
    now = brain._session.timestamp_ms()
    for at in (now, now + 400 * DAY, now - 400 * DAY, 0, now, now + 1):
        brain.patterns.record("chat", SEED, at=at)
    assert brain.patterns.list().messages == 3
    for at in (now + 2, now - 3):
        brain.patterns.record("other", SEED, at=at)
    assert listed(brain) == [(SLUGS, 5)]
    assert brain.patterns.list(now=now + 8 * DAY).patterns == []
    assert brain.patterns.list(now=now + 400 * DAY).messages == 1
    assert listed(brain) == [(SLUGS, 5)]


def test_one_chat_can_be_counted_alone(brain):
    for chat in ("a", "a", "a", "a", "a", "b"):
        brain.patterns.record(chat, SEED)
    assert listed(brain, "a") == [(SLUGS, 5)]
    assert listed(brain, "b") == []
    assert listed(brain) == [(SLUGS, 6)]


@pytest.mark.parametrize("name", ["", "a\0b", "x" * 9_000, "\ud800", "../..", "a,b"])
def test_strange_names_are_recorded_or_refused_and_never_break_the_list(brain, name):
    for _ in range(5):
        brain.patterns.record(name, [name, "audit"])
    assert brain.patterns.list().messages == 5
