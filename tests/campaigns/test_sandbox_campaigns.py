"""The campaigns of the sandbox: a slice of one, and a small collection for the other."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.campaigns import public_scripts

_LEAK_RUNS = 200
_LEAK_SEED = 7


def test_two_hundred_jobs_leave_nothing_however_they_end() -> None:
    command = [sys.executable, "-m", "tests.campaigns.sandbox_leaks"]
    # Without processes killed at a moment that chance decides: `make fuzz` is for these.
    options = [f"--runs={_LEAK_RUNS}", f"--seed={_LEAK_SEED}", "--killed=0"]
    done = subprocess.run([*command, *options], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "     0  leaks" in done.stdout and f"{_LEAK_RUNS}  runs in " in done.stdout


SCRIPTS = {
    "starts.py": "import argparse\nargparse.ArgumentParser().parse_args()\n",
    "fails.py": "import sys\nsys.exit('no such option')\n",
    "other.py": "import numpy\n",
    "old.py": "print 'old'\n",
    "network.py": "import socket\nsocket.socket().close()\n",
}


def test_a_script_that_only_the_sandbox_stops_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "one/scripts"
    folder.mkdir(parents=True)
    for name, code in SCRIPTS.items():
        (folder / name).write_text(code)
    assert public_scripts.main(str(tmp_path)) == 1
    out = capsys.readouterr().out
    assert "network.py: starts otherwise: 1 (PermissionError" in out
    assert "66.67 % of 3 scripts" in out
    (folder / "network.py").unlink()
    assert public_scripts.main(str(tmp_path)) == 0
