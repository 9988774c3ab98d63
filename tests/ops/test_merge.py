from collections.abc import Callable

import pytest

from brain import Brain, Conflict, InvalidInput, NotFound, limits
from brain.ops.merge_state import save_merge_state
from brain.repo.log_entry import load_merge_state
from tests.support.refusals import raises_code

Change = Callable[[Brain], object]


SKILL = "skills/oracle/SKILL.md"


@pytest.fixture
def brain(tmp_path):
    made = Brain.init(tmp_path / "agent", author="tester")
    made.skills.upsert("Oracle", "One.\n\nTwo.\n\nThree.\n", description="Check freshness")
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
    brain.branches.create("idea")
    ours(brain)
    brain.snapshot()
    brain.branches.switch("idea")
    theirs(brain)
    brain.snapshot()
    brain.branches.switch("main")


def prompts(brain: Brain) -> None:
    diverge(
        brain,
        lambda b: write(b, "prompts/system.md", "Be kind.\n"),
        lambda b: write(b, "prompts/system.md", "Be fast.\n"),
    )


def test_a_skill_changed_on_both_sides_gets_a_version_above_both(brain):
    diverge(
        brain,
        lambda b: b.skills.upsert("Oracle", "1.\n\nTwo.\n\nThree.\n"),
        lambda b: [b.skills.upsert("Oracle", f"One.\n\nTwo.\n\n{n}.\n") for n in (3, 33)],
    )
    done = brain.merge.start("idea")
    assert [tuple(skill) for skill in done.skills] == [("oracle", 2, 3, 4)]
    assert brain.skills.view("oracle").body.strip() == "1.\n\nTwo.\n\n33."
    assert brain.skills.view("oracle").version == 4
    info = brain.history.show().info
    assert info.operation["kind"] == "merge"
    assert info.operation["skills"] == [
        {"slug": "oracle", "ours": "2", "theirs": "3", "version": "4"}
    ]
    assert len(info.parents) == 2
    assert brain.status().clean
    assert brain.verify(deep=True).findings == []


def test_both_orders_of_a_merge_give_the_same_bundle(brain):
    diverge(
        brain,
        lambda b: (
            b.skills.upsert("Oracle", "1.\n\nTwo.\n\nThree.\n"),
            write(b, "memory/log.jsonl", '{"ts":1}\n{"ts":5}\n'),
        ),
        lambda b: (
            b.skills.upsert("Oracle", "One.\n\nTwo.\n\n3.\n"),
            write(b, "memory/log.jsonl", '{"ts":1}\n{"ts":3}\n'),
        ),
    )
    brain.branches.create("other-way", "idea")
    one = brain.merge.start("idea")
    assert read(brain, "memory/log.jsonl") == '{"ts":1}\n{"ts":3}\n{"ts":5}\n'
    main_before = brain.history.show("@~1").info.snapshot
    brain.branches.switch("other-way")
    other = brain.merge.start(main_before)
    assert one.bundle == other.bundle
    assert one.snapshot != other.snapshot


def test_a_branch_without_work_of_ours_is_gone_forward_to(brain):
    brain.branches.create("idea")
    brain.branches.switch("idea")
    brain.skills.upsert("Other", "x\n")
    brain.branches.switch("main")
    done = brain.merge.start("idea")
    assert done.fast_forward and done.changed and done.added == 1
    assert brain.head == done.snapshot == brain.branches.list().branches[0].snapshot
    assert not brain.merge.start("idea").changed


