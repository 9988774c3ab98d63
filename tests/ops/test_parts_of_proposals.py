"""A person takes what they want of a proposal, as they want it; the rest stays proposed."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from brain_cli.commands import proposal as proposal_commands

from brain import Brain, InvalidInput, NotFound
from brain.trust import ed25519
from brain.trust.ed25519 import format_key
from tests.cli.conftest import Call, cli, keys
from tests.support.refusals import raises_code

__all__ = ["cli", "keys"]

BODY = "One.\n\n\n\nTwo.\n\n\n\nThree.\n"
NEW = BODY.replace("One", "Eins").replace("Three", "Drei")
SEED = bytes(range(32))


@pytest.fixture
def brain(tmp_path, monkeypatch):
    with Brain.init(tmp_path / "agent", author="ada") as made:
        made.skills.upsert("Oracle", BODY, description="Checks oracles")
        monkeypatch.chdir(made.root)
        yield made


def propose(brain: Brain, name: str = "claude", body: str = NEW) -> str:
    """Change a skill, a second one and the memory, as an agent does; return the snapshot."""
    with brain.proposals.open(name, author="claude") as agent:
        agent.skills.upsert("Oracle", body)
        agent.skills.upsert("Other", "New.\n", description="Another", files={"a.py": b"print(1)\n"})
        return agent.head


def numbers(brain: Brain, proposal: str, *texts: str) -> list[int]:
    return [
        one.number for one in brain.proposals.hunks(proposal) for text in texts if text in one.text
    ]


def read(brain: Brain, path: str = "skills/oracle/SKILL.md") -> str:
    return (brain.root / path).read_text()


def test_the_hunks_of_a_proposal_are_its_patch_in_parts(brain):
    proposed = propose(brain)
    hunks = list(brain.proposals.hunks(proposed))
    assert [one.number for one in hunks] == list(range(1, len(hunks) + 1))
    paths = [one.path.removeprefix("skills/") for one in hunks]
    assert paths == [*["oracle/SKILL.md"] * 3, "other/SKILL.md", "other/a.py"]
    assert hunks == list(brain.proposals.hunks("claude"))


def test_one_hunk_is_merged_by_its_number_and_the_others_stay_proposed(brain):
    proposed = propose(brain)
    done = brain.proposals.accept(proposed, hunks=numbers(brain, proposed, "+Eins"))
    assert done.changed and done.modified == 1 and not done.added
    assert "Eins.\n" in read(brain) and "Three.\n" in read(brain)
    made = brain.history.show(done.parents[1]).info
    assert (made.author, brain.history.show(done.snapshot).info.author) == ("claude", "ada")
    rest = "".join(one.text for one in brain.proposals.hunks("claude"))
    assert "+Drei" in rest and "Eins." not in rest.replace(" Eins.", "")
    brain.proposals.accept(brain.proposals.show("claude").snapshot)
    assert read(brain).endswith(NEW) and not brain.proposals.list()
    assert brain.verify(deep=True).ok


def test_all_hunks_are_the_whole_proposal(brain):
    proposed = propose(brain)
    brain.proposals.accept(proposed, hunks=[one.number for one in brain.proposals.hunks(proposed)])
    assert not brain.proposals.list() and proposed in brain.history.show("@").info.parents


def test_hunks_and_skills_are_taken_together(brain):
    proposed = propose(brain)
    brain.proposals.accept(proposed, hunks=numbers(brain, proposed, "+Drei"), skills=["other"])
    assert "Drei." in read(brain) and "One." in read(brain)
    assert read(brain, "skills/other/a.py") == "print(1)\n"


@pytest.mark.parametrize("number", [0, -1, 99])
def test_a_hunk_that_is_not_there_takes_in_nothing(brain, number):
    proposed, head = propose(brain), brain.head
    with raises_code("no_hunk", NotFound):
        brain.proposals.accept(proposed, hunks=[1, number])
    assert brain.head == head and brain.proposals.show("claude").snapshot == proposed


def test_a_part_beside_later_writes_of_both_sides_is_merged(brain):
    proposed = propose(brain)
    later = propose(brain, body=NEW + "Later.\n")
    brain.skills.upsert("Mine", "M.\n", description="Mine")
    brain.proposals.accept(proposed, hunks=numbers(brain, proposed, "+Eins"))
    assert "Eins." in read(brain) and "Later" not in read(brain)
    (rest,) = brain.proposals.list()
    assert later != rest.snapshot and "Later" in "".join(
        one.text for one in brain.proposals.hunks(rest.snapshot)
    )
    brain.proposals.accept(rest.snapshot)
    assert read(brain).endswith(NEW + "Later.\n")


def test_what_is_edited_before_it_is_accepted_names_both_authors(brain):
    proposed = propose(brain)

    def edit(texts: dict[str, bytes]) -> dict[str, bytes]:
        return {path: text.replace(b"Eins", b"Uno") for path, text in texts.items()}

    done = brain.proposals.accept(proposed, edit=edit)
    edited = brain.history.show(done.parents[1]).info
    assert [edited.author, brain.history.show(proposed).info.author] == ["ada", "claude"]
    assert edited.parents == [proposed] and "Uno." in read(brain) and "Drei." in read(brain)
    assert not brain.proposals.list() and brain.verify(deep=True).ok
    assert brain.undo().snapshot and "One." in read(brain)
    assert brain.proposals.show("claude").snapshot == proposed


def test_an_edited_part_leaves_the_rest_proposed_on_top_of_the_edit(brain):
    proposed = propose(brain)
    brain.proposals.accept(
        proposed,
        hunks=numbers(brain, proposed, "+Eins"),
        edit=lambda texts: {path: text.replace(b"Eins", b"Uno") for path, text in texts.items()},
    )
    assert "Uno." in read(brain) and "Three." in read(brain)
    rest = "".join(one.text for one in brain.proposals.hunks("claude"))
    assert "+Drei" in rest and "-Uno" not in rest
    brain.proposals.accept(brain.proposals.show("claude").snapshot)
    assert "Uno." in read(brain) and "Drei." in read(brain)


@pytest.mark.parametrize(
    ("path", "text", "code"),
    [
        ("skills/oracle/SKILL.md", b"---\nname: [\n---\n", "bad_yaml"),
        ("skills/none/SKILL.md", b"New.\n", "not_proposed"),
    ],
)
def test_an_edit_that_no_skill_can_be_takes_in_nothing(brain, path, text, code):
    proposed, head = propose(brain), brain.head
    with pytest.raises((InvalidInput, NotFound)) as caught:
        brain.proposals.accept(proposed, edit=lambda texts: {path: text})
    assert caught.value.code == code and brain.head == head
    assert brain.proposals.show("claude").snapshot == proposed


def test_a_secret_that_was_typed_into_a_text_is_named(brain):
    key = b"ghp_" + b"aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
    proposed = propose(brain)
    done = brain.proposals.accept(
        proposed, skills=["oracle"], edit=lambda texts: {p: t + key for p, t in texts.items()}
    )
    assert [one.code for one in done.notices] == ["secret"]
    assert "github-token" in done.notices[0].message and key.decode() not in str(done.notices)


def test_a_part_that_conflicts_waits_in_the_status_and_is_not_signed(brain):
    brain.trust.add(format_key(ed25519.public_key(SEED)), "ada")
    proposed = propose(brain)
    brain.skills.upsert("Oracle", BODY.replace("One", "Un"))
    with Brain.open(brain.root, author="ada", sign_with=lambda: SEED) as reviewer:
        done = reviewer.proposals.accept(proposed, hunks=numbers(reviewer, proposed, "+Eins"))
        assert [one.path for one in done.conflicts] == ["skills/oracle/SKILL.md"]
        assert reviewer.status().waiting[0].kind == "merge"
        part = reviewer.proposals.show("claude").made[0].parents[1]
        assert "Un." in read(reviewer) and not reviewer.signatures.list(part)
        reviewer.merge.resolve([done.conflicts[0].path], "theirs")
        assert reviewer.merge.resume().changed
        assert "Eins." in read(reviewer) and reviewer.signatures.list(part)
        assert "+Drei" in "".join(one.text for one in reviewer.proposals.hunks("claude"))


def test_one_undo_takes_back_a_part_and_a_second_one_what_was_before_it(brain):
    brain.skills.upsert("Mine", "M.\n", description="Mine")
    proposed = propose(brain)
    brain.proposals.accept(proposed, skills=["other"])
    brain.undo()
    assert brain.proposals.show("claude").snapshot == proposed
    assert [one.slug for one in brain.skills.list()] == ["mine", "oracle"]
    brain.redo()
    assert [one.slug for one in brain.skills.list()] == ["mine", "oracle", "other"]
    assert [one.slug for one in brain.proposals.show("claude").skills] == ["oracle"]
    brain.undo()
    brain.undo()
    assert [one.slug for one in brain.skills.list()] == ["oracle"]
    assert brain.proposals.show("claude").snapshot == proposed


def test_an_undo_keeps_what_the_agent_proposed_since(brain):
    brain.proposals.accept(propose(brain), skills=["other"])
    later = propose(brain, body=NEW + "Later.\n")
    brain.undo()
    assert [one.slug for one in brain.skills.list()] == ["oracle"]
    assert brain.proposals.show("claude").snapshot == later
    brain.redo()
    assert [one.slug for one in brain.skills.list()] == ["oracle", "other"]
    assert brain.proposals.show("claude").snapshot == later


def test_the_command_numbers_hunks_and_takes_those_it_is_given(brain, cli: Call):
    proposed = propose(brain)
    shown = cli("proposal", "show", "claude").out
    document = cli("--json", "proposal", "show", "claude").document
    (number,) = numbers(brain, proposed, "+Drei")
    assert f"hunk {number}\n" in shown and document["hunks"][number - 1]["number"] == number
    assert cli("--author", "eve", "proposal", "accept", proposed, "--hunk", str(number)).status == 0
    assert "Drei." in read(brain) and "One." in read(brain)


@pytest.mark.parametrize(
    ("answers", "taken"),
    [("n\ny\nq\n", "Eins Three"), ("n\nn\ny\nn\nn\n", "One Drei"), ("a\nd\nn\n", "Eins Drei")],
)
def test_asked_about_each_hunk_a_person_takes_some(brain, cli: Call, monkeypatch, answers, taken):
    proposed = propose(brain)
    monkeypatch.setattr(proposal_commands, "is_terminal", lambda _: True)
    monkeypatch.setattr("sys.stdin", StringIO(answers))
    assert cli("--author", "eve", "proposal", "accept", proposed, "-p").status == 0
    assert all(f"{word}." in read(brain) for word in taken.split())
    assert not (brain.root / "skills/other").exists()


def test_without_a_terminal_nobody_is_asked(brain, cli: Call):
    told = cli("--author", "eve", "--json", "proposal", "accept", propose(brain), "-p")
    assert told.status == 1 and told.error["code"] == "no_terminal" and "--hunk" in told.err


def test_an_editor_gets_the_proposed_bytes_and_what_it_saves_is_accepted(
    brain, cli: Call, monkeypatch
):
    with brain.proposals.open("claude", author="claude") as agent:
        proposed = agent.skills.upsert("Oracle", b"\xc2\xa0Eins.\r\nZwei.\r\n").snapshot
    accept = ("--author", "eve", "proposal", "accept", proposed, "--edit")
    told = cli("--json", *accept)
    assert told.status == 1 and told.error["code"] == "no_terminal" and "--file FILE" in told.err
    monkeypatch.setattr(proposal_commands, "is_terminal", lambda _: True)
    monkeypatch.setenv("EDITOR", "true")
    assert cli("--json", *accept).error["code"] == "not_edited"
    monkeypatch.setenv("EDITOR", "sed -i s/Zwei/Two/")
    assert cli(*accept).status == 0
    text = (brain.root / "skills/oracle/SKILL.md").read_bytes()
    assert text.endswith(b"\xc2\xa0Eins.\r\nTwo.\r\n")
    assert [one.author for one in brain.history.log(limit=3)] == ["eve", "eve", "claude"]


def test_a_file_is_the_edited_text_of_one_proposed_file(brain, cli: Call, tmp_path: Path):
    proposed = propose(brain)
    edited = tmp_path / "edited.md"
    edited.write_text("---\nname: oracle\ndescription: Checks\nversion: 2\n---\nMine.\n")
    accept = ("--author", "eve", "--json", "proposal", "accept", proposed, "--file", str(edited))
    told = cli(*accept)
    assert told.error["code"] == "ambiguous_edit" and "skills/other/a.py" in told.err
    assert cli(*accept, "oracle").status == 0
    assert read(brain) == edited.read_text()
    assert cli(*accept, "oracle", "--edit").status == 2


def test_like_proposals_are_in_one_group_and_the_list_is_bounded(brain, cli: Call):
    for number in range(8):
        with brain.proposals.open(f"claude-{number:06x}", author="claude") as agent:
            agent.skills.upsert("Oracle" if number < 6 else "Other", "Two.\n", description="D")
    said = cli("proposal", "list").out
    assert len(said.splitlines()) == 4 and "and 5 that change the same: " in said
    assert all(one.snapshot[:12] in said for one in brain.proposals.list())
    assert "7 more: brain proposal list -n 8" in cli("proposal", "list", "-n", "1").out
    document = cli("--json", "proposal", "list", "-n", "3").document
    assert (len(document["proposals"]), document["more"]) == (3, 5)


def test_the_newest_proposals_are_listed_without_the_others(brain):
    for name in ("b", "c", "a"):
        propose(brain, name)
    assert [one.name for one in brain.proposals.list()] == ["a", "b", "c"]
    newest = brain.proposals.list(2, newest_first=True)
    times = {one.name: one.made[0].time for one in brain.proposals.list()}
    assert [one.made[0].time for one in newest] == sorted(times.values(), reverse=True)[:2]


def test_a_proposer_is_told_why_their_proposal_was_rejected(brain):
    propose(brain, "claude-00000a")
    brain.proposals.reject("claude", "Name the source")
    (told,) = brain.proposals.list_rejections("claude")
    assert (told.message, told.author) == ("Name the source", "ada")


def test_parts_taken_one_by_one_by_the_same_id_are_not_proposed_again(brain, cli: Call):
    proposed = propose(brain)
    accept = ("--author", "eve", "proposal", "accept", proposed)
    assert cli(*accept, "other").status == 0
    (number,) = numbers(brain, proposed, "+Drei")
    assert cli(*accept, "--hunk", str(number)).status == 0
    assert "Drei." in read(brain) and "One." in read(brain)
    assert [one.slug for one in brain.proposals.show("claude").skills] == ["oracle"]
    rest = "".join(one.text for one in brain.proposals.hunks("claude"))
    assert "+Eins" in rest and "+Drei" not in rest and "other" not in rest
    (number,) = numbers(brain, proposed, "+Eins")
    assert cli(*accept, "--hunk", str(number)).status == 0
    assert "Eins." in read(brain) and "Drei." in read(brain)
    (number,) = numbers(brain, proposed, '+  version: "2"')
    assert cli(*accept, "--hunk", str(number)).status == 0
    assert read(brain).endswith(NEW) and not brain.proposals.list()
    assert "proposed" not in cli("branch").out and brain.verify(deep=True).ok


def test_the_whole_is_taken_after_an_edited_part_of_it(brain, cli: Call):
    proposed = propose(brain)
    brain.proposals.accept(
        proposed,
        hunks=numbers(brain, proposed, "+Eins"),
        edit=lambda texts: {path: text.replace(b"Eins", b"Uno") for path, text in texts.items()},
    )
    brain.proposals.accept(proposed)
    assert "Uno." in read(brain) and "Drei." in read(brain)
    assert not brain.proposals.list() and "proposed" not in cli("branch").out


def test_the_branch_of_a_proposal_goes_when_it_was_accepted_and_an_undo_brings_it_back(
    brain, cli: Call
):
    proposed = propose(brain)
    brain.proposals.accept(
        proposed, skills=["other"], edit=lambda texts: {p: t + b"#\n" for p, t in texts.items()}
    )
    assert "proposed/claude" in cli("branch").out
    tip = brain.proposals.show("claude").snapshot
    brain.proposals.accept(tip, edit=lambda texts: {p: t + b"End.\n" for p, t in texts.items()})
    assert "proposed" not in cli("branch").out
    brain.undo()
    assert brain.proposals.show("claude").snapshot == tip
    brain.redo()
    assert "proposed" not in cli("branch").out
    later = propose(brain, body=NEW + "Later.\n")
    assert [one.snapshot for one in brain.proposals.list()] == [later]


def test_proposals_of_different_texts_are_in_no_group(brain, cli: Call):
    for number, text in enumerate(("Two.\n", "Three.\n", "Two.\n")):
        with brain.proposals.open(f"claude-{number:06x}", author="claude") as agent:
            agent.skills.upsert("Oracle", text)
    said = cli("proposal", "list").out
    assert len(said.splitlines()) == 3 and "and 1 that change the same: " in said


def test_a_changed_file_is_accepted_by_its_path(brain, cli: Call):
    with brain.proposals.open("claude", author="claude") as agent:
        agent.skills.upsert("Oracle", NEW)
        proposed = agent.memory.add("memory", "Ports are closed").snapshot
    path = next(one.path for one in brain.proposals.show("claude").changes if "memory" in one.path)
    assert cli("--author", "eve", "proposal", "accept", proposed, path).status == 0
    assert "Ports are closed" in read(brain, path) and "One." in read(brain)
    assert [one.slug for one in brain.proposals.show("claude").skills] == ["oracle"]


def test_a_hunk_beside_that_of_the_version_names_it(brain, cli: Call):
    proposed = propose(brain)
    (version,) = numbers(brain, proposed, '+  version: "2"')
    accept = ("--author", "eve", "proposal", "accept", proposed, "--hunk")
    (number,) = numbers(brain, proposed, "+Eins")
    assert f"--hunk {version}" in cli(*accept, str(number)).err
    (number,) = numbers(brain, proposed, "+Drei")
    assert "version" not in cli(*accept, str(number), "--hunk", str(version)).err


def test_a_resolved_merge_says_how_it_is_recorded(brain, cli: Call):
    proposed = propose(brain)
    brain.skills.upsert("Oracle", BODY.replace("One", "Un"))
    accept = ("--author", "eve", "proposal", "accept", proposed)
    assert cli(*accept).status == 12
    assert "unresolved" in cli(*accept).err
    assert cli("resolve", "skills/oracle/SKILL.md", "--theirs").status == 0
    told = cli(*accept)
    assert "brain merge --continue" in told.err and "unresolved" not in told.err


def test_what_an_edit_replaced_does_not_come_back_with_the_rest(brain):
    proposed, before = propose(brain), (brain.root / "skills/oracle/SKILL.md").read_bytes()
    mine = before.replace(b"One", b"Mine")
    brain.proposals.accept(
        proposed, skills=["oracle"], edit=lambda texts: dict.fromkeys(texts, mine)
    )
    head = brain.head
    with raises_code("not_proposed", NotFound):
        brain.proposals.accept(proposed, skills=["oracle"])
    assert brain.head == head
    brain.proposals.accept(proposed)
    assert (brain.root / "skills/oracle/SKILL.md").read_bytes() == mine
    assert read(brain, "skills/other/a.py") == "print(1)\n" and not brain.proposals.list()
