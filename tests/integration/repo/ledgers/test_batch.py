"""Many brains committed at once: one that cannot be does not keep the others from it."""

from __future__ import annotations

from pathlib import Path

from brain import Brain, commit_batch
from brain.chain.tlog.embedded_ledger import EmbeddedLedger
from brain.repo.ledgers import last_seen_head
from tests.support.process_death import dies_before_call


def test_a_brain_that_cannot_be_written_is_left_out_and_named(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("a", "b", "c")]
    for folder in folders:
        Brain.init(folder, name=folder.name, author="tester").close()
    lock = folders[1] / ".brain/lock"
    lock.unlink()
    lock.mkdir()
    log = EmbeddedLedger(tmp_path / "log")
    result = commit_batch([*folders, tmp_path / ("x" * 300)], log)
    assert [one.path for one in result.left] == [str(folders[1]), str(tmp_path / ("x" * 300))]
    assert [one.seq for one in result.committed] == [1, 1]
    lock.rmdir()
    assert [one.seq for one in commit_batch(folders, log).committed] == [1]
    for folder in folders:
        with Brain.open(folder) as brain:
            assert brain.ledger.verify([log]).ok


def test_brains_that_a_crash_left_without_their_record_get_it_from_the_next_run(
    tmp_path: Path,
) -> None:
    folders = [tmp_path / name for name in ("a", "b", "c")]
    for folder in folders:
        Brain.init(folder, name=folder.name, author="tester").close()
    log = EmbeddedLedger(tmp_path / "log")
    with dies_before_call(
        last_seen_head, "record_last_seen_head", lambda session, _: session.root == folders[1]
    ):
        commit_batch(folders, log)
    assert commit_batch(folders, log).unchanged == 3
    for folder in folders:
        with Brain.open(folder) as brain:
            heads = last_seen_head.read_last_seen_heads(brain._session.reader)
            assert [head.seq for head in heads.values()] == [1], folder
