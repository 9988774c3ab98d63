"""skills_list and skill_view; what the brain tools tell."""

import pytest

from brain.errors import ModelError
from brain.results import Finding
from brain.serve.tools import skills
from tests.integration.serve.tools.conftest import ToolCaller


@pytest.fixture
def skilled(agent):
    for name, category in (("oracles", "defi"), ("loans", "defi"), ("mail", "")):
        text = f"---\nname: {name}\ndescription: About {name}\n---\nDo {name}.\n"
        agent("skill_manage", action="create", name=name, content=text, category=category)
    return agent


def test_the_list_has_a_line_for_each_skill(skilled):
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


def test_a_category_has_its_own_list(skilled):
    assert skilled("skills_list", category="defi").data["count"] == 2
    assert "defi" in skilled.expect_failure("skills_list", category="deFy").text


def test_for_a_task_the_skills_that_fit_it_are_listed(skilled):
    text = "---\nname: gas\ndescription: Estimate the gas of a transaction\n---\nAsk a node.\n"
    skilled("skill_manage", action="create", name="gas", content=text)
    task = "What gas will this transaction take?"
    assert skilled("skills_list", task=task).text.splitlines()[0].startswith("▸ gas: ")
    given = {"task": "gas of a transaction", "category": "defi"}
    assert skilled("skills_list", **given).text == "(no skill fits this task)"


def test_an_embedder_that_fails_is_told_and_hides_no_skill(skilled):
    def fails() -> None:
        raise ModelError("it is down")

    skilled.brain._session.open_embedder = fails
    assert skilled("skills_list", task="loans").text.splitlines() == [
        "▸ loans: About loans",
        "(Found by their words alone: the embedder fails.)",
    ]


def write_skills(agent: ToolCaller, count: int, words: int) -> None:
    for number in range(count):
        text = f"---\nname: s{number:03d}\ndescription: USE {'word ' * words}\n---\nDo.\n"
        (agent.brain.root / f"skills/s{number:03d}.md").write_text(text, "utf-8")
    agent.brain.snapshot()


def test_long_descriptions_are_cut_alike_so_that_all_skills_are_on_one_page(agent):
    write_skills(agent, 60, 200)
    answer = agent("skills_list")
    lines = answer.text.splitlines()
    assert len(lines) == 60 and all(line.endswith(" word…") for line in lines)
    assert skills.MAX_LIST_CHARS // 2 < len(answer.text) <= skills.MAX_LIST_CHARS
    assert answer.data["cursor"] == ""


def test_a_long_list_is_read_page_by_page_though_skills_come_and_go(agent):
    write_skills(agent, 250, 60)
    seen: list[str] = []
    cursor = ""
    for number in range(9):
        answer = agent("skills_list", **({"cursor": cursor} if cursor else {}))
        assert len(answer.text) <= skills.MAX_LIST_CHARS
        seen += [skill["address"] for skill in answer.data["skills"]]
        cursor = answer.data["cursor"]
        if not cursor:
            break
        assert f'cursor "{cursor}"' in answer.text.splitlines()[-1]
        name = seen[-1] if number else "a-new-one"
        act = {"action": "delete"} if number else {"action": "create", "content": "x"}
        agent("skill_manage", name=name, **act)
    assert sorted(seen) == seen == [f"s{number:03d}" for number in range(250)]
    failure = agent.expect_failure("skills_list", cursor="s001")
    assert failure.code == "bad_cursor"


def test_an_empty_brain_has_no_skills_yet(agent):
    for given in ({}, {"task": "Read a price"}):
        assert agent("skills_list", **given).text == "(no skills yet)"


def test_skills_that_share_a_slug_are_listed_by_names_that_lead_to_them(agent):
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


def test_a_skill_is_read_as_it_stands_with_the_names_of_its_files(skilled):
    write = {"action": "write_file", "file_path": "references/feeds.md", "file_content": "Feeds."}
    skilled("skill_manage", name="oracles", **write)
    answer = skilled("skill_view", name="Oracles")
    assert answer.text.startswith("---\nname: oracles\n") and "Do oracles." in answer.text
    assert answer.text.endswith("references/feeds.md")
    assert answer.data["version"] == 2 and answer.data["files"] == ["references/feeds.md"]
    file = skilled("skill_view", name="oracles", file_path="references/feeds.md")
    assert file.text == file.data["content"] == "Feeds."


def test_an_earlier_version_is_read(skilled):
    skilled("skill_manage", action="edit", name="mail", content="Otherwise.\n")
    for version in (1, "1"):
        assert "Do mail." in skilled("skill_view", name="mail", version=version).text
    failure = skilled.expect_failure("skill_view", name="mail", version="9")
    assert failure.code == "no_version" and "1, 2" in failure.text


