"""skill_manage: what an agent learned is written down, improved, taken back."""

import pytest

from tests.integration.serve.tools.conftest import ToolCaller
from tests.support.cases import read_cases

CASES = read_cases(__file__)

BODY = "Check the age.\nThen the price.\nThen the age.\n"
SKILL = f"---\nname: oracles\ndescription: Trust no stale price\n---\n{BODY}"


@pytest.fixture
def oracles(agent):
    agent("skill_manage", action="create", name="oracles", content=SKILL)
    return agent


def operations(agent: ToolCaller) -> list[str]:
    return [entry.operation["kind"] for entry in agent.brain.history.log()][:-1]


def test_create_makes_a_skill_in_one_snapshot(agent):
    answer = agent("skill_manage", action="create", name="Oracle Manipulation", content=BODY)
    assert answer.changed and answer.data["version"] == 1
    assert answer.data["slug"] == "oracle-manipulation"
    assert answer.data["previous_version"] is None and answer.data["snapshot"] == agent.brain.head
    assert answer.text.startswith("Created oracle-manipulation, version 1")
    assert agent.read_text("skills/oracle-manipulation/SKILL.md").endswith(BODY)
    assert operations(agent) == ["upsert"]


def test_op_is_another_name_of_action(agent):
    assert agent("skill_manage", op="create", name="a", content="x").data["version"] == 1
    assert agent("skill_manage", op="edit", action="edit", name="a", content="y").changed


def test_one_action_has_to_be_given(agent):
    for given in ({}, {"op": "create", "action": "edit"}):
        failure = agent.expect_failure("skill_manage", name="a", content="x", **given)
        assert "create, edit, patch" in failure.text


def test_create_of_a_skill_that_exists_improves_it(oracles):
    answer = oracles("skill_manage", action="create", name="oracles", content="Better.\n")
    assert answer.text.startswith("Improved oracles, version 2")
    assert answer.data["previous_version"] == 1


def test_a_near_duplicate_is_named_where_one_is_made(oracles):
    twin = SKILL.replace("name: oracles", "name: oracle-prices")
    answer = oracles("skill_manage", action="create", name="oracle-prices", content=twin)
    assert answer.changed and answer.data["similar"][0]["slug"] == "oracles"
    assert "▸ oracles: Trust no stale price" in answer.text and "absorbed_into" in answer.text
    other = "---\nname: mail\ndescription: Sort letters\n---\nBy sender.\n"
    assert (
        "similar" not in oracles("skill_manage", action="create", name="mail", content=other).data
    )
    assert "similar" not in oracles("skill_manage", action="edit", name="mail", content=twin).data


def test_create_with_the_text_that_is_there_says_so_and_edit_raises_the_version(oracles):
    again = oracles("skill_manage", action="create", name="oracles", content=SKILL)
    assert again.data["version"] == 1 and "oracles has this text already" in again.text
    assert operations(oracles) == ["upsert"]
    edited = oracles("skill_manage", action="edit", name="oracles", content=SKILL)
    assert edited.data["version"] == 2


def test_create_with_an_unquoted_colon_is_written_with_quotes(agent):
    text = "---\nname: a\ndescription: Use when: asked\n---\nDo.\n"
    agent("skill_manage", action="create", name="a", content=text)
    assert 'description: "Use when: asked"\n' in agent.read_text("skills/a/SKILL.md")


def test_patch_of_front_matter_that_yaml_refuses_changes_the_patched_line_alone(agent):
    text = "---\nname: a\ndescription: Use: it\nnote: b: c\nversion: 1\n---\nDo.\n"
    file = agent.brain.root / "skills/a/SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text(text, "utf-8")
    patch = {"old_string": "Do.", "new_string": "Do it."}
    agent("skill_manage", action="patch", name="a", **patch)
    patched = text.replace("version: 1", "version: 2").replace("Do.", "Do it.")
    assert agent.read_text("skills/a/SKILL.md") == patched
    assert "a: Use: it" in agent("skills_list").text


