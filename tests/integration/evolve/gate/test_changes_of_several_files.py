"""A change may edit other skills, memory and prompts beside the skill whose cases decide."""

import pytest

from brain import InvalidInput
from brain.objects.operation import evidence_blob
from brain.repo.learning import record
from brain.repo.learning.change import FileEdit, ProposedChange, SkillEdit
from brain.verdicts.verdict import decode_verdict, encode_verdict
from tests.support.gated_brains import (
    SKILL,
    ScriptedRunner,
    greet_if_asked,
    make_gated_brain,
)
from tests.support.refusals import raises_code

ALSO = (
    SkillEdit(name="part", description="Part from a guest", body="Say goodbye.\n"),
    FileEdit(path="memory/guests.md", content="Guests like to be greeted.\n"),
    FileEdit(path="prompts/system.md", content="Be kind.\n"),
)


def change(body="# Greet\n\nSay hello.\n", also=ALSO):
    return ProposedChange(name=SKILL, evolver="grind", body=body, also=also)


def propose(brain, wanted):
    return brain.gate.open(runner=ScriptedRunner(greet_if_asked)).propose(wanted)


def verdict_of(brain, snapshot):
    loaded = brain._session.load_snapshot(bytes.fromhex(snapshot))
    return decode_verdict(brain._session.reader.read_blob(evidence_blob(loaded.operation)))


def test_all_of_it_is_one_snapshot_that_its_verdict_describes(tmp_path):
    with make_gated_brain(tmp_path) as brain:
        head = brain.head
        outcome = propose(brain, change())
        assert (outcome.done, brain.history.show(brain.head).info.parents) == ("admitted", [head])
        assert "Say goodbye." in brain.skills.view("part").body
        assert (tmp_path / "memory/guests.md").read_text().startswith("Guests")
        found = [one.path for one in verdict_of(brain, outcome.snapshot).changes]
        assert found == ["memory/guests.md", "prompts/system.md", "skills/part/SKILL.md"]
        assert brain.verify(deep=True).findings == []
        again = brain.gate.recheck(SKILL)
        assert (again.differences, again.unknown) == ([], [])
        brain.undo()
        assert brain.head == head and not (tmp_path / "prompts/system.md").exists()


@pytest.mark.parametrize("mode", ["gated", "propose"])
def test_an_attempt_and_a_proposal_hold_all_of_it(tmp_path, mode):
    with make_gated_brain(tmp_path, mode=mode) as brain:
        useless = propose(brain, change("# Greet\n\nWelcome all.\n"))
        assert useless.done == "rejected" and len(verdict_of(brain, useless.snapshot).changes) == 3
        assert propose(brain, change("# Greet\n\nWelcome all.\n")).attempt == useless.attempt
        if mode == "propose":
            outcome = propose(brain, change())
            brain.proposals.accept(outcome.snapshot)
        else:
            brain.gate.accept(useless.attempt)
        assert brain.skills.view("part").version == 1
        assert brain.verify(deep=True).findings == []


def test_without_cases_a_person_gets_all_of_it(tmp_path):
    with make_gated_brain(tmp_path, cases=0) as brain:
        outcome = propose(brain, change())
        brain.proposals.accept(outcome.snapshot)
        assert "Be kind." in (tmp_path / "prompts/system.md").read_text()
        assert brain.verify(deep=True).findings == []


def test_a_case_is_tried_with_the_files_of_each_side_in_front(tmp_path):
    def obey(skills, case, number):
        return "hello" if "Guests like" in skills.prompt(case) else "go away"

    with make_gated_brain(tmp_path) as brain:
        outcome = brain.gate.open(runner=ScriptedRunner(obey)).propose(change())
        assert (outcome.done, outcome.numbers.wins) == ("admitted", 60)


def test_another_file_that_changed_meanwhile_makes_the_gate_try_again(tmp_path):
    with make_gated_brain(tmp_path) as brain:
        pending = [True]

        def interfere(*args):
            if pending and pending.pop():
                brain.files.edit("memory/guests.md", lambda _: b"Another note.\n")
            return greet_if_asked(*args)

        outcome = brain.gate.open(runner=ScriptedRunner(interfere)).propose(change())
        assert outcome.done == "admitted"
        assert verdict_of(brain, outcome.snapshot).changes[0].before


