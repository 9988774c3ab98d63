"""A slice of the simulated power cuts; all of it is `python -m tests.support.faults.power_cuts`."""

import subprocess
import sys


def test_a_power_cut_loses_no_acknowledged_operation_and_leaves_a_sound_brain(tmp_path, project):
    options = ["--seed=1", "--images=80", f"--work={tmp_path}"]
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.faults.power_cuts", *options],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    assert done.stdout.count(" 0 wrong") == 2
