"""Several processes find what one finds, whatever becomes of the children."""

import subprocess
import sys

import pytest

from tests.support.cases import read_cases
from tests.support.worktree_scans import (
    load_stat_cache,
    put_file,
    settle_stat_cache,
    stat_cache_file,
)

CASES = read_cases(__file__)

SCRIPT = """
import os, sys
from brain.worktree import rescan, stat_cache
from brain.worktree.dirfd import open_root
from brain.worktree.ignore_rules import IgnoreRules

rescan._MIN_ENTRIES_TO_FORK = 1
fork, forked = os.fork, []
def counted():
    forked.append(fork())
    return forked[-1]
os.fork = counted
os.sched_getaffinity = lambda pid: {{0, 1}}
{prelude}
with open_root(sys.argv[1]) as root_fd:
    cache = stat_cache.load_stat_cache(sys.argv[2], IgnoreRules().fingerprint)
    rows = rescan.find_differing_entries(cache, root_fd, lambda entries: None)
assert len(forked) == {forks}, forked
assert len(os.listdir("/proc/self/fd")) == 4, "descriptors are left open"
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    print(*[path for path, _ in rows])
"""

PRELUDES = CASES["preludes"]


@pytest.fixture(scope="module")
def grown(tmp_path_factory):
    """A brain whose cache has several groups of parts, with changes all over."""
    root = tmp_path_factory.mktemp("grown")
    (root / ".brain").mkdir()
    for number in range(6000):
        put_file(root, f"memory/{number % 3}/{number:04d}.md", b"")
    settle_stat_cache(root)
    cache = load_stat_cache(root)
    assert cache is not None
    assert len(cache.parts) > 8
    for number in (3, 2000, 4001, 5999):
        put_file(root, f"memory/{number % 3}/{number:04d}.md", b"more")
    return root


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shares the work")
@pytest.mark.parametrize("case", PRELUDES)
def test_the_differences_are_the_same(grown, case):
    prelude, forks = PRELUDES[case]
    script = SCRIPT.format(prelude=prelude, forks=forks)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, str(grown), str(stat_cache_file(grown))],
        check=True,
        capture_output=True,
        text=True,
    )
    expected = {f"memory/{n % 3}/{n:04d}.md" for n in (3, 2000, 4001, 5999)}
    assert set(done.stdout.split()) == expected
    assert done.stderr == ""
