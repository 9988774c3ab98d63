"""Receipts and statements that snapshots name are looked up in batches, and read if deep."""

from types import SimpleNamespace

import pytest

from brain import limits
from brain.digest import NO_DIGEST, blob_id
from brain.errors import NotFound
from brain.objects.operation import SnapshotOperation
from brain.objects.snapshot import SNAPSHOT_FORMAT, Jump, Snapshot
from brain.receipts import Receipt, RunStep, decode_receipt, encode_receipt, keep_text
from brain.results import Finding
from brain.verify import receipt_presence
from brain.verify.receipt_presence import ReceiptPresence

SNAPSHOT, REDACTION = blob_id(b"a snapshot"), blob_id(b"a redaction")
GOOD = encode_receipt(Receipt("run", steps=(RunStep("tool", input=keep_text("x")),)))
BAD = GOOD.replace(b'"size":1', b'"size":2')


class StoredReceipts:
    """A reader of these contents, some of which were redacted."""

    def __init__(self, *contents: bytes, redacted: tuple[bytes, ...] = ()) -> None:
        self.contents = {blob_id(content): content for content in contents}
        self.redacted = {blob_id(content) for content in redacted}
        self.lookups: list[list[bytes]] = []

    def find_missing(self, blobs: object) -> set[bytes]:
        asked = list(blobs)  # type: ignore[call-overload]
        self.lookups.append(asked)
        return {blob for blob in asked if blob not in self.contents}

    def find_redactions(self, blobs: list[bytes]) -> dict[bytes, bytes]:
        return {blob: REDACTION for blob in blobs if blob in self.redacted}

    def blob_size(self, blob: bytes) -> int:
        return len(self.read_blob(blob))

    def read_blob(self, blob: bytes) -> bytes:
        content = self.contents[blob]
        if content == b"torn":
            raise NotFound("torn", code="corrupt_object")
        return content


def carrier(receipt: bytes = NO_DIGEST, operation: SnapshotOperation = ("snapshot",)) -> Snapshot:
    return Snapshot(
        *(SNAPSHOT_FORMAT, SNAPSHOT, SNAPSHOT, (SNAPSHOT,), 1, Jump(1, SNAPSHOT)),
        *("", 0, operation, "", receipt),
    )


def check(reader: StoredReceipts, *snapshots: Snapshot, deeply: bool = False) -> list[Finding]:
    read: list[tuple[bytes, Receipt]] = []
    session = SimpleNamespace(reader=reader)
    presence = ReceiptPresence(
        session,  # type: ignore[arg-type]
        (lambda *one: read.append(one)) if deeply else None,
    )
    found = [one for snapshot in snapshots for one in presence.add_snapshot(SNAPSHOT, snapshot)]
    assert found == []
    found = presence.flush()
    assert presence.flush() == [] and {one.snapshot for one in found} <= {SNAPSHOT.hex()}
    good = [one for one in snapshots if one.receipt == blob_id(GOOD)]
    if deeply and blob_id(GOOD) in reader.contents:
        assert read == [(SNAPSHOT, decode_receipt(GOOD))] * len(good)
    return found


def brief(found: list[Finding]) -> list[tuple[str, str]]:
    return [(one.code, one.severity) for one in found]


@pytest.mark.parametrize("deeply", [False, True])
def test_a_receipt_that_is_stored_is_no_finding_and_one_that_is_not_a_warning(deeply):
    stored, missing = carrier(blob_id(GOOD)), carrier(blob_id(BAD))
    assert check(StoredReceipts(GOOD), stored, carrier(), deeply=deeply) == []
    (found,) = check(StoredReceipts(GOOD), stored, missing, deeply=deeply)
    assert (found.code, found.severity) == ("missing_receipt", "warning")
    assert found.message == f"its receipt {blob_id(BAD).hex()} is missing"


def test_a_receipt_that_was_redacted_is_a_note():
    (found,) = check(StoredReceipts(redacted=(GOOD,)), carrier(blob_id(GOOD)))
    assert (found.code, found.severity) == ("redacted", "note")
    assert found.message == f"receipt redacted by snapshot {REDACTION.hex()[:12]}; its id stays"


def test_a_statement_is_looked_up_beside_the_receipt_and_not_read_as_one():
    operation = ("bind", SNAPSHOT, "eip155:1:0x00", blob_id(b"statement"))
    both = carrier(blob_id(GOOD), operation)
    assert brief(check(StoredReceipts(), both)) == [
        ("missing_receipt", "warning"),
        ("missing_document", "warning"),
    ]
    assert check(StoredReceipts(GOOD, b"statement"), both, deeply=True) == []
    assert brief(check(StoredReceipts(redacted=(b"statement",)), carrier(operation=operation))) == [
        ("redacted", "note")
    ]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (GOOD, []),
        (BAD, [("bad_receipt", "warning")]),
        (b"A letter", [("foreign_receipt", "note")]),
        (b"torn", []),
        (b"x" * limits.MAX_RECEIPT_BYTES, [("foreign_receipt", "note")]),
        (BAD.ljust(limits.MAX_RECEIPT_BYTES), [("bad_receipt", "warning")]),
        (BAD.ljust(limits.MAX_RECEIPT_BYTES + 1), [("foreign_receipt", "note")]),
    ],
    ids=["good", "malformed", "foreign", "damaged", "large", "at the limit", "past the limit"],
)
def test_a_deep_check_says_what_is_no_receipt(content, expected):
    reader = StoredReceipts(content, GOOD)
    assert check(reader, carrier(blob_id(content))) == []
    snapshots = carrier(blob_id(content)), carrier(blob_id(GOOD)), carrier(blob_id(content))
    assert brief(check(reader, *snapshots, deeply=True)) == expected * 2


def test_receipts_are_looked_up_in_batches(monkeypatch):
    monkeypatch.setattr(receipt_presence, "LOOKUP_BATCH_RECEIPTS", 2)
    reader = StoredReceipts()
    presence = ReceiptPresence(SimpleNamespace(reader=reader))  # type: ignore[arg-type]
    found = [len(presence.add_snapshot(SNAPSHOT, carrier(blob_id(GOOD)))) for _ in range(3)]
    assert found == [0, 2, 0]
    assert len(presence.flush()) == 1
    assert [len(asked) for asked in reader.lookups] == [2, 1]