def test_a_conflict_changes_neither_head_nor_folder_and_is_shown(brain):
    prompts(brain)
    head = brain.head
    done = brain.merge.start("idea")
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
def test_a_conflict_is_decided_at_once_or_later(brain, choice, text):
    prompts(brain)
    brain.merge.start("idea")
    brain.merge.abort()
    assert brain.status().merging is None
    assert not (brain.root / ".brain/conflicts").exists()
    brain.merge.start("idea")
    assert [row.choice for row in brain.merge.resolve(["prompts/system.md"], choice)] == [choice]
    done = brain.merge.resume()
    assert done.conflicts == [] and len(done.parents) == 2
    assert read(brain, "prompts/system.md") == text
    assert brain.status().merging is None
    brain.undo()
    assert brain.merge.start("idea", choice).conflicts == []
    assert read(brain, "prompts/system.md") == text


def test_a_text_edited_where_its_markers_lie_is_taken(brain):
    prompts(brain)
    brain.merge.start("idea")
    with raises_code("markers_left", InvalidInput):
        brain.merge.resolve(["prompts/system.md"], "content")
    write(brain, ".brain/conflicts/prompts/system.md", "Be kind and fast.\n")
    brain.merge.resolve(["prompts/system.md"], "content")
    brain.merge.resume()
    assert read(brain, "prompts/system.md") == "Be kind and fast.\n"


def test_a_link_where_markers_were_is_not_followed(brain, tmp_path):
    (tmp_path / "outside").mkdir()
    for secret in (tmp_path / "secret", tmp_path / "outside/system.md"):
        secret.write_text("hidden\n")
    prompts(brain)
    brain.merge.start("idea")
    marked = brain.root / ".brain/conflicts/prompts/system.md"
    marked.unlink()
    marked.symlink_to(tmp_path / "secret")
    with raises_code("no_markers", InvalidInput):
        brain.merge.resolve(["prompts/system.md"], "content")
    marked.unlink()
    marked.parent.rmdir()
    marked.parent.symlink_to(tmp_path / "outside")
    with raises_code("unsafe_path", InvalidInput):
        brain.merge.resolve(["prompts/system.md"], "content")
    assert (tmp_path / "secret").read_text() == "hidden\n"


@pytest.fixture
def outside(brain, tmp_path):
    """Let the folder of conflicts of a brain with a conflict be a link to this folder."""
    prompts(brain)
    folder = tmp_path / "outside"
    (folder / "prompts").mkdir(parents=True)
    (folder / "prompts/system.md").write_text("hidden\n")
    (brain.root / ".brain/conflicts").symlink_to(folder)
    return folder


def test_a_link_in_place_of_the_folder_of_conflicts_is_replaced_by_a_folder(brain, outside):
    brain.merge.start("idea")
    folder = brain.root / ".brain/conflicts"
    assert folder.is_dir() and not folder.is_symlink()
    assert "<<<<<<< main\n" in read(brain, ".brain/conflicts/prompts/system.md")
    assert (outside / "prompts/system.md").read_text() == "hidden\n"


def test_a_link_in_place_of_the_folder_of_conflicts_goes_and_what_it_leads_to_stays(brain, outside):
    folder = brain.root / ".brain/conflicts"
    folder.unlink()
    brain.merge.start("idea")
    folder.rename(brain.root / ".brain/moved")
    folder.symlink_to(outside)
    with raises_code("unsafe_path", InvalidInput):
        brain.merge.resolve(["prompts/system.md"], "content")
    brain.merge.abort()
    assert not folder.is_symlink()
    assert (outside / "prompts/system.md").read_text() == "hidden\n"


@pytest.mark.parametrize("swap", [False, True])
def test_a_version_that_the_side_which_removed_a_skill_had_used_is_not_used_again(brain, swap):
    def removed(b: Brain) -> None:
        b.skills.upsert("Oracle", "Another.\n")
        b.skills.delete("oracle")

    def kept(b: Brain) -> None:
        b.skills.upsert("Oracle", "Theirs.\n")

    diverge(brain, *((kept, removed) if swap else (removed, kept)))
    done = brain.merge.start("idea", "ours" if swap else "theirs")
    sides = (2, "") if swap else ("", 2)
    assert [tuple(skill) for skill in done.skills] == [("oracle", *sides, 3)]
    assert brain.skills.view("oracle").version == 3
    assert brain.verify(deep=True).ok


