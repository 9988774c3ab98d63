"""What a judge answers is kept only where it can be used, and what is kept is not trusted."""

import json
from functools import partial

import pytest

from brain.errors import ModelError
from brain.solving.judge import Judge
from brain.tasks.task_folders import read_tasks
from tests.support.refusals import raises_code
from tests.support.scripted_model import FakeModel
from tests.support.task_folders import EVALS, make_task


def found(count):
    return {"findings": [{"passed": True, "evidence": "it says so"}] * count}


@pytest.fixture
def kept(tmp_path, monkeypatch):
    monkeypatch.setenv("BRAIN_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "judged"


@pytest.fixture
def judge(kept, tmp_path):
    """Have a model of these answers judge the same work by so many criteria."""
    files = {"evals/evals.json": EVALS, "files/a.txt": ""}
    (task,) = read_tasks(make_task(tmp_path / "task", files)).tasks

    def run(*answers, criteria=1, left=b""):
        model = FakeModel(*answers)
        names = [str(number) for number in range(criteria)]
        findings = Judge(model).judge(task, names, b"Done.", left)
        assert len(findings) == criteria
        return len(model.requests)

    return run


def refusal(code):
    return ModelError("no", code=code)


@pytest.mark.parametrize(
    "answers", [[found(2)] * 3, ["No."] * 3, [refusal("answer_cut")], [refusal("bad_answer")]]
)
def test_an_answer_that_cannot_be_used_is_asked_for_again_later(judge, answers):
    with pytest.raises(ModelError):
        judge(*answers)
    assert judge(found(1)) == 1
    assert judge() == 0


def test_what_was_paid_before_the_model_failed_is_used_later(judge):
    with raises_code("unreachable", ModelError):
        judge(found(2), refusal("unreachable"))
    assert judge(found(1)) == 1


@pytest.mark.parametrize(
    "bad", [b"", b"{}", b"[]", b"\xff", b'{"fault": [1]}', b'[{"kind": "request", "parts": []}]']
)
def test_a_damaged_answer_is_none(judge, kept, bad):
    judge(found(1))
    (file,) = kept.iterdir()
    file.write_bytes(bad)
    assert (judge(found(1)), judge()) == (1, 0)
    assert json.loads(file.read_bytes())[0]["kind"] == "response"


def test_a_judge_without_tools_decides_about_a_thousand_expectations(judge):
    answers = [found(12)] * 83 + [found(4)]
    assert judge(*answers, criteria=1_000) == 84


def test_only_the_newest_answers_are_kept(judge, kept, monkeypatch):
    monkeypatch.setattr("brain.solving.judge._MAX_ANSWERS", 2)
    judge_file = partial(judge, found(1))
    assert [judge_file(left=name) for name in (b"a", b"b", b"c")] == [1, 1, 1]
    assert len(list(kept.iterdir())) == 2
    assert (judge(left=b"c"), judge_file(left=b"a")) == (0, 1)
