"""Files whose content is not merged: links, modes, binary files, and what a person decides."""

from collections.abc import Callable

import pytest

from brain import Brain, Conflict, InvalidInput, NotFound
from brain.ops.merge_contents import build_sibling_path
from brain.repo.transaction import log_operation
from tests.support.brains import skill_text, write_file
from tests.support.refusals import raises_code

Change = Callable[[Brain], object]


def put(path: str, text: str, mode: int = 0o644) -> Change:
    def change(brain: Brain) -> None:
        file = brain.root / path
        if file.is_symlink():
            file.unlink()
        write_file(brain, path, text).chmod(mode)

    return change


def link(path: str, target: str) -> Change:
    def change(brain: Brain) -> None:
        (brain.root / path).unlink(missing_ok=True)
        (brain.root / path).symlink_to(target)

    return change


def diverge(brain: Brain, base: Change, ours: Change, theirs: Change) -> None:
    """Record a base, then make `ours` on main and `theirs` on the branch idea; end on main."""
    base(brain)
    brain.snapshot("base")
    brain.branches.create("idea")
    ours(brain)
    brain.snapshot("ours")
    brain.branches.switch("idea")
    theirs(brain)
    brain.snapshot("theirs")
    brain.branches.switch("main")


def mode(brain: Brain, path: str) -> int:
    return (brain.root / path).lstat().st_mode & 0o777


@pytest.mark.parametrize("swap", [False, True])
def test_a_mode_that_one_side_changed_is_kept_with_the_text_of_the_other(brain, swap):
    sides = put("a.sh", "one\n", 0o755), put("a.sh", "two\n")
    diverge(brain, put("a.sh", "one\n"), *(sides[::-1] if swap else sides))
    assert brain.merge.start("idea").conflicts == []
    assert (brain.root / "a.sh").read_text() == "two\n" and mode(brain, "a.sh") == 0o755


@pytest.mark.parametrize("swap", [False, True])
def test_a_mode_that_one_side_took_away_is_gone(brain, swap):
    sides = put("a.sh", "one\n"), put("a.sh", "two\n", 0o755)
    diverge(brain, put("a.sh", "one\n", 0o755), *(sides[::-1] if swap else sides))
    assert brain.merge.start("idea").conflicts == []
    assert (brain.root / "a.sh").read_text() == "two\n" and mode(brain, "a.sh") == 0o644


def test_one_text_with_two_modes_that_both_sides_made_is_asked_about(brain):
    diverge(brain, put("x", "x"), put("a.sh", "one\n"), put("a.sh", "one\n", 0o755))
    (row,) = brain.merge.start("idea").conflicts
    assert row.reason == "kind"
    brain.merge.resolve(["a.sh"], "theirs")
    brain.merge.resume()
    assert mode(brain, "a.sh") == 0o755


LINKS = (put("l", "x\n"), link("l", "a"), link("l", "b"))


@pytest.mark.parametrize(
    ("choice", "there"),
    [("ours", {"l": "a"}), ("theirs", {"l": "b"}), ("both", {"l": "a", "l~": "b"})],
)
def test_of_two_links_one_is_taken_or_both(brain, choice, there):
    for name in "ab":
        write_file(brain, name, f"{name}\n")
    diverge(brain, *LINKS)
    (row,) = brain.merge.start("idea").conflicts
    assert (row.path, row.reason, row.file) == ("l", "kind", None)
    brain.merge.resolve(["l"], choice)
    brain.merge.resume()
    found = {
        path.name[:2].rstrip("~") + "~" * ("~" in path.name): str(path.readlink())
        for path in brain.root.iterdir()
        if path.is_symlink()
    }
    assert found == there


def binary(text: bytes) -> Change:
    def change(brain: Brain) -> None:
        (brain.root / "a.bin").write_bytes(b"\0" + text)

    return change


@pytest.mark.parametrize(("choice", "expected"), [("ours", [b"\0ours"]), ("theirs", [b"\0theirs"])])
def test_of_two_binary_files_one_is_taken(brain, choice, expected):
    diverge(brain, binary(b"base"), binary(b"ours"), binary(b"theirs"))
    done = brain.merge.start("idea", choice)
    assert done.conflicts == [] and len(done.parents) == 2
    assert [path.read_bytes() for path in brain.root.glob("a*.bin")] == expected


