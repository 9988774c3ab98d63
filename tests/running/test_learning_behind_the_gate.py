"""A skill is learned from failures, and one that would make another task worse is refused."""

import json
from collections.abc import Iterable
from itertools import count, islice
from typing import Any

import pytest

from brain import Brain, evolve
from brain.gating.case_files import Expectation
from brain.gating.held_out import is_held_out
from brain.programs import CASES_FILE, CHECK_FILE, PROGRAM_FILE, SCHEMA_FILE
from brain.repo.learning.change import ProposedChange
from brain.serve.tools.toolbox import Toolbox
from tests.support.gap_answers import gap_answer, words_code
from tests.support.processes import TIMEOUT_SECONDS
from tests.support.scripted_model import FakeModel

HELD_OUT_CASES = 6
GOAL = "Count the words of the report"
SUM_CODE = """\
import json, sys
from skillapi import SkillError, call

total = 0
for text in json.loads(sys.argv[1])["texts"]:
    try:
        total += call("count_words", text=text)["words"]
    except SkillError:
        total += len(text.split())
print(json.dumps({"sum": total}))
"""
SUM_CHECK = """\
def check(payload, output):
    assert output == {"sum": sum(len(text.split()) for text in payload["texts"])}
"""
SUM_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"texts": {"type": "array", "items": {"type": "string"}}},
    "required": ["texts"],
}
PARTS = "len(text.replace('-', ' ').split())"
PARTS_CHECK = """\
def check(payload, output):
    parts = [part for word in payload['text'].split() for part in word.split('-') if part]
    assert output == {'words': len(parts)}
"""


def add_held_out(brain: Brain, slug: str, rows: Iterable[tuple[dict[str, Any], object]]) -> None:
    """Add the first held-out cases of some, so that there are just enough."""
    chosen = islice((row for row in rows if is_held_out(row[0])), HELD_OUT_CASES)
    for payload, output in chosen:
        brain.gate.add_case(slug, payload, Expectation(has_equals=True, equals=output))


def sum_files() -> dict[str, bytes]:
    texts = [["one two", "three"], ["four"]]
    cases = [
        {"payload": {"texts": some}, "output": {"sum": len(" ".join(some).split())}}
        for some in texts
    ]
    return {
        PROGRAM_FILE: SUM_CODE.encode(),
        SCHEMA_FILE: json.dumps(SUM_SCHEMA).encode(),
        CASES_FILE: json.dumps(cases).encode(),
        CHECK_FILE: SUM_CHECK.encode(),
    }


def parts_files(brain: Brain) -> dict[str, bytes]:
    """A program of count-words that counts the parts of words with hyphens."""
    cases = [{"payload": {"text": "a-b c"}, "output": {"words": 3}}]
    schema = brain.programs.find("count-words").files[SCHEMA_FILE]
    return {
        PROGRAM_FILE: words_code(PARTS).encode(),
        SCHEMA_FILE: schema,
        CASES_FILE: json.dumps(cases).encode(),
        CHECK_FILE: PARTS_CHECK.encode(),
    }


def test_a_failing_task_grows_a_skill_and_a_change_that_harms_another_task_is_refused(
    tmp_path, sandbox, monkeypatch
):
    monkeypatch.setenv("BRAIN_STATE_DIR", str(tmp_path / "state"))
    with Brain.init(tmp_path / "agent", author="agent") as brain:
        manifest = brain.root / "manifest.yaml"
        manifest.write_text(f"{manifest.read_text()}evolution: {{mode: gated}}\n")
        brain.snapshot()
        rows = (({"text": " ".join(["w"] * number)}, {"words": number}) for number in count())
        add_held_out(brain, "count-words", rows)

        # 1. A task fails three times; a skill is written, passes its held-out cases, and is live.
        for _ in range(3):
            with pytest.raises(ValueError, match="no such tool"), brain.task(GOAL):
                raise ValueError("no such tool")
        assert brain.gaps.wait(TIMEOUT_SECONDS) == []
        steps = list(evolve.run_due(brain, FakeModel(gap_answer())))
        assert [(step.evolver, step.slug, step.reason) for step in steps] == [
            ("gaps", "count-words", "success")
        ]
        tools = Toolbox(brain)
        assert tools.call("count_words", {"text": "a b c"}).data["output"] == {"words": 3}

        # 2. Another skill that calls it comes with a task of its own.
        person = ProposedChange(
            name="sum-words", evolver="person", description="Sum words", files=sum_files()
        )
        lists = (["well-known", f"item-{number}"] for number in count())
        add_held_out(brain, "sum-words", (({"texts": some}, {"sum": 2}) for some in lists))
        assert brain.gate.open(sandbox=sandbox).propose(person).done == "admitted"

        # 3. A change helps the task of its own skill and harms the other: it is refused.
        words = ("-".join("x" * number) for number in count(2))
        add_held_out(
            brain, "count-words", (({"text": word}, {"words": word.count("x")}) for word in words)
        )
        change = ProposedChange(name="count-words", evolver="synthesis", files=parts_files(brain))
        refused = brain.gate.open(sandbox=sandbox).propose(change)
        assert (refused.gate, refused.done) == ("reject", "rejected")
        assert refused.numbers is not None and refused.numbers.wins >= 5
        assert refused.numbers.losses == 0
        assert refused.numbers.worse
        assert {path.split("/")[1] for path in refused.numbers.worse} == {"sum-words"}
        assert tools.call("count_words", {"text": "a-b"}).data["output"] == {"words": 1}

        # 4. Both are told with their numbers, and hold when they are derived again.
        assert steps[0].outcome is not None
        learned = brain.gate.recheck(steps[0].outcome.snapshot, run=True)
        attempt = brain.gate.recheck(refused.attempt, run=True)
        assert (learned.gate, learned.differences, learned.unknown) == ("admit", [], [])
        assert (attempt.gate, attempt.differences, attempt.unknown) == ("reject", [], [])
        told = json.dumps(brain.history.why("count-words"), default=str)
        assert GOAL in told
        assert refused.attempt.split("/")[-1] in told or "reject" in told
        assert brain.verify(deep=True).findings == []