def test_edit_of_a_skill_that_is_missing_creates_it(agent):
    answer = agent("skill_manage", action="edit", name="oracles", content=SKILL)
    assert answer.text.startswith("Created oracles, version 1")


def test_a_description_goes_with_a_bare_text(agent):
    agent("skill_manage", action="create", name="a", content="Do.", description="When to do")
    assert "▸ a: When to do" in agent("skills_list").text


def test_a_new_skill_goes_into_its_category(agent):
    answer = agent("skill_manage", action="create", name="a", content="x", category="Dev Ops")
    assert answer.data["path"] == "skills/dev-ops/a/SKILL.md"
    again = agent("skill_manage", action="create", name="a", content="y", category="other")
    assert again.data["path"] == "skills/dev-ops/a/SKILL.md" and again.data["version"] == 2


def test_a_skill_is_no_category(oracles):
    failure = oracles.expect_failure(
        "skill_manage", action="create", name="b", content="x", category="oracles"
    )
    assert failure.code == "not_a_category"


def test_what_lies_unrecorded_where_a_skill_goes_is_recorded_first(agent):
    there = agent.brain.root / "skills" / "cat" / "a" / "SKILL.md"
    there.parent.mkdir(parents=True)
    there.write_text("---\nname: a\ndescription: by hand\nversion: 7\n---\nMine.\n", "utf-8")
    answer = agent("skill_manage", action="create", name="a", content="New.", category="cat")
    assert answer.data["version"] == 8
    assert operations(agent) == ["upsert", "snapshot"]


@pytest.mark.parametrize(
    ("place", "name", "title"),
    [("peft", "peft-fine-tuning", ""), ("peft", "Parameter efficient", ""), ("c", "c", "C++")],
)
def test_a_skill_that_bears_another_name_is_written_by_its_slug(agent, place, name, title):
    head = f"name: {name}\ndescription: d\n" + (f"metadata:\n  title: {title}\n" if title else "")
    file = agent.brain.root / "skills" / place / "SKILL.md"
    file.parent.mkdir()
    file.write_text(f"---\n{head}---\nFirst.\n", "utf-8")
    agent.brain.snapshot()
    patch = {"action": "patch", "old_string": "First.", "new_string": "Second."}
    more = {"action": "write_file", "file_path": "assets/x", "file_content": "x"}
    edit = {"action": "edit", "content": "Third.\n"}
    made = {"action": "create", "content": "Fourth.\n"}
    versions = [
        agent("skill_manage", name=place, **given).data["version"]
        for given in (patch, more, edit, made)
    ]
    assert versions == [2, 3, 4, 5] and len(agent.brain.skills.list()) == 1
    made["content"] = "Fifth.\n"
    assert agent("skill_manage", name=name, **made).data["version"] == 6


def test_a_skill_that_shares_its_slug_is_written_by_its_path(agent):
    for path in ("one/search/SKILL.md", "two/search.md"):
        file = agent.brain.root / "skills" / path
        file.parent.mkdir(parents=True)
        file.write_text("---\nname: search\ndescription: d\n---\nFirst.\n", "utf-8")
    agent.brain.snapshot()
    edit = {"action": "edit", "content": "Second.\n"}
    assert agent.expect_failure("skill_manage", name="search", **edit).code == "ambiguous_skill"
    assert agent("skill_manage", name="one/search", **edit).data["path"] == (
        "skills/one/search/SKILL.md"
    )
    patch = {"action": "patch", "old_string": "First.", "new_string": "Third."}
    assert agent("skill_manage", name="two/search.md", **patch).data["path"] == (
        "skills/two/search.md"
    )
    assert agent("skill_manage", name="two/search", action="delete").changed


def test_a_name_that_merely_folds_to_the_slug_of_another_is_refused(agent):
    agent("skill_manage", action="create", name="C++", content="x")
    failure = agent.expect_failure("skill_manage", action="create", name="C#", content="x")
    assert failure.code == "name_taken" and "'C++'" in failure.text
    assert agent("skill_manage", action="edit", name="c", content="y").data["version"] == 2


