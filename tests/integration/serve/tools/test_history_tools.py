"""skills_list and skill_view; what the brain tools tell."""

from __future__ import annotations

import pytest

from brain.errors import ModelError
from brain.results import Finding
from brain.serve.tools import skill_read
from tests.integration.serve.tools.conftest import ToolCaller


@pytest.fixture
def skilled(agent: ToolCaller) -> ToolCaller:
    for name, category in (("oracles", "defi"), ("loans", "defi"), ("mail", "")):
        text = f"---\nname: {name}\ndescription: About {name}\n---\nDo {name}.\n"
        agent("skill_manage", action="create", name=name, content=text, category=category)
    return agent


def test_the_list_has_a_line_for_each_skill(skilled: ToolCaller) -> None:
    answer = skilled("skills_list")
    assert answer.text.splitlines() == [
        "▸ loans: About loans",
        "▸ mail: About mail",
        "▸ oracles: About oracles",
    ]
    assert not answer.changed and answer.data["count"] == 3
    assert answer.data["skills"][2] == {
        "slug": "oracles",
        "name": "oracles",
        "description": "About oracles",
        "address": "oracles",
        "category": "defi",
    }


def test_a_category_has_its_own_list(skilled: ToolCaller) -> None:
    assert skilled("skills_list", category="defi").data["count"] == 2
    assert "defi" in skilled.expect_failure("skills_list", category="deFy").text


def test_for_a_task_the_skills_that_fit_it_are_listed(skilled: ToolCaller) -> None:
    text = "---\nname: gas\ndescription: Estimate the gas of a transaction\n---\nAsk a node.\n"
    skilled("skill_manage", action="create", name="gas", content=text)
    task = "What gas will this transaction take?"
    assert skilled("skills_list", task=task).text.splitlines()[0].startswith("▸ gas: ")
    given = {"task": "gas of a transaction", "category": "defi"}
    assert skilled("skills_list", **given).text == "(no skill fits this task)"


def test_an_embedder_that_fails_is_told_and_hides_no_skill(skilled: ToolCaller) -> None:
    def fails() -> None:
        raise ModelError("it is down")

    skilled.brain._session.open_embedder = fails
    assert skilled("skills_list", task="loans").text.splitlines() == [
        "▸ loans: About loans",
        "(Found by their words alone: the embedder fails.)",
    ]


def test_very_long_descriptions_leave_room_for_each_other(agent: ToolCaller) -> None:
    for number in range(120):
        text = f"---\nname: s{number}\ndescription: USE ME FIRST {'word ' * 200}\n---\nDo.\n"
        file = agent.brain.root / f"skills/s{number}.md"
        file.write_text(text, "utf-8")
    agent.brain.snapshot()
    lines = agent("skills_list").text.splitlines()
    assert len(lines) == 120 and all(line.endswith(" word…") for line in lines)
    assert sum(map(len, lines)) < 50_000


def test_among_very_many_skills_names_are_shown_and_how_many_are_not(
    agent: ToolCaller, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(12):
        text = f"---\nname: s{number:02d}\ndescription: {'word ' * 20}\n---\nDo.\n"
        (agent.brain.root / f"skills/s{number:02d}.md").write_text(text, "utf-8")
    agent.brain.snapshot()
    monkeypatch.setattr(skill_read, "MAX_LISTED_SKILLS", 8)
    monkeypatch.setattr(skill_read, "MAX_LIST_TOKENS", 15)
    answer = agent("skills_list")
    assert answer.data["count"] == 12 and 0 < len(answer.data["skills"]) < 12
    assert answer.data["skills"][0] == {
        "name": "s00",
        "description": "",
        "category": "",
        "address": "s00",
    }
    assert "not shown" in answer.text and answer.text.endswith("say what your task is.)")


def test_an_empty_brain_has_no_skills_yet(agent: ToolCaller) -> None:
    for given in ({}, {"task": "Read a price"}):
        assert agent("skills_list", **given).text == "(no skills yet)"


def test_skills_that_share_a_slug_are_listed_by_names_that_lead_to_them(agent: ToolCaller) -> None:
    paths = {
        "skills/search": "search/SKILL.md",
        "one/search": "one/search/SKILL.md",
        "two/search.md": "two/search.md",
    }
    for path in paths.values():
        file = agent.brain.root / "skills" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"---\nname: search\ndescription: x\n---\nIn {path}.\n", "utf-8")
    agent.brain.snapshot()
    listed = agent("skills_list").text
    for address, path in paths.items():
        assert f"▸ {address}: x" in listed
        for given in (address, path, f"skills/{path}"):
            assert f"In {path}." in agent("skill_view", name=given).text
    failure = agent.expect_failure("skill_view", name="search")
    assert failure.code == "ambiguous_skill" and "two/search" in failure.text


