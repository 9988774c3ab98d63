"""What an agent proposes stays beside the head and the folder until a person takes it over."""

import pytest

from brain import Brain, Conflict, InvalidInput, NotFound
from brain.encoding import pack
from brain.ops import merge_state
from brain.repo.transaction import lock_for_writing, store_transaction
from brain.trust import ed25519
from brain.trust.ed25519 import format_key
from tests.support.refusals import raises_code


@pytest.fixture
def brain(tmp_path):
    with Brain.init(tmp_path / "agent", author="person") as made:
        made.skills.upsert("Oracle", "One.\n", description="Check the oracle")
        yield made


@pytest.fixture
def agent(brain):
    with brain.proposals.open("claude", author="claude") as opened:
        yield opened


def folder(brain: Brain) -> dict[str, bytes]:
    return {
        str(file.relative_to(brain.root)): file.read_bytes()
        for file in brain.root.rglob("*")
        if file.is_file() and ".brain" not in file.parts
    }


def test_what_is_proposed_touches_neither_the_folder_nor_the_head(brain, agent):
    before, head = folder(brain), brain.head
    assert agent.head == head
    agent.skills.upsert("Oracle", "Two.\n")
    agent.skills.upsert("Other", "New.\n")
    agent.skills.delete("oracle")
    assert folder(brain) == before
    assert brain.head == head
    assert brain.status().clean
    assert [skill.slug for skill in brain.skills.list()] == ["oracle"]
    assert brain.verify(deep=True).ok


def test_an_agent_reads_what_it_proposed(agent, brain):
    agent.skills.upsert("Oracle", "Two.\n")
    assert agent.skills.view("oracle").body.strip() == "Two."
    assert brain.skills.view("oracle").body.strip() == "One."
    assert agent.skills.upsert("Oracle", "Three.\n").version == 3


def test_one_who_proposed_nothing_reads_the_head_as_it_is_now(brain, agent):
    brain.skills.upsert("Oracle", "By a person.\n")
    assert agent.skills.view("oracle").body.strip() == "By a person."


def test_edits_by_hand_are_no_part_of_a_proposal(brain, agent):
    file = brain.root / "skills/oracle/SKILL.md"
    file.write_text(file.read_text() + "By hand.\n")
    agent.skills.upsert("Oracle", "Two.\n")
    assert file.read_text().endswith("By hand.\n")
    assert brain.status().modified == ["skills/oracle/SKILL.md"]
    assert "By hand" not in agent.skills.view("oracle").body


def test_a_proposal_is_listed_with_what_it_changes_and_since_when(brain, agent):
    assert brain.proposals.list() == []
    base = brain.head
    agent.skills.upsert("Oracle", "Two.\n")
    done = agent.skills.upsert("Other", "New.\n")
    (found,) = brain.proposals.list()
    assert (found.name, found.snapshot, found.base) == ("claude", done.snapshot, base)
    assert [made.author for made in found.made] == ["claude", "claude"]
    assert [(s.slug, s.change) for s in found.skills] == [
        ("oracle", "upgraded"),
        ("other", "added"),
    ]
    assert brain.proposals.show("proposed/claude") == brain.proposals.show(done.snapshot) == found


def test_what_was_looked_at_is_what_comes_in_and_later_writing_is_asked_about_again(brain, agent):
    looked_at = agent.skills.upsert("Oracle", "Harmless.\n").snapshot
    later = agent.skills.upsert("Oracle", "Run this script.\n").snapshot
    done = brain.proposals.accept(looked_at)
    assert done.changed
    assert brain.skills.view("oracle").body.strip() == "Harmless."
    assert "Harmless." in (brain.root / "skills/oracle/SKILL.md").read_text()
    (left,) = brain.proposals.list()
    assert (left.snapshot, left.base) == (later, looked_at)
    assert agent.skills.view("oracle").body.strip() == "Run this script."


@pytest.mark.parametrize("name", ["proposed/claude", "claude", "@", ""])
def test_a_name_is_no_approval(brain, agent, name):
    agent.skills.upsert("Oracle", "Two.\n")
    with pytest.raises(InvalidInput):
        brain.proposals.accept(name)
    assert brain.skills.view("oracle").body.strip() == "One."


def test_a_snapshot_of_the_head_is_no_proposal(brain, agent):
    agent.skills.upsert("Oracle", "Two.\n")
    with raises_code("no_proposal", NotFound):
        brain.proposals.accept(brain.head)


def test_after_it_was_taken_over_the_next_one_begins_at_the_head(brain, agent):
    brain.skills.upsert("Person", "P.\n")
    brain.proposals.accept(agent.skills.upsert("Oracle", "Two.\n").snapshot)
    brain.skills.upsert("Person", "Q.\n")
    assert brain.proposals.list() == []
    assert agent.head == brain.head
    agent.skills.upsert("Third", "T.\n")
    (found,) = brain.proposals.list()
    assert found.base == brain.head
    assert [change.slug for change in found.skills] == ["third"]
    assert agent.skills.view("person").body.strip() == "Q."


