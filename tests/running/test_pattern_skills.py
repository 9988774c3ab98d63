"""A pattern of recorded runs becomes a tool: by a scripted model, the gate, and the sandbox."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from brain import Brain
from brain.errors import Conflict, ModelError, SandboxError, ToolFailure
from brain.evolve.patterns import find_examples, run_patterns
from brain.gating.case_files import Expectation
from brain.gating.held_out import is_held_out
from brain.repo.learning.admission import STATE_DIR_VARIABLE
from brain.sandbox.job import Sandbox
from brain.serve.tools import Toolbox
from tests.running.pattern_runs import COMPOSITE, TEXTS, add_cases, answer, make_brain, run_messages
from tests.support.refusals import raises_code
from tests.support.scripted_model import FakeModel
from tests.support.skill_programs import admit_untested

PATTERN = ("count-words", "double-it")


@pytest.fixture(scope="module")
def template(tmp_path_factory, sandbox):
    """A folder with states of a brain, each beside the state of the machine that tried it."""
    folder = tmp_path_factory.mktemp("patterns")
    with pytest.MonkeyPatch.context() as patched:

        def continue_as(name: str, before: str) -> Brain:
            shutil.copytree(folder / before, folder / name)
            patched.setenv(STATE_DIR_VARIABLE, str(folder / name / "state"))
            return Brain.open(folder / name / "brain")

        patched.setenv(STATE_DIR_VARIABLE, str(folder / "bare/state"))
        (folder / "bare").mkdir()
        with make_brain(folder / "bare/brain", sandbox):
            pass
        with continue_as("run", "bare") as brain:
            run_messages(brain, TEXTS)
        with continue_as("made", "run") as brain:
            add_cases(brain)
            (result,) = run_patterns(brain, FakeModel(answer()), now=now_of(brain))
            assert result.status == "admitted"
    return folder


@pytest.fixture
def bare(template, tmp_path, monkeypatch):
    """A brain with two skills that have not run."""
    yield from open_copy(template, "bare", tmp_path, monkeypatch)


@pytest.fixture
def brain(template, tmp_path, monkeypatch):
    """A brain whose agent used two skills in each of several messages."""
    yield from open_copy(template, "run", tmp_path, monkeypatch)


@pytest.fixture
def made(template, tmp_path, monkeypatch):
    """The same brain after the pattern became the skill double-words."""
    yield from open_copy(template, "made", tmp_path, monkeypatch)


def open_copy(
    template: Path, name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Brain]:
    monkeypatch.setenv(STATE_DIR_VARIABLE, str(folder / "state"))
    shutil.copytree(template / name, folder, dirs_exist_ok=True)
    with Brain.open(folder / "brain") as brain:
        yield brain


def set_mode(brain: Brain, mode: str) -> None:
    (brain.root / "manifest.yaml").write_text(f"evolution:\n  mode: {mode}\n")
    brain.snapshot("Set the mode")


def now_of(brain: Brain) -> int:
    return brain._session.timestamp_ms()


def statuses(brain: Brain) -> list[tuple[str, str]]:
    return [(one.status, one.slug) for one in brain.patterns.list().patterns]


def test_a_pattern_becomes_a_tool_that_an_open_session_has_at_once(brain):
    add_cases(brain)
    toolbox = Toolbox(brain)
    model = FakeModel(answer(f"import os\n{COMPOSITE}"), answer())
    (result,) = run_patterns(brain, model, now=now_of(brain))
    assert (result.status, result.slug, result.occurrences) == (
        "admitted",
        "double-words",
        len(TEXTS),
    )
    assert result.outcome is not None and result.outcome.numbers is not None
    assert result.outcome.numbers.wins == result.outcome.numbers.cases >= 5
    assert "double_words" in [tool.name for tool in toolbox.tools()]
    assert toolbox.call("double_words", {"text": "x y z"}).data["output"] == {"double": 6}
    assert brain.verify().ok
    events = brain.patterns.open_store().events("patterns")
    assert [(one.phase, one.result) for one in events] == [
        ("validate", "rejected"),
        ("admitted", "success"),
    ]
    assert "it uses os" in events[0].trigger_reason
    assert [one.decision for one in brain.history.why("double-words").decisions] == ["admit"]


def test_the_model_sees_the_practice_half_of_what_was_recorded_and_nothing_held_out(brain):
    model = FakeModel(answer())
    list(run_patterns(brain, model, now=now_of(brain)))
    shown = model.requests[0].messages[0].text
    held_out = [text for text in TEXTS if is_held_out({"text": text})]
    assert 0 < len(held_out) < len(TEXTS)
    for text in TEXTS:
        line = f"> count_words({json.dumps({'text': text})}) gave"
        assert (line in shown) is (text not in held_out)


def test_what_was_recorded_is_no_exam_so_that_a_person_decides(brain):
    before = brain.head
    (result,) = run_patterns(brain, FakeModel(answer()), now=now_of(brain))
    assert (result.status, brain.head) == ("proposed", before)
    assert brain.gate.list_cases() == []
    tests = sum(not is_held_out({"text": text}) for text in TEXTS)
    assert f"it passed {tests} tests made of recorded runs" in result.reason
    (proposal,) = brain.proposals.list()
    with brain.proposals.open(proposal.name) as proposed:
        assert proposed.gate.list_cases() == []
        cases = json.loads(proposed.skills.read_file("double-words", "tests/cases.json").content)
    assert len(cases) == tests
    assert not any(is_held_out(case["payload"]) for case in cases)


def test_an_example_that_repeats_a_held_out_case_of_a_skill_is_not_shown(brain):
    practice = find_examples(brain, PATTERN, brain.gate.read_held_out_filter())
    held_out = [one.steps[-1][0] for one in practice if is_held_out(one.steps[-1][0])]
    for payload in {json.dumps(one): one for one in held_out}.values():
        brain.gate.add_case(PATTERN[-1], payload, Expectation(excludes=("no",)))
    model = FakeModel(answer())
    list(run_patterns(brain, model, now=now_of(brain)))
    shown = model.requests[0].messages[0].text
    lines = {f"({json.dumps(one.input)}) gave": one.steps[-1][0] in held_out for one in practice}
    assert set(lines.values()) == {True, False}
    assert [line for line, is_hidden in lines.items() if is_hidden and line in shown] == []
    assert any(line in shown for line in lines)


def test_a_pattern_is_made_once_and_again_only_if_one_of_its_skills_changed(made, sandbox):
    brain = made
    unused = FakeModel(answer())
    assert list(run_patterns(brain, unused, now=now_of(brain))) == []
    assert unused.requests == []
    code = brain.root / "skills/double-it/skill.py"
    code.write_text(code.read_text() + "# changed\n")
    brain.programs.admit("double-it", sandbox=sandbox)
    assert statuses(brain) == [("new", "")]
    better = COMPOSITE.replace('counted["words"]', 'int(counted["words"])')
    (result,) = run_patterns(brain, FakeModel(answer(better)), now=now_of(brain))
    assert result.slug == "double-words"
    assert result.status in ("kept", "rejected", "proposed", "admitted")


def test_a_skill_that_patterns_did_not_make_is_never_replaced(brain):
    brain.skills.upsert("double-words", "# Mine\n", description="Written by a person")
    add_cases(brain, "double-the-words")
    other = COMPOSITE.replace("double_words", "double_the_words")
    model = FakeModel(answer(), answer(other, name="double_the_words"))
    (result,) = run_patterns(brain, model, now=now_of(brain))
    assert (result.status, result.slug) == ("admitted", "double-the-words")
    assert "there is another skill double-words" in model.requests[1].messages[-1].text
    assert brain.skills.view("double-words").body.strip() == "# Mine"


def test_a_composite_that_a_person_has_changed_is_not_replaced(made):
    brain = made
    brain.skills.upsert("double-words", "# Mended by a person\n")
    code = brain.root / "skills/double-it/skill.py"
    code.write_text(code.read_text() + "# changed\n")
    brain.programs.admit("double-it")
    model = FakeModel(answer(), answer(), answer())
    (result,) = run_patterns(brain, model, now=now_of(brain))
    assert (result.status, result.outcome) == ("failed", None)
    assert "Mended by a person" in brain.skills.view("double-words").body


def test_without_a_model_the_patterns_are_named_and_nothing_is_queued(brain):
    (result,) = run_patterns(brain, None, now=now_of(brain))
    assert (tuple(result.skills), result.status) == (PATTERN, "no_model")
    assert statuses(brain) == [("new", "")]


def test_what_has_no_recorded_cases_is_proposed_to_a_person(bare):
    brain = bare
    record_messages(brain, "count_words", "double_it")
    before = brain.head
    (result,) = run_patterns(brain, FakeModel(answer()), now=now_of(brain))
    assert result.status == "proposed"
    assert brain.head == before


def test_in_the_mode_propose_nothing_is_written_on_the_branch(brain):
    set_mode(brain, "propose")
    before = brain.head
    (result,) = run_patterns(brain, FakeModel(answer()), now=now_of(brain))
    assert (result.status, brain.head) == ("proposed", before)
    assert [one.name for one in brain.proposals.list()] == [result.outcome.proposal]  # type: ignore[union-attr]


def test_a_model_that_answers_nonsense_for_ever_is_asked_three_times_and_no_more(brain):
    model = FakeModel(*["nonsense"] * 9)
    (result,) = run_patterns(brain, model, now=now_of(brain))
    assert (result.status, len(model.requests)) == ("failed", 3)
    assert list(run_patterns(brain, model, now=now_of(brain))) == []
    assert len(model.requests) == 3


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        (f"import os\n{COMPOSITE}", "line 1: it uses os, which is on the blocklist"),
        (COMPOSITE.replace('"double_it"', '"count_words"'), "it never calls double_it: write call"),
    ],
)
def test_code_that_stays_refused_is_kept_as_a_rejected_attempt_and_never_run(brain, code, fault):
    model = FakeModel(*[answer(code)] * 3)
    (result,) = run_patterns(brain, model, now=now_of(brain))
    assert (result.status, result.slug) == ("rejected", "double-words")
    (attempt,) = brain.programs.attempts("double-words")
    assert attempt.reason.startswith(fault)
    assert not {"cases", "sandbox"} & set(brain.programs.read_attempt(attempt.attempt).verdict)
    with pytest.raises(ToolFailure):
        Toolbox(brain).call("double_words", {"text": "x"})


def test_an_attempt_that_was_killed_goes_on_with_the_answers_that_were_paid(brain, monkeypatch):
    add_cases(brain)
    now = now_of(brain)
    with monkeypatch.context() as patched:
        patched.setattr("brain.repo.learning.gate.Gate.propose", _die)
        with pytest.raises(_Killed):
            list(run_patterns(brain, FakeModel(answer()), now=now))
    unused = FakeModel()
    (result,) = run_patterns(brain, unused, now=now)
    assert (result.status, unused.requests) == ("admitted", [])


def record_messages(brain: Brain, *skills: str) -> None:
    """Record five messages, each in a chat of its own."""
    for number in range(5):
        brain.patterns.record(f"chat {number}", skills)


def other_name(name: str, code: str = COMPOSITE) -> dict[str, object]:
    """Return the answer of a model that names the skill so."""
    return answer(code.replace("double_words", name), name=name)


def change_double_it(brain: Brain) -> None:
    """Give a skill of the pattern another program, so that the pattern is another one."""
    code = brain.root / "skills/double-it/skill.py"
    code.write_text(code.read_text() + "# changed\n")
    brain.programs.admit("double-it")


WRONG = COMPOSITE.replace('counted["words"]', '3 + counted["words"]')


def test_a_rejected_composite_is_not_asked_for_again_and_shown_once_its_pattern_changed(brain):
    (first,) = run_patterns(brain, FakeModel(answer(WRONG)), now=now_of(brain))
    assert first.status == "rejected"
    unused = FakeModel(answer())
    assert list(run_patterns(brain, unused, now=now_of(brain))) == []
    assert unused.requests == []
    change_double_it(brain)
    model = FakeModel(other_name("double_the_words"))
    (second,) = run_patterns(brain, model, now=now_of(brain))
    assert (second.status, second.slug) == ("proposed", "double-the-words")
    shown = model.requests[0].messages[0].text
    assert "tried before and not admitted" in shown
    assert 'number=3 + counted["words"]' in shown


def test_an_earlier_attempt_at_the_name_that_a_model_chooses_is_shown_before_it_counts(brain):
    list(run_patterns(brain, FakeModel(answer(WRONG)), now=now_of(brain)))
    record_messages(brain, "double_it", "count_words")
    model = FakeModel(answer(), answer())
    (result,) = run_patterns(brain, model, now=now_of(brain))
    assert (result.skills, result.status) == (("double-it", "count-words"), "proposed")
    assert "tried before" not in model.requests[0].messages[0].text
    assert 'number=3 + counted["words"]' in model.requests[1].messages[-1].text
    assert len(model.requests) == 2


def test_a_skill_that_was_made_of_another_pattern_is_not_replaced(made):
    brain = made
    record_messages(brain, "double_it", "count_words")
    model = FakeModel(answer(), other_name("twice"))
    (result,) = run_patterns(brain, model, now=now_of(brain))
    assert (result.status, result.slug) == ("proposed", "twice")
    assert "there is another skill double-words" in model.requests[1].messages[-1].text


def test_a_composite_is_none_of_the_skills_that_it_calls(made):
    brain = made
    record_messages(brain, "double_words", "double_it")
    itself = COMPOSITE.replace('"count_words"', '"double_words"')
    model = FakeModel(answer(itself), "", "")
    (result,) = run_patterns(brain, model, now=now_of(brain))
    assert (result.status, result.outcome) == ("failed", None)
    assert "there is another skill double-words" in model.requests[1].messages[-1].text


def test_a_name_that_several_skills_share_is_refused_as_taken(brain):
    for folder in ("a", "b"):
        brain.files.write(
            f"skills/{folder}/double-words/SKILL.md", "---\nname: double-words\n---\n# It\n"
        )
    model = FakeModel(answer(), other_name("twice"))
    (result,) = run_patterns(brain, model, now=now_of(brain))
    assert (result.status, result.slug) == ("proposed", "twice")
    assert "choose another name" in model.requests[1].messages[-1].text


def test_a_clock_that_goes_back_or_ahead_meanwhile_pays_for_nothing_twice(brain):
    now = now_of(brain)
    with pytest.raises(ModelError):
        list(run_patterns(brain, FakeModel(), now=now))
    hour = 3_600_000
    (result,) = run_patterns(brain, FakeModel(answer()), now=now - hour)
    assert result.status == "proposed"
    unused = FakeModel(answer())
    for at in (now - 30 * 24 * hour, now, now + hour, now + 400 * 24 * hour):
        assert list(run_patterns(brain, unused, now=at)) == []
    assert unused.requests == []


def test_a_composite_that_calls_itself_over_a_changed_skill_ends_with_an_error(brain):
    add_cases(brain)
    list(run_patterns(brain, FakeModel(answer()), now=now_of(brain)))
    around = COMPOSITE.replace("double_words", "count_words").replace(
        'call("count_words", text', 'call("double_words", text'
    )
    (brain.root / "skills/count-words/skill.py").write_text(around)
    admit_untested(brain, "count-words")
    with pytest.raises(ToolFailure, match="skills do not call themselves"):
        Toolbox(brain).call("double_words", {"text": "a"})


def test_what_the_model_makes_of_an_answer_that_was_cut_is_one_refused_answer(brain):
    cut = ModelError("the answer was cut", code="answer_cut")
    (result,) = run_patterns(brain, FakeModel(cut, answer()), now=now_of(brain))
    assert (result.status, result.slug) == ("proposed", "double-words")


def test_a_model_that_fails_ends_the_job_and_the_pattern_waits_however_long(brain):
    now = now_of(brain)
    for attempt in range(8):
        down = FakeModel(ModelError("the endpoint is down", code="unreachable"))
        with pytest.raises(ModelError):
            list(run_patterns(brain, down, now=now + attempt))
        assert statuses(brain) == [("waiting", "")]
    (result,) = run_patterns(brain, FakeModel(answer()), now=now + 9)
    assert result.status == "proposed"


def test_without_a_sandbox_no_answer_is_paid(brain, monkeypatch):
    def find_none() -> Sandbox:
        raise SandboxError("there is none")

    monkeypatch.setattr("brain.evolve.patterns.find_sandbox", find_none)
    unused = FakeModel(answer())
    with pytest.raises(SandboxError):
        run_patterns(brain, unused, now=now_of(brain))
    assert unused.requests == []


def test_what_was_made_before_the_model_failed_is_said(brain):
    record_messages(brain, "double_it", "count_words")
    results = run_patterns(brain, FakeModel(answer()), now=now_of(brain))
    assert next(results).status == "proposed"
    with pytest.raises(ModelError):
        next(results)


def test_a_pattern_whose_skill_went_away_meanwhile_is_made_once_it_is_back(brain):
    now = now_of(brain)
    with pytest.raises(ModelError):
        list(run_patterns(brain, FakeModel(), now=now))
    brain.programs.retire("double-it", reason="not now")
    unused = FakeModel(answer())
    assert [one.status for one in run_patterns(brain, unused, now=now + 1)] == ["unfit"]
    assert unused.requests == []
    brain.programs.reinstate("double-it")
    assert statuses(brain) == [("new", "")]
    (result,) = run_patterns(brain, FakeModel(answer()), now=now_of(brain))
    assert result.status == "proposed"


def test_a_pattern_that_changed_while_it_waited_is_asked_for_once(brain):
    now = now_of(brain)
    with pytest.raises(ModelError):
        list(run_patterns(brain, FakeModel(), now=now))
    change_double_it(brain)
    model = FakeModel(answer())
    found = list(run_patterns(brain, model, now=now + 1))
    assert [one.status for one in found] == ["nothing", "proposed"]
    assert len(model.requests) == 1


def test_the_mode_off_in_between_leaves_the_pattern_waiting(brain, monkeypatch):
    now = now_of(brain)
    with monkeypatch.context() as patched:
        patched.setattr("brain.repo.learning.gate.Gate.propose", _refuse_as_off)
        with pytest.raises(Conflict):
            list(run_patterns(brain, FakeModel(answer()), now=now))
    (result,) = run_patterns(brain, FakeModel(), now=now + 1)
    assert result.status == "proposed"


def test_in_the_mode_off_nothing_is_recorded_and_nobody_is_asked(bare):
    brain = bare
    set_mode(brain, "off")
    run_messages(brain, TEXTS[:5])
    assert brain.patterns.list().messages == 0
    with raises_code("evolution_off", Conflict):
        run_patterns(brain, FakeModel(), now=now_of(brain))


def test_what_a_composite_calls_is_no_new_pattern(made):
    brain = made
    for text in TEXTS[:6]:
        with brain.task("Double words", agent="bot", chat="later") as task:
            Toolbox(brain, task).call("double_words", {"text": text})
    assert brain.patterns.list("later").messages == 6
    assert brain.patterns.list("later").patterns == []
    receipt = brain.receipts.read_run()
    assert receipt.tools == {"double_words": 1}
    assert [(one.name, one.caller) for one in receipt.steps] == [
        ("double_words", ""),
        ("count_words", "double_words"),
        ("double_it", "double_words"),
    ]


def test_a_run_that_only_called_composites_is_as_hard_as_its_own_calls(made):
    brain = made
    store = brain.patterns.open_store()
    for calls, hard_runs in ((4, 0), (5, 1)):
        with brain.task("Double words", agent="bot") as task:
            for text in TEXTS[:calls]:
                Toolbox(brain, task).call("double_words", {"text": text})
        brain._locked.wait_for_recorder()
        assert len(store.items("synthesis")) == hard_runs


def test_what_a_composite_calls_is_a_use_of_that_skill(made):
    brain = made
    before = {one.slug: one.uses for one in brain.programs.stats().skills}
    with brain.task("Double words", agent="bot") as task:
        Toolbox(brain, task).call("double_words", {"text": "a b"})
    after = {one.slug: one.uses for one in brain.programs.stats().skills}
    assert {slug: after[slug] - before[slug] for slug in after} == dict.fromkeys(after, 1)


def test_a_composite_says_which_of_its_skills_is_gone(made):
    brain = made
    brain.programs.retire("double-it", reason="not now")
    with pytest.raises(ToolFailure, match="double-it"):
        Toolbox(brain).call("double_words", {"text": "a b"})
    brain.programs.reinstate("double-it")
    assert Toolbox(brain).call("double_words", {"text": "a"}).data["output"] == {"double": 2}


class _Killed(BaseException):
    """Ends a process as SIGKILL does: nothing is released."""


def _die(*_: object) -> None:
    raise _Killed


def _refuse_as_off(*_: object) -> None:
    raise Conflict("off", code="evolution_off")
