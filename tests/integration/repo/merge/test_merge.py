from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from brain import Brain, Conflict, InvalidInput, NotFound

Change = Callable[[Brain], object]


@pytest.fixture
def brain(tmp_path: Path) -> Brain:
    made = Brain.init(tmp_path / "agent", author="tester")
    made.upsert_skill("Oracle", "One.\n\nTwo.\n\nThree.\n", description="Check freshness")
    write(made, "memory/log.jsonl", '{"ts":1}\n')
    write(made, "prompts/system.md", "Be brief.\n")
    made.snapshot("base")
    return made


def write(brain: Brain, path: str, text: str) -> None:
    file = brain.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def read(brain: Brain, path: str) -> str:
    return (brain.root / path).read_text()


def diverge(brain: Brain, ours: Change, theirs: Change) -> None:
    """Make `ours` on main and `theirs` on the branch idea; end on main."""
    brain.create_branch("idea")
    ours(brain)
    brain.snapshot()
    brain.switch("idea")
    theirs(brain)
    brain.snapshot()
    brain.switch("main")


def prompts(brain: Brain) -> None:
    diverge(
        brain,
        lambda b: write(b, "prompts/system.md", "Be kind.\n"),
        lambda b: write(b, "prompts/system.md", "Be fast.\n"),
    )


def test_a_skill_changed_on_both_sides_gets_a_version_above_both(brain: Brain) -> None:
    diverge(
        brain,
        lambda b: b.upsert_skill("Oracle", "1.\n\nTwo.\n\nThree.\n"),
        lambda b: [b.upsert_skill("Oracle", f"One.\n\nTwo.\n\n{n}.\n") for n in (3, 33)],
    )
    done = brain.merge("idea")
    assert [tuple(skill) for skill in done.skills] == [("oracle", 2, 3, 4)]
    assert brain.view_skill("oracle").body.strip() == "1.\n\nTwo.\n\n33."
    assert brain.view_skill("oracle").version == 4
    info = brain.show().info
    assert info.operation["kind"] == "merge"
    assert info.operation["skills"] == [
        {"slug": "oracle", "ours": "2", "theirs": "3", "version": "4"}
    ]
    assert len(info.parents) == 2
    assert brain.status().clean
    assert brain.verify(deep=True).findings == []


def test_both_orders_of_a_merge_give_the_same_bundle(brain: Brain) -> None:
    diverge(
        brain,
        lambda b: (
            b.upsert_skill("Oracle", "1.\n\nTwo.\n\nThree.\n"),
            write(b, "memory/log.jsonl", '{"ts":1}\n{"ts":5}\n'),
        ),
        lambda b: (
            b.upsert_skill("Oracle", "One.\n\nTwo.\n\n3.\n"),
            write(b, "memory/log.jsonl", '{"ts":1}\n{"ts":3}\n'),
        ),
    )
    brain.create_branch("other-way", "idea")
    one = brain.merge("idea")
    assert read(brain, "memory/log.jsonl") == '{"ts":1}\n{"ts":3}\n{"ts":5}\n'
    main_before = brain.show("@~1").info.snapshot
    brain.switch("other-way")
    other = brain.merge(main_before)
    assert one.bundle == other.bundle
    assert one.snapshot != other.snapshot


def test_a_branch_without_work_of_ours_is_gone_forward_to(brain: Brain) -> None:
    brain.create_branch("idea")
    brain.switch("idea")
    brain.upsert_skill("Other", "x\n")
    brain.switch("main")
    done = brain.merge("idea")
    assert done.fast_forward and done.changed and done.added == 1
    assert brain.head == done.snapshot == brain.branches().branches[0].snapshot
    assert not brain.merge("idea").changed


def test_a_conflict_changes_neither_head_nor_folder_and_is_shown(brain: Brain) -> None:
    prompts(brain)
    head = brain.head
    done = brain.merge("idea")
    assert [(row.path, row.reason) for row in done.conflicts] == [("prompts/system.md", "content")]
    assert brain.head == head == done.snapshot and not done.changed
    assert read(brain, "prompts/system.md") == "Be kind.\n"
    status = brain.status()
    assert status.merging == "idea" and status.conflicts == done.conflicts and status.clean
    assert "<<<<<<< main\nBe kind.\n" in read(brain, ".brain/conflicts/prompts/system.md")


