"""Files and folders that the user may not read or write: errors that name them."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import os, shutil, sys, tempfile
from pathlib import Path

from brain.errors import BrainError
from brain.objects.tree_entry import FILE
from brain.worktree import file_checkout, stat_cache_update
from brain.worktree.ignore_rules import IgnoreRules
from brain.worktree.file_reader import read_candidates
from brain.worktree.scan import scan_files

if os.geteuid() == 0:  # root may read everything
    os.setegid(65534)
    os.seteuid(65534)
root = Path(tempfile.mkdtemp())
for path in ("skills/a/SKILL.md", "skills/b/SKILL.md", "MEMORY.md"):
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(path)
before = scan_files(root, IgnoreRules(), None)
rights = {path: os.stat(path).st_mode for path in (root, *root.rglob("*"))}
try:
    BODY
except BrainError as error:
    print(type(error).__name__, error.code, error.message)
finally:
    for path, mode in rights.items():
        if path.exists():
            path.chmod(mode)
    left = sorted(str(p.relative_to(root)) for p in root.rglob("*") if p.is_file())
    shutil.rmtree(root)
print(*left)
"""

ALL = "MEMORY.md skills/a/SKILL.md skills/b/SKILL.md"

CASES = {
    "files-12-file": (
        "(root / 'skills/b/SKILL.md').chmod(0)\nlist(read_candidates(root, before.changed))",
        "InvalidInput unreadable skills/b/SKILL.md cannot be read: Permission denied",
    ),
    "files-12-folder": (
        "(root / 'skills/b').chmod(0)\n"
        "raise scan_files(root, IgnoreRules(), None).skipped['skills/b']",
        "InvalidInput unreadable skills/b cannot be read: Permission denied",
    ),
    "files-12-folder-that-lists-but-does-not-open": (
        "(root / 'skills/b').chmod(0o400)\n"
        "raise scan_files(root, IgnoreRules(), None).skipped['skills/b']",
        "InvalidInput unreadable skills/b cannot be read: Permission denied",
    ),
    "files-12-folder-known": (
        "known = stat_cache_update.next_stat_cache(before, b'b' * 32, "
        "{c.path: c.fingerprint for c in before.changed}, 10**19)\n"
        "(root / 'skills/b').chmod(0)\n"
        "raise scan_files(root, IgnoreRules(), known).skipped['skills/b/SKILL.md']",
        "InvalidInput unreadable skills/b/SKILL.md cannot be read",
    ),
    "files-12-ignore-file": (
        "(root / '.brainignore').write_text('x')\n(root / '.brainignore').chmod(0)\n"
        "rights[root / '.brainignore'] = 0o600\nIgnoreRules.load(root)",
        "InvalidInput unreadable .brainignore cannot be read: Permission denied",
    ),
    "concurrency-09-write": (
        "(root / 'skills/b').chmod(0o555)\n"
        "file_checkout.write_working_file(root, 'skills/b/SKILL.md', FILE, b'x')",
        "BrainError unwritable skills/b/SKILL.md cannot be written: Permission denied",
    ),
    "concurrency-09-new-folder": (
        "(root / 'skills').chmod(0o555)\n"
        "file_checkout.write_working_files(root, [('skills/c/SKILL.md', FILE, b'x')])",
        "BrainError unwritable skills/c cannot be written: Permission denied",
    ),
    "concurrency-09-remove": (
        "(root / 'skills/b').chmod(0o555)\n"
        "file_checkout.remove_working_file(root, 'skills/b/SKILL.md')",
        "BrainError unwritable skills/b/SKILL.md cannot be written: Permission denied",
    ),
    "concurrency-09-root": (
        "root.chmod(0o555)\nfile_checkout.write_working_files(root, [('memory/m', FILE, b'x')])",
        "BrainError unwritable memory/m cannot be written: Permission denied",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_the_rights_forbid_fails_by_name_and_changes_nothing(case: str) -> None:
    body, message = CASES[case]
    script = SCRIPT.replace("BODY", body.replace("\n", "\n    "))
    command = [sys.executable, "-W", "error", "-c", script]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    said, left = done.stdout.splitlines()
    assert said.startswith(message)
    assert left.removeprefix(".brainignore ") == ALL
    assert done.stderr == ""
