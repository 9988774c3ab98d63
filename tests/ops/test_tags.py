"""Tags: names that never move, revisions, roots of garbage collection."""

import pytest

from brain import Brain, Conflict, InvalidInput, NotFound
from brain.trust import ed25519
from tests.support.refusals import raises_code


def test_a_tag_stays_where_it_was_made(brain):
    first = brain.skills.upsert("a", "one\n", description="d").snapshot
    tag = brain.tags.create("v1.0")
    second = brain.skills.upsert("a", "two\n").snapshot
    brain.tags.create("v2/final", "@")
    brain.tags.create("start", "v1.0~1")
    assert (tag.name, tag.snapshot, tag.signed_by) == ("v1.0", first, [])
    assert [(one.name, one.snapshot) for one in brain.tags.list()] == [
        ("start", brain.id),
        ("v1.0", first),
        ("v2/final", second),
    ]
    assert [row.name for row in brain.branches.list().branches] == ["main"]


def test_a_tag_is_a_revision_everywhere(brain):
    brain.skills.upsert("a", "one\n", description="d")
    brain.tags.create("v1")
    brain.skills.upsert("a", "two\n")
    assert brain.skills.view("a", "v1").version == 1
    assert brain.history.diff("v1", "@").skills[0].to_version == 2
    assert [info.operation["to_version"] for info in brain.history.log("v1..@")] == ["2"]
    brain.restore("v1")
    assert brain.skills.view("a").body.strip() == "one"
    assert brain.branches.create("from-tag", "v1").snapshot == brain.tags.list()[0].snapshot


def test_a_tag_never_moves(brain):
    brain.tags.create("v1")
    brain.skills.upsert("a", "one\n", description="d")
    with raises_code("tag_exists", Conflict):
        brain.tags.create("v1")
    assert brain.tags.list()[0].snapshot == brain.id


def test_a_name_is_a_branch_or_a_tag_not_both(brain):
    brain.tags.create("v1")
    for make in (lambda: brain.branches.create("v1"), lambda: brain.tags.create("main")):
        with pytest.raises(Conflict):
            make()
    brain.branches.create("v2")


@pytest.mark.parametrize("name", ["", "@", "a..b", "-x", "abcdef", "a b", "x.lock"])
def test_a_name_that_could_be_something_else_is_refused(brain, name):
    with raises_code("bad_tag", InvalidInput):
        brain.tags.create(name)


def test_undo_takes_back_the_making_and_the_deletion_of_a_tag(brain):
    made = brain.tags.create("v1")
    undone = brain.undo()
    assert (undone.kind, undone.description, undone.branch) == ("tag", "tag v1", "main")
    assert brain.tags.list() == []
    brain.redo()
    assert brain.tags.delete("v1") == made
    assert brain.undo().description == "delete tag v1"
    assert brain.tags.list() == [made]
    assert brain.verify().ok


def test_a_tag_that_is_not_there_cannot_be_deleted(brain):
    with raises_code("no_tag", NotFound):
        brain.tags.delete("v1")


def test_gc_keeps_what_a_tag_names(brain):
    kept = brain.skills.upsert("a", "one\n", description="d").snapshot
    gone = brain.skills.upsert("a", "two\n").snapshot
    brain.undo()
    brain.undo()
    brain.tags.create("v1", kept)
    brain.skills.upsert("b", "b\n", description="d")
    brain.gc(grace=0)
    assert brain.history.show("v1").info.snapshot == kept
    with pytest.raises(NotFound):
        brain.history.show(gone)
    assert brain.verify(deep=True).ok


def test_a_tag_of_a_signing_session_signs_the_snapshot_it_names(brain):
    brain.skills.upsert("a", "one\n", description="d")
    assert brain.signatures.list() == []
    seed = b"\x07" * 32
    with Brain.open(brain.root, sign_with=lambda: seed) as signing:
        tag = signing.tags.create("v1")
        assert tag.signed_by == [f"ed25519:{ed25519.public_key(seed).hex()}"]
        assert [row.key for row in signing.signatures.list("v1")] == tag.signed_by
        assert signing.tags.list() == [tag]
        assert signing.verify().ok
