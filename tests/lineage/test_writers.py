"""A short run of the campaign of many writers: `python -m tests.support.lineages writers`."""

from tests.support.lineages import concurrent_writers


def test_processes_and_threads_lose_nothing_while_others_merge_and_read(tmp_path):
    done = concurrent_writers.run_writers(
        tmp_path / "agent", processes=5, threads=5, times=6, merges=3
    )
    assert done.faults == []
    assert len(done.written) == 10
    assert done.looks > 0
