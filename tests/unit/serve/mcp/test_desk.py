from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from brain import Brain, ToolFailure
from brain.serve.mcp.desk import MAX_CLIENTS, PROPOSES, READS, WRITES, Changed, Desk, named


@pytest.fixture
def brain(tmp_path: Path) -> Iterator[Brain]:
    with Brain.init(tmp_path / "agent") as made:
        made.upsert_skill("Oracle", "One.\n", description="Check the oracle")
        yield made


def opened(brain: Brain, mode: str) -> Desk:
    return Desk(lambda author: Brain.open(brain.root, author=author), mode)


def test_what_moved_is_told_once_with_what_changed(brain: Brain) -> None:
    desk = opened(brain, WRITES)
    assert desk.moved() is None
    assert desk.moved() is None
    brain.upsert_skill("Oracle", "Two.\n")
    assert desk.moved() == Changed(frozenset({"oracle"}), False)
    assert desk.moved() is None
    brain.upsert_skill("Fresh", "F.\n")
    brain.delete_skill("oracle")
    assert desk.moved() == Changed(frozenset({"fresh", "oracle"}), True)
    desk.close()


def test_what_is_proposed_and_rejected_moves_too(brain: Brain) -> None:
    desk = opened(brain, PROPOSES)
    desk.call("claude", "skills_list", {})
    assert desk.moved() is None
    desk.call("claude", "skill_manage", {"action": "create", "name": "x", "content": "X."})
    assert desk.moved() == Changed(frozenset({"x"}), True)
    brain.reject_proposal("claude")
    assert desk.moved() == Changed(frozenset({"x"}), True)
    desk.close()


def test_a_proposal_that_somebody_works_on_keeps_nobody_from_being_told(brain: Brain) -> None:
    desk = opened(brain, PROPOSES)
    desk.call("claude", "skill_manage", {"action": "create", "name": "x", "content": "X."})
    desk.moved()
    brain.switch("proposed/claude")
    assert desk.moved() is not None
    with pytest.raises(ToolFailure) as caught:
        desk.call("claude", "skill_manage", {"action": "create", "name": "y", "content": "Y."})
    assert caught.value.code == "proposal_is_current"
    desk.close()


def test_only_so_many_brains_stay_open(brain: Brain) -> None:
    desk = opened(brain, WRITES)
    first = desk.brain("client 0")
    for number in range(MAX_CLIENTS):
        desk.brain(f"client {number + 1}")
    assert desk.brain("client 0") is not first
    desk.close()


def test_for_reading_all_share_one_brain_and_write_tools_are_not_there(brain: Brain) -> None:
    desk = opened(brain, READS)
    assert desk.brain("a") is desk.brain("b")
    assert desk.tools and all(tool.reads for tool in desk.tools)
    with pytest.raises(ToolFailure) as caught:
        desk.call("a", "skill_manage", {"action": "delete", "name": "oracle"})
    assert caught.value.code == "read_only"
    assert brain.view_skill("oracle").version == 1
    desk.close()


@pytest.mark.parametrize(
    ("told", "name"),
    [
        ("Claude Code", "claude-code"),
        ("", "agent"),
        ("../..", "agent"),
        ("\x00", "agent"),
        ("x" * 500, "x" * 64),
        ("Ünï", "uni"),
    ],
)
def test_a_client_writes_under_the_slug_of_its_name(told: str, name: str) -> None:
    assert named(told) == name