def test_a_skill_that_one_side_only_removed_keeps_its_version(brain):
    diverge(
        brain,
        lambda b: b.skills.delete("oracle"),
        lambda b: write(b, SKILL, read(b, SKILL).replace("Two.", "Two!")),
    )
    assert brain.merge.start("idea", "theirs").skills == []
    assert brain.skills.view("oracle").version == 1


def test_an_edited_skill_still_gets_the_version_of_the_merge(brain):
    diverge(
        brain,
        lambda b: b.skills.upsert("Oracle", "A.\n"),
        lambda b: b.skills.upsert("Oracle", "B.\n"),
    )
    assert [row.reason for row in brain.merge.start("idea").conflicts] == ["content"]
    text = read(brain, "skills/oracle/SKILL.md").replace("A.", "A and B.")
    write(brain, ".brain/conflicts/skills/oracle/SKILL.md", text)
    brain.merge.resolve(["skills/oracle/SKILL.md"], "content")
    brain.merge.resume()
    view = brain.skills.view("oracle")
    assert (view.version, view.body.strip()) == (3, "A and B.")


def test_a_decision_does_not_outlive_what_it_was_about(brain):
    prompts(brain)
    brain.merge.start("idea")
    brain.merge.resolve(["prompts/system.md"], "ours")
    write(brain, "prompts/system.md", "Be wise.\n")
    brain.snapshot()
    done = brain.merge.resume()
    assert [row.choice for row in done.conflicts] == [None]
    assert "Be wise." in read(brain, ".brain/conflicts/prompts/system.md")


@pytest.mark.parametrize(("choice", "there"), [("ours", False), ("theirs", True), ("both", True)])
def test_a_file_removed_here_and_changed_there_is_asked_about(brain, choice, there):
    diverge(
        brain,
        lambda b: (b.root / "memory/log.jsonl").unlink(),
        lambda b: write(b, "memory/log.jsonl", '{"ts":1}\n{"ts":2}\n'),
    )
    assert [row.reason for row in brain.merge.start("idea").conflicts] == ["deleted_by_ours"]
    brain.merge.resolve(["memory/log.jsonl"], choice)
    brain.merge.resume()
    assert (brain.root / "memory/log.jsonl").exists() == there
    assert brain.status().clean


@pytest.mark.parametrize("deleting", ["ours", "theirs"])
@pytest.mark.parametrize("is_kept", [False, True])
def test_a_file_added_to_a_skill_that_the_other_side_deleted_is_asked_about(
    brain, deleting, is_kept
):
    added = {f"skills/oracle/{name}.md": f"By {name}.\n" for name in ("ana", "bo")}

    def delete(b: Brain) -> None:
        b.skills.upsert("Oracle", "Last.\n")
        b.skills.delete("oracle")

    def add(b: Brain) -> None:
        for path, text in added.items():
            write(b, path, text)

    diverge(brain, *((delete, add) if deleting == "ours" else (add, delete)))
    found = brain.merge.start("idea").conflicts
    assert [(row.path, row.reason) for row in found] == [
        (path, f"deleted_by_{deleting}") for path in added
    ]
    assert [skill.slug for skill in brain.skills.list()] == ["oracle"] * (deleting == "theirs")
    other = "theirs" if deleting == "ours" else "ours"
    brain.merge.resolve(["skills/oracle/ana.md"], deleting)
    brain.merge.resolve(["skills/oracle/bo.md"], other if is_kept else deleting)
    done = brain.merge.resume()
    assert [skill.slug for skill in brain.skills.list()] == ["oracle"] * is_kept
    assert (brain.root / "skills/oracle/bo.md").exists() == is_kept
    assert not (brain.root / "skills/oracle/ana.md").exists()
    assert [notice.code for notice in done.notices] == ["kept"] * is_kept
    if is_kept:
        assert brain.skills.view("oracle").version == 3  # above the one that was deleted
    assert brain.status().clean and brain.verify(deep=True).findings == []


