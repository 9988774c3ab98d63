"""Many brains committed at once: one that cannot be does not keep the others from it."""

import errno
import shutil
from pathlib import Path

from brain import Brain, commit_batch
from brain.chain.tlog.embedded_ledger import EmbeddedLedger
from brain.repo.ledgers import commit_batch as batch
from brain.repo.ledgers import last_seen_head
from brain.repo.open.session import Session
from tests.support.process_death import dies_before_call


def test_a_brain_that_cannot_be_written_is_left_out_and_named(tmp_path):
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


def test_brains_that_a_crash_left_without_their_record_get_it_from_the_next_run(tmp_path):
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


def test_an_error_of_the_system_leaves_out_one_brain_before_or_after_it_is_committed(
    tmp_path, monkeypatch
):
    folders = [tmp_path / name for name in ("a", "b")]
    for folder in folders:
        Brain.init(folder, name=folder.name, author="tester").close()
    log = EmbeddedLedger(tmp_path / "log")
    open_session, opened = batch.open_session, []

    def refuse_first(folder: Path, author: str) -> Session:
        opened.append(folder)
        if len(opened) == refused:
            raise OSError(errno.EACCES, "refused", str(folder))
        return open_session(folder, author)

    monkeypatch.setattr(batch, "open_session", refuse_first)
    refused = 1
    before = commit_batch(folders, log)
    assert [(one.path, one.code) for one in before.left] == [(str(folders[0]), "no_access")]
    assert before.left[0].message.startswith("refused")
    assert len(before.committed) == 1
    opened.clear()
    refused = 3  # the second brain is unchanged, so the third opening records the first
    after = commit_batch(folders, log)
    assert (after.unchanged, after.committed) == (1, [])
    assert [(one.path, one.code) for one in after.left] == [(str(folders[0]), "no_access")]
    assert after.left[0].message.startswith("committed, but the brain could not record it: refused")


def test_a_second_copy_of_a_brain_is_left_out(tmp_path):
    Brain.init(tmp_path / "a", author="tester").close()
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    done = commit_batch([tmp_path / "a", tmp_path / "b"], EmbeddedLedger(tmp_path / "log"))
    assert [one.seq for one in done.committed] == [1]
    assert [(one.path, one.code) for one in done.left] == [(str(tmp_path / "b"), "brain_twice")]
