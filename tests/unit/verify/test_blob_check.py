"""Damaged blobs are named with their files, and claimed sizes are compared with true ones."""

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest

from brain.digest import blob_id
from brain.errors import NotFound
from brain.results import Finding
from brain.store.protocol import BlobCheckResult
from brain.verify import blob_check
from brain.verify.blob_check import BlobCheck, ClaimedSizes

A, B, C = (blob_id(name) for name in (b"a", b"b", b"c"))


def result(
    sizes: Iterable[tuple[bytes, int]] = (),
    faults: Iterable[tuple[bytes, str]] = (),
    selected: Iterable[bytes] = (),
) -> BlobCheckResult:
    return BlobCheckResult(sizes=[*sizes], faults=[*faults], selected=[*selected])


def size_of(sizes: dict[bytes, int]) -> Any:
    def look_up(blob: bytes) -> int:
        if blob not in sizes:
            raise NotFound("missing", code="missing_object")
        return sizes[blob]

    return look_up


def test_only_wrong_claims_about_sound_blobs_have_a_true_size():
    sizes = ClaimedSizes()
    sizes.add_claims([(A, 1), (A, 2), (B, 3), (C, 4)])
    sizes.confirm([(A, 1), (C, 4)])
    sizes.find_true_sizes(size_of({A: 1, B: 9}), [B])
    assert sizes.true_sizes == {A: 1}


def test_a_blob_that_is_missing_has_no_true_size_and_hides_none():
    sizes = ClaimedSizes()
    sizes.add_claims([(A, 1), (B, 2), (C, 3)])
    sizes.find_true_sizes(size_of({A: 7, C: 8}), [])
    assert sizes.true_sizes == {A: 7, C: 8}


def test_a_large_blob_has_the_size_that_an_entry_claims():
    sizes = ClaimedSizes()
    sizes.add_claims([(A, 5), (B, 6)])
    assert sizes.expected_size(A, 5) == 5
    assert sizes.expected_size(A, 4) == 5
    assert sizes.expected_size(C, 9) == 9
    assert sizes.expected_size(B, 7) == 6


def run(monkeypatch: pytest.MonkeyPatch, *verdicts: BlobCheckResult) -> Any:
    """Return the check after reading these verdicts, its findings and its progress."""
    named: list[dict[bytes, str]] = []

    def name_files(session: object, faults: dict[bytes, str]) -> list[Finding]:
        named.append(dict(faults))
        return [Finding("corrupt_blob", "error", "", "", fault) for fault in faults.values()]

    monkeypatch.setattr(blob_check, "_name_damaged_files", name_files)
    session: Any = SimpleNamespace(reader=SimpleNamespace(blob_size=size_of({A: 1})))
    progress: list[tuple[str, int, int]] = []
    sizes = ClaimedSizes()
    sizes.add_claims([(A, 2), (B, 1), (C, 3)])
    check = BlobCheck(session, lambda *step: progress.append(step), sizes)
    findings = list(check.findings(verdicts))
    return check, findings, progress, named, sizes


def test_all_verdicts_are_gathered_and_counted(monkeypatch):
    check, findings, progress, named, sizes = run(
        monkeypatch,
        result([(A, 1)], [(B, f"object {B.hex()} is damaged: torn")], [A]),
        result([(C, 3)], [], [C]),
        result([], [(C, "another fault")]),
    )
    assert check.wrong_cards == [A, C]
    assert check.faults == {B: "torn", C: "another fault"}
    assert named == [check.faults]
    assert [finding.message for finding in findings] == ["torn", "another fault"]
    assert progress == [("blobs", 2, 0), ("blobs", 3, 0), ("blobs", 4, 0)]
    assert sizes.true_sizes == {A: 1}


def test_no_lineage_is_walked_for_sound_blobs(monkeypatch):
    _, findings, _, named, _ = run(monkeypatch, result([(A, 2)]))
    assert (findings, named) == ([], [])
