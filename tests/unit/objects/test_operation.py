from __future__ import annotations

from typing import Any

import pytest

from brain.digest import blob_id
from brain.errors import FormatError
from brain.objects import operation

ID = blob_id(b"snapshot")
NONCE = bytes(16)


@pytest.mark.parametrize(
    ("made", "described"),
    [
        (operation.genesis(NONCE), {"kind": "genesis", "nonce": "00" * 16, "origin": ""}),
        (
            operation.genesis(NONCE, ID),
            {"kind": "genesis", "nonce": "00" * 16, "origin": ID.hex()},
        ),
        (operation.snapshot(), {"kind": "snapshot"}),
        (
            operation.upsert("oracle", "1", "2"),
            {"kind": "upsert", "slug": "oracle", "from_version": "1", "to_version": "2"},
        ),
        (operation.delete("oracle", "2"), {"kind": "delete", "slug": "oracle", "version": "2"}),
        (operation.restore(ID), {"kind": "restore", "source": ID.hex()}),
        (
            operation.merge([ID], [("oracle", "2", "3", "4")]),
            {
                "kind": "merge",
                "bases": [ID.hex()],
                "skills": [{"slug": "oracle", "ours": "2", "theirs": "3", "version": "4"}],
            },
        ),
        (
            operation.redact("memory/a.md", ID, "a name"),
            {"kind": "redact", "path": "memory/a.md", "blob": ID.hex(), "reason": "a name"},
        ),
        (
            operation.absorb("oracle", "1", "2", "oracles", "5"),
            {
                "kind": "absorb",
                "slug": "oracle",
                "from_version": "1",
                "to_version": "2",
                "absorbed": "oracles",
                "absorbed_version": "5",
            },
        ),
        (
            operation.imported("git", "skills", "8c1f"),
            {"kind": "import", "origin": "git", "name": "skills", "revision": "8c1f"},
        ),
    ],
)
def test_a_known_operation_is_taken_and_described_by_field(
    made: operation.Operation, described: dict[str, Any]
) -> None:
    assert operation.check(made) == made
    assert operation.describe(made) == described


def test_an_operation_of_a_later_version_is_kept_and_shown_as_it_is() -> None:
    made = ("graft", 1, b"\xff", ("a", {"k": b"\x00"}))
    assert operation.check(made) == made
    assert operation.describe(made) == {
        "kind": "graft",
        "fields": [1, "ff", ["a", {"k": "00"}]],
    }


@pytest.mark.parametrize(
    "value",
    [
        (),
        "snapshot",
        7,
        {"snapshot": ()},
        ("",),
        (7,),
        (b"snapshot",),
        (("snapshot",),),
        ("snapshot", 1),
        ("genesis",),
        ("genesis", NONCE),
        ("genesis", NONCE[:15], b""),
        ("genesis", NONCE + b"x", b""),
        ("genesis", NONCE, ID[:31]),
        ("genesis", "x" * 16, b""),
        ("upsert", "oracle"),
        ("upsert", "oracle", "1", "2", "3"),
        ("upsert", "oracle", 1, 2),
        ("upsert", b"oracle", "1", "2"),
        ("delete", "oracle"),
        ("delete", "oracle", 2),
        ("restore",),
        ("restore", b""),
        ("restore", ID + b"x"),
        ("restore", ID.hex()),
        ("merge",),
        ("merge", ID, ()),
        ("merge", (ID[1:],), ()),
        ("merge", (ID, ID), ()),
        ("merge", (), (("oracle", "2", "3"),)),
        ("merge", (), (("oracle", "2", "3", 4),)),
        ("merge", (), ("oracle",)),
        ("redact", "memory/a.md", ID),
        ("redact", "memory/a.md", b"", "why"),
        ("redact", b"memory/a.md", ID, "why"),
        ("absorb", "oracle", "1", "2", "oracles"),
        ("absorb", "oracle", "1", "2", "oracles", 5),
        ("import", "git", "skills"),
        ("import", "git", "skills", b""),
    ],
)
def test_another_shape_is_no_operation(value: Any) -> None:
    with pytest.raises(FormatError) as caught:
        operation.check(value)
    assert caught.value.code == "bad_object"
