"""A slice of the campaign of the sandbox."""

import subprocess
import sys

_LEAK_RUNS = 200
_LEAK_SEED = 7


def test_two_hundred_jobs_leave_nothing_however_they_end():
    command = [sys.executable, "-m", "tests.campaigns.sandbox_leaks"]
    # Without processes killed at a moment that chance decides: `make campaigns` is for these.
    options = [f"--runs={_LEAK_RUNS}", f"--seed={_LEAK_SEED}", "--killed=0"]
    done = subprocess.run([*command, *options], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "     0  leaks" in done.stdout and f"{_LEAK_RUNS}  runs in " in done.stdout