@pytest.mark.parametrize(
    "path",
    [
        "manifest.yaml",
        "trust.json",
        "skills/greet/cases/greet-1.yaml",
        "skills/part/SKILL.md",
        "memory/greet/cases/greet-1.yaml",
        "prompts/SKILL.md",
        ".brain/config",
        "../outside.md",
        "notes.md",
    ],
)
def test_nobody_evolves_what_is_for_people_alone(tmp_path, path):
    with make_gated_brain(tmp_path) as brain:
        head = brain.head
        with pytest.raises(InvalidInput) as refused:
            propose(brain, change(also=(FileEdit(path=path, content="mine\n"),)))
        assert refused.value.code in ("bad_change", "bad_path", "reserved_name")
        assert brain.head == head


def test_a_skill_that_would_stay_as_it_is_carries_no_other_files(tmp_path):
    with make_gated_brain(tmp_path) as brain, raises_code("bad_change", InvalidInput):
        propose(brain, change("# Greet\n\nWelcome guests.\n"))


def greet_by_script(skills, case, number):
    script = skills.files(SKILL).get("scripts/greet.sh", b"")
    return "hello" if b"hello" in script else "go away"


def try_scripts(brain, **files):
    wanted = {f"scripts/{name}.sh": content for name, content in files.items()}
    edit = ProposedChange(name=SKILL, evolver="person", resources=wanted)
    return brain.gate.open(runner=ScriptedRunner(greet_by_script)).propose(edit)


@pytest.mark.parametrize("mode", ["gated", "propose"])
def test_the_scripts_of_a_skill_are_a_change_of_it(tmp_path, mode):
    with make_gated_brain(tmp_path, mode=mode) as brain:
        brain.skills.upsert(SKILL, files={"scripts/greet.sh": b"#!/bin/sh\n", "notes.md": b"a"})
        useless = try_scripts(brain, greet=b"#!/bin/sh\necho hi\n")
        assert (useless.done, useless.files) == ("rejected", [f"skills/{SKILL}/scripts/greet.sh"])
        assert try_scripts(brain, greet=b"#!/bin/sh\necho hi\n").attempt == useless.attempt
        if mode == "propose":
            brain.gate.accept(useless.attempt)
        helps = try_scripts(brain, greet=b"#!/bin/sh\necho hello\n", part=b"true\n")
        listed = [f"skills/{SKILL}/scripts/{name}.sh" for name in ("greet", "part")]
        assert (helps.files, helps.numbers.wins) == (listed, 60)
        assert [one.path for one in verdict_of(brain, helps.snapshot).changes] == listed
        if mode == "propose":
            brain.proposals.accept(helps.snapshot)
        assert (tmp_path / listed[0]).read_bytes().endswith(b"hello\n")
        assert (tmp_path / listed[0]).stat().st_mode & 0o100
        assert (tmp_path / f"skills/{SKILL}/notes.md").read_bytes() == b"a"
        assert try_scripts(brain, part=b"true\n").done == "nothing"
        assert not brain.gate.recheck(SKILL).differences
        assert brain.verify(deep=True).findings == []


@pytest.mark.parametrize("path", ["cases/a.yaml", "SKILL.md", "../a.sh", "a/SKILL.md", "skill.py"])
def test_no_file_of_a_skill_brings_its_cases_or_another_skill(tmp_path, path):
    with make_gated_brain(tmp_path) as brain, pytest.raises(InvalidInput) as refused:
        files = {"skill.py": b"pass\n"} if path == "skill.py" else {}
        edit = ProposedChange(name=SKILL, evolver="x", files=files, resources={path: b"a"})
        brain.gate.open(runner=ScriptedRunner(greet_by_script)).propose(edit)
    assert refused.value.code in ("bad_change", "bad_path")


@pytest.mark.parametrize("wrong", ["drop", "lie"])
def test_a_verdict_that_hides_or_invents_a_file_does_not_verify(tmp_path, monkeypatch, wrong):
    def forge(verdict):
        changes = verdict.changes[1:]
        if wrong == "lie":
            changes = (verdict.changes[0]._replace(after=b"\1" * 32), *changes)
        return encode_verdict(verdict._replace(changes=changes))

    with make_gated_brain(tmp_path) as brain:
        monkeypatch.setattr(record, "encode_verdict", forge)
        assert propose(brain, change()).done == "admitted"
        codes = {one.code for one in brain.verify(deep=True).findings}
        assert "false_operation" in codes and ("verdict_mismatch" in codes) == (wrong == "lie")