def test_what_is_not_recorded_in_a_skill_that_a_merge_deletes_is_asked_about(brain):
    diverge(
        brain,
        lambda b: write(b, "SOUL.md", "calm\n"),
        lambda b: b.skills.delete("oracle"),
    )
    write(brain, "skills/oracle/notes.md", "Notes.\n")
    found = brain.merge.start("idea").conflicts
    assert [row.path for row in found] == ["skills/oracle/notes.md"]


def test_a_skill_in_the_folder_of_one_that_the_other_side_deleted_stays(brain):
    diverge(
        brain,
        lambda b: b.skills.delete("oracle"),
        lambda b: write(b, "skills/oracle/inner/SKILL.md", "Inner.\n"),
    )
    assert brain.merge.start("idea").conflicts == []
    assert [skill.slug for skill in brain.skills.list()] == ["inner"]


def test_binary_files_can_both_be_kept(brain):
    def picture(content: bytes) -> Change:
        return lambda b: (b.root / "memory/a.bin").write_bytes(content)

    diverge(brain, picture(b"\0one"), picture(b"\0two"))
    assert [row.reason for row in brain.merge.start("idea").conflicts] == ["binary"]
    brain.merge.abort()
    brain.merge.start("idea", "both")
    kept = sorted(file.read_bytes() for file in (brain.root / "memory").glob("a*.bin"))
    assert kept == [b"\0one", b"\0two"]


def test_a_file_and_a_folder_of_one_name_are_asked_about(brain):
    diverge(brain, lambda b: write(b, "memory/x", "1"), lambda b: write(b, "memory/x/y", "2"))
    assert [(row.path, row.reason) for row in brain.merge.start("idea").conflicts] == [
        ("memory/x/y", "collides")
    ]
    brain.merge.resolve(["memory/x/y"], "theirs")
    brain.merge.resume()
    assert read(brain, "memory/x/y") == "2"
    assert brain.status().clean


def test_what_was_changed_by_hand_is_recorded_before_a_merge_writes_there(brain):
    diverge(
        brain,
        lambda b: b.skills.upsert("Mine", "m\n"),
        lambda b: write(b, "memory/log.jsonl", '{"ts":1}\n{"ts":2}\n'),
    )
    write(brain, "memory/log.jsonl", '{"ts":1}\n{"ts":9}\n')
    brain.merge.start("idea")
    assert read(brain, "memory/log.jsonl") == '{"ts":1}\n{"ts":2}\n{"ts":9}\n'
    assert brain.history.show("@~1").info.message == "Record manual edits"


def test_a_criss_cross_history_merges_by_all_its_bases(brain):
    brain.branches.create("idea")
    write(brain, "memory/a.txt", "a1\n")
    brain.snapshot()
    a = brain.head
    brain.branches.switch("idea")
    write(brain, "memory/b.txt", "b1\n")
    brain.snapshot()
    b = brain.head
    brain.merge.start(a)
    write(brain, "memory/a.txt", "a2\n")
    brain.snapshot()
    brain.branches.switch("main")
    brain.merge.start(b)
    write(brain, "memory/b.txt", "b2\n")
    brain.snapshot()
    done = brain.merge.start("idea")
    assert sorted(done.bases) == sorted([a, b])
    assert done.conflicts == []
    assert (read(brain, "memory/a.txt"), read(brain, "memory/b.txt")) == ("a2\n", "b2\n")
    assert brain.verify(deep=True).ok


def test_a_merge_that_waits_stands_in_the_way_of_another_and_of_a_switch(brain):
    prompts(brain)
    brain.merge.start("idea")
    for attempt in (lambda: brain.merge.start("idea"), lambda: brain.branches.switch("idea")):
        with raises_code("merging", Conflict):
            attempt()