@pytest.mark.parametrize("name", ["../x", "a/b", "a\\b", "/etc/passwd", "C:\\x"])
def test_a_name_is_no_path(agent, name):
    agent.expect_failure("skill_manage", action="create", name=name, content="x")
    assert agent.brain.skills.list() == []


@pytest.mark.parametrize("action", ["create", "edit"])
def test_a_skill_without_text_is_refused(agent, action):
    assert "content" in agent.expect_failure("skill_manage", action=action, name="a").text


def test_patch_replaces_a_piece_and_nothing_else(oracles):
    answer = oracles(
        "skill_manage",
        action="patch",
        name="oracles",
        old_string="Then the price.",
        new_string="Then the source.",
    )
    assert answer.data["version"] == 2
    text = oracles.read_text("skills/oracles/SKILL.md")
    assert text.endswith(BODY.replace("Then the price.", "Then the source."))
    assert '  version: "2"\n' in text and "description: Trust no stale price" in text


def test_patch_may_change_and_remove_lines_of_the_front_matter(agent):
    text = "---\nname: a\ndescription: old\nlicense: MIT\n---\nDo.\n"
    agent("skill_manage", action="create", name="a", content=text)
    patch = {"old_string": "description: old\nlicense: MIT\n", "new_string": "description: new\n"}
    agent("skill_manage", action="patch", name="a", **patch)
    assert agent.read_text("skills/a/SKILL.md") == (
        '---\nname: a\ndescription: new\nmetadata:\n  version: "2"\n---\nDo.\n'
    )


def test_patch_of_windows_lines_takes_plain_ones(agent):
    agent("skill_manage", action="create", name="a", content="One.\r\nTwo.\r\nThree.\r\n")
    patch = {"old_string": "One.\nTwo.", "new_string": "1.\n2."}
    agent("skill_manage", action="patch", name="a", **patch)
    assert agent.read_text("skills/a/SKILL.md").endswith("1.\r\n2.\r\nThree.\r\n")


def test_an_ambiguous_patch_says_where_it_matches(oracles):
    patch = {"action": "patch", "name": "oracles", "old_string": "the age", "new_string": "it"}
    failure = oracles.expect_failure("skill_manage", **patch)
    assert failure.code == "ambiguous" and "2 times" in failure.text
    assert "lines 7, 9" in failure.text and "replace_all" in failure.text
    oracles("skill_manage", **patch, replace_all=True)
    assert oracles.read_text("skills/oracles/SKILL.md").count("the age") == 0


def test_a_patch_that_matches_nothing_shows_the_nearest_lines(oracles):
    failure = oracles.expect_failure(
        "skill_manage", action="patch", name="oracles", old_string="Then teh price.", new_string=""
    )
    assert failure.code == "no_match" and "8: Then the price." in failure.text


def test_a_patch_that_breaks_the_front_matter_is_refused(oracles):
    failure = oracles.expect_failure(
        "skill_manage",
        action="patch",
        name="oracles",
        old_string="description: Trust",
        new_string='description: "Trust',
    )
    assert oracles.read_text("skills/oracles/SKILL.md").endswith(BODY) and failure.text


def test_a_patch_gets_what_was_changed_by_hand(oracles):
    file = oracles.brain.root / "skills/oracles/SKILL.md"
    file.write_text(file.read_text("utf-8") + "By hand.\n", "utf-8")
    patch = {"old_string": "Then the price.", "new_string": "Then the source."}
    oracles("skill_manage", action="patch", name="oracles", **patch)
    assert "By hand." in oracles.read_text("skills/oracles/SKILL.md")
    assert operations(oracles) == ["upsert", "snapshot", "upsert"]


