import re
from contextlib import suppress

import pytest

from brain import Brain, ToolFailure
from brain.errors import InvalidInput
from brain.serve.mcp.brain_pool import (
    MAX_CLIENTS,
    PROPOSE_MODE,
    READ_MODE,
    WRITE_MODE,
    BrainPool,
    SkillChanges,
    client_slug,
)
from brain.serve.tools import TOOLS
from tests.support.cases import read_cases
from tests.support.refusals import raises_code

CASES = read_cases(__file__)


@pytest.fixture
def brain(tmp_path):
    with Brain.init(tmp_path / "agent") as made:
        made.skills.upsert("Oracle", "One.\n", description="Check the oracle")
        yield made


def opened(brain: Brain, mode: str) -> BrainPool:
    return BrainPool(lambda author: Brain.open(brain.root, author=author), mode)


def test_what_moved_is_told_once_with_what_changed(brain):
    desk = opened(brain, WRITE_MODE)
    assert desk.poll_changes() is None
    assert desk.poll_changes() is None
    brain.skills.upsert("Oracle", "Two.\n")
    assert desk.poll_changes() == SkillChanges(frozenset({"oracle"}), False)
    assert desk.poll_changes() is None
    brain.skills.upsert("Fresh", "F.\n")
    brain.skills.delete("oracle")
    assert desk.poll_changes() == SkillChanges(frozenset({"fresh", "oracle"}), True)
    desk.close()


def test_what_is_proposed_and_rejected_moves_too(brain):
    desk = opened(brain, PROPOSE_MODE)
    desk.call("claude", "skills_list", {})
    assert desk.poll_changes() is None
    desk.call("claude", "skill_manage", {"action": "create", "name": "x", "content": "X."})
    assert desk.poll_changes() == SkillChanges(frozenset({"x"}), True)
    brain.proposals.reject("claude")  # the only session of that client
    assert desk.poll_changes() == SkillChanges(frozenset({"x"}), True)
    desk.close()


def test_who_proposed_is_told_once_why_it_was_rejected(brain):
    desk = opened(brain, PROPOSE_MODE)
    create = {"action": "create", "name": "x", "content": "X."}
    desk.call("claude", "skill_manage", create, "a")
    desk.call("codex", "skill_manage", create, "b")
    (name,) = (one.name for one in brain.proposals.list() if one.name.startswith("claude"))
    assert "rejected" not in desk.call("claude", "skills_list", {}, "a").text
    brain.proposals.reject(name, "Say where\nthe price comes from")
    said = f"A person rejected what you proposed as {name}: Say where the price comes from"
    assert desk.call("claude", "skill_manage", create, "a").text.endswith(said)
    assert "rejected" not in desk.call("claude", "skills_list", {}, "a").text
    assert "rejected" not in desk.call("codex", "skills_list", {}, "b").text
    brain.proposals.reject(name)
    assert desk.call("claude", "skills_list", {}, "a").text.endswith(f"{name}: no reason given")
    desk.close()


@pytest.mark.parametrize("mode", [WRITE_MODE, PROPOSE_MODE, READ_MODE])
def test_the_instructions_name_no_tool_that_is_not_offered(brain, mode):
    desk = opened(brain, mode)
    offered = {tool.name for tool in desk.list_tools("claude", "a")}
    named = {tool.name for tool in TOOLS if tool.name in desk.instructions("claude", "a")}
    assert {"skill_view", "skills_list"} <= named <= offered
    assert ("skill_manage" in named) is (mode != READ_MODE)
    desk.close()


def test_a_later_session_of_the_client_is_told_why_in_its_instructions(brain):
    desk = opened(brain, PROPOSE_MODE)
    desk.call("claude", "skill_manage", {"action": "create", "name": "x", "content": "X."})
    desk.close()
    (found,) = brain.proposals.list()
    brain.proposals.reject(found.name, "Too long: " + 5000 * "x")
    later = opened(brain, PROPOSE_MODE)
    said = later.instructions("claude", "new")
    assert f"rejected what you proposed as {found.name}: Too long: xxx" in said
    assert len(said) < 4096
    assert "rejected" not in later.instructions("codex", "new")
    brain.undo()
    assert "rejected" not in later.instructions("claude", "new")
    later.close()


