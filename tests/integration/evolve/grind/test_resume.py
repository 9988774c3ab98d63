"""A grind that dies anywhere goes on, pays nothing twice, and ends as one that never died."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count

import pytest

from brain import Brain
from brain.api.branches import BranchesPart, ProposalsPart, TagsPart
from brain.api.files import FilesPart
from brain.api.learning import GatePart
from brain.evolve.grind.solve import MemoryItem
from brain.repo.learning.gate import Gate
from tests.support.grinds import (
    Script,
    draw_tasks,
    grind,
    normalize,
    set_mode,
    skill_text,
    texts_of,
)
from tests.support.process_death import ProcessDied

MOMENTS = (
    (MemoryItem, "keep"),
    (TagsPart, "create"),
    (GatePart, "record_untried"),
    (FilesPart, "write_all"),
    (BranchesPart, "create"),
    (ProposalsPart, "reject"),
    (Gate, "propose"),
    (Script, "solve"),
    (Script, "edit"),
)
"""What a grind is about to do when it dies."""
PARTS = 8
PRACTICE, HELD_OUT = draw_tasks(4, held_out=False), draw_tasks(8, held_out=True, name="h")


@contextmanager
def dies_at(call: int) -> Iterator[list[str]]:
    """Die before the call with this number of those in MOMENTS; yield which it was."""
    numbers, last = count(), list[str]()

    def watch(owner: type, name: str) -> None:
        called = getattr(owner, name)

        def die(self, *args, **named):
            if name == "keep" and args[0].startswith("gate/") and "h2" not in args[0]:
                return called(self, *args, **named)
            if next(numbers) == call:
                last.append(f"{owner.__name__}.{name} {args[0] if args else ''}"[:80])
                raise ProcessDied(name)
            return called(self, *args, **named)

        patch.setattr(owner, name, die)

    with pytest.MonkeyPatch.context() as patch:
        for owner, name in MOMENTS:
            watch(owner, name)
        yield last


def learn(number, files):
    """Learn badly first, then what helps, and note it in the memory and as a draft."""
    files["skills/a/SKILL.md"] = skill_text("bad" if number == 1 else f"good {number}")
    files["skills/_drafts/more.md"] = skill_text(f"draft {number}", "more")


def score(task, front):
    text = texts_of(front)
    return 1.0 if "good" in text else 0.25 * ("bad" in text)


def run(folder, script, item):
    with Brain.open(folder) as brain:
        return grind(
            brain,
            PRACTICE,
            script,
            holdout=HELD_OUT,
            item=item,
            settings={
                "batch_size": 2,
                "is_deterministic": True,
                "success": "gated_promotion",
                "promotion_threshold": 2,
            },
            compare=True,
        )


def make_brain(folder, mode):
    with Brain.init(folder, author="ada") as brain:
        set_mode(brain, mode)
        brain.skills.upsert("old", "# Old\n", description="Old")
    return folder


def read_tags(folder):
    with Brain.open(folder) as brain:
        assert brain.verify().ok
        return {tag.name: tag.snapshot for tag in brain.tags.list()}


@pytest.fixture(scope="module", params=["gated", "propose"])
def whole(request, tmp_path_factory):
    """What a grind comes to that never dies: its mode, report and payments."""
    script = Script(score, learn)
    folder = make_brain(tmp_path_factory.mktemp("whole") / "brain", request.param)
    report = run(folder, script, MemoryItem())
    done = {"gated": "admitted", "propose": "proposed"}[request.param]
    assert report["batches"][0]["gate"]["done"] == done and len(report["steps"]) == 3
    return request.param, normalize(report), set(script.paid)


@pytest.mark.parametrize("first", range(PARTS))
def test_a_grind_that_dies_at_any_call_pays_once_and_ends_as_one_that_did_not(
    tmp_path, whole, first
):
    mode, expected, paid = whole
    for call in count(first, PARTS):
        folder, item = make_brain(tmp_path / f"{call}", mode), MemoryItem()
        script = Script(score, learn)
        with dies_at(call) as died, suppress(ProcessDied):
            run(folder, script, item)
        if not died:
            assert call >= 60
            break
        tags = read_tags(folder)
        report = normalize(run(folder, script, item))
        if "promote/" in died[0]:  # the gate has decided, and is asked again
            gates = [one["gate"] or {"done": "admitted"} for one in report["batches"]]
            wanted = [one["gate"]["done"] for one in expected["batches"]]
            assert [one["done"] for one in gates] == wanted, died
            assert report["final_score"] == expected["final_score"], died
        else:
            assert report == expected, died
        assert tags.items() <= read_tags(folder).items(), died
        lost = died[0].partition(" ")[2] if "keep" in died[0] else ""
        assert {key for key, times in script.paid.items() if times > 1} <= {lost}, died
        assert script.paid.keys() == paid, died