def test_without_a_merge_there_is_nothing_to_decide_or_finish(brain):
    for attempt in (
        brain.merge.resume,
        brain.merge.abort,
        lambda: brain.merge.resolve(["a"], "ours"),
    ):
        with raises_code("no_merge", NotFound):
            attempt()


def test_a_path_without_a_conflict_cannot_be_decided(brain):
    prompts(brain)
    brain.merge.start("idea")
    with raises_code("no_conflict", NotFound):
        brain.merge.resolve(["memory/log.jsonl"], "ours")


def test_large_memories_that_both_grew_are_united_by_their_ends(brain):
    start = "".join(f'{{"ts":{n},"text":"{"x" * 100}"}}\n' for n in range(6000))
    write(brain, "memory/log.jsonl", start)
    brain.snapshot()
    before = sum(f.stat().st_size for f in (brain.root / ".brain").glob("store.db*"))
    diverge(
        brain,
        lambda b: write(b, "memory/log.jsonl", start + '{"ts":7001}\n{"ts":7003}\n'),
        lambda b: write(b, "memory/log.jsonl", start + '{"ts":7002}\n'),
    )
    assert brain.merge.start("idea").conflicts == []
    assert read(brain, "memory/log.jsonl") == start + "".join(
        f'{{"ts":{n}}}\n' for n in (7001, 7002, 7003)
    )
    assert brain.verify(deep=True).ok
    after = sum(f.stat().st_size for f in (brain.root / ".brain").glob("store.db*"))
    assert after - before < len(start)


def test_undo_takes_a_merge_back_with_its_files(brain):
    diverge(
        brain, lambda b: b.skills.upsert("Mine", "m\n"), lambda b: b.skills.upsert("Theirs", "t\n")
    )
    head = brain.head
    merged = brain.merge.start("idea").snapshot
    assert brain.undo().snapshot == head
    assert {skill.slug for skill in brain.skills.list()} == {"mine", "oracle"}
    assert not (brain.root / "skills/theirs").exists()
    assert brain.redo().snapshot == merged
    assert brain.status().clean


def test_what_was_decided_is_not_asked_again_while_something_else_is(brain):
    diverge(
        brain,
        lambda b: (write(b, "prompts/system.md", "A.\n"), write(b, "prompts/more.md", "A.\n")),
        lambda b: (write(b, "prompts/system.md", "B.\n"), write(b, "prompts/more.md", "B.\n")),
    )
    brain.merge.start("idea")
    brain.merge.resolve(["prompts/system.md"], "theirs")
    left = brain.merge.resume().conflicts
    assert [(row.path, row.choice) for row in left] == [
        ("prompts/more.md", None),
        ("prompts/system.md", "theirs"),
    ]
    brain.merge.resolve(["prompts/more.md"], "ours")
    assert brain.merge.resume().conflicts == []
    assert (read(brain, "prompts/system.md"), read(brain, "prompts/more.md")) == ("B.\n", "A.\n")


def test_a_choice_that_cannot_be_done_is_asked_about_and_the_others_are_kept(brain):
    diverge(
        brain,
        lambda b: (
            b.skills.upsert("Oracle", description="A"),
            write(b, "prompts/system.md", "A\n"),
        ),
        lambda b: (
            b.skills.upsert("Oracle", description="B"),
            write(b, "prompts/system.md", "B\n"),
        ),
    )
    left = brain.merge.start("idea", "both").conflicts
    assert [(row.path, row.choice) for row in left] == [
        ("prompts/system.md", "both"),
        ("skills/oracle/SKILL.md", None),
    ]
    brain.merge.resolve(["skills/oracle/SKILL.md"], "theirs")
    assert brain.merge.resume().conflicts == []
    assert brain.skills.view("oracle").description == "B"
    assert read(brain, "prompts/system.md") == "A\nB\n"


