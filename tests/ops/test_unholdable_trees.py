"""States that no folder can hold are found by `verify`, and nothing is recorded or written of them.

They are planted as an attacker would: recorded past the check, on a branch of their own.
"""

from collections.abc import Mapping
from pathlib import Path

import pytest

from brain import Brain, InvalidInput
from brain.objects.tree_node import FILE, LINK, TreeEntry
from brain.ops.import_states import ImportSource, SourceFile
from brain.repo import transaction as turns
from tests.support.refusals import raises_code

KINDS = {"file": FILE, "link": LINK}
BAD: dict[str, tuple[str, Mapping[str, tuple[str, bytes]]]] = {
    "twins": ("case_collision", {"memory/A.md": ("file", b"a"), "memory/a.md": ("file", b"b")}),
    "folders that are twins": (
        "case_collision",
        {"skills/Ab/x": ("file", b"a"), "skills/ab/y": ("file", b"b")},
    ),
    "a file and a folder": (
        "path_conflict",
        {"memory/a": ("file", b"a"), "memory/a/b": ("file", b"b")},
    ),
    "a link out through a link": (
        "link_outside",
        {"d1/d2/y": ("link", b"../.."), "z": ("link", b"d1/d2/y/../../../victim")},
    ),
    "a link out": ("link_outside", {"memory/l": ("link", b"../../x")}),
    "a link of no text": ("link_outside", {"memory/l": ("link", b"")}),
    "a store in a skill": ("bad_path", {"skills/a/.brain/store.db": ("file", b"x")}),
    "a repository under its short name": ("bad_path", {"skills/a/GIT~1/config": ("file", b"x")}),
    "a name with an invisible letter": ("bad_path", {"skills/a\u2060/SKILL.md": ("file", b"x")}),
    "a name too long": ("bad_path", {f"memory/{'x' * 256}": ("file", b"x")}),
}


def plant(brain: Brain, files: Mapping[str, tuple[str, bytes]]) -> str:
    """Record files where a brain stands, past all checks; return the snapshot."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(turns, "require_portable", lambda *_: None)
        with turns.locked_write_transaction(brain._session, "snapshot", "planted") as mine:
            edits = {
                path: TreeEntry(path, KINDS[kind], mine.store_tx.put_blob(text), len(text))
                for path, (kind, text) in files.items()
            }
            mine.record_snapshot(edits, ("snapshot",), "planted")
        return mine.head.hex()


def files(brain: Brain) -> set[str]:
    places = (path.relative_to(brain.root) for path in brain.root.rglob("*"))
    return {str(place) for place in places if place.parts[0] != ".brain"}


def is_well(brain: Brain) -> bool:
    return brain.skills.upsert("well", "It is.\n", description="d").changed and brain.status().clean


@pytest.fixture(params=BAD)
def planted(request, brain):
    """A snapshot that no folder can hold, and the code of the finding."""
    code, files = BAD[request.param]
    brain.skills.upsert("alpha", "Alpha.\n", description="d")
    with brain.proposals.open("agent") as proposed:
        return plant(proposed, files), code


def test_verify_names_it(brain, planted):
    snapshot, code = planted
    for found in (brain.verify(), brain.verify(deep=True)):
        assert not found.ok
        assert {(row.code, row.snapshot) for row in found.findings if row.severity == "error"} == {
            (code, snapshot)
        }


def restore(brain: Brain, snapshot: str, _: Path) -> None:
    brain.restore(snapshot)


def switch(brain: Brain, snapshot: str, _: Path) -> None:
    brain.branches.create("bad", snapshot)
    brain.branches.switch("bad")


def fast_forward(brain: Brain, snapshot: str, _: Path) -> None:
    brain.branches.create("bad", snapshot)
    brain.merge.start("bad")


def merge(brain: Brain, snapshot: str, _: Path) -> None:
    brain.skills.upsert("beta", "Beta.\n", description="d")
    fast_forward(brain, snapshot, _)


def accept(brain: Brain, snapshot: str, _: Path) -> None:
    brain.proposals.accept(snapshot)


def fork(brain: Brain, snapshot: str, place: Path) -> None:
    try:
        brain.fork(place / "fork", snapshot)
    finally:
        assert not (place / "fork").exists()


@pytest.mark.parametrize("act", [restore, switch, fast_forward, merge, accept, fork])
def test_no_action_records_or_writes_it(brain, planted, act, tmp_path):
    branch = brain.status().branch
    before = files(brain)
    with pytest.raises(InvalidInput) as caught:
        act(brain, planted[0], tmp_path)
    assert caught.value.code in (planted[1], "reserved_name", "bad_char", "name_too_long")
    assert brain.status().branch == branch
    assert files(brain) - {"skills/beta", "skills/beta/SKILL.md"} == before
    assert is_well(brain)


SOURCE = ImportSource("git", "skills", "adopted/skills")


def test_a_link_through_a_link_is_not_imported(brain):
    y, z = SourceFile(LINK, b"../.."), SourceFile(LINK, b"d1/d2/y/../../../victim")
    with raises_code("link_outside", InvalidInput):
        brain.imports.record_state(SOURCE, [("a/d1/d2/y", y), ("a/z", z)])
    assert is_well(brain)


def test_a_link_through_a_link_is_left_out_of_a_snapshot(brain, tmp_path):
    (tmp_path / "victim").write_text("secret")
    folder = brain.root / "a/d1/d2"
    folder.mkdir(parents=True)
    (folder / "y").symlink_to("../..")
    (brain.root / "z").symlink_to("a/d1/d2/y/../../victim")
    assert (brain.root / "z").resolve() == tmp_path / "victim"
    made = brain.snapshot()
    assert [(row.code, row.path) for row in made.notices] == [("link_outside", "z")]
    assert made.added == 1 and brain.verify(deep=True).ok


def test_restoring_one_spelling_beside_another_is_refused(brain):
    (brain.root / "Notes.md").write_text("a")
    brain.snapshot()
    old = brain.head
    (brain.root / "Notes.md").unlink()
    (brain.root / "notes.md").write_text("b")
    brain.snapshot()
    with raises_code("case_collision", InvalidInput):
        brain.restore(old, ["Notes.md"])
    assert is_well(brain)
    assert [path.name for path in brain.root.glob("*otes.md")] == ["notes.md"]


@pytest.mark.parametrize("kind", BAD)
def test_a_head_that_no_folder_can_hold_is_not_brought_back_and_gives_way_to_the_folder(
    brain, kind
):
    brain.skills.upsert("alpha", "Alpha.\n", description="d")
    planted = plant(brain, BAD[kind][1])
    before = files(brain)
    with pytest.raises(InvalidInput):
        brain.restore("@")
    assert files(brain) == before and brain.head == planted
    assert brain.skills.upsert("beta", "Beta.\n", description="d").changed
    assert brain.snapshot().removed == len(BAD[kind][1])
    assert is_well(brain) and brain.restore("@").written == []
