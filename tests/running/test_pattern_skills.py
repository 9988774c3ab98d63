"""A pattern of recorded runs becomes a tool: by a scripted model, the gate, and the sandbox."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from brain import Brain
from brain.errors import Conflict, ModelError, ToolFailure
from brain.evolve.fake_model import FakeModel
from brain.evolve.patterns.run_patterns import LEASE_MS, MAX_ATTEMPTS, run_patterns
from brain.repo.programs.tried_programs import STATE_DIR_VARIABLE
from brain.sandbox.sandbox_protocol import Sandbox
from brain.serve.tools import Toolbox
from brain.serve.tools.program_definitions import RESERVED_NAMES
from tests.running.pattern_runs import COMPOSITE, TEXTS, answer, make_brain, run_messages

PATTERN = ("count-words", "double-it")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory, sandbox: Sandbox) -> Path:
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
            (result,) = run_patterns(brain, FakeModel(answer()), now=now_of(brain))
            assert result.status == "admitted"
    return folder


@pytest.fixture
def bare(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Brain]:
    """A brain with two skills that have not run."""
    yield from open_copy(template, "bare", tmp_path, monkeypatch)


@pytest.fixture
def brain(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Brain]:
    """A brain whose agent used two skills in each of several messages."""
    yield from open_copy(template, "run", tmp_path, monkeypatch)


@pytest.fixture
def made(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Brain]:
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


def test_a_pattern_becomes_a_tool_that_an_open_session_has_at_once(brain: Brain) -> None:
    toolbox = Toolbox(brain)
    model = FakeModel(answer(f"import os\n{COMPOSITE}"), answer())
    (result,) = run_patterns(brain, model, now=now_of(brain), taken=RESERVED_NAMES)
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
    events = brain.patterns.open_store().read_events("patterns")
    assert [(one.phase, one.result) for one in events] == [
        ("validate", "rejected"),
        ("admitted", "success"),
    ]
    assert "it uses os" in events[0].trigger_reason
    assert [one.decision for one in brain.history.why("double-words").decisions] == ["admit"]


def test_the_model_sees_the_practice_half_of_what_was_recorded_and_nothing_held_out(
    brain: Brain,
) -> None:
    model = FakeModel(answer())
    run_patterns(brain, model, now=now_of(brain))
    shown = model.requests[0].messages[0].text
    cases = brain.gate.cases("double-words")
    assert {case.is_held_out for case in cases} == {True, False}
    for case in cases:
        line = f"> count_words({json.dumps(dict(case.input))}) gave"  # type: ignore[arg-type]
        assert case.is_held_out is (line not in shown)


def test_a_pattern_is_made_once_and_again_only_if_one_of_its_skills_changed(
    made: Brain, sandbox: Sandbox
) -> None:
    brain = made
    unused = FakeModel(answer())
    assert run_patterns(brain, unused, now=now_of(brain)) == []
    assert unused.requests == []
    code = brain.root / "skills/double-it/skill.py"
    code.write_text(code.read_text() + "# changed\n")
    brain.programs.admit("double-it", sandbox=sandbox)
    assert statuses(brain) == [("new", "")]
    better = COMPOSITE.replace('counted["words"]', 'int(counted["words"])')
    (result,) = run_patterns(brain, FakeModel(answer(better)), now=now_of(brain))
    assert result.slug == "double-words"
    assert result.status in ("kept", "rejected", "proposed", "admitted")


def test_a_skill_that_patterns_did_not_make_is_never_replaced(brain: Brain) -> None:
    brain.skills.upsert("double-words", "# Mine\n", description="Written by a person")
    other = COMPOSITE.replace("double_words", "double_the_words")
    model = FakeModel(answer(), answer(other, name="double_the_words"))
    (result,) = run_patterns(brain, model, now=now_of(brain))
    assert (result.status, result.slug) == ("admitted", "double-the-words")
    assert "there is another skill double-words" in model.requests[1].messages[-1].text
    assert brain.skills.view("double-words").body.strip() == "# Mine"


def test_a_composite_that_a_person_has_changed_is_not_replaced(made: Brain) -> None:
    brain = made
    brain.skills.upsert("double-words", "# Mended by a person\n")
    code = brain.root / "skills/double-it/skill.py"
    code.write_text(code.read_text() + "# changed\n")
    brain.programs.admit("double-it")
    model = FakeModel(answer(), answer(), answer())
    (result,) = run_patterns(brain, model, now=now_of(brain))
    assert (result.status, result.outcome) == ("failed", None)
    assert "Mended by a person" in brain.skills.view("double-words").body


def test_without_a_model_the_patterns_are_named_and_nothing_is_queued(brain: Brain) -> None:
    (result,) = run_patterns(brain, None, now=now_of(brain))
    assert (tuple(result.skills), result.status) == (PATTERN, "no_model")
    assert statuses(brain) == [("new", "")]


def test_what_has_no_recorded_cases_is_proposed_to_a_person(bare: Brain) -> None:
    brain = bare
    for _ in range(5):
        brain.patterns.record("chat", ["count_words", "double_it"])
    before = brain.head
    (result,) = run_patterns(brain, FakeModel(answer()), now=now_of(brain))
    assert result.status == "proposed"
    assert brain.head == before


def test_in_the_mode_propose_nothing_is_written_on_the_branch(brain: Brain) -> None:
    set_mode(brain, "propose")
    before = brain.head
    (result,) = run_patterns(brain, FakeModel(answer()), now=now_of(brain))
    assert (result.status, brain.head) == ("proposed", before)
    assert [one.name for one in brain.proposals.list()] == [result.outcome.proposal]  # type: ignore[union-attr]


def test_a_model_that_answers_nonsense_for_ever_is_asked_three_times_and_no_more(
    brain: Brain,
) -> None:
    model = FakeModel(*["nonsense"] * 9)
    (result,) = run_patterns(brain, model, now=now_of(brain))
    assert (result.status, len(model.requests)) == ("failed", 3)
    assert run_patterns(brain, model, now=now_of(brain)) == []
    assert len(model.requests) == 3


def test_code_that_stays_dangerous_is_kept_as_a_rejected_attempt(brain: Brain) -> None:
    model = FakeModel(*[answer(f"import os\n{COMPOSITE}")] * 3)
    (result,) = run_patterns(brain, model, now=now_of(brain))
    assert (result.status, result.slug) == ("rejected", "double-words")
    (attempt,) = brain.programs.attempts("double-words")
    assert "os" in attempt.reason
    with pytest.raises(ToolFailure):
        Toolbox(brain).call("double_words", {"text": "x"})


def test_an_attempt_that_was_killed_goes_on_with_the_answers_that_were_paid(
    brain: Brain, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = now_of(brain)
    with monkeypatch.context() as patched:
        patched.setattr("brain.evolve.patterns.composite.Gate.propose", _die)
        with pytest.raises(KeyboardInterrupt):
            run_patterns(brain, FakeModel(answer()), now=now)
    unused = FakeModel()
    assert run_patterns(brain, unused, now=now) == []  # another process may be at it
    (result,) = run_patterns(brain, unused, now=now + LEASE_MS + 1)
    assert (result.status, unused.requests) == ("admitted", [])


def test_a_model_that_fails_is_asked_again_later_and_given_up_in_the_end(brain: Brain) -> None:
    now = now_of(brain)
    for attempt in range(MAX_ATTEMPTS):
        down = FakeModel(ModelError("the endpoint is down", code="unreachable"))
        (result,) = run_patterns(brain, down, now=now + attempt * (LEASE_MS + 1))
        assert result.status == "failed"
    assert run_patterns(brain, FakeModel(), now=now + 2 * MAX_ATTEMPTS * LEASE_MS) == []
    assert statuses(brain)[0][0] == "failed"


def test_in_the_mode_off_nothing_is_recorded_and_nobody_is_asked(bare: Brain) -> None:
    brain = bare
    set_mode(brain, "off")
    run_messages(brain, TEXTS[:5])
    assert brain.patterns.list().messages == 0
    with pytest.raises(Conflict) as refused:
        run_patterns(brain, FakeModel(), now=now_of(brain))
    assert refused.value.code == "evolution_off"


def test_what_a_composite_calls_is_no_new_pattern(made: Brain) -> None:
    brain = made
    for text in TEXTS[:6]:
        with brain.task("Double words", agent="bot", chat="later") as task:
            Toolbox(brain, task).call("double_words", {"text": text})
    assert brain.patterns.list("later").messages == 6
    assert brain.patterns.list("later").patterns == []


def _die(*_: object) -> None:
    raise KeyboardInterrupt