def test_a_skill_that_comes_back_after_a_kept_removal_is_above_both_sides(brain):
    diverge(
        brain,
        lambda b: [
            *(b.skills.upsert("Other", f"{n}\n") for n in range(5)),
            b.skills.delete("oracle"),
        ],
        lambda b: [b.skills.upsert("Oracle", f"{n}\n") for n in range(3)],
    )
    brain.merge.start("idea", "ours")
    assert brain.skills.upsert("Oracle", "again\n").version == 5


@pytest.mark.parametrize("choice", ["ours", "both"])
def test_a_skill_kept_against_a_removal_goes_on_above_all_its_versions(brain, choice):
    diverge(
        brain,
        lambda b: b.skills.upsert("Oracle", "ours\n"),
        lambda b: (
            b.skills.upsert("Oracle", "two\n"),
            b.skills.upsert("Oracle", "three\n"),
            b.skills.upsert("Oracle", "four\n"),
            b.skills.delete("oracle"),
        ),
    )
    assert [row.reason for row in brain.merge.start("idea").conflicts] == ["deleted_by_theirs"]
    brain.merge.resolve(["skills/oracle/SKILL.md"], choice)
    done = brain.merge.resume()
    assert [tuple(skill) for skill in done.skills] == [("oracle", 2, "", 5)]
    assert brain.skills.view("oracle").version == 5
    assert brain.skills.upsert("Oracle", "next\n").version == 6
    assert brain.verify(deep=True).findings == []


def test_every_skill_kept_against_a_removal_goes_on_beside_files_that_are_no_skills(brain):
    slugs = ["beta", "oracle", "zeta"]
    for slug in ("beta", "zeta"):
        brain.skills.upsert(slug, "one\n", description="d")
    others = ["memory/a.md", "skills/mine.txt", "tools/x.py"]
    for path in others:
        write(brain, path, "base\n")
    brain.snapshot()

    def ours(b: Brain) -> None:
        for path in others:
            write(b, path, "ours\n")
        for slug in slugs:
            b.skills.upsert(slug, "ours\n")

    def theirs(b: Brain) -> None:
        for path in others:
            (b.root / path).unlink()
        for slug in slugs:
            for text in ("two\n", "three\n"):
                b.skills.upsert(slug, text)
            b.skills.delete(slug)

    diverge(brain, ours, theirs)
    done = brain.merge.start("idea", "ours")
    assert [tuple(skill) for skill in done.skills] == [(slug, 2, "", 4) for slug in slugs]
    assert brain.verify().findings == []


@pytest.mark.parametrize("at_once", [True, False])
def test_an_edit_by_hand_of_a_skill_kept_against_a_removal_is_not_lost(brain, at_once):
    diverge(
        brain,
        lambda b: b.skills.upsert("Oracle", "ours\n"),
        lambda b: (
            b.skills.upsert("Oracle", "two\n"),
            b.skills.upsert("Oracle", "three\n"),
            b.skills.delete("oracle"),
        ),
    )
    if not at_once:
        brain.merge.start("idea")
        brain.merge.resolve(["skills/oracle/SKILL.md"], "ours")
    file = brain.root / "skills/oracle/SKILL.md"
    file.write_text(file.read_text() + "By hand.\n")
    done = brain.merge.start("idea", "ours") if at_once else brain.merge.resume()
    if done.conflicts:  # what was decided was about another text
        brain.merge.resolve(["skills/oracle/SKILL.md"], "ours")
        done = brain.merge.resume()
    assert [tuple(skill) for skill in done.skills] == [("oracle", 2, "", 4)]
    assert "ours" in file.read_text() and file.read_text().endswith("By hand.\n")
    assert "By hand." in brain.skills.view("oracle").body and brain.status().clean


