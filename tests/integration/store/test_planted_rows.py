"""Rows that somebody put under the ids of what is going to be recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from brain import Brain
from brain.digest import blob_id
from brain.store.blobs.codec import CODEC_CHUNK_LIST, CODEC_RAW, CODEC_ZSTD
from brain.store.object_table import object_checksum
from tests.support.store_tampering import execute_in_store

TEXT = b"---\nname: a\ndescription: What it is for\nversion: 1\n---\nDo it.\n"


@pytest.mark.parametrize("codec", [CODEC_RAW, CODEC_ZSTD, CODEC_CHUNK_LIST, 99])
def test_content_is_kept_whatever_stood_under_its_id(tmp_path: Path, codec: int) -> None:
    with Brain.init(tmp_path) as brain:
        pass
    row = (blob_id(TEXT), codec, b"something else")
    execute_in_store(tmp_path, ("INSERT INTO blobs (id, codec, data) VALUES (?, ?, ?)", row))
    file = tmp_path / "skills/a/SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_bytes(TEXT)
    with Brain.open(tmp_path) as brain:
        brain.snapshot()
        assert brain.verify(deep=True).ok
        file.unlink()
        brain.restore("@", ["skills"])
    assert file.read_bytes() == TEXT


def test_a_node_is_kept_whatever_stood_under_its_id(tmp_path: Path) -> None:
    with Brain.init(tmp_path / "one") as one:
        _write(one)
        one.snapshot()
        session = one._session
        nodes = [root.node for root in session.bundle_of(session.head()).values()]
        bundle = session.load_snapshot(session.head()).bundle
    with Brain.init(tmp_path / "two") as two:
        pass
    other = b"\x92\x00\x90"
    execute_in_store(
        tmp_path / "two",
        *[
            (
                "INSERT OR REPLACE INTO objects (id, kind, data, checksum) VALUES (?, ?, ?, ?)",
                (id, kind, other, object_checksum(id, kind, other)),
            )
            for id, kind in [*((node, 1) for node in nodes), (bundle, 2)]
        ],
    )
    with Brain.open(tmp_path / "two") as two:
        _write(two)
        two.snapshot()
        assert two.verify(deep=True).ok


def _write(brain: Brain) -> None:
    file = brain.root / "skills/a/SKILL.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(TEXT)
    (brain.root / "manifest.yaml").write_text("name: both\n")