def test_a_skill_is_read_as_it_stands_with_the_names_of_its_files(skilled: ToolCaller) -> None:
    write = {"action": "write_file", "file_path": "references/feeds.md", "file_content": "Feeds."}
    skilled("skill_manage", name="oracles", **write)
    answer = skilled("skill_view", name="Oracles")
    assert answer.text.startswith("---\nname: oracles\n") and "Do oracles." in answer.text
    assert answer.text.endswith("references/feeds.md")
    assert answer.data["version"] == 2 and answer.data["files"] == ["references/feeds.md"]
    file = skilled("skill_view", name="oracles", file_path="references/feeds.md")
    assert file.text == file.data["content"] == "Feeds."


def test_an_earlier_version_is_read(skilled: ToolCaller) -> None:
    skilled("skill_manage", action="edit", name="mail", content="Otherwise.\n")
    for version in (1, "1"):
        assert "Do mail." in skilled("skill_view", name="mail", version=version).text
    failure = skilled.expect_failure("skill_view", name="mail", version="9")
    assert failure.code == "no_version" and "1, 2" in failure.text


def test_a_miss_lists_what_is_near(skilled: ToolCaller) -> None:
    assert "oracles" in skilled.expect_failure("skill_view", name="oracels").text
    missing = skilled.expect_failure("skill_view", name="oracles", file_path="references/x.md")
    assert missing.code == "no_file" and "no files" in missing.text


def test_hidden_characters_are_not_shown(agent: ToolCaller) -> None:
    text = "Do\u200b this\U000e0041.\x1b[8m\n"
    file = agent.brain.root / "skills" / "a.md"
    file.write_text(text, "utf-8")
    agent.brain.snapshot()
    assert agent("skill_view", name="a").text.startswith("Do this.[8m\n")


def test_what_is_no_text_is_told_by_its_size(skilled: ToolCaller) -> None:
    file = skilled.brain.root / "skills/mail/assets/logo.png"
    file.parent.mkdir()
    file.write_bytes(b"\x89PNG\xff")
    skilled.brain.snapshot()
    answer = skilled("skill_view", name="mail", file_path="assets/logo.png")
    assert answer.text == "(not a text: 5 bytes)"


def test_a_snapshot_records_what_was_changed_by_hand(agent: ToolCaller) -> None:
    assert not agent("brain_snapshot").changed
    (agent.brain.root / "notes.txt").write_text("By hand.\n", "utf-8")
    assert agent("brain_diff").text == "A notes.txt"
    answer = agent("brain_snapshot", message="Notes")
    assert answer.changed and answer.data["added"] == 1
    assert "1 added, 0 modified, 0 removed" in answer.text
    assert "Notes" in agent("brain_log", limit=1).text
    (agent.brain.root / "key.txt").write_text("ghp_" + "Zk3vB9qLx2" * 3 + "7Yw4Tq\n", "utf-8")
    noted = agent("brain_snapshot")
    assert noted.changed and "Note: key.txt: line 1 looks like a secret" in noted.text


def test_a_diff_names_skills_with_versions_and_shows_lines_if_asked(skilled: ToolCaller) -> None:
    skilled("skill_manage", action="edit", name="mail", content="Otherwise.\n")
    given = {"from": "@~1", "to": "@"}
    answer = skilled("brain_diff", **given)
    assert answer.text.splitlines() == ["mail upgraded 1 → 2", "M skills/mail/SKILL.md"]
    assert "+Otherwise." in skilled("brain_diff", **given, patch=True).data["patch"]
    assert skilled("brain_diff").text == "No differences."
    assert skilled.expect_failure("brain_diff", **{"from": "nope"}).code == "bad_revision"