@pytest.mark.parametrize("swap", [False, True])
def test_a_skill_that_the_other_side_added_too_and_removed_goes_on_above_all_its_versions(
    brain, swap
):
    def add(b: Brain) -> None:
        b.skills.upsert("New", "kept\n", description="d")

    def add_and_remove(b: Brain) -> None:
        for text in ("one\n", "two\n", "three\n"):
            b.skills.upsert("New", text, description="d")
        b.skills.delete("new")

    diverge(brain, *((add_and_remove, add) if swap else (add, add_and_remove)))
    done = brain.merge.start("idea")
    assert [tuple(s) for s in done.skills] == [("new", "", 1, 4) if swap else ("new", 1, "", 4)]
    view = brain.skills.view("new")
    assert (view.version, view.body.strip()) == (4, "kept")
    assert brain.skills.upsert("New", "next\n").version == 5
    assert brain.verify(deep=True).findings == []


def test_a_skill_that_one_side_added_and_brought_back_to_an_early_version_stays_as_it_is(brain):
    def add(b: Brain) -> None:
        early = b.skills.upsert("New", "one\n", description="d").snapshot
        b.skills.upsert("New", "two\n")
        b.restore(early, ["skills/new"])

    diverge(brain, lambda b: b.skills.upsert("Oracle", "ours\n"), add)
    assert brain.merge.start("idea").skills == [] and brain.skills.view("new").version == 1
    brain.branches.create("later")
    brain.branches.switch("later")
    brain.skills.delete("new")
    brain.skills.upsert("Other", "x\n", description="d")
    brain.restore("main", ["skills/new"])
    brain.branches.switch("main")
    assert brain.merge.start("later").fast_forward and brain.status().clean
    assert brain.verify(deep=True).ok


def test_a_skill_taken_back_from_them_goes_on_above_what_we_removed(brain):
    diverge(
        brain,
        lambda b: (
            b.skills.upsert("Oracle", "two\n"),
            b.skills.upsert("Oracle", "three\n"),
            b.skills.delete("oracle"),
        ),
        lambda b: b.skills.upsert("Oracle", "theirs\n"),
    )
    done = brain.merge.start("idea", "theirs")
    assert [tuple(skill) for skill in done.skills] == [("oracle", "", 2, 4)]
    assert brain.skills.view("oracle").version == 4
    assert brain.skills.view("oracle").body.strip() == "theirs"


def test_a_merge_counts_what_it_adds_changes_and_removes(brain):
    write(brain, "notes/gone.md", "gone\n")
    brain.snapshot()
    base = brain.head

    def theirs(b: Brain) -> None:
        for number in range(3):
            write(b, f"notes/{number}.md", f"{number}\n")
        write(b, "prompts/system.md", "Be fast.\n")
        write(b, "memory/log.jsonl", '{"ts":1}\n{"ts":2}\n')
        (b.root / "notes/gone.md").unlink()

    diverge(brain, lambda b: write(b, "SOUL.md", "calm\n"), theirs)
    ours, idea = (
        brain.head,
        next(b.snapshot for b in brain.branches.list().branches if b.name == "idea"),
    )
    done = brain.merge.start("idea", message="Both")
    assert (done.added, done.modified, done.removed) == (3, 2, 1)
    assert (done.parents, done.bases) == ([ours, idea], [base])
    assert (done.changed, done.fast_forward, done.conflicts, done.skills) == (True, False, [], [])
    assert done.snapshot == brain.head
    assert brain.history.show().info.message == "Both"
    again = brain.merge.start("idea")
    assert (again.changed, again.fast_forward, again.snapshot) == (False, False, done.snapshot)
    assert (again.added, again.modified, again.removed) == (0, 0, 0)