def test_a_miss_lists_what_is_near(skilled):
    assert "oracles" in skilled.expect_failure("skill_view", name="oracels").text
    missing = skilled.expect_failure("skill_view", name="oracles", file_path="references/x.md")
    assert missing.code == "no_file" and "no files" in missing.text


def test_hidden_characters_are_not_shown(agent):
    text = "Do\u200b this\U000e0041.\x1b[8m\n"
    file = agent.brain.root / "skills" / "a.md"
    file.write_text(text, "utf-8")
    agent.brain.snapshot()
    assert agent("skill_view", name="a").text.startswith("Do this.[8m\n")


def test_what_is_no_text_is_told_by_its_size(skilled):
    file = skilled.brain.root / "skills/mail/assets/logo.png"
    file.parent.mkdir()
    file.write_bytes(b"\x89PNG\xff")
    skilled.brain.snapshot()
    answer = skilled("skill_view", name="mail", file_path="assets/logo.png")
    assert answer.text == "(not a text: 5 bytes)"


def test_a_snapshot_records_what_was_changed_by_hand(agent):
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


def test_a_diff_names_skills_with_versions_and_shows_lines_if_asked(skilled):
    skilled("skill_manage", action="edit", name="mail", content="Otherwise.\n")
    given = {"from": "@~1", "to": "@"}
    answer = skilled("brain_diff", **given)
    assert answer.text.splitlines() == ["mail upgraded 1 → 2", "M skills/mail/SKILL.md"]
    assert "+Otherwise." in skilled("brain_diff", **given, patch=True).data["patch"]
    assert skilled("brain_diff").text == "No differences."
    assert skilled.expect_failure("brain_diff", **{"from": "nope"}).code == "bad_revision"


def test_the_log_tells_newest_first_what_was_done(skilled):
    lines = skilled("brain_log", limit=2).text.splitlines()
    assert lines[0].endswith("tester  mail added at version 1")
    assert [row["operation"]["slug"] for row in skilled("brain_log").data["snapshots"][:3]] == [
        *("mail", "loans", "oracles")
    ]
    assert len(skilled("brain_log", skill="mail").data["snapshots"]) == 1


def test_verification_tells_whether_the_lineage_is_whole(skilled):
    for deep in (False, True):
        answer = skilled("brain_verify", deep=deep)
        assert answer.data["ok"] and "The lineage is whole: 4 snapshots" in answer.text


def test_ten_snapshots_are_listed_unless_more_are_asked_for(agent):
    for number in range(10):
        agent("skill_manage", action="create", name=f"s{number}", content="x")
    assert len(agent("brain_log").data["snapshots"]) == 10
    assert len(agent("brain_log", limit=11).data["snapshots"]) == 11


def test_two_hundred_changed_files_are_named(agent):
    for number in range(200):
        (agent.brain.root / f"{number:03}.txt").write_text("x")
    assert agent("brain_diff").text.endswith("\nA 199.txt")
    (agent.brain.root / "200.txt").write_text("x")
    answer = agent("brain_diff", patch=True)
    assert answer.data["count"] == 201 and len(answer.data["changes"]) == 200
    assert "\nA 199.txt\n(200 of 201 files are named.)\n\n" in answer.text
    assert "200.txt" not in answer.data["patch"]


def test_twenty_notices_of_a_snapshot_are_shown(agent):
    for number in range(21):
        key = "ghp_" + "Zk3vB9qLx2" * 3 + "7Yw4Tq\n"
        (agent.brain.root / f"key{number}.txt").write_text(key)
    answer = agent("brain_snapshot")
    assert answer.text.count("\nNote: key") == len(answer.data["notices"]) == 20


def test_a_failed_verification_shows_fifty_findings(agent, monkeypatch):
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


def test_a_category_that_is_too_long_for_a_page_has_pages_of_its_own(agent):
    for folder in ("x", "y"):
        (agent.brain.root / "skills" / folder).mkdir()
        for number in range(200):
            text = f"---\nname: s{number}\ndescription: {'word ' * 60}\n---\n"
            (agent.brain.root / f"skills/{folder}/{folder}{number:03d}.md").write_text(text)
    agent.brain.snapshot()
    assert agent("skills_list").text.endswith(" Categories: x, y.)")
    first = agent("skills_list", category="X/")
    assert first.data["count"] == 200 and "Categories" not in first.text
    second = agent("skills_list", category="x", cursor=first.data["cursor"])
    addresses = [one["address"] for answer in (first, second) for one in answer.data["skills"]]
    assert addresses == [f"x{number:03d}" for number in range(len(addresses))]


def test_what_reads_changes_nothing(skilled):
    for tool in ("skills_list", "brain_diff", "brain_log", "brain_verify"):
        assert skilled(tool).changed is False
    assert skilled("skills_list", task="mail").changed is False
    assert skilled("skill_view", name="mail").changed is False