def test_a_file_is_written_with_a_new_version_in_one_snapshot(oracles):
    answer = oracles(
        "skill_manage",
        action="write_file",
        name="oracles",
        file_path="references/feeds.md",
        file_content="Feeds.\n",
    )
    assert answer.data["version"] == 2 and operations(oracles) == ["upsert", "upsert"]
    assert oracles.read_text("skills/oracles/references/feeds.md") == "Feeds.\n"
    assert '  version: "2"\n' in oracles.read_text("skills/oracles/SKILL.md")
    assert oracles.brain.status().clean
    patch = {"file_path": "references/feeds.md", "old_string": "Feeds", "new_string": "Sources"}
    assert oracles("skill_manage", action="patch", name="oracles", **patch).data["version"] == 3
    assert oracles.read_text("skills/oracles/references/feeds.md") == "Sources.\n"
    gone = oracles(
        "skill_manage", action="remove_file", name="oracles", file_path="references/feeds.md"
    )
    assert (
        gone.data["version"] == 4
        and not (oracles.brain.root / "skills/oracles/references").exists()
    )
    assert oracles.brain.status().clean and oracles.brain.verify().ok


def test_the_first_file_of_a_flat_skill_moves_it_into_a_folder(agent):
    skills = agent.brain.root / "skills"
    (skills / "flat.md").write_text("---\nname: flat\nversion: 3\n---\nDo.\n", "utf-8")
    agent.brain.snapshot()
    given = {"file_path": "scripts/do.sh", "file_content": "exit\n"}
    answer = agent("skill_manage", action="write_file", name="flat", **given)
    assert answer.data["path"] == "skills/flat/SKILL.md" and answer.data["version"] == 4
    assert not (skills / "flat.md").exists() and agent.brain.status().clean
    assert [row.version for row in agent.brain.skills.history("flat")] == [4, 3]


def test_a_flat_skill_beside_a_folder_of_its_name_keeps_its_place(agent):
    skills = agent.brain.root / "skills"
    (skills / "flat").mkdir(parents=True)
    (skills / "flat.md").write_text("Do.\n", "utf-8")
    (skills / "flat" / "other.md").write_text("Else.\n", "utf-8")
    agent.brain.snapshot()
    given = {"file_path": "scripts/do.sh", "file_content": "exit\n"}
    failure = agent.expect_failure("skill_manage", action="write_file", name="flat", **given)
    assert failure.code == "path_conflict"


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("../other/SKILL.md", "bad_path"),
        ("references/../../x", "bad_path"),
        ("/etc/passwd", "bad_path"),
        ("references/SKILL.md", "bad_path"),
        ("references/", "bad_path"),
        ("references\\x", "bad_path"),
        ("references/\x00", "bad_arguments"),
        ("references/.env", "left_out"),
        ("references/.git/config", "reserved_name"),
        ("references/" + "x" * 1024, "bad_arguments"),
        ("references/" + "x/" * 80 + "x", "too_deep"),
        ("elsewhere/x.md", "bad_path"),
        ("FEEDS.md", "bad_path"),
        ("references/FEEDS.md", "case_collision"),
        ("references/feeds.md/x.md", "path_conflict"),
    ],
)
def test_a_file_stays_within_its_skill(oracles, path, code):
    given = {"file_path": "references/feeds.md", "file_content": "Feeds.\n"}
    oracles("skill_manage", action="write_file", name="oracles", **given)
    given["file_path"] = path
    failure = oracles.expect_failure("skill_manage", action="write_file", name="oracles", **given)
    assert failure.code in (code, "unsafe_path") and oracles.brain.status().clean


def test_nothing_is_written_through_a_link(oracles):
    outside = oracles.brain.root.parent / "outside"
    outside.mkdir()
    (oracles.brain.root / "skills/oracles/references").symlink_to(outside)
    given = {"file_path": "references/x.md", "file_content": "x"}
    failure = oracles.expect_failure("skill_manage", action="write_file", name="oracles", **given)
    assert failure.code == "unsafe_path" and not list(outside.iterdir())


