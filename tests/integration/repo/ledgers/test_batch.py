"""Many brains committed at once: one that cannot be does not keep the others from it."""

from __future__ import annotations

from pathlib import Path

from brain import Brain, commit_batch
from brain.chain.tlog.embedded_ledger import EmbeddedLedger


def test_a_brain_that_cannot_be_written_is_left_out_and_named(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("a", "b", "c")]
    for folder in folders:
        Brain.init(folder, name=folder.name, author="tester").close()
    lock = folders[1] / ".brain/lock"
    lock.unlink()
    lock.mkdir()
    log = EmbeddedLedger(tmp_path / "log")
    done = commit_batch([*folders, tmp_path / ("x" * 300)], log)
    assert [one.path for one in done.left] == [str(folders[1]), str(tmp_path / ("x" * 300))]
    assert [one.seq for one in done.committed] == [1, 1]
    lock.rmdir()
    assert [one.seq for one in commit_batch(folders, log).committed] == [1]
    for folder in folders:
        with Brain.open(folder) as brain:
            assert brain.ledger.verify([log]).ok