def test_a_session_goes_on_after_a_part_of_its_proposal_was_accepted(brain):
    desk = opened(brain, PROPOSE_MODE)
    for name in ("x", "y"):
        create = {"action": "create", "name": name, "content": f"Of {name}."}
        create["description"] = "Do it"
        desk.call("claude", "skill_manage", create)
    brain.proposals.accept(brain.proposals.list()[0].snapshot, skills=["x"])
    assert [skill.slug for skill in brain.skills.list()] == ["oracle", "x"]
    assert desk.call("claude", "skill_view", {"name": "y"}).text
    for name in ("x", "y"):
        patch = {"name": name, "old_string": "Of", "new_string": "About"}
        desk.call("claude", "skill_manage", {"action": "patch", **patch})
    (rest,) = brain.proposals.list()
    assert [(one.slug, one.change) for one in rest.skills] == [("x", "upgraded"), ("y", "added")]
    brain.proposals.accept(rest.snapshot)
    assert brain.skills.view("y").body.strip() == "About y."
    assert brain.verify(deep=True).ok and brain.status().clean
    desk.close()


def test_a_proposal_that_somebody_works_on_keeps_nobody_from_being_told(brain):
    desk = opened(brain, PROPOSE_MODE)
    desk.call("claude", "skill_manage", {"action": "create", "name": "x", "content": "X."})
    desk.poll_changes()
    brain.branches.switch(f"proposed/{brain.proposals.list()[0].name}")
    assert desk.poll_changes() is not None
    with raises_code("proposal_is_current", ToolFailure):
        desk.call("claude", "skill_manage", {"action": "create", "name": "y", "content": "Y."})
    desk.close()


def test_only_so_many_brains_stay_open(brain):
    desk = opened(brain, WRITE_MODE)
    first = desk.brain("client 0")
    for number in range(MAX_CLIENTS):
        desk.brain(f"client {number + 1}")
    assert desk.brain("client 0") is not first
    desk.close()


def test_for_reading_all_share_one_brain_and_write_tools_are_not_there(brain):
    desk = opened(brain, READ_MODE)
    assert desk.brain("a") is desk.brain("b")
    tools = desk.list_tools("a")
    assert tools and all(tool.read_only for tool in tools)
    with raises_code("read_only", ToolFailure):
        desk.call("a", "skill_manage", {"action": "delete", "name": "oracle"})
    assert brain.skills.view("oracle").version == 1
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
def test_a_client_writes_under_the_slug_of_its_name(told, name):
    assert client_slug(told) == name


def files(brain: Brain) -> dict[str, bytes]:
    found = (file for file in brain.root.rglob("*") if file.is_file())
    return {str(file): file.read_bytes() for file in found if ".brain" not in file.parts}


@pytest.mark.parametrize(
    ("tool", "given"),
    CASES["test_whatever_is_proposed_leaves_the_folder_alone_and_can_be_accepted"],
)
def test_whatever_is_proposed_leaves_the_folder_alone_and_can_be_accepted(brain, tool, given):
    desk = opened(brain, PROPOSE_MODE)
    before, head = files(brain), brain.head
    assert desk.call("claude", tool, given).changed
    assert (files(brain), brain.head) == (before, head)
    (found,) = brain.proposals.list()
    brain.proposals.accept(found.snapshot)
    assert files(brain) != before and brain.status().clean
    assert brain.verify(deep=True).ok
    desk.close()