def test_a_fast_forward_records_no_snapshot_and_counts_what_comes(brain):
    diverge(brain, lambda b: None, lambda b: write(b, "notes/new.md", "new\n"))
    idea = next(b.snapshot for b in brain.branches.list().branches if b.name == "idea")
    done = brain.merge.start("idea")
    assert (done.snapshot, done.fast_forward, done.changed) == (idea, True, True)
    assert (done.added, done.modified, done.removed) == (1, 0, 0)
    assert read(brain, "notes/new.md") == "new\n"
    same = brain.merge.start("@")
    assert (same.fast_forward, same.changed) == (False, False)


def test_a_merge_is_named_after_the_revision_unless_it_has_a_message(brain):
    diverge(
        brain, lambda b: write(b, "SOUL.md", "calm\n"), lambda b: write(b, "notes/new.md", "new\n")
    )
    brain.merge.start("idea")
    assert brain.history.show().info.message == "Merge idea"


def test_conflicts_are_described_with_their_sides_and_where_their_markers_are(brain):
    def ours(b: Brain) -> None:
        write(b, "prompts/system.md", "Be kind.\n")
        (b.root / "memory/log.jsonl").unlink()
        (b.root / "data.bin").write_bytes(b"\0ours")

    def theirs(b: Brain) -> None:
        (b.root / "prompts/system.md").unlink()
        write(b, "memory/log.jsonl", '{"ts":2}\n')
        (b.root / "data.bin").write_bytes(b"\0theirs")

    diverge(brain, ours, theirs)
    rows = brain.merge.start("idea").conflicts
    assert [(row.path, row.reason, row.choice, row.file) for row in rows] == [
        ("data.bin", "binary", None, None),
        ("memory/log.jsonl", "deleted_by_ours", None, None),
        ("prompts/system.md", "deleted_by_theirs", None, None),
    ]
    assert [(bool(row.base), bool(row.ours), bool(row.theirs)) for row in rows] == [
        (False, True, True),
        (True, False, True),
        (True, True, False),
    ]
    with raises_code("no_markers", InvalidInput) as caught:
        brain.merge.resolve(["data.bin"], "content")
    assert caught.value.hint == "choose with one of --ours, --theirs, --both"


def test_a_merge_is_finished_on_the_branch_that_it_was_begun_on(brain):
    prompts(brain)
    brain.merge.start("idea")
    brain.merge.resolve(["prompts/system.md"], "ours")
    session = brain._session
    with session.store.transaction() as tx:
        state = load_merge_state(session)
        assert state is not None
        save_merge_state(tx, state._replace(branch="elsewhere"))
    with raises_code("other_branch", Conflict) as caught:
        brain.merge.resume()
    assert "elsewhere" in caught.value.hint


def test_an_edited_text_of_the_greatest_size_is_taken(brain, monkeypatch):
    prompts(brain)
    brain.merge.start("idea")
    monkeypatch.setattr(limits, "MAX_LINE_MERGE_BYTES", 20)
    write(brain, ".brain/conflicts/prompts/system.md", "x" * 21)
    with raises_code("too_large", InvalidInput):
        brain.merge.resolve(["prompts/system.md"], "content")
    write(brain, ".brain/conflicts/prompts/system.md", "x" * 20)
    (row,) = brain.merge.resolve(["prompts/system.md"], "content")
    assert (row.choice, row.file) == ("content", ".brain/conflicts/prompts/system.md")


def test_a_file_is_merged_by_lines_up_to_a_size(brain, monkeypatch):
    diverge(
        brain,
        lambda b: write(b, "prompts/system.md", "Be brief.\nA\n"),
        lambda b: write(b, "prompts/system.md", "B\nBe brief.\n"),
    )
    monkeypatch.setattr(limits, "MAX_LINE_MERGE_BYTES", 11)
    (row,) = brain.merge.start("idea").conflicts
    assert row.reason == "too_large"
    brain.merge.abort()
    monkeypatch.setattr(limits, "MAX_LINE_MERGE_BYTES", 12)
    assert brain.merge.start("idea").conflicts == []
    assert read(brain, "prompts/system.md") == "B\nBe brief.\nA\n"