def test_the_log_tells_newest_first_what_was_done(skilled: ToolCaller) -> None:
    lines = skilled("brain_log", limit=2).text.splitlines()
    assert lines[0].endswith("tester  mail added at version 1")
    assert [row["operation"]["slug"] for row in skilled("brain_log").data["snapshots"][:3]] == [
        *("mail", "loans", "oracles")
    ]
    assert len(skilled("brain_log", skill="mail").data["snapshots"]) == 1


def test_verification_tells_whether_the_lineage_is_whole(skilled: ToolCaller) -> None:
    for deep in (False, True):
        answer = skilled("brain_verify", deep=deep)
        assert answer.data["ok"] and "The lineage is whole: 4 snapshots" in answer.text


def test_ten_snapshots_are_listed_unless_more_are_asked_for(agent: ToolCaller) -> None:
    for number in range(10):
        agent("skill_manage", action="create", name=f"s{number}", content="x")
    assert len(agent("brain_log").data["snapshots"]) == 10
    assert len(agent("brain_log", limit=11).data["snapshots"]) == 11


def test_five_hundred_changed_files_are_named(agent: ToolCaller) -> None:
    for number in range(500):
        (agent.brain.root / f"{number:03}.txt").write_text("x")
    assert agent("brain_diff").text.endswith("\nA 499.txt")
    (agent.brain.root / "500.txt").write_text("x")
    answer = agent("brain_diff", patch=True)
    assert answer.data["count"] == 501 and len(answer.data["changes"]) == 500
    assert "\nA 499.txt\n(500 of 501 files are named.)\n\n" in answer.text
    assert "500.txt" not in answer.data["patch"]


def test_twenty_notices_of_a_snapshot_are_shown(agent: ToolCaller) -> None:
    for number in range(21):
        key = "ghp_" + "Zk3vB9qLx2" * 3 + "7Yw4Tq\n"
        (agent.brain.root / f"key{number}.txt").write_text(key)
    answer = agent("brain_snapshot")
    assert answer.text.count("\nNote: key") == len(answer.data["notices"]) == 20


def test_a_failed_verification_shows_fifty_findings(
    agent: ToolCaller, monkeypatch: pytest.MonkeyPatch
) -> None:
    message = f"{agent.brain.root}/x is odd"
    findings = [Finding(f"c{number}", "error", "", "", message) for number in range(51)]
    verified = agent.brain.verify()._replace(ok=False, findings=findings[:50])
    monkeypatch.setattr(type(agent.brain), "verify", lambda *_: verified)
    answer = agent("brain_verify")
    lines = answer.text.splitlines()
    assert lines[0].startswith("VERIFICATION FAILED: 1 snapshots, ") and len(lines) == 51
    assert lines[-1] == "error: c49: x is odd" and not answer.data["ok"]
    verified = verified._replace(findings=findings)
    answer = agent("brain_verify")
    assert answer.text.splitlines()[51:] == ["(50 of 51 findings are shown.)"]
    assert len(answer.data["findings"]) == 50


def test_four_hundred_skills_are_listed_one_by_one(agent: ToolCaller) -> None:
    (agent.brain.root / "skills/x").mkdir()
    for number in range(400):
        text = f"---\nname: s{number}\ndescription: d\n---\n"
        (agent.brain.root / f"skills/x/s{number}.md").write_text(text)
    agent.brain.snapshot()
    assert len(agent("skills_list").text.splitlines()) == 400
    (agent.brain.root / "skills/x/one.md").write_text("---\nname: one\ndescription: d\n---\n")
    agent.brain.snapshot()
    assert agent("skills_list").text.endswith(
        "\n(To find the ones you need, say what your task is.)"
    )
    answer = agent("skills_list", category="X/")
    assert answer.text.endswith("\n(400 of 401 skills: say what your task is to find others.)")
    assert answer.data["count"] == 401 and len(answer.data["skills"]) == 400


def test_what_reads_changes_nothing(skilled: ToolCaller) -> None:
    for tool in ("skills_list", "brain_diff", "brain_log", "brain_verify"):
        assert skilled(tool).changed is False
    assert skilled("skills_list", task="mail").changed is False
    assert skilled("skill_view", name="mail").changed is False
