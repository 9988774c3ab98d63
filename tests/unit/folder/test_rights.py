"""Files and folders that the user may not read or write: errors that name them."""

import subprocess
import sys

import pytest

from tests.support.cases import read_cases

TABLES = read_cases(__file__)

SCRIPT = """
import os, shutil, sys, tempfile
from pathlib import Path

from brain.errors import BrainError
from brain.objects.tree_node import FILE
from brain.folder import write
from brain.folder.ignore import IgnoreRules
from brain.folder.read import read_candidates
from brain.folder.scan import scan_files

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

CASES = TABLES["cases"]


@pytest.mark.parametrize("case", CASES)
def test_what_the_rights_forbid_fails_by_name_and_changes_nothing(case):
    body, message = CASES[case]
    script = SCRIPT.replace("BODY", body.replace("\n", "\n    "))
    command = [sys.executable, "-W", "error", "-c", script]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    said, left = done.stdout.splitlines()
    assert said.startswith(message)
    assert left.removeprefix(".brainignore ") == ALL
    assert done.stderr == ""