@pytest.mark.parametrize("choice", ["ours", "theirs", "both"])
def test_names_that_a_folder_cannot_hold_together_are_decided(brain, choice):
    diverge(brain, put("x", "x"), put("Note.md", "ours\n"), put("note.md", "theirs\n"))
    (row,) = brain.merge.start("idea").conflicts
    assert (row.path, row.reason) == ("note.md", "collides")
    brain.merge.abort()
    brain.merge.start("idea", choice)
    texts = {path.name: path.read_text() for path in brain.root.glob("[Nn]ote*")}
    if choice == "ours":
        assert texts == {"Note.md": "ours\n"}
    elif choice == "theirs":
        assert texts == {"note.md": "theirs\n"}
    else:
        other = next(name for name in texts if "~" in name)
        assert texts == {"Note.md": "ours\n", other: "theirs\n"}


@pytest.mark.parametrize(
    ("path", "sibling"),
    [
        ("notes.md", "notes~01020304.md"),
        ("a/b/notes.tar.gz", "a/b/notes.tar~01020304.gz"),
        ("Makefile", "Makefile~01020304"),
        (".env", ".env~01020304"),
        ("a/.x.y", "a/.x~01020304.y"),
    ],
)
def test_a_second_file_has_a_name_beside_the_first(path, sibling):
    assert build_sibling_path(path, bytes([1, 2, 3, 4, 5])) == sibling


def test_a_skill_that_cannot_be_read_is_taken_from_one_side(brain):
    path = "skills/a/SKILL.md"
    broken = f"---\nname: {'[' * 300}\n---\n"
    diverge(
        brain,
        put(path, skill_text("a")),
        put(path, broken + "ours\n"),
        put(path, broken + "theirs\n"),
    )
    (row,) = brain.merge.start("idea").conflicts
    assert row.reason == "unreadable_skill"
    brain.merge.resolve([path], "theirs")
    brain.merge.resume()
    assert (brain.root / path).read_text() == broken + "theirs\n"


def test_a_text_by_hand_that_is_no_skill_is_asked_about_again(brain):
    path = "skills/a/SKILL.md"
    diverge(
        brain,
        put(path, skill_text("a", 1, "base\n")),
        put(path, skill_text("a", 2, "ours\n")),
        put(path, skill_text("a", 2, "theirs\n")),
    )
    assert [row.reason for row in brain.merge.start("idea").conflicts] == ["content"]
    write_file(brain, f".brain/conflicts/{path}", "---\nname: [a\n---\nby hand\n")
    brain.merge.resolve([path], "content")
    assert [row.reason for row in brain.merge.resume().conflicts] == ["content"]
    write_file(brain, f".brain/conflicts/{path}", skill_text("a", 1, "by hand\n"))
    brain.merge.resolve([path], "content")
    done = brain.merge.resume()
    assert [tuple(skill) for skill in done.skills] == [("a", 2, 2, 3)]
    assert brain.skills.view("a").body.strip() == "by hand"


def test_a_snapshot_of_another_brain_is_not_merged(brain, tmp_path):
    brain.skills.upsert("A", "x\n", description="d")
    brain.fork(tmp_path / "fork")
    with Brain.open(tmp_path / "fork") as fork:
        origin = brain.head or ""
        session = fork._session
        with session.store.transaction() as tx:
            tx.update_ref("heads/origin", None, bytes.fromhex(origin))
            log_operation(
                session, tx, "branch", "x", [("heads/origin", b"", bytes.fromhex(origin))]
            )
        head = fork.head
        with pytest.raises(Conflict) as caught:
            fork.merge.start("origin")
        assert (caught.value.code, caught.value.hint) == (
            "other_brain",
            "a fork is a separate brain",
        )
        assert fork.head == head and fork.status().merging is None


def test_the_genesis_of_a_brain_is_of_that_brain(brain):
    genesis = brain.head or ""
    brain.skills.upsert("A", "x\n", description="d")
    assert not brain.merge.start(genesis).changed


def test_an_id_that_is_not_here_is_no_proposal(brain):
    with pytest.raises(NotFound) as caught:
        brain.proposals.accept("0" * 64)
    assert caught.value.hint == "see `brain proposal list`"
    with raises_code("not_an_id", InvalidInput):
        brain.proposals.accept("main")
