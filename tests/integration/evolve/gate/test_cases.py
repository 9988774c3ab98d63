"""Cases of a brain: documents that people write, by hand or by command."""

import pytest

from brain import Brain, Conflict, InvalidInput, NotFound
from brain.gating.case_files import HELD_OUT, PRACTICE, Expectation
from brain.receipts import Receipt, RunStep, keep_text
from brain.repo.learning.cases import case_of_run, read_held_out
from tests.support.gate_decisions import inputs_of_half
from tests.support.refusals import raises_code

HELLO = Expectation(contains=("hello",))


@pytest.fixture
def brain(tmp_path):  # type: ignore[no-untyped-def]
    with Brain.init(tmp_path, author="ada") as made:
        yield made


def test_a_case_may_come_before_its_skill(brain):
    added = brain.gate.add_case("greet", {"name": "Ada"}, HELLO)
    assert added.path.startswith("skills/greet/cases/") and added.changed
    assert brain.skills.list() == []
    brain.skills.upsert("greet", "Greet.\n")
    (case,) = brain.gate.cases("greet")
    assert (case.input, case.expect, case.path) == ({"name": "Ada"}, HELLO, added.path)


def test_cases_lie_where_their_skill_lies(brain):
    brain.skills.upsert("greet", "Greet.\n", category="manners")
    added = brain.gate.add_case("greet", "Good day", HELLO)
    assert added.path.startswith("skills/manners/greet/cases/")
    assert [case.path for case in brain.gate.cases("greet")] == [added.path]


def test_cases_of_a_client_home_are_found_where_its_skills_are(brain):
    text = b"---\nname: greet\ndescription: Greet\n---\nGreet.\n"
    brain.files.edit(".agents/skills/greet/SKILL.md", lambda _: text)
    added = brain.gate.add_case("greet", next(inputs_of_half(held_out=True)), HELLO)
    assert added.path.startswith(".agents/skills/greet/cases/")
    path = ".agents/skills/greet/SKILL.md"
    (case,) = read_held_out(brain._session, bytes.fromhex(brain.head), path)
    assert (case.skill, case.path) == ("greet", added.path)


def test_the_half_follows_from_the_input_alone(brain):
    for held_out, split in ((True, HELD_OUT), (False, PRACTICE)):
        task = next(inputs_of_half(held_out=held_out))
        first = brain.gate.add_case("greet", task, HELLO, name=f"{split}-a")
        other = brain.gate.add_case("part", task, Expectation(excludes=("no",)), "a note")
        assert first.split == other.split == split
    assert [case.is_held_out for case in brain.gate.practice_cases("greet")] == [False]


def test_a_document_that_claims_the_other_half_is_refused(brain):
    added = brain.gate.add_case("greet", next(inputs_of_half(held_out=True)), HELLO)
    brain.files.edit(added.path, lambda old: (old or b"").replace(b"held-out", b"practice"))
    with raises_code("wrong_split", InvalidInput):
        brain.gate.cases("greet")
    (listed,) = brain.gate.list_cases()
    assert "held-out" in listed.problem and listed.slug == "greet"


def test_one_input_is_one_case(brain):
    first = brain.gate.add_case("greet", "Hi", HELLO)
    again = brain.gate.add_case("greet", "Hi", HELLO)
    assert not again.changed and again.path == first.path
    for given, name in ((Expectation(excludes=("x",)), ""), (HELLO, "other")):
        with raises_code("case_exists", Conflict):
            brain.gate.add_case("greet", "Hi", given, name=name)
    copy = brain.files.read(first.path)
    brain.files.edit("skills/greet/cases/copy.yaml", lambda _: copy)
    with pytest.raises(InvalidInput):
        brain.gate.cases("greet")


@pytest.mark.parametrize("name", ["A", "../x", "a/b", ".hidden", "a" * 65])
def test_a_case_has_a_plain_name(brain, name):
    with raises_code("bad_name", InvalidInput):
        brain.gate.add_case("greet", "Hi", HELLO, name=name)


def test_nothing_that_expects_nothing_is_a_case(brain):
    with raises_code("bad_case", InvalidInput):
        brain.gate.add_case("greet", "Hi", Expectation())


def run(*steps: RunStep, outcome: str = "success") -> Receipt:
    return Receipt(run="1a2b3c4d", task="Count the words", steps=steps, outcome=outcome)


def call(name: str, given: str, output: str, error: str = "") -> RunStep:
    return RunStep("tool", name=name, input=keep_text(given), output=keep_text(output), error=error)


def test_a_call_of_the_skill_is_a_case():
    steps = (
        call("count_words", '{"text": "a"}', '{"words": 1}'),
        call("count_words", '{"text": "a b"}', "2"),
        call("count_words", '{"text": ""}', "", error="empty"),
    )
    last = case_of_run(run(*steps), "count-words")
    assert (last.input, last.expect.equals, last.source) == ({"text": "a b"}, 2, "receipt 1a2b3c4d")
    assert case_of_run(run(*steps), "count-words", 1).expect.equals == {"words": 1}
    for step in (3, 4):
        with pytest.raises(NotFound):
            case_of_run(run(*steps), "count-words", step)


def test_what_another_program_called_is_no_case():
    own = call("count_words", '{"text": "a"}', '{"words": 1}')
    inner = RunStep("tool", name="count_words", input=keep_text("called by double_words"))
    assert case_of_run(run(own, inner), "count-words").input == {"text": "a"}
    with pytest.raises(NotFound):
        case_of_run(run(own, inner), "count-words", 2)


ANSWER = RunStep("llm", name="m", input=keep_text("…"), output=keep_text("Three words"))


def test_a_task_is_a_case_of_a_text_with_an_expectation():
    found = case_of_run(run(ANSWER), "count-words", expect=HELLO)
    assert (found.input, found.expect) == ("Count the words", HELLO)
    with raises_code("no_expectation", InvalidInput) as caught:
        case_of_run(run(ANSWER), "count-words")
    assert "--contains" in caught.value.hint
    with pytest.raises(NotFound):
        case_of_run(run(ANSWER, outcome="failure"), "count-words", expect=HELLO)


def test_an_expectation_replaces_the_output_of_a_call():
    step = call("count_words", '{"text": "a"}', "x" * 5000)
    assert case_of_run(run(step), "count-words", expect=HELLO).expect == HELLO


def test_a_task_that_was_cut_or_lost_its_secrets_is_no_case(brain):
    secret = "AKIA" + "IOSFODNN7EXAMPLF"
    for task in ("Count ä" * 2000, "ä" * 5000, f"Log in with {secret}"):
        with brain.task(task) as ran:
            ran.record_model_call("m", "…", "Three words")
        recorded = brain.receipts.read_run(brain.head)
        with raises_code("not_whole", InvalidInput) as caught:
            case_of_run(recorded, "count-words", expect=HELLO)
        assert caught.value.hint
    with brain.task("Go on …") as ran:
        ran.record_model_call("m", "…", "Three words")
    whole = case_of_run(brain.receipts.read_run(brain.head), "count-words", expect=HELLO)
    assert whole.input == "Go on …"


def test_what_a_receipt_holds_in_part_is_no_case():
    long = call("count_words", '{"text": "a"}', "x" * 5000)
    secret = "AKIA" + "IOSFODNN7EXAMPLF"
    masked = call("count_words", '{"text": "key ' + secret + '"}', "2")
    for step in (long, masked):
        with raises_code("not_whole", InvalidInput):
            case_of_run(run(step), "count-words")