@pytest.mark.parametrize(
    ("choice", "text"),
    [("ours", "Be kind.\n"), ("theirs", "Be fast.\n"), ("both", "Be fast.\nBe kind.\n")],
)
def test_a_conflict_is_decided_at_once_or_later(brain: Brain, choice: str, text: str) -> None:
    prompts(brain)
    brain.merge("idea")
    brain.abort_merge()
    assert brain.status().merging is None
    assert not (brain.root / ".brain/conflicts").exists()
    brain.merge("idea")
    assert [row.choice for row in brain.resolve(["prompts/system.md"], choice)] == [choice]
    done = brain.continue_merge()
    assert done.conflicts == [] and len(done.parents) == 2
    assert read(brain, "prompts/system.md") == text
    assert brain.status().merging is None
    brain.undo()
    assert brain.merge("idea", choice).conflicts == []
    assert read(brain, "prompts/system.md") == text


def test_a_text_edited_where_its_markers_lie_is_taken(brain: Brain) -> None:
    prompts(brain)
    brain.merge("idea")
    with pytest.raises(InvalidInput) as caught:
        brain.resolve(["prompts/system.md"], "content")
    assert caught.value.code == "markers_left"
    write(brain, ".brain/conflicts/prompts/system.md", "Be kind and fast.\n")
    brain.resolve(["prompts/system.md"], "content")
    brain.continue_merge()
    assert read(brain, "prompts/system.md") == "Be kind and fast.\n"