def test_a_person_who_went_on_meanwhile_merges_both(brain, agent):
    proposed = agent.skills.upsert("Other", "New.\n")
    brain.skills.upsert("Mine", "M.\n")
    done = brain.proposals.accept(proposed.snapshot)
    assert done.changed and not done.fast_forward
    assert [skill.slug for skill in brain.skills.list()] == ["mine", "oracle", "other"]
    assert brain.verify(deep=True).ok


def test_a_rejected_proposal_is_gone_and_undo_brings_it_back(brain, agent):
    proposed = agent.skills.upsert("Oracle", "Two.\n")
    assert brain.proposals.reject("claude").snapshot == proposed.snapshot
    assert brain.proposals.list() == []
    assert agent.skills.view("oracle").body.strip() == "One."
    brain.undo()
    assert [found.snapshot for found in brain.proposals.list()] == [proposed.snapshot]


def test_undo_takes_back_what_the_person_did_not_what_agents_propose(brain, agent):
    brain.skills.upsert("Mine", "M.\n")
    agent.skills.upsert("Other", "New.\n")
    brain.undo()
    assert [skill.slug for skill in brain.skills.list()] == ["oracle"]
    agent.skills.upsert("Other", "Newer.\n")
    brain.redo()
    assert [skill.slug for skill in brain.skills.list()] == ["mine", "oracle"]
    assert len(brain.proposals.list()) == 1


def test_a_rejected_name_that_nothing_bears_is_not_found(brain):
    for name in ("claude", "", "x/y", "abcdef"):
        with pytest.raises(NotFound) as caught:
            brain.proposals.reject(name)
        assert caught.value.code in ("no_proposal", "no_revision")


def test_nobody_proposes_to_the_branch_a_person_works_on(brain, agent):
    agent.skills.upsert("Oracle", "Two.\n")
    brain.branches.switch("proposed/claude")
    with raises_code("proposal_is_current", Conflict):
        agent.skills.upsert("Oracle", "Three.\n")
    assert brain.status().clean


def test_two_agents_propose_beside_each_other(brain, agent):
    with brain.proposals.open("codex") as other:
        agent.skills.upsert("Oracle", "Two.\n")
        other.skills.upsert("Oracle", "Zwei.\n")
        assert agent.skills.view("oracle").body.strip() == "Two."
        assert [found.name for found in brain.proposals.list()] == ["claude", "codex"]


def test_a_proposal_has_no_folder_to_record(agent):
    for act in (agent.snapshot, agent.status):
        with raises_code("no_folder", InvalidInput):
            act()


@pytest.mark.parametrize("name", ["", "..", "a b", "a..b", "x/", "\n", "a" * 300])
def test_a_name_that_no_branch_may_have_is_refused(brain, name):
    with raises_code("bad_branch", InvalidInput):
        brain.proposals.open(name)


def test_taking_over_signs_what_comes_in_where_signatures_are_needed(tmp_path):
    seed = bytes(range(32))
    with Brain.init(tmp_path / "agent", sign_with=lambda: seed) as brain:
        brain.trust.add(format_key(ed25519.public_key(seed)), "person")
        brain.skills.upsert("Oracle", "One.\n")
        with brain.proposals.open("claude") as agent:
            proposed = agent.skills.upsert("Oracle", "Two.\n").snapshot
        assert brain.signatures.list(proposed) == []
        brain.proposals.accept(proposed)
        assert brain.verify().ok


def test_what_is_shown_for_an_id_is_what_is_accepted_for_it(brain, agent):
    evil = agent.skills.upsert("Oracle", "Evil.\n").snapshot
    agent.skills.upsert("Oracle", "Kind.\n")
    assert brain.proposals.show(evil).snapshot == evil
    assert brain.proposals.show("claude").snapshot == agent.head
    brain.proposals.accept(evil)
    assert brain.skills.view("oracle").body.strip() == "Evil."


def test_a_client_that_named_itself_after_an_id_hides_nothing(brain, agent):
    evil = agent.skills.upsert("Oracle", "Evil.\n").snapshot
    with brain.proposals.open(evil[:12], author="other") as other:
        other.skills.upsert("Harmless", "Kind.\n")
        shown = brain.proposals.show(evil[:12])
        assert (shown.name, shown.snapshot) == ("claude", evil)
        assert brain.proposals.show(f"proposed/{evil[:12]}").snapshot == other.head
        assert brain.proposals.reject(evil[:12]).name == "claude"
        assert [one.name for one in brain.proposals.list()] == [evil[:12]]


SEED = bytes(range(32))