def test_there_is_nothing_to_snapshot_in_a_proposal(brain):
    desk = opened(brain, PROPOSE_MODE)
    with raises_code("no_folder", ToolFailure):
        desk.call("claude", "brain_snapshot", {})
    for tool in ("brain_log", "brain_verify", "skills_list"):
        assert desk.call("claude", tool, {}).text
    assert desk.call("claude", "brain_diff", {"from": "@~1", "to": "@"}).text
    desk.close()


def test_what_a_client_read_before_it_wrote_goes_with_what_it_wrote(brain):
    desk = opened(brain, WRITE_MODE)
    head = brain.head
    desk.call("claude", "skill_view", {"name": "oracle"})
    assert brain.head == head  # reading adds nothing
    desk.call("claude", "skill_manage", {"action": "edit", "name": "oracle", "content": "Two."})
    run = brain.receipts.show()
    assert (run.agent, run.task) == ("claude", "A session of claude")
    assert run.skills_loaded == ["oracle@1"]
    assert brain.receipts.verify().ok
    desk.close()


def test_the_record_of_a_session_is_closed_when_it_is_over(brain):
    desk = opened(brain, WRITE_MODE)
    create = {"action": "edit", "name": "x", "content": "X."}
    for session in ("a", "b", "c"):
        desk.call("claude", "skill_view", {"name": "oracle"}, session)
    for session in ("a", "b"):
        assert desk.call("claude", "skill_manage", create, session).changed
    first, second = brain.receipts.show("@~1"), brain.receipts.show()
    assert first.run != second.run and {first.outcome, second.outcome} == {""}
    desk.end_session("a")
    desk.end_session("nobody's")
    ended = brain.receipts.show()
    assert (ended.run, ended.outcome) == (first.run, "unknown")
    desk.call("claude", "brain_log", {}, "b")
    desk.close()  # of three sessions two wrote, one of which is over already
    ended = brain.receipts.show()
    assert (ended.run, ended.outcome, ended.reason) == (second.run, "unknown", "the session ended")
    assert ended.tools["brain_log"] == 1 and brain.status().clean
    assert brain.receipts.verify().findings == []
    assert [info.operation["kind"] for info in brain.history.log(limit=3)] == [
        "task",
        "task",
        "upsert",
    ]


def test_a_session_that_ends_opens_no_proposal_that_was_accepted(brain):
    desk = opened(brain, PROPOSE_MODE)
    create = {"action": "create", "name": "x", "content": "X."}
    desk.call("claude", "skill_manage", create)
    brain.proposals.accept(brain.proposals.list()[0].snapshot)
    head = brain.head
    desk.call("codex", "skill_manage", {**create, "name": "y"})
    desk.close()
    (found,) = brain.proposals.list()
    assert found.name.startswith("codex-") and brain.head == head
    assert brain.receipts.show(found.snapshot).outcome == "unknown"


def test_a_session_whose_end_cannot_be_recorded_ends_all_the_same(brain, monkeypatch):
    from brain.repo import transaction
    from brain.store.writer import writer_lock

    desk = opened(brain, WRITE_MODE)
    desk.call("claude", "skill_manage", {"action": "create", "name": "x", "content": "X."})
    head = brain.head
    monkeypatch.setattr(transaction, "LOCK_TIMEOUT_SECONDS", 0.0)
    with writer_lock(brain.root / ".brain", 1.0):
        desk.close()
    assert brain.head == head


def test_a_client_that_comes_back_after_a_pause_begins_a_new_session(brain, monkeypatch):
    from brain.serve.mcp import brain_pool as module

    desk = opened(brain, WRITE_MODE)
    runs = []
    for pause in (module.SESSION_IDLE_SECONDS, module.SESSION_IDLE_SECONDS, -1.0):
        monkeypatch.setattr(module, "SESSION_IDLE_SECONDS", pause)
        desk.call("claude", "skill_manage", {"action": "edit", "name": "x", "content": "X."})
        runs.append(brain.receipts.show().run)
    assert runs[0] == runs[1] != runs[2]
    desk.close()