def test_a_link_where_markers_were_is_not_followed(brain: Brain, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    for secret in (tmp_path / "secret", tmp_path / "outside/system.md"):
        secret.write_text("hidden\n")
    prompts(brain)
    brain.merge("idea")
    marked = brain.root / ".brain/conflicts/prompts/system.md"
    marked.unlink()
    marked.symlink_to(tmp_path / "secret")
    with pytest.raises(InvalidInput) as link_error:
        brain.resolve(["prompts/system.md"], "content")
    assert link_error.value.code == "no_markers"
    marked.unlink()
    marked.parent.rmdir()
    marked.parent.symlink_to(tmp_path / "outside")
    with pytest.raises(InvalidInput) as folder_error:
        brain.resolve(["prompts/system.md"], "content")
    assert folder_error.value.code == "unsafe_path"
    assert (tmp_path / "secret").read_text() == "hidden\n"


def test_an_edited_skill_still_gets_the_version_of_the_merge(brain: Brain) -> None:
    diverge(
        brain,
        lambda b: b.upsert_skill("Oracle", "A.\n"),
        lambda b: b.upsert_skill("Oracle", "B.\n"),
    )
    assert [row.reason for row in brain.merge("idea").conflicts] == ["content"]
    text = read(brain, "skills/oracle/SKILL.md").replace("A.", "A and B.")
    write(brain, ".brain/conflicts/skills/oracle/SKILL.md", text)
    brain.resolve(["skills/oracle/SKILL.md"], "content")
    brain.continue_merge()
    view = brain.view_skill("oracle")
    assert (view.version, view.body.strip()) == (3, "A and B.")


def test_a_decision_does_not_outlive_what_it_was_about(brain: Brain) -> None:
    prompts(brain)
    brain.merge("idea")
    brain.resolve(["prompts/system.md"], "ours")
    write(brain, "prompts/system.md", "Be wise.\n")
    brain.snapshot()
    done = brain.continue_merge()
    assert [row.choice for row in done.conflicts] == [None]
    assert "Be wise." in read(brain, ".brain/conflicts/prompts/system.md")


@pytest.mark.parametrize(("choice", "there"), [("ours", False), ("theirs", True), ("both", True)])
def test_a_file_removed_here_and_changed_there_is_asked_about(
    brain: Brain, choice: str, there: bool
) -> None:
    diverge(
        brain,
        lambda b: (b.root / "memory/log.jsonl").unlink(),
        lambda b: write(b, "memory/log.jsonl", '{"ts":1}\n{"ts":2}\n'),
    )
    assert [row.reason for row in brain.merge("idea").conflicts] == ["deleted_by_ours"]
    brain.resolve(["memory/log.jsonl"], choice)
    brain.continue_merge()
    assert (brain.root / "memory/log.jsonl").exists() == there
    assert brain.status().clean


def test_binary_files_can_both_be_kept(brain: Brain) -> None:
    def picture(content: bytes) -> Change:
        return lambda b: (b.root / "memory/a.bin").write_bytes(content)

    diverge(brain, picture(b"\0one"), picture(b"\0two"))
    assert [row.reason for row in brain.merge("idea").conflicts] == ["binary"]
    brain.abort_merge()
    brain.merge("idea", "both")
    kept = sorted(file.read_bytes() for file in (brain.root / "memory").glob("a*.bin"))
    assert kept == [b"\0one", b"\0two"]


def test_a_file_and_a_folder_of_one_name_are_asked_about(brain: Brain) -> None:
    diverge(brain, lambda b: write(b, "memory/x", "1"), lambda b: write(b, "memory/x/y", "2"))
    assert [(row.path, row.reason) for row in brain.merge("idea").conflicts] == [
        ("memory/x/y", "collides")
    ]
    brain.resolve(["memory/x/y"], "theirs")
    brain.continue_merge()
    assert read(brain, "memory/x/y") == "2"
    assert brain.status().clean


def test_what_was_changed_by_hand_is_recorded_before_a_merge_writes_there(brain: Brain) -> None:
    diverge(
        brain,
        lambda b: b.upsert_skill("Mine", "m\n"),
        lambda b: write(b, "memory/log.jsonl", '{"ts":1}\n{"ts":2}\n'),
    )
    write(brain, "memory/log.jsonl", '{"ts":1}\n{"ts":9}\n')
    brain.merge("idea")
    assert read(brain, "memory/log.jsonl") == '{"ts":1}\n{"ts":2}\n{"ts":9}\n'
    assert brain.show("@~1").info.message == "Record manual edits"


def test_a_criss_cross_history_merges_by_all_its_bases(brain: Brain) -> None:
    brain.create_branch("idea")
    write(brain, "memory/a.txt", "a1\n")
    brain.snapshot()
    a = brain.head
    brain.switch("idea")
    write(brain, "memory/b.txt", "b1\n")
    brain.snapshot()
    b = brain.head
    brain.merge(a)
    write(brain, "memory/a.txt", "a2\n")
    brain.snapshot()
    brain.switch("main")
    brain.merge(b)
    write(brain, "memory/b.txt", "b2\n")
    brain.snapshot()
    done = brain.merge("idea")
    assert sorted(done.bases) == sorted([a, b])
    assert done.conflicts == []
    assert (read(brain, "memory/a.txt"), read(brain, "memory/b.txt")) == ("a2\n", "b2\n")
    assert brain.verify(deep=True).ok


def test_a_merge_that_waits_stands_in_the_way_of_another_and_of_a_switch(brain: Brain) -> None:
    prompts(brain)
    brain.merge("idea")
    for attempt in (lambda: brain.merge("idea"), lambda: brain.switch("idea")):
        with pytest.raises(Conflict) as caught:
            attempt()
        assert caught.value.code == "merging"


def test_without_a_merge_there_is_nothing_to_decide_or_finish(brain: Brain) -> None:
    for attempt in (
        brain.continue_merge,
        brain.abort_merge,
        lambda: brain.resolve(["a"], "ours"),
    ):
        with pytest.raises(NotFound) as caught:
            attempt()
        assert caught.value.code == "no_merge"


def test_a_path_without_a_conflict_cannot_be_decided(brain: Brain) -> None:
    prompts(brain)
    brain.merge("idea")
    with pytest.raises(NotFound) as caught:
        brain.resolve(["memory/log.jsonl"], "ours")
    assert caught.value.code == "no_conflict"


def test_large_memories_that_both_grew_are_united_by_their_ends(brain: Brain) -> None:
    start = "".join(f'{{"ts":{n},"text":"{"x" * 100}"}}\n' for n in range(6000))
    write(brain, "memory/log.jsonl", start)
    brain.snapshot()
    before = sum(f.stat().st_size for f in (brain.root / ".brain").glob("store.db*"))
    diverge(
        brain,
        lambda b: write(b, "memory/log.jsonl", start + '{"ts":7001}\n{"ts":7003}\n'),
        lambda b: write(b, "memory/log.jsonl", start + '{"ts":7002}\n'),
    )
    assert brain.merge("idea").conflicts == []
    assert read(brain, "memory/log.jsonl") == start + "".join(
        f'{{"ts":{n}}}\n' for n in (7001, 7002, 7003)
    )
    assert brain.verify(deep=True).ok
    after = sum(f.stat().st_size for f in (brain.root / ".brain").glob("store.db*"))
    assert after - before < len(start)


def test_undo_takes_a_merge_back_with_its_files(brain: Brain) -> None:
    diverge(
        brain,
        lambda b: b.upsert_skill("Mine", "m\n"),
        lambda b: b.upsert_skill("Theirs", "t\n"),
    )
    head = brain.head
    merged = brain.merge("idea").snapshot
    assert brain.undo().snapshot == head
    assert {skill.slug for skill in brain.skills()} == {"mine", "oracle"}
    assert not (brain.root / "skills/theirs").exists()
    assert brain.redo().snapshot == merged
    assert brain.status().clean


def test_what_was_decided_is_not_asked_again_while_something_else_is(brain: Brain) -> None:
    diverge(
        brain,
        lambda b: (write(b, "prompts/system.md", "A.\n"), write(b, "prompts/more.md", "A.\n")),
        lambda b: (write(b, "prompts/system.md", "B.\n"), write(b, "prompts/more.md", "B.\n")),
    )
    brain.merge("idea")
    brain.resolve(["prompts/system.md"], "theirs")
    left = brain.continue_merge().conflicts
    assert [(row.path, row.choice) for row in left] == [
        ("prompts/more.md", None),
        ("prompts/system.md", "theirs"),
    ]
    brain.resolve(["prompts/more.md"], "ours")
    assert brain.continue_merge().conflicts == []
    assert (read(brain, "prompts/system.md"), read(brain, "prompts/more.md")) == ("B.\n", "A.\n")


def test_a_choice_that_cannot_be_done_is_asked_about_and_the_others_are_kept(brain: Brain) -> None:
    diverge(
        brain,
        lambda b: (b.upsert_skill("Oracle", description="A"), write(b, "prompts/system.md", "A\n")),
        lambda b: (b.upsert_skill("Oracle", description="B"), write(b, "prompts/system.md", "B\n")),
    )
    left = brain.merge("idea", "both").conflicts
    assert [(row.path, row.choice) for row in left] == [
        ("prompts/system.md", "both"),
        ("skills/oracle/SKILL.md", None),
    ]
    brain.resolve(["skills/oracle/SKILL.md"], "theirs")
    assert brain.continue_merge().conflicts == []
    assert brain.view_skill("oracle").description == "B"
    assert read(brain, "prompts/system.md") == "A\nB\n"


def test_a_skill_that_comes_back_after_a_kept_removal_is_above_both_sides(brain: Brain) -> None:
    diverge(
        brain,
        lambda b: [
            *(b.upsert_skill("Other", f"{n}\n") for n in range(5)),
            b.delete_skill("oracle"),
        ],
        lambda b: [b.upsert_skill("Oracle", f"{n}\n") for n in range(3)],
    )
    brain.merge("idea", "ours")
    assert brain.upsert_skill("Oracle", "again\n").version == 5


@pytest.mark.parametrize("choice", ["ours", "both"])
def test_a_skill_kept_against_a_removal_goes_on_above_all_its_versions(
    brain: Brain, choice: str
) -> None:
    diverge(
        brain,
        lambda b: b.upsert_skill("Oracle", "ours\n"),
        lambda b: (
            b.upsert_skill("Oracle", "two\n"),
            b.upsert_skill("Oracle", "three\n"),
            b.upsert_skill("Oracle", "four\n"),
            b.delete_skill("oracle"),
        ),
    )
    assert [row.reason for row in brain.merge("idea").conflicts] == ["deleted_by_theirs"]
    brain.resolve(["skills/oracle/SKILL.md"], choice)
    done = brain.continue_merge()
    assert [tuple(skill) for skill in done.skills] == [("oracle", 2, "", 5)]
    assert brain.view_skill("oracle").version == 5
    assert brain.upsert_skill("Oracle", "next\n").version == 6
    assert brain.verify(deep=True).findings == []


@pytest.mark.parametrize("at_once", [True, False])
def test_an_edit_by_hand_of_a_skill_kept_against_a_removal_is_not_lost(
    brain: Brain, at_once: bool
) -> None:
    diverge(
        brain,
        lambda b: b.upsert_skill("Oracle", "ours\n"),
        lambda b: (
            b.upsert_skill("Oracle", "two\n"),
            b.upsert_skill("Oracle", "three\n"),
            b.delete_skill("oracle"),
        ),
    )
    if not at_once:
        brain.merge("idea")
        brain.resolve(["skills/oracle/SKILL.md"], "ours")
    file = brain.root / "skills/oracle/SKILL.md"
    file.write_text(file.read_text() + "By hand.\n")
    done = brain.merge("idea", "ours") if at_once else brain.continue_merge()
    if done.conflicts:  # what was decided was about another text
        brain.resolve(["skills/oracle/SKILL.md"], "ours")
        done = brain.continue_merge()
    assert [tuple(skill) for skill in done.skills] == [("oracle", 2, "", 4)]
    assert "ours" in file.read_text() and file.read_text().endswith("By hand.\n")
    assert "By hand." in brain.view_skill("oracle").body and brain.status().clean


@pytest.mark.parametrize("swap", [False, True])
def test_a_skill_that_the_other_side_added_too_and_removed_goes_on_above_all_its_versions(
    brain: Brain, swap: bool
) -> None:
    def add(b: Brain) -> None:
        b.upsert_skill("New", "kept\n", description="d")

    def add_and_remove(b: Brain) -> None:
        for text in ("one\n", "two\n", "three\n"):
            b.upsert_skill("New", text, description="d")
        b.delete_skill("new")

    diverge(brain, *((add_and_remove, add) if swap else (add, add_and_remove)))
    done = brain.merge("idea")
    assert [tuple(s) for s in done.skills] == [("new", "", 1, 4) if swap else ("new", 1, "", 4)]
    view = brain.view_skill("new")
    assert (view.version, view.body.strip()) == (4, "kept")
    assert brain.upsert_skill("New", "next\n").version == 5
    assert brain.verify(deep=True).findings == []


def test_a_skill_that_one_side_added_and_brought_back_to_an_early_version_stays_as_it_is(
    brain: Brain,
) -> None:
    def add(b: Brain) -> None:
        early = b.upsert_skill("New", "one\n", description="d").snapshot
        b.upsert_skill("New", "two\n")
        b.restore(early, ["skills/new"])

    diverge(brain, lambda b: b.upsert_skill("Oracle", "ours\n"), add)
    assert brain.merge("idea").skills == [] and brain.view_skill("new").version == 1
    brain.create_branch("later")
    brain.switch("later")
    brain.delete_skill("new")
    brain.upsert_skill("Other", "x\n", description="d")
    brain.restore("main", ["skills/new"])
    brain.switch("main")
    assert brain.merge("later").fast_forward and brain.status().clean
    assert brain.verify(deep=True).ok


def test_a_skill_taken_back_from_them_goes_on_above_what_we_removed(brain: Brain) -> None:
    diverge(
        brain,
        lambda b: (
            b.upsert_skill("Oracle", "two\n"),
            b.upsert_skill("Oracle", "three\n"),
            b.delete_skill("oracle"),
        ),
        lambda b: b.upsert_skill("Oracle", "theirs\n"),
    )
    done = brain.merge("idea", "theirs")
    assert [tuple(skill) for skill in done.skills] == [("oracle", "", 2, 4)]
    assert brain.view_skill("oracle").version == 4
    assert brain.view_skill("oracle").body.strip() == "theirs"