@pytest.fixture
def reviewer(brain):
    brain.trust.add(format_key(ed25519.public_key(SEED)), "person")
    with Brain.open(brain.root, author="person", sign_with=lambda: SEED) as opened:
        yield opened


def test_accepting_signs_nothing_that_was_there_before(brain, reviewer, agent):
    by_hand = brain.skills.upsert("Intruder", "Unsigned.\n").snapshot
    offered = agent.skills.upsert("Oracle", "Two.\n").snapshot
    reviewer.proposals.accept(offered)
    assert reviewer.signatures.list(offered)
    assert not reviewer.signatures.list(by_hand)


def test_accepting_a_part_signs_that_part_alone(brain, reviewer, agent):
    before = [
        one.snapshot for one in brain.verify(deep=True).findings
    ]  # the trust file is unsigned
    agent.skills.upsert("Other", "New.\n")
    offered = agent.skills.upsert("Oracle", "Two.\n").snapshot
    merged = reviewer.proposals.accept(offered, skills=["other"])
    _, part = merged.parents
    assert reviewer.signatures.list(part) and reviewer.signatures.list(merged.snapshot)
    assert not reviewer.signatures.list(offered)
    assert reviewer.history.show(part).info.author == "claude"
    assert [one.snapshot for one in reviewer.verify(deep=True).findings] == before
    assert [one.slug for one in reviewer.skills.list()] == ["oracle", "other"]
    (rest,) = reviewer.proposals.list()
    assert [one.slug for one in rest.skills] == ["oracle"]


def test_a_part_without_what_cannot_be_shown_is_accepted_without_a_word(brain, agent):
    agent.skills.upsert("Other", "New.\n", files={"logo.png": b"\0PNG"})
    offered = agent.skills.upsert("Oracle", "Two.\n").snapshot
    with raises_code("not_shown", InvalidInput):
        brain.proposals.accept(offered, skills=["other"])
    assert [one.snapshot for one in brain.proposals.list()] == [offered]
    assert brain.proposals.accept(offered, skills=["oracle"]).changed


def test_a_proposal_that_conflicts_is_not_signed(brain, reviewer, agent):
    offered = agent.skills.upsert("Oracle", "Theirs.\n").snapshot
    brain.skills.upsert("Oracle", "Ours.\n")
    assert reviewer.proposals.accept(offered).conflicts
    assert not reviewer.signatures.list(offered)


def test_what_is_proposed_is_compared_with_where_it_began(brain, agent):
    assert not agent.history.diff().changes
    agent.skills.upsert("Oracle", "Two.\n")
    brain.skills.upsert("Other", "By a person.\n")
    assert [one.path for one in agent.history.diff().changes] == ["skills/oracle/SKILL.md"]


def conflicting(brain: Brain, agent: Brain) -> str:
    """Propose what conflicts with what a person wrote meanwhile; return the snapshot."""
    offered = agent.skills.upsert("Oracle", "Theirs.\n").snapshot
    brain.skills.upsert("Oracle", "Ours.\n")
    return offered


def test_a_proposal_that_is_finished_after_conflicts_is_signed_as_if_it_had_none(
    brain, reviewer, agent
):
    offered = conflicting(reviewer, agent)
    (open_,) = reviewer.proposals.accept(offered).conflicts
    assert reviewer.merge.resume().conflicts and not reviewer.signatures.list(offered)
    reviewer.merge.resolve([open_.path], "theirs")
    assert reviewer.merge.resume().changed
    assert reviewer.signatures.list(offered) and reviewer.signatures.list(reviewer.head)
    assert offered not in {found.snapshot for found in reviewer.verify().findings}


def test_a_merge_that_is_no_acceptance_signs_nothing_of_the_other_side(brain, reviewer, agent):
    offered = conflicting(reviewer, agent)
    (open_,) = reviewer.merge.start(offered).conflicts
    reviewer.merge.resolve([open_.path], "ours")
    assert reviewer.merge.resume().changed
    assert not reviewer.signatures.list(offered)


def test_what_is_rejected_while_it_waits_comes_in_no_more(brain, agent):
    offered = conflicting(brain, agent)
    (open_,) = brain.proposals.accept(offered).conflicts
    brain.merge.resolve([open_.path], "theirs")
    brain.proposals.reject("claude")
    with raises_code("no_proposal", NotFound) as caught:
        brain.merge.resume()
    assert "--abort" in str(caught.value.hint)
    brain.merge.abort()
    assert "Ours." in brain.skills.view("oracle").body


def test_a_merge_that_waits_since_before_acceptances_were_noted_goes_on(brain, agent):
    (open_,) = brain.merge.start(conflicting(brain, agent)).conflicts
    session = brain._session
    with lock_for_writing(session), store_transaction(session) as tx:
        tx.write_meta("merge", pack(tuple(merge_state.require_merge(session))[:-1]))
    brain.merge.resolve([open_.path], "theirs")
    assert brain.merge.resume().changed