def test_a_file_that_is_not_there_cannot_be_removed_or_patched(oracles):
    given = {"file_path": "references/feeds.md", "file_content": "Feeds.\n"}
    oracles("skill_manage", action="write_file", name="oracles", **given)
    missing = {"name": "oracles", "file_path": "references/feed.md"}
    patch = {"action": "patch", "old_string": "a", "new_string": "b"}
    for given in ({"action": "remove_file"}, patch):
        assert (
            "references/feeds.md" in oracles.expect_failure("skill_manage", **missing, **given).text
        )


def test_a_miss_names_what_is_near(oracles):
    for action in ("patch", "delete", "write_file", "remove_file"):
        given = {"old_string": "a", "new_string": "b", "file_path": "assets/x", "file_content": ""}
        failure = oracles.expect_failure("skill_manage", action=action, name="oracels", **given)
        assert failure.code == "no_skill" and "oracles" in failure.text.splitlines()[1]


def test_delete_removes_a_skill_and_says_what_took_its_place(oracles):
    oracles("skill_manage", action="create", name="prices", content="Prices.\n")
    given = {"action": "delete", "name": "prices"}
    assert (
        oracles.expect_failure("skill_manage", **given, absorbed_into="nothing").code == "no_skill"
    )
    assert (
        oracles.expect_failure("skill_manage", **given, absorbed_into="Prices").code
        == "bad_arguments"
    )
    answer = oracles("skill_manage", **given, absorbed_into="oracles")
    assert answer.changed and answer.data["absorbed_into"] == "oracles"
    assert next(oracles.brain.history.log()).message == "Absorbed into oracles"
    assert [skill.slug for skill in oracles.brain.skills.list()] == ["oracles"]


@pytest.mark.parametrize(("given", "missing"), CASES["test_what_an_action_needs_is_named"])
def test_what_an_action_needs_is_named(oracles, given, missing):
    failure = oracles.expect_failure("skill_manage", name="oracles", **given)
    assert failure.message == f"{missing} is missing." and failure.code == "bad_arguments"


def test_a_description_alone_improves_a_skill(oracles):
    assert oracles("skill_manage", action="edit", name="oracles", description="New").changed
    assert "description: New" in oracles.read_text("skills/oracles/SKILL.md")


def test_a_file_outside_the_usual_folders_can_be_rewritten(oracles):
    (oracles.brain.root / "skills/oracles/NOTES.md").write_text("Old.\n")
    oracles.brain.snapshot()
    given = {"file_path": "NOTES.md", "file_content": "New.\n"}
    answer = oracles("skill_manage", action="write_file", name="oracles", **given)
    assert answer.text.startswith("Wrote NOTES.md of oracles, version 2 (snapshot ")
    assert oracles.read_text("skills/oracles/NOTES.md") == "New.\n"


def test_a_change_says_what_it_did_and_which_snapshot_recorded_it(oracles):
    given = {"name": "oracles", "file_path": "assets/x", "file_content": "x"}
    for action, done, message in (
        ("write_file", "Wrote assets/x of", "Write assets/x"),
        ("remove_file", "Removed assets/x of", "Remove assets/x"),
    ):
        answer = oracles("skill_manage", action=action, **given)
        version, snapshot = answer.data["version"], answer.data["snapshot"][:12]
        assert answer.text == f"{done} oracles, version {version} (snapshot {snapshot})."
        assert next(oracles.brain.history.log()).message == message


@pytest.mark.parametrize(
    ("given", "message"), [({"absorbed_into": ""}, "Pruned: nothing took its place"), ({}, "")]
)
def test_a_deletion_that_nothing_took_in_says_whether_that_was_meant(oracles, given, message):
    answer = oracles("skill_manage", action="delete", name="oracles", **given)
    assert answer.text.startswith("Removed oracles, version 1 (snapshot ")
    assert answer.data["absorbed_into"] == given.get("absorbed_into")
    assert next(oracles.brain.history.log()).message == message


def test_two_names_of_one_action_have_to_agree(agent):
    given = {"op": "create", "action": "edit"}
    failure = agent.expect_failure("skill_manage", name="a", content="x", **given)
    assert failure.message == "Give one action."