def test_a_session_that_only_reads_is_begun_anew_before_it_holds_too_much(brain, monkeypatch):
    from brain.serve.mcp import brain_pool as module

    monkeypatch.setattr(module, "MAX_UNRECORDED_CALLS", 3)
    desk = opened(brain, WRITE_MODE)
    for _ in range(10):
        assert desk.call("claude", "skills_list", {}).text
    desk.call("claude", "skill_manage", {"action": "create", "name": "x", "content": "X."})
    assert brain.receipts.show().tools["skills_list"] <= 3
    desk.close()


NEW = {"action": "create", "name": "x", "content": "X."}


def test_sessions_of_clients_of_one_name_propose_on_branches_of_their_own(brain):
    desk = opened(brain, PROPOSE_MODE)
    for session in ("a", "b"):
        desk.call("mcp", "skill_manage", {**NEW, "content": f"By {session}."}, session)
    with pytest.raises(ToolFailure):
        desk.call("mcp", "skill_view", {"name": "x"}, "c")
    for session in ("a", "b"):
        assert f"By {session}." in desk.call("mcp", "skill_view", {"name": "x"}, session).text
        assert desk.brain("mcp", session).skills.view("x").version == 1
    names = [found.name for found in brain.proposals.list()]
    assert len(names) == 2 and all(re.fullmatch("mcp-[0-9a-f]{6}", name) for name in names)
    with raises_code("ambiguous_proposal", InvalidInput) as refused:
        brain.proposals.show("mcp")
    assert names[0] in refused.value.message
    desk.end_session("a")
    assert not desk.brain("mcp", "a").skills.find_addresses("x")  # as a new session sees it
    brain.proposals.reject(names[0])
    assert brain.proposals.show("mcp").name == names[1]
    desk.close()


def test_a_session_whose_brain_was_closed_to_make_room_goes_on_with_its_proposal(brain):
    desk = opened(brain, PROPOSE_MODE)
    desk.call("mcp", "skill_manage", NEW, "first")
    for number in range(MAX_CLIENTS):
        desk.call("mcp", "skills_list", {}, f"s{number}")
    assert desk.call("mcp", "skill_view", {"name": "x"}, "first").text
    assert desk.call("mcp", "skill_manage", {**NEW, "name": "y"}, "first").changed
    assert len(brain.proposals.list()) == 1
    desk.close()


def test_a_named_proposal_is_shared_by_all_sessions_also_later(brain):
    for session in ("a", "b"):
        desk = BrainPool(
            lambda author: Brain.open(brain.root, author=author), PROPOSE_MODE, proposal="team"
        )
        desk.call("mcp", "skill_manage", {**NEW, "name": session}, session)
        assert "▸ a" in desk.instructions("mcp", session)
        desk.close()
    assert [found.name for found in brain.proposals.list()] == ["team"]
    with pytest.raises(InvalidInput):
        BrainPool(lambda author: Brain.open(brain.root), PROPOSE_MODE, proposal="a..b")


@pytest.mark.parametrize("mode", [WRITE_MODE, PROPOSE_MODE, READ_MODE])
def test_a_session_without_a_write_leaves_no_entry_in_the_log(brain, mode):
    log = [info.snapshot for info in brain.history.log()]
    operations = len(brain.history.list_operations())
    desk = opened(brain, mode)
    for tool, given in (
        ("skills_list", {"task": "oracle"}),
        ("skill_view", {"name": "oracle"}),
        ("memory", {"action": "read", "target": "memory"}),
        ("brain_diff", {}),
        ("skill_manage", {"action": "patch", "name": "oracle", "old_string": "no"}),
        ("skill_manage", {"action": "delete", "name": "none"}),
        ("brain_snapshot", {}),
    ):
        with suppress(ToolFailure):
            desk.call("mcp", tool, given, "one")
    desk.instructions("mcp", "one")
    desk.end_session("one")
    desk.close()
    assert [info.snapshot for info in brain.history.log()] == log
    assert len(brain.history.list_operations()) == operations
    assert brain.proposals.list() == []
