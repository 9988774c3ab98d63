"""The record of anchors survives a process that dies while it writes, and writers side by side."""

import os
import threading
from typing import Any

import pytest

from brain.chain.anchored_log import (
    ANCHORS_FILE,
    AnchorRecord,
    append_anchor_record,
    read_anchor_records,
)
from brain.errors import BrainError
from tests.support.refusals import raises_code


def anchor_record(size: int) -> AnchorRecord:
    return AnchorRecord(
        identity="eip155:5:0x55", log="tlog:x", sender="0x11", root=f"{size:064x}", size=size
    )


def test_records_are_read_in_the_order_in_which_they_were_appended(tmp_path):
    records = [anchor_record(size) for size in (1, 2, 3)]
    for record in [*records, records[1]]:
        append_anchor_record(tmp_path / "ledgers", record)
    assert read_anchor_records(tmp_path / "ledgers") == records


def test_a_folder_without_the_file_has_no_records(tmp_path):
    assert read_anchor_records(tmp_path) == []


@pytest.mark.parametrize("kept_bytes", [1, 20, -1])
def test_a_record_after_a_torn_line_does_not_join_it(tmp_path, kept_bytes):
    append_anchor_record(tmp_path, anchor_record(1))
    first = (tmp_path / ANCHORS_FILE).read_bytes()
    append_anchor_record(tmp_path, anchor_record(2))
    second = (tmp_path / ANCHORS_FILE).read_bytes()[len(first) :]
    (tmp_path / ANCHORS_FILE).write_bytes(first + second[:kept_bytes])
    assert read_anchor_records(tmp_path) == [anchor_record(1)]
    append_anchor_record(tmp_path, anchor_record(3))
    assert read_anchor_records(tmp_path) == [anchor_record(1), anchor_record(3)]


def test_a_short_write_loses_no_record(tmp_path, monkeypatch):
    write = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: write(handle, bytes(data)[:10]))
    append_anchor_record(tmp_path, anchor_record(1))
    assert read_anchor_records(tmp_path) == [anchor_record(1)]


def test_a_record_is_durable_with_its_folder_entry(tmp_path, monkeypatch):
    synced: list[str] = []
    fsync = os.fsync

    def record_sync(handle: Any) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{handle}"))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", record_sync)
    append_anchor_record(tmp_path, anchor_record(1))
    assert str(tmp_path) in synced


def test_records_appended_side_by_side_are_all_there(tmp_path):
    def append(start: int) -> None:
        for size in range(start, start + 3):
            append_anchor_record(tmp_path, anchor_record(size))

    threads = [threading.Thread(target=append, args=(start,)) for start in (0, 3, 6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(one.size for one in read_anchor_records(tmp_path)) == list(range(9))


def test_a_line_that_is_not_a_record_is_refused_with_a_way_out(tmp_path):
    append_anchor_record(tmp_path, anchor_record(1))
    path = tmp_path / ANCHORS_FILE
    path.write_bytes(b"{}\n" + path.read_bytes())
    with raises_code("bad_ledger", BrainError) as raised:
        append_anchor_record(tmp_path, anchor_record(2))
    assert "chain batch" in raised.value.hint
