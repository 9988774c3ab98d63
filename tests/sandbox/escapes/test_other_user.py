"""Attempts as a user without rights, whose sandbox has the user's own id in a namespace."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pyseccomp
import pytest

from brain.sandbox.bubblewrap import choose_interpreter

_PROJECT = Path(__file__).parents[3]
_NOBODY = 65_534
_STEP = 5
"""Each fifth attempt, of all kinds."""


@pytest.fixture
def readable_copy():
    """A copy of what the attempts need, which every user can read."""
    with tempfile.TemporaryDirectory(prefix="other-user-") as name:
        folder = Path(name)
        for part in ("brain", "tests/sandbox", "tests/cases/escapes", "tests/cases/sandbox"):
            shutil.copytree(_PROJECT / part, folder / part)
        (folder / "tests/support").mkdir()
        shutil.copy(_PROJECT / "tests/support/cases.py", folder / "tests/support")
        shutil.copy(pyseccomp.__file__, folder)
        folder.chmod(0o755)
        yield folder


def test_a_user_without_rights_is_as_safe(readable_copy):
    change_user = ["setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups"]
    python = choose_interpreter(for_other_user=True).path
    done = subprocess.run(
        [
            *(change_user if os.geteuid() == 0 else []),
            *(python, "-B", "-m", "tests.sandbox.escapes", str(_STEP)),
        ],
        check=False,
        cwd=readable_copy,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
