"""Other file systems inside a brain; each test mounts in a namespace of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.worktree_scans import put_file, settle_stat_cache, stat_cache_file

ISOLATED = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "-Ur", "--mount"]

SCRIPT = """
import sys
from brain.errors import BrainError
from brain.folder.stat_cache import StatCache
from brain.folder.ignore import IgnoreRules
from brain.folder.scan import scan_files

rules = IgnoreRules.load(sys.argv[1])
cache = StatCache.load(sys.argv[2], rules.fingerprint)
try:
    print(*[candidate.path for candidate in scan_files(sys.argv[1], rules, cache).changed])
except BrainError as error:
    print(error.code, error.message)
"""


def scan_with(root: Path, mount: str) -> str:
    """Scan while `mount`, a shell command, is in force."""
    shell = f'cd "$1" && {mount} && exec "$2" -c "$3" "$1" "$4"'
    words = [str(root), sys.executable, SCRIPT, str(stat_cache_file(root))]
    command = [*ISOLATED, "sh", "-c", shell, "sh", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture(autouse=True)
def _may_mount():
    probe = [*ISOLATED, "mount", "-t", "tmpfs", "none", "/mnt"]
    if subprocess.run(probe, check=False, capture_output=True).returncode:
        pytest.skip("this user may not mount anything, not even in a namespace")


@pytest.mark.parametrize("cached", [False, True], ids=["afresh", "cached"])
@pytest.mark.parametrize(
    ("mount", "named"),
    [
        pytest.param("mount -t tmpfs none skills/x", "skills/x", id="files-25-tmpfs"),
        pytest.param("mount --bind memory skills/x", "skills/x", id="files-25-bind"),
        pytest.param("mount --bind MEMORY.md skills/f", "skills/f", id="files-25-bind-file"),
        pytest.param('mount -t tmpfs none "skills/a b"', "skills/a b", id="files-25-blank"),
    ],
)
def test_a_mount_inside_is_refused(root, mount, named, cached):
    for path in ("skills/x/SKILL.md", "skills/f", "skills/a b/x", "memory/m.md", "MEMORY.md"):
        put_file(root, path)
    if cached:
        settle_stat_cache(root)
    expected = f"crosses_device another file system is mounted in the brain: {named}"
    assert scan_with(root, mount) == expected


def test_a_mount_in_what_is_left_out_does_not_matter(root):
    put_file(root, "MEMORY.md")
    put_file(root, "skills/x/.cache/deep/y")
    mount = "mount -t tmpfs none skills/x/.cache/deep && mount -t tmpfs none .brain"
    assert scan_with(root, mount) == "MEMORY.md"


def test_a_brain_that_is_itself_a_mount_is_fine(root):
    put_file(root, "MEMORY.md")
    assert scan_with(root, 'mount --bind . . && cd "$1"') == "MEMORY.md"


def test_a_device_number_that_differs_is_enough(root):
    """Where the list of mounts cannot be read, the numbers met on the way must do."""
    put_file(root, "skills/x/SKILL.md")
    mount = "mount -t tmpfs none skills/x && mount -t tmpfs none /proc/self"
    said = scan_with(root, mount.replace("/proc/self", "/proc"))
    assert said == "crosses_device another file system is mounted in the brain: skills/x"
