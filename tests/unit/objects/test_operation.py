"""Operations and snapshots."""

import pytest

from brain.digest import blob_id
from brain.objects import operation
from brain.objects.snapshot import (
    MAX_TIME_MS,
    Jump,
    Snapshot,
    decode_snapshot,
    encode_snapshot,
    snapshot_id,
)

ID = blob_id(b"snapshot")
NONCE = bytes(16)


@pytest.mark.parametrize(
    ("made", "described"),
    [
        (operation.genesis_operation(NONCE), {"kind": "genesis", "nonce": "00" * 16, "origin": ""}),
        (
            operation.genesis_operation(NONCE, ID),
            {"kind": "genesis", "nonce": "00" * 16, "origin": ID.hex()},
        ),
        (("snapshot",), {"kind": "snapshot"}),
        (
            operation.upsert_operation("oracle", "1", "2"),
            {"kind": "upsert", "slug": "oracle", "from_version": "1", "to_version": "2"},
        ),
        (
            ("delete", "oracle", "2"),
            {"kind": "delete", "slug": "oracle", "version": "2"},
        ),
        (("restore", ID), {"kind": "restore", "source": ID.hex()}),
        (
            operation.merge_operation([ID], [("oracle", "2", "3", "4")]),
            {
                "kind": "merge",
                "bases": [ID.hex()],
                "skills": [{"slug": "oracle", "ours": "2", "theirs": "3", "version": "4"}],
            },
        ),
        (
            ("redact", "memory/a.md", ID, "a name"),
            {"kind": "redact", "path": "memory/a.md", "blob": ID.hex(), "reason": "a name"},
        ),
        (
            ("absorb", "oracle", "1", "2", "oracles", "5"),
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
            operation.import_operation("git", "skills", "8c1f"),
            {"kind": "import", "origin": "git", "name": "skills", "revision": "8c1f"},
        ),
    ],
)
def test_a_known_operation_is_taken_and_described_by_field(made, described):
    assert operation.check_operation(made) == made
    assert operation.operation_to_json(made) == described


@pytest.mark.parametrize("kind", operation.DECISION_KINDS)
def test_a_reserved_decision_is_taken_in_its_shape_alone(kind):
    made = (kind, "oracle", "1", "", ID)
    assert operation.check_operation(made) == made
    assert operation.evidence_blob(made) == ID
    assert operation.operation_to_json(made) == {
        "kind": kind,
        "slug": "oracle",
        "from_version": "1",
        "to_version": "",
        "verdict": ID.hex(),
    }


@pytest.mark.parametrize("kind", operation.BINDING_KINDS)
def test_a_reserved_binding_is_taken_in_its_shape_alone(kind):
    made = (kind, ID, "eip155:1:0x00", ID)
    assert operation.check_operation(made) == made
    assert operation.evidence_blob(made) == ID
    assert operation.operation_to_json(made)["account"] == "eip155:1:0x00"


def test_a_merge_of_very_many_skills_names_the_first():
    rows = [(f"s{number:05d}", "1", "1", "2") for number in range(5000)]
    made = operation.merge_operation([ID], rows)
    assert operation.check_operation(made)[2] == tuple(rows[: operation.MAX_MERGED_SKILLS])


def test_an_operation_of_a_later_version_is_kept_and_shown_as_it_is():
    made = ("graft", 1, b"\xff", ("a", {"k": b"\x00"}))
    assert operation.check_operation(made) == made
    assert operation.operation_to_json(made) == {
        "kind": "graft",
        "fields": [1, "ff", ["a", {"k": "00"}]],
    }


BUNDLE = blob_id(b"bundle")
GENESIS = Snapshot(
    1, b"", BUNDLE, (), 0, Jump(0, b""), "me", 1, operation.genesis_operation(bytes(16)), "", b""
)
BRAIN = snapshot_id(encode_snapshot(GENESIS))
LATER = Snapshot(
    1,
    BRAIN,
    BUNDLE,
    (BRAIN,),
    1,
    Jump(1, BRAIN),
    "me",
    2,
    ("snapshot",),
    "why",
    BUNDLE,
)


def test_limits_are_met_exactly():
    ids = tuple(blob_id(bytes([n])) for n in range(16))
    for made in (
        LATER._replace(
            parents=ids,
            generation=2**48,
            jump=Jump(2**48, BRAIN),
            operation=operation.import_operation("git", "skills"),
        ),
        LATER._replace(author="é" * 512, message="é" * 32_768, time=MAX_TIME_MS),
        LATER._replace(author="", message="", time=0, receipt=b""),
    ):
        assert decode_snapshot(encode_snapshot(made)) == made
