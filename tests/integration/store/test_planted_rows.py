"""Rows that somebody put under the ids of what is going to be recorded."""

import random
from pathlib import Path

import pytest

from brain import Brain, StoreError
from brain.digest import blob_id
from brain.ops.import_states import ImportSource, SourceFile
from brain.store import writer
from brain.store.blobs import CODEC_CHUNK_LIST, CODEC_RAW, CODEC_ZSTD
from brain.store.large_blobs import MAX_CHUNK_BYTES
from brain.store.rows import object_checksum
from tests.support.agent_homes import skill_text, write_files
from tests.support.refusals import raises_code
from tests.support.store_tampering import execute_in_store

TEXT = b"---\nname: a\ndescription: What it is for\nversion: 1\n---\nDo it.\n"


@pytest.mark.parametrize("codec", [CODEC_RAW, CODEC_ZSTD, CODEC_CHUNK_LIST, 99])
def test_content_is_kept_whatever_stood_under_its_id(tmp_path, codec):
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


def test_a_node_is_kept_whatever_stood_under_its_id(tmp_path):
    with Brain.init(tmp_path / "one") as one:
        _write(one)
        one.snapshot()
        session = one._session
        nodes = [root.node for root in session.at().sections.values()]
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


FILES = {
    f"skills/s{number}/SKILL.md": skill_text(f"s{number}", "Do it.", body=f"Step {number}. " * 200)
    for number in range(200)
}
"""Together more than what is stored uncompressed."""
LARGE = random.Random(3).randbytes(2 * MAX_CHUNK_BYTES).hex()
SOURCE = ImportSource("git", "skills", "adopted/skills")


def _take_in(folder: Path, brain: Brain) -> None:
    files = {path: (folder / path).read_bytes() for path in FILES}
    found = [(path, SourceFile(0, text)) for path, text in files.items()]
    brain.imports.record_state(SOURCE, found)
    brain.merge.start(SOURCE.branch)


def _copy(folder: Path, brain: Brain) -> None:
    write_files(brain.root, {path: (folder / path).read_text() for path in _paths(folder)})


def _snapshot(folder: Path, brain: Brain) -> None:
    _copy(folder, brain)
    brain.snapshot()


def _record_folder(folder: Path, brain: Brain) -> None:
    _copy(folder, brain)
    brain.imports.record_folder(SOURCE)


def _restore(folder: Path, brain: Brain) -> None:
    """Restore over manual edits, which are recorded first."""
    write_files(brain.root, dict.fromkeys(_paths(folder), "Before.\n"))
    brain.snapshot()
    _copy(folder, brain)
    brain.restore("@")
    brain.restore("@~1")


def _adopt(folder: Path, brain: Brain) -> None:
    Brain.adopt(folder, brain.root)


def _paths(folder: Path) -> list[str]:
    return [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize("size", ["usual", "bulk"])
@pytest.mark.parametrize("record", [_snapshot, _record_folder, _restore, _take_in, _adopt])
def test_every_way_to_record_many_files_keeps_them_whatever_stood_under_their_ids(
    tmp_path, record, size, monkeypatch
):
    if size != "usual":
        monkeypatch.setattr(writer, "BULK_LOAD_BYTES", 0)
    folder = write_files(tmp_path / "folder", {**FILES, "memory/large.md": LARGE})
    with Brain.init(tmp_path / "first", name="agent", author="tester") as first:
        record(folder, first)
        stored = [id for kind, id in first._session.store.stream_object_ids() if kind == 0]
    with Brain.init(tmp_path / "brain", name="agent", author="tester") as brain:
        there = {id for _, id in brain._session.store.stream_object_ids()}
    insert = "INSERT INTO blobs (id, codec, data) VALUES (?, ?, ?)"
    planted = [(id, number % 3, b"something else") for number, id in enumerate(stored)]
    execute_in_store(brain.root, *((insert, row) for row in planted if row[0] not in there))

    with Brain.open(brain.root, author="tester") as brain:
        record(folder, brain)
        assert brain.verify(deep=True).ok
        assert [brain.files.read(path) for path in FILES] == [
            (folder / path).read_bytes() for path in FILES
        ]


def test_a_planted_operation_is_refused_and_nothing_is_recorded(tmp_path):
    with Brain.init(tmp_path) as brain:
        number = brain._session.store.operation_count()
        head = brain.head
    sql = "INSERT INTO operations (number, id, data) VALUES (?, ?, ?)"
    execute_in_store(tmp_path, (sql, (number + 1, bytes(32), b"planted")))
    with Brain.open(tmp_path) as brain:
        with raises_code("bad_store", StoreError):
            brain.skills.upsert("a", "Do it.\n")
        assert brain.head == head
        assert not (tmp_path / "skills/a/SKILL.md").exists()
        assert any("operation log" in finding.message for finding in brain.verify().findings)


def _write(brain: Brain) -> None:
    file = brain.root / "skills/a/SKILL.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(TEXT)
    (brain.root / "manifest.yaml").write_text("name: both\n")
